//! Where two values of a method come together: in one computation, one comparison, one decision, one object.
//!
//! Found on demand, since few methods are ever asked. A phi is no meeting: it has one value or the other. Text is a meeting
//! of its own kind: most of it is told to people, and nobody decides by it.

use classfile::CallKind;
use location::MethodName;
use smallvec::SmallVec;

use super::build::Building;
use super::flow::Flow;
use super::{EventId, Sources};
use crate::ir::{BlockId, Body, Dynamic, Op, Value};
use crate::path::Paths;
use crate::section::Sections;
use crate::{ControlDependence, Program};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MeetingKind {
    /// Something is computed from both.
    Computed,
    /// A branch compares them, or two branches decide the same: `a() && b()`.
    Decided,
    /// One decides what becomes of the other, which is for those to find who ask.
    Steered,
    /// Both are put into one object that is made here.
    Object,
    /// Both are put into one text.
    Text,
    /// Both are arguments of this call, or what this lambda captures. Whether they meet there is for its code to say.
    Arguments(EventId),
}

/// A place where values come together: one list of sources for each side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meeting {
    pub kind: MeetingKind,
    pub pc: u32,
    pub line: Option<u32>,
    pub sides: SmallVec<[Sources; 2]>,
}

/// The meetings of one method, in the order of code.
pub fn meetings(program: &Program, body: &Body) -> Vec<Meeting> {
    let sections = Sections::of(body, program);
    let paths = Paths::new(body, program);
    let building = Building::new(program, body, &sections, &paths);
    let (places, _, _) = building.places(&|_| true);
    let flow = Flow::compute(&places);
    let finding = Finding { body, sources: |value, at: Value| flow.of([value], at) };
    let mut found = Vec::new();
    for (value, instruction) in body.instructions() {
        match instruction.op {
            Op::Arithmetic(_, left, right) | Op::Compare(left, right) => {
                found.extend(finding.meeting(MeetingKind::Computed, value, &[left, right]));
            }
            // A place in an array that may be another one by now.
            Op::ArrayLoad { array, index, .. } => {
                found.extend(finding.meeting(MeetingKind::Computed, value, &[array, index]));
            }
            Op::Branch { left, right: Some(right), .. } => {
                found.extend(finding.meeting(MeetingKind::Decided, value, &[left, right]));
            }
            Op::NewArray { .. } if finding.is_for_text(program, value) => {
                found.extend(finding.meeting(MeetingKind::Text, value, &finding.parts(value, &places)));
            }
            Op::CallDynamic { dynamic, arguments } if is_concatenation(program, body.dynamic(dynamic)) => {
                found.extend(finding.meeting(MeetingKind::Text, value, body.operands(arguments)));
            }
            Op::New(_) | Op::NewArray { .. } => {
                found.extend(finding.meeting(MeetingKind::Object, value, &finding.parts(value, &places)));
            }
            Op::Call { arguments, .. } | Op::CallDynamic { arguments, .. } => {
                if let Some(event) = places.event[value.index()] {
                    let arguments = body.operands(arguments);
                    found.extend(finding.meeting(MeetingKind::Arguments(event), value, arguments));
                }
            }
            _ => {}
        }
    }
    finding.joint_decisions(&mut found);
    finding.told(program, &places, &mut found);
    found
}

/// A place where something is worked out from values: a number, a text, another type.
pub(crate) struct Computation {
    pub(crate) line: Option<u32>,
    pub(crate) block: u32,
    pub(crate) pc: u32,
    pub(crate) sources: Sources,
}

/// The computations of one method, in the order of code.
pub(crate) fn computations(program: &Program, body: &Body) -> Vec<Computation> {
    let sections = Sections::of(body, program);
    let paths = Paths::new(body, program);
    let building = Building::new(program, body, &sections, &paths);
    let (places, _, _) = building.places(&|_| true);
    let flow = Flow::compute(&places);
    let computation = |(value, instruction): (Value, &crate::ir::Instruction)| {
        let is_computed = match instruction.op {
            Op::Arithmetic(..)
            | Op::Negate(_)
            | Op::Compare(..)
            | Op::Convert(_)
            | Op::Cast(..)
            | Op::InstanceOf(..)
            | Op::ArrayLength(_)
            | Op::NewArray { .. } => true,
            Op::CallDynamic { dynamic, .. } => body.dynamic(dynamic).lambda.is_none(),
            _ => false,
        };
        let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
        body.for_each_operand(&instruction.op, |operand| operands.push(operand));
        let sources = if is_computed { flow.of(operands, value) } else { Sources::new() };
        let (pc, block) = (instruction.pc, body.block_of(value).index() as u32);
        (!sources.is_empty()).then(|| Computation { line: body.line(pc), block, pc, sources })
    };
    body.instructions().filter_map(|(value, instruction)| computation((value, instruction))).collect()
}

/// What an object is told, each with where.
type Parts = Vec<(Value, Value)>;

struct Finding<'f, S> {
    body: &'f Body,
    /// Where a value comes from, as it is seen at an instruction.
    sources: S,
}

impl<S: Fn(Value, Value) -> Sources> Finding<'_, S> {
    fn meeting(&self, kind: MeetingKind, at: Value, values: &[Value]) -> Option<Meeting> {
        let keeps_empty = matches!(kind, MeetingKind::Arguments(_));
        let sides: SmallVec<[Sources; 2]> = values
            .iter()
            .map(|value| (self.sources)(*value, at))
            .filter(|side| keeps_empty || !side.is_empty())
            .collect();
        if sides.iter().filter(|side| !side.is_empty()).count() < if keeps_empty { 1 } else { 2 } {
            return None;
        }
        let pc = self.body.instruction(at).pc;
        Some(Meeting { kind, pc, line: self.body.line(pc), sides })
    }

    /// Whether an array only carries what goes into a text: `String.format("%s:%d", host, port)`.
    fn is_for_text(&self, program: &Program, array: Value) -> bool {
        let mut users = self.body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::Call { method, arguments, .. } if self.body.operands(arguments).contains(&array) => Some(method),
            _ => None,
        });
        let is_text = |method: MethodName| {
            matches!(program.names.text(method.name), "format" | "formatted" | "printf")
                && program.names.text(method.class.0).starts_with("java/")
        };
        users.next().is_some_and(is_text) && users.all(is_text)
    }

    /// What is put into an object where it is made: arguments of its constructor, its first fields or elements.
    fn parts(&self, object: Value, places: &super::flow::Places<'_>) -> Vec<Value> {
        let mut parts = Vec::new();
        for (_, instruction) in self.body.instructions() {
            match instruction.op {
                Op::PutField { base, value, .. } if base == object => parts.push(value),
                Op::ArrayStore { array, value, .. } if array == object => parts.push(value),
                Op::Call { method, arguments, .. } if method.name == places.constructor => {
                    if let [made, given @ ..] = self.body.operands(arguments)
                        && *made == object
                    {
                        parts.extend_from_slice(given);
                    }
                }
                _ => {}
            }
        }
        parts
    }

    /// What an object is told bit by bit by whoever has just made it, `builder.host(a).port(b)`; and what is put into a new
    /// container. Objects of the library are told something by setters, and in builders, which hold what they were made
    /// with, too. A text is written bit by bit the same way.
    fn told(&self, program: &Program, places: &super::flow::Places<'_>, found: &mut Vec<Meeting>) {
        let mut objects: Vec<(Value, MeetingKind, Parts)> = Vec::new();
        for (at, instruction) in self.body.instructions() {
            let Op::Call { kind, method, arguments } = instruction.op else { continue };
            let operands = self.body.operands(arguments);
            let [object, .., part] = *operands else { continue };
            let is_telling = kind != CallKind::Static
                && operands.len() == 2
                && method.name != places.constructor
                && (yields(program, method) == "V" || is_passed_on(program, method));
            let object = self.told_object(program, object);
            let (is_made, is_given) = match self.body.op(object) {
                Op::New(_) => (true, false),
                Op::Call { kind, .. } => (false, *kind == CallKind::Static),
                _ => (false, false),
            };
            let is_own = program.class(method.class).is_some_and(|class| program.is_checked(class));
            let is_builder = is_given && is_builder(program, method);
            let is_set = is_made && program.names.text(method.name).starts_with("set") && !is_text(program, method);
            let is_told = is_telling && is_own && (is_made || is_given);
            let is_kept = is_made && is_put(program, method);
            let is_written = is_made && writes_text(program, method);
            if !(is_told || is_kept || is_builder || is_written || is_telling && is_set) {
                continue;
            }
            let kind = if is_written { MeetingKind::Text } else { MeetingKind::Object };
            match objects.iter_mut().find(|(known, ..)| *known == object) {
                Some((_, _, parts)) => parts.push((at, part)),
                None => {
                    let made_with: &[Value] = match *self.body.op(object) {
                        Op::Call { arguments, .. } if is_builder => self.body.operands(arguments),
                        _ => &[],
                    };
                    let parts = made_with.iter().map(|given| (object, *given)).chain([(at, part)]);
                    objects.push((object, kind, parts.collect()));
                }
            }
        }
        for (_, kind, parts) in objects {
            let sides: SmallVec<[Sources; 2]> =
                parts.iter().map(|(at, part)| (self.sources)(*part, *at)).filter(|side| !side.is_empty()).collect();
            if let (Some((last, _)), true) = (parts.last(), sides.len() > 1) {
                let pc = self.body.instruction(*last).pc;
                found.push(Meeting { kind, pc, line: self.body.line(pc), sides });
            }
        }
    }

    /// The object that is told something, behind calls that yield it again.
    fn told_object(&self, program: &Program, object: Value) -> Value {
        let mut object = self.body.without_casts(object);
        while let Op::Call { kind, method, arguments } = *self.body.op(object)
            && kind != CallKind::Static
            && is_passed_on(program, method)
            && let Some(receiver) = self.body.operands(arguments).first()
        {
            object = self.body.without_casts(*receiver);
        }
        object
    }

    /// `a() && b()`: two branches, the second of which runs by decision of the first, with a way out in common.
    fn joint_decisions(&self, found: &mut Vec<Meeting>) {
        let control = ControlDependence::of(self.body);
        for (block, edges) in self.body.blocks() {
            let Some(last) = self.body.terminator(block) else { continue };
            let Op::Branch { left, right, .. } = *self.body.op(last) else { continue };
            for dependence in control.of_block(block) {
                let earlier: BlockId = dependence.branch;
                if earlier == block || earlier.index() > block.index() {
                    continue;
                }
                let Some(first) = self.body.terminator(earlier) else { continue };
                let Op::Branch { left: first_left, right: first_right, .. } = *self.body.op(first) else { continue };
                let shares = |successor: &BlockId| self.body.block(earlier).successors.contains(successor);
                if !edges.successors.iter().any(shares) {
                    continue;
                }
                let side = |at: Value, values: [Option<Value>; 2]| {
                    let mut all = Sources::new();
                    for value in values.into_iter().flatten() {
                        for source in (self.sources)(value, at) {
                            super::flow::add(&mut all, source);
                        }
                    }
                    all
                };
                let sides = [side(first, [Some(first_left), first_right]), side(last, [Some(left), right])];
                if sides.iter().all(|side| !side.is_empty()) {
                    let pc = self.body.instruction(last).pc;
                    let line = self.body.line(pc);
                    found.push(Meeting { kind: MeetingKind::Decided, pc, line, sides: sides.into_iter().collect() });
                }
            }
        }
    }
}

/// What a method yields, by its descriptor.
fn yields(program: &Program, method: MethodName) -> &str {
    program.names.text(method.descriptor).rsplit(')').next().unwrap_or_default()
}

/// Whether a method puts its last argument into a container of the library.
fn is_put(program: &Program, method: MethodName) -> bool {
    program.names.text(method.class.0).starts_with("java/util/")
        && matches!(
            program.names.text(method.name),
            "add" | "addFirst" | "addLast" | "offer" | "push" | "put" | "setProperty"
        )
}

/// Whether a method is one of a builder that yields it again.
fn is_builder(program: &Program, method: MethodName) -> bool {
    program.names.text(method.class.0).ends_with("Builder")
        && !is_text(program, method)
        && is_passed_on(program, method)
}

/// Whether a dynamic call puts a text together: `a + b`.
fn is_concatenation(program: &Program, dynamic: &Dynamic) -> bool {
    program.names.text(dynamic.name).starts_with("makeConcat")
}

/// Whether a method is one of what only puts text together.
fn is_text(program: &Program, method: MethodName) -> bool {
    matches!(program.names.text(method.class.0), "java/lang/StringBuilder" | "java/lang/StringBuffer")
}

/// Whether a method puts its argument into a text, which the constructor does, too, unless it is only told how long the
/// text may be: compilers begin with it.
fn writes_text(program: &Program, method: MethodName) -> bool {
    is_text(program, method)
        && match program.names.text(method.name) {
            "append" => true,
            "<init>" => program.names.text(method.descriptor) != "(I)V",
            _ => false,
        }
}

/// Whether a method yields an object of its own class, as those do that can be called one after the other.
fn is_passed_on(program: &Program, method: MethodName) -> bool {
    let class = yields(program, method).strip_prefix('L').and_then(|class| class.strip_suffix(';'));
    class == Some(program.names.text(method.class.0))
}
