//! Whether one run can go through two places: not if they need the same condition both ways.
//!
//! A condition counts if nothing can change it in between: it is about parameters, registers that are not set again on the
//! way, constants and final fields. A shared flag may change, so it does not count.

use program::Program;
use program::ir::{Against, BlockId, Body, Condition, Constant, Op, Value};
use smallvec::SmallVec;

/// One outcome of a branch that a block needs.
#[derive(Clone, Copy, Debug)]
struct Need {
    branch: Value,
    /// Position among the branch's successors.
    edge: usize,
}

pub(crate) struct Feasible<'b> {
    program: &'b Program,
    body: &'b Body,
    dominators: Vec<usize>,
}

/// How deep expressions are compared.
const MAX_DEPTH: usize = 4;

impl<'b> Feasible<'b> {
    pub(crate) fn new(program: &'b Program, body: &'b Body) -> Feasible<'b> {
        Feasible { program, body, dominators: dominators(body) }
    }

    /// Whether control that came through `first` can get to `second`.
    pub(crate) fn is_possible(&self, first: Value, second: Value) -> bool {
        let (from, to) = (self.body.block_of(first), self.body.block_of(second));
        let (before, after) = (self.needs(from), self.needs(to));
        !after
            .iter()
            .any(|other| self.is_impossible(from, other) || before.iter().any(|one| self.contradict(from, one, other)))
    }

    /// The register that a value is a copy of for control that came through `from`: where paths meet, it has come by one
    /// of those that lead there from `from`.
    fn after(&self, from: BlockId, value: Value) -> Value {
        let mut value = self.body.without_casts(value);
        for _ in 0..MAX_DEPTH {
            let Op::Phi(operands) = *self.body.op(value) else { break };
            let block = self.body.block_of(value);
            // What is chosen before says nothing about the way from there.
            if block == from || self.reaches(block, from) {
                break;
            }
            let incoming = self.body.operands(operands).iter().zip(&self.body.block(block).predecessors);
            let mut on_the_way = incoming
                .filter(|(_, edge)| edge.block == from || self.reaches(from, edge.block))
                .map(|(operand, _)| self.body.without_casts(*operand));
            match on_the_way.next() {
                Some(only) if on_the_way.all(|other| other == only) => value = only,
                _ => break,
            }
        }
        value
    }

    /// Whether a need of what comes later is about something that has been settled the other way.
    fn is_impossible(&self, from: BlockId, need: &Need) -> bool {
        let Op::Branch { condition, against: Against::Zero | Against::Null, left, right: None } =
            *self.body.op(need.branch)
        else {
            return false;
        };
        let holds = match *self.body.op(self.after(from, left)) {
            Op::Constant(Constant::Int(number)) => holds(condition, i64::from(number), 0),
            Op::Constant(Constant::Null) => condition == Condition::Equal,
            _ => return false,
        };
        holds != (need.edge == 0)
    }

    /// What must have been decided, and how, for control to come to a block.
    fn needs(&self, block: BlockId) -> SmallVec<[Need; 4]> {
        let mut needs = SmallVec::new();
        let mut here = block.index();
        while here != 0 {
            let above = self.dominators[here];
            if above == here {
                break;
            }
            let branch = self.body.block(BlockId::from_index(above));
            let mut edges = branch.successors.iter().enumerate().filter(|(_, next)| next.index() == here);
            if let (Some((edge, _)), None) = (edges.next(), edges.next())
                && self.body.block(BlockId::from_index(here)).predecessors.len() == 1
                && branch.successors.len() > 1
                && let Some(last) = self.body.terminator(BlockId::from_index(above))
            {
                needs.push(Need { branch: last, edge });
            }
            here = above;
        }
        needs
    }

    fn contradict(&self, from: BlockId, one: &Need, other: &Need) -> bool {
        let differ = match (self.body.op(one.branch), self.body.op(other.branch)) {
            (
                Op::Branch { condition, against, left, right },
                Op::Branch { condition: condition2, against: against2, left: left2, right: right2 },
            ) => {
                let is_same_operands = against == against2
                    && self.same(*left, self.after(from, *left2), 0)
                    && match (right, right2) {
                        (Some(a), Some(b)) => self.same(*a, self.after(from, *b), 0),
                        (None, None) => true,
                        _ => false,
                    };
                (is_same_operands && opposed(*condition, one.edge, *condition2, other.edge))
                    || self.are_different_types(one, other)
                    || self.are_different_numbers(from, one, other)
            }
            (Op::Switch { value, .. }, Op::Switch { value: value2, .. }) => {
                one.branch == other.branch && one.edge != other.edge && self.same(*value, *value2, 0)
            }
            _ => false,
        };
        differ && self.is_settled(from, one.branch, 0)
    }

    /// `x instanceof A` and `x instanceof B`, both true, where no object is both.
    fn are_different_types(&self, one: &Need, other: &Need) -> bool {
        let tested = |need: &Need| {
            let Op::Branch { condition, left, right: None, .. } = *self.body.op(need.branch) else { return None };
            let Op::InstanceOf(object, class) = *self.body.op(left) else { return None };
            let is_true = (condition == Condition::NotEqual) == (need.edge == 0);
            (is_true && matches!(condition, Condition::NotEqual | Condition::Equal)).then_some((object, class))
        };
        let (Some((object, class)), Some((object2, class2))) = (tested(one), tested(other)) else { return false };
        self.same(object, object2, 0)
            && crate::lock_pattern::narrower(self.program, Some(class), Some(class2)).is_none()
    }

    /// `x == 3` and `x == 4`, `x > 5` and `x < 2`: whether no number is as both say.
    fn are_different_numbers(&self, from: BlockId, one: &Need, other: &Need) -> bool {
        let compared = |need: &Need| {
            let Op::Branch { condition, against, left, right } = *self.body.op(need.branch) else { return None };
            let number = match (against, right.map(|right| *self.body.op(right))) {
                (Against::Zero, None) => 0,
                (Against::Int, Some(Op::Constant(Constant::Int(number)))) => i64::from(number),
                _ => return None,
            };
            Some((left, if need.edge == 0 { condition } else { negated(condition) }, number))
        };
        let (Some((left, asked, number)), Some((left2, asked2, number2))) = (compared(one), compared(other)) else {
            return false;
        };
        // What holds of some number holds of one that is next to these.
        let mut near = [number, number2].into_iter().flat_map(|number| number - 1..=number + 1);
        self.same(left, self.after(from, left2), 0)
            && !near.any(|value| holds(asked, value, number) && holds(asked2, value, number2))
    }

    /// Whether two registers hold the same value, as long as neither is set again.
    fn same(&self, a: Value, b: Value, depth: usize) -> bool {
        let (a, b) = (self.body.without_casts(a), self.body.without_casts(b));
        if a == b {
            return true;
        }
        if depth == MAX_DEPTH {
            return false;
        }
        let same = |a: Value, b: Value| self.same(a, b, depth + 1);
        match (*self.body.op(a), *self.body.op(b)) {
            (Op::Constant(a), Op::Constant(b)) => a == b,
            (Op::GetField { base, field }, Op::GetField { base: base2, field: field2 }) => {
                field == field2 && self.program.is_final_field(field) && same(base, base2)
            }
            (Op::GetStatic(field), Op::GetStatic(field2)) => field == field2 && self.program.is_final_field(field),
            (Op::InstanceOf(a, class), Op::InstanceOf(b, class2)) => class == class2 && same(a, b),
            (Op::ArrayLength(a), Op::ArrayLength(b)) | (Op::Negate(a), Op::Negate(b)) => same(a, b),
            (Op::Compare(a, b), Op::Compare(a2, b2)) => same(a, a2) && same(b, b2),
            (Op::Arithmetic(kind, a, b), Op::Arithmetic(kind2, a2, b2)) => kind == kind2 && same(a, a2) && same(b, b2),
            _ => false,
        }
    }

    /// Whether nothing that a branch depends on is set again once control has come to `from`.
    fn is_settled(&self, from: BlockId, value: Value, depth: usize) -> bool {
        let op = self.body.op(value);
        let mut settled = true;
        match op {
            Op::Parameter(_) | Op::Constant(_) => return true,
            Op::Phi(_) | Op::Call { .. } | Op::CallDynamic { .. } | Op::ArrayLoad { .. } | Op::Caught | Op::New(_) => {
                return !self.reaches(from, self.body.block_of(value));
            }
            Op::GetField { field, .. } | Op::GetStatic(field) if !self.program.is_final_field(*field) => {
                return !self.reaches(from, self.body.block_of(value));
            }
            _ if depth > 8 => return false,
            _ => self.body.for_each_operand(op, |operand| settled &= self.is_settled(from, operand, depth + 1)),
        }
        settled
    }

    /// Whether control can come from the end of one block to another.
    fn reaches(&self, from: BlockId, to: BlockId) -> bool {
        let mut seen = vec![false; self.body.block_count()];
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            let edges = self.body.block(block);
            for next in edges.successors.iter().chain(&edges.handlers) {
                if *next == to {
                    return true;
                }
                if !std::mem::replace(&mut seen[next.index()], true) {
                    pending.push(*next);
                }
            }
        }
        false
    }
}

pub(crate) fn holds(condition: Condition, value: i64, number: i64) -> bool {
    match condition {
        Condition::Less => value < number,
        Condition::LessOrEqual => value <= number,
        Condition::Equal => value == number,
        Condition::NotEqual => value != number,
        Condition::GreaterOrEqual => value >= number,
        Condition::Greater => value > number,
    }
}

/// Whether two outcomes of one comparison exclude each other.
fn opposed(one: Condition, edge: usize, other: Condition, other_edge: usize) -> bool {
    let outcome = |condition: Condition, edge: usize| if edge == 0 { condition } else { negated(condition) };
    let (one, other) = (outcome(one, edge), outcome(other, other_edge));
    let allowed = |condition: Condition| match condition {
        Condition::Less => [true, false, false],
        Condition::LessOrEqual => [true, true, false],
        Condition::Equal => [false, true, false],
        Condition::NotEqual => [true, false, true],
        Condition::GreaterOrEqual => [false, true, true],
        Condition::Greater => [false, false, true],
    };
    allowed(one).iter().zip(allowed(other)).all(|(a, b)| !(*a && b))
}

fn negated(condition: Condition) -> Condition {
    match condition {
        Condition::Less => Condition::GreaterOrEqual,
        Condition::LessOrEqual => Condition::Greater,
        Condition::Equal => Condition::NotEqual,
        Condition::NotEqual => Condition::Equal,
        Condition::GreaterOrEqual => Condition::Less,
        Condition::Greater => Condition::LessOrEqual,
    }
}

/// Immediate dominators by the iterative algorithm of Cooper, Harvey and Kennedy; blocks are in reverse postorder.
fn dominators(body: &Body) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let count = body.block_count();
    let mut dominators = vec![UNKNOWN; count];
    dominators[0] = 0;
    let meet = |dominators: &[usize], mut a: usize, mut b: usize| {
        while a != b {
            while a > b {
                a = dominators[a];
            }
            while b > a {
                b = dominators[b];
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..count {
            let mut found = UNKNOWN;
            for predecessor in &body.block(BlockId::from_index(block)).predecessors {
                let before = predecessor.block.index();
                if dominators[before] != UNKNOWN {
                    found = if found == UNKNOWN { before } else { meet(&dominators, before, found) };
                }
            }
            if found != UNKNOWN && dominators[block] != found {
                dominators[block] = found;
                changed = true;
            }
        }
    }
    for (block, dominator) in dominators.iter_mut().enumerate() {
        if *dominator == UNKNOWN {
            *dominator = block;
        }
    }
    dominators
}
