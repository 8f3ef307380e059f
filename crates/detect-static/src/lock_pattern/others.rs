//! What those do who are not kept out: put something there whatever they find, make sure by themselves, or only take out.

use program::outline::{Action, Condition, EventId, Origin};
use program::summary::Access;
use program::{Place, Relation, Variable};

use super::analysis::Witness;
use super::judge::is_own_step;
use super::relation::Relations;
use super::sides::Sides;

/// How the names of operations begin that only take something out.
const TAKING: [&str; 7] = ["clear", "drain", "poll", "pop", "remove", "retain", "take"];

impl Relations<'_> {
    /// The writes of the variable that are under none of the locks that are held over both sections.
    pub(super) fn left_out(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> Vec<&Place> {
        let Some(access) = self.touch(sides, variable) else { return Vec::new() };
        let held = self.held_over(witness, sides);
        let relations: Vec<Relation> = held.iter().filter_map(|held| Relation::between(&access.base, held)).collect();
        let cover = self.cover();
        let is_out = |place: &&Place| !cover.cover_writes(&self.variables, variable, &relations, |own| own == *place);
        self.variables.writers(variable).iter().filter(is_out).collect()
    }

    /// Whether a write puts something there whatever it finds.
    pub(super) fn is_blind(&self, place: &Place) -> bool {
        let summary = self.summaries.summary(place.method);
        let name = summary.and_then(|summary| self.operation(&summary.accesses[place.access.index()]));
        name.is_none_or(|name| !takes_out(name) && !compares(name))
    }

    /// The name of the operation of a library that an access is.
    pub(super) fn operation(&self, access: &Access) -> Option<&str> {
        let program = self.analysis.program;
        let outline = self.summaries.outline(program.declared_method(access.spot.method)?)?;
        let event = outline.events.iter().find(|event| event.pc == access.spot.pc)?;
        match event.action {
            Action::Call { method, .. } => Some(program.names.text(method.name)),
            _ => None,
        }
    }

    /// Whether something is put into a container because there is room for it, or none of it yet, and whoever else is not
    /// kept out only takes out: then there still is.
    pub(super) fn only_leave(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> bool {
        let is_taking = |place: &&Place| {
            let summary = self.summaries.summary(place.method);
            summary.and_then(|summary| self.operation(&summary.accesses[place.access.index()])).is_some_and(takes_out)
        };
        let left_out = self.left_out(witness, sides, variable);
        let of_it = |section: usize| {
            let accesses = sides.accesses(section).map(|(_, access)| access);
            accesses.filter(|access| Variable::of(self.analysis.program, access) == Some(variable))
        };
        is_own_step(self.analysis, witness)
            && !left_out.is_empty()
            && left_out.iter().all(is_taking)
            && of_it(sides.second).filter(|write| write.is_write).all(|write| {
                !self.operation(write).is_some_and(takes_out)
                    && !write.value.iter().any(|influence| sides.is_from_first(influence))
                    && of_it(sides.first).all(|read| self.is_for_want(witness, read, write))
            })
    }

    /// Whether a write comes of the answer that there is none yet, or of how many there are.
    fn is_for_want(&self, witness: &Witness, read: &Access, write: &Access) -> bool {
        let Some(outline) = self.summaries.outline(witness.pair.method) else { return false };
        let is_of_it =
            |condition: &&Condition| condition.sources.iter().any(|source| source.origin == Origin::Event(read.event));
        let write: EventId = write.event;
        let control = outline.events[write.index()].control.iter();
        let mut asked = control.map(|condition| &outline.conditions[*condition as usize]).filter(is_of_it);
        self.operation(read) == Some("size")
            || asked.any(|condition| {
                outline.is_because_absent(condition, write) || outline.is_because_nought(condition, write)
            })
    }
}

pub(super) fn takes_out(operation: &str) -> bool {
    TAKING.iter().any(|word| operation.starts_with(word))
}

pub(super) fn compares(operation: &str) -> bool {
    operation.starts_with("compareAnd") || operation.starts_with("weakCompareAnd")
}
