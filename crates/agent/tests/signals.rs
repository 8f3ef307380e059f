//! Signals to the command reach the program, and how that ends is how the command ends.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use support::{Program, fissure, jdks, temporary, text_of};

#[test]
fn signals_pass_through() {
    for jdk in jdks() {
        for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
            let folder = temporary("signals");
            let trace = folder.join("t.trace");
            let mut command = Command::new("setsid");
            // Without a terminal, as in a script or in CI.
            command.arg("-w").arg(fissure()).args(["record", "-o"]).arg(&trace).arg("--").arg(jdk.program("java"));
            let mut child = command.args(Program::named("Endless").arguments()).stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut counted = lines.next().unwrap().unwrap();
            let pid = child_of(child.id()).unwrap_or(child.id());
            assert!(Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().unwrap().success());
            for line in lines.map_while(Result::ok) {
                counted = line;
            }
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal} on {}", jdk.version);
            let writes = text_of(&trace).lines().filter(|line| line.contains("|w(Endless.count)|")).count();
            assert!(writes >= counted.parse().unwrap(), "{writes} of {counted} after {signal}");
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// `setsid` may start the command as a process of its own.
fn child_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let first = children.split_whitespace().next()?.parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{first}/comm")).ok()?;
    (name.trim() == "fissure").then_some(first)
}

/// The JVM is killed, and the command goes on to finish the trace.
#[test]
fn a_killed_jvm_leaves_a_trace() {
    let jdk = &jdks()[0];
    let folder = temporary("signals");
    let trace = folder.join("t.trace");
    let mut command = Command::new(fissure());
    command.args(["record", "-o"]).arg(&trace).arg("--").arg(jdk.program("java"));
    command.args(Program::named("Endless").arguments()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let counted = lines.next().unwrap().unwrap();
    let id = child.id();
    let java = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    assert!(Command::new("kill").args(["-9", java.trim()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(137));
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning: the JVM was killed"));
    let writes = text_of(&trace).lines().filter(|line| line.contains("|w(Endless.count)|")).count();
    assert!(writes >= counted.parse().unwrap(), "{writes} of {counted}");
    let _ = fs::remove_dir_all(folder);
}

/// The command is killed. The agent writes the trace itself and goes on, and what it has written can be read.
#[test]
fn a_killed_command_leaves_a_trace() {
    let jdk = &jdks()[0];
    let folder = temporary("signals");
    let trace = folder.join("t.trace");
    let mut command = Command::new(fissure());
    command.args(["record", "-o"]).arg(&trace).arg("--").arg(jdk.program("java"));
    let mut child = command.args(Program::named("Endless").arguments()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let id = child.id();
    let mut counted: usize = lines.next().unwrap().unwrap().parse().unwrap();
    let java = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    // The command looks from time to time whether there is one, and only then it is where it is to be.
    while !trace.exists() {
        counted = lines.next().unwrap().unwrap().parse().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Some more records, so that what was counted before is in chunks that are full.
    let more = counted + 20_000;
    while lines.next().unwrap().unwrap().parse::<usize>().unwrap() < more {}
    assert!(Command::new("kill").args(["-9", java.trim()]).status().unwrap().success());
    let writes = text_of(&trace).lines().filter(|line| line.contains("|w(Endless.count)|")).count();
    assert!(writes >= counted, "{writes} of {counted}");
    let _ = fs::remove_dir_all(folder);
}
