//! What streams and `Optional`s are about: the element that a predicate looks at is the one that `findFirst` yields.

use location::MethodName;

use super::compose::Composing;
use crate::outline::{Argument, EventId, Name, Object, Start};

/// Operations whose elements are those of the stream before.
const SAME: [&str; 15] = [
    "filter",
    "sorted",
    "peek",
    "limit",
    "skip",
    "distinct",
    "takeWhile",
    "dropWhile",
    "parallel",
    "sequential",
    "unordered",
    "findFirst",
    "findAny",
    "min",
    "max",
];

impl Composing<'_, '_> {
    /// Notes what the elements of a stream are called, or what an `Optional` has.
    pub(super) fn name_element(&mut self, id: EventId, method: MethodName, arguments: &[Argument]) {
        let names = &self.program.names;
        let (class, name) = (names.text(method.class.0), names.text(method.name));
        let is_layer = class.starts_with("java/util/Optional");
        let yields = names.text(method.descriptor).rsplit(')').next().unwrap_or_default();
        let is_carrier = yields.starts_with("Ljava/util/Optional") || yields.starts_with("Ljava/util/stream/");
        let first = arguments.first();
        let named = match name {
            "of" | "ofNullable" if is_layer => first.map(|first| self.settle(&first.name)),
            "get" | "orElse" | "orElseThrow" | "orElseGet" if is_layer => first.and_then(|first| self.element(first)),
            "or" if is_layer => first.and_then(|first| self.element(first)),
            _ if SAME.contains(&name) && (is_layer || class.starts_with("java/util/stream/")) => {
                first.and_then(|first| self.element(first))
            }
            _ => None,
        };
        if is_carrier && named.is_none() && ["stream", "parallelStream"].contains(&name) {
            let container = first.map(|first| self.settle(&first.name));
            self.gone_over[id.index()] = container.filter(|name| !name.is_unknown()).map(Box::new);
        }
        if is_carrier {
            self.element_name[id.index()] = Some(named.unwrap_or(Name::start(Start::Element(id))));
        } else if is_layer && named.as_ref().is_some_and(|name| !name.is_unknown()) {
            self.result_name[id.index()] = named;
        }
    }

    /// What the elements of a stream are called, or what an `Optional` has: like the `Optional`, if nothing better is
    /// known.
    pub(super) fn element(&self, carrier: &Argument) -> Option<Name> {
        match carrier.objects.as_slice() {
            [Object::Event(event)] => {
                let known = self.element_name.get(event.index())?.clone();
                Some(known.unwrap_or(Name::start(Start::Result(*event))))
            }
            _ => None,
        }
    }
}
