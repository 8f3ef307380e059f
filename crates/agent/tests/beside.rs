//! Beside other agents, and under build tools: the project in `fixtures/maven`, with JUnit, Mockito and JaCoCo from Maven
//! Central.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fixture::{Jdk, fetch, workspace};
use support::{agent_option, fissure, jdks, temporary, text_of};

/// The project's compiled classes and the jars that it needs.
struct Project {
    classes: PathBuf,
    jars: Vec<PathBuf>,
}

impl Project {
    fn new() -> Option<Project> {
        let project = workspace().canonicalize().unwrap().join("fixtures/maven");
        let folder = fetch(&project.join("pom.xml"), "JaCoCo and Mockito beside the agent").unwrap()?;
        let mut jars: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        jars.sort();
        let classes = temporary("beside-classes");
        let mut javac = Command::new(jdks()[0].program("javac"));
        javac.args(["-g", "--release", "17", "-d"]).arg(&classes).arg("-cp").arg(std::env::join_paths(&jars).unwrap());
        for source in ["main/java/shop/Stock", "main/java/shop/Prices", "test/java/shop/StockTest"] {
            javac.arg(project.join("src").join(source).with_extension("java"));
        }
        assert!(javac.status().unwrap().success());
        Some(Project { classes, jars })
    }

    fn jar(&self, name: &str) -> &Path {
        self.jars.iter().find(|jar| jar.file_name().unwrap().to_string_lossy().contains(name)).unwrap()
    }

    /// Runs the tests with options of the JVM.
    fn test(&self, jdk: &Jdk, options: &[String]) -> Output {
        let mut class_path = self.jars.clone();
        class_path.insert(0, self.classes.clone());
        let mut java = Command::new(jdk.program("java"));
        java.args(options).arg("-cp").arg(std::env::join_paths(class_path).unwrap());
        java.args(["org.junit.platform.console.ConsoleLauncher", "execute", "--details=none", "--scan-class-path"]);
        java.arg(&self.classes).output().unwrap()
    }
}

/// What JaCoCo wrote, behind the header and the times of the session: which classes, by their bytes, and which probes.
fn coverage(file: &Path) -> Vec<u8> {
    const HEADER: usize = 5 + 1 + 2 + "same".len() + 16;
    let bytes = fs::read(file).unwrap();
    fs::remove_file(file).unwrap();
    assert!(bytes.len() > HEADER + 3 * 20, "three classes are covered");
    bytes[HEADER..].to_vec()
}

#[test]
fn agents_in_every_order() {
    let Some(project) = Project::new() else { return };
    let folder = temporary("beside");
    let covered = folder.join("jacoco.exec");
    let options = format!("destfile={},includes=shop.*,sessionid=same", covered.display());
    let jacoco = format!("-javaagent:{}={options}", project.jar("jacoco").display());
    let mockito = format!("-javaagent:{}", project.jar("mockito").display());
    let is_long = std::env::var_os("FISSURE_LONG").is_some();
    let skipped = if is_long { 0 } else { jdks().len() - 1 };
    for jdk in jdks().iter().skip(skipped) {
        let alone = project.test(jdk, &[jacoco.clone(), mockito.clone()]);
        assert!(alone.status.success(), "{alone:?}");
        let expected = coverage(&covered);
        for place in 0..3 {
            let recordings = temporary("beside-recording");
            let mut options = vec![jacoco.clone(), mockito.clone()];
            options.insert(place, agent_option(&recordings, ""));
            let output = project.test(jdk, &options);
            assert!(output.status.success(), "{options:?} on {}: {output:?}", jdk.version);
            assert_eq!(coverage(&covered), expected, "{options:?} on {}", jdk.version);
            let entry = fs::read_dir(&recordings).unwrap().next().unwrap().unwrap().path();
            let text = text_of(&entry);
            let count = |operation: &str| text.lines().filter(|line| line.contains(operation)).count();
            assert!(count("|w(shop.Stock.count@") >= 100, "{options:?}\n{text}");
            assert_eq!(count("|acq(shop.Stock@"), count("|rel(shop.Stock@"));
            let _ = fs::remove_dir_all(recordings);
        }
    }
    let _ = fs::remove_dir_all(folder);
}

/// Maven starts a JVM of its own for the tests. That one is recorded, Maven and the compiler are not.
#[test]
fn maven_and_scripts() {
    let Some(project) = Project::new() else { return };
    let folder = temporary("beside-launchers");
    let trace = folder.join("t.trace");
    let script = folder.join("run.sh");
    let java = jdks()[0].program("java");
    let class_path = std::env::join_paths([&project.classes]).unwrap();
    let lines = [
        "#!/bin/sh".to_owned(),
        format!("'{}' -version 2> /dev/null", java.display()),
        format!("'{}' -cp '{}' shop.Main", java.display(), class_path.display()),
        "exit 5".to_owned(),
    ];
    fs::write(&script, lines.join("\n")).unwrap();
    fs::write(
        folder.join("Main.java"),
        "package shop; class Main { static int n; public static void main(String[] a) { n++; } }",
    )
    .unwrap();
    let mut javac = Command::new(jdks()[0].program("javac"));
    assert!(javac.arg("-d").arg(&project.classes).arg(folder.join("Main.java")).status().unwrap().success());
    let output =
        Command::new(fissure()).args(["record", "-o"]).arg(&trace).args(["--", "sh"]).arg(&script).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(text_of(&trace).contains("|w(shop.Main.n)|"));
    assert!(!folder.join("t.trace.2").exists(), "`java -version` runs nothing");

    if std::env::var_os("FISSURE_LONG").is_none() {
        return;
    }
    let copy = folder.join("project");
    let from = workspace().join("fixtures/maven");
    assert!(Command::new("cp").arg("-r").arg(from).arg(&copy).status().unwrap().success());
    let mut command = Command::new(fissure());
    command.current_dir(&copy).args(["record", "-o"]).arg(&trace).args(["--", "mvn", "-B", "test"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Tests run: 2, Failures: 0, Errors: 0"), "{output:?}");
    assert!(!said.contains("Corrupted"), "{said}");
    assert!(text_of(&trace).contains("|w(shop.Stock.count@"));
    assert!(!folder.join("t.trace.2").exists(), "only the tests' JVM is recorded: {output:?}");
    let _ = fs::remove_dir_all(folder);
}
