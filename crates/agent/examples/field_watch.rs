//! An agent for tests: writes down every access to a field of the application that the JVM itself watches, so that a
//! recording can be compared with it. `-agentpath:libfield_watch.so=FILE`.
//!
//! One line each: thread, `r` or `w`, the field with its class, the method with its class, the line.

use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::Write;
use std::ptr;
use std::sync::{Mutex, OnceLock};

use jvmti_bindings::sys::jni::{JNIEnv, JavaVM, jclass, jfieldID, jint, jmethodID, jobject, jthread, jvalue};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_FIELD_ACCESS, JVMTI_EVENT_FIELD_MODIFICATION,
    JVMTI_VERSION_11, jlocation, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks, jvmtiLineNumberEntry,
    jvmtiThreadInfo,
};

static OUT: OnceLock<Mutex<File>> = OnceLock::new();

const FINAL: jint = 0x10;
const SYNTHETIC: jint = 0x1000;

/// Calls a function of the tool interface, which this JVM has.
macro_rules! call {
    ($env:expr, $function:ident $(, $argument:expr)*) => {
        // SAFETY: `env` is the environment that the JVM hands to callbacks, and the arguments are what the function's
        // documentation asks for.
        unsafe {
            match (*(*$env).functions).$function {
                Some(function) => function($env $(, $argument)*).raw() == 0,
                None => false,
            }
        }
    };
}

fn text(env: *mut jvmtiEnv, text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the JVM returned a text that ends with 0.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    call!(env, Deallocate, text.cast());
    copy
}

/// The name of a class, with dots.
fn class_name(env: *mut jvmtiEnv, class: jclass) -> String {
    let mut signature = ptr::null_mut();
    call!(env, GetClassSignature, class, &mut signature, ptr::null_mut());
    text(env, signature).trim_start_matches('L').trim_end_matches(';').replace('/', ".")
}

fn field_name(env: *mut jvmtiEnv, class: jclass, field: jfieldID) -> String {
    let mut name = ptr::null_mut();
    call!(env, GetFieldName, class, field, &mut name, ptr::null_mut(), ptr::null_mut());
    text(env, name)
}

/// Called by the JVM.
///
/// # Safety
/// Only a JVM may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *mut c_char, _: *mut c_void) -> jint {
    // SAFETY: the JVM hands over a text that ends with 0.
    let path = unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned();
    let Ok(file) = File::create(path) else { return 1 };
    if OUT.set(Mutex::new(file)).is_err() {
        return 1;
    }
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: `vm` is the JVM that calls.
    unsafe { ((**vm).GetEnv)(vm, &mut env, JVMTI_VERSION_11) };
    let env = env.cast::<jvmtiEnv>();
    let mut wanted = jvmtiCapabilities::default();
    wanted.set_can_generate_field_access_events(true);
    wanted.set_can_generate_field_modification_events(true);
    wanted.set_can_get_line_numbers(true);
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.ClassPrepare = Some(on_prepare);
    callbacks.FieldAccess = Some(on_read);
    callbacks.FieldModification = Some(on_write);
    let is_set = call!(env, AddCapabilities, &wanted)
        && call!(env, SetEventCallbacks, &callbacks, size_of::<jvmtiEventCallbacks>() as i32)
        && [JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_FIELD_ACCESS, JVMTI_EVENT_FIELD_MODIFICATION]
            .into_iter()
            .all(|event| call!(env, SetEventNotificationMode, JVMTI_ENABLE, event, ptr::null_mut()));
    i32::from(!is_set)
}

/// Watches all fields of a class of the application that can change.
unsafe extern "system" fn on_prepare(env: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread, class: jclass) {
    let mut loader: jobject = ptr::null_mut();
    call!(env, GetClassLoader, class, &mut loader);
    if loader.is_null() {
        return;
    }
    let mut count = 0;
    let mut fields: *mut jfieldID = ptr::null_mut();
    if !call!(env, GetClassFields, class, &mut count, &mut fields) || fields.is_null() {
        return;
    }
    // SAFETY: the JVM returned that many fields.
    let all = unsafe { std::slice::from_raw_parts(fields, usize::try_from(count).unwrap_or(0)) }.to_vec();
    call!(env, Deallocate, fields.cast());
    for field in all {
        let mut modifiers = 0;
        call!(env, GetFieldModifiers, class, field, &mut modifiers);
        let is_added = modifiers & SYNTHETIC != 0 && field_name(env, class, field).starts_with("$fissure");
        if modifiers & FINAL == 0 && !is_added {
            call!(env, SetFieldAccessWatch, class, field);
            call!(env, SetFieldModificationWatch, class, field);
        }
    }
}

unsafe extern "system" fn on_read(
    env: *mut jvmtiEnv,
    _: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    class: jclass,
    _: jobject,
    field: jfieldID,
) {
    tell(env, thread, 'r', method, location, class, field);
}

unsafe extern "system" fn on_write(
    env: *mut jvmtiEnv,
    _: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    class: jclass,
    _: jobject,
    field: jfieldID,
    _: c_char,
    _: jvalue,
) {
    tell(env, thread, 'w', method, location, class, field);
}

fn tell(
    env: *mut jvmtiEnv,
    thread: jthread,
    access: char,
    method: jmethodID,
    location: jlocation,
    class: jclass,
    field: jfieldID,
) {
    // SAFETY: all zero is a value of it, which the JVM fills in.
    let mut info: jvmtiThreadInfo = unsafe { std::mem::zeroed() };
    call!(env, GetThreadInfo, thread, &mut info);
    let thread = text(env, info.name);
    let mut declaring = ptr::null_mut();
    let mut name = ptr::null_mut();
    call!(env, GetMethodDeclaringClass, method, &mut declaring);
    call!(env, GetMethodName, method, &mut name, ptr::null_mut(), ptr::null_mut());
    let method_name = format!("{}.{}", class_name(env, declaring), text(env, name));
    let field = format!("{}.{}", class_name(env, class), field_name(env, class, field));
    let line = line(env, method, location);
    if let Some(out) = OUT.get()
        && let Ok(mut out) = out.lock()
    {
        let _ = writeln!(out, "{thread}|{access}|{field}|{method_name}|{line}");
    }
}

fn line(env: *mut jvmtiEnv, method: jmethodID, location: jlocation) -> i32 {
    let mut count = 0;
    let mut table: *mut jvmtiLineNumberEntry = ptr::null_mut();
    if !call!(env, GetLineNumberTable, method, &mut count, &mut table) || table.is_null() {
        return 0;
    }
    // SAFETY: the JVM returned that many entries.
    let entries = unsafe { std::slice::from_raw_parts(table, usize::try_from(count).unwrap_or(0)) };
    let before = entries.iter().filter(|entry| entry.start_location <= location);
    let line = before.max_by_key(|entry| entry.start_location).map_or(0, |entry| entry.line_number);
    call!(env, Deallocate, table.cast());
    line
}
