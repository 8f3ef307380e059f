//! A recording without filter has what the JVM's own field watches see: the same accesses of each thread in the same order.
//! Both agents are in one JVM, so that they see one run.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fixture::{Fixture, Jdk, cache, class_files, compile, programs, test_jdk, workspace};
use instrument::{ConstantFields, Writes};
use support::{Program, fissure, jdks, temporary};

/// Each thread's accesses: `r Class.field Class.method 12`.
type Accesses = BTreeMap<String, Vec<String>>;

/// The library that is made of the example.
fn field_watch() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "agent", "--example", "field_watch"]).current_dir(workspace());
        assert!(build.status().unwrap().success());
        let name = format!("{DLL_PREFIX}field_watch{DLL_SUFFIX}");
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("debug/examples").join(name)
    })
}

/// What both saw of one run: the watches, and the recording.
fn both(jdk: &Jdk, arguments: &[String]) -> (Accesses, Accesses) {
    let folder = temporary("watches");
    let (trace, watched) = (folder.join("t.trace"), folder.join("watched"));
    let mut command = Command::new(fissure());
    command.args(["record", "--no-filter", "-o"]).arg(&trace).arg("--").arg(jdk.program("java"));
    command.arg(format!("-agentpath:{}={}", field_watch().display(), watched.display())).args(arguments);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text = Command::new(fissure()).arg("trace").arg(&trace).args(["--to", "text"]).output().unwrap();
    let recorded = String::from_utf8(text.stdout).unwrap();
    let watched = fs::read_to_string(watched).unwrap();
    let _ = fs::remove_dir_all(folder);
    let mut all = (Accesses::new(), Accesses::new());
    for line in watched.lines() {
        let (thread, rest) = line.split_once('|').unwrap();
        all.0.entry(thread.to_owned()).or_default().push(rest.replace('|', " "));
    }
    for line in recorded.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let (operation, subject) = fields[1].split_once('(').unwrap_or((fields[1], ""));
        let access = match operation {
            "r" | "vr" => 'r',
            "w" | "vw" => 'w',
            _ => continue,
        };
        // Elements and contents are no fields.
        if subject.contains(['[', '{']) && !subject.contains("){") {
            continue;
        }
        let field = subject.split(['@', ')']).next().unwrap();
        // Fields of the platform are not watched.
        if field.starts_with("java.") {
            continue;
        }
        let (method, place) = fields[2].split_once(':').unwrap();
        let line = place.rsplit(':').next().unwrap().trim_end_matches(')');
        let access = format!("{access} {field} {method} {line}");
        all.1.entry(fields[0].to_owned()).or_default().push(access);
    }
    all
}

/// The fields of a program that it also has handles or updaters for. A recording has what is done by way of these, and a
/// watch sees only instructions that name the field.
fn handled(fixture: &Fixture) -> Vec<String> {
    let lines = fixture.files.iter().flat_map(|file| file.text.lines());
    let handles = lines.filter(|line| line.contains("findVarHandle(") || line.contains("newUpdater("));
    handles.filter_map(|line| line.split('"').nth(1)).map(|name| format!(".{name} ")).collect()
}

fn compare(what: &str, jdk: &Jdk, arguments: &[String], left_out: &[String]) -> Accesses {
    let (mut watched, mut recorded) = both(jdk, arguments);
    for accesses in watched.values_mut().chain(recorded.values_mut()) {
        accesses.retain(|access| !left_out.iter().any(|field| access.contains(field)));
    }
    if watched.keys().ne(recorded.keys()) {
        // Threads of one name, or with a new one: then nothing tells which of them is which.
        let all = |accesses: &Accesses| {
            let mut all: Vec<String> = accesses.values().flatten().cloned().collect();
            all.sort();
            all
        };
        assert_eq!(all(&watched), all(&recorded), "{what} on {}", jdk.version);
    }
    for (thread, accesses) in watched.iter().filter(|_| watched.keys().eq(recorded.keys())) {
        let told = &recorded[thread];
        let first = accesses.iter().zip(told).position(|(a, b)| a != b).unwrap_or(accesses.len().min(told.len()));
        assert_eq!(
            accesses.get(first),
            told.get(first),
            "{what} on {}: {thread} at {first} of {} watched and {} recorded accesses",
            jdk.version,
            accesses.len(),
            told.len()
        );
    }
    watched
}

#[test]
fn recorded_programs() {
    let (mut accesses, mut constants) = (0, 0);
    for jdk in jdks() {
        for name in ["Constant", "Counter", "Shapes", "Tasks", "Names", "Waiting"] {
            let program = Program::named(name);
            let watched = compare(name, &jdk, &program.arguments(), &[]);
            constants += constants_written(program.classes(), &watched);
            accesses += watched.values().map(Vec::len).sum::<usize>();
        }
    }
    assert!(accesses > 1_000 && constants > 0, "{accesses} {constants}");
}

/// A part of the programs with known truth; all of them, on all JDKs, in the long test.
#[test]
fn programs_with_truth() {
    let top = workspace().canonicalize().unwrap();
    let (fixtures, truths): (Vec<_>, Vec<_>) = programs(&top.join("fixtures/programs")).unwrap().into_iter().unzip();
    let compiled = compile(&fixtures, &test_jdk().unwrap(), &cache()).unwrap();
    let is_long = std::env::var_os("FISSURE_LONG").is_some();
    let step = if is_long { 1 } else { 16 };
    for jdk in jdks().iter().take(if is_long { usize::MAX } else { 1 }) {
        for (one, truth) in compiled.iter().zip(&truths).step_by(step) {
            let mut arguments = vec!["-cp".to_owned(), one.classes.display().to_string(), truth.main.clone()];
            arguments.extend(truth.args.iter().cloned());
            let watched = compare(&one.fixture.name, jdk, &arguments, &handled(one.fixture));
            constants_written(&one.classes, &watched);
        }
    }
}

/// How many writes of fields that are as good as final the watches saw: all of them in constructors.
fn constants_written(classes: &Path, watched: &Accesses) -> usize {
    let all: Vec<Writes> = class_files(classes).iter().map(|(_, bytes)| Writes::of(bytes).unwrap()).collect();
    let mut count = 0;
    for [class, name, _] in ConstantFields::of(&all).rows() {
        let class = class.replace('/', ".");
        for access in watched.values().flatten() {
            if access.starts_with(&format!("w {class}.{name} ")) {
                assert!(access.contains(&format!(" {class}.<init> ")), "{access}");
                count += 1;
            }
        }
    }
    count
}
