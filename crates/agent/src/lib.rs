//! The agent: a library that a JVM loads to have its run recorded.
//!
//! It instruments classes as they are loaded, defines the runtime's classes (`runtime`) in the JVM, and gives them memory
//! to write records to. What it leaves behind is read by the `recording` crate, in another process.
//!
//! The application must never notice. Nothing is printed on its standard output; any trouble leaves a class as it was, or
//! ends the recording and says so on standard error. No panic leaves this library, and the class hook calls no Java.
//!
//! This is the only crate with `unsafe`: a JVM speaks in pointers. They stay in `jvm.rs`, `natives.rs` and this file;
//! mapped files stay in `map.rs`.

mod hook;
mod jvm;
mod map;
mod names;
mod natives;
mod packed;
mod plan;
mod platform;
mod runtime;
mod select;
mod state;

use std::ffi::{CStr, c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use instrument::Origin;
use jvmti_bindings::sys::jni::{JNIEnv, JavaVM, jclass, jint, jobject, jthread};
use jvmti_bindings::sys::jvmti::{
    JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, JVMTI_EVENT_THREAD_END, JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_START, JVMTI_VERSION_11, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks,
};
use recording::Options;

use jvm::{Failed, Jni, Jvmti};
use state::{AGENT, Agent, complain};

/// Runs what the JVM called for; a panic is a mistake of ours that must not reach it.
fn guarded<T>(otherwise: T, run: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or(otherwise)
}

/// Called by the JVM for `-agentpath`, before any class is loaded.
///
/// # Safety
/// Only a JVM may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *mut c_char, _: *mut c_void) -> jint {
    guarded(0, || {
        // A panic would print on its own; what it means is told where it is caught.
        panic::set_hook(Box::new(|_| {}));
        let options = if options.is_null() {
            String::new()
        } else {
            // SAFETY: the JVM hands over a text that ends with 0.
            unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
        };
        // SAFETY: `vm` is the JVM that calls.
        if let Err(trouble) = unsafe { load(vm, &options) } {
            complain(&format!("nothing is recorded: {trouble}"));
        }
        0
    })
}

/// # Safety
/// `vm` is a JVM that is starting.
unsafe fn load(vm: *mut JavaVM, options: &str) -> Result<(), String> {
    if AGENT.get().is_some() {
        // Named twice, on the command line and in a variable perhaps: once is enough.
        return Ok(());
    }
    let options = Options::parse(options).map_err(|error| error.to_string())?;
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: `vm` is valid by the caller's promise; the result is only used if the call says so.
    let result = unsafe { ((**vm).GetEnv)(vm, &mut env, JVMTI_VERSION_11) };
    if result != 0 || env.is_null() {
        return Err("this JVM has no tool interface".to_owned());
    }
    // SAFETY: just made for JVMTI.
    let jvmti = unsafe { Jvmti::new(env.cast::<jvmtiEnv>()) };
    let command = jvmti.property(c"sun.java.command").unwrap_or_default();
    if !select::is_watched(&command) {
        return Ok(());
    }
    let agent = Agent::create(jvmti, &options)?;
    if AGENT.set(agent).is_err() {
        return Ok(());
    }
    listen(jvmti).map_err(|failed| failed.to_string())
}

fn listen(jvmti: Jvmti) -> Result<(), Failed> {
    let mut has_virtual_threads = false;
    jvmti.add_capabilities(|potential| {
        has_virtual_threads = potential.can_support_virtual_threads();
        let mut wanted = jvmtiCapabilities::default();
        wanted.set_can_generate_all_class_hook_events(true);
        wanted.set_can_retransform_classes(true);
        wanted.set_can_retransform_any_class(potential.can_retransform_any_class());
        wanted.set_can_support_virtual_threads(has_virtual_threads);
        wanted
    })?;
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.VMStart = Some(on_start);
    callbacks.VMInit = Some(on_init);
    callbacks.VMDeath = Some(on_death);
    callbacks.ThreadEnd = Some(on_thread_end);
    callbacks.VirtualThreadEnd = Some(on_thread_end);
    callbacks.ClassFileLoadHook = Some(on_class);
    jvmti.set_callbacks(&callbacks)?;
    for event in [
        JVMTI_EVENT_VM_START,
        JVMTI_EVENT_VM_INIT,
        JVMTI_EVENT_VM_DEATH,
        JVMTI_EVENT_THREAD_END,
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    ] {
        jvmti.enable(event)?;
    }
    if has_virtual_threads {
        jvmti.enable(JVMTI_EVENT_VIRTUAL_THREAD_END)?;
    }
    Ok(())
}

unsafe extern "system" fn on_start(_: *mut jvmtiEnv, env: *mut JNIEnv) {
    guarded((), || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let Some(agent) = AGENT.get() else { return };
        if let Err(trouble) = runtime::define(agent, jni) {
            agent.stop(&trouble);
        }
        agent.get_plan();
    });
}

unsafe extern "system" fn on_init(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    guarded((), || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        if let Some(agent) = AGENT.get() {
            runtime::start(agent, jni);
            if let Some(loader) = jni.app_loader() {
                let _ = agent.app_loader.set(loader);
            }
            platform::retransform(agent);
        }
    });
}

unsafe extern "system" fn on_death(_: *mut jvmtiEnv, _: *mut JNIEnv) {
    guarded((), || {
        if let Some(agent) = AGENT.get() {
            agent.end();
        }
    });
}

unsafe extern "system" fn on_thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, _: jthread) {
    guarded((), || {
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        if let Some(agent) = AGENT.get() {
            runtime::thread_ended(agent, jni);
        }
    });
}

unsafe extern "system" fn on_class(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    guarded((), || {
        let Some(agent) = AGENT.get() else { return };
        if bytes.is_null() || length <= 0 {
            return;
        }
        // SAFETY: the JVM hands over that many bytes, valid during the call.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length as usize) };
        // SAFETY: the JVM hands over a text that ends with 0, or nothing.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy());
        // SAFETY: handed over by the JVM for this thread.
        let jni = unsafe { Jni::new(env) };
        let is_app = agent.app_loader.get().is_some_and(|app| jni.is_same(loader, app));
        let class = hook::Class {
            name: name.as_deref(),
            is_boot: loader.is_null(),
            origin: if is_app { Origin::ClassPath } else { Origin::Elsewhere },
            is_known: !redefined.is_null(),
        };
        let Some(rewritten) = hook::rewrite(agent, class, bytes) else { return };
        if let Some(memory) = agent.jvmti.copy(&rewritten) {
            // SAFETY: places for the results, valid during the call.
            unsafe {
                *new_length = rewritten.len() as jint;
                *new_bytes = memory;
            }
        }
    });
}
