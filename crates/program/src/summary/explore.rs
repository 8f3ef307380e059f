//! Where two values that a method deals with come together, followed into callees; on demand.

use location::MethodName;

use super::compose::{Compose, Composing};
use super::influences::{Gathering, Sets};
use super::{AccessId, Influences, Root, Spot, Summaries, Summary};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::model::{Access, Product, Returns, State};
use crate::outline::{Action, Argument, EventId, MeetingKind, Member, Object, Outline, SectionSet, Start, meetings};
use crate::variable::Variable;

/// Calls further down than this are not asked.
const MAX_DEPTH: usize = 3;

/// Where two values come together, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Met {
    pub spot: Spot,
    /// Never [`MeetingKind::Arguments`].
    pub kind: MeetingKind,
}

impl Summaries {
    /// Where what two accesses of a method's summary read comes together, if it does: in one computation, decision or
    /// object. The first such place in the order of code.
    pub fn meeting(
        &self,
        program: &Program,
        calls: &Calls,
        method: MethodId,
        first: AccessId,
        second: AccessId,
    ) -> Option<Met> {
        let asking = Asking { program, calls, summaries: self };
        asking.meeting(method, Root::Access(first), Root::Access(second), MAX_DEPTH)
    }
}

impl Summaries {
    /// The meetings in a method's own code, and where each side comes from.
    pub(crate) fn meetings(&self, program: &Program, calls: &Calls, method: MethodId) -> Vec<(Spot, Vec<Influences>)> {
        let (Some(outline), Ok(Some(body))) = (self.outline(method), program.body(method)) else { return Vec::new() };
        let known = |method: MethodId| self.summary(method);
        let component = [method];
        let compose = Compose { program, calls, holdings: &self.holdings, component: &component, extent: self.extent };
        let composing = compose.composed(method, outline, &known, Sets::default());
        let own = meetings(program, &body).into_iter();
        let told = own.filter(|meeting| !matches!(meeting.kind, MeetingKind::Arguments(_) | MeetingKind::Text));
        let name = program.method_name(method);
        told.map(|meeting| {
            let spot = Spot { method: name, pc: meeting.pc, line: meeting.line };
            (spot, meeting.sides.iter().map(|side| composing.influences(side)).collect())
        })
        .collect()
    }
}

struct Asking<'a> {
    program: &'a Program,
    calls: &'a Calls,
    summaries: &'a Summaries,
}

impl Asking<'_> {
    fn meeting(&self, method: MethodId, first: Root, second: Root, depth: usize) -> Option<Met> {
        let outline = self.summaries.outline(method)?;
        let summary = self.summaries.summary(method)?;
        let body = self.program.body(method).ok()??;
        let known = |method: MethodId| self.summaries.summary(method);
        let component = [method];
        let compose = Compose {
            program: self.program,
            calls: self.calls,
            holdings: &self.summaries.holdings,
            component: &component,
            extent: self.summaries.extent,
        };
        let composing = compose.composed(method, outline, &known, Sets::default());
        // A method that calls itself is composed from what was known earlier: the numbers may differ.
        if composing.summary.accesses.len() != summary.accesses.len() {
            return None;
        }
        let name = self.program.method_name(method);
        meetings(self.program, &body).into_iter().find_map(|meeting| {
            let sides: Vec<Influences> = meeting.sides.iter().map(|side| composing.influences(side)).collect();
            let spot = Spot { method: name, pc: meeting.pc, line: meeting.line };
            match meeting.kind {
                MeetingKind::Arguments(event) => {
                    if let Action::Lambda { method, .. } = &outline.events[event.index()].action {
                        return self.in_function(outline, event, *method, &sides, first, second, summary, depth);
                    }
                    let sides = with_contents(&composing, event, sides);
                    self.in_call(&composing, event, &sides, first, second, summary, spot, depth)
                }
                kind => {
                    let is_one = meet(&sides, first, second)
                        && (kind != MeetingKind::Text || self.is_kept(method, first, second, MAX_DEPTH));
                    is_one.then_some(Met { spot, kind })
                }
            }
        })
    }

    /// Whether something that two values came to is kept, looked up by or decides what is written, and not only told: where
    /// it is made, or by who gets it from there.
    fn is_kept(&self, method: MethodId, first: Root, second: Root, depth: usize) -> bool {
        let Some(summary) = self.summaries.summary(method) else { return false };
        let has = |influences: &Influences| {
            [first, second].iter().all(|root| influences.iter().any(|influence| influence.root == *root))
        };
        let keeps = |access: &super::Access| {
            let is_known = !matches!(access.base.start, Start::New(_) | Start::Unknown);
            // What goes into a stream is told, too.
            let is_stream = || {
                Variable::of(self.program, access).is_some_and(|variable| {
                    let descriptor = self.program.field(variable.field()).descriptor;
                    self.program.names.text(descriptor).starts_with("Ljava/io/")
                })
            };
            let is_for_threads = match access.member {
                Member::Field(_) | Member::Static(_) | Member::Elements => true,
                Member::State(state) => matches!(state, State::Contents | State::Value) && !is_stream(),
            };
            is_known
                && is_for_threads
                && (access.is_write && (has(&access.value) || has(&access.control))
                    || access.is_keyed && has(&access.address))
        };
        let is_handed_on = || {
            self.calls.callers(method).iter().any(|caller| {
                self.above(summary, *caller, first, second)
                    .into_iter()
                    .any(|(first, second)| self.is_kept(*caller, first, second, depth - 1))
            })
        };
        summary.accesses.iter().any(keeps) || depth > 0 && has(&summary.result) && is_handed_on()
    }

    /// The numbers that two accesses of a method have in the summary of one that calls it, for each call.
    fn above(&self, summary: &Summary, caller: MethodId, first: Root, second: Root) -> Vec<(Root, Root)> {
        let (Root::Access(first), Root::Access(second)) = (first, second) else { return Vec::new() };
        let Some(there) = self.summaries.summary(caller) else { return Vec::new() };
        let like = |own: AccessId| {
            let own = &summary.accesses[own.index()];
            let is_it = move |access: &super::Access| {
                access.spot == own.spot && access.member == own.member && access.is_write == own.is_write
            };
            there.accesses.iter().enumerate().filter(move |(_, access)| is_it(access))
        };
        let mut found = Vec::new();
        for (one, access) in like(first) {
            let same = like(second).filter(|(_, other)| other.event == access.event);
            found.extend(same.map(|(other, _)| (root(one), root(other))));
        }
        found
    }

    /// Where the code of a lambda brings together what it has captured, or one such value and what it reads itself.
    #[allow(clippy::too_many_arguments, reason = "one lambda has that many sides")]
    fn in_function(
        &self,
        outline: &Outline,
        lambda: EventId,
        code: MethodName,
        sides: &[Influences],
        first: Root,
        second: Root,
        summary: &Summary,
        depth: usize,
    ) -> Option<Met> {
        // What runs it has read what it reads.
        let is_run_by = |event: EventId| match &outline.events[event.index()].action {
            Action::Call { arguments, .. } => {
                arguments.iter().any(|argument| argument.objects.contains(&Object::Event(lambda)))
            }
            _ => false,
        };
        let targets = self.calls.lambda_targets(self.program, code);
        targets.known().iter().filter(|_| depth > 0).find_map(|target| {
            let callee = self.summaries.summary(*target)?;
            let roots = |root: Root| -> Vec<Root> {
                let has = |side: &Influences| side.iter().any(|influence| influence.root == root);
                let captured = (0..sides.len()).filter(|side| has(&sides[*side]));
                let own = match root {
                    Root::Access(access) if is_run_by(summary.accesses[access.index()].event) => {
                        in_callee(summary, callee, access).map(Root::Access)
                    }
                    _ => None,
                };
                captured.map(|side| Root::Parameter(side as u16)).chain(own).collect()
            };
            let (first, second) = (roots(first), roots(second));
            let mut pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b)));
            // Both from inside is its own business.
            let is_new = |a: Root, b: Root| a != b && [a, b].iter().any(|root| matches!(root, Root::Parameter(_)));
            pairs.find_map(|(a, b)| is_new(a, b).then(|| self.meeting(*target, a, b, depth - 1)).flatten())
        })
    }

    #[allow(clippy::too_many_arguments, reason = "one call has that many sides")]
    fn in_call(
        &self,
        composing: &Composing<'_, '_>,
        event: EventId,
        sides: &[Influences],
        first: Root,
        second: Root,
        summary: &Summary,
        spot: Spot,
        depth: usize,
    ) -> Option<Met> {
        let Action::Call { kind, method, arguments } = &composing.outline.events[event.index()].action else {
            return None;
        };
        // What the call itself reads can meet what it is given.
        let inside = |root: Root| match root {
            Root::Access(access) if summary.accesses[access.index()].event == event => Some(access),
            _ => None,
        };
        let given = |root: Root| -> Vec<usize> {
            (0..sides.len()).filter(|side| sides[*side].iter().any(|influence| influence.root == root)).collect()
        };
        let (first_given, second_given) = (given(first), given(second));
        let is_possible = (!first_given.is_empty() || inside(first).is_some())
            && (!second_given.is_empty() || inside(second).is_some());
        if !is_possible {
            return None;
        }
        let targets = self.calls.targets(self.program, *kind, *method);
        let mut is_known = false;
        for target in targets.known() {
            let Some(callee) = self.summaries.summary(*target) else { continue };
            is_known = true;
            if depth == 0 {
                continue;
            }
            let roots = |positions: &[usize], access: Option<AccessId>| -> Vec<Root> {
                let own = access.and_then(|access| in_callee(summary, callee, access)).map(Root::Access);
                // What is not its own is what a function reads that it was given.
                let lent = access.filter(|_| own.is_none());
                let lent = lent.map(|access| self.lending(composing.outline, arguments, summary, access));
                let positions = positions.iter().copied().chain(lent.unwrap_or_default());
                positions.map(|position| Root::Parameter(position as u16)).chain(own).collect()
            };
            for a in roots(&first_given, inside(first)) {
                for b in roots(&second_given, inside(second)) {
                    // Both from inside is the callee's own business.
                    let is_new = matches!(a, Root::Parameter(_)) || matches!(b, Root::Parameter(_));
                    if is_new
                        && a != b
                        && let Some(met) = self.meeting(*target, a, b, depth - 1)
                    {
                        return Some(met);
                    }
                }
            }
        }
        let touched = |root: Root, given: &[usize]| -> Vec<usize> {
            let own = inside(root).map(|access| &summary.accesses[access.index()].base);
            let is_it = |argument: &Argument| own.is_some_and(|own| composing.settle(&argument.name).same(own));
            (0..arguments.len()).filter(|at| given.contains(at) || is_it(&arguments[*at])).collect()
        };
        let compares = || {
            let (first, second) = (touched(first, &first_given), touched(second, &second_given));
            self.compares(composing, *method, arguments, &first, &second)
        };
        // What the functions of a stream have read, and what the stream goes over, which its last call reads.
        let is_streamed = || {
            let asked = |root: Root| match root {
                Root::Access(read) => {
                    let asking = summary.accesses[read.index()].event;
                    asking != event && composing.is_stream(asking)
                }
                Root::Parameter(_) => false,
            };
            let goes_over = |root: Root| inside(root).is_some() && touched(root, &[]).contains(&0);
            let is_one = |one: Root, given: &[usize], other: Root| given.contains(&0) && asked(one) && goes_over(other);
            composing.is_stream(event) && (is_one(first, &first_given, second) || is_one(second, &second_given, first))
        };
        let is_computed = !is_known
            && (self.is_computation(composing, *method, arguments, &first_given, &second_given)
                || compares()
                || is_streamed());
        if !is_computed {
            return None;
        }
        Some(Met { spot, kind: MeetingKind::Computed })
    }

    /// The arguments of a call that are functions which make an access.
    fn lending(&self, outline: &Outline, arguments: &[Argument], summary: &Summary, access: AccessId) -> Vec<usize> {
        let makes = |target: &MethodId| {
            self.summaries.summary(*target).is_some_and(|function| in_callee(summary, function, access).is_some())
        };
        let is_it = |object: &Object| match object {
            Object::Event(made) => match &outline.events[made.index()].action {
                Action::Lambda { method, .. } => {
                    self.calls.lambda_targets(self.program, *method).known().iter().any(makes)
                }
                _ => false,
            },
            _ => false,
        };
        (0..arguments.len()).filter(|position| arguments[*position].objects.iter().any(is_it)).collect()
    }

    /// Whether a call of the library holds what one object has against what another one has: `one.equals(other)`.
    fn compares(
        &self,
        composing: &Composing<'_, '_>,
        method: MethodName,
        arguments: &[Argument],
        first: &[usize],
        second: &[usize],
    ) -> bool {
        let receiver = arguments.first().map(|first| composing.holding(first)).unwrap_or_default();
        let model = self.calls.model(self.program, method, receiver.class.unwrap_or(method.class));
        model.is_some_and(|model| model.access == Access::Read && model.key.is_none())
            && returns_number(self.program.names.text(method.descriptor))
            && first.iter().any(|first| second.iter().any(|second| first != second))
    }

    /// Whether a call takes something out of a text, or an array, by a place in it or by how long it is: there has to be such
    /// a place.
    fn is_place_in_text(&self, method: MethodName) -> bool {
        let text = |symbol| self.program.names.text(symbol);
        match text(method.class.0) {
            "java/lang/String" => {
                matches!(text(method.name), "charAt" | "codePointAt" | "substring" | "subSequence")
            }
            "java/util/Arrays" => matches!(text(method.name), "copyOf" | "copyOfRange"),
            _ => false,
        }
    }

    /// Whether a call of the library makes something of two of its arguments, other than text.
    fn is_computation(
        &self,
        composing: &Composing<'_, '_>,
        method: MethodName,
        arguments: &[Argument],
        first: &[usize],
        second: &[usize],
    ) -> bool {
        let descriptor = self.program.names.text(method.descriptor);
        let is_apart = |from: usize| {
            first.iter().any(|first| *first >= from && second.iter().any(|second| *second >= from && second != first))
        };
        let receiver = arguments.first().map(|first| composing.holding(first)).unwrap_or_default();
        let class = receiver.class.unwrap_or(method.class);
        match self.calls.model(self.program, method, class) {
            _ if self.is_place_in_text(method) => is_apart(0),
            Some(model) if model.sink.is_some() || model.state == State::Chars => false,
            // A new container that has both: `List.of(a, b)`.
            Some(model) if model.product == Some(Product::Immutable) && model.access == Access::None => is_apart(0),
            // An object that is reached by one value and told the other holds both from then on, as does a map.
            Some(model) if model.access.writes() => is_apart(1),
            // What one copy has for what the other one names.
            Some(model) if model.key.is_some() && model.access == Access::Read && !returns_number(descriptor) => {
                is_apart(0)
            }
            Some(model) => {
                let is_text = descriptor.ends_with(")Ljava/lang/String;");
                matches!(model.returns, Returns::Computed) && model.access == Access::None && !is_text && is_apart(0)
            }
            // A static method that yields an object makes it of what it is given: `createUnresolved(host, port)`.
            None => {
                let is_static = arguments.len() == composing.parameter_count(method);
                let makes = is_static && descriptor.ends_with(';') && !descriptor.ends_with(")Ljava/lang/String;");
                (returns_number(descriptor) || makes) && is_apart(0)
            }
        }
    }
}

fn root(access: usize) -> Root {
    Root::Access(AccessId(access as u32))
}

/// Where the arguments of a call come from, and what was put into them.
fn with_contents(composing: &Composing<'_, '_>, event: EventId, sides: Vec<Influences>) -> Vec<Influences> {
    let Action::Call { arguments, .. } = &composing.outline.events[event.index()].action else { return sides };
    let both = sides.into_iter().zip(arguments).map(|(side, argument)| {
        let mut all = Gathering::default();
        all.add_all(&side);
        all.add_all(&composing.contents(&argument.name, SectionSet::default()));
        all.finish()
    });
    both.collect()
}

/// Whether a method returns a number or a truth value.
fn returns_number(descriptor: &str) -> bool {
    descriptor
        .rsplit(')')
        .next()
        .is_some_and(|returned| matches!(returned, "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D"))
}

/// Whether one side has the one root and another side the other.
fn meet(sides: &[Influences], first: Root, second: Root) -> bool {
    let has = |side: &Influences, root: Root| side.iter().any(|influence| influence.root == root);
    sides.iter().enumerate().any(|(index, side)| {
        has(side, first) && sides.iter().enumerate().any(|(other, side)| other != index && has(side, second))
    })
}

/// The number that an access of a call has in the callee's own summary.
fn in_callee(summary: &Summary, callee: &Summary, access: AccessId) -> Option<AccessId> {
    let access = &summary.accesses[access.index()];
    let is_it =
        |own: &super::Access| own.spot == access.spot && own.member == access.member && own.is_write == access.is_write;
    callee.accesses.iter().position(is_it).map(|index| AccessId(index as u32))
}
