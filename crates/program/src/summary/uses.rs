//! Every use of a value after the section in which it was read: what the strict mode tells.

use location::MethodName;

use super::compose::{Compose, Composing};
use super::influences::Sets;
use super::{AccessId, Influences, Root, Summaries};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::lock::LockKind;
use crate::outline::{Action, EventId, computations};

/// A use of a value whose section has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LateUse {
    pub read: AccessId,
    /// The section that has ended.
    pub section: usize,
    pub kind: LateUseKind,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateUseKind {
    /// A branch depends on it.
    Decides,
    /// It is handed to a call.
    Given(MethodName),
    /// It is stored, or says where something is stored or read.
    Stored(EventId),
    /// Something is worked out from it: a number, a text, the same object under another type.
    Computed,
}

impl Summaries {
    /// The uses in a method's own code, in the order of code. To return a value is no use of it.
    pub fn late_uses(&self, program: &Program, calls: &Calls, method: MethodId) -> Vec<LateUse> {
        let Some(outline) = self.outline(method) else { return Vec::new() };
        let known = |callee: MethodId| self.summary(callee);
        let component = [method];
        let compose = Compose { program, calls, holdings: &self.holdings, component: &component, extent: self.extent };
        let mut composing = compose.composed(method, outline, &known, Sets::default());
        let mut found = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            let id = EventId(index as u32);
            composing.at = id;
            let mut add = |influences: Influences, kind| composing.late(&influences, kind, event.line, &mut found);
            match &event.action {
                Action::Write { address, value, .. } => {
                    add(composing.influences(address), LateUseKind::Stored(id));
                    add(composing.influences(value), LateUseKind::Stored(id));
                }
                Action::Read { address, .. } => add(composing.influences(address), LateUseKind::Stored(id)),
                Action::Call { method, arguments, .. } => {
                    for argument in arguments {
                        add(composing.influences(&argument.sources), LateUseKind::Given(*method));
                    }
                }
                Action::Lambda { by, arguments, .. } => {
                    for captured in arguments {
                        add(composing.influences(&captured.sources), LateUseKind::Given(*by));
                    }
                }
                Action::Wait(_) => {}
            }
        }
        for condition in &outline.conditions {
            let is_there = |event: &crate::outline::Event| event.block == condition.block;
            if let Some(last) = outline.events.iter().rposition(is_there) {
                composing.at = EventId(last as u32);
            }
            let influences = composing.influences(&condition.sources);
            composing.late(&influences, LateUseKind::Decides, condition.line, &mut found);
        }
        let body = program.body(method).ok().flatten();
        for computation in body.iter().flat_map(|body| computations(program, body)) {
            let is_before =
                |event: &crate::outline::Event| event.block == computation.block && event.pc <= computation.pc;
            if let Some(last) = outline.events.iter().rposition(is_before) {
                composing.at = EventId(last as u32);
            }
            let influences = composing.influences(&computation.sources);
            composing.late(&influences, LateUseKind::Computed, computation.line, &mut found);
        }
        found
    }
}

impl Composing<'_, '_> {
    fn late(&self, influences: &Influences, kind: LateUseKind, line: Option<u32>, found: &mut Vec<LateUse>) {
        for influence in influences {
            let Root::Access(read) = influence.root else { continue };
            let Some(access) = self.summary.accesses.get(read.index()) else { continue };
            // What an object that synchronizes itself tells is old as soon as it is told: there it says nothing.
            let is_lock = |section: &usize| self.summary.sections[*section].kind != LockKind::Own;
            let mut ended = influence.ended.intersection(access.held).iter().filter(is_lock);
            if let Some(section) = ended.next() {
                found.push(LateUse { read, section, kind, line });
            }
        }
    }
}
