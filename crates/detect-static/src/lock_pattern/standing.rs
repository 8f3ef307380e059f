//! What is told of large programs: a step that goes by an earlier look at a container or an atomic, where others hold the
//! context for what they write, and somebody does not.
//!
//! Of two sections of a monitor hardly one pair in twenty breaks there: whoever writes holds the context by ways that are not
//! seen, the second section looks again, or the sections have nothing to do with each other (decision 0009).

use program::Variable;
use program::summary::{Access, Influence, Root};

use super::analysis::{Analysis, Witness};
use super::judge::is_own_step;
use super::others::{compares, takes_out};
use super::relation::Relations;
use super::sides::Sides;

/// Whether a pair may stand out, as far as its lock and its context show.
pub(super) fn may_stand_out(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    is_own_step(analysis, witness) && witness.pair.first != witness.pair.second
}

impl Relations<'_> {
    /// Whether one of the variables is written because of what was read of it, under a context that guards it, and
    /// somebody writes it without.
    pub(super) fn stands_out(&self, witness: &Witness, sides: &Sides<'_>, open: &[Variable]) -> bool {
        may_stand_out(self.analysis, witness)
            && open.iter().any(|variable| {
                self.is_written_for_a_look(sides, *variable) && self.is_guarded_but_for_some(witness, sides, *variable)
            })
    }

    /// Whether the second section puts something there, by what the first one has read of the same variable.
    fn is_written_for_a_look(&self, sides: &Sides<'_>, variable: Variable) -> bool {
        let program = self.analysis.program;
        let is_of_it = |access: &Access| Variable::of(program, access) == Some(variable);
        let is_old = |influence: &Influence| match influence.root {
            Root::Access(read) => sides.is_from_first(influence) && is_of_it(&sides.summary.accesses[read.index()]),
            Root::Parameter(_) => false,
        };
        sides.accesses(sides.second).any(|(_, access)| {
            access.is_write
                && is_of_it(access)
                && access.value.iter().chain(&access.control).any(is_old)
                && !self.operation(access).is_some_and(takes_out)
                && !self.is_of_winner(sides, access, variable)
        }) && !self.is_found_out(sides, variable)
    }

    /// Whether a write is done by the one thread alone that has won something else by a comparison: `if (active.get() &&
    /// closed.compareAndSet(false, true)) active.set(false);`.
    fn is_of_winner(&self, sides: &Sides<'_>, write: &Access, variable: Variable) -> bool {
        let is_won = |influence: &Influence| match influence.root {
            Root::Access(step) => {
                let step = &sides.summary.accesses[step.index()];
                Variable::of(self.analysis.program, step) != Some(variable)
                    && self.operation(step).is_some_and(compares)
            }
            Root::Parameter(_) => false,
        };
        write.control.iter().any(is_won)
    }

    /// Whether the method compares and sets the same variable itself: who came in between is found out there.
    fn is_found_out(&self, sides: &Sides<'_>, variable: Variable) -> bool {
        sides.summary.accesses.iter().any(|access| {
            Variable::of(self.analysis.program, access) == Some(variable)
                && self.operation(access).is_some_and(compares)
        })
    }

    /// Whether some writes of the variable are under what is held over both sections, and others come in between.
    fn is_guarded_but_for_some(&self, witness: &Witness, sides: &Sides<'_>, variable: Variable) -> bool {
        self.left_out(witness, sides, variable).len() < self.variables.writers(variable).len()
            && !self.culprits(witness, sides, variable).is_empty()
    }
}
