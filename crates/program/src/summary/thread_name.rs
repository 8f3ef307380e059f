//! The name or number of the thread that runs, which tells what is its own from what is that of others.

use location::{FieldName, MethodName};

use super::compose::{Composing, extend};
use crate::model::numbers::{THREAD, THREAD_NAME};
use crate::outline::{Action, Argument, EventId, Name, NameStep, Object, Start};

impl Composing<'_, '_> {
    /// Names what `getName()` of a thread yields: that of the current one is the same for all code that it runs.
    pub(super) fn name_thread(&mut self, id: EventId, method: MethodName, arguments: &[Argument]) {
        let names = &self.program.names;
        if !matches!(names.text(method.name), "getName" | "getId" | "threadId") {
            return;
        }
        let class = names.class(THREAD);
        let ([thread], true) = (arguments, self.program.is_subtype(method.class, class)) else { return };
        let field =
            FieldName { class, name: names.intern(THREAD_NAME), descriptor: names.intern("Ljava/lang/String;") };
        let name = match self.is_current_thread(thread) {
            true => Name::start(Start::Static(field)),
            false => extend(self.settle(&thread.name), &[NameStep::Field(field)]),
        };
        self.result_name[id.index()] = Some(name).filter(|name| !name.is_unknown());
    }

    /// Whether it is the thread that runs.
    pub(super) fn is_current_thread(&self, thread: &Argument) -> bool {
        let names = &self.program.names;
        let is_current = |object: &Object| match object {
            Object::Event(event) => matches!(&self.outline.events[event.index()].action, Action::Call { method, .. }
                if names.text(method.name) == "currentThread" && names.text(method.class.0) == THREAD),
            _ => false,
        };
        !thread.objects.is_empty() && thread.objects.iter().all(is_current)
    }
}
