//! A JVM that is killed leaves a readable recording, and trouble with the recording does not reach the application.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Program, agent_option, fissure, jdks, temporary, text_of};

/// Kills a JVM that counts and says so, at some moment. All that it said it had counted must be in the recording.
#[test]
fn a_killed_jvm_leaves_all_that_it_did() {
    let kills = if std::env::var_os("FISSURE_LONG").is_some() { 100 } else { 3 };
    let program = Program::named("Endless");
    let jdks = jdks();
    for number in 0..kills {
        let jdk = &jdks[number % jdks.len()];
        let folder = temporary("killed");
        let mut java = Command::new(jdk.program("java"))
            .arg(agent_option(&folder, ""))
            .args(program.arguments())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(java.stdout.take().unwrap()).lines();
        let mut counted = lines.next().unwrap().unwrap();
        // Some time between the first line and a third of a second.
        let end = Instant::now() + Duration::from_millis((number as u64 * 97) % 331);
        while Instant::now() < end {
            counted = lines.next().unwrap().unwrap();
        }
        java.kill().unwrap();
        java.wait().unwrap();
        let counted: usize = counted.parse().unwrap();
        let recording = only_entry(&folder);
        let text = text_of(&recording);
        let writes = text.lines().filter(|line| line.contains("|w(Endless.count)|")).count();
        assert!(writes >= counted, "{writes} of {counted} are left of JVM {number}");
        fs::remove_dir_all(folder).unwrap();
    }
}

/// A trace of an earlier run must not be taken for one of a run in which no JVM has begun to record.
#[test]
fn a_program_without_a_recording_leaves_an_empty_trace() {
    let folder = temporary("nothing");
    for (script, code, said) in [
        ("kill -9 $$", 137, "warning: the program was killed before a JVM began to record: the trace is empty\n"),
        (
            "exit 3",
            3,
            "warning: no JVM was recorded: the program ran none, or none that takes the agent; the trace is empty\n",
        ),
    ] {
        let trace = folder.join("t.trace");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&trace, "of an earlier run").unwrap();
        let mut record = Command::new(fissure());
        let output = record.args(["record", "-o"]).arg(&trace).args(["--", "sh", "-c", script]).output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(code), said));
        let read = Command::new(fissure()).arg("analyze").arg(&trace).output().unwrap();
        let expected = if code == 137 { 3 } else { 0 };
        assert_eq!(read.status.code(), Some(expected), "{}", String::from_utf8_lossy(&read.stderr));
        assert!(String::from_utf8_lossy(&read.stdout).contains("no findings in 0 events"));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn trouble_stops_the_recording_and_not_the_program() {
    let program = Program::named("Counter");
    for jdk in jdks() {
        for (folder, options, said) in [
            (Path::new("/proc/nowhere"), "", "nothing is recorded: cannot make a folder"),
            (&*temporary("full"), ",limit=4096", "recording has stopped: the limit"),
            (&*temporary("wrong"), ",colour=red", "nothing is recorded: there is no option `colour`"),
        ] {
            let mut java = Command::new(jdk.program("java"));
            let output = java.arg(agent_option(folder, options)).args(program.arguments()).output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && output.stdout == b"40\n", "{stderr}");
            assert!(stderr.starts_with(&format!("fissure: {said}")) && stderr.lines().count() == 1, "{stderr}");
        }
    }
}

#[test]
fn named_twice_it_is_there_once() {
    let program = Program::named("Counter");
    let folder = temporary("twice");
    let option = agent_option(&folder, "");
    let mut java = Command::new(jdks()[0].program("java"));
    let output = java.args([&option, &option]).args(program.arguments()).output().unwrap();
    assert_eq!((output.stdout, output.stderr), (b"40\n".to_vec(), Vec::new()));
    let text = text_of(&only_entry(&folder));
    assert_eq!(text.lines().filter(|line| line.contains("|acq(Counter@")).count(), 40);
}

fn only_entry(folder: &Path) -> std::path::PathBuf {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}
