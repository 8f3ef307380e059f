//! The runtime's classes, which are part of this library, and the calls into them.

use std::ffi::CStr;

use jvmti_bindings::sys::jni::{jclass, jmethodID, jvalue};

use crate::jvm::Jni;
use crate::state::Agent;

/// In an order in which a class comes after its superclass.
const CLASSES: &[(&CStr, &[u8])] = &[
    (c"java/lang/FissureMore", include_bytes!("../../../runtime/java/lang/FissureMore.class")),
    (c"java/lang/FissureLock", include_bytes!("../../../runtime/java/lang/FissureLock.class")),
    (c"java/lang/FissureReads", include_bytes!("../../../runtime/java/lang/FissureReads.class")),
    (c"java/lang/FissureView", include_bytes!("../../../runtime/java/lang/FissureView.class")),
    (c"java/lang/FissureWord", include_bytes!("../../../runtime/java/lang/FissureWord.class")),
    (c"java/lang/FissureArray", include_bytes!("../../../runtime/java/lang/FissureArray.class")),
    (c"java/lang/FissureEntry", include_bytes!("../../../runtime/java/lang/FissureEntry.class")),
    (c"java/lang/FissureTable", include_bytes!("../../../runtime/java/lang/FissureTable.class")),
    (c"java/lang/FissureRoom", include_bytes!("../../../runtime/java/lang/FissureRoom.class")),
    (c"java/lang/FissureClass$Facts", include_bytes!("../../../runtime/java/lang/FissureClass$Facts.class")),
    (c"java/lang/FissureClass", include_bytes!("../../../runtime/java/lang/FissureClass.class")),
    (c"java/lang/FissureStripe", include_bytes!("../../../runtime/java/lang/FissureStripe.class")),
    (c"java/lang/FissureBuffer", include_bytes!("../../../runtime/java/lang/FissureBuffer.class")),
    (c"java/lang/FissureMemory", include_bytes!("../../../runtime/java/lang/FissureMemory.class")),
    (c"java/lang/FissureBranch", include_bytes!("../../../runtime/java/lang/FissureBranch.class")),
    (c"java/lang/FissureCallee", include_bytes!("../../../runtime/java/lang/FissureCallee.class")),
    (c"java/lang/FissureSpot", include_bytes!("../../../runtime/java/lang/FissureSpot.class")),
    (c"java/lang/FissureThread", include_bytes!("../../../runtime/java/lang/FissureThread.class")),
    (c"java/lang/FissureStates", include_bytes!("../../../runtime/java/lang/FissureStates.class")),
    (c"java/lang/FissureRef", include_bytes!("../../../runtime/java/lang/FissureRef.class")),
    (c"java/lang/FissureIdentity", include_bytes!("../../../runtime/java/lang/FissureIdentity.class")),
    (c"java/lang/FissureRefs", include_bytes!("../../../runtime/java/lang/FissureRefs.class")),
    (c"java/lang/FissureOne", include_bytes!("../../../runtime/java/lang/FissureOne.class")),
    (c"java/lang/FissureFilter", include_bytes!("../../../runtime/java/lang/FissureFilter.class")),
    (c"java/lang/FissureLocks", include_bytes!("../../../runtime/java/lang/FissureLocks.class")),
    (c"java/lang/FissureSections", include_bytes!("../../../runtime/java/lang/FissureSections.class")),
    (c"java/lang/FissureThreads", include_bytes!("../../../runtime/java/lang/FissureThreads.class")),
    (c"java/lang/FissureHandles", include_bytes!("../../../runtime/java/lang/FissureHandles.class")),
    (c"java/lang/FissureOutcome", include_bytes!("../../../runtime/java/lang/FissureOutcome.class")),
    (c"java/lang/FissureThoughts", include_bytes!("../../../runtime/java/lang/FissureThoughts.class")),
    (c"java/lang/FissureArms", include_bytes!("../../../runtime/java/lang/FissureArms.class")),
    (c"java/lang/FissureCalls", include_bytes!("../../../runtime/java/lang/FissureCalls.class")),
    (c"java/lang/Fissure", include_bytes!("../../../runtime/java/lang/Fissure.class")),
];

/// What is called in the runtime.
pub(crate) struct Entry {
    class: jclass,
    start: jmethodID,
    ended: jmethodID,
}

// SAFETY: a global reference and method numbers, which every thread may use.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// Defines the classes in the boot loader, where every class finds them.
pub(crate) fn define(agent: &Agent, jni: Jni) -> Result<(), String> {
    let mut last = None;
    for (name, bytes) in CLASSES {
        let class = jni.define(name, bytes);
        last = Some(class.ok_or_else(|| format!("the JVM does not take `{}`", name.to_string_lossy()))?);
    }
    let class = last.and_then(|class| jni.global(class)).ok_or("the JVM is out of references")?;
    let method = |name: &CStr, descriptor: &CStr| {
        jni.static_method(class, name, descriptor).ok_or_else(|| format!("`{}` is missing", name.to_string_lossy()))
    };
    let entry = Entry { class, start: method(c"start", c"(Z)V")?, ended: method(c"ended", c"()V")? };
    let _ = agent.entry.set(entry);
    Ok(())
}

/// The JVM is up. Each native method is called once now, so that none is looked up for the first time in a probe.
pub(crate) fn start(agent: &Agent, jni: Jni) {
    if let Some(entry) = agent.entry.get()
        && !jni.call_static(entry.class, entry.start, &[jvalue { z: u8::from(agent.no_filter) }])
    {
        agent.stop("the runtime does not start in this JVM");
    }
}

pub(crate) fn thread_ended(agent: &Agent, jni: Jni) {
    if let Some(entry) = agent.entry.get() {
        jni.call_static(entry.class, entry.ended, &[]);
    }
}
