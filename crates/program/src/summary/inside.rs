//! Objects that only the method itself has a name for, what was put into them, and what a read yields.

use super::compose::{Composing, extend};
use super::influences::Gathering;
use super::{Influences, Root, SummarySection};
use crate::outline::{Argument, Event, EventId, Member, Name, NameStep, Object, SectionSet, Sources, Start};

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

    /// What was put into an object that only this method has a name for, as seen where `held` is open.
    pub(super) fn contents(&self, name: &Name, held: SectionSet) -> Influences {
        if self.inside.is_empty() {
            return Influences::default();
        }
        let put = self.inside.get(&self.settle(name).start).cloned().unwrap_or_default();
        self.brought_to(put, held)
    }

    /// Where an argument comes from: the object itself, and what was put into it.
    pub(super) fn given(&self, all: &mut Gathering, argument: &Argument, held: SectionSet) {
        self.gather(all, &argument.sources);
        all.add_all(&self.contents(&argument.name, held));
    }

    /// The events that yield what was taken out of a container, in order.
    pub(super) fn taken(&self) -> Vec<EventId> {
        let events = self.is_taken.iter().enumerate();
        events.filter(|(_, is_taken)| **is_taken).map(|(index, _)| EventId(index as u32)).collect()
    }

    /// Whether it returns what it took out of a container, and nothing else.
    pub(super) fn hands_over(&self) -> bool {
        !self.outline.returned.is_empty()
            && self.outline.returned.iter().all(|object| match object {
                Object::Event(event) => self.is_taken[event.index()],
                _ => false,
            })
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
        if member == Member::Elements {
            // What stands at an old position is as old as the position.
            self.gather(&mut yielded, address);
        }
        yielded.add_all(&self.contents(base, held));
        yielded.finish()
    }
}

/// Whether only the method itself has a name for the object, or for what it is a part of.
pub(super) fn is_local(name: &Name) -> bool {
    matches!(name.start, Start::New(_) | Start::Result(_) | Start::Local(_))
}
