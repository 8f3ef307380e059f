//! Classes of the platform that hand work from thread to thread. Their calls are not modelled where they are made, since a
//! task is a lambda, wrapped and queued: a few methods tell of their objects instead.

use std::sync::PoisonError;

use instrument::{Families, Globs, Hook, Plan, Sites};

use crate::state::Agent;

/// What a hook means: `runtime/java/lang/FissureThreads.java` has the same numbers.
const HANDED_OVER: i32 = 1;
const BEGINS: i32 = 2;
const DONE: i32 = 3;
const AWAITED: i32 = 4;

/// Class, method, descriptor (empty for any), at its end, local variable with the object, meaning.
type Line = (&'static str, &'static str, &'static str, bool, u16, i32);

const HOOKS: &[Line] = &[
    ("java/util/concurrent/ThreadPoolExecutor", "execute", "(Ljava/lang/Runnable;)V", false, 1, HANDED_OVER),
    (
        "java/util/concurrent/ThreadPoolExecutor",
        "beforeExecute",
        "(Ljava/lang/Thread;Ljava/lang/Runnable;)V",
        false,
        2,
        BEGINS,
    ),
    (
        "java/util/concurrent/ThreadPoolExecutor",
        "afterExecute",
        "(Ljava/lang/Runnable;Ljava/lang/Throwable;)V",
        false,
        0,
        DONE,
    ),
    (
        "java/util/concurrent/ThreadPoolExecutor",
        "awaitTermination",
        "(JLjava/util/concurrent/TimeUnit;)Z",
        true,
        0,
        AWAITED,
    ),
    ("java/util/concurrent/FutureTask", "<init>", "(Ljava/util/concurrent/Callable;)V", false, 0, HANDED_OVER),
    ("java/util/concurrent/FutureTask", "<init>", "(Ljava/lang/Runnable;Ljava/lang/Object;)V", false, 0, HANDED_OVER),
    ("java/util/concurrent/FutureTask", "run", "()V", false, 0, BEGINS),
    ("java/util/concurrent/FutureTask", "set", "(Ljava/lang/Object;)V", false, 0, DONE),
    ("java/util/concurrent/FutureTask", "setException", "(Ljava/lang/Throwable;)V", false, 0, DONE),
    ("java/util/concurrent/CompletableFuture$AsyncSupply", "<init>", "", false, 0, HANDED_OVER),
    ("java/util/concurrent/CompletableFuture$AsyncSupply", "run", "()V", false, 0, BEGINS),
    ("java/util/concurrent/CompletableFuture$AsyncRun", "<init>", "", false, 0, HANDED_OVER),
    ("java/util/concurrent/CompletableFuture$AsyncRun", "run", "()V", false, 0, BEGINS),
    ("java/util/concurrent/CompletableFuture", "completeValue", "(Ljava/lang/Object;)Z", false, 0, DONE),
    ("java/util/concurrent/CompletableFuture", "completeNull", "()Z", false, 0, DONE),
    ("java/util/concurrent/CompletableFuture", "completeThrowable", "(Ljava/lang/Throwable;)Z", false, 0, DONE),
    ("java/util/concurrent/ForkJoinTask", "fork", "()Ljava/util/concurrent/ForkJoinTask;", false, 0, HANDED_OVER),
    ("java/util/concurrent/ForkJoinTask", "doExec", "", false, 0, BEGINS),
    ("java/util/concurrent/ForkJoinTask", "setDone", "", false, 0, DONE),
];

/// Descriptors of methods that differ between releases.
const VARIANTS: &[(&str, &str, &[&str])] = &[
    (
        "java/util/concurrent/CompletableFuture$AsyncSupply",
        "<init>",
        &["(Ljava/util/concurrent/CompletableFuture;Ljava/util/function/Supplier;)V"],
    ),
    (
        "java/util/concurrent/CompletableFuture$AsyncRun",
        "<init>",
        &["(Ljava/util/concurrent/CompletableFuture;Ljava/lang/Runnable;)V"],
    ),
    ("java/util/concurrent/ForkJoinTask", "doExec", &["()I", "()V"]),
    ("java/util/concurrent/ForkJoinTask", "setDone", &["()I", "()V", "()Z"]),
];

/// A class of the platform with its hooks, if it has any.
pub(crate) fn hook(agent: &Agent, class: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let (name, ..) = *HOOKS.iter().find(|(name, ..)| *name == class)?;
    let mut plan = Plan {
        include: Globs::new([format!("{class}**")]),
        families: Families::NONE,
        adds_fields: false,
        ..Plan::default()
    };
    for &(_, method, descriptor, at_end, local, code) in HOOKS.iter().filter(|(name, ..)| *name == class) {
        let variants = VARIANTS.iter().find(|(owner, name, _)| *owner == class && *name == method);
        let descriptors = variants.map_or(vec![descriptor], |(_, _, descriptors)| descriptors.to_vec());
        for descriptor in descriptors {
            plan.methods.entry(class, method, descriptor).hooks.push(Hook { at_end, local, code });
        }
    }
    let rewritten = instrument::instrument(bytes, &plan, &mut Sites::new()).ok()??;
    if !rewritten.left_alone.is_empty() {
        return None;
    }
    agent.hooked.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    Some(rewritten.bytes)
}

/// Gives the hooks to classes that were loaded before the agent could see them. Others are not loaded for it: what their
/// initialisation reads, the application may yet set.
pub(crate) fn retransform(agent: &Agent) {
    let late = agent.jvmti.loaded(|signature| {
        let name = signature.strip_prefix('L').and_then(|name| name.strip_suffix(';'));
        let hooked = agent.hooked.lock().unwrap_or_else(PoisonError::into_inner);
        name.is_some_and(|name| HOOKS.iter().any(|(class, ..)| *class == name) && !hooked.contains(&name))
    });
    if !late.is_empty() {
        // Without it some orders between threads are not known, which makes the trace no less true.
        let _ = agent.jvmti.retransform(&late);
    }
}
