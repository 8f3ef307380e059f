//! Objects that only the method itself has a name for, what was put into them, and what a read yields.

use location::FieldName;
use smallvec::SmallVec;

use super::compose::{Composing, extend};
use super::influences::Gathering;
use super::{Access, Influences, Root, SummarySection};
use crate::outline::{
    Action, Argument, Event, EventId, Key, KeyStart, Member, Name, NameStep, Object, SectionSet, Sources, Start, Steps,
};

/// More things than this that are put into objects are not told apart.
const MAX_PUTS: usize = 64;

/// Something that was put into an object that only the method has a name for.
pub(super) struct Put {
    start: Start,
    /// From the object to where it was put.
    path: Steps,
    event: EventId,
    value: Influences,
    /// The method itself has set a field: what was there before is gone.
    is_whole: bool,
    /// By a constructor.
    is_made: bool,
}

impl Composing<'_, '_> {
    /// The section that one access of a volatile field is: nothing comes in between, and nothing goes with it.
    pub(super) fn volatile_section(
        &mut self,
        id: EventId,
        event: &Event,
        base: &Name,
        member: Member,
    ) -> Option<usize> {
        let lock = match member {
            Member::Field(field) if self.program.is_volatile_field(field) => {
                extend(self.settle(base), &[NameStep::Field(field)])
            }
            Member::Static(field) if self.program.is_volatile_field(field) => Name::start(Start::Static(field)),
            _ => return None,
        };
        if lock.is_unknown() {
            return None;
        }
        self.add_section(SummarySection {
            lock,
            kind: crate::LockKind::Own,
            mode: crate::Mode::Exclusive,
            spot: self.spot(event.pc, event.line),
            end_line: event.line,
            call: Some(id),
            inside: self.sections(event.held),
            is_method: true,
        })
    }

    /// What an object that is made here was given for a field that keeps it.
    pub(super) fn kept(&self, register: u32, field: FieldName) -> Option<&Name> {
        let position = self.holdings.kept(self.program, field)?;
        let is_it = |object: &Object| matches!(object, Object::New { register: made, .. } if *made == register);
        self.outline.events.iter().find_map(|event| match &event.action {
            Action::Call { method, arguments, .. } if self.program.names.text(method.name) == "<init>" => {
                let is_made = arguments.first().is_some_and(|first| first.objects.iter().any(is_it));
                arguments.get(usize::from(position)).filter(|_| is_made).map(|given| &given.name)
            }
            _ => None,
        })
    }

    /// The key that is a field of an object which this method makes: what it has given to the constructor for it.
    pub(super) fn kept_key(&self, key: Key, arguments: &[Argument]) -> Option<Key> {
        let (KeyStart::Parameter(position), Some(name)) = (key.start, key.field) else { return None };
        let made = &arguments.get(usize::from(position))?.name;
        let Start::New(register) = made.start else { return None };
        if !made.steps.is_empty() {
            return None;
        }
        let class = self.outline.events.iter().find_map(|event| match &event.action {
            Action::Call { arguments, .. } => {
                arguments.iter().flat_map(|argument| &argument.objects).find_map(|object| match *object {
                    Object::New { register: other, class } if other == register => Some(class),
                    _ => None,
                })
            }
            _ => None,
        })?;
        let class = self.program.class(class)?;
        let field = self.program.fields_of(class).find(|field| self.program.field(*field).name == name)?;
        let given = self.kept(register, self.program.field_name(field))?;
        Key::of(self.program, &self.settle(given))
    }

    /// Notes what an access puts into an object that only this method has a name for.
    pub(super) fn put(&mut self, access: &Access) {
        // What stands in a container others may have, too. What another thread puts there is not what this one finds next.
        let is_found = access.within.is_some() || matches!(access.base.start, Start::Element(_));
        // An object that it was given is no part of it: `contract.grid` stays where it was, whoever has the contract.
        let is_given = |step: &NameStep| match step {
            NameStep::Field(field) => {
                self.program.is_final_field(*field) && !self.holdings.is_own(self.program, *field)
            }
            _ => false,
        };
        if !access.is_write
            || self.is_task
            || is_found
            || !is_local(&access.base)
            || access.base.steps.iter().any(is_given)
        {
            return;
        }
        let start = access.base.start;
        let path = match access.member {
            Member::Field(field) => access.base.steps.then(&[NameStep::Field(field)]),
            _ => access.base.steps.clone(),
        };
        let is_same = |put: &Put| put.start == start && put.path == path && put.event == access.event;
        if let Some(known) = self.inside.iter_mut().find(|put| is_same(put)) {
            let mut all = Gathering::default();
            all.add_all(&known.value);
            all.add_all(&access.value);
            known.value = all.finish();
        } else if self.inside.len() < MAX_PUTS {
            let is_whole = matches!(access.member, Member::Field(_)) && access.spot.method == self.method;
            let is_made = access.spot.method.name == self.program.roots.constructor;
            let value = access.value.clone();
            self.inside.push(Put { start, path, event: access.event, value, is_whole, is_made });
        }
    }

    /// What was put into an object that only this method has a name for, as seen where `held` is open.
    pub(super) fn contents(&self, name: &Name, held: SectionSet) -> Influences {
        self.contents_of(name, held, |_| true)
    }

    fn contents_of(&self, name: &Name, held: SectionSet, counts: impl Fn(&Put) -> bool) -> Influences {
        if self.inside.is_empty() {
            return Influences::default();
        }
        let name = self.settle(name);
        // A part of what is asked for, or what that is a part of.
        let is_part = |put: &&Put| put.start == name.start && put.path.iter().zip(&name.steps).all(|(a, b)| a == b);
        let mut all = Gathering::default();
        let counts = |put: &&Put| !put.value.is_empty() && counts(put) && !self.is_replaced(put);
        for put in self.inside.iter().filter(is_part).filter(counts) {
            all.add_all(&put.value);
        }
        self.brought_to(all.finish(), held)
    }

    /// Whether something else has taken the place of what was put there.
    fn is_replaced(&self, put: &Put) -> bool {
        let is_other = |other: &&Put| {
            other.is_whole && other.event != put.event && other.start == put.start && other.path == put.path
        };
        let others: SmallVec<[EventId; 4]> = self.inside.iter().filter(is_other).map(|other| other.event).collect();
        put.is_whole
            && !others.is_empty()
            && put.event != self.at
            && !self.outline.leads_to(put.event, self.at, &others)
    }

    /// The objects that an argument is one of, where a condition chooses between fields: `(isNorth ? north : south)`.
    pub(super) fn choices(&self, argument: &Argument) -> SmallVec<[Name; 2]> {
        let mut names = SmallVec::new();
        if !matches!(argument.name, Name { start: Start::Local(_), .. }) || !argument.name.steps.is_empty() {
            return names;
        }
        for object in &argument.objects {
            let name = match object {
                Object::Event(event) => self.result_name.get(event.index()).cloned().flatten(),
                _ => None,
            };
            match name.filter(|name| matches!(name.steps.last(), Some(NameStep::Field(_))) && !is_local(name)) {
                Some(name) => names.push(name),
                None => return SmallVec::new(),
            }
        }
        names
    }

    /// Where an argument comes from: the object itself, and what was put into it.
    pub(super) fn given(&self, all: &mut Gathering, argument: &Argument, held: SectionSet) {
        self.gather(all, &argument.sources);
        all.add_all(&self.contents(&argument.name, held));
    }

    /// The same of a task, which finds out for itself what has been put into an object since it was made.
    pub(super) fn given_to_task(&self, all: &mut Gathering, argument: &Argument, held: SectionSet) {
        self.gather(all, &argument.sources);
        all.add_all(&self.contents_of(&argument.name, held, |put| put.is_made));
    }

    /// Whether a field leads from an object to another one of its class.
    fn is_link(&self, member: Member) -> bool {
        let Member::Field(name) = member else { return false };
        let Some(field) = self.program.resolve_field(name) else { return false };
        let descriptor = self.program.names.text(self.program.field(field).descriptor);
        let class = self.program.names.text(self.program.header(self.program.class_of_field(field)).name.0);
        descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')) == Some(class)
    }

    /// Adds a read of the method itself; tells where what it yields comes from.
    pub(super) fn read(
        &mut self,
        id: EventId,
        event: &Event,
        base: &Name,
        member: Member,
        address: &Sources,
    ) -> Influences {
        let held = self.sections(event.held);
        let mut yielded = Gathering::default();
        if let Some(added) = self.add_own(id, event, base, member, address, None) {
            yielded.add_all(&self.brought_to(Influences::one(Root::Access(added)), held));
        }
        // What stands at an old position is as old as the position; what comes after an old link is as old as the link.
        if member == Member::Elements || self.is_link(member) {
            self.gather(&mut yielded, address);
        }
        let part = match member {
            Member::Field(field) => extend(base.clone(), &[NameStep::Field(field)]),
            _ => base.clone(),
        };
        yielded.add_all(&self.contents(&part, held));
        yielded.finish()
    }
}

/// Whether only the method itself has a name for the object, or for what it is a part of.
pub(super) fn is_local(name: &Name) -> bool {
    matches!(name.start, Start::New(_) | Start::Result(_) | Start::Element(_) | Start::Local(_))
}
