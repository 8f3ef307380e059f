//! Many threads, many starts, classes that come and go, and little room. The full numbers are in the long tests.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use fixture::Jdk;
use support::{Program, agent_option, jdks, record, temporary, text_of};

fn is_long() -> bool {
    std::env::var_os("FISSURE_LONG").is_some()
}

/// Runs a program with the agent and options of its own; its output, and the recording as text.
fn recorded(jdk: &Jdk, jvm: &[&str], program: &str, arguments: &[&str]) -> (String, String) {
    let folder = temporary("loads");
    let mut java = Command::new(jdk.program("java"));
    java.arg(agent_option(&folder, "")).args(jvm).arg("-cp").arg(Program::named(program).classes());
    let output = java.arg(program).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let entry = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = text_of(&entry);
    let _ = fs::remove_dir_all(folder);
    (said, text)
}

fn threads(kind: &str, number: usize, jvm: &[&str]) {
    for jdk in jdks().iter().filter(|jdk| kind != "virtual" || jdk.feature >= 21) {
        let (said, text) = recorded(jdk, jvm, "Threads", &[kind, &number.to_string()]);
        assert_eq!(said.trim(), (3 * number).to_string());
        let count = |start: &str| {
            text.lines().filter(|line| line.split('|').nth(1).is_some_and(|op| op.starts_with(start))).count()
        };
        // Each adds three times, and each time is a section of its own.
        assert_eq!(count("w(Threads.count@"), 3 * number, "on {}", jdk.version);
        assert_eq!(count("acq(Threads@"), 3 * number);
        assert!(count("birth") > number, "{}", count("birth"));
        assert_eq!(count("lost"), 0);
    }
}

#[test]
fn many_platform_threads() {
    threads("platform", if is_long() { 10_000 } else { 500 }, &["-Xss256k", "-Xmx256m"]);
}

#[test]
fn many_virtual_threads() {
    let number = if is_long() { 100_000 } else { 3_000 };
    threads("virtual", number, &["-Xmx512m"]);
}

/// What is kept for a thread is gone when it ends: threads one after the other need no more heap than a few.
#[test]
fn threads_one_after_the_other_need_no_more_heap() {
    let pairs = if is_long() { 3_000 } else { 200 };
    for jdk in jdks() {
        let (said, text) = recorded(&jdk, &["-Xmx10m"], "Successors", &[&pairs.to_string()]);
        assert_eq!(said.trim(), (2 * pairs * 1_000).to_string());
        assert_eq!(text.lines().filter(|line| line.contains("|lost")).count(), 0);
        // Readers that are no longer noted still come before the write at the end.
        let mut written = BTreeSet::new();
        for line in text.lines() {
            let Some((before, rest)) = line.split_once("(int[]@") else { continue };
            let array = rest.split('[').next();
            if before.ends_with("|w") {
                written.insert(array);
            }
            assert!(!before.ends_with("|r") || !written.contains(&array), "{line} on {}", jdk.version);
        }
        assert_eq!(written.len(), 100);
    }
}

/// A small metaspace holds only what is not unloaded.
#[test]
fn classes_are_unloaded() {
    let number = if is_long() { 20_000 } else { 1_500 };
    for jdk in jdks() {
        let (said, text) = recorded(&jdk, &["-XX:MaxMetaspaceSize=20m", "-Xmx64m"], "Loaders", &[&number.to_string()]);
        assert_eq!(said.trim(), number.to_string());
        assert_eq!(text.lines().filter(|line| line.contains("|acq(Loaders$Loaded@")).count(), 4 * number);
    }
}

/// Threads load classes while the JVM starts, and it never hangs.
#[test]
fn many_starts() {
    let starts = if is_long() { 1_000 } else { 6 };
    let jdks = jdks();
    let classes = Program::named("Startup").classes().to_owned();
    for number in 0..starts {
        let folder = temporary("starts");
        let mut java = Command::new(jdks[number % jdks.len()].program("java"));
        java.arg(agent_option(&folder, "")).arg("-cp").arg(&classes).arg("Startup");
        let mut child = java.stdout(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > Duration::from_secs(60) => {
                    child.kill().unwrap();
                    panic!("start {number} hangs");
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success() && said == "124\n", "start {number}: {status} {said}");
        let _ = fs::remove_dir_all(folder);
    }
}

/// A file that may not grow any more is what a full disk looks like: recording stops, the program does not.
#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let program = Program::named("Threads");
    for jdk in jdks() {
        let folder = temporary("disk");
        let java = format!(
            "ulimit -f 4096; exec {} '{}' -cp {} Threads platform 400",
            jdk.program("java").display(),
            agent_option(&folder, ""),
            program.classes().display()
        );
        let output = Command::new("sh").arg("-c").arg(java).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout == b"1200\n", "{stderr}");
        assert!(stderr.starts_with("fissure: recording has stopped: ") && stderr.lines().count() == 1, "{stderr}");
        // What came before is readable.
        let entry = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        assert!(text_of(&entry).contains("|birth|"));
        let _ = fs::remove_dir_all(folder);
    }
}

/// The same where the trace itself has no room: the program goes on, and its exit code is the command's.
#[test]
fn a_trace_without_room_does_not_end_the_program() {
    let jdk = &jdks()[0];
    let folder = temporary("trace-room");
    let trace = folder.join("t.trace");
    fs::create_dir(&trace).unwrap();
    let recorded = |output: &Path| {
        let mut command = Command::new(support::fissure());
        command.args(["record", "-o"]).arg(output).arg("--").arg(jdk.program("java"));
        command.arg("-cp").arg(Program::named("Ends").classes()).args(["Ends", "7"]);
        command.output().unwrap()
    };
    // A folder is in its place: that is only seen when the first JVM is there.
    let output = recorded(&trace);
    assert_eq!((output.status.code(), output.stdout), (Some(7), b"step 1\n".to_vec()));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("warning: a trace ends here: cannot write"), "{stderr}");
    // Where not even a folder can be made, nothing is started.
    let output = recorded(Path::new("/proc/nowhere/t.trace"));
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
}

/// How a program ends is told, and what it did until then is there.
#[test]
fn every_end_leaves_a_trace() {
    for jdk in jdks() {
        let small: &[&str] = &["-Xmx32m"];
        for (mode, jvm, code) in [
            ("7", &[][..], 7),
            ("throw", &[], 1),
            ("halt", &[], 9),
            ("memory", small, 1),
            ("memory", &["-Xmx32m", "-XX:+ExitOnOutOfMemoryError"], 3),
        ] {
            let folder = temporary("ends");
            let trace = folder.join("t.trace");
            let mut command = Command::new(support::fissure());
            command.args(["record", "-o"]).arg(&trace).arg("--").arg(jdk.program("java")).args(jvm);
            let output =
                command.arg("-cp").arg(Program::named("Ends").classes()).args(["Ends", mode]).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{mode} {jvm:?}: {output:?}");
            // The JVM may say more of its own.
            assert!(output.stdout.starts_with(b"step 1\n"), "{output:?}");
            assert!(text_of(&trace).contains("|w(Ends.steps)|"), "{mode} {jvm:?} on {}", jdk.version);
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[test]
fn nothing_instrumented_is_told() {
    let recorded = record(&jdks()[0], &Program::named("Counter"), &[], &["--include", "nothing.like.it.**"]);
    assert_eq!((recorded.code, recorded.stdout.as_str()), (Some(0), "40\n"));
    assert!(recorded.stderr.contains("warning: no class was instrumented"), "{}", recorded.stderr);
}

/// Where the heap gets short, recording gives way: the program ends as it does alone, or when it is told to.
#[test]
fn a_short_heap_stops_the_recording_and_not_the_program() {
    for jdk in jdks() {
        let folder = temporary("crowded");
        let java = |mode: &[&str]| {
            let mut java = Command::new(jdk.program("java"));
            java.arg(agent_option(&folder, "")).args(["-Xmx28m", "-cp"]).arg(Program::named("Crowded").classes());
            java.arg("Crowded").args(mode).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let output = java(&[]).wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout == b"1350000 100000000\n", "{stderr}");
        assert_eq!(stderr, "fissure: recording has stopped: the heap is too short for it\n", "on {}", jdk.version);

        let mut child = java(&["wait"]);
        let mut first = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(143), "on {}", jdk.version);
        let _ = fs::remove_dir_all(folder);
    }
}
