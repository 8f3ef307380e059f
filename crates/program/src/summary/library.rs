//! Calls of library code: what its model says, put into a summary.

use location::MethodName;
use smallvec::SmallVec;

use super::compose::Composing;
use super::handle::Named;
use super::holding::Holding;
use super::influences::Gathering;
use super::inside::is_local;
use super::map_part::MapPart;
use super::{Access, Comparisons, Influences, Keys, Root, SummarySection};
use crate::lock::{LockKind, Mode};
use crate::model::{self, CallModel, Product, Returns, Revalidation, Section, State, Target};
use crate::outline::{Action, Argument, Event, EventId, Key, KeyStart, Member, Name, NameStep, Object, Start};

impl Composing<'_, '_> {
    /// Puts in what the model says of a call; tells whether there is one.
    pub(super) fn library_call(
        &mut self,
        id: EventId,
        event: &Event,
        method: MethodName,
        arguments: &[Argument],
    ) -> bool {
        let receiver = arguments.first().map(|first| self.holding(first)).unwrap_or_default();
        let class = receiver.class.unwrap_or(method.class);
        // What goes by the name of a list may be a view of it, such as an iterator, and of another class.
        let found = self.calls.model(self.program, method, class);
        let Some(mut model) = found.or_else(|| self.calls.model(self.program, method, method.class)) else {
            return false;
        };
        if let Some(section) = receiver.section {
            model = model.within(section);
        }
        let named = if model.target == Target::Named { self.named(arguments) } else { None };
        if model.target == Target::Named && named.is_none() {
            // Which variable a handle or updater stands for is not known here: the call only passes values on.
            model =
                CallModel { access: model::Access::None, section: Section::None, returns: Returns::Computed, ..model };
        }
        if self.is_step(method, arguments) {
            model = CallModel { access: model::Access::Update, returns: Returns::Removed, ..model };
        }
        let is_static = arguments.len() == self.parameter_count(method);
        let mut object = if is_static { None } else { arguments.first().map(|first| self.settle(&first.name)) };
        if let Some(map) = self.entry_of(method, arguments).or_else(|| self.number_of(id, model, method, arguments)) {
            model = model.within(Section::Own);
            object = Some(map);
        }
        if self.is_taken_by_iterator(method, object.as_ref()) {
            model = model.within(Section::Own);
        }
        if let Some(named) = named {
            object = Some(named.lock);
        }
        if let (Target::Viewed, Returns::FromState) = (model.target, model.returns) {
            self.element_of[id.index()] = object.clone();
        }
        self.parts[id.index()] = self.map_part(method, model, arguments);
        let section = self.library_section(id, event, model.section, object.as_ref());
        let skip = usize::from(!is_static);
        self.take_out(id, event, model, method, arguments, skip);
        // Functions that go over all there is are given what was read.
        let goes_over = model.access == model::Access::Read
            && model.returns == Returns::Unrelated
            && !model.runs.is_empty()
            && object.as_ref().is_some_and(|object| !object.is_unknown() && !is_local(object));
        self.influence[id.index()] = Influences::default();
        if goes_over {
            let nothing = Influences::default();
            self.library_effects(id, event, model, object.as_ref(), section, arguments, skip, &nothing);
        }
        let read = std::mem::take(&mut self.influence[id.index()]);
        let computed = self.run_functions(id, event, model, section, arguments, skip, &read);
        self.influence[id.index()] = Influences::default();
        if !goes_over {
            self.library_effects(id, event, model, object.as_ref(), section, arguments, skip, &computed);
        }
        self.within[id.index()] = self.within_result(model, method, object.as_ref(), arguments);
        self.library_result(id, model, object, arguments, skip, &computed);
        self.name_element(id, method, arguments);
        if self.is_demand(method) {
            let mut question = Gathering::default();
            arguments.iter().for_each(|argument| self.gather(&mut question, &argument.sources));
            let held = self.sections(event.held);
            self.add_guard(id, self.brought_to(question.finish(), held), false);
        }
        true
    }

    /// Whether a call does nothing but throw if what it is given will not do.
    fn is_demand(&self, method: MethodName) -> bool {
        let name = self.program.names.text(method.name);
        match self.program.names.text(method.class.0) {
            "java/util/Objects" => name == "requireNonNull" || name.starts_with("check"),
            "com/google/common/base/Preconditions" => name.starts_with("check"),
            _ => false,
        }
    }

    pub(super) fn parameter_count(&self, method: MethodName) -> usize {
        classfile::split_method(self.program.names.text(method.descriptor)).map_or(0, |(count, _)| count)
    }

    /// What is known of the object that an argument is.
    pub(super) fn holding(&self, argument: &Argument) -> Holding {
        if argument.made.is_some() {
            return Holding { class: argument.made, section: None };
        }
        let name = self.settle(&argument.name);
        match (name.start, name.steps.last()) {
            (_, Some(NameStep::Field(field))) => self.holdings.get(self.program, *field),
            (Start::Static(field), None) => self.holdings.get(self.program, field),
            (Start::Result(event), None) => {
                let class = self.result_class.get(event.index()).copied().flatten();
                Holding { class, section: None }
            }
            (Start::Parameter(position), None) => self.holdings.parameter(self.id, position),
            _ => Holding::default(),
        }
    }

    fn library_section(
        &mut self,
        id: EventId,
        event: &Event,
        section: Section,
        object: Option<&Name>,
    ) -> Option<usize> {
        let kind = match section {
            Section::None => return None,
            Section::Monitor => LockKind::Monitor,
            Section::Own => LockKind::Own,
        };
        let lock = object.cloned().unwrap_or(Name::start(Start::Unknown));
        let inside = self.sections(event.held);
        if let Some(outer) = self.find_section(inside, &lock, kind) {
            return Some(outer);
        }
        self.add_section(SummarySection {
            lock,
            kind,
            mode: Mode::Exclusive,
            spot: self.spot(event.pc, event.line),
            end_line: event.line,
            call: Some(id),
            inside,
            is_method: true,
        })
    }

    #[allow(clippy::too_many_arguments, reason = "one call has that many sides")]
    fn library_effects(
        &mut self,
        id: EventId,
        event: &Event,
        model: CallModel,
        object: Option<&Name>,
        section: Option<usize>,
        arguments: &[Argument],
        skip: usize,
        computed: &Influences,
    ) {
        let mut held = self.sections(event.held);
        if let Some(section) = section {
            held.insert(section);
        }
        let (control, guards, awaited) = (self.control(id, event), self.guards(event), self.awaited(event));
        let mut given = Gathering::default();
        given.add_all(computed);
        for argument in &arguments[skip.min(arguments.len())..] {
            self.given(&mut given, argument, held);
        }
        let given = given.finish();
        // What is expected is compared, and not written; nor is the place in an array.
        let expected = match model.revalidates {
            Some(Revalidation::Expects(index)) => Some(index),
            _ => None,
        };
        let named = if model.target == Target::Named { self.named(arguments) } else { None };
        let is_of_object = matches!(&named, Some(Named { member: Member::Field(_), .. }));
        let place = if is_of_object { Some(0) } else { model.key.filter(|_| model.state == State::Value) };
        let stored = if expected.is_some() || place.is_some() {
            let mut stored = Gathering::default();
            stored.add_all(computed);
            for (index, argument) in (0u8..).zip(arguments.iter().skip(skip)) {
                if Some(index) != expected && Some(index) != place {
                    self.given(&mut stored, argument, held);
                }
            }
            stored.finish()
        } else {
            given.clone()
        };
        let expects = match model.revalidates {
            Some(Revalidation::Expects(index)) => arguments
                .get(usize::from(index) + skip)
                .map(|argument| self.influences(&argument.sources))
                .unwrap_or_default(),
            _ => Influences::default(),
        };
        let address = match self.is_part_of_list(arguments) {
            true => joined(&given, &self.influences(&arguments[0].sources)),
            false => given,
        };
        let is_removal = self.is_removal(event);
        let choices = match arguments.first() {
            Some(receiver) if skip > 0 && section.is_none() => self.choices(receiver),
            _ => SmallVec::new(),
        };
        for effect in model.effects() {
            let base = match effect.target {
                Target::Receiver | Target::Viewed => object.cloned(),
                Target::Named => named.as_ref().map(|named| named.base.clone()),
                Target::Argument(index) => {
                    arguments.get(usize::from(index) + skip).map(|argument| self.settle(&argument.name))
                }
            };
            let Some(mut base) = base else { continue };
            let mut others: &[Name] = &[];
            if let (Target::Receiver | Target::Viewed, [first, rest @ ..]) = (effect.target, choices.as_slice()) {
                base = first.clone();
                others = rest;
            }
            let mut held = held;
            if let Target::Argument(index) = effect.target
                && let Some(argument) = arguments.get(usize::from(index) + skip)
                && let Some(section) = self.argument_section(id, event, argument, &base)
            {
                held.insert(section);
            }
            let part = match effect.target {
                Target::Argument(index) => self.part_given(arguments.get(usize::from(index) + skip)),
                _ => self.part_given(arguments.first()),
            };
            let mut seen = None;
            for is_write in [false, true] {
                if (is_write && !effect.access.writes()) || (!is_write && !self.is_read(model, effect.access)) {
                    continue;
                }
                let mut value = Gathering::default();
                if is_write {
                    value.add_all(&stored);
                    // What is written where something was expected does not depend on what was there.
                    if let Some(read) = seen.filter(|_| expected.is_none()) {
                        value.add_all(&Influences::one(Root::Access(read)));
                    }
                }
                let access = Access {
                    base: base.clone(),
                    member: match (&named, effect.target) {
                        (Some(named), Target::Named) => named.member,
                        _ => member(effect.state),
                    },
                    is_write,
                    spot: self.spot(event.pc, event.line),
                    event: id,
                    held,
                    value: value.finish(),
                    address: address.clone(),
                    control: control.clone(),
                    guards: guards.clone(),
                    awaited: awaited.clone(),
                    expects: if is_write { expects.clone() } else { Influences::default() },
                    is_compound: is_write && looks_for_itself(model, self.is_used[id.index()]),
                    is_passed_on: is_write
                        && model.revalidates == Some(Revalidation::ByResult)
                        && self.is_passed_on(id),
                    is_repeatable: is_write && arguments.len() == skip + 1 && is_repeatable(model),
                    is_refusing: is_write
                        && model.key.is_some()
                        && model.revalidates == Some(Revalidation::ByResult)
                        && self.is_used[id.index()],
                    is_removal: is_write && is_removal,
                    is_mapped: model.returns == Returns::Removed,
                    is_keyed: model.key.is_some(),
                    keys: model
                        .key
                        .and_then(|index| arguments.get(usize::from(index) + skip))
                        .map(|argument| self.keys(argument))
                        .unwrap_or_default(),
                    is_of_keys: part == Some(MapPart::Keys),
                    is_of_values: part == Some(MapPart::Values),
                    is_of_each: self.is_each(&base, event),
                    is_given: false,
                    within: match effect.target {
                        Target::Argument(index) => self.within_given(arguments.get(usize::from(index) + skip)),
                        Target::Named => None,
                        Target::Receiver | Target::Viewed => self.within(&base).or_else(|| {
                            let receiver = arguments.first().filter(|_| skip > 0);
                            self.within_given(receiver)
                        }),
                    },
                    compared: if is_write { self.compared(event) } else { Comparisons::default() },
                };
                let chosen: SmallVec<[Access; 2]> =
                    others.iter().map(|name| Access { base: name.clone(), ..access.clone() }).collect();
                let added = self.add_access(access);
                chosen.into_iter().for_each(|other| {
                    self.add_access(other);
                });
                if !is_write {
                    seen = added;
                }
                if let (false, Some(read)) = (is_write, added) {
                    let mut yielded = Gathering::default();
                    yielded.add_all(&self.influence[id.index()]);
                    yielded.add_all(&Influences::one(Root::Access(read)));
                    self.influence[id.index()] = yielded.finish();
                }
            }
        }
    }

    /// The section that a call is on a container which it is given: `new ArrayList<>(shared)` asks it for all it has.
    fn argument_section(&mut self, id: EventId, event: &Event, argument: &Argument, name: &Name) -> Option<usize> {
        let holding = self.holding(argument);
        let by_class = holding.class.map(|class| self.calls.section_of(self.program, class));
        let section = holding.section.or(by_class).filter(|section| *section != Section::None)?;
        if name.is_unknown() || is_local(name) {
            return None;
        }
        self.library_section(id, event, section, Some(name))
    }

    /// A key by its name, or by what it is made of: keys that are equal are made of equal parts.
    fn keys(&self, argument: &Argument) -> Keys {
        if self.is_current_thread(argument) {
            return [Key { start: KeyStart::Thread, field: None }].into_iter().collect();
        }
        let [Object::New { register, .. }] = argument.objects.as_slice() else {
            return Key::of(self.program, &self.settle(&argument.name)).into_iter().collect();
        };
        let is_it = |object: &Object| matches!(object, Object::New { register: made, .. } if made == register);
        let parts = self.outline.events.iter().find_map(|event| match &event.action {
            Action::Call { method, arguments, .. } if method.name == self.program.roots.constructor => {
                let (made, parts) = arguments.split_first()?;
                made.objects.iter().any(is_it).then_some(parts)
            }
            _ => None,
        });
        let parts = parts.unwrap_or_default().iter();
        parts.filter_map(|part| Key::of(self.program, &self.settle(&part.name))).collect()
    }

    /// Whether a call removes the object that it is given, or those in a collection; or what stands under a key, if it is
    /// what it is given.
    pub(super) fn is_removal(&self, event: &Event) -> bool {
        let Action::Call { method, .. } = &event.action else { return false };
        let names = &self.program.names;
        let descriptor = names.text(method.descriptor);
        names.text(method.name).starts_with("remove")
            && ["(Ljava/lang/Object;)", "(Ljava/util/Collection;)", "(Ljava/lang/Object;Ljava/lang/Object;)Z"]
                .iter()
                .any(|parameters| descriptor.starts_with(parameters))
    }

    /// Whether a call reads state that its result or its write shows.
    fn is_read(&self, model: CallModel, access: model::Access) -> bool {
        access.reads() || (access.writes() && matches!(model.returns, Returns::FromState))
    }

    /// Where the result comes from, and what it is called.
    fn library_result(
        &mut self,
        id: EventId,
        model: CallModel,
        object: Option<Name>,
        arguments: &[Argument],
        skip: usize,
        computed: &Influences,
    ) {
        let held = self.sections(self.outline.events[id.index()].held);
        let read = std::mem::take(&mut self.influence[id.index()]);
        let all = |composing: &Self, arguments: &[Argument]| {
            let mut all = Gathering::default();
            arguments.iter().for_each(|argument| composing.given(&mut all, argument, held));
            all.finish()
        };
        let is_own = object.as_ref().is_none_or(|object| object.is_unknown() || is_local(object));
        let returns = match model.product {
            // It shows what is in another container.
            Some(Product::Unmodifiable) => Returns::Argument(0),
            _ => model.returns,
        };
        let result = match returns {
            // What is taken out of an object that only this method knows was put there by it.
            Returns::Removed if object.as_ref().is_some_and(|object| matches!(object.start, Start::New(_))) => {
                object.as_ref().map(|object| self.contents(object, held)).unwrap_or_default()
            }
            Returns::Unrelated | Returns::Removed | Returns::RemovedInto(_) | Returns::Replaced(_) => {
                Influences::default()
            }
            Returns::Computed => all(self, arguments),
            // What an object holds that only this method knows comes from where the object and its parts came from.
            // What is left of a stream depends on what its functions have said.
            Returns::FromState if is_own || self.is_stream(id) => {
                joined(&read, &all(self, &arguments[..skip.min(arguments.len())]))
            }
            // What is in something that others replace as a whole is of the one that was found.
            Returns::FromState if object.as_ref().is_some_and(|object| self.program.is_behind_replaced(object)) => {
                joined(&read, &all(self, &arguments[..skip.min(arguments.len())]))
            }
            Returns::FromState => read,
            Returns::Fresh => joined(&read, &all(self, &self.without_runner(model, arguments, skip))),
            Returns::Receiver => {
                self.result_name[id.index()] = object;
                all(self, &arguments[..skip.min(arguments.len())])
            }
            // A part of a list that was asked for whether it reaches as far.
            Returns::View(_) => {
                self.result_name[id.index()] = object;
                joined(&read, &all(self, &arguments[..skip.min(arguments.len())]))
            }
            Returns::Argument(index) => match arguments.get(usize::from(index) + skip) {
                Some(argument) => {
                    self.result_name[id.index()] = Some(self.settle(&argument.name));
                    self.influences(&argument.sources)
                }
                None => Influences::default(),
            },
        };
        // The section of the call has ended when it returns.
        self.influence[id.index()] = self.brought_to(joined(&result, computed), held);
    }
}

/// Whether a write depends on what is there at that moment, and not on what was there before: it is told what to expect,
/// computes from the present state, or gives an answer that counts.
fn looks_for_itself(model: CallModel, is_used: bool) -> bool {
    if matches!(model.returns, Returns::Replaced(_)) {
        return true;
    }
    let is_update = model.access == model::Access::Update;
    match model.revalidates {
        Some(Revalidation::ByResult) => is_used,
        Some(Revalidation::Expects(_)) => is_update,
        // What is added to what is there is added in any case.
        None => is_update && !(model.runs.is_empty() || model.key.is_some() && model.runs.contains(2)),
    }
}

/// Whether to do it twice is to do it once, and the answer tells which it was.
fn is_repeatable(model: CallModel) -> bool {
    model.access == model::Access::Update
        && model.revalidates == Some(Revalidation::ByResult)
        && model.returns == Returns::FromState
}

fn joined(some: &Influences, more: &Influences) -> Influences {
    let mut all = Gathering::default();
    all.add_all(some);
    all.add_all(more);
    all.finish()
}

/// The state of an array is its elements, wherever it is touched from.
fn member(state: State) -> Member {
    match state {
        State::Elements => Member::Elements,
        other => Member::State(other),
    }
}
