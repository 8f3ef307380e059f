//! Which methods a call may run, as far as its receiver is known: by what made it, and by what the code has asked of it.

use classfile::CallKind;
use location::MethodName;
use smallvec::SmallVec;

use super::compose::Composing;
use crate::class::MethodId;
use crate::outline::{Argument, EventId};

impl Composing<'_, '_> {
    pub(super) fn targets(
        &self,
        call: EventId,
        kind: CallKind,
        method: MethodName,
        arguments: &[Argument],
    ) -> SmallVec<[MethodId; 2]> {
        let receiver = arguments.first().filter(|_| !matches!(kind, CallKind::Static | CallKind::Special));
        if let Some(class) = receiver.and_then(|receiver| self.holding(receiver).class) {
            return self.calls.targets_on(self.program, class, method).known().into();
        }
        let targets = self.calls.targets(self.program, kind, method);
        let mut targets: SmallVec<[MethodId; 2]> = targets.known().into();
        if let Some(known) = self.outline.known_of_receiver(call) {
            let narrowed = self.calls.targets_for(self.program, kind, method, known);
            targets.retain(|target| narrowed.contains(target));
        }
        targets
    }
}
