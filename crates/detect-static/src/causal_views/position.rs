//! Reads that tell a position, and what looks there.

use program::model::State;
use program::outline::{Action, EventId, Member, Object};
use program::summary::Access;

use super::stale::Asking;

impl Asking<'_> {
    /// Whether what is read is a number, such as a size or an index.
    pub(super) fn tells_position(&self, read: &Access) -> bool {
        let program = self.whole.program;
        match self.action(read) {
            Some(Action::Call { method, .. }) => program.names.text(method.descriptor).ends_with(")I"),
            Some(Action::Read { member: Member::Field(field) | Member::Static(field), .. }) => program
                .resolve_field(*field)
                .is_some_and(|field| program.names.text(program.field(field).descriptor) == "I"),
            _ => false,
        }
    }

    /// Whether a number says where to look. It may come after the buffer that is looked at: `text.append(from, 0, length)`.
    pub(super) fn takes_position(&self, target: &Access) -> bool {
        match self.action(target) {
            Some(Action::Call { method, .. }) => {
                let descriptor = self.whole.program.names.text(method.descriptor);
                let is_of_argument = || !target.is_write && target.member == Member::State(State::Chars);
                self.is_at_position(*method) || descriptor.contains("Ljava/lang/CharSequence;II)") && is_of_argument()
            }
            Some(Action::Read { .. } | Action::Write { .. }) => true,
            _ => false,
        }
    }

    /// Whether a number says where to look that was found by looking at the elements themselves.
    pub(super) fn is_where_found(&self, read: &Access, target: &Access) -> bool {
        match (self.action(read), self.action(target)) {
            (Some(Action::Call { .. }), Some(Action::Call { method, .. })) => {
                // Who only looks may be making sure.
                target.is_write
                    && read.member == target.member
                    && !self.tells_position(read)
                    && self.whole.program.names.text(method.descriptor).starts_with("(I)")
            }
            _ => false,
        }
    }

    /// `head = list.subList(0, 2);`, and in a later section `head.clear();`: whether a part of a list was made in a section, and
    /// is used in another one.
    pub(super) fn is_of_part(&self, read: &Access, target: &Access) -> bool {
        let names = &self.whole.program.names;
        let is_made = |event: EventId| match &self.outline.events[event.index()].action {
            Action::Call { method, .. } => event == read.event && names.text(method.name) == "subList",
            _ => false,
        };
        match &self.outline.events[target.event.index()].action {
            Action::Call { arguments, .. } => {
                matches!(arguments.first().map(|part| part.objects.as_slice()),
                    Some([Object::Event(part)]) if is_made(*part))
            }
            _ => false,
        }
    }
}
