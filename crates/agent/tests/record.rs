//! Programs run as they do alone, and their recordings say what they did. On every JDK of this machine.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};

use fixture::{cache, compile, programs, test_jdk, workspace};
use support::races::races;
use support::{Program, agent_option, jdks, record, run, temporary};

#[test]
fn programs_end_as_they_do_alone() {
    for jdk in jdks() {
        for (program, arguments) in [
            ("Counter", &[][..]),
            ("Constant", &[][..]),
            ("Ends", &["7"][..]),
            ("Ends", &["throw"][..]),
            ("Ends", &["halt"][..]),
            ("Deep", &[][..]),
            ("Waiting", &[][..]),
            ("Shapes", &[][..]),
            ("Tasks", &[][..]),
            ("Ordered", &[][..]),
            ("Locks", &[][..]),
            ("Names", &[][..]),
            ("Handles", &[][..]),
            ("References", &[][..]),
            ("Startup", &[][..]),
            ("Loaders", &["20"][..]),
            ("Threads", &["platform", "20"][..]),
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

/// A field that is as good as final has no events. What another loader brings is not what was looked at.
#[test]
fn fields_that_only_constructors_write_are_left_out() {
    for jdk in jdks() {
        let touches = |program: &str, arguments: &[&str], options: &[&str], field: &str| {
            let recorded = record(&jdk, &Program::named(program), arguments, options);
            assert!(!recorded.stderr.contains("are missing"), "{}", recorded.stderr);
            recorded.events.iter().filter(|event| event.operation.contains(field)).count()
        };
        assert_eq!(touches("Constant", &[], &[], "(Constant.parts@"), 0, "on {}", jdk.version);
        assert!(touches("Constant", &[], &[], "(Constant.sum@") >= 6, "on {}", jdk.version);
        assert!(touches("Constant", &[], &["--no-filter"], "(Constant.parts@") >= 12, "on {}", jdk.version);
        assert!(touches("Loaders", &["2"], &[], "(Loaders$Loaded.parts@") > 0, "on {}", jdk.version);
    }
}

/// A part of the programs with known truth, all of them in the long test. Some say what depends on the schedule: then only
/// the end counts.
#[test]
fn programs_with_truth_end_as_they_do_alone() {
    let top = workspace().canonicalize().unwrap();
    let (fixtures, truths): (Vec<_>, Vec<_>) = programs(&top.join("fixtures/programs")).unwrap().into_iter().unzip();
    let compiled = compile(&fixtures, &test_jdk().unwrap(), &cache()).unwrap();
    let step = if std::env::var_os("FISSURE_LONG").is_some() { 1 } else { 24 };
    for jdk in jdks() {
        for (one, truth) in compiled.iter().zip(&truths).step_by(step) {
            let folder = temporary("same");
            let agent = agent_option(&folder, "");
            let start = |options: &[&str]| {
                let mut java = Command::new(jdk.program("java"));
                java.args(options).arg("-cp").arg(&one.classes).arg(&truth.main).args(&truth.args);
                java.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let end = |java: Child| {
                let output = java.wait_with_output().unwrap();
                (output.status.code(), output.stdout, output.stderr)
            };
            // Side by side, and each at another pace, they get in each other's way: what they agree on then depends little
            // on how threads run.
            let at_paces = |options: &[&str]| -> Vec<Ended> {
                let started: Vec<Child> = PACES.iter().map(|pace| start(&[options, *pace].concat())).collect();
                started.into_iter().map(end).collect()
            };
            let mut alone = at_paces(&[]);
            let mut recorded = vec![end(start(&[&agent]))];
            assert_eq!(recorded[0].0, alone[0].0, "{} on {}: {recorded:?}", one.fixture.name, jdk.version);
            let agree = |seen: fn(&Ended) -> Ended| alone.iter().all(|one| seen(one) == seen(&alone[0]));
            // What a violation makes of numbers depends on the schedule, however often some runs agree.
            let mut ways = [Ended::clone, without_numbers].into_iter().skip(usize::from(truth.buggy));
            if let Some(seen) = ways.find(|seen| agree(*seen)) {
                // What the program says seldom it may have said just now; what it says mostly comes with more runs.
                let mut rounds = 0;
                while !alone.iter().any(|one| recorded.iter().any(|other| seen(one) == seen(other))) {
                    let said = format!("{:?}, alone {:?}", recorded[0], alone[0]);
                    assert!(rounds < ROUNDS, "{} on {}: {said}", one.fixture.name, jdk.version);
                    rounds += 1;
                    alone.extend(at_paces(&[]));
                    recorded.extend(at_paces(&[&agent]));
                }
            }
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Options that make a program run faster or slower, and its threads meet elsewhere.
const PACES: [&[&str]; 4] = [&[], &["-Xint"], &["-XX:TieredStopAtLevel=1"], &["-XX:ActiveProcessorCount=1"]];

/// How often a program is run side by side, alone and recorded, before what it said is taken for something that it does not
/// say alone.
const ROUNDS: usize = 20;

/// Exit code, output, errors.
type Ended = (Option<i32>, Vec<u8>, Vec<u8>);

/// The same with every number as `#`: how much several threads did may differ from run to run.
fn without_numbers((code, output, errors): &Ended) -> Ended {
    let masked = |bytes: &[u8]| {
        let mut bytes: Vec<u8> = bytes.iter().map(|one| if one.is_ascii_digit() { b'#' } else { *one }).collect();
        bytes.dedup_by(|one, before| *one == b'#' && *before == b'#');
        bytes
    };
    (*code, masked(output), masked(errors))
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

/// Nothing but references to the methods of the lock and of a thread says who holds what, and who started it.
#[test]
fn references_to_methods_are_told_like_calls() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("References"), &[], &["--no-filter"]);
        assert_eq!(recorded.order_unknown, 0, "{}", recorded.stderr);
        for thread in ["first", "second"] {
            let of_lock = recorded.events.iter().filter(|event| {
                event.thread == thread && event.operation.contains("(java.util.concurrent.locks.ReentrantLock@")
            });
            let all: Vec<&str> =
                of_lock.map(|event| event.operation.split_once('(').map_or("", |(what, _)| what)).collect();
            assert_eq!(all, ["acq", "rel"].repeat(10), "{thread} on {}", jdk.version);
        }
        assert!(recorded.events.iter().any(|event| event.thread == "main" && event.operation == "fork(first)"));
        assert_eq!(races(&recorded.text), BTreeMap::new(), "on {}", jdk.version);
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

/// The tasks of a pool are done before it is quiescent, whichever of its workers did them and however often the others tell
/// that they have nothing to do.
#[test]
fn the_trace_has_the_order_of_quiescence() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Quiescent"), &[], &["--no-filter"]);
        assert_eq!(recorded.stdout, "3\n");
        assert_eq!(races(&recorded.text), BTreeMap::new(), "on {}:\n{}", jdk.version, recorded.text);
    }
}

/// A lock is one wherever its class comes from, even if nobody had seen that when the code that takes it was loaded; and it is
/// taken once, even if its class takes it in code of its own.
#[test]
fn locks_whose_classes_come_later_are_held() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Locks"), &[], &[]);
        assert_eq!(recorded.order_unknown, 0, "{}", recorded.stderr);
        assert_eq!(races(&recorded.text), BTreeMap::new(), "on {}:\n{}", jdk.version, recorded.text);
        for (lock, times) in [("java.util.concurrent.locks.ReentrantLock", 8), ("Locks$Gate", 2)] {
            for how in ["acq", "rel"] {
                let operation = format!("{how}({lock}@)");
                let count = recorded.events.iter().filter(|event| event.operation == operation).count();
                assert_eq!(count, times, "{operation} on {}:\n{}", jdk.version, recorded.text);
            }
        }
        assert!(!recorded.text.contains("Locks$Door@"), "on {}:\n{}", jdk.version, recorded.text);
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
        // What a field is, its class tells, which may come late.
        for operation in ["vr(Names$Late.flag)", "vw(Names$Late.flag)", "r(Names$Late.plain)", "w(Names$Late.plain)"] {
            assert_eq!(count(operation), 1, "{operation} on {}", jdk.version);
        }
    }
}

/// However often an array is read, one read of each section is kept, and a write comes after all of them.
#[test]
fn reads_of_an_array_by_many_come_before_the_write() {
    const SECTIONS: usize = 200;
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Readers"), &["3"], &[]);
        assert_eq!((recorded.order_unknown, recorded.stdout.trim()), (0, "450"), "{}", recorded.stderr);
        let of_numbers = |event: &&support::Event| event.operation[1..].starts_with("(int[]@");
        let accesses: Vec<&support::Event> = recorded.events.iter().filter(of_numbers).collect();
        let mut reads: BTreeMap<&str, usize> = BTreeMap::new();
        let mut writes = 0;
        for event in accesses {
            if event.thread != "main" {
                *reads.entry(event.thread.as_str()).or_default() += 1;
            } else if event.operation.starts_with('w') {
                writes += 1;
                // All threads so far are through, and a thread that dropped one that was over says so by a read more.
                assert_eq!(reads.len(), 3 * writes, "on {}:\n{}", jdk.version, recorded.text);
                let told: Vec<usize> = reads.values().copied().collect();
                assert!(told.iter().all(|count| (SECTIONS..SECTIONS + 3).contains(count)), "{told:?}");
            }
        }
        assert_eq!(writes, 3, "on {}", jdk.version);
    }
}

/// Elements that threads take turns with are told one by one, and none is lost.
#[test]
fn elements_that_threads_share_are_told() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Elements"), &[], &["--no-filter"]);
        assert_eq!(recorded.stdout, "150\n");
        assert!(!recorded.text.contains("|lost("), "on {}:\n{}", jdk.version, recorded.text);
        let writes = recorded.events.iter().filter(|event| event.operation.starts_with("w(int[]@[")).count();
        assert_eq!(writes, 150, "on {}:\n{}", jdk.version, recorded.text);
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

/// A field is the same variable whether code names it, or a handle, or an updater; two fields of an object are two.
#[test]
fn a_handle_names_a_field() {
    for jdk in jdks() {
        let recorded = record(&jdk, &Program::named("Handles"), &[], &[]);
        assert_eq!(recorded.stdout, "25x34\n", "on {}: {}", jdk.version, recorded.stderr);
        let told = |event: &&support::Event| event.operation.starts_with(['v', 'a']);
        let told: Vec<&str> = recorded.events.iter().filter(told).map(|event| event.operation.as_str()).collect();
        let expected = [
            "vw(Handles$Queue.last@)",
            "vw(Handles$Above.produced@)",
            "vu(Handles$Above.produced@)",
            "vr(Handles$Above.produced@)",
            "vw(Handles$Above.consumed by handle@)",
            "vr(Handles$Above.consumed by handle@)",
            "vw(Handles$Queue.state@)",
            "vu(Handles$Queue.state@)",
            "vu(Handles$Queue.last@)",
        ];
        assert_eq!(told[..expected.len()], expected, "on {}", jdk.version);
        // An element and a static field are told, though not which they are.
        let rest = &told[expected.len()..];
        assert!(rest.iter().any(|one| one.starts_with("aw(int[]@")), "{rest:?}");
        assert!(rest.contains(&"vr(Handles$Queue.state@)") && rest.contains(&"vr(Handles$Queue.last@)"), "{rest:?}");
        assert!(!recorded.text.contains("|lost"), "on {}", jdk.version);
    }
}
