//! The plain twin: random programs, all their paths with every call put in place, and the pattern by its definition.
//!
//! Without assignments the analysis must find exactly the witnesses that some path has; with assignments, which it may
//! take for more than they are, none that no path has.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use classfile::ClassSource;
use program::{CallGraph, Ground, Known, Path, Program, Root, Settings};

use super::Options;
use super::analysis::{Analysis, Skeletons};
use super::state::Holder;

const PROGRAMS: usize = 120;
const METHODS: usize = 3;
const LOCKS: u64 = 3;

/// More paths than this, and a method is left out.
const MAX_PATHS: usize = 400;

/// The same for takings on one path.
const MAX_TAKINGS: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Static(u64),
    /// One that only this method names; what it calls knows it as a parameter, so that no lock has two names.
    Passed(usize),
    Parameter,
}

#[derive(Clone, Debug)]
enum Statement {
    Section(Lock, Vec<Statement>),
    Call(usize, Lock),
    Either(Vec<Statement>, Vec<Statement>),
    Loop(Vec<Statement>),
    Assign(u64),
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn lock(&mut self, method: usize) -> Lock {
        match self.below(LOCKS + 2) {
            number if number < LOCKS => Lock::Static(number),
            _ => self.passed(method),
        }
    }

    fn passed(&mut self, method: usize) -> Lock {
        if self.below(2) == 0 { Lock::Passed(method) } else { Lock::Parameter }
    }

    fn block(&mut self, method: usize, depth: u64, assigns: bool) -> Vec<Statement> {
        let count = 1 + self.below(2 + u64::from(depth == 0));
        (0..count).map(|_| self.statement(method, depth, assigns)).collect()
    }

    fn statement(&mut self, method: usize, depth: u64, assigns: bool) -> Statement {
        let further = METHODS - method - 1;
        match self.below(if depth > 2 { 4 } else { 9 }) {
            0 if assigns => Statement::Assign(self.below(LOCKS)),
            0..=1 if further > 0 => {
                Statement::Call(method + 1 + self.below(further as u64) as usize, self.passed(method))
            }
            4 => Statement::Either(self.block(method, depth + 1, assigns), self.block(method, depth + 1, assigns)),
            5 => Statement::Loop(self.block(method, depth + 1, assigns)),
            6..=8 => Statement::Section(self.lock(method), self.block(method, depth + 1, assigns)),
            _ => Statement::Section(self.lock(method), Vec::new()),
        }
    }
}

/// An object: a static lock as of its last assignment, or what the method at the start was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Object {
    Static(u64, u32),
    Passed(usize),
    Given,
}

impl Object {
    fn name(self) -> String {
        match self {
            Object::Static(number, _) => format!("S{number}"),
            Object::Passed(method) => format!("A{method}"),
            Object::Given => "p".to_owned(),
        }
    }
}

/// An open section: its number on the path, its lock, and whether it is the first method's own.
type Open = (usize, Object, bool);

#[derive(Clone, Default)]
struct Run {
    /// By static lock: how often it was assigned.
    assigned: [u32; LOCKS as usize],
    sections: usize,
    open: Vec<Open>,
    /// Each taking with the sections around it.
    takings: Vec<(usize, Object, Vec<Open>)>,
}

struct Twin<'t> {
    methods: &'t [Vec<Statement>],
}

impl Twin<'_> {
    /// All ways to go on through some statements; `None` if there are too many.
    fn runs(&self, statements: &[Statement], given: Object, is_own: bool, from: Vec<Run>) -> Option<Vec<Run>> {
        let mut runs = from;
        for statement in statements {
            if runs.len() > MAX_PATHS || runs.iter().any(|run| run.takings.len() > MAX_TAKINGS) {
                return None;
            }
            runs = match statement {
                Statement::Assign(number) => {
                    runs.iter_mut().for_each(|run| run.assigned[*number as usize] += 1);
                    runs
                }
                Statement::Either(one, other) => {
                    let mut both = self.runs(one, given, is_own, runs.clone())?;
                    both.extend(self.runs(other, given, is_own, runs)?);
                    both
                }
                Statement::Loop(body) => {
                    let once = self.runs(body, given, is_own, runs.clone())?;
                    let twice = self.runs(body, given, is_own, once.clone())?;
                    runs.into_iter().chain(once).chain(twice).collect()
                }
                Statement::Call(method, lock) => {
                    let mut all = Vec::new();
                    for run in runs {
                        let given = object(&run, *lock, given);
                        all.extend(self.runs(&self.methods[*method], given, false, vec![run])?);
                        if all.len() > MAX_PATHS {
                            return None;
                        }
                    }
                    all
                }
                Statement::Section(lock, body) => {
                    let mut all = Vec::new();
                    for mut run in runs {
                        let object = object(&run, *lock, given);
                        let number = run.sections;
                        run.sections += 1;
                        run.takings.push((number, object, run.open.clone()));
                        run.open.push((number, object, is_own));
                        for mut ended in self.runs(body, given, is_own, vec![run])? {
                            ended.open.pop();
                            all.push(ended);
                        }
                        if all.len() > MAX_PATHS {
                            return None;
                        }
                    }
                    all
                }
            };
        }
        Some(runs)
    }

    /// Contexts and witnesses of a method, by their names.
    fn pattern(&self, method: usize) -> Option<BTreeSet<(String, String)>> {
        let mut found = BTreeSet::new();
        for run in self.runs(&self.methods[method], Object::Given, true, vec![Run::default()])? {
            for (at, (first, lock, around)) in run.takings.iter().enumerate() {
                for (_, other, around_other) in &run.takings[at + 1..] {
                    let is_nested = around_other.iter().any(|(number, ..)| number == first);
                    if lock != other || is_nested {
                        continue;
                    }
                    let common: Vec<Open> =
                        around.iter().zip(around_other).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect();
                    let Some((_, context, true)) = common.last() else { continue };
                    if common.iter().all(|(_, held, _)| held != lock) {
                        found.insert((context.name(), lock.name()));
                    }
                }
            }
        }
        Some(found)
    }
}

fn object(run: &Run, lock: Lock, given: Object) -> Object {
    match lock {
        Lock::Static(number) => Object::Static(number, run.assigned[number as usize]),
        Lock::Passed(method) => Object::Passed(method),
        Lock::Parameter => given,
    }
}

fn java(text: &mut String, statements: &[Statement]) {
    let name = |lock: &Lock| match lock {
        Lock::Static(number) => format!("S{number}"),
        Lock::Passed(method) => format!("A{method}"),
        Lock::Parameter => "p".to_owned(),
    };
    for statement in statements {
        match statement {
            Statement::Section(lock, body) => {
                let _ = write!(text, "synchronized ({}) {{ n++; ", name(lock));
                java(text, body);
                text.push_str("}\n");
            }
            Statement::Call(method, lock) => {
                let _ = writeln!(text, "m{method}({});", name(lock));
            }
            Statement::Either(one, other) => {
                text.push_str("if (flag()) {\n");
                java(text, one);
                text.push_str("} else {\n");
                java(text, other);
                text.push_str("}\n");
            }
            Statement::Loop(body) => {
                text.push_str("while (flag()) {\n");
                java(text, body);
                text.push_str("}\n");
            }
            Statement::Assign(number) => {
                let _ = writeln!(text, "a{number}();");
            }
        }
    }
}

/// Compiles the programs, one class each.
fn compile(programs: &[Vec<Vec<Statement>>], word: &str) -> Program {
    let mut text = String::new();
    for (number, methods) in programs.iter().enumerate() {
        let _ = writeln!(text, "class P{number} {{ static int n; static native boolean flag();");
        for lock in 0..LOCKS {
            let _ = writeln!(text, "static {word} Object S{lock} = new Object();");
            if word.is_empty() {
                let _ = writeln!(text, "static void a{lock}() {{ S{lock} = new Object(); }}");
            }
        }
        for method in 0..METHODS {
            let _ = writeln!(text, "static final Object A{method} = new Object();");
        }
        for (method, statements) in methods.iter().enumerate() {
            let _ = writeln!(text, "static void m{method}(Object p) {{");
            java(&mut text, statements);
            text.push_str("}\n");
        }
        text.push_str("}\n");
    }
    let folder = fixture::Folder::new();
    let source = folder.file("Programs.java", &text);
    let fixtures = [fixture::Fixture::new("programs".to_owned(), &[source]).expect("there are no odd marks")];
    let jdk = fixture::test_jdk().expect("there is a JDK");
    let compiled = fixture::compile(&fixtures, &jdk, &fixture::cache()).expect("they compile");
    let files = fixture::class_files(&compiled[0].classes).into_iter();
    Program::load(files.map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default())
}

fn name(program: &Program, path: &Path) -> String {
    match path.root {
        Root::Static(field) => program.names.text(field.name).to_owned(),
        _ => "p".to_owned(),
    }
}

/// What the analysis says of one method.
fn found(analysis: &Analysis<'_>, class: &str, method: &str) -> BTreeSet<(String, String)> {
    let program = analysis.program;
    let mut found = BTreeSet::new();
    for witness in &analysis.witnesses {
        let place = program.method_name(witness.method);
        if program.names.text(place.class.0) != class || program.names.text(place.name) != method {
            continue;
        }
        let Holder::Own(section) = witness.context else { panic!("all contexts are sections of the method") };
        let skeleton = analysis.skeleton(witness.method).expect("it has a finding");
        let context = &skeleton.sections[section.index()].lock;
        found.insert((name(program, context), name(program, &witness.lock)));
    }
    found
}

fn compare(seed: u64, assigns: bool) {
    let mut random = Random(seed);
    let programs: Vec<Vec<Vec<Statement>>> =
        (0..PROGRAMS).map(|_| (0..METHODS).map(|method| random.block(method, 0, assigns)).collect()).collect();
    let program = compile(&programs, if assigns { "" } else { "final" });
    let ground = Ground::of(&program, Settings { call_graph: CallGraph::Hierarchy, ..Settings::default() });
    let options = Options { paper: true, ..Options::default() };
    let analysis = Analysis::of(&ground, options, Skeletons::of(&ground, options));
    let (mut compared, mut with_pattern) = (0, 0);
    for (number, methods) in programs.iter().enumerate() {
        let twin = Twin { methods };
        for method in 0..METHODS {
            let Some(expected) = twin.pattern(method) else { continue };
            let found = found(&analysis, &format!("P{number}"), &format!("m{method}"));
            compared += 1;
            with_pattern += usize::from(!expected.is_empty());
            if assigns {
                assert!(found.is_subset(&expected), "P{number}.m{method}: {found:?}, {expected:?}\n{methods:#?}");
            } else {
                assert_eq!(found, expected, "P{number}.m{method}\n{methods:#?}");
            }
        }
    }
    // Or the comparison would say nothing.
    assert!(
        compared > PROGRAMS && with_pattern > PROGRAMS / 10,
        "{compared} compared, {with_pattern} with the pattern"
    );
}

#[test]
fn finds_what_some_path_has() {
    compare(0x9e37_79b9_7f4a_7c15, false);
}

#[test]
fn finds_nothing_that_no_path_has() {
    compare(0x2545_f491_4f6c_dd1d, true);
}
