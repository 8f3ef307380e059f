//! The few things that are asked of the JVM, so that the rest of the agent needs no pointers.
//!
//! Every function here is called in a callback or native method of the JVM, with the environment that it handed over
//! for this thread.

use std::ffi::{CStr, c_char, c_uchar};
use std::ptr;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jmethodID, jobject, jstring, jvalue};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiEvent, jvmtiEventCallbacks, jvmtiFrameInfo,
};

/// The agent's own environment of the tool interface.
#[derive(Clone, Copy)]
pub(crate) struct Jvmti(*mut jvmtiEnv);

// SAFETY: the interface may be used from any thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// An error of the JVM by its number.
pub(crate) struct Failed(pub(crate) &'static str, pub(crate) i32);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the JVM refuses {} (error {})", self.0, self.1)
    }
}

fn checked(what: &'static str, error: jvmtiError) -> Result<(), Failed> {
    if error == jvmtiError::NONE { Ok(()) } else { Err(Failed(what, error.raw())) }
}

macro_rules! call {
    ($env:expr, $function:ident, $($argument:expr),*) => {{
        // SAFETY: `env` is the environment that the JVM made for this agent, which lives as long as the JVM, and the
        // arguments are what the function's documentation asks for.
        let function = unsafe { (*(*$env.0).functions).$function };
        match function {
            // SAFETY: as above.
            Some(function) => checked(stringify!($function), unsafe { function($env.0, $($argument),*) }),
            None => Err(Failed(stringify!($function), -1)),
        }
    }};
}

impl Jvmti {
    /// # Safety
    /// `env` was made by the JVM's `GetEnv` for JVMTI.
    pub(crate) unsafe fn new(env: *mut jvmtiEnv) -> Jvmti {
        Jvmti(env)
    }

    /// Asks for capabilities; those beyond what this JVM has are left out by `wanted`.
    pub(crate) fn add_capabilities(
        self,
        wanted: impl FnOnce(&jvmtiCapabilities) -> jvmtiCapabilities,
    ) -> Result<(), Failed> {
        let mut potential = jvmtiCapabilities::default();
        call!(self, GetPotentialCapabilities, &mut potential)?;
        let wanted = wanted(&potential);
        call!(self, AddCapabilities, &wanted)
    }

    pub(crate) fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<(), Failed> {
        call!(self, SetEventCallbacks, callbacks, size_of::<jvmtiEventCallbacks>() as i32)
    }

    pub(crate) fn enable(self, event: jvmtiEvent) -> Result<(), Failed> {
        call!(self, SetEventNotificationMode, JVMTI_ENABLE, event, ptr::null_mut())
    }

    pub(crate) fn property(self, name: &CStr) -> Option<String> {
        let mut value: *mut c_char = ptr::null_mut();
        call!(self, GetSystemProperty, name.as_ptr(), &mut value).ok()?;
        self.text(value)
    }

    /// Takes over a text that the JVM allocated.
    fn text(self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the JVM returned a text that ends with 0.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let _ = call!(self, Deallocate, text.cast());
        Some(copy)
    }

    /// A copy of bytes in memory that the JVM will free, as a class hook returns it.
    pub(crate) fn copy(self, bytes: &[u8]) -> Option<*mut c_uchar> {
        let mut memory: *mut c_uchar = ptr::null_mut();
        call!(self, Allocate, bytes.len() as i64, &mut memory).ok()?;
        if memory.is_null() {
            return None;
        }
        // SAFETY: the JVM allocated that many bytes, and nobody else knows them.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Some(memory)
    }

    /// Has classes that are loaded already go through the class hook.
    pub(crate) fn retransform(self, classes: &[jclass]) -> Result<(), Failed> {
        call!(self, RetransformClasses, classes.len() as i32, classes.as_ptr())
    }

    /// Loaded classes whose signatures are asked for.
    pub(crate) fn loaded(self, wanted: impl Fn(&str) -> bool) -> Vec<jclass> {
        let mut count = 0;
        let mut classes: *mut jclass = ptr::null_mut();
        if call!(self, GetLoadedClasses, &mut count, &mut classes).is_err() || classes.is_null() {
            return Vec::new();
        }
        // SAFETY: the JVM returned that many references, in memory that is freed below.
        let all = unsafe { std::slice::from_raw_parts(classes, usize::try_from(count).unwrap_or(0)) }.to_vec();
        let _ = call!(self, Deallocate, classes.cast());
        let is_wanted = |class: &jclass| self.signature(*class).is_some_and(|signature| wanted(&signature));
        all.into_iter().filter(is_wanted).collect()
    }

    fn signature(self, class: jclass) -> Option<String> {
        let mut signature: *mut c_char = ptr::null_mut();
        call!(self, GetClassSignature, class, &mut signature, ptr::null_mut()).ok()?;
        self.text(signature)
    }

    /// Collects garbage, whatever the JVM's options say of those who ask for that.
    pub(crate) fn collect(self) {
        let _ = call!(self, ForceGarbageCollection,);
    }

    /// The class of the innermost frame that is none of the runtime's.
    pub(crate) fn caller(self) -> Option<jclass> {
        const FRAMES: usize = 16;
        let mut frames = [jvmtiFrameInfo::default(); FRAMES];
        let mut count = 0;
        call!(self, GetStackTrace, ptr::null_mut(), 0, FRAMES as i32, frames.as_mut_ptr(), &mut count).ok()?;
        for frame in &frames[..usize::try_from(count).ok()?.min(FRAMES)] {
            let mut class = ptr::null_mut();
            call!(self, GetMethodDeclaringClass, frame.method, &mut class).ok()?;
            if !self.signature(class)?.starts_with("Ljava/lang/Fissure") {
                return Some(class);
            }
        }
        None
    }
}

/// A reference that every thread may use, as long as the JVM lives.
pub(crate) struct Global(jobject);

// SAFETY: that is what global references are for.
unsafe impl Send for Global {}
// SAFETY: as above.
unsafe impl Sync for Global {}

/// JNI in one thread.
#[derive(Clone, Copy)]
pub(crate) struct Jni(*mut JNIEnv);

macro_rules! jni {
    ($env:expr, $function:ident $(, $argument:expr)*) => {
        // SAFETY: the environment is that of this thread, and the arguments are what the function's documentation asks
        // for.
        unsafe { ((**$env.0).$function)($env.0 $(, $argument)*) }
    };
}

impl Jni {
    /// # Safety
    /// `env` is what the JVM handed over for this thread, and the value does not outlive the call.
    pub(crate) unsafe fn new(env: *mut JNIEnv) -> Jni {
        Jni(env)
    }

    /// Defines a class in the boot loader.
    pub(crate) fn define(self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
        let class = jni!(self, DefineClass, name.as_ptr(), ptr::null_mut(), bytes.as_ptr().cast(), bytes.len() as i32);
        self.unless_thrown(class)
    }

    pub(crate) fn static_method(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jmethodID> {
        let method = jni!(self, GetStaticMethodID, class, name.as_ptr(), descriptor.as_ptr());
        if jni!(self, ExceptionCheck) != 0 {
            jni!(self, ExceptionClear);
            return None;
        }
        (!method.is_null()).then_some(method)
    }

    /// Calls a static method without a result. False if it threw.
    pub(crate) fn call_static(self, class: jclass, method: jmethodID, arguments: &[jvalue]) -> bool {
        jni!(self, CallStaticVoidMethodA, class, method, arguments.as_ptr());
        let threw = jni!(self, ExceptionCheck) != 0;
        if threw {
            jni!(self, ExceptionClear);
        }
        !threw
    }

    pub(crate) fn global(self, object: jobject) -> Option<jobject> {
        let global = jni!(self, NewGlobalRef, object);
        (!global.is_null()).then_some(global)
    }

    /// The loader of the class path, once the JVM is up.
    pub(crate) fn app_loader(self) -> Option<Global> {
        let class = self.unless_thrown(jni!(self, FindClass, c"java/lang/ClassLoader".as_ptr()))?;
        let method = self.static_method(class, c"getBuiltinAppClassLoader", c"()Ljava/lang/ClassLoader;")?;
        let loader = self.unless_thrown(jni!(self, CallStaticObjectMethodA, class, method, ptr::null()))?;
        self.global(loader).map(Global)
    }

    pub(crate) fn is_same(self, object: jobject, other: &Global) -> bool {
        jni!(self, IsSameObject, object, other.0) != 0
    }

    pub(crate) fn string(self, text: jstring) -> String {
        if text.is_null() {
            return String::new();
        }
        let length = jni!(self, GetStringLength, text);
        let mut units = vec![0u16; usize::try_from(length).unwrap_or(0)];
        if !units.is_empty() {
            jni!(self, GetStringRegion, text, 0, length, units.as_mut_ptr());
        }
        String::from_utf16_lossy(&units)
    }

    pub(crate) fn new_string(self, text: &str) -> jstring {
        self.new_units(&text.encode_utf16().collect::<Vec<u16>>())
    }

    /// A text of these units, which need not be one that people can read.
    pub(crate) fn new_units(self, units: &[u16]) -> jstring {
        let string = jni!(self, NewString, units.as_ptr(), units.len() as i32);
        self.unless_thrown(string).unwrap_or(ptr::null_mut())
    }

    fn unless_thrown(self, object: jobject) -> Option<jobject> {
        if jni!(self, ExceptionCheck) != 0 {
            jni!(self, ExceptionClear);
            return None;
        }
        (!object.is_null()).then_some(object)
    }
}
