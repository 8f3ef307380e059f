//! A rewritten program does what it did, and its probes tell what its marks say: `//= read total, write total` behind a line
//! names what that line tells, each once, in the order of the first times. A line without a mark tells nothing.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use classfile::edit::ClassEditor;
use fixture::{Jdk, class_files, find_jdks};
use instrument::{Call, Families, Plan, Sites, What, instrument};
use support::{folder, probes, run};

const LOG: &str = include_str!("java/Log.java");

fn plan() -> Plan {
    // Probes at branches tell nothing here, and must not be noticed.
    let mut plan =
        Plan { probe_class: "probes/Probes".to_owned(), families: Families::ALL, speculates: true, ..Plan::default() };
    plan.methods.entry("Shop", "nested", "(Ljava/lang/Object;)I").activations = true;
    plan.methods.entry("Shop$Inner", "<init>", "(LShop;J)V").units = vec![4];
    plan
}

/// Compiles a program, rewrites it beside, and runs both. Returns the probes that were called, and the sites.
fn run_both(jdk: &Jdk, name: &str, source: &str, release: u32) -> (Vec<String>, Sites, PathBuf) {
    let folder = folder(&format!("run-{name}-{release}-on-{}", jdk.feature));
    fs::write(folder.join(format!("{name}.java")), source).unwrap();
    let release = release.to_string();
    let mut compile = Command::new(jdk.program("javac"));
    run(compile.current_dir(&folder).args([
        "-g",
        "-nowarn",
        "--release",
        &release,
        "-d",
        "old",
        &format!("{name}.java"),
    ]));

    let mut sites = Sites::new();
    let plan = plan();
    for (path, bytes) in class_files(&folder.join("old")) {
        let rewritten = instrument(&bytes, &plan, &mut sites).unwrap().map_or(bytes, |rewritten| {
            assert_eq!(rewritten.left_alone, []);
            rewritten.bytes
        });
        let path = folder.join("new").join(Path::new(&path).file_name().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, rewritten).unwrap();
    }
    let body = |probe: &str, operands: &str| format!("Log.add(\"{probe}\", {operands});");
    fs::write(folder.join("Probes.java"), probes("probes", "Probes", body)).unwrap();
    fs::write(folder.join("Log.java"), LOG).unwrap();
    run(Command::new(jdk.program("javac")).current_dir(&folder).args(["-d", "probes", "Probes.java", "Log.java"]));

    let java = |path: &str| {
        let mut command = Command::new(jdk.program("java"));
        command.current_dir(&folder).args(["-XX:TieredStopAtLevel=1", "-Devents=events", "-cp", path, name]);
        run(&mut command)
    };
    assert_eq!(java("old"), java("new:probes"), "the program still does what it did");
    let events = fs::read_to_string(folder.join("events")).unwrap();
    (events.lines().map(str::to_owned).collect(), sites, folder)
}

/// What a probe tells, in the words of marks, and the line that it is about; nothing for the second half of a call.
fn told(event: &str, sites: &Sites) -> Option<(u32, String)> {
    let words: Vec<&str> = event.split(' ').collect();
    assert!(!event.ends_with("without the lock"), "{event}");
    if matches!(words[0], "fresh" | "published") {
        // They name no site.
        return None;
    }
    let number = |back: usize| words[words.len() - back].parse::<i32>().unwrap();
    let site = &sites.sites()[number(1) as usize];
    let field = |index: u32| sites.fields()[index as usize].name.clone();
    let text = match (words[0], site.what) {
        ("read" | "readStatic", What::Read(index)) => format!("read {}", field(index)),
        ("write" | "writeReference" | "writeStatic" | "writeStaticReference", What::Write(index)) => {
            format!("write {}", field(index))
        }
        ("volatileBefore", What::Read(index)) => format!("volatile read {}", field(index)),
        ("volatileBefore", What::Write(index)) => format!("volatile write {}", field(index)),
        ("volatileAfter", What::Read(_) | What::Write(_)) => "after".to_owned(),
        ("readElement", What::ReadElement(_)) => "read []".to_owned(),
        ("writeElement" | "writeReferenceElement", What::WriteElement(_)) => "write []".to_owned(),
        ("entered", What::Enter | What::Method) => "lock".to_owned(),
        ("leaving", What::Leave | What::Method) => "unlock".to_owned(),
        ("callBefore", What::Call(index)) => {
            let call = Call::ALL.iter().find(|call| call.number() == number(2) & 0xff).unwrap();
            assert_eq!(*call, sites.calls()[index as usize].call);
            format!("call {call:?}")
        }
        ("callAfter", What::Call(_)) | ("enter" | "exit" | "begin" | "end", What::Method) => return None,
        _ => panic!("{event} is told at {site:?}"),
    };
    Some((site.line.into(), text))
}

fn compare(source: &str, events: &[String], sites: &Sites) {
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (line, text) in events.iter().filter_map(|event| told(event, sites)) {
        let texts = found.entry(line).or_default();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let expected: Vec<&str> = line.split_once("//= ").map_or(Vec::new(), |(_, mark)| mark.split(", ").collect());
        let found = found.remove(&number).unwrap_or_default();
        if expected != found {
            wrong.push(format!("{number}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_tells_what_its_marks_say() {
    let source = include_str!("java/Shop.java");
    for jdk in find_jdks().unwrap().iter().filter(|jdk| jdk.can_compile_for(17)) {
        let (events, sites, _) = run_both(jdk, "Shop", source, 17);
        compare(source, &events, &sites);
        balanced(&events);
    }
}

/// Nothing of the class calls what a reference means, and what it does is told all the same.
#[test]
fn references_to_methods_tell_what_calls_would() {
    let source = include_str!("java/Refs.java");
    for jdk in find_jdks().unwrap().iter().filter(|jdk| jdk.can_compile_for(17)) {
        let (events, sites, folder) = run_both(jdk, "Refs", source, jdk.feature);
        compare(source, &events, &sites);
        let again = class_files(&folder.join("old"));
        let mut sites = Sites::new();
        for (_, bytes) in again {
            // A loaded class cannot get other methods.
            let mut methods = || {
                let rewritten = instrument(&bytes, &plan(), &mut sites).unwrap();
                let bytes = rewritten.map_or(bytes.clone(), |rewritten| rewritten.bytes);
                ClassEditor::read(&bytes).unwrap().methods().len()
            };
            assert_eq!(methods(), methods());
        }
    }
}

/// Whatever begins ends, also where an exception is thrown.
fn balanced(events: &[String]) {
    let count = |name: &str| events.iter().filter(|event| event.split(' ').next() == Some(name)).count();
    assert_eq!(count("entered"), count("leaving"));
    assert_eq!((count("enter"), count("exit")), (2, 2));
    assert_eq!((count("begin"), count("end")), (2, 2));
    assert_eq!(count("volatileBefore"), count("volatileAfter"));
    assert_eq!(count("callBefore"), count("callAfter"));
}
