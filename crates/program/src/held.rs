//! Locks that are held: how they are reached from the objects that they cover, and what they are called on the other side
//! of a call.

use std::borrow::Cow;

use location::FieldName;
use smallvec::SmallVec;

use crate::class::Program;
use crate::lock::{LockKind, Mode};
use crate::outline::{
    Action, Argument, EventId, Key, Member, Name, NameStep, Object, Origin, Outline, OutlineSection, SectionSet,
    Source, Start,
};
use crate::path::MAX_STEPS;
use crate::summary::{Access, Keys, Summary};

/// A lock that is held, by its name in some method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldLock {
    pub name: Name,
    pub kind: LockKind,
    pub mode: Mode,
}

impl HeldLock {
    /// Whether two threads that hold these at the same time exclude each other, the names being one lock.
    pub(crate) fn excludes(&self, kind: LockKind, mode: Mode) -> bool {
        self.kind == kind && (self.mode == Mode::Exclusive || mode == Mode::Exclusive)
    }
}

/// How a lock is reached from the object that it covers: from the object go back over some steps, then on.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Steps from the common owner to the object; the lock is static if there is no owner.
    pub(crate) object: Option<Name>,
    pub(crate) lock: Name,
    pub(crate) kind: LockKind,
    pub(crate) mode: Mode,
    /// The whole name of the object where the relation was found: what it is not, it is in no other place.
    pub(crate) covered: Name,
}

impl PartialEq for Relation {
    fn eq(&self, other: &Relation) -> bool {
        self.is_same_lock(other) && self.mode == other.mode
    }
}

impl Eq for Relation {}

impl Relation {
    /// The relation between an object and a lock that are both named in one method.
    pub fn between(object: &Name, held: &HeldLock) -> Option<Relation> {
        Relation::by_key(object, &[], held)
    }

    /// The same of an access, which a lock of its key covers as well.
    pub fn of(access: &Access, held: &HeldLock) -> Option<Relation> {
        Relation::by_key(&access.base, &access.keys, held)
            .or_else(|| Relation::by_key(access.within.as_ref().map(|_| access.object())?.as_ref(), &access.keys, held))
    }

    pub(crate) fn by_key(object: &Name, keys: &[Key], held: &HeldLock) -> Option<Relation> {
        let (kind, mode) = (held.kind, held.mode);
        let mut lock = held.name.clone();
        if lock.is_unknown() {
            return None;
        }
        let is_static = matches!(lock.start, Start::Static(_) | Start::Class(_));
        let mut object = Cow::Borrowed(object);
        if let Some(step @ NameStep::Element(own)) = lock.steps.last().copied().as_ref() {
            let touched = NameStep::Element(Key::TOUCHED);
            if keys.contains(own) {
                lock = lock.owner().then(&[touched]);
            } else if !is_static && object.steps.contains(step) {
                // The object stands at the position that tells the lock.
                let steps = object.steps.iter().map(|other| if other == step { touched } else { *other });
                object = Cow::Owned(Name { start: object.start, steps: steps.collect() });
                lock = lock.owner().then(&[touched]);
            }
        }
        if is_static {
            return Some(Relation { object: None, lock, kind, mode, covered: object.into_owned() });
        }
        Relation::from_owner(&object, lock, held)
    }

    /// The same, where a lock may be told by the position at which the object was found.
    pub fn of_found(summary: &Summary, access: &Access, held: &HeldLock) -> Option<Relation> {
        let is_told = matches!(held.name.steps.last(), Some(NameStep::Element(own)) if !access.keys.contains(own));
        let found = is_told.then(|| found(summary, access)).flatten();
        found.and_then(|object| Relation::by_key(&object, &[], held)).or_else(|| Relation::of(access, held))
    }

    /// Whether the position of the object tells the lock.
    pub(crate) fn is_by_position(&self) -> bool {
        let steps = self.object.iter().flat_map(|object| &object.steps);
        steps.into_iter().any(|step| *step == NameStep::Element(Key::TOUCHED))
    }

    /// All relations of an access to a lock: one that a static field leads to is also that of the object there.
    pub fn all_of(access: &Access, held: &HeldLock) -> impl Iterator<Item = Relation> {
        let is_static = matches!(held.name.start, Start::Static(_));
        let from_owner = is_static.then(|| Relation::from_owner(&access.base, held.name.clone(), held)).flatten();
        Relation::of(access, held).into_iter().chain(from_owner)
    }

    fn from_owner(object: &Name, lock: Name, held: &HeldLock) -> Option<Relation> {
        if object.start != lock.start {
            return None;
        }
        let common = object.steps.iter().zip(&lock.steps).take_while(|(a, b)| a == b).count();
        let rest = |name: &Name| Name { start: Start::Unknown, steps: name.steps[common..].into() };
        let (kind, mode, covered) = (held.kind, held.mode, object.clone());
        Some(Relation { object: Some(rest(object)), lock: rest(&lock), kind, mode, covered })
    }

    /// Whether two threads that hold these locks of one object exclude each other.
    pub fn excludes(&self, other: &Relation) -> bool {
        let is_exclusive = self.mode == Mode::Exclusive || other.mode == Mode::Exclusive;
        is_exclusive && self.kind == other.kind && self.object == other.object && self.lock == other.lock
    }

    /// Whether both are one lock, however it is held.
    pub fn is_same_lock(&self, other: &Relation) -> bool {
        self.kind == other.kind && self.object == other.object && self.lock == other.lock
    }

    /// The steps from the owner of both to the object, and the lock's name from there; no owner if the lock is static.
    pub(crate) fn parts(&self) -> (Option<&[NameStep]>, &Name) {
        (self.object.as_ref().map(|object| &*object.steps), &self.lock)
    }

    /// Whether one of the held locks is in this relation to an object of this name.
    pub(crate) fn is_held(&self, object: &Name, keys: &[Key], held: &[HeldLock]) -> bool {
        let wanted = match &self.object {
            None => self.lock.clone(),
            Some(suffix) => {
                let Some(kept) = object.steps.len().checked_sub(suffix.steps.len()) else { return false };
                let mut position = None;
                let is_it = |(own, wanted): (&NameStep, &NameStep)| match (own, wanted) {
                    (NameStep::Element(_), NameStep::Element(key)) if *key == Key::TOUCHED => {
                        *position.get_or_insert(*own) == *own
                    }
                    _ => own == wanted,
                };
                if object.is_unknown() || !object.steps[kept..].iter().zip(&suffix.steps).all(is_it) {
                    return false;
                }
                let owner = Name { start: object.start, steps: object.steps[..kept].into() };
                match (position, self.lock.steps.split_last()) {
                    (Some(position), Some((_, lock))) => owner.then(lock).then(&[position]),
                    _ => owner.then(&self.lock.steps),
                }
            }
        };
        let by_key = matches!(wanted.steps.last(), Some(NameStep::Element(own)) if *own == Key::TOUCHED);
        held.iter().filter(|held| held.excludes(self.kind, self.mode)).any(|held| match held.name.steps.last() {
            Some(NameStep::Element(own)) if by_key && keys.contains(own) => held.name.owner().same(&wanted.owner()),
            _ => held.name.same(&wanted),
        })
    }
}

/// The object of an access by the position at which it was found in its container, if that is known: by the method itself,
/// or by what it calls.
pub(crate) fn found(summary: &Summary, access: &Access) -> Option<Name> {
    let (container, look, rest): (Cow<'_, Name>, EventId, &[NameStep]) = match (&access.within, access.base.start) {
        (Some(container), Start::Result(look)) => (Cow::Borrowed(container), look, &access.base.steps),
        (Some(_), _) => return None,
        (None, start) => {
            let steps = &access.base.steps;
            let at = steps.iter().rposition(|step| *step == NameStep::Some)?;
            (Cow::Owned(Name { start, steps: steps[..at].into() }), access.event, &steps[at + 1..])
        }
    };
    let looks = summary.accesses.iter().filter(|other| other.event == look && other.is_of_contents());
    let mut keys = looks.filter(|other| other.base.same(&container)).map(|other| &*other.keys);
    let [key] = *keys.next()? else { return None };
    keys.all(|other| *other == [key]).then(|| container.then(&[NameStep::Element(key)]).then(rest))
}

/// The locks of some sections of an outline.
pub(crate) fn outline_locks(outline: &Outline, sections: SectionSet) -> Vec<HeldLock> {
    let open: SmallVec<[&OutlineSection; 4]> =
        sections.iter().filter_map(|section| outline.sections.get(section)).collect();
    let mut locks: Vec<HeldLock> = open
        .iter()
        .map(|section| HeldLock { name: section.lock.clone(), kind: section.kind, mode: section.mode })
        .collect();
    let choices: SmallVec<[SmallVec<[Name; 2]>; 4]> =
        open.iter().map(|section| chosen_among(outline, section)).collect();
    for (index, section) in open.iter().enumerate() {
        // As many locks as there are objects that each may be: `low` and `high` are `from` and `to`.
        let chosen = &choices[index];
        let is_alike = |(other, among): &(&&OutlineSection, &SmallVec<[Name; 2]>)| {
            other.kind == section.kind
                && other.mode == section.mode
                && other.lock.steps == section.lock.steps
                && among.len() == chosen.len()
                && among.iter().all(|object| chosen.contains(object))
        };
        let is_other_choice = |other: &&&OutlineSection| {
            other.kind == section.kind
                && other.mode == section.mode
                && other.lock.owner() == section.lock.owner()
                && other.keys != section.keys
                && other.keys.len() == section.keys.len()
                && other.keys.iter().all(|key| section.keys.contains(key))
        };
        // Of two keys, the one that is chosen and the one that is not.
        if section.keys.len() == 2
            && section.keys[0] != section.keys[1]
            && open[index..].iter().any(|other| is_other_choice(&other))
        {
            locks.extend(section.keys.iter().map(|key| {
                let name = section.lock.owner().then(&[NameStep::Element(*key)]);
                HeldLock { name, kind: section.kind, mode: section.mode }
            }));
        }
        let alike = || open[index..].iter().zip(&choices[index..]).filter(is_alike);
        if chosen.len() > 1 && alike().count() == chosen.len() {
            locks.extend(chosen.iter().map(|object| {
                let name = object.then(&section.lock.steps);
                HeldLock { name, kind: section.kind, mode: section.mode }
            }));
        }
    }
    locks
}

/// The names of the objects that the lock of a section starts with, where it may be one of several; none if one of them has no
/// name. What is read twice from one field, with the method never writing such a field, has one name.
fn chosen_among(outline: &Outline, section: &OutlineSection) -> SmallVec<[Name; 2]> {
    let is_written = |field: FieldName| {
        outline.events.iter().any(|event| match event.action {
            Action::Write { member: Member::Field(other) | Member::Static(other), .. } => {
                other.name == field.name && other.descriptor == field.descriptor
            }
            _ => false,
        })
    };
    let name_of = |object: &Object| match *object {
        Object::Parameter(position) => Some(Name::start(Start::Parameter(position))),
        Object::New { register, .. } => Some(Name::start(Start::New(register))),
        Object::Event(event) => Some(match &outline.events[event.index()].action {
            Action::Read { base, member: Member::Field(field), .. } if !base.is_unknown() && !is_written(*field) => {
                base.then(&[NameStep::Field(*field)])
            }
            Action::Read { member: Member::Static(field), .. } if !is_written(*field) => {
                Name::start(Start::Static(*field))
            }
            _ => Name::start(Start::Result(event)),
        }),
        Object::Int(_) | Object::Unknown => None,
    };
    if !section.told.is_empty() {
        return section.told.clone();
    }
    if section.objects.len() < 2 {
        return SmallVec::new();
    }
    let mut names: SmallVec<[Name; 2]> = SmallVec::new();
    for object in &section.objects {
        let Some(name) = name_of(object) else { return SmallVec::new() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A lock of the caller by all names that the callee has for it.
pub(crate) fn to_callee(program: &Program, lock: HeldLock, arguments: &[Argument]) -> Vec<HeldLock> {
    let own = lock.name.clone();
    let Some(name) = lock.name.with_keys(|key| key.in_callee(program, arguments)) else { return Vec::new() };
    let lock = HeldLock { name, ..lock };
    if matches!(lock.name.start, Start::Static(_) | Start::Class(_)) {
        return vec![lock];
    }
    let mut named = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        let given = &argument.name;
        let is_below = !given.is_unknown() && given.start == own.start && own.steps.starts_with(&given.steps);
        if is_below {
            let steps = lock.name.steps[given.steps.len()..].into();
            let name = Name { start: Start::Parameter(position as u16), steps };
            named.push(HeldLock { name, ..lock.clone() });
        }
    }
    named
}

/// The locks of some sections of a method, which may be open under another name than that of what they guard: `low` and
/// `high` are `from` and `to`.
pub fn locks_of(summary: &Summary, outline: &Outline, sections: SectionSet) -> Vec<HeldLock> {
    let mut own = SectionSet::default();
    for section in sections.iter().map(|section| &summary.sections[section]).filter(|section| section.call.is_none()) {
        let is_it = |own: &OutlineSection| own.pc == section.spot.pc && own.is_method == section.is_method;
        if let Some(number) = outline.sections.iter().position(is_it) {
            own.insert(number);
        }
    }
    let mut all = locks(summary, sections);
    all.extend(outline_locks(outline, own));
    all
}

/// The locks of some sections of a summary.
pub fn locks(summary: &Summary, sections: SectionSet) -> Vec<HeldLock> {
    sections
        .iter()
        .map(|section| &summary.sections[section])
        .map(|section| HeldLock { name: section.lock.clone(), kind: section.kind, mode: section.mode })
        .collect()
}

/// A name of the callee as the caller has it.
pub(crate) fn from_caller(program: &Program, name: &Name, arguments: &[Argument]) -> Name {
    let Some(name) = name.clone().with_keys(|key| key_from_caller(program, key, arguments)) else {
        return Name::start(Start::Unknown);
    };
    match name.start {
        Start::Parameter(position) => match arguments.get(usize::from(position)) {
            Some(argument)
                if !argument.name.is_unknown() && argument.name.steps.len() + name.steps.len() <= MAX_STEPS =>
            {
                argument.name.then(&name.steps)
            }
            _ => Name::start(Start::Unknown),
        },
        Start::Static(_) | Start::Class(_) => name,
        _ => Name::start(Start::Unknown),
    }
}

/// A key of the callee as the caller has it.
fn key_from_caller(program: &Program, key: Key, arguments: &[Argument]) -> Option<Key> {
    key.in_caller(|position| Key::of(program, &arguments.get(usize::from(position))?.name))
}

pub(crate) fn keys_from_caller(program: &Program, keys: &[Key], arguments: &[Argument]) -> Keys {
    keys.iter().filter_map(|key| key_from_caller(program, *key, arguments)).collect()
}

/// The locks that a method asks for and will not go on without: `assert lock.isHeldByCurrentThread();`.
pub(crate) fn asserted_locks(program: &Program, outline: &Outline) -> Vec<HeldLock> {
    let asked = outline.refusals.iter().filter_map(|number| {
        // The way that is taken without the lock has to be the one that throws.
        let condition = outline.conditions.get(*number as usize).filter(|condition| condition.throws_at_nought)?;
        let [Source { origin: Origin::Event(event), .. }] = condition.sources.as_slice() else { return None };
        let Action::Call { method, arguments, .. } = &outline.events[event.index()].action else { return None };
        let (kind, position) = match program.names.text(method.name) {
            "isHeldByCurrentThread" | "isWriteLockedByCurrentThread" => (LockKind::Lock, 0),
            "holdsLock" if program.names.text(method.class.0) == "java/lang/Thread" => (LockKind::Monitor, 0),
            _ => return None,
        };
        let name = arguments.get(position)?.name.clone();
        (!name.is_unknown()).then_some(HeldLock { name, kind, mode: Mode::Exclusive })
    });
    asked.collect()
}
