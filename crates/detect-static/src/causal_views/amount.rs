//! Amounts that a method does not read anew: two calls are given one that its object has for good. `source.draw(stroke);
//! sink.fill(stroke);`, with a final field `stroke`.

use program::ir::CallKind;
use program::outline::{Action, Name, NameStep};
use program::summary::{Access, Root};

use super::rules::{Asking, is_known};

impl Asking<'_> {
    /// Whether two calls are given the same lasting value, which goes into what each of them writes.
    pub(super) fn are_given_one(&self, first: &Access, second: &Access) -> bool {
        let given = self.lasting(first);
        !given.is_empty() && self.lasting(second).iter().any(|other| given.contains(other))
    }

    /// The names of fields that never change and that a call is given, as far as they go into what it writes.
    fn lasting(&self, write: &Access) -> Vec<&Name> {
        let Action::Call { kind, method, arguments } = &self.outline.events[write.event.index()].action else {
            return Vec::new();
        };
        let is_lasting = |name: &Name| {
            let is_final =
                |step: &NameStep| matches!(step, NameStep::Field(field) if self.whole.program.is_final_field(*field));
            is_known(name) && !name.steps.is_empty() && name.steps.iter().all(is_final)
        };
        let targets = self.whole.calls.targets(self.whole.program, *kind, *method);
        let goes_into = |position: usize| {
            let root = Root::Parameter(position as u16);
            let is_it = |own: &Access| {
                own.is_write && own.spot == write.spot && own.value.iter().any(|influence| influence.root == root)
            };
            targets.known().iter().any(|target| {
                self.whole.summaries.summary(*target).is_some_and(|summary| summary.accesses.iter().any(is_it))
            })
        };
        // What a call is made on is no amount.
        let first = usize::from(*kind != CallKind::Static);
        let given = arguments.iter().enumerate().skip(first).filter(|(_, argument)| is_lasting(&argument.name));
        given.filter(|(position, _)| goes_into(*position)).map(|(_, argument)| &argument.name).collect()
    }
}
