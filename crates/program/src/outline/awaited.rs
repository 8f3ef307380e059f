//! Loops that wait or look for something: what comes after them happens only because the answer was yes.
//!
//! Nothing branches around the code behind `while (open) wait();`, and still it relies on what the loop has asked. So does
//! what comes behind `while (!block.hasRoom()) block = next(block);`.

use super::{Action, Event, EventId, Member, Origin, Outline, Sources};
use crate::Program;
use crate::ir::{Body, Op};

/// A condition that the method waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// Its number in [`Outline::conditions`].
    pub condition: u32,
    /// By block: whether control gets there only if it holds.
    pub follows: Vec<bool>,
    /// Whether the method returns only if it holds.
    pub is_returned: bool,
}

pub(super) fn awaited(program: &Program, body: &Body, outline: &Outline, in_cycle: &[bool]) -> Vec<Awaited> {
    let mut found = Vec::new();
    // Most conditions of a loop are asked in one and the same.
    let mut loops: Vec<Vec<bool>> = Vec::new();
    for (number, condition) in outline.conditions.iter().enumerate() {
        let block = condition.block as usize;
        if !in_cycle[block]
            || condition.sources.is_empty()
            || !is_about_one(program, outline, condition.sides.as_deref())
        {
            continue;
        }
        let known = loops.iter().position(|members| members[block]).unwrap_or_else(|| {
            loops.push(members(outline, block));
            loops.len() - 1
        });
        let members = &loops[known];
        let is_exit = outline.blocks.successors(block).any(|next| !next.is_exceptional && !members[next.block]);
        if !is_exit {
            continue;
        }
        let Some(waiting) = waits(program, outline, number as u32, members, &condition.sources) else { continue };
        let follows = follows(outline, block, members);
        let mut returns = body
            .blocks()
            .filter(|(block, _)| body.terminator(*block).is_some_and(|last| matches!(body.op(last), Op::Return(_))));
        // Who asks for something that will do gets an answer, as from any other question, and no promise.
        let is_returned = waiting == Waiting::Pausing && returns.all(|(block, _)| follows[block.index()]);
        found.push(Awaited { condition: number as u32, follows, is_returned });
    }
    found
}

/// Whether a condition is not about whose turn it is, which nobody else can change meanwhile: `while (turn != mine)`.
/// The limit of what is asked may be kept beside it: `while (count == capacity)`, `while (jobs.size() >= capacity)`.
fn is_about_one(program: &Program, outline: &Outline, sides: Option<&[Sources; 2]>) -> bool {
    let Some([left, right]) = sides else { return true };
    // The object that has what is asked.
    let owner = |side: &Sources| match side.as_slice() {
        [one] => match one.origin {
            Origin::Event(event) => match &outline.events[event.index()].action {
                Action::Read { base, .. } => Some(base.clone()),
                Action::Call { method, arguments, .. } => {
                    let is_library = !program.class(method.class).is_some_and(|class| program.is_checked(class));
                    let is_amount = is_library && program.names.text(method.name) == "size";
                    arguments.first().filter(|_| is_amount).map(|container| container.name.owner())
                }
                _ => None,
            },
            Origin::Parameter(_) => None,
        },
        _ => None,
    };
    owner(left).is_some() && owner(left) == owner(right)
}

/// By block: whether it is in a loop with this one.
fn members(outline: &Outline, block: usize) -> Vec<bool> {
    let count = outline.blocks.len();
    let mut after = vec![false; count];
    let mut pending = vec![block];
    while let Some(block) = pending.pop() {
        for next in outline.blocks.successors(block).filter(|next| !next.is_exceptional) {
            if !std::mem::replace(&mut after[next.block], true) {
                pending.push(next.block);
            }
        }
    }
    let mut members = vec![false; count];
    members[block] = after[block];
    let mut has_changed = after[block];
    while has_changed {
        has_changed = false;
        for other in (0..count).rev().filter(|other| after[*other]) {
            if !members[other]
                && outline.blocks.successors(other).any(|next| !next.is_exceptional && members[next.block])
            {
                members[other] = true;
                has_changed = true;
            }
        }
    }
    members
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The same question again, until the answer is another.
    Pausing,
    /// The same question about one thing after the other.
    Looking,
}

/// Whether a loop does nothing but wait or look for something that will do, or waits on a lock.
fn waits(program: &Program, outline: &Outline, condition: u32, members: &[bool], asked: &Sources) -> Option<Waiting> {
    let inside = || outline.events.iter().enumerate().filter(|(_, event)| members[event.block as usize]);
    let is_asked = |id: usize| asked.iter().any(|source| source.origin == Origin::Event(EventId(id as u32)));
    // A step from one thing to the next is no question asked again.
    let is_fixed = |event: &Event| match event.action {
        Action::Read { member: Member::Field(field) | Member::Static(field), .. } => program.is_final_field(field),
        _ => !members[event.block as usize],
    };
    let is_same = |address: &Sources| {
        address.iter().all(|source| match source.origin {
            Origin::Event(event) => is_fixed(&outline.events[event.index()]),
            Origin::Parameter(_) => true,
        })
    };
    let is_wait = |event: &Event| matches!(event.action, Action::Wait(_)) && event.control.contains(&condition);
    let mut has_asked = false;
    for (id, event) in inside() {
        has_asked |= is_asked(id);
        if is_wait(event) {
            return Some(Waiting::Pausing);
        }
    }
    // The next one to ask about.
    let is_next = |id: usize| {
        let origin = Origin::Event(EventId(id as u32));
        inside().filter(|(asked, _)| is_asked(*asked)).any(|(_, event)| match &event.action {
            Action::Call { arguments, .. } => {
                arguments.iter().any(|argument| argument.sources.iter().any(|source| source.origin == origin))
            }
            _ => false,
        })
    };
    let mut waiting = Some(Waiting::Pausing).filter(|_| has_asked);
    for (id, event) in inside() {
        let is_fit = match &event.action {
            Action::Call { method, .. } if is_asked(id) || is_pause(program, *method) => true,
            Action::Call { .. } if is_next(id) => {
                waiting = waiting.map(|_| Waiting::Looking);
                true
            }
            Action::Call { .. } | Action::Write { .. } | Action::Lambda { .. } => false,
            Action::Read { address, .. } => is_same(address),
            Action::Wait(_) => true,
        };
        waiting = waiting.filter(|_| is_fit);
    }
    waiting
}

/// Whether a call only lets time pass.
fn is_pause(program: &Program, method: location::MethodName) -> bool {
    let names = &program.names;
    match names.text(method.class.0) {
        "java/lang/Thread" => matches!(names.text(method.name), "yield" | "sleep" | "onSpinWait"),
        "java/util/concurrent/locks/LockSupport" => names.text(method.name).starts_with("park"),
        "java/util/concurrent/TimeUnit" => names.text(method.name) == "sleep",
        _ => false,
    }
}

/// By block: whether control gets there only by leaving the loop where the condition is asked.
fn follows(outline: &Outline, asked: usize, members: &[bool]) -> Vec<bool> {
    let mut reached = vec![false; outline.blocks.len()];
    let mut pending = vec![0];
    if let Some(entry) = reached.first_mut() {
        *entry = true;
    }
    while let Some(block) = pending.pop() {
        for next in outline.blocks.successors(block) {
            let is_exit = block == asked && !next.is_exceptional && !members[next.block];
            if !is_exit && !std::mem::replace(&mut reached[next.block], true) {
                pending.push(next.block);
            }
        }
    }
    reached.into_iter().map(|is_reached| !is_reached).collect()
}
