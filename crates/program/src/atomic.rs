//! Methods that are marked as atomic: by an annotation named `Atomic`, or by the settings.
//!
//! A marked method that takes no lock, nor calls what does, is taken at its word: each call is one section, and all
//! such sections exclude each other. Where locks are taken, they tell what is atomic, and the mark is only a claim.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::annotation::Mark;
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::lock::{LockKind, Mode};
use crate::outline::{Name, Objects, Origin, Outline, OutlineSection, SectionSet, Start};

/// What stands for the lock of marked methods; no class can have this name.
pub(crate) const ATOMIC: &str = "@Atomic";

/// Callees of a marked method that are looked at for locks.
const MAX_CALLEES: usize = 1_000;

/// The marked methods that are sections, in order.
pub(crate) fn atomic_methods(program: &Program, calls: &Calls, named: &[String]) -> Vec<MethodId> {
    let is_marked = |method: &MethodId| {
        let own = program.method(*method);
        (!own.annotations.is_empty() && program.annotations_of_method(*method).has(Mark::Atomic))
            || (!named.is_empty() && is_named(program, *method, named))
    };
    program.methods().filter(is_marked).filter(|method| !takes_locks(program, calls, *method)).collect()
}

/// Whether one of the patterns is the method's name or a part of it from the right, whole words only.
fn is_named(program: &Program, method: MethodId, patterns: &[String]) -> bool {
    let name = program.names.readable_method(program.method_name(method));
    patterns.iter().any(|pattern| {
        name.strip_suffix(pattern.as_str()).is_some_and(|before| before.is_empty() || before.ends_with(['.', '$']))
    })
}

fn takes_locks(program: &Program, calls: &Calls, method: MethodId) -> bool {
    let mut seen = FxHashSet::from_iter([method]);
    let mut pending = vec![method];
    while let Some(method) = pending.pop() {
        if program.may_lock(method) || seen.len() > MAX_CALLEES {
            return true;
        }
        pending.extend(calls.callees(method).iter().copied().filter(|callee| seen.insert(*callee)));
    }
    false
}

/// Makes the whole method one section.
pub(crate) fn enclose(program: &Program, outline: &mut Outline) {
    let number = outline.sections.len();
    let mut section = SectionSet::default();
    section.insert(number);
    let first = outline.events.first();
    outline.sections.push(OutlineSection {
        lock: Name::start(Start::Class(program.names.class(ATOMIC))),
        objects: Objects::default(),
        keys: Default::default(),
        told: Default::default(),
        kind: LockKind::Monitor,
        mode: Mode::Exclusive,
        is_method: true,
        reentrant: false,
        pc: first.map_or(0, |event| event.pc),
        line: first.and_then(|event| event.line),
        end_line: None,
        ends: SmallVec::new(),
        inside: SectionSet::default(),
    });
    for event in &mut outline.events {
        event.held = event.held.union(section);
    }
    for condition in &mut outline.conditions {
        condition.held = condition.held.union(section);
    }
    for source in &mut outline.result {
        if matches!(source.origin, Origin::Event(_)) {
            source.ended = source.ended.union(section);
        }
    }
}
