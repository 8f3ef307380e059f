//! A program whose reads are told together tells what it tells otherwise: the same reads, and everything else in the same order.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use fixture::{Jdk, class_files, find_jdks};
use instrument::{Families, Plan, Sites, instrument};
use support::{folder, probes, run};

const LOG: &str = include_str!("java/Log.java");

/// How reads are told: each by its own probe, together if the runtime says that all fields are plain, and if it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Apart,
    Together,
    TogetherNotKnown,
}

/// What a program tells, in its order: the probe and the place, or the operands where a probe names no site.
fn told(jdk: &Jdk, name: &str, source: &str, how: How) -> Vec<(String, String)> {
    let folder = folder(&format!("joined-{name}-{how:?}-on-{}", jdk.feature));
    fs::write(folder.join(format!("{name}.java")), source).unwrap();
    let file = format!("{name}.java");
    let arguments = ["-g", "-nowarn", "--release", "17", "-d", "old", &file];
    run(Command::new(jdk.program("javac")).current_dir(&folder).args(arguments));
    let mut sites = Sites::new();
    let probe_class = "probes/Probes".to_owned();
    let plan = Plan { probe_class, families: Families::ALL, joins_reads: how != How::Apart, ..Plan::default() };
    for (path, bytes) in class_files(&folder.join("old")) {
        let rewritten = instrument(&bytes, &plan, &mut sites).unwrap().map_or(bytes, |rewritten| rewritten.bytes);
        let path = folder.join("new").join(Path::new(&path).file_name().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, rewritten).unwrap();
    }
    let body = |probe: &str, operands: &str| format!("Log.add(\"{probe}\", {operands});");
    let mut stubs = String::new();
    for line in probes("probes", "Probes", body).lines() {
        let is_asked = line.contains(" arePlain(") && how == How::Together;
        stubs += &if is_asked { line.replace("return 0;", "return 1;") } else { line.to_owned() };
        stubs.push('\n');
    }
    fs::write(folder.join("Probes.java"), stubs).unwrap();
    fs::write(folder.join("Log.java"), LOG).unwrap();
    run(Command::new(jdk.program("javac")).current_dir(&folder).args(["-d", "probes", "Probes.java", "Log.java"]));
    let java = |path: &str| {
        let mut command = Command::new(jdk.program("java"));
        command.current_dir(&folder).args(["-Xverify:all", "-Devents=events", "-cp", path, name]);
        run(&mut command)
    };
    assert_eq!(java("old"), java("new:probes"), "the program still does what it did");
    let events = fs::read_to_string(folder.join("events")).unwrap();
    events.lines().flat_map(|event| expanded(event, &sites)).collect()
}

/// What one probe tells.
fn expanded(event: &str, sites: &Sites) -> Vec<(String, String)> {
    let words: Vec<&str> = event.split(' ').collect();
    let number = |at: usize| words[at].parse::<i32>().unwrap();
    let place = |site: i32| {
        let site = &sites.sites()[site as usize];
        format!("{:?} {} {:?}", sites.methods()[site.method as usize], site.offset, field_of(site.what, sites))
    };
    let read = |site: i32| ("read".to_owned(), place(site));
    match words[0] {
        "reads" => {
            if words[1] == "null" {
                return Vec::new();
            }
            if number(4) == 0 {
                return vec![read(number(10))];
            }
            let count = if words[2] == "null" { number(5) } else { 4 };
            (0..count).filter(|at| number(6 + *at as usize) >= 0).map(|at| read(number(10) + at)).collect()
        }
        "readUnless" if number(3) != 0 || words[1] == "null" => Vec::new(),
        "readUnless" => vec![read(number(5))],
        "read" if words[1] == "null" => Vec::new(),
        "fresh" | "published" => vec![(words[0].to_owned(), words[1].to_owned())],
        probe => vec![(probe.to_owned(), place(number(words.len() - 1)))],
    }
}

/// The field's name; its number depends on the order in which fields were seen.
fn field_of(what: instrument::What, sites: &Sites) -> String {
    match what {
        instrument::What::Read(field) | instrument::What::Write(field) => sites.fields()[field as usize].name.clone(),
        other => format!("{other:?}"),
    }
}

/// Reads between two other events in the order of their places.
fn with_reads_sorted(mut told: Vec<(String, String)>) -> Vec<(String, String)> {
    for reads in told.chunk_by_mut(|one, other| one.0 == "read" && other.0 == "read") {
        reads.sort();
    }
    told
}

fn assert_same(one: &[(String, String)], other: &[(String, String)]) {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    assert_eq!(differs.map(|at| (&one[at], &other[at])), None);
    assert_eq!(one.len(), other.len());
}

#[test]
fn reads_told_together_are_those_told_apart() {
    let source = include_str!("java/Straight.java");
    let jdks = find_jdks().unwrap();
    let jdk = jdks.iter().find(|jdk| jdk.can_compile_for(17)).unwrap();
    let apart = told(jdk, "Straight", source, How::Apart);
    assert_same(&apart, &told(jdk, "Straight", source, How::TogetherNotKnown));
    let together = told(jdk, "Straight", source, How::Together);
    let moved = apart.iter().zip(&together).filter(|(one, other)| one != other).count();
    assert!(moved > 16, "only {moved} are told earlier");
    assert_same(&with_reads_sorted(apart), &with_reads_sorted(together));
}
