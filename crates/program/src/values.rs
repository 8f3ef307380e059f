//! Objects that never change: they are replaced as a whole.

use location::{ClassName, FieldName};

use crate::class::{FieldId, Program};
use crate::outline::{Name, NameStep, Start};

impl Program {
    /// Whether objects of a checked class have several parts, none of which ever changes.
    pub fn is_value_class(&self, class: ClassName) -> bool {
        self.class(class).filter(|class| self.is_checked(*class)).is_some_and(|class| {
            let own = self.header(class).fields.iter().filter(|field| !field.access.is_static());
            own.clone().count() > 1 && own.clone().all(|field| field.access.is_final())
        })
    }

    /// Whether a field is volatile and holds such an object, which others put in place of the one before.
    pub fn is_replaced_whole(&self, field: FieldName) -> bool {
        self.resolve_field(field).is_some_and(|field| self.is_field_replaced_whole(field))
    }

    /// The same of a field that is known.
    pub(crate) fn is_field_replaced_whole(&self, field: FieldId) -> bool {
        let field = self.field(field);
        field.access.is_volatile()
            && (self.names.text(field.descriptor))
                .strip_prefix('L')
                .and_then(|name| name.strip_suffix(';'))
                .is_some_and(|name| self.is_value_class(self.names.class(name)))
    }

    /// Whether a name goes by such a field to one of its parts.
    pub(crate) fn is_behind_replaced(&self, name: &Name) -> bool {
        let is_replaced = |field: FieldName| self.is_replaced_whole(field);
        let starts = matches!(name.start, Start::Static(field) if is_replaced(field));
        let goes_by = |step: &NameStep| matches!(step, NameStep::Field(field) if is_replaced(*field));
        starts && !name.steps.is_empty()
            || name.steps.split_last().is_some_and(|(_, before)| before.iter().any(goes_by))
    }
}
