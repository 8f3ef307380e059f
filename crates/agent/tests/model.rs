//! What a run does is in the model of its classes: every lock that is taken or given back, every call that orders threads,
//! every start.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use classfile::ClassSource;
use fixture::{Jdk, cache, class_files, compile, programs, test_jdk, workspace};
use program::ir::{Body, Op};
use program::{Known, MethodId, Program as Model, Sections, Settings, Whole};
use support::{Program, fissure, jdks, temporary, text_of};

/// An event with a place: what it is, and the class, method, descriptor, offset and line of it.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event {
    operation: String,
    subject: String,
    method: String,
    offset: u32,
    line: u32,
}

fn events(text: &str) -> BTreeSet<Event> {
    let event = |line: &str| {
        let fields: Vec<&str> = line.split('|').collect();
        let (operation, subject) = fields[1].split_once('(')?;
        // `pkg.Class.method:()V@7(File.java:12)`
        let (method, rest) = fields.get(2)?.rsplit_once('@')?;
        let (offset, line) = rest.split_once('(')?;
        Some(Event {
            operation: operation.to_owned(),
            // Without the object's number.
            subject: subject.split(['@', ')', ':']).next().unwrap_or_default().to_owned(),
            method: method.to_owned(),
            offset: offset.parse().ok()?,
            line: line.rsplit(':').next()?.trim_end_matches(')').parse().ok()?,
        })
    };
    text.lines().filter_map(event).collect()
}

/// What the model says of one method.
struct Method {
    body: Body,
    sections: Sections,
    is_synchronized: bool,
}

struct Methods {
    by_name: BTreeMap<String, Method>,
    /// Class and line of each start.
    starts: BTreeSet<(String, u32)>,
    /// The same of each place that makes a lambda or refers to a method.
    references: BTreeSet<(String, u32)>,
}

impl Methods {
    fn of(classes: &Path) -> Methods {
        let sources = class_files(classes).into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Model::load(sources, Known::default());
        assert_eq!(program.skipped(), []);
        let class = |method: MethodId| {
            let name = program.method_name(method);
            program.names.text(name.class.0).replace('/', ".")
        };
        let mut by_name = BTreeMap::new();
        let mut references = BTreeSet::new();
        for method in program.methods() {
            let Some(body) = program.body(method).unwrap() else { continue };
            references.extend(body.instructions().filter_map(|(_, instruction)| match instruction.op {
                Op::CallDynamic { dynamic, .. } => {
                    body.dynamic(dynamic).lambda.and(Some((class(method), body.line(instruction.pc)?)))
                }
                _ => None,
            }));
            let name = program.method_name(method);
            let text = |symbol| program.names.text(symbol).to_owned();
            let key = format!("{}.{}:{}", class(method), text(name.name), text(name.descriptor));
            let sections = Sections::of(&body, &program);
            let is_synchronized = program.method(method).access.is_synchronized();
            by_name.insert(key, Method { body, sections, is_synchronized });
        }
        let whole = Whole::of(&program, Settings::default());
        let threads = whole.threads();
        let sites = threads.entries().iter().flat_map(|entry| &entry.sites).chain(threads.unknown_starts());
        let starts = sites.filter_map(|site| Some((class(site.at.method), site.line?))).collect();
        Methods { by_name, starts, references }
    }

    /// Why an event is not in the model.
    fn missing(&self, event: &Event) -> Option<&'static str> {
        let class = event.method.split_once(':').and_then(|(name, _)| Some(name.rsplit_once('.')?.0.to_owned()));
        let Some(method) = self.by_name.get(&event.method) else {
            // A reference to a method of the library is called by a method that the rewritten class alone has.
            let is_bridge = event.method.contains(".lambda$");
            let is_referred =
                || class.as_ref().is_some_and(|class| self.references.contains(&(class.clone(), event.line)));
            return (!is_bridge || !is_referred()).then_some("there is no such method");
        };
        let at: Vec<_> = method.body.instructions().filter(|(_, instruction)| instruction.pc == event.offset).collect();
        let is_call = at.iter().any(|(_, instruction)| matches!(instruction.op, Op::Call { .. }));
        let opens =
            || method.sections.iter().any(|(_, section)| at.iter().any(|(value, _)| section.start == Some(*value)));
        let operates = || at.iter().any(|(value, _)| method.sections.is_lock_operation(*value));
        let waits = || {
            let unknown = method.sections.unknown_waits();
            let of_sections = method.sections.iter().flat_map(|(_, section)| &section.waits);
            of_sections.chain(unknown).any(|wait| at.iter().any(|(value, _)| value == wait))
        };
        // A call on an object of the library that locks itself is a section of its own.
        let is_of_library = event.subject.starts_with("java.") && is_call;
        match event.operation.as_str() {
            "acq" | "acqs" if method.is_synchronized && event.offset == 0 => None,
            "acq" | "acqs" => (!opens() && !operates() && !is_of_library).then_some("no section begins there"),
            // A synchronized method ends at its returns, and where something is thrown.
            "rel" | "rels" if method.is_synchronized && !operates() => None,
            "rel" | "rels" => (!operates() && !is_of_library).then_some("no section ends there"),
            "wrel" | "wacq" | "wrels" | "wacqs" => (!waits()).then_some("nothing waits there"),
            "fork" => (!self.starts.contains(&(class?, event.line))).then_some("nothing is started there"),
            "join" | "arrive" | "leave" | "ar" | "aw" | "au" | "mr" | "mw" | "mu" => {
                (!is_call).then_some("nothing is called there")
            }
            _ => None,
        }
    }
}

fn check(what: &str, jdk: &Jdk, classes: &Path, arguments: &[String]) -> usize {
    let folder = temporary("model");
    let trace = folder.join("t.trace");
    let mut command = Command::new(fissure());
    command.args(["record", "-o"]).arg(&trace).arg("--").arg(jdk.program("java")).arg("-cp").arg(classes);
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{what}: {output:?}");
    let events = events(&text_of(&trace));
    let _ = std::fs::remove_dir_all(folder);
    let methods = Methods::of(classes);
    let missing: Vec<String> =
        events.iter().filter_map(|event| Some(format!("{event:?}: {}", methods.missing(event)?))).collect();
    assert!(missing.is_empty(), "{what}:\n{}", missing.join("\n"));
    events.len()
}

#[test]
fn recorded_programs() {
    for name in ["Counter", "Tasks", "Ordered", "Names"] {
        let program = Program::named(name);
        assert!(check(name, &jdks()[0], program.classes(), &[name.to_owned()]) > 5);
    }
}

/// A part of the programs with known truth, all of them in the long test.
#[test]
fn programs_with_truth() {
    let top = workspace().canonicalize().unwrap();
    let (fixtures, truths): (Vec<_>, Vec<_>) = programs(&top.join("fixtures/programs")).unwrap().into_iter().unzip();
    let jdk = test_jdk().unwrap();
    let compiled = compile(&fixtures, &jdk, &cache()).unwrap();
    let step = if std::env::var_os("FISSURE_LONG").is_some() { 1 } else { 12 };
    for (one, truth) in compiled.iter().zip(&truths).step_by(step) {
        let mut arguments = vec![truth.main.clone()];
        arguments.extend(truth.args.iter().cloned());
        check(&one.fixture.name, &jdk, &one.classes, &arguments);
    }
}
