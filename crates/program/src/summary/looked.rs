//! Looks at what a map has by going over its values one after the other. Where each operation of the map is a section of its
//! own, so is each of these.

use location::MethodName;

use super::compose::Composing;
use super::map_part::MapPart;
use crate::model::{self, CallModel, Section};
use crate::outline::{Action, Argument, EventId, Name, Object};

const NUMBERS: [&str; 3] =
    ["java/util/stream/IntStream", "java/util/stream/LongStream", "java/util/stream/DoubleStream"];

impl Composing<'_, '_> {
    /// Whether each operation of a map is a section of its own.
    pub(super) fn is_of_own_sections(&self, map: &Name) -> bool {
        let field = crate::variable::holder(map);
        let class = field.and_then(|field| self.holdings.get(self.program, field).class);
        class.is_some_and(|class| self.calls.section_of(self.program, class) == Section::Own)
    }

    /// The map that has the number which a call looks at by going over the values, or those of which it makes one number: each
    /// such look is a look at the map.
    pub(super) fn number_of(
        &self,
        id: EventId,
        model: CallModel,
        method: MethodName,
        arguments: &[Argument],
    ) -> Option<Name> {
        let text = |symbol| self.program.names.text(symbol);
        let is_unboxed = || {
            self.outline.events.iter().any(|event| match &event.action {
                Action::Call { method, arguments, .. } => {
                    matches!(text(method.name), "intValue" | "longValue" | "doubleValue")
                        && arguments.first().is_some_and(|one| one.objects.as_slice() == [Object::Event(id)])
                }
                _ => false,
            })
        };
        let class = text(method.class.0);
        let is_number = match text(method.name) {
            "next" => is_unboxed(),
            "count" => class.starts_with("java/util/stream/"),
            "sum" | "average" | "max" | "min" => NUMBERS.contains(&class),
            _ => false,
        };
        let is_look = is_number
            && model.access == model::Access::Read
            && self.part_given(arguments.first()) == Some(MapPart::Values);
        let map = self.settle(&arguments.first().filter(|_| is_look)?.name);
        self.is_of_own_sections(&map).then_some(map)
    }
}
