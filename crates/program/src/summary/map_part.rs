//! Which part of a map a call yields: its keys or its values, by themselves or by what goes over them.

use location::MethodName;

use super::compose::Composing;
use crate::model::{CallModel, Returns, Target};
use crate::outline::{Argument, Object};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MapPart {
    Keys,
    Values,
}

impl Composing<'_, '_> {
    pub(super) fn map_part(&self, method: MethodName, model: CallModel, arguments: &[Argument]) -> Option<MapPart> {
        match self.program.names.text(method.name) {
            "keySet" | "navigableKeySet" | "descendingKeySet" | "keys" => Some(MapPart::Keys),
            "values" | "sequencedValues" | "elements" => Some(MapPart::Values),
            _ if matches!(model.returns, Returns::View(_)) || model.target == Target::Viewed => {
                self.part_given(arguments.first())
            }
            _ => None,
        }
    }

    /// The part of a map that an argument is, or goes over.
    pub(super) fn part_given(&self, argument: Option<&Argument>) -> Option<MapPart> {
        match argument?.objects.as_slice() {
            [Object::Event(event)] => self.parts[event.index()],
            _ => None,
        }
    }
}
