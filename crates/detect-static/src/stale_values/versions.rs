//! Versions: what every writer of a variable changes with it, so that one that is still the same vouches for the other.

use program::Variable;
use program::outline::{Action, EventId, Object};
use program::summary::{Access, Influence, Root};

use super::rules::Looking;

impl Looking<'_> {
    /// Whether a version was read before the value that goes with it, on all ways to the write: if it is still the same then,
    /// the value was of that version or is so now.
    pub(super) fn is_read_first(&self, version: &Access, value: &Access, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let block_of = |event: EventId| outline.events[event.index()].block as usize;
        let follows = match block_of(version.event) == block_of(value.event) {
            true => version.event < value.event,
            false => outline.follows_surely(version.event)[block_of(value.event)],
        };
        follows && !outline.leads_to(version.event, write.event, &[value.event])
    }

    /// Whether every write of a variable also writes its version, in one section.
    pub(super) fn is_counted_on(&self, version: Variable, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().all(|place| {
            let Some(there) = Looking::at(self.whole, place.method) else { return false };
            let held = there.access(place.access).held;
            there.summary.accesses.iter().any(|access| {
                access.is_write && !access.held.intersection(held).is_empty() && self.variable(access) == Some(version)
            })
        })
    }

    /// Whether every write of a variable also writes its version, in one section, or has compared the version there.
    pub(super) fn is_version(&self, version: Variable, variable: Variable) -> bool {
        version != variable
            && self.whole.variables.writers(variable).iter().all(|place| {
                let Some(there) = Looking::at(self.whole, place.method) else { return false };
                let summary = there.summary;
                let write = there.access(place.access);
                let held = write.held;
                let is_fresh = |influence: &Influence| match influence.root {
                    Root::Access(read) => {
                        let read = &summary.accesses[read.index()];
                        !read.held.intersection(held).is_empty() && self.variable(read) == Some(version)
                    }
                    Root::Parameter(_) => false,
                };
                let mut sides = write.compared.iter().filter(|one| one.are_equal).flat_map(|one| &one.sides);
                sides.any(|side| side.iter().any(is_fresh))
                    || summary.accesses.iter().any(|access| {
                        access.is_write
                            && !access.held.intersection(held).is_empty()
                            && self.variable(access) == Some(version)
                            && there.is_another(access)
                    })
            })
    }

    /// Whether a write changes what was there: a number is moved on, or an object put there that was just made. What it is set
    /// to may be what it was.
    fn is_another(&self, write: &Access) -> bool {
        let is_moved = |influence: &Influence| match influence.root {
            Root::Access(read) => self.access(read).member == write.member && self.access(read).base.same(&write.base),
            Root::Parameter(_) => false,
        };
        let stored = match self.event_at(&write.spot).map(|event| &event.action) {
            Some(Action::Write { stored, .. }) => stored.objects.as_slice(),
            _ => &[],
        };
        let is_new = !stored.is_empty() && stored.iter().all(|object| matches!(object, Object::New { .. }));
        is_new || write.value.iter().any(is_moved) || self.way_of(write).is_some()
    }
}
