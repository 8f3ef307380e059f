//! What fields hold: the one class whose objects are ever stored there, where all stores agree.
//!
//! `private final Map<K, V> table = new ConcurrentHashMap<>()` is declared as a `Map` and never holds anything else.

use std::sync::Arc;

use classfile::CallKind;
use location::{ClassName, FieldName, MethodName};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::giving::Giving;
use super::handed::{AllLate, Late, is_container, settled};
use super::handle::Handles;
use super::twins::Twins;
use crate::calls::Calls;
use crate::captured::{Captured, Local};
use crate::class::{FieldId, MethodId, Program};
use crate::ir::{Body, Constant, Op};
use crate::model::{CallModel, Product, Returns, Section};
use crate::outline::{Action, EventId, Member, Object, Outline, Start};
use crate::outlines::Outlines;

/// What is known of the objects that a field, or a register, holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Holding {
    /// Exactly this class.
    pub class: Option<ClassName>,
    /// A wrapper whose calls are sections of this kind.
    pub section: Option<Section>,
}

#[derive(Default)]
pub struct Holdings {
    fields: FxHashMap<FieldId, Holding>,
    /// Fields that are given objects which somebody else may have, too.
    foreign: FxHashSet<FieldId>,
    /// By final field: the parameter of the only constructor that is kept there as it is.
    kept: FxHashMap<FieldId, u16>,
    pub(super) twins: Twins,
    handles: Arc<Handles>,
    captured: Arc<Captured>,
    /// By parameter: what all callers give, where they agree.
    parameters: FxHashMap<(MethodId, u16), Holding>,
}

impl Holdings {
    /// What is stored to the fields that methods with outlines store to, by them or by others. `of_caller` tells the
    /// outlines of those who call them, too.
    pub(super) fn of<'o>(
        asking: Asking<'_>,
        outline: impl Fn(MethodId) -> Option<&'o Outline> + Sync,
        of_caller: impl Fn(MethodId) -> Option<&'o Outline> + Sync,
        captured: Arc<Captured>,
    ) -> Holdings {
        let Asking { program, calls, .. } = asking;
        let giving = Giving { program, calls, of_caller };
        let mut called: FxHashSet<(MethodId, u16)> = FxHashSet::default();
        let mut fields: FxHashMap<FieldId, Holding> = FxHashMap::default();
        let mut foreign = FxHashSet::default();
        let mut kept = FxHashMap::default();
        let methods: Vec<MethodId> = program.methods().collect();
        let found: Vec<Found> = methods
            .into_par_iter()
            .with_min_len(LOOKED_AT_ONCE)
            .fold(Found::default, |mut found, method| {
                if let Some(outline) = outline(method) {
                    found.look(asking, &giving, method, outline);
                }
                found
            })
            .collect();
        let mut late = AllLate::default();
        for part in found {
            called.extend(part.called);
            for Stored { field, is_foreign, kept: position, holding, objects } in part.stored {
                if is_container(program, field) {
                    late.entry(field).or_default().push((holding, objects));
                }
                if is_foreign {
                    foreign.insert(field);
                }
                if let Some(position) = position {
                    kept.insert(field, position);
                }
                agree(&mut fields, field, holding);
            }
        }
        // Each keeps one core busy for a while.
        let ((fields, parameters), twins) = rayon::join(
            || {
                let fields = settled(asking, &outline, fields, late, &captured);
                let asking = Asking { fields: Some(&fields), ..asking };
                let parameters = called.into_par_iter().map(|(method, position)| {
                    let given = asking.parameter(method, position, MAX_DEPTH);
                    ((method, position), given)
                });
                let parameters = parameters.filter(|(_, given)| *given != Holding::default()).collect();
                (fields, parameters)
            },
            || Twins::of(program, calls, &outline, &giving.of_caller, &kept),
        );
        let handles = calls.handles.clone();
        Holdings { fields, foreign, kept, twins, handles, captured, parameters }
    }

    /// What a method is given for a parameter.
    pub(super) fn parameter(&self, method: MethodId, position: u16) -> Holding {
        self.parameters.get(&(method, position)).copied().unwrap_or_default()
    }

    /// Whether a field stands for a local that tasks capture.
    pub(super) fn is_local(&self, field: FieldName) -> bool {
        self.captured.has(field)
    }

    /// What a method has of locals that tasks capture.
    pub(super) fn captured_in(&self, method: MethodId) -> &[Local] {
        self.captured.of_method(method)
    }

    /// Whether all objects that the field ever holds are made for it, as far as the code tells.
    pub fn is_own(&self, program: &Program, field: FieldName) -> bool {
        program.resolve_field(field).is_some_and(|field| !self.foreign.contains(&field))
    }

    /// The field that a field updater or `VarHandle` in a field stands for.
    pub(super) fn handle(&self, program: &Program, holder: FieldName) -> Option<FieldName> {
        program.resolve_field(holder).and_then(|holder| self.handles.get(holder))
    }

    /// Whether a field is touched through a field updater or `VarHandle`, too.
    pub fn is_handled(&self, field: FieldId) -> bool {
        self.handles.has(field)
    }

    /// The parameter of the constructor that a field keeps as it is, as long as its object lives.
    pub(crate) fn kept(&self, program: &Program, field: FieldName) -> Option<u16> {
        program.resolve_field(field).and_then(|field| self.kept.get(&field).copied())
    }

    /// What these fields hold, from the methods alone that store to them.
    pub fn of_fields(program: &Program, calls: &Calls, wanted: &FxHashSet<FieldId>) -> Holdings {
        if wanted.is_empty() {
            return Holdings::default();
        }
        let names = program.plain_names(wanted);
        let is_wanted = |field: FieldName| {
            let found = names.contains(&field.name).then(|| program.resolve_field(field)).flatten();
            found.filter(|field| wanted.contains(field))
        };
        let writers = calls.touched.writers_of(wanted);
        let found = program.visit_bodies_of(&writers, |_, body| stores(program, calls, &body, &is_wanted));
        let mut fields: FxHashMap<FieldId, Holding> = FxHashMap::default();
        for (field, holding) in found.into_iter().flatten().flatten() {
            agree(&mut fields, field, holding);
        }
        fields.retain(|_, holding| *holding != Holding::default());
        Holdings { fields, ..Holdings::default() }
    }

    pub fn get(&self, program: &Program, field: FieldName) -> Holding {
        program.resolve_field(field).and_then(|field| self.fields.get(&field).copied()).unwrap_or_default()
    }
}

/// A thread looks at so many methods at least before it hands over what it has found.
const LOOKED_AT_ONCE: usize = 1_000;

/// What some methods store to fields.
#[derive(Default)]
struct Found {
    /// Parameters that are called.
    called: Vec<(MethodId, u16)>,
    stored: Vec<Stored>,
}

/// Something that is stored to a field.
struct Stored {
    field: FieldId,
    /// Somebody else may have it, too.
    is_foreign: bool,
    /// The parameter of the only constructor that it is.
    kept: Option<u16>,
    holding: Holding,
    /// What it is, if it is not known what that is.
    objects: Option<Late>,
}

impl Found {
    fn look<'o>(
        &mut self,
        asking: Asking<'_>,
        giving: &Giving<'_, impl Fn(MethodId) -> Option<&'o Outline>>,
        method: MethodId,
        outline: &Outline,
    ) {
        let Asking { program, calls, .. } = asking;
        let known = self.stored.len();
        for event in &outline.events {
            if let Some(position) = asked_of_parameter(&event.action) {
                self.called.push((method, position));
            }
            let Action::Write { member: Member::Field(field) | Member::Static(field), stored, .. } = &event.action
            else {
                continue;
            };
            let Some(field) = program.resolve_field(*field) else { continue };
            let is_new = |object: &Object| match *object {
                Object::Parameter(position) => giving.is_given_new(method, position),
                _ => !giving.is_foreign(outline, object),
            };
            let kept = match (stored.objects.as_slice(), stored.name.start, &*stored.name.steps) {
                ([Object::Parameter(position)], ..) => Some(*position),
                // A number is no object.
                ([], Start::Parameter(position), []) => Some(position),
                _ => None,
            }
            .filter(|_| has_one_constructor(program, field));
            let holding = match (stored.made, stored.name.start) {
                (Some(class), _) => Holding { class: Some(class), section: None },
                (None, Start::Result(call)) if stored.name.steps.is_empty() => outline
                    .events
                    .get(call.index())
                    .map(|call| made_by(program, calls, &call.action))
                    .unwrap_or_default(),
                _ => Holding::default(),
            };
            let holding = match holding {
                Holding { class: None, section: None } => asking.objects(method, &stored.objects, MAX_DEPTH),
                known => known,
            };
            let is_unknown = holding == Holding::default() && is_container(program, field);
            let objects = is_unknown.then(|| (method, stored.objects.clone()));
            self.stored.push(Stored { field, is_foreign: !stored.objects.iter().all(is_new), kept, holding, objects });
        }
        // A constructor may keep what it is given on one way, and something else on another one.
        let own = &mut self.stored[known..];
        for at in 0..own.len() {
            if own[at].kept.is_some() && own.iter().any(|two| two.field == own[at].field && two.kept != own[at].kept) {
                own[at].kept = None;
            }
        }
    }
}

/// What a field holds is known only if all that store to it agree.
pub(super) fn agree(fields: &mut FxHashMap<FieldId, Holding>, field: FieldId, holding: Holding) {
    let known = fields.entry(field).or_insert(holding);
    if *known != holding {
        *known = Holding::default();
    }
}

/// Whether a field is set once, by the only constructor of its class. One that a compiler adds, for classes beside that
/// need a private one, calls that and gives it the same.
fn has_one_constructor(program: &Program, field: FieldId) -> bool {
    let access = program.field(field).access;
    let methods = program.methods_of(program.class_of_field(field)).map(|method| program.method(method));
    access.is_final()
        && !access.is_static()
        && methods.filter(|own| own.name == program.roots.constructor && !own.access.is_synthetic()).count() == 1
}

/// The objects that a body stores to fields; nulls are none.
pub(super) fn stores(
    program: &Program,
    calls: &Calls,
    body: &Body,
    is_wanted: &impl Fn(FieldName) -> Option<FieldId>,
) -> Vec<(FieldId, Holding)> {
    let mut found = Vec::new();
    for (_, instruction) in body.instructions() {
        let (Op::PutField { field, value, .. } | Op::PutStatic { field, value }) = instruction.op else { continue };
        let Some(field) = is_wanted(field) else { continue };
        let holding = match *body.op(body.without_casts(value)) {
            Op::Constant(Constant::Null) => continue,
            Op::New(class) => Holding { class: Some(class), section: None },
            Op::Call { method, .. } => factory(program, calls, method),
            _ => Holding::default(),
        };
        found.push((field, holding));
    }
    found
}

/// What a call yields.
fn factory(program: &Program, calls: &Calls, method: MethodName) -> Holding {
    match calls.model(program, method, method.class) {
        Some(CallModel { product: Some(Product::Synchronized), .. }) => {
            Holding { class: None, section: Some(Section::Monitor) }
        }
        Some(CallModel { product: Some(Product::Concurrent), .. }) => {
            Holding { class: None, section: Some(Section::Own) }
        }
        _ => Holding::default(),
    }
}

/// The parameter that an interface of the library is called on.
fn asked_of_parameter(action: &Action) -> Option<u16> {
    match action {
        Action::Call { kind: CallKind::Interface, arguments, .. } => match arguments.first()?.objects.as_slice() {
            [Object::Parameter(position)] => Some(*position),
            _ => None,
        },
        _ => None,
    }
}

/// Callers, and calls that only hand on, further away than this are not asked.
pub(super) const MAX_DEPTH: usize = 3;
/// More callers than this are not asked.
pub(super) const MAX_CALLERS: usize = 16;

/// Looks for what objects are, across methods.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) program: &'a Program,
    pub(super) calls: &'a Calls,
    pub(super) outlines: Outlines<'a>,
    /// What fields hold, where that is known already.
    pub(super) fields: Option<&'a FxHashMap<FieldId, Holding>>,
}

impl Asking<'_> {
    /// What all of these are, if they agree.
    pub(super) fn objects(self, method: MethodId, objects: &[Object], depth: usize) -> Holding {
        all_agree(objects.iter().map(|object| self.object(method, *object, depth)))
    }

    pub(super) fn object(self, method: MethodId, object: Object, depth: usize) -> Holding {
        match object {
            Object::New { class, .. } => Holding { class: Some(class), section: None },
            Object::Event(event) => self.yielded(method, event, depth),
            Object::Parameter(position) => self.parameter(method, position, depth),
            Object::Int(_) | Object::Unknown => Holding::default(),
        }
    }

    /// What a call returns: told by the library, or made by the method that is called.
    fn yielded(self, method: MethodId, event: EventId, depth: usize) -> Holding {
        let Some(outline) = self.outlines.get(method) else { return Holding::default() };
        let (kind, called) = match &outline.events[event.index()].action {
            Action::Call { kind, method, .. } => (kind, method),
            Action::Read { member: Member::Field(field) | Member::Static(field), .. } => {
                let field = self.program.resolve_field(*field);
                return self
                    .fields
                    .zip(field)
                    .and_then(|(fields, field)| fields.get(&field).copied())
                    .unwrap_or_default();
            }
            _ => return Holding::default(),
        };
        let told = made_by(self.program, self.calls, &outline.events[event.index()].action);
        let Some(depth) = depth.checked_sub(1).filter(|_| told == Holding::default()) else { return told };
        let targets = self.calls.targets(self.program, *kind, *called);
        let behind = targets.known().iter().filter(|target| self.calls.is_behind_interface(**target));
        if targets.known().is_empty() || behind.count() < targets.known().len() {
            return Holding::default();
        }
        all_agree(targets.known().iter().map(|target| match self.outlines.get(*target) {
            Some(outline) => self.objects(*target, &outline.returned, depth),
            None => Holding::default(),
        }))
    }

    /// What all callers give. A class of the program is not told: callers that are not here may give one below it.
    fn parameter(self, method: MethodId, position: u16, depth: usize) -> Holding {
        let callers = self.calls.callers(method);
        let Some(depth) = depth.checked_sub(1) else { return Holding::default() };
        if callers.len() > MAX_CALLERS || !callers.iter().all(|caller| self.calls.is_behind_interface(*caller)) {
            return Holding::default();
        }
        let name = self.program.method_name(method);
        let is_of_library = |holding: &Holding| {
            let class = holding.class.and_then(|class| self.program.class(class));
            !class.is_some_and(|class| self.program.is_checked(class))
        };
        let given = all_agree(callers.iter().flat_map(|caller| {
            let events = self.outlines.get(*caller).into_iter().flat_map(|outline| &outline.events);
            let given = events.filter_map(move |event| match &event.action {
                Action::Call { method: called, arguments, .. } | Action::Lambda { method: called, arguments, .. }
                    if called.name == name.name && called.descriptor == name.descriptor =>
                {
                    let argument = arguments.get(usize::from(position));
                    Some(argument.map(|argument| argument.objects.as_slice()).unwrap_or_default())
                }
                _ => None,
            });
            given.map(move |objects| self.objects(*caller, objects, depth))
        }));
        Some(given).filter(is_of_library).unwrap_or_default()
    }
}

/// What is known if all say the same.
pub(super) fn all_agree(mut all: impl Iterator<Item = Holding>) -> Holding {
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { Holding::default() }
}

fn made_by(program: &Program, calls: &Calls, action: &Action) -> Holding {
    match action {
        Action::Call { method, arguments, .. } => match calls.model(program, *method, method.class) {
            // A thin layer over another container is as safe as that one.
            Some(CallModel { returns: Returns::Argument(index), .. }) => {
                let layered = arguments.get(usize::from(index)).and_then(|argument| argument.made);
                let section = layered.map(|class| calls.section_of(program, class));
                Holding { class: None, section: section.filter(|section| *section != Section::None) }
            }
            _ => factory(program, calls, *method),
        },
        _ => Holding::default(),
    }
}

impl Calls {
    /// The section that a call on a container or buffer of this class is, by what the library says of how much it has.
    pub(super) fn section_of(&self, program: &Program, class: ClassName) -> Section {
        let asked = |name: &str| {
            let [name, descriptor] = [name, "()I"].map(|text| program.names.intern(text));
            self.look_up_model(program, MethodName { class, name, descriptor }, class)
        };
        let model = asked("size").or_else(|| asked("length"));
        model.map_or(Section::None, |model| model.section)
    }

    /// What the library says of a call on an object of this class.
    pub fn model(&self, program: &Program, method: MethodName, receiver: ClassName) -> Option<CallModel> {
        match self.modelled.get(&method) {
            Some(known) if receiver == method.class => known.as_deref().copied(),
            _ => self.look_up_model(program, method, receiver),
        }
    }

    pub(crate) fn look_up_model(
        &self,
        program: &Program,
        method: MethodName,
        receiver: ClassName,
    ) -> Option<CallModel> {
        let asked = MethodName { class: receiver, ..method };
        self.models.call(&program.names, asked, &mut |class, tell| {
            if let Some(class) = program.class(class) {
                let header = program.header(class);
                header.super_class.iter().chain(&header.interfaces).for_each(|parent| tell(*parent));
            }
        })
    }
}
