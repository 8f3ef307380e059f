//! Where paths meet and a register tells which one was taken: what decided about the path decided about its value.

use smallvec::SmallVec;

use crate::ir::{Block, BlockId, Body, Op, Value, ValueType};
use crate::model::numbers::is_box;
use crate::{ControlDependence, Program};

/// The phis of a body that choose between constants, between numbers that were counted to, or between what a loop has
/// chosen and another one.
pub(super) struct Choices<'c> {
    pub(super) program: &'c Program,
    pub(super) body: &'c Body,
    /// By register: see [`counted`].
    pub(super) counted: Vec<bool>,
}

impl Choices<'_> {
    /// Each with the operands of the conditions that make the choice.
    pub(super) fn all<'c>(&self, control: impl Fn() -> &'c ControlDependence) -> Vec<(Value, SmallVec<[Value; 4]>)> {
        let mut choices = Vec::new();
        for (block, edges) in self.body.blocks() {
            for (value, instruction) in self.body.instructions_of(block) {
                let Op::Phi(operands) = instruction.op else { break };
                if self.is_choice(value, self.body.operands(operands)) {
                    choices.push((value, self.deciding(control(), block, edges)));
                }
            }
        }
        choices
    }

    fn is_choice(&self, phi: Value, operands: &[Value]) -> bool {
        operands.iter().any(|value| is_constant(self.program, self.body.op(*value)))
            || operands.iter().all(|value| self.counted[value.index()])
                && (self.is_either(operands) || self.is_tally(phi))
            || self.is_chosen(phi, operands)
    }

    /// Whether a loop has chosen an object so far, and keeps it or takes another one.
    fn is_chosen(&self, phi: Value, operands: &[Value]) -> bool {
        matches!(self.body.instruction(phi).value_type, ValueType::Reference(_))
            && operands.iter().any(|so_far| match *self.body.op(*so_far) {
                Op::Phi(rounds) => *so_far != phi && self.body.operands(rounds).contains(&phi),
                _ => false,
            })
    }

    /// What the conditions compare that lead to one predecessor of a block and not to another.
    fn deciding(&self, control: &ControlDependence, block: BlockId, edges: &Block) -> SmallVec<[Value; 4]> {
        let mut deciding: SmallVec<[Value; 4]> = SmallVec::new();
        for predecessor in &edges.predecessors {
            let branches = control.of_block(predecessor.block).iter().map(|on| on.branch);
            let own = control.of_block(block);
            for branch in branches.chain([predecessor.block]) {
                if own.iter().any(|on| on.branch == branch) {
                    continue;
                }
                if let Some(last) = self.body.terminator(branch)
                    && let op @ (Op::Branch { .. } | Op::Switch { .. }) = self.body.op(last)
                {
                    self.body.for_each_operand(op, |operand| deciding.push(operand));
                }
            }
        }
        deciding.sort_unstable();
        deciding.dedup();
        deciding
    }

    /// Whether it is one of several numbers, not one of them and more.
    fn is_either(&self, operands: &[Value]) -> bool {
        let mut from = operands.iter().map(|value| self.counted_from(*value));
        let first = from.next();
        from.any(|other| Some(other) != first)
    }

    /// What a number was counted up or down from.
    fn counted_from(&self, value: Value) -> Value {
        match *self.body.op(value) {
            Op::Arithmetic(_, from, by) if matches!(self.body.op(by), Op::Constant(_)) => self.counted_from(from),
            Op::Convert(from) | Op::Negate(from) => self.counted_from(from),
            _ => value,
        }
    }

    /// Whether a number tells in the end how often something was so: nothing asks for it while it is counted. A number
    /// that is used on the way, as one that says which round it is, tells of rounds.
    fn is_tally(&self, phi: Value) -> bool {
        let mut members = vec![false; self.body.value_count()];
        members[phi.index()] = true;
        let mut changed = true;
        while changed {
            changed = false;
            for (value, instruction) in self.body.instructions() {
                if self.counted[value.index()] && !members[value.index()] && self.uses(&instruction.op, &members) {
                    members[value.index()] = true;
                    changed = true;
                }
            }
        }
        // Where a round begins, and where the last one ends that comes before it.
        let mut heads = Vec::new();
        let mut ends = Vec::new();
        for (block, edges) in self.body.blocks() {
            for (value, instruction) in self.body.instructions_of(block) {
                let Op::Phi(operands) = instruction.op else { break };
                let operands = self.body.operands(operands);
                if !members[value.index()] || operands.iter().all(|operand| members[operand.index()]) {
                    continue;
                }
                heads.push(block);
                let counted = edges.predecessors.iter().zip(operands).filter(|(_, operand)| members[operand.index()]);
                ends.extend(counted.map(|(predecessor, _)| predecessor.block));
            }
        }
        let mut inside = vec![false; self.body.block_count()];
        while let Some(block) = ends.pop() {
            if !std::mem::replace(&mut inside[block.index()], true) && !heads.contains(&block) {
                ends.extend(self.body.block(block).predecessors.iter().map(|predecessor| predecessor.block));
            }
        }
        !heads.is_empty()
            && !self.body.instructions().any(|(value, instruction)| {
                !members[value.index()]
                    && inside[self.body.block_of(value).index()]
                    && self.uses(&instruction.op, &members)
            })
    }

    fn uses(&self, op: &Op, wanted: &[bool]) -> bool {
        let mut found = false;
        self.body.for_each_operand(op, |operand| found |= wanted[operand.index()]);
        found
    }
}

/// By register: whether it is made of constants alone, as what a loop counts with.
pub(super) fn counted(program: &Program, body: &Body) -> Vec<bool> {
    let mut counted: Vec<bool> = vec![false; body.value_count()];
    for (value, instruction) in body.instructions() {
        counted[value.index()] =
            matches!(instruction.op, Op::Phi(_) | Op::Negate(_) | Op::Arithmetic(..) | Op::Convert(_))
                || is_constant(program, &instruction.op)
                || is_boxing(&program.names, &instruction.op);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (value, instruction) in body.instructions() {
            let mut is_made_of_it = counted[value.index()];
            if is_made_of_it {
                body.for_each_operand(&instruction.op, |operand| is_made_of_it &= counted[operand.index()]);
                changed |= !is_made_of_it;
                counted[value.index()] = is_made_of_it;
            }
        }
    }
    counted
}

/// Whether it is the same each time: a number, a text, a constant of an enum.
fn is_constant(program: &Program, op: &Op) -> bool {
    match *op {
        Op::Constant(_) => true,
        Op::GetStatic(field) => program.is_final_field(field),
        _ => false,
    }
}

/// Whether a call only puts a number into an object.
pub(super) fn is_boxing(names: &location::Names, op: &Op) -> bool {
    let Op::Call { method, .. } = op else { return false };
    let is_optional = names.text(method.name) == "of" && names.text(method.class.0).starts_with("java/util/Optional");
    is_optional || is_box(names, *method)
}
