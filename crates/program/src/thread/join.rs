//! Calls that wait for what was started: where they stand, in helpers that are given it, and in loops that go on as long as
//! it lives.

use classfile::{Against, CallKind, Condition};
use location::MethodName;

use super::handle::{Handle, Root, Step};
use super::site::{Site, is_wait};
use super::task::{At, Finder, MAX_SITES};
use crate::class::MethodId;
use crate::ir::{Op, Value};
use crate::model::{CallModel, OrderKind, Returns};
use crate::outline::{Action, Argument, Event, EventId, Member, Object, Objects, Outline};

/// Helpers that call helpers further than this are not followed.
const MAX_DEPTH: usize = 3;

/// A call that returns when something that was started is over.
#[derive(Clone, Debug)]
pub(super) struct Join {
    pub(super) at: At,
    pub(super) in_loop: bool,
    pub(super) is_executor: bool,
    pub(super) handles: Vec<Handle>,
    /// The call itself waits for all that it is given.
    pub(super) is_whole: bool,
    /// The block where the element of a container is taken that is waited for, if a loop comes by there that takes another
    /// one each time, and waits for it.
    pub(super) of_each: Option<usize>,
    /// Of a question whether it lives: it is over on the way from one of these blocks to the other.
    pub(super) on_way: Option<(usize, usize)>,
    /// So many of the last steps of its handles are others' care: what is called here takes each element there.
    pub(super) done: usize,
}

impl Join {
    /// Whether the site's threads are over when this call returns.
    pub(super) fn is_of(&self, site: &Site) -> bool {
        let starts = if self.is_executor { &site.executors } else { &site.handles };
        starts.iter().any(|handle| {
            self.handles.contains(handle)
                && match handle.root {
                    _ if !self.is_of_one(handle) => self.is_of_all(),
                    // The last one of those that a loop started.
                    Root::Object(..) => self.is_executor || !site.in_loop || self.in_loop,
                    Root::Static(_) | Root::Some(_) => self.is_executor || !site.in_loop,
                }
        })
    }

    /// Whether a handle names one object for each that this call stands for.
    pub(super) fn is_of_one(&self, handle: &Handle) -> bool {
        let own = handle.steps.len().saturating_sub(self.done);
        !handle.steps[..own].contains(&Step::Element)
    }

    /// Whether all elements of a container are waited for.
    pub(super) fn is_of_all(&self) -> bool {
        self.of_each.is_some() || self.is_whole
    }
}

impl<'f> Finder<'f> {
    /// Whether a call asks whether a thread lives.
    pub(super) fn is_question(&self, called: MethodName) -> bool {
        self.program.names.text(called.name) == "isAlive"
            && self.program.names.text(called.class.0) == "java/lang/Thread"
    }

    /// What a call waits for that has this model, here and in helpers that are given it.
    pub(super) fn joins(&self, at: At, event: &Event, model: &CallModel) -> Vec<Join> {
        let Action::Call { method: called, arguments, .. } = &event.action else { return Vec::new() };
        let Some(receiver) = arguments.first() else { return Vec::new() };
        let is_join = is_wait(model);
        let on_way = if !is_join && self.is_question(*called) { self.way_if_not(at, event) } else { None };
        if !is_join && on_way.is_none() {
            return Vec::new();
        }
        let join = Join {
            at,
            in_loop: event.in_loop,
            is_executor: model.orders.is_some_and(|order| order.kind == OrderKind::JoinAll),
            handles: self.given_handles(at.method, &receiver.objects),
            is_whole: is_join
                && (self.is_static_result(at.method, &receiver.objects)
                    || self.is_run_over(at.method, &receiver.objects)),
            of_each: self.of_each(at, event, &receiver.objects, on_way),
            on_way,
            done: 0,
        };
        let mut joins = self.joins_of_callers(&join, &receiver.objects, MAX_DEPTH);
        joins.push(join);
        joins
    }

    /// The calls of a method that surely waits for what it is given: who calls it waits.
    fn joins_of_callers(&self, join: &Join, objects: &Objects, depth: usize) -> Vec<Join> {
        let ([Object::Parameter(position)], Some(depth)) = (objects.as_slice(), depth.checked_sub(1)) else {
            return Vec::new();
        };
        let method = join.at.method;
        if !self.outline(method).is_some_and(|outline| is_on_all_ways(outline, join)) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for caller in self.calls.callers(method).iter().take(MAX_SITES) {
            for (index, event) in self.outline(*caller).into_iter().flat_map(|outline| &outline.events).enumerate() {
                let Action::Call { kind, method: called, arguments } = &event.action else { continue };
                let Some(given) = arguments.get(usize::from(*position)) else { continue };
                if self.program.names.text(called.name) == "<init>"
                    || self.calls.targets(self.program, *kind, *called).known() != [method]
                {
                    continue;
                }
                let at = At { method: *caller, event: EventId(index as u32) };
                let made = Join {
                    at,
                    in_loop: event.in_loop,
                    is_executor: join.is_executor,
                    handles: self.handles(*caller, &given.objects),
                    is_whole: self.is_static_result(*caller, &given.objects)
                        || self.is_run_over(*caller, &given.objects),
                    of_each: self.of_each(at, event, &given.objects, None),
                    on_way: None,
                    done: 0,
                };
                found.extend(self.joins_of_callers(&made, &given.objects, depth));
                found.push(made);
            }
        }
        found
    }

    /// `threads.forEach(thread -> thread.join())`
    pub(super) fn is_run_over(&self, method: MethodId, objects: &Objects) -> bool {
        objects.iter().any(|object| match *object {
            Object::Parameter(position) => !self.run_over(method, position).is_empty(),
            _ => false,
        })
    }

    /// The block where a loop takes one element after the other, each of which is waited for.
    pub(super) fn of_each(
        &self,
        at: At,
        event: &Event,
        objects: &Objects,
        on_way: Option<(usize, usize)>,
    ) -> Option<usize> {
        if !event.in_loop {
            return None;
        }
        let outline = self.outline(at.method)?;
        let block = event.block as usize;
        let taken = match objects.as_slice() {
            [Object::Event(taken)] => *taken,
            // Callers tell where they take it.
            [Object::Parameter(_)] => return None,
            _ => return Some(block).filter(|_| on_way.is_none()),
        };
        let taking = &outline.events[taken.index()];
        let home = self.moved_at(at.method, taking).unwrap_or(taking.block as usize);
        let is_each = outline.blocks.loop_head(&[home, block], None).is_some()
            && !self.is_fixed(at.method, taking)
            // The loop asks again and again about one, and goes on to the next one when that is over.
            && on_way.is_none_or(|(_, over)| {
                home != block && outline.blocks.successors(block).any(|next| {
                    let is_back = || next.block == block || outline.reaches(next.block, block, home);
                    next.block != over && !next.is_exceptional && is_back()
                })
            });
        is_each.then_some(home)
    }

    /// The block where a loop moves on the position of what is taken: `threads[i]` stays the same in a loop inside.
    fn moved_at(&self, method: MethodId, taking: &Event) -> Option<usize> {
        let body = self.program.body(method).ok()??;
        let index = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::ArrayLoad { index, .. } if instruction.pc == taking.pc => Some(index),
            Op::Call { arguments, .. } if instruction.pc == taking.pc => body.operands(arguments).get(1).copied(),
            _ => None,
        })?;
        matches!(body.op(index), Op::Phi(_)).then(|| body.block_of(index).index())
    }

    /// Whether the same element is taken each time: `threads.get(0)`, `threads[0]`.
    fn is_fixed(&self, method: MethodId, taking: &Event) -> bool {
        match &taking.action {
            Action::Call { method: called, arguments, .. } => {
                let is_number = |argument: &Argument| matches!(argument.objects.as_slice(), [Object::Int(_)]);
                let is_left = || self.library.model(*called).is_some_and(|model| model.returns == Returns::FromState);
                arguments.iter().skip(1).any(is_number) && is_left()
            }
            Action::Read { member: Member::Elements, .. } => {
                let Ok(Some(body)) = self.program.body(method) else { return false };
                body.instructions().any(|(_, instruction)| match instruction.op {
                    Op::ArrayLoad { index, .. } => {
                        instruction.pc == taking.pc && matches!(body.op(index), Op::Constant(_))
                    }
                    _ => false,
                })
            }
            _ => false,
        }
    }

    /// Between which blocks control goes if the answer of a call is no.
    fn way_if_not(&self, at: At, event: &Event) -> Option<(usize, usize)> {
        let body = self.program.body(at.method).ok()??;
        let is_call = |value: Value| {
            let asked = body.instruction(value);
            asked.pc == event.pc && matches!(asked.op, Op::Call { kind: CallKind::Virtual, .. })
        };
        body.blocks().find_map(|(block, edges)| {
            let Op::Branch { condition, against: Against::Zero, left, .. } = *body.op(body.terminator(block)?) else {
                return None;
            };
            let successor = match condition {
                Condition::Equal => 0,
                Condition::NotEqual => 1,
                _ => return None,
            };
            let over = edges.successors.get(successor)?;
            (is_call(left) && body.block_of(left) == block).then_some((block.index(), over.index()))
        })
    }
}

/// Whether a method that returns has waited. What a wait throws counts as its end.
fn is_on_all_ways(outline: &Outline, join: &Join) -> bool {
    let block = outline.events[join.at.event.index()].block as usize;
    let mut reached = vec![false; outline.blocks.len()];
    let mut pending = vec![0];
    while let Some(at) = pending.pop() {
        let is_passed = join.on_way.is_none() && at == block;
        if is_passed || std::mem::replace(&mut reached[at], true) {
            continue;
        }
        if outline.blocks.is_return(at) {
            return false;
        }
        pending.extend(
            outline.blocks.successors(at).map(|next| next.block).filter(|next| join.on_way != Some((at, *next))),
        );
    }
    true
}
