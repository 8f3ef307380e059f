//! What an outline calls by the result of a call, by the names that the callee has for it.

use super::compose::{Composing, extend, extend_by};
use crate::outline::{Key, KeyStart, Name, NameStep, Start};

impl Composing<'_, '_> {
    /// A name with results of calls replaced by what the callee says they are.
    pub(super) fn settle(&self, name: &Name) -> Name {
        // Most names are those of parameters, or are none.
        if name.steps.is_empty() && self.captured.is_empty() && !matches!(name.start, Start::Result(_)) {
            return name.clone();
        }
        let settled = self.settled(name).with_keys(|key| Some(self.settle_key(key)));
        settled.map_or_else(
            || Name::start(Start::Unknown),
            |name| self.holdings.twins.first_name(self.program, self.id, name),
        )
    }

    /// A key that a call yielded by the name that the callee has for it: a final field of something.
    pub(super) fn settle_key(&self, key: Key) -> Key {
        let KeyStart::Result(event) = key.start else { return key };
        let name = self.result_name.get(event.index()).and_then(Option::as_ref).filter(|_| key.field.is_none());
        name.and_then(|name| Key::of(self.program, name)).unwrap_or(key)
    }

    fn settled(&self, name: &Name) -> Name {
        if let Some(local) = self.captured.iter().find(|local| local.start == name.start) {
            return extend_by(&Name::start(Start::Static(local.field)), &name.steps);
        }
        if let (Start::New(register), [NameStep::Field(field), rest @ ..]) = (name.start, &*name.steps) {
            return match self.kept(register, *field) {
                Some(given) => self.settle(&extend(given.clone(), rest)),
                None => name.clone(),
            };
        }
        let Start::Result(event) = name.start else { return name.clone() };
        match self.result_name.get(event.index()).and_then(Option::as_ref) {
            Some(result) => extend_by(result, &name.steps),
            None => name.clone(),
        }
    }
}
