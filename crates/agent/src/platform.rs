//! Classes of the platform that hand work from thread to thread. Their calls are not modelled where they are made, since a
//! task is a lambda, wrapped and queued: a few methods tell of their objects instead.

use std::sync::PoisonError;

use instrument::{Families, Globs, Hook, Plan, Sites};

use crate::state::Agent;

/// What a hook means: `runtime/java/lang/FissureThreads.java` has the same numbers.
const HANDED_OVER: i32 = 1;
const BEGINS: i32 = 2;
const DONE: i32 = 3;
/// A thread is about to run.
const STARTED: i32 = 4;
/// What depends on futures is due.
const CLAIMED: i32 = 5;
/// If it is over, what follows comes after it.
const LOOKED_AT: i32 = 6;

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
    // A pool is done when its threads have ended or are idle, whatever is overridden. A thread that looks for a task and
    // gets none does not count any more, and another one may see the pool ended before this one leaves.
    ("java/util/concurrent/ThreadPoolExecutor", "getTask", "()Ljava/lang/Runnable;", false, 0, DONE),
    ("java/util/concurrent/ThreadPoolExecutor", "processWorkerExit", "", false, 0, DONE),
    ("java/util/concurrent/ForkJoinPool", "deregisterWorker", "", false, 0, DONE),
    ("java/util/concurrent/ForkJoinPool", "awaitWork", "", false, 0, DONE),
    ("java/util/concurrent/ThreadPerTaskExecutor", "taskComplete", "(Ljava/lang/Thread;)V", false, 0, DONE),
    // Threads that the platform starts, too.
    ("java/lang/Thread", "start", "", false, 0, STARTED),
    // Code may name a class below that nobody has seen yet when it is instrumented.
    ("java/lang/Thread", "join", "(J)V", true, 0, LOOKED_AT),
    ("java/lang/VirtualThread", "start", "(Ljdk/internal/vm/ThreadContainer;)V", false, 0, STARTED),
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
    // What needs two futures asks for the second one in this way.
    (
        "java/util/concurrent/CompletableFuture",
        "toCompletableFuture",
        "()Ljava/util/concurrent/CompletableFuture;",
        false,
        0,
        LOOKED_AT,
    ),
    // A future that is done when a step is added, even if it was not a moment before.
    (
        "java/util/concurrent/CompletableFuture",
        "uniApplyNow",
        "(Ljava/lang/Object;Ljava/util/concurrent/Executor;Ljava/util/function/Function;)Ljava/util/concurrent/CompletableFuture;",
        false,
        0,
        LOOKED_AT,
    ),
    (
        "java/util/concurrent/CompletableFuture",
        "uniAcceptNow",
        "(Ljava/lang/Object;Ljava/util/concurrent/Executor;Ljava/util/function/Consumer;)Ljava/util/concurrent/CompletableFuture;",
        false,
        0,
        LOOKED_AT,
    ),
    (
        "java/util/concurrent/CompletableFuture",
        "uniRunNow",
        "(Ljava/lang/Object;Ljava/util/concurrent/Executor;Ljava/lang/Runnable;)Ljava/util/concurrent/CompletableFuture;",
        false,
        0,
        LOOKED_AT,
    ),
    ("java/util/concurrent/CompletableFuture$UniCompletion", "claim", "()Z", false, 0, CLAIMED),
    ("java/util/concurrent/CompletableFuture$BiRelay", "tryFire", "", false, 0, CLAIMED),
    // What is submitted is wrapped in a new one.
    ("java/util/concurrent/ForkJoinTask", "<init>", "()V", true, 0, HANDED_OVER),
    ("java/util/concurrent/ForkJoinTask", "fork", "()Ljava/util/concurrent/ForkJoinTask;", false, 0, HANDED_OVER),
    ("java/util/concurrent/ForkJoinTask", "doExec", "", false, 0, BEGINS),
    ("java/util/concurrent/ForkJoinTask", "setDone", "", false, 0, DONE),
];

/// Descriptors of methods that differ between releases.
const VARIANTS: &[(&str, &str, &[&str])] = &[
    (
        "java/util/concurrent/ThreadPoolExecutor",
        "processWorkerExit",
        &["(Ljava/util/concurrent/ThreadPoolExecutor$Worker;Z)V"],
    ),
    (
        "java/util/concurrent/ForkJoinPool",
        "deregisterWorker",
        &["(Ljava/util/concurrent/ForkJoinWorkerThread;Ljava/lang/Throwable;)V"],
    ),
    (
        "java/util/concurrent/ForkJoinPool",
        "awaitWork",
        &["(Ljava/util/concurrent/ForkJoinPool$WorkQueue;)I", "(Ljava/util/concurrent/ForkJoinPool$WorkQueue;I)I"],
    ),
    ("java/lang/Thread", "start", &["()V", "(Ljdk/internal/vm/ThreadContainer;)V"]),
    ("java/util/concurrent/CompletableFuture$BiRelay", "tryFire", &["(I)Ljava/util/concurrent/CompletableFuture;"]),
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

/// The descriptors that a method may have.
fn variants(class: &str, method: &str, descriptor: &'static str) -> Vec<&'static str> {
    let variants = VARIANTS.iter().find(|(owner, name, _)| *owner == class && *name == method);
    variants.map_or(vec![descriptor], |(_, _, descriptors)| descriptors.to_vec())
}

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
        for descriptor in variants(class, method, descriptor) {
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
        // Without it some orders between threads are not known, which makes the trace no less true. One class that
        // cannot have its hooks, because of another agent perhaps, must not keep them from the rest.
        if agent.jvmti.retransform(&late).is_err() {
            for class in late {
                let _ = agent.jvmti.retransform(&[class]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

    use std::process::Command;

    use super::*;

    const JAVA: &str = include_str!("../../../runtime/java/lang/FissureThreads.java");

    #[test]
    fn codes_are_those_of_the_runtime() {
        for (name, code) in [
            ("HANDED_OVER", HANDED_OVER),
            ("BEGINS", BEGINS),
            ("DONE", DONE),
            ("STARTED", STARTED),
            ("CLAIMED", CLAIMED),
            ("LOOKED_AT", LOOKED_AT),
        ] {
            assert!(JAVA.contains(&format!("static final int {name} = {code};")), "{name}");
        }
    }

    /// On every JDK each hook has its method, in one of its variants.
    #[test]
    fn every_hook_has_its_method() {
        for jdk in fixture::find_jdks().unwrap().iter().filter(|jdk| jdk.feature >= 17) {
            let mut javap = Command::new(jdk.program("javap"));
            javap.args(["-p", "-s", "--module", "java.base"]);
            let output = javap.args(HOOKS.iter().map(|(class, ..)| class.replace('/', "."))).output();
            let all = String::from_utf8(output.unwrap().stdout).unwrap();
            for &(class, method, descriptor, ..) in HOOKS {
                let name = class.replace('/', ".");
                let heads = [format!("class {name} "), format!("class {name}<")];
                let mut classes = all.split("Compiled from");
                let Some(text) = classes.find(|text| heads.iter().any(|head| text.contains(head))) else {
                    assert!(jdk.feature < 21 && (name.contains("Virtual") || name.contains("PerTask")), "{name}");
                    continue;
                };
                // A constructor goes by the name of its class.
                let name = if method == "<init>" { class.replace('/', ".") } else { method.to_owned() };
                let lines: Vec<&str> = text.lines().map(str::trim).collect();
                let found = lines.windows(2).any(|two| {
                    two[0].contains(&format!("{name}("))
                        && two[1]
                            .strip_prefix("descriptor: ")
                            .is_some_and(|found| variants(class, method, descriptor).contains(&found))
                });
                assert!(found, "{class}.{method} is not in JDK {}", jdk.version);
            }
        }
    }
}
