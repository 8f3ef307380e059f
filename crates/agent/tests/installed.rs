//! The command works wherever it is put with its agent, as an archive of `./x dist` has them.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use support::{Program, fissure, jdks, temporary, text_of};

fn record(command: &Path, trace: &Path) -> Output {
    let mut command = Command::new(command);
    command.env_remove("FISSURE_AGENT").args(["record", "-o"]).arg(trace).arg("--").arg(jdks()[0].program("java"));
    command.args(Program::named("Counter").arguments()).output().unwrap()
}

#[test]
fn the_command_finds_the_agent_beside_itself() {
    // Also where paths have spaces and letters that are not English.
    let folder = temporary("installed").join("a place ä");
    let library = format!("{DLL_PREFIX}fissure_agent{DLL_SUFFIX}");
    let built = fissure().parent().unwrap();
    for (bin, lib) in [("flat", "flat"), ("usual/bin", "usual/lib")] {
        let (bin, lib) = (folder.join(bin), folder.join(lib));
        fs::create_dir_all(&bin).unwrap();
        let command = bin.join("fissure");
        fs::copy(fissure(), &command).unwrap();
        let trace = folder.join("t.trace");
        let output = record(&command, &trace);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
        assert!(stderr.contains("is not beside the command"), "{stderr}");

        fs::create_dir_all(&lib).unwrap();
        fs::copy(built.join(&library), lib.join(&library)).unwrap();
        let link = folder.join("link");
        let _ = fs::remove_file(&link);
        symlink(&command, &link).unwrap();
        for command in [&command, &link] {
            let output = record(command, &trace);
            assert_eq!((output.status.code(), output.stdout), (Some(0), b"40\n".to_vec()));
            assert!(text_of(&trace).contains("|w(Counter.count@"));
        }
    }
    let _ = fs::remove_dir_all(folder);
}

/// What is printed for scripts of one's own makes a JVM record to a folder, which the other commands read.
#[test]
fn the_option_for_scripts_works() {
    let folder = temporary("printed").join("with a space");
    let output = Command::new(fissure()).args(["record", "--print-agent", "-o"]).arg(&folder).output().unwrap();
    let option = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && option.starts_with("-agentpath:") && option.lines().count() == 1, "{option}");
    let mut java = Command::new("sh");
    // As a word in a shell script, without quotes.
    let arguments = Program::named("Counter").arguments().join(" ");
    let java = java.arg("-c").arg(format!("{} {} {arguments}", jdks()[0].program("java").display(), option.trim()));
    let output = java.output().unwrap();
    assert_eq!((output.stdout, output.stderr), (b"40\n".to_vec(), Vec::new()));
    let recording = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert!(text_of(&recording).contains("|w(Counter.count@"));
    let _ = fs::remove_dir_all(folder);
}
