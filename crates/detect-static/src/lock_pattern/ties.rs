//! Whether two takings have anything to do with each other, as far as the code of one method shows: a cheap question
//! before the dear ones.

use program::ir::{BlockId, Body, Op, Value};
use program::{ControlDependence, Path, Paths, Program, Root, Sections};
use smallvec::SmallVec;

use super::name::settle;
use super::summary::Via;

/// What connects two takings in the registers of a method.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Ties {
    /// What the first yields is given to the second, or decides whether it happens.
    pub(super) flows: bool,
    /// What both yield comes together in one instruction.
    pub(super) meets: bool,
    /// What one round of a loop yields is carried into the next.
    pub(super) carried: bool,
}

impl Ties {
    pub(super) fn any(self) -> bool {
        self.flows || self.meets || self.carried
    }
}

pub(super) struct Registers<'b> {
    program: &'b Program,
    body: &'b Body,
    sections: Sections,
    paths: Paths<'b>,
    control: ControlDependence,
}

/// A register that may be a copy of more than this many is not looked at.
const MAX_CHOICES: usize = 8;

const FIRST: u8 = 1;
const SECOND: u8 = 2;

impl<'b> Registers<'b> {
    pub(super) fn new(program: &'b Program, body: &'b Body) -> Registers<'b> {
        let (sections, paths) = (Sections::of(body, program), Paths::new(body, program));
        Registers { program, body, sections, paths, control: ControlDependence::of(body) }
    }

    /// Whether the lock is held around both places after all, by other names: as many locks are held that may be it as
    /// there are objects that they may be, as where two locks are taken in an order that is worked out first.
    pub(super) fn is_held_by_choice(&self, lock: &Path, first: Value, second: Value) -> bool {
        let open = |at: Value| self.sections.held_at(self.body, at).unwrap_or_default();
        let later = open(second);
        let around = open(first).into_iter().filter(|held| later.iter().any(|other| other.section == held.section));
        let mut locks: SmallVec<[Path; 4]> = SmallVec::new();
        let mut count = 0;
        for held in around {
            let other = &self.sections.get(held.section).lock;
            let Root::Value(chosen) = other.root else { continue };
            let mut choices: SmallVec<[Path; 4]> = SmallVec::new();
            for choice in self.choices(chosen) {
                let named = other.steps.iter().fold(self.paths.of(choice, second), |path, step| path.then(*step));
                let named = settle(self.program, named);
                if !choices.contains(&named) {
                    choices.push(named);
                }
            }
            if choices.len() > 1 && choices.iter().any(|choice| choice.same(lock)) {
                count += 1;
                locks.extend(choices.into_iter().filter(|choice| !locks.contains(choice)).collect::<Vec<_>>());
            }
        }
        count > 0 && count >= locks.len()
    }

    /// What a register may be a copy of, through places where paths meet.
    fn choices(&self, value: Value) -> SmallVec<[Value; 4]> {
        let mut found: SmallVec<[Value; 4]> = SmallVec::new();
        let mut seen: SmallVec<[Value; 4]> = SmallVec::new();
        let mut pending: SmallVec<[Value; 4]> = smallvec::smallvec![value];
        while let Some(value) = pending.pop() {
            let value = self.body.without_casts(value);
            if seen.contains(&value) || seen.len() > MAX_CHOICES {
                continue;
            }
            seen.push(value);
            match *self.body.op(value) {
                Op::Phi(operands) => pending.extend(self.body.operands(operands).iter().copied()),
                _ => found.push(value),
            }
        }
        found
    }

    /// The ties of two takings, each with the instruction that takes the lock or calls what does.
    pub(super) fn ties(&self, first: (Via, Value), second: (Via, Value)) -> Ties {
        let body = self.body;
        let mut marks = vec![0u8; body.value_count()];
        let in_first = self.members(first);
        let in_second = self.members(second);
        in_first.iter().for_each(|value| marks[value.index()] |= FIRST);
        in_second.iter().for_each(|value| marks[value.index()] |= SECOND);
        self.spread(&mut marks);
        let is_loop = first == second;
        let mut ties = Ties::default();
        if is_loop {
            let at = body.block_of(first.1);
            ties.carried = body.blocks().filter(|(block, _)| *block <= at).any(|(block, edges)| {
                body.instructions_of(block).any(|(_, instruction)| match instruction.op {
                    Op::Phi(operands) => {
                        body.operands(operands).iter().zip(&edges.predecessors).any(|(operand, from)| {
                            from.block >= block && marks[operand.index()] & FIRST != 0 && from.block >= at
                        })
                    }
                    _ => false,
                })
            });
            return ties;
        }
        ties.flows = in_second.iter().any(|value| {
            let mut given = false;
            body.for_each_operand(body.op(*value), |operand| given |= marks[operand.index()] & FIRST != 0);
            given
        }) || self.is_decided(body.block_of(second.1), &marks);
        ties.meets = body.instructions().any(|(value, instruction)| {
            if in_first.contains(&value) || in_second.contains(&value) {
                return false;
            }
            let mut seen = 0;
            body.for_each_operand(&instruction.op, |operand| seen |= marks[operand.index()]);
            seen == FIRST | SECOND
        });
        ties
    }

    /// The registers that a taking yields: the call's result, or what is read and called inside the section.
    fn members(&self, (via, value): (Via, Value)) -> Vec<Value> {
        let Via::Own(number) = via else { return vec![value] };
        let mut members = Vec::new();
        for (block, _) in self.body.blocks() {
            self.sections.walk(self.body, block, |value, instruction, held| {
                let is_inside = held.iter().any(|held| held.section.index() == number as usize);
                let yields = matches!(
                    instruction.op,
                    Op::GetField { .. }
                        | Op::GetStatic(_)
                        | Op::ArrayLoad { .. }
                        | Op::Call { .. }
                        | Op::PutField { .. }
                        | Op::PutStatic { .. }
                        | Op::ArrayStore { .. }
                );
                if is_inside && yields {
                    members.push(value);
                }
            });
        }
        members
    }

    /// Whatever an instruction reads goes into what it yields. A choice between values shows what decided.
    fn spread(&self, marks: &mut [u8]) {
        let mut changed = true;
        let mut rounds = 0;
        while changed && rounds < 8 {
            changed = false;
            rounds += 1;
            for (block, edges) in self.body.blocks() {
                for (value, instruction) in self.body.instructions_of(block) {
                    let mut mark = marks[value.index()];
                    self.body.for_each_operand(&instruction.op, |operand| mark |= marks[operand.index()]);
                    if matches!(instruction.op, Op::Phi(_)) {
                        for from in &edges.predecessors {
                            for on in self.control.of_block(from.block) {
                                if let Some(last) = self.body.terminator(on.branch) {
                                    mark |= marks[last.index()];
                                }
                            }
                        }
                    }
                    changed |= mark != marks[value.index()];
                    marks[value.index()] = mark;
                }
            }
        }
    }

    /// Whether a branch that decides about a block has seen what the first taking yields.
    fn is_decided(&self, block: BlockId, marks: &[u8]) -> bool {
        let mut seen = vec![false; self.body.block_count()];
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            for on in self.control.of_block(block) {
                let decides = self.body.terminator(on.branch).is_some_and(|last| marks[last.index()] & FIRST != 0);
                if decides {
                    return true;
                }
                if !std::mem::replace(&mut seen[on.branch.index()], true) {
                    pending.push(on.branch);
                }
            }
        }
        false
    }
}
