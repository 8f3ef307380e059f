//! Native methods of `java.lang.Fissure`. The JVM finds them by name in this library.

use std::ptr;

use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass, jint, jlong, jstring};
use recording::Row;

use crate::guarded;
use crate::hook;
use crate::jvm::Jni;
use crate::state::AGENT;

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_chunk(
    _: *mut JNIEnv,
    _: jclass,
    thread: jint,
    size: jint,
    full: jlong,
) -> jlong {
    guarded(0, || AGENT.get().map_or(0, |agent| agent.chunk(thread as u32, size as usize, full as u64) as jlong))
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_row(env: *mut JNIEnv, _: jclass, kind: jint, number: jint, text: jstring) {
    guarded((), || {
        // SAFETY: handed over by the JVM for this thread.
        let name = unsafe { Jni::new(env) }.string(text);
        let number = number as u32;
        if let Some(agent) = AGENT.get() {
            match kind {
                1 => agent.write(&[Row::Class { number, name }]),
                2 => agent.write(&[Row::Thread { number, name }]),
                _ => {}
            }
        }
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_field(env: *mut JNIEnv, _: jclass, owner: jstring, name: jstring) -> jint {
    guarded(0, || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let (owner, name) = (jni.string(owner), jni.string(name));
        AGENT.get().map_or(0, |agent| agent.names().field(owner, name) as jint)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_reference(env: *mut JNIEnv, _: jclass, number: jint) -> jstring {
    guarded(ptr::null_mut(), || {
        let Some(agent) = AGENT.get() else { return ptr::null_mut() };
        let text = {
            let sites = agent.sites();
            let Some(field) = sites.fields().get(number as usize) else { return ptr::null_mut() };
            let kind = if field.is_static { "static" } else { "" };
            let access = match sites.access(field) {
                Some(access) if access.is_volatile() => "volatile",
                Some(access) if access.is_final() => "final",
                _ => "",
            };
            format!("{}\n{}\n{}\n{kind}\n{access}", field.owner, field.name, field.descriptor)
        };
        // SAFETY: handed over by the JVM for this thread.
        unsafe { Jni::new(env) }.new_string(&text)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_branch(env: *mut JNIEnv, _: jclass, number: jint) -> jstring {
    guarded(ptr::null_mut(), || {
        let Some(agent) = AGENT.get() else { return ptr::null_mut() };
        let units: Vec<u16> = {
            let sites = agent.sites();
            let Some(branch) = usize::try_from(number).ok().and_then(|number| sites.branches().get(number)) else {
                return ptr::null_mut();
            };
            units_of(&branch.numbers())
        };
        // SAFETY: handed over by the JVM for this thread.
        unsafe { Jni::new(env) }.new_units(&units)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_callee(env: *mut JNIEnv, _: jclass, owner: jstring, member: jint) -> jstring {
    guarded(ptr::null_mut(), || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let owner = (!owner.is_null()).then(|| jni.string(owner).replace('.', "/"));
        let found = AGENT.get().and_then(|agent| hook::callee(agent, owner, usize::try_from(member).ok()?));
        found.map_or(ptr::null_mut(), |callee| jni.new_units(&units_of(&callee.numbers())))
    })
}

/// Two characters a number, the lower half first.
fn units_of(numbers: &[i32]) -> Vec<u16> {
    numbers.iter().flat_map(|number| [*number as u16, (*number >> 16) as u16]).collect()
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_declares(
    env: *mut JNIEnv,
    _: jclass,
    owner: jstring,
    name: jstring,
) -> jboolean {
    guarded(0, || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let (owner, name) = (jni.string(owner), jni.string(name));
        AGENT.get().map_or(0, |agent| u8::from(agent.sites().declares(&owner.replace('.', "/"), &name)))
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_declared(env: *mut JNIEnv, _: jclass, owner: jstring) -> jstring {
    guarded(ptr::null_mut(), || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let owner = jni.string(owner).replace('.', "/");
        let Some(agent) = AGENT.get() else { return ptr::null_mut() };
        let mut text = String::new();
        for (name, access) in agent.sites().declared(&owner).filter(|(_, access)| !access.is_static()) {
            text.push(if access.is_volatile() { 'v' } else { 'p' });
            text.push_str(&String::from_utf8_lossy(name));
            text.push('\n');
        }
        jni.new_string(&text)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_caller(_: *mut JNIEnv, _: jclass) -> jclass {
    guarded(ptr::null_mut(), || AGENT.get().and_then(|agent| agent.jvmti.caller()).unwrap_or(ptr::null_mut()))
}

/// Lets others run. Nothing of the JVM's own would do: its ways to wait use up what the application is waiting for.
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_pause(_: *mut JNIEnv, _: jclass) {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_collect(_: *mut JNIEnv, _: jclass, really: jboolean) {
    guarded((), || {
        if let Some(agent) = AGENT.get()
            && really != 0
        {
            agent.jvmti.collect();
        }
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_Fissure_trouble(env: *mut JNIEnv, _: jclass, what: jstring) {
    guarded((), || {
        // SAFETY: handed over by the JVM for this thread.
        let what = unsafe { Jni::new(env) }.string(what);
        if let Some(agent) = AGENT.get()
            && !what.is_empty()
        {
            agent.stop(&what);
        }
    });
}
