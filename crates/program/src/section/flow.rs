//! What is held along the paths of a method: a forward dataflow to a fixed point, exceptions included.
//!
//! A lock that is held on some paths only is followed together with what tells those paths apart, so that `tryLock` and
//! `if (locked) lock.unlock()` are understood however the answer gets from one to the other.

use classfile::{Against, Condition, Constant};
use smallvec::SmallVec;

use super::event::Event;
use super::{Held, SectionId, Sections};
use crate::ir::{Block, BlockId, Body, Op, Predecessor, Value, can_throw};

/// A value that tells whether something is so: it is if the value is true (not 0, not null) and `when` is true, or
/// neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Test {
    value: Value,
    when: bool,
}

impl Test {
    pub(super) fn is_truth_of(self, value: Value) -> bool {
        self == Test { value, when: true }
    }
}

/// What is held at a point of the code, and what is known there of values that were branched on.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct State {
    /// Outermost first.
    pub(super) held: SmallVec<[Held; 4]>,
    /// Values known to be true or false.
    known: SmallVec<[(Value, bool); 4]>,
}

/// Values beyond this many are forgotten, the oldest first.
const MAX_KNOWN: usize = 16;

/// A block that changed this often is from then on solved without tests, so that an end is certain.
const MAX_VISITS: u32 = 24;

/// What is held where each block starts; `None` where control never gets.
pub(super) fn solve(body: &Body, sections: &Sections) -> Vec<Option<State>> {
    solve_plain(body, sections).unwrap_or_else(|| solve_by_tests(body, sections))
}

/// The same, where one pass is enough, as in most code: every way to a block comes with the same locks, all of them surely
/// held. Then no value tells ways apart, and none is followed.
fn solve_plain(body: &Body, sections: &Sections) -> Option<Vec<Option<State>>> {
    let is_tested = |event: &Event| {
        matches!(event, Event::EnterWith(_) | Event::TryEnter(_) | Event::EnterUnless(_) | Event::Convert(_))
    };
    if sections.events.iter().any(is_tested) {
        return None;
    }
    let mut entries: Vec<Option<State>> = vec![None; body.block_count()];
    entries[0] = Some(at_entry(body));
    for (id, block) in body.blocks() {
        let Some(mut state) = entries[id.index()].clone() else { continue };
        let mut come_to = |target: &BlockId, state: &State| match &entries[target.index()] {
            Some(known) => known.held == state.held,
            // A block that was passed by would have to be followed again.
            None if *target <= id => false,
            None => {
                entries[target.index()] = Some(state.clone());
                true
            }
        };
        let mut has_thrown = false;
        for (value, instruction) in body.instructions_of(id) {
            let event = &sections.events[value.index()];
            if !block.handlers.is_empty()
                && can_throw(&instruction.op)
                && !matches!(event, Event::Exit(_))
                && !has_thrown
            {
                if !block.handlers.iter().all(|target| come_to(target, &state)) {
                    return None;
                }
                has_thrown = true;
            }
            if !matches!(event, Event::None | Event::Wait(..)) {
                state.step(sections, body, value);
                // What is thrown from here on comes with other locks.
                has_thrown = false;
            }
        }
        if !block.successors.iter().all(|target| come_to(target, &state)) {
            return None;
        }
    }
    Some(entries)
}

/// What is held where a method starts.
fn at_entry(body: &Body) -> State {
    let mut entry = State::default();
    if body.access.is_synchronized() {
        entry.held.push(Held { section: SectionId(0), certain: true, test: None });
    }
    entry
}

fn solve_by_tests(body: &Body, sections: &Sections) -> Vec<Option<State>> {
    let mut entries: Vec<Option<State>> = vec![None; body.block_count()];
    // By block and predecessor: the state that comes from there.
    let mut incoming: Vec<SmallVec<[Option<State>; 2]>> =
        body.blocks().map(|(_, block)| block.predecessors.iter().map(|_| None).collect()).collect();
    let mut visits = vec![0u32; body.block_count()];
    entries[0] = Some(at_entry(body));
    let mut pending = vec![false; body.block_count()];
    pending[0] = true;
    let mut edges = Vec::new();
    // Blocks are in reverse postorder, so few passes are enough.
    while let Some(first) = pending.iter().position(|pending| *pending) {
        for index in first..pending.len() {
            if !std::mem::take(&mut pending[index]) {
                continue;
            }
            let Some(state) = entries[index].clone() else { continue };
            flow(body, sections, BlockId(index as u32), state, &mut edges);
            for Edge { target, exceptional, state } in edges.drain(..) {
                let block = body.block(target);
                let from = Predecessor { block: BlockId(index as u32), exceptional };
                let Some(position) = block.predecessors.iter().position(|known| *known == from) else { continue };
                let slot = &mut incoming[target.index()][position];
                if slot.as_ref() == Some(&state) {
                    continue;
                }
                *slot = Some(state);
                let mut joined = join(body, target, block, &incoming[target.index()]);
                let entry = &mut entries[target.index()];
                let visits = &mut visits[target.index()];
                *visits += 1;
                if *visits > MAX_VISITS {
                    joined = joined.without_tests(entry.as_ref());
                }
                if entry.as_ref() != Some(&joined) {
                    *entry = Some(joined);
                    pending[target.index()] = true;
                }
            }
        }
    }
    entries
}

/// A state on its way to another block.
pub(super) struct Edge {
    pub(super) target: BlockId,
    exceptional: bool,
    pub(super) state: State,
}

/// What a block hands to those that follow it, one state for each edge.
pub(super) fn flow(body: &Body, sections: &Sections, id: BlockId, mut state: State, edges: &mut Vec<Edge>) {
    let block = body.block(id);
    let mut last = None;
    let mut thrown: Option<State> = None;
    for (value, instruction) in body.instructions_of(id) {
        // A call that gives a lock back has done so, also if it throws: what follows is no second section.
        let releases = matches!(sections.events[value.index()], Event::Exit(..));
        if !block.handlers.is_empty() && can_throw(&instruction.op) && !releases {
            thrown = Some(match thrown {
                Some(before) if before.held == state.held => before,
                Some(before) => join_same_edge(&before, &state),
                None => state.clone(),
            });
        }
        state.step(sections, body, value);
        last = Some(value);
    }
    if let Some(thrown) = thrown {
        let handlers = block.handlers.iter();
        edges.extend(handlers.map(|target| Edge { target: *target, exceptional: true, state: thrown.clone() }));
    }
    for (number, target) in block.successors.iter().enumerate() {
        let mut state = state.clone();
        if let Some(last) = last {
            state.decide(body, last, number);
        }
        match edges.iter_mut().find(|edge| edge.target == *target && !edge.exceptional) {
            Some(edge) => edge.state = join_same_edge(&edge.state, &state),
            None => edges.push(Edge { target: *target, exceptional: false, state }),
        }
    }
}

impl State {
    pub(super) fn step(&mut self, sections: &Sections, body: &Body, value: Value) {
        // In a loop the register gets a new value: what was known of the old one is of no use. Phis got theirs on the
        // way into the block.
        if !matches!(body.op(value), Op::Phi(_)) {
            self.forget(|known| known == value);
        }
        match &sections.events[value.index()] {
            Event::None | Event::Wait(..) => {}
            Event::Enter(section) => {
                let test = made_by(body, value).map(|value| Test { value, when: true });
                self.enter(Held { section: *section, certain: true, test });
            }
            Event::EnterWith(section) => {
                let test = Some(Test { value, when: true });
                self.enter(Held { section: *section, certain: true, test });
            }
            Event::TryEnter(section) => {
                let test = Some(Test { value, when: true });
                self.enter(Held { section: *section, certain: false, test });
            }
            Event::EnterUnless(section) => {
                let test = Some(Test { value, when: false });
                self.enter(Held { section: *section, certain: false, test });
            }
            Event::Convert(section) => {
                let lock = &sections.get(*section).lock;
                for held in &mut self.held {
                    let open = sections.get(held.section);
                    if open.lock_kind() == sections.get(*section).lock_kind() && open.lock.same(lock) {
                        held.certain = false;
                        held.test = Some(Test { value, when: false });
                    }
                }
                let test = Some(Test { value, when: true });
                self.enter(Held { section: *section, certain: false, test });
            }
            Event::Exit(_) | Event::Validate(_) => {
                let closed = sections.closed_by(body, value, &self.held);
                self.held.retain(|held| !closed.contains(&held.section));
            }
        }
    }

    fn enter(&mut self, entered: Held) {
        self.held.retain(|held| held.section != entered.section);
        self.held.push(entered);
    }

    fn forget(&mut self, is_gone: impl Fn(Value) -> bool) {
        self.known.retain(|(known, _)| !is_gone(*known));
        for held in &mut self.held {
            held.test = held.test.filter(|test| !is_gone(test.value));
        }
    }

    /// Learns from the edge that a branch takes.
    fn decide(&mut self, body: &Body, branch: Value, edge: usize) {
        let Op::Branch { condition, against: Against::Zero | Against::Null, left, .. } = *body.op(branch) else {
            return;
        };
        let taken_if_true = match condition {
            Condition::NotEqual => true,
            Condition::Equal => false,
            _ => return,
        };
        // A long is compared first.
        let value = match *body.op(left) {
            Op::Compare(left, right) if truth_of_constant(body, right) == Some(false) => left,
            _ => left,
        };
        let is_true = (edge == 0) == taken_if_true;
        self.held.retain(|held| match held.test {
            Some(test) if test.value == value => {
                held.certain |= is_true == test.when;
                is_true == test.when
            }
            _ => true,
        });
        self.known.retain(|(known, _)| *known != value);
        if self.known.len() == MAX_KNOWN {
            self.known.remove(0);
        }
        self.known.push((value, is_true));
    }

    /// Whether a value is true here, if that is known.
    fn truth(&self, body: &Body, value: Value) -> Option<bool> {
        let known = self.known.iter().find(|(known, _)| *known == value).map(|(_, truth)| *truth);
        known.or_else(|| truth_of_constant(body, value))
    }

    fn get(&self, section: SectionId) -> Option<&Held> {
        self.held.iter().find(|held| held.section == section)
    }

    /// Everything that was held before or is now, with no hope of telling when.
    fn without_tests(mut self, before: Option<&State>) -> State {
        self.known.clear();
        if let Some(before) = before {
            for held in &mut self.held {
                held.certain &= before.get(held.section).is_none_or(|before| before.certain);
            }
            let lost = before.held.iter().filter(|held| self.get(held.section).is_none());
            let lost: SmallVec<[Held; 4]> = lost.map(|held| Held { certain: false, ..*held }).collect();
            self.held.extend(lost);
        }
        for held in &mut self.held {
            held.test = None;
        }
        self
    }
}

/// Whether a constant is not 0 and not null; `None` if it is no constant, or a new object.
fn truth_of_constant(body: &Body, value: Value) -> Option<bool> {
    match *body.op(body.without_casts(value)) {
        Op::Constant(Constant::Int(value)) => Some(value != 0),
        Op::Constant(Constant::Long(value)) => Some(value != 0),
        Op::Constant(Constant::Null) => Some(false),
        Op::Constant(Constant::String(_) | Constant::Class(_)) | Op::New(_) | Op::NewArray { .. } => Some(true),
        _ => None,
    }
}

/// The new object that a call makes ready: compilers ask whether it is null before they close it.
fn made_by(body: &Body, call: Value) -> Option<Value> {
    let Op::Call { arguments, .. } = *body.op(call) else { return None };
    let made = *body.operands(arguments).first()?;
    matches!(body.op(made), Op::New(_)).then_some(made)
}

/// Two states that reach a block over one edge, where no phi tells them apart.
fn join_same_edge(a: &State, b: &State) -> State {
    let mut joined = State::default();
    joined.known.extend(a.known.iter().filter(|known| b.known.contains(known)).copied());
    for held in &a.held {
        let test = match b.get(held.section) {
            Some(other) if held.test == other.test => held.test,
            _ => None,
        };
        let certain = held.certain && b.get(held.section).is_some_and(|other| other.certain);
        joined.held.push(Held { section: held.section, certain, test });
    }
    for held in &b.held {
        if a.get(held.section).is_none() {
            joined.held.push(Held { certain: false, test: None, ..*held });
        }
    }
    joined
}

/// The state where a block starts, from those of its predecessors that have been reached.
fn join(body: &Body, id: BlockId, block: &Block, incoming: &[Option<State>]) -> State {
    let phis: SmallVec<[(Value, &[Value]); 4]> = body
        .instructions_of(id)
        .map_while(|(value, instruction)| match instruction.op {
            Op::Phi(operands) => Some((value, body.operands(operands))),
            _ => None,
        })
        .collect();
    // What was known of this block's own phis was known of an earlier round.
    let is_phi = |value: Value| phis.iter().any(|(phi, _)| *phi == value);
    let reached: SmallVec<[(usize, State); 4]> =
        incoming.iter().enumerate().filter_map(|(position, state)| Some((position, state.clone()?))).collect();
    debug_assert_eq!(incoming.len(), block.predecessors.len());
    let mut joined = State::default();
    let Some(((_, first), others)) = reached.split_first() else { return joined };
    for known in &first.known {
        if !is_phi(known.0) && others.iter().all(|(_, state)| state.known.contains(known)) {
            joined.known.push(*known);
        }
    }
    for (phi, operands) in &phis {
        let truth = |(position, state): &(usize, State)| state.truth(body, operands[*position]);
        let first = truth(&reached[0]);
        if let Some(truth_of_all) = first
            && reached.iter().all(|edge| truth(edge) == first)
        {
            joined.known.push((*phi, truth_of_all));
        }
    }
    for (_, state) in &reached {
        for held in &state.held {
            if joined.get(held.section).is_none() {
                let certain = reached.iter().all(|(_, state)| state.get(held.section).is_some_and(|held| held.certain));
                joined.held.push(Held { section: held.section, certain, test: None });
            }
        }
    }
    for held in &mut joined.held {
        held.test = find_test(body, held.section, &reached, &phis);
    }
    joined
}

/// A value that tells on every edge whether a section is open.
fn find_test(body: &Body, section: SectionId, reached: &[(usize, State)], phis: &[(Value, &[Value])]) -> Option<Test> {
    let is_phi = |value: Value| phis.iter().any(|(phi, _)| *phi == value);
    // What a candidate is called on an edge.
    // What is open on every edge is told by nothing that merely happens to be so on all that were reached by now.
    let is_certain = reached.iter().all(|(_, state)| state.get(section).is_some_and(|held| held.certain));
    let tells = |value_on: &dyn Fn(usize) -> Value, when: bool| {
        reached.iter().all(|(position, state)| {
            let value = value_on(*position);
            let truth = state.truth(body, value);
            match state.get(section) {
                None => truth == Some(!when),
                Some(held) => {
                    let is_known = !is_certain && held.certain && truth == Some(when);
                    held.test == Some(Test { value, when }) || is_known
                }
            }
        })
    };
    for (phi, operands) in phis {
        for when in [true, false] {
            if tells(&|position| operands[position], when) {
                return Some(Test { value: *phi, when });
            }
        }
    }
    for (_, state) in reached {
        let tests = state.get(section).and_then(|held| held.test).into_iter();
        let known = state.known.iter().flat_map(|(value, _)| [true, false].map(|when| Test { value: *value, when }));
        let mut candidates = tests.chain(known).filter(|test| !is_phi(test.value));
        if let Some(test) = candidates.find(|test| tells(&|_| test.value, test.when)) {
            return Some(test);
        }
    }
    None
}
