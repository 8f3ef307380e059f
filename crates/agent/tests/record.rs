//! Programs run as they do alone, and their recordings say what they did. On every JDK of this machine.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeMap;

use support::races::races;
use support::{Program, jdks, record, run};

#[test]
fn programs_end_as_they_do_alone() {
    for jdk in jdks() {
        for (program, arguments) in [
            ("Counter", &[][..]),
            ("Ends", &["7"][..]),
            ("Ends", &["throw"][..]),
            ("Ends", &["halt"][..]),
            ("Deep", &[][..]),
            ("Waiting", &[][..]),
            ("Shapes", &[][..]),
            ("Tasks", &[][..]),
            ("Ordered", &[][..]),
            ("Names", &[][..]),
        ] {
            let program = Program::named(program);
            let alone = run(&jdk, &program, arguments);
            let recorded = record(&jdk, &program, arguments, &[]);
            assert_eq!(alone.stdout, recorded.stdout, "{program:?} {arguments:?} on {}", jdk.version);
            assert_eq!(alone.code, recorded.code, "{program:?} {arguments:?} on {}: {}", jdk.version, recorded.stderr);
            assert!(recorded.events.len() > 2, "{program:?}: {}", recorded.stderr);
        }
    }
}

#[test]
fn a_counter_is_told_exactly() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Counter"), &[], &[]);
        assert_eq!(recorded.order_unknown, 0, "{}", recorded.stderr);
        let of = |thread: &str| -> Vec<String> {
            let events = recorded.events.iter().filter(|event| event.thread == thread);
            events.map(|event| event.operation.clone()).collect()
        };
        let turn = ["acq(Counter@)", "r(Counter.count@)", "w(Counter.count@)", "rel(Counter@)"];
        for thread in ["first", "second"] {
            let all = of(thread);
            assert_eq!((all[0].as_str(), all[all.len() - 1].as_str()), ("birth", "death"));
            assert_eq!(all.len(), 2 + 4 * 20, "{all:?}");
            assert!(all[1..all.len() - 1].chunks(4).all(|chunk| chunk == turn), "{all:?}");
        }
        let main = of("main");
        for operation in ["fork(first)", "fork(second)", "join(first)", "join(second)"] {
            assert!(main.iter().any(|event| event == operation), "{operation} is not in {main:?}");
        }
        // The sections exclude each other in the order that is told.
        let mut holder: Option<&str> = None;
        for event in &recorded.events {
            if event.operation.starts_with("acq(Counter@") {
                assert_eq!(holder.replace(&event.thread), None);
            } else if event.operation.starts_with("rel(Counter@") {
                assert_eq!(holder.take(), Some(event.thread.as_str()));
            }
        }
    }
}

#[test]
fn a_wait_gives_the_lock_up_even_if_it_throws() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Waiting"), &[], &[]);
        let of_waiter = recorded.events.iter().filter(|event| event.thread == "waiter");
        let waiter: Vec<&str> = of_waiter.map(|event| event.operation.as_str()).collect();
        let count = |start: &str| waiter.iter().filter(|operation| operation.starts_with(start)).count();
        assert_eq!((count("wrel("), count("wacq(")), (2, 2), "{waiter:?}");
        assert_eq!((count("acq("), count("rel(")), (2, 2), "{waiter:?}");
    }
}

#[test]
fn tasks_come_after_those_who_gave_them() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Tasks"), &[], &[]);
        assert_eq!(recorded.order_unknown, 0, "{}", recorded.stderr);
        let operations: Vec<(&str, &str)> =
            recorded.events.iter().map(|event| (event.thread.as_str(), event.operation.as_str())).collect();
        let first = |thread: &str, start: &str| {
            let at = operations.iter().position(|(of, what)| of.starts_with(thread) && what.starts_with(start));
            at.unwrap_or_else(|| panic!("no {start} of {thread} in {operations:?}"))
        };
        assert!(first("main", "arrive(") < first("pool-1-thread-1", "leave("), "{operations:?}");
        assert!(first("pool-1-thread-1", "leave(") < first("pool-1-thread-1", "r(Tasks.given@"), "{operations:?}");
        assert!(first("pool-1-thread-1", "w(Tasks.done") < first("pool-1-thread-1", "arrive("), "{operations:?}");
    }
}

/// What the library orders is ordered in the trace, and nothing else is.
#[test]
fn the_trace_has_every_order_that_the_library_makes() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Ordered"), &[], &["--no-filter"]);
        assert_eq!(recorded.order_unknown, 0, "{}", recorded.stderr);
        assert_eq!(races(&recorded.text), BTreeMap::new(), "on {}:\n{}", jdk.version, recorded.text);
        // A semaphore with one permit is a lock.
        let count = |operation: &str| recorded.events.iter().filter(|event| event.operation == operation).count();
        assert_eq!(count("acq(java.util.concurrent.Semaphore@)"), 4);
        assert_eq!(count("rel(java.util.concurrent.Semaphore@)"), 4);
        let recorded = record(&jdk, &Program::named("Unordered"), &[], &["--no-filter"]);
        let ways = recorded.stdout.lines().count();
        assert_eq!(races(&recorded.text).len(), ways, "on {}:\n{}", jdk.version, recorded.text);
    }
}

/// No field of the application is taken for one that was added.
#[test]
fn names_do_not_clash() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Names"), &[], &["--no-filter"]);
        let count = |operation: &str| recorded.events.iter().filter(|event| event.operation == operation).count();
        for (field, initial) in [
            ("Plain.more", 0),
            ("Plain.id", 0),
            ("WithWord.count", 0),
            ("WithWord.$fissure$count", 1),
            ("WithIdentity.count", 0),
            ("WithIdentity.$fissure$", 1),
            ("WithMore.count", 0),
            ("WithMore.$fissure", 1),
            ("WithBoth.count", 0),
            ("WithBoth.$fissure$", 1),
            ("WithBoth.$fissure", 1),
        ] {
            assert_eq!(count(&format!("w(Names${field}@)")), 3 + initial, "{field} on {}", jdk.version);
            assert_eq!(count(&format!("r(Names${field}@)")), 4, "{field} on {}", jdk.version);
        }
    }
}

#[test]
fn without_filter_every_access_is_there() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Shapes"), &[], &["--no-filter"]);
        let count = |operation: &str| recorded.events.iter().filter(|event| event.operation == operation).count();
        assert_eq!(count("w(Shapes.total)"), 1001, "{}", recorded.stderr);
        assert_eq!(count("r(Shapes$Box.value@)"), 1500);
        assert_eq!(recorded.order_unknown, 0);
    }
}
