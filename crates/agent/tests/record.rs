//! Programs run as they do alone, and their recordings say what they did. On every JDK of this machine.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

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
fn without_filter_every_access_is_there() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Shapes"), &[], &["--no-filter"]);
        let count = |operation: &str| recorded.events.iter().filter(|event| event.operation == operation).count();
        assert_eq!(count("w(Shapes.total)"), 1001, "{}", recorded.stderr);
        assert_eq!(count("r(Shapes$Box.value@)"), 1500);
        assert_eq!(recorded.order_unknown, 0);
    }
}
