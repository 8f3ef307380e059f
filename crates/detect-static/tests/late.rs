//! `--strict` against a plain twin: on random code without data races it tells exactly the values that are used after a
//! section in which they were read has ended.
//!
//! The twin goes over the code as it is made. It keeps, for each local variable, the reads that its value may come from
//! and the sections that were open there, and joins both ways at the end of an `if`.

use std::collections::{BTreeMap, BTreeSet};

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check_with};
use fixture::{Fixture, Folder, cache, class_files, compile, test_jdk};
use program::{Known, Program, Settings};

const METHODS: usize = 400;

/// A read of a field: its line, the field, and the sections around it.
type Read = (u32, &'static str, BTreeSet<u32>);

/// By local variable: the reads that its value may come from.
type State = [BTreeSet<Read>; 3];

const LOCALS: [&str; 3] = ["x", "y", "z"];
/// Each lock with the field that it guards.
const LOCKS: [(&str, &str); 2] = [("l", "a"), ("m", "b")];

struct Writer {
    random: u64,
    lines: Vec<String>,
    sections: u32,
    method: String,
    /// Statements that the method may still have.
    rest: u32,
    /// By method and field: the lines of reads that are used late.
    late: BTreeMap<(String, &'static str), BTreeSet<u32>>,
}

impl Writer {
    fn below(&mut self, limit: u64) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % limit) as usize
    }

    fn line(&mut self, text: String) -> u32 {
        self.lines.push(text);
        self.lines.len() as u32
    }

    fn used(&mut self, state: &State, local: usize, held: &BTreeSet<u32>) {
        for (line, field, sections) in &state[local] {
            if !sections.is_subset(held) {
                self.late.entry((self.method.clone(), *field)).or_default().insert(*line);
            }
        }
    }

    fn block(&mut self, state: &mut State, held: &BTreeSet<u32>, locks: &[usize], depth: u32) {
        for _ in 0..=self.below(4) {
            if self.rest == 0 {
                return;
            }
            self.rest -= 1;
            self.statement(state, held, locks, depth);
        }
    }

    fn statement(&mut self, state: &mut State, held: &BTreeSet<u32>, locks: &[usize], depth: u32) {
        let [into, from, other] = [self.below(3), self.below(3), self.below(3)];
        let [name, source, second] = [into, from, other].map(|local| LOCALS[local]);
        let free: Vec<usize> = (0..LOCKS.len()).filter(|lock| !locks.contains(lock)).collect();
        let guarded = (!locks.is_empty()).then(|| LOCKS[locks[self.below(locks.len() as u64)]].1);
        match (self.below(8), guarded) {
            (0 | 1, _) if depth < 3 && !free.is_empty() => {
                let lock = free[self.below(free.len() as u64)];
                self.sections += 1;
                let inside: BTreeSet<u32> = held.iter().copied().chain([self.sections]).collect();
                let all: Vec<usize> = locks.iter().copied().chain([lock]).collect();
                self.line(format!("synchronized ({}) {{", LOCKS[lock].0));
                self.block(state, &inside, &all, depth + 1);
                self.line("}".to_owned());
            }
            (2 | 3, Some(field)) => {
                let line = self.line(format!("{name} = {field};"));
                state[into] = BTreeSet::from([(line, field, held.clone())]);
            }
            (4, Some(field)) => {
                self.line(format!("{field} = {name};"));
                self.used(state, into, held);
            }
            (5, _) => {
                self.line(format!("{name} = {source} + {second};"));
                self.used(state, from, held);
                self.used(state, other, held);
                state[into] = state[from].union(&state[other]).cloned().collect();
            }
            (6, _) => {
                self.line(format!("use({name});"));
                self.used(state, into, held);
            }
            (7, _) if depth < 3 => {
                self.line(format!("if ({name} > 3) {{"));
                self.used(state, into, held);
                let mut taken = state.clone();
                self.block(&mut taken, held, locks, depth + 1);
                self.line("}".to_owned());
                for (known, more) in state.iter_mut().zip(taken) {
                    known.extend(more);
                }
            }
            _ => {
                self.line(format!("{name} = {source};"));
                state[into] = state[from].clone();
            }
        }
    }
}

#[test]
fn strict_tells_exactly_what_is_used_late() {
    let mut writer =
        Writer { random: 5, lines: Vec::new(), sections: 0, method: String::new(), rest: 0, late: BTreeMap::new() };
    for line in [
        "public class Late {",
        "final Object l = new Object();",
        "final Object m = new Object();",
        "int a;",
        "int b;",
        "static void use(int value) {}",
        "public void setA(int value) { synchronized (l) { a = value; } }",
        "public void setB(int value) { synchronized (m) { b = value; } }",
    ] {
        writer.line(line.to_owned());
    }
    for number in 0..METHODS {
        writer.method = format!("method{number}");
        writer.rest = 14;
        writer.line(format!("public void method{number}(int x, int y, int z) {{"));
        writer.block(&mut State::default(), &BTreeSet::new(), &[], 0);
        writer.line("}".to_owned());
    }
    writer.line("}".to_owned());
    assert!(writer.late.len() > METHODS / 10, "too little goes wrong to say much");

    let folder = Folder::new();
    let source = folder.file("Late.java", &writer.lines.join("\n"));
    let fixtures = [Fixture::new("late".to_owned(), &[source]).expect("random code has no marks")];
    let compiled = compile(&fixtures, &test_jdk().expect("a JDK"), &cache()).expect("random code compiles");
    let files = class_files(&compiled[0].classes).into_iter();
    let program = Program::load(files.map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default());
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.name == "stale-values").collect();
    let findings = check_with(&program, &detectors, Settings { strict: true, ..Settings::default() }).findings;
    let about_values = || findings.iter().filter(|finding| finding.rule.id != "superfluous-lock");

    // Findings of one method that share a variable are told as one.
    for (method, field) in writer.late.keys() {
        let is_told = about_values().any(|finding| {
            finding.method.name == *method && finding.variables.iter().any(|name| name.ends_with(&format!(".{field}")))
        });
        assert!(is_told, "{method}: an old value of `{field}` is used");
    }
    let late: BTreeSet<u32> = writer.late.values().flatten().copied().collect();
    for finding in about_values() {
        let read = finding.steps[0].place.as_ref().and_then(|place| place.line);
        assert!(read.is_some_and(|line| late.contains(&line)), "{}: line {read:?} is fresh", finding.method.name);
    }
}
