//! From a body to its outline.

use std::cell::OnceCell;

use classfile::{CallKind, Constant, HandleKind};
use location::{MethodName, Symbol};
use smallvec::SmallVec;

use super::agree::Agreements;
use super::awaited::awaited;
use super::choices::{Choices, counted, is_boxing};
use super::flow::{Flow, Places};
use super::narrow::narrowed;
use super::objects::objects;
use super::order::Blocks;
use super::waits::Waits;
use super::{
    Action, Argument, Event, EventId, Member, Name, NameStep, Outline, OutlineSection, SectionSet, Shared, Start,
};
use crate::ir::{Body, Dynamic, Op, Value, ValueType};
use crate::keyed;
use crate::lock::LockKind;
use crate::path::{Path, Paths, Root, Step};
use crate::section::{Section, SectionKind, Sections};
use crate::{ControlDependence, Program};

/// Places where paths meet are followed so many times.
const MAX_PHIS: usize = 12;

/// Constants after more instructions than this each count as a text of their own.
const MAX_EARLY: usize = 4096;

/// The outline of one method. `matters` says which called methods deserve an event; others only pass their arguments
/// on to their result.
pub fn outline(program: &Program, body: &Body, matters: impl Fn(MethodName) -> bool) -> Outline {
    let sections = Sections::of(body, program);
    let paths = Paths::new(body, program);
    let building = Building::new(program, body, &sections, &paths);
    let (places, events, perhaps) = building.places(&matters);
    let flow = Flow::compute(&places);
    let conditions = building.conditions(&places, &flow);
    let control = building.control(&conditions);
    let [agreements, differences] = Agreements::both(body, &program.names, &conditions);
    let parameters = body
        .instructions()
        .take_while(|(_, instruction)| matches!(instruction.op, Op::Parameter(_)))
        .map(|(value, _)| body.name(value))
        .collect();
    // Most blocks have several events.
    let decided: Vec<[Shared<u32>; 3]> = (0..control.len())
        .map(|block| {
            let own = control[block].as_slice();
            [own.into(), agreements.of_block(block).into(), differences.of_block(block).into()]
        })
        .collect();
    let mut outline = Outline {
        parameters,
        sections: sections.iter().map(|(_, section)| building.section(section, &places)).collect(),
        conditions: conditions.iter().flatten().cloned().collect(),
        narrowed: narrowed(program, body, &events),
        blocks: Blocks::of(body),
        ..Outline::default()
    };
    let in_cycle = outline.blocks.in_cycle();
    outline.events.reserve_exact(events.len());
    outline.waits = building.waits(&events, &places);
    for (value, perhaps) in events.into_iter().zip(perhaps) {
        let pc = body.instruction(value).pc;
        let block = body.block_of(value).index();
        let waited = building.waited(value, &places, &conditions);
        let [control, agreed, differed] = decided[block].clone();
        outline.events.push(Event {
            pc,
            line: body.line(pc),
            action: building.action(value, &places, &flow),
            held: places.held[value.index()],
            perhaps,
            control,
            agreed,
            differed,
            waited: waited.as_slice().into(),
            block: block as u32,
            in_loop: in_cycle[block],
            key: match *body.op(value) {
                Op::ArrayLoad { index, .. } | Op::ArrayStore { index, .. } => Some(building.key(index, &places)),
                _ => None,
            },
        });
    }
    outline.refusals = building.refusals(&control);
    outline.awaited = awaited(program, body, &outline, &in_cycle);
    outline.caught = building.caught();
    building.results(&mut outline, &places, &flow, &control, &in_cycle);
    outline
}

pub(super) struct Building<'b> {
    pub(super) program: &'b Program,
    pub(super) body: &'b Body,
    pub(super) sections: &'b Sections,
    pub(super) paths: &'b Paths<'b>,
    /// Which branches decide whether a block runs, once somebody has asked.
    pub(super) direct: OnceCell<ControlDependence>,
}

impl<'b> Building<'b> {
    /// Numbers the events, and notes what is held at each register.
    pub(super) fn places(&self, matters: &impl Fn(MethodName) -> bool) -> (Places<'b>, Vec<Value>, Vec<SectionSet>) {
        let count = self.body.value_count();
        let mut places = Places {
            body: self.body,
            event: vec![None; count],
            held: vec![SectionSet::default(); count],
            perhaps: vec![SectionSet::default(); count],
            event_held: Vec::new(),
            constructor: self.program.roots.constructor,
            choices: Choices { program: self.program, body: self.body, counted: counted(self.program, self.body) }
                .all(|| self.direct()),
            waits: Waits::default(),
            ends: Waits::default(),
        };
        let mut events = Vec::new();
        let mut perhaps = Vec::new();
        for (block, _) in self.body.blocks() {
            self.sections.walk(self.body, block, |value, instruction, held| {
                let mut certain = SectionSet::default();
                let mut uncertain = SectionSet::default();
                for held in held {
                    // Taken again while it is held: a part of the section around it.
                    if self.sections.get(held.section).reentrant {
                        continue;
                    }
                    let set = if held.certain { &mut certain } else { &mut uncertain };
                    set.insert(held.section.index());
                }
                let is_wrapper = self.sections.is_wrapper(self.body, self.program, value);
                // What a method that takes a lock does beside that, it does in the section.
                if let Some(section) = self.sections.opened_by(value).filter(|_| is_wrapper) {
                    certain.insert(section.index());
                }
                places.held[value.index()] = certain;
                places.perhaps[value.index()] = uncertain;
                places.ends.add(value, self.sections.closed_by(self.body, value, held));
                let waited = places.waits.add(value, self.sections.waited_by(value, held));
                let is_event = match instruction.op {
                    // What was read in a section is old after it, also where it is locked then.
                    Op::GetField { .. } | Op::GetStatic(_) => !certain.is_empty() || !self.is_lock(value),
                    Op::PutField { .. } | Op::PutStatic { .. } | Op::ArrayLoad { .. } | Op::ArrayStore { .. } => true,
                    Op::Call { method, .. } => {
                        !waited.is_empty()
                            || self.sections.wait(value).is_some()
                            || ((is_wrapper || !self.sections.is_lock_operation(value)) && matters(method))
                    }
                    Op::CallDynamic { dynamic, .. } => self.body.dynamic(dynamic).lambda.is_some(),
                    _ => false,
                };
                if is_event {
                    places.event[value.index()] = Some(EventId(events.len() as u32));
                    places.event_held.push(certain);
                    events.push(value);
                    perhaps.push(uncertain);
                }
            });
        }
        places.ends.keep(&places.perhaps);
        (places, events, perhaps)
    }

    fn waits(&self, events: &[Value], places: &Places<'_>) -> Vec<(EventId, Name, LockKind)> {
        let waits = events.iter().enumerate().filter_map(|(index, value)| {
            let (kind, lock) = self.sections.wait(*value)?;
            Some((EventId(index as u32), self.name(lock, places), kind))
        });
        waits.collect()
    }

    /// Whether a register only holds the lock of some section.
    fn is_lock(&self, value: Value) -> bool {
        self.sections
            .iter()
            .any(|(_, section)| section.objects.iter().any(|object| self.body.without_casts(*object) == value))
    }

    fn section(&self, section: &Section, places: &Places<'_>) -> OutlineSection {
        let pc = section.start.map_or(0, |start| self.body.instruction(start).pc);
        let end = section.ends.iter().map(|end| self.body.instruction(*end).pc).min();
        let line_of = |value: Value| self.body.line(self.body.instruction(value).pc);
        OutlineSection {
            lock: self.name(&section.lock, places),
            objects: match section.lock.root {
                Root::Value(root) => objects(places, root),
                _ => section.objects.first().map(|object| objects(places, *object)).unwrap_or_default(),
            },
            told: self.told_on_ways(section, places),
            keys: match section.lock.steps.last() {
                Some(Step::Element(key)) => self.keys(*key, places),
                _ => SmallVec::new(),
            },
            kind: section.lock_kind(),
            mode: section.mode,
            is_method: section.kind == SectionKind::Method,
            reentrant: section.reentrant,
            pc,
            line: self.body.line(pc),
            end_line: end.and_then(|end| self.body.line(end)),
            ends: section.ends.iter().map(|end| (self.body.block_of(*end).index() as u32, line_of(*end))).collect(),
            inside: section.start.map_or(SectionSet::default(), |start| places.held[start.index()]),
        }
    }

    pub(super) fn name(&self, path: &Path, places: &Places<'_>) -> Name {
        if let Root::Value(phi) = path.root
            && matches!(self.body.op(phi), Op::Phi(_))
            && let Some(load) =
                self.only_origin(phi).filter(|origin| matches!(self.body.op(*origin), Op::ArrayLoad { .. }))
        {
            let loaded = self.paths.of(load, load);
            return self.name(&path.steps.iter().fold(loaded, |named, step| named.then(*step)), places);
        }
        let start = match path.root {
            Root::This => Start::Parameter(0),
            Root::Class(class) => Start::Class(class),
            Root::Static(field) => Start::Static(field),
            Root::Unknown => Start::Unknown,
            Root::Value(value) => match self.body.op(value) {
                Op::Parameter(position) => Start::Parameter(*position),
                Op::New(_) | Op::NewArray { .. } => Start::New(value.index() as u32),
                Op::Call { .. } => {
                    places.event[value.index()].map_or(Start::Local(value.index() as u32), Start::Result)
                }
                Op::Phi(_) => {
                    let yielded = self.only_origin(value).and_then(|call| places.event[call.index()]);
                    yielded.map_or(Start::Local(value.index() as u32), Start::Result)
                }
                Op::Constant(Constant::String(text)) => Start::Local(self.first_of(*text, value).index() as u32),
                _ => Start::Local(value.index() as u32),
            },
        };
        let steps = path
            .steps
            .iter()
            .map(|step| match *step {
                Step::Field(field) => NameStep::Field(field),
                Step::Constant(index) => NameStep::Constant(index),
                Step::Element(index) => NameStep::Element(self.key(index, places)),
            })
            .collect();
        Name { start, steps }
    }

    /// The first register that holds the same text as one does: it is one object.
    fn first_of(&self, text: Symbol, value: Value) -> Value {
        let is_it = |op: &Op| matches!(op, Op::Constant(Constant::String(other)) if *other == text);
        let mut early = self.body.instructions().take(MAX_EARLY);
        early.find(|(_, instruction)| is_it(&instruction.op)).map_or(value, |(first, _)| first)
    }

    /// The one call or load that yields what a register holds where paths meet, if it is not null there: an element that a
    /// loop has chosen.
    fn only_origin(&self, phi: Value) -> Option<Value> {
        let mut seen: SmallVec<[Value; 8]> = SmallVec::new();
        let mut pending: SmallVec<[Value; 8]> = smallvec::smallvec![phi];
        let mut found = None;
        while let Some(value) = pending.pop() {
            let value = self.body.without_casts(value);
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            match *self.body.op(value) {
                Op::Phi(operands) if seen.len() < MAX_PHIS => pending.extend_from_slice(self.body.operands(operands)),
                Op::Constant(Constant::Null) => {}
                Op::Call { .. } | Op::ArrayLoad { .. } if found.is_none() => found = Some(value),
                _ => return None,
            }
        }
        found
    }

    fn name_of(&self, value: Value, at: Value, places: &Places<'_>) -> Name {
        let path = self.paths.of(keyed::unboxed(self.program, self.body, value), at);
        if let Root::Value(root) = path.root {
            // A register whose monitor was taken is called what it was called there, or else lock and object would not
            // look like one.
            let locked = self.sections.iter().find(|(_, section)| {
                section.kind == SectionKind::Block(LockKind::Monitor)
                    && section.start.is_some_and(|start| start < at)
                    && section.objects.iter().any(|object| self.body.without_casts(*object) == root)
            });
            if let Some((_, section)) = locked.filter(|(_, section)| !section.lock.is_unknown()) {
                let named = path.steps.iter().fold(section.lock.clone(), |named, step| named.then(*step));
                return self.name(&named, places);
            }
        }
        self.name(&path, places)
    }

    fn argument(&self, value: Value, at: Value, places: &Places<'_>, flow: &Flow<'_>) -> Argument {
        let made = match self.body.op(self.body.without_casts(value)) {
            Op::New(class) => Some(*class),
            _ => None,
        };
        Argument {
            name: self.name_of(value, at, places),
            sources: flow.of([value], at),
            made,
            objects: objects(places, value),
        }
    }

    fn action(&self, value: Value, places: &Places<'_>, flow: &Flow<'_>) -> Action {
        let here = value;
        let none = || Name::start(Start::Unknown);
        match *self.body.op(value) {
            Op::GetField { base, field } => Action::Read {
                base: self.name_of(base, value, places),
                member: Member::Field(field),
                address: flow.of([base], here),
            },
            Op::GetStatic(field) => {
                Action::Read { base: none(), member: Member::Static(field), address: SmallVec::new() }
            }
            Op::ArrayLoad { array, index, .. } => Action::Read {
                base: self.name_of(array, value, places),
                member: Member::Elements,
                address: flow.of([array, index], here),
            },
            Op::PutField { base, field, value: stored } => Action::Write {
                base: self.name_of(base, value, places),
                member: Member::Field(field),
                address: flow.of([base], here),
                value: flow.of([stored], here),
                stored: Box::new(self.argument(stored, value, places, flow)),
            },
            Op::PutStatic { field, value: stored } => Action::Write {
                base: none(),
                member: Member::Static(field),
                address: SmallVec::new(),
                value: flow.of([stored], here),
                stored: Box::new(self.argument(stored, value, places, flow)),
            },
            Op::ArrayStore { array, index, value: stored, .. } => Action::Write {
                base: self.name_of(array, value, places),
                member: Member::Elements,
                address: flow.of([array, index], here),
                value: flow.of([stored], here),
                stored: Box::new(self.argument(stored, value, places, flow)),
            },
            Op::Call { kind, method, arguments } => {
                let waits = places.waits.list.iter().find(|(wait, _)| *wait == value).map(|(_, sections)| *sections);
                if waits.is_some() || self.sections.wait(value).is_some() {
                    return Action::Wait(waits.unwrap_or_default());
                }
                Action::Call { kind, method, arguments: self.arguments(arguments, value, places, flow) }
            }
            Op::CallDynamic { dynamic, arguments } => {
                let arguments = self.arguments(arguments, value, places, flow);
                let made = self.body.dynamic(dynamic);
                match made.lambda {
                    Some(handle) => Action::Lambda {
                        kind: call_kind(handle.kind),
                        method: handle.member,
                        by: self.called_by(made),
                        arguments,
                    },
                    None => Action::Call { kind: CallKind::Static, method: self.body.method, arguments },
                }
            }
            // Only the kinds above are events.
            _ => Action::Wait(SectionSet::default()),
        }
    }

    /// The method of the interface by which a lambda is called.
    fn called_by(&self, made: &Dynamic) -> MethodName {
        let names = &self.program.names;
        let descriptor = names.text(made.descriptor);
        let interface = descriptor.rsplit(')').next().unwrap_or_default();
        let class = names.class(interface.trim_start_matches('L').trim_end_matches(';'));
        MethodName { class, name: made.name, descriptor: made.descriptor }
    }

    fn arguments(
        &self,
        arguments: crate::ir::Operands,
        at: Value,
        places: &Places<'_>,
        flow: &Flow<'_>,
    ) -> Vec<Argument> {
        self.body.operands(arguments).iter().map(|value| self.argument(*value, at, places, flow)).collect()
    }

    /// Whether a register holds an object that a loop has come by, or something around one: what is returned of these was
    /// looked for, and tells what it was found by.
    fn is_found(&self, value: Value, in_cycle: &[bool]) -> bool {
        let is_element = |value: Value| {
            let value = self.body.without_casts(value);
            matches!(self.body.op(value), Op::Call { .. } | Op::GetField { .. } | Op::ArrayLoad { .. })
                && matches!(self.body.instruction(value).value_type, ValueType::Reference(_))
                && in_cycle[self.body.block_of(value).index()]
        };
        is_element(value)
            || match *self.body.op(self.body.without_casts(value)) {
                Op::Call { arguments, .. } => self.body.operands(arguments).iter().any(|given| is_element(*given)),
                _ => false,
            }
    }

    /// Whether an object is made of constants and of what a loop has counted to: `new Seat(row, column)`.
    fn is_made_of(&self, object: Value, counted: &[bool]) -> bool {
        let mut object = self.body.without_casts(object);
        if let Op::Call { arguments, .. } = *self.body.op(object)
            && is_boxing(&self.program.names, self.body.op(object))
            && let [boxed] = *self.body.operands(arguments)
        {
            object = self.body.without_casts(boxed);
        }
        matches!(self.body.op(object), Op::New(_))
            && self.body.instructions().any(|(_, instruction)| match instruction.op {
                Op::Call { method, arguments, .. } if method.name == self.program.roots.constructor => {
                    match self.body.operands(arguments) {
                        [made, parts @ ..] => {
                            *made == object && !parts.is_empty() && parts.iter().all(|part| counted[part.index()])
                        }
                        [] => false,
                    }
                }
                _ => false,
            })
    }

    fn results(
        &self,
        outline: &mut Outline,
        places: &Places<'_>,
        flow: &Flow<'_>,
        control: &[SmallVec<[u32; 4]>],
        in_cycle: &[bool],
    ) {
        let mut names: Vec<Name> = Vec::new();
        let mut made = Vec::new();
        let counted = counted(self.program, self.body);
        for (value, instruction) in self.body.instructions() {
            let Op::Return(Some(result)) = instruction.op else { continue };
            // Every section of the method has ended when the caller gets the result.
            for source in flow.after([result], value) {
                super::flow::add(&mut outline.result, source);
            }
            // A constant, or what a loop has counted to, tells by which way it was reached: `if (a < b) return true;`.
            if counted[result.index()] || self.is_made_of(result, &counted) {
                for condition in &control[self.body.block_of(value).index()] {
                    for source in outline.conditions[*condition as usize].sources.clone() {
                        super::flow::add(&mut outline.result, source);
                    }
                }
            }
            if self.is_found(result, in_cycle) {
                for condition in &control[self.body.block_of(value).index()] {
                    let condition = &outline.conditions[*condition as usize];
                    if in_cycle[condition.block as usize] {
                        for source in condition.sources.clone() {
                            super::flow::add(&mut outline.result, source);
                        }
                    }
                }
            }
            names.push(self.name_of(result, value, places));
            for object in objects(places, result) {
                if !outline.returned.contains(&object) {
                    outline.returned.push(object);
                }
            }
            made.push(match self.body.op(self.body.without_casts(result)) {
                Op::New(class) => Some(*class),
                _ => None,
            });
        }
        if let Some((first, rest)) = names.split_first()
            && rest.iter().all(|name| name == first)
        {
            outline.returns = Some(first.clone());
        }
        if let Some((first, rest)) = made.split_first()
            && rest.iter().all(|class| class == first)
        {
            outline.makes = *first;
        }
    }
}

/// How a lambda calls the method behind it.
fn call_kind(kind: HandleKind) -> CallKind {
    match kind {
        HandleKind::InvokeVirtual => CallKind::Virtual,
        HandleKind::InvokeInterface => CallKind::Interface,
        HandleKind::InvokeSpecial | HandleKind::NewInvokeSpecial => CallKind::Special,
        _ => CallKind::Static,
    }
}
