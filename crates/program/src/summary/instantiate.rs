//! Calls of analysed code: the callee's summary, put in at the call from the caller's side.

use classfile::CallKind;
use location::{FieldName, MethodName};
use smallvec::SmallVec;

use super::compose::{Composing, extend, extend_by};
use super::functions::Function;
use super::influences::Gathering;
use super::inside::is_local;
use super::through::{Joined, Known, Through, mapped};
use super::within::is_next;
use super::{
    Access, Compared, Comparisons, Handed, Influences, Keys, MAX_SECTIONS, Root, Run, Summary, SummarySection,
};
use crate::class::Program;
use crate::lock::{self, Mode};
use crate::outline::{
    Action, Argument, Event, EventId, Key, Member, Name, NameStep, Object, Outline, SectionSet, Start,
};

/// More functions than this that a method runs are not told of.
const MAX_RUNS: usize = 4;

impl Composing<'_, '_> {
    pub(super) fn call(
        &mut self,
        id: EventId,
        event: &Event,
        kind: CallKind,
        method: MethodName,
        arguments: &[Argument],
    ) {
        let targets = self.targets(id, kind, method, arguments);
        let mut is_known = false;
        self.influence[id.index()] = Influences::default();
        self.name_thread(id, method, arguments);
        self.empty(id, event, method, arguments);
        if kind == CallKind::Interface
            && let Some([Object::Parameter(parameter)]) = arguments.first().map(|first| first.objects.as_slice())
        {
            let held = self.sections(event.held);
            let mut given = Gathering::default();
            arguments[1..].iter().for_each(|argument| self.given(&mut given, argument, held));
            let names = arguments[1..].iter().map(|argument| self.handed(argument)).collect();
            self.add_run(Run { parameter: *parameter, given: given.finish(), names, held });
        }
        if let Some(Function { targets, captured: mut given, .. }) = self.lambda(arguments.first()) {
            given.extend(arguments[1..].iter().cloned());
            for callee in targets.into_iter().filter_map(|target| (self.known)(target)) {
                is_known = true;
                self.instantiate(id, event, &given, callee, Around::Caller, Outside::default());
            }
        }
        is_known |= self.run_handed_out(id, event, arguments);
        for target in &targets {
            // One of several targets that leads back here is a delegate of the same kind, not this object again.
            if targets.len() > 1 && self.component.binary_search(target).is_ok() {
                continue;
            }
            if let Some(callee) = (self.known)(*target) {
                is_known = true;
                self.instantiate(id, event, arguments, callee, Around::Caller, Outside::default());
            }
        }
        if kind != CallKind::Special
            && targets.len() > 1
            && let Some(receiver) = arguments.first()
        {
            // Which code answers depends on which object it is.
            let mut all = Gathering::default();
            all.add_all(&self.influence[id.index()]);
            self.gather(&mut all, &receiver.sources);
            self.influence[id.index()] = all.finish();
        }
        if !is_known && !self.library_call(id, event, method, arguments) {
            // Code that nobody sees: its result may come from anything it was given.
            let mut all = Gathering::default();
            let held = self.sections(event.held);
            arguments.iter().for_each(|argument| self.given(&mut all, argument, held));
            self.influence[id.index()] = all.finish();
        }
        if let [only] = targets.as_slice()
            && let Some(callee) = (self.known)(*only)
        {
            self.result_class[id.index()] = callee.makes;
            let container = callee.within.as_ref().map(|container| self.translate(container, arguments));
            self.within[id.index()] = container.filter(|name| !name.is_unknown()).map(Box::new);
            self.is_taken[id.index()] = callee.hands_over;
            self.is_emptied[id.index()] = callee.hands_over_elements;
            let returned = callee.returns.as_ref().map(|name| self.translate(name, arguments));
            self.result_name[id.index()] = returned.filter(|name| !name.is_unknown());
            // What does more than one thing is no setter.
            if callee.accesses.len() == 1 {
                self.take_out_by_setter(id, event);
            }
        }
    }

    /// What a function is called with that is given on: by its own name, or as some element of its container.
    fn handed(&self, argument: &Argument) -> Name {
        let name = self.settle(&argument.name);
        match self.within_given(Some(argument)) {
            Some(container) if is_local(&name) && name.steps.is_empty() => extend(*container, &[NameStep::Some]),
            _ => name,
        }
    }

    pub(super) fn add_run(&mut self, run: Run) {
        let runs = &mut self.summary.runs;
        if runs.len() < MAX_RUNS && !runs.contains(&run) {
            runs.push(run);
        }
    }

    /// A callee's name from this method's side.
    pub(super) fn translate(&self, name: &Name, arguments: &[Argument]) -> Name {
        let start = match name.start {
            Start::Parameter(position) => match arguments.get(usize::from(position)) {
                Some(argument) => self.settle(&argument.name),
                None => Name::start(Start::Unknown),
            },
            // A local of the callee's is another one in each call.
            Start::Static(field) if self.holdings.is_local(field) && !self.has_captured(field) => {
                Name::start(Start::Unknown)
            }
            Start::Static(_) | Start::Class(_) => Name::start(name.start),
            // What the callee returns is called by the call here.
            Start::Result(_) | Start::Element(_) | Start::New(_) if self.is_found(name) => {
                Name::start(self.found.map_or(Start::Unknown, |(_, call)| Start::Result(call)))
            }
            Start::New(_) | Start::Result(_) | Start::Element(_) | Start::Local(_) | Start::Unknown => {
                Name::start(Start::Unknown)
            }
        };
        // A position that the callee works out is its own.
        match name.clone().with_keys(|key| self.translate_key(key, arguments)) {
            Some(name) => self.settle(&extend_by(&start, &name.steps)),
            None => Name::start(Start::Unknown),
        }
    }

    fn has_captured(&self, field: FieldName) -> bool {
        self.captured.iter().any(|local| local.field == field)
    }

    /// Whether a callee's name is that of what it returns.
    fn is_found(&self, name: &Name) -> bool {
        self.found.is_some_and(|(found, _)| found == name.start)
    }

    /// A callee's key from this method's side.
    fn translate_key(&self, key: Key, arguments: &[Argument]) -> Option<Key> {
        key.in_caller(|position| {
            let argument = arguments.get(usize::from(position))?;
            Key::of(self.program, &self.settle(&argument.name))
        })
        .or_else(|| self.kept_key(key, arguments))
    }

    fn translate_keys(&self, keys: &Keys, arguments: &[Argument]) -> Keys {
        if keys.is_empty() {
            return Keys::default();
        }
        keys.iter().filter_map(|key| self.translate_key(*key, arguments)).collect()
    }

    /// The object of a callee's access from this method's side: as some element of a container, if that is all there is
    /// to call it by.
    fn translate_base(&self, access: &Access, arguments: &[Argument]) -> Name {
        let own = &access.base;
        if own.is_unknown() && access.within.is_none() && !self.is_found(own) {
            return Name::start(Start::Unknown);
        }
        let is_some = |step: &NameStep| if matches!(step, NameStep::Element(_)) { NameStep::Some } else { *step };
        let steps = own.steps.iter().map(is_some);
        match access.within.as_ref().filter(|_| !self.is_found(own)) {
            Some(container) => {
                let steps: SmallVec<[NameStep; 4]> = std::iter::once(NameStep::Some).chain(steps).collect();
                extend(self.translate(container, arguments), &steps)
            }
            None if own.steps.iter().all(|step| !matches!(step, NameStep::Element(_))) => {
                self.translate(own, arguments)
            }
            // A position that this method knows, too, is worth more than some position.
            None => match self.translate(own, arguments) {
                name if name.is_unknown() => {
                    self.translate(&Name { start: own.start, steps: steps.collect() }, arguments)
                }
                name => name,
            },
        }
    }

    /// Puts a callee's summary in at a call.
    pub(super) fn instantiate(
        &mut self,
        id: EventId,
        event: &Event,
        arguments: &[Argument],
        callee: &Summary,
        around: Around,
        outside: Outside<'_>,
    ) {
        if callee.is_idle() {
            return;
        }
        self.found = callee.found.map(|found| (found, id));
        let mut held = self.sections(event.held);
        match around {
            Around::Caller => {}
            Around::Section(section) => held.insert(section),
            Around::Sections(sections) => held = sections,
            Around::Nothing => held = SectionSet::default(),
        }
        let given = |argument: &Argument| {
            let mut all = Gathering::default();
            if matches!(around, Around::Nothing) {
                self.given_to_task(&mut all, argument, held);
                return self.brought_to(all.finish(), held);
            }
            self.given(&mut all, argument, held);
            all.finish()
        };
        let own = outside.captured.unwrap_or(arguments.len());
        let mut given: SmallVec<[Influences; 8]> = arguments[..own].iter().map(given).collect();
        given.resize(arguments.len(), outside.rest.cloned().unwrap_or_default());
        let is_full = self.summary.accesses.len() >= self.extent.callees;
        let mut sections: SmallVec<[Option<usize>; 16]> = SmallVec::with_capacity(callee.sections.len());
        if is_full && self.summary.sections.len() == MAX_SECTIONS && !callee.accesses.is_empty() {
            // Nothing of the callee has a place here.
            self.summary.is_cut = true;
        } else {
            for section in &callee.sections {
                let half = half(self.program, self.outline, &section.lock, arguments);
                let (lock, mode) = match half.map(|(whole, mode)| (self.settle(whole), mode)) {
                    Some((whole, mode)) if !whole.is_unknown() => (whole, mode),
                    _ => (self.translate(&section.lock, arguments), section.mode),
                };
                let inside = mapped(section.inside, &sections).union(held);
                let number = match self.find_section(inside, &lock, section.kind) {
                    Some(outer) => Some(outer),
                    None => self.add_section(SummarySection { lock, mode, call: Some(id), inside, ..section.clone() }),
                };
                sections.push(number);
            }
        }
        if !matches!(around, Around::Nothing) {
            self.callee_waits(
                id,
                callee,
                held,
                |own, lock| own.translate(lock, arguments),
                |set| mapped(set, &sections),
            );
        }
        let mut control =
            if is_full || callee.accesses.is_empty() { Influences::default() } else { self.control(id, event) };
        let is_bare = is_full || callee.accesses.is_empty();
        if let Some(decided) = outside.decided.filter(|decided| !decided.is_empty()) {
            let mut all = Gathering::default();
            all.add_all(&control);
            all.add_all(&self.brought_to(decided.clone(), held));
            control = all.finish();
        }
        let asked = if is_bare { Influences::default() } else { self.guards(event) };
        let awaited = if is_bare { Influences::default() } else { self.awaited(event) };
        let writes = !is_full && callee.accesses.iter().any(|access| access.is_write);
        let compared = if writes { self.compared(event) } else { Comparisons::default() };
        let none = Influences::default();
        let rest = outside.rest.unwrap_or(&none);
        let mut through = Through {
            given: &given,
            rest,
            accesses: SmallVec::new(),
            sections: &sections,
            held,
            known: Known::default(),
            sets: std::mem::take(&mut self.sets),
        };
        let room = self.extent.callees.saturating_sub(self.summary.accesses.len());
        self.summary.accesses.reserve(callee.accesses.len().min(room));
        let is_one_of_many = |argument: &Argument| {
            self.is_each(&argument.name, event) || is_next(&argument.name, &argument.sources, id, event)
        };
        let asked_of = if is_bare { &[] } else { arguments };
        let each: SmallVec<[bool; 4]> = asked_of.iter().map(is_one_of_many).collect();
        let is_each = |access: &Access| match access.base.start {
            Start::Parameter(position) => each.get(usize::from(position)).is_some_and(|each| *each),
            _ => false,
        };
        let choices: SmallVec<[SmallVec<[Name; 2]>; 4]> =
            asked_of.iter().map(|argument| self.choices(argument)).collect();
        let [mut controls, mut guards, mut awaits] =
            [&control, &asked, &awaited].map(|here| Joined { here, known: Known::default() });
        let container = callee.within.as_ref().filter(|_| callee.found.is_some());
        let container = container.map(|container| Box::new(self.translate(container, arguments)));
        let container = container.filter(|container| !container.is_unknown());
        let mut last_compared: Option<(&Comparisons, bool, Comparisons)> = None;
        let mut last_base: Option<(&Name, Name)> = None;
        let mut early: SmallVec<[usize; 4]> = SmallVec::new();
        for (number, access) in callee.accesses.iter().enumerate() {
            if self.is_full_for_callees() {
                break;
            }
            if !self.extent.has_nameless && access.is_nameless() {
                through.accesses.push(None);
                continue;
            }
            let from = [&access.value, &access.address, &access.control, &access.expects];
            if callee.looks_ahead && !from.into_iter().all(|from| through.is_settled(from)) {
                early.push(number);
            }
            let all_compared = match &last_compared {
                Some((known, is_write, all)) if *is_write == access.is_write && known.is_same(&access.compared) => {
                    all.clone()
                }
                _ if access.compared.is_empty() => {
                    if access.is_write {
                        compared.clone()
                    } else {
                        Comparisons::default()
                    }
                }
                _ => {
                    let own = access
                        .compared
                        .iter()
                        .map(|one| Compared { sides: [through.of(&one.sides[0]), through.of(&one.sides[1])], ..*one });
                    let own = own.filter(|one| one.sides.iter().all(|side| !side.is_empty()));
                    let all: Comparisons = own.chain(compared.iter().filter(|_| access.is_write).cloned()).collect();
                    let is_settled =
                        access.compared.iter().flat_map(|one| &one.sides).all(|side| through.is_settled(side));
                    last_compared = is_settled.then(|| (&access.compared, access.is_write, all.clone()));
                    all
                }
            };
            // An answer that the callee only passes on counts if somebody here asks for it.
            let is_heard = || self.is_used[id.index()] || self.is_asked_by_callee(id);
            let is_unheard = access.is_passed_on && access.expects.is_empty() && !is_heard();
            let base = match &last_base {
                Some((own, base)) if access.within.is_none() && **own == access.base => base.clone(),
                _ => {
                    let base = self.translate_base(access, arguments);
                    last_base = access.within.is_none().then(|| (&access.base, base.clone()));
                    base
                }
            };
            let within = match access.base.start {
                Start::Parameter(position) => self.within_given(arguments.get(usize::from(position))),
                _ if self.is_found(&access.base) => container.clone(),
                _ => None,
            };
            let is_known = crate::variable::holder(&base).is_some() || within.is_some();
            let put = Access {
                is_given: access.bare_parameter().is_some() && is_known,
                base,
                member: access.member,
                is_write: access.is_write,
                spot: access.spot,
                event: id,
                held: mapped(access.held, &sections).union(held),
                value: through.of(&access.value),
                address: through.of(&access.address),
                control: controls.of(&mut through, &access.control),
                guards: guards.of(&mut through, &access.guards),
                awaited: awaits.of(&mut through, &access.awaited),
                expects: through.of(&access.expects),
                is_compound: access.is_compound && !is_unheard,
                is_passed_on: access.is_passed_on && self.is_passed_on(id),
                is_repeatable: access.is_repeatable,
                is_refusing: access.is_refusing && !is_unheard,
                is_removal: access.is_removal,
                is_mapped: access.is_mapped,
                is_keyed: access.is_keyed,
                keys: self.translate_keys(&access.keys, arguments),
                is_of_keys: access.is_of_keys,
                is_of_values: access.is_of_values,
                is_of_each: access.is_of_each || is_each(access),
                within,
                compared: all_compared,
            };
            let chosen = match access.base.start {
                Start::Parameter(position) => choices.get(usize::from(position)).map_or(&[][..], |names| names),
                _ => &[],
            };
            if chosen.is_empty() {
                let added = self.add_access(put);
                through.accesses.push(added);
                continue;
            }
            let mut others =
                chosen.iter().map(|name| Access { base: extend_by(name, &access.base.steps), ..put.clone() });
            let first = others.next();
            let others: SmallVec<[Access; 2]> = others.collect();
            let added = self.add_access(first.unwrap_or(put));
            through.accesses.push(added);
            others.into_iter().for_each(|other| {
                self.add_access(other);
            });
        }
        for number in early {
            let (access, Some(Some(put))) = (&callee.accesses[number], through.accesses.get(number)) else { continue };
            let put = put.index();
            let [value, address, expects] =
                [&access.value, &access.address, &access.expects].map(|from| through.of(from));
            let control = controls.of(&mut through, &access.control);
            let put = &mut self.summary.accesses[put];
            (put.value, put.address, put.control, put.expects) = (value, address, control, expects);
        }
        let runs: SmallVec<[Run; 1]> = callee
            .runs
            .iter()
            .filter(|_| !matches!(around, Around::Nothing))
            .map(|run| Run {
                parameter: run.parameter,
                given: through.of(&run.given),
                names: run.names.iter().map(|name| self.translate(name, arguments)).collect(),
                held: mapped(run.held, &sections).union(held),
            })
            .collect();
        self.found = None;
        // Sections of the callee have ended when it returns; those that were open before go on.
        let own = self.brought_to(through.of(&callee.result), held);
        let captured = callee.function.as_ref().map(|function| self.brought_to(through.of(&function.given), held));
        let question = self.brought_to(through.of(&callee.refusals), held);
        let awaited = self.brought_to(through.of(&callee.awaited), held);
        self.sets = through.sets;
        if let (Some(function), Some(given)) = (&callee.function, captured) {
            let names = function.names.iter().map(|name| self.translate(name, arguments)).collect();
            self.handed_out[id.index()] = Some(Handed { method: function.method, names, given });
        }
        let mut result = Gathering::default();
        result.add_all(&self.influence[id.index()]);
        result.add_all(&own);
        for influence in &own {
            if let Root::Access(access) = influence.root
                && let Some(access) = self.summary.accesses.get(access.index())
            {
                let part = match access.member {
                    Member::Field(field) => extend(access.base.clone(), &[NameStep::Field(field)]),
                    _ => access.base.clone(),
                };
                result.add_all(&self.contents(&part, held));
            }
        }
        self.influence[id.index()] = result.finish();
        // Who starts a task goes on whatever becomes of it.
        if !matches!(around, Around::Nothing) {
            self.add_guard(id, question, false);
            self.add_guard(id, awaited, true);
        }
        self.run_given(id, event, arguments, runs);
    }
}

/// What a function gets from the code that runs it.
#[derive(Clone, Copy, Default)]
pub(super) struct Outside<'i> {
    /// Where parameters come from that are not among the arguments.
    pub(super) rest: Option<&'i Influences>,
    /// How many of the arguments it has captured, if the others are parameters of that kind.
    pub(super) captured: Option<usize>,
    /// What decides whether it is run.
    pub(super) decided: Option<&'i Influences>,
}

/// What is held around a callee.
#[derive(Clone, Copy)]
pub(super) enum Around {
    /// What its caller holds.
    Caller,
    /// That, and a section that the call itself is.
    Section(usize),
    /// These sections: those of the code that runs it.
    Sections(SectionSet),
    /// Nothing: it runs later, or elsewhere.
    Nothing,
}

/// The lock that a callee is given one half of, by its own name in the caller, and which: `with(pair.readLock(), ..)`.
pub(crate) fn half<'o>(
    program: &Program,
    outline: &'o Outline,
    lock: &Name,
    arguments: &[Argument],
) -> Option<(&'o Name, Mode)> {
    let Start::Parameter(position) = lock.start else { return None };
    let given = arguments.get(usize::from(position)).filter(|_| lock.steps.is_empty())?;
    let [Object::Event(event)] = *given.objects.as_slice() else { return None };
    let Action::Call { method, arguments: of, .. } = &outline.events.get(event.index())?.action else { return None };
    Some((&of.first()?.name, lock::view(program, *method)??))
}
