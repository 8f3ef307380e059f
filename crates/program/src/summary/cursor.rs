//! Iterators, entries and parts of containers: which container a step of theirs is one of.

use location::{MethodName, Symbol};

use super::compose::Composing;
use crate::class::Program;
use crate::model::{Access, Returns};
use crate::outline::{Action, Argument, Name, Object, Start};

impl Composing<'_, '_> {
    /// The map that an entry was got from by going over it, where each look at the entry's value is a look at the map.
    pub(super) fn entry_of(&self, method: MethodName, arguments: &[Argument]) -> Option<Name> {
        let names = &self.program.names;
        if !matches!(names.text(method.name), "getValue" | "setValue")
            || names.text(method.class.0) != "java/util/Map$Entry"
        {
            return None;
        }
        let Name { start: Start::Result(event), steps } = &arguments.first()?.name else { return None };
        let map = self.element_of.get(event.index())?.clone().filter(|_| steps.is_empty())?;
        self.is_of_own_sections(&map).then_some(map)
    }

    /// Whether an iterator takes out what it came to, of a container that locks by itself: that is one step of the container.
    pub(super) fn is_taken_by_iterator(&self, method: MethodName, container: Option<&Name>) -> bool {
        self.program.names.text(method.name) == "remove"
            && is_iterator(self.program.names.text(method.class.0))
            && container.is_some_and(|container| self.is_of_own_sections(container))
    }

    /// Whether a call moves an iterator on that a field holds: whoever comes next gets another element.
    pub(super) fn is_step(&self, method: MethodName, arguments: &[Argument]) -> bool {
        is_stepping(self.program, method)
            && arguments.first().is_some_and(|first| {
                let field = crate::variable::holder(&self.settle(&first.name));
                field.is_some_and(|field| is_cursor(self.program, field.descriptor))
            })
    }

    /// Whether a call is one on a part of a list, which holds only while the list has what it had when the part was made.
    pub(super) fn is_part_of_list(&self, arguments: &[Argument]) -> bool {
        let Some([Object::Event(made)]) = arguments.first().map(|part| part.objects.as_slice()) else { return false };
        match &self.outline.events[made.index()].action {
            Action::Call { method, .. } => {
                let model = self.calls.model(self.program, *method, method.class);
                model.is_some_and(|model| matches!(model.returns, Returns::View(_)) && model.access == Access::Read)
            }
            _ => false,
        }
    }
}

/// Whether a call moves an iterator on.
pub(crate) fn is_stepping(program: &Program, method: MethodName) -> bool {
    matches!(
        program.names.text(method.name),
        "next" | "nextElement" | "nextInt" | "nextLong" | "nextDouble" | "previous"
    ) && is_iterator(program.names.text(method.class.0))
}

/// Whether what a field holds is an iterator.
pub(crate) fn is_cursor(program: &Program, descriptor: Symbol) -> bool {
    let name = program.names.text(descriptor).strip_prefix('L').and_then(|name| name.strip_suffix(';'));
    name.is_some_and(is_iterator)
}

fn is_iterator(class: &str) -> bool {
    matches!(class, "java/util/Iterator" | "java/util/ListIterator" | "java/util/Enumeration")
        || class.starts_with("java/util/PrimitiveIterator$")
}
