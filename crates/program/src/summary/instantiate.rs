//! Calls of analysed code: the callee's summary, put in at the call from the caller's side.

use classfile::CallKind;
use location::MethodName;

use super::compose::{Composing, extend};
use super::{Access, AccessId, Compared, Influence, Influences, Root, Summary, SummarySection};
use crate::class::MethodId;
use crate::outline::{Action, Argument, Event, EventId, Name, NameStep, Object, SectionSet, Start};

impl Composing<'_, '_> {
    pub(super) fn call(
        &mut self,
        id: EventId,
        event: &Event,
        kind: CallKind,
        method: MethodName,
        arguments: &[Argument],
    ) {
        let receiver = match arguments.first() {
            Some(first) if kind != CallKind::Static => self.holding(first).class,
            _ => None,
        };
        let targets = match receiver {
            Some(class) if kind != CallKind::Special => self.calls.targets_on(self.program, class, method),
            _ => self.calls.targets(self.program, kind, method),
        };
        let mut is_known = false;
        self.influence[id.index()] = Influences::new();
        if let Some((target, mut given)) = self.lambda(arguments.first()) {
            given.extend(arguments[1..].iter().cloned());
            if let Some(callee) = (self.known)(target) {
                is_known = true;
                self.instantiate(id, event, &given, callee, Around::Caller, &Influences::new());
            }
        }
        for target in targets.known() {
            // One of several targets that leads back here is a delegate of the same kind, not this object again.
            if targets.known().len() > 1 && self.component.contains(target) {
                continue;
            }
            if let Some(callee) = (self.known)(*target) {
                is_known = true;
                self.instantiate(id, event, arguments, callee, Around::Caller, &Influences::new());
            }
        }
        if !is_known && !self.library_call(id, event, method, arguments) {
            // Code that nobody sees: its result may come from anything it was given.
            let mut all = Influences::new();
            let held = self.sections(event.held);
            for argument in arguments {
                for influence in self.given(argument, held) {
                    self.add_influence(&mut all, influence);
                }
            }
            self.influence[id.index()] = all;
        }
        if let [only] = targets.known()
            && let Some(callee) = (self.known)(*only)
        {
            self.result_class[id.index()] = callee.makes;
            self.is_taken[id.index()] = callee.hands_over;
            let returned = callee.returns.as_ref().map(|name| self.translate(name, arguments));
            self.result_name[id.index()] = returned.filter(|name| !name.is_unknown());
        }
    }

    /// The code of a lambda that was made in this method, and what it captured.
    pub(super) fn lambda(&self, argument: Option<&Argument>) -> Option<(MethodId, Vec<Argument>)> {
        let [Object::Event(made)] = argument?.objects.as_slice() else { return None };
        match &self.outline.events.get(made.index())?.action {
            Action::Lambda { method, arguments } => {
                let target = self.calls.hierarchy.resolve_name(self.program, *method)?;
                Some((target, arguments.clone()))
            }
            _ => None,
        }
    }

    /// A callee's name from this method's side.
    fn translate(&self, name: &Name, arguments: &[Argument]) -> Name {
        let start = match name.start {
            Start::Parameter(position) => match arguments.get(usize::from(position)) {
                Some(argument) => self.settle(&argument.name),
                None => Name::start(Start::Unknown),
            },
            Start::Static(_) | Start::Class(_) => Name::start(name.start),
            Start::New(_) | Start::Result(_) | Start::Local(_) | Start::Unknown => Name::start(Start::Unknown),
        };
        // An element's position is a register of the callee.
        if name.steps.iter().any(|step| matches!(step, NameStep::Element(_))) {
            return Name::start(Start::Unknown);
        }
        extend(start, &name.steps)
    }

    /// Puts a callee's summary in at a call; `rest` says where parameters come from that are not among the arguments.
    pub(super) fn instantiate(
        &mut self,
        id: EventId,
        event: &Event,
        arguments: &[Argument],
        callee: &Summary,
        around: Around,
        rest: &Influences,
    ) {
        let mut held = self.sections(event.held);
        match around {
            Around::Caller => {}
            Around::Section(section) => held.insert(section),
            Around::Nothing => held = SectionSet::default(),
        }
        let mut given: Vec<Influences> = arguments.iter().map(|argument| self.given(argument, held)).collect();
        for influence in given.iter_mut().flatten() {
            if let (Around::Nothing, Root::Access(access)) = (around, influence.root) {
                influence.ended = influence.ended.union(self.held_at(access));
            }
        }
        let given = Given { arguments: &given, rest };
        let (control, asked) = (self.control(event), self.guards(event));
        let mut sections: Vec<Option<usize>> = Vec::with_capacity(callee.sections.len());
        for section in &callee.sections {
            let lock = self.translate(&section.lock, arguments);
            let inside = mapped(section.inside, &sections).union(held);
            let number = match self.find_section(inside, &lock, section.kind) {
                Some(outer) => Some(outer),
                None => self.add_section(SummarySection { lock, call: Some(id), inside, ..section.clone() }),
            };
            sections.push(number);
        }
        let mut accesses: Vec<Option<AccessId>> = Vec::with_capacity(callee.accesses.len());
        for access in &callee.accesses {
            let through = |influences: &Influences| self.through(influences, &given, &accesses, &sections, held);
            let mut decided = through(&access.control);
            for influence in &control {
                self.add_influence(&mut decided, *influence);
            }
            let put = Access {
                base: self.translate(&access.base, arguments),
                member: access.member,
                is_write: access.is_write,
                spot: access.spot,
                event: id,
                held: mapped(access.held, &sections).union(held),
                value: through(&access.value),
                address: through(&access.address),
                control: decided,
                guards: {
                    let mut guards = through(&access.guards);
                    for influence in &asked {
                        self.add_influence(&mut guards, *influence);
                    }
                    guards
                },
                expects: through(&access.expects),
                is_compound: access.is_compound,
                is_repeatable: access.is_repeatable,
                is_keyed: access.is_keyed,
                compared: access
                    .compared
                    .iter()
                    .map(|one| Compared {
                        sides: [through(&one.sides[0]), through(&one.sides[1])],
                        are_equal: one.are_equal,
                    })
                    .filter(|one| one.sides.iter().all(|side| !side.is_empty()))
                    .chain(if access.is_write { self.compared(event) } else { Vec::new() })
                    .collect(),
            };
            let added = self.add_access(put);
            accesses.push(added);
        }
        if !callee.refusals.is_empty() {
            let mut question = self.through(&callee.refusals, &given, &accesses, &sections, held);
            for influence in &mut question {
                if let Root::Access(access) = influence.root {
                    influence.ended = influence.ended.union(self.held_at(access).without(held));
                }
            }
            self.add_guard(id, question);
        }
        let mut result = std::mem::take(&mut self.influence[id.index()]);
        for mut influence in self.through(&callee.result, &given, &accesses, &sections, held) {
            // Sections of the callee have ended when it returns; those that were open before go on.
            if let Root::Access(access) = influence.root {
                influence.ended = influence.ended.union(self.held_at(access).without(held));
                let base = self.summary.accesses.get(access.index()).map(|access| access.base.clone());
                for inside in base.map(|base| self.contents(&base, held)).unwrap_or_default() {
                    self.add_influence(&mut result, inside);
                }
            }
            self.add_influence(&mut result, influence);
        }
        self.influence[id.index()] = result;
    }

    /// Influences of a callee from this method's side.
    fn through(
        &self,
        influences: &Influences,
        given: &Given<'_>,
        accesses: &[Option<AccessId>],
        sections: &[Option<usize>],
        held: SectionSet,
    ) -> Influences {
        let mut all = Influences::new();
        for influence in influences {
            match influence.root {
                Root::Parameter(position) => {
                    for from in given.arguments.get(usize::from(position)).unwrap_or(given.rest) {
                        self.add_influence(&mut all, *from);
                    }
                }
                Root::Access(access) => {
                    if let Some(Some(access)) = accesses.get(access.index()) {
                        // A section of the callee that is a part of one around the call goes on.
                        let ended = mapped(influence.ended, sections).without(held);
                        self.add_influence(&mut all, Influence { root: Root::Access(*access), ended });
                    }
                }
            }
        }
        all
    }
}

/// What is held around a callee.
#[derive(Clone, Copy)]
pub(super) enum Around {
    /// What its caller holds.
    Caller,
    /// That, and a section that the call itself is.
    Section(usize),
    /// Nothing: it runs later, or elsewhere.
    Nothing,
}

/// Where the parameters of a callee come from.
struct Given<'g> {
    arguments: &'g [Influences],
    rest: &'g Influences,
}

fn mapped(set: SectionSet, sections: &[Option<usize>]) -> SectionSet {
    let mut all = SectionSet::default();
    for section in set.iter() {
        if let Some(Some(number)) = sections.get(section) {
            all.insert(*number);
        }
    }
    all
}
