//! What has been seen of classes so far: a reference to a field does not say whether it is volatile, but its class did.

use classfile::Access;
use classfile::edit::ClassEditor;
use rustc_hash::FxHashMap;

/// Hierarchies deeper than this are no Java.
const DEEPEST: usize = 1_000;

/// The classes of one JVM that passed by, by name. Where two loaders have classes of one name, the later one counts.
#[derive(Default)]
pub(crate) struct Known {
    classes: FxHashMap<Box<[u8]>, Declared>,
}

/// Name and descriptor.
type FieldKey = (Box<[u8]>, Box<[u8]>);

struct Declared {
    super_class: Option<Box<[u8]>>,
    interfaces: Vec<Box<[u8]>>,
    fields: FxHashMap<FieldKey, Access>,
}

impl Known {
    pub(crate) fn learn(&mut self, class: &ClassEditor<'_>) {
        let Some(name) = class.name() else { return };
        let member = |index| class.pool.utf8(index).map(Box::from);
        let fields = class
            .fields()
            .iter()
            .filter_map(|field| Some(((member(field.name)?, member(field.descriptor)?), field.access)))
            .collect();
        let declared = Declared {
            super_class: class.super_name().map(Box::from),
            interfaces: class.interface_names().map(Box::from).collect(),
            fields,
        };
        self.classes.insert(name.into(), declared);
    }

    /// Whether a class of this name was seen, and declares a field of that name.
    pub(crate) fn declares(&self, class: &[u8], field: &[u8]) -> bool {
        self.classes.get(class).is_some_and(|class| class.fields.keys().any(|(name, _)| **name == *field))
    }

    /// The access flags of the field that a reference means, found as the JVM finds it: in the class, in its
    /// interfaces, in its superclass. `None` if a class on the way has not been seen.
    pub(crate) fn field(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Access> {
        self.find(owner, &(Box::from(name), Box::from(descriptor)), DEEPEST)
    }

    fn find(&self, owner: &[u8], field: &FieldKey, depth: usize) -> Option<Access> {
        let class = self.classes.get(owner)?;
        if let Some(access) = class.fields.get(field) {
            return Some(*access);
        }
        let mut parents = class.interfaces.iter().chain(&class.super_class);
        let depth = depth.checked_sub(1)?;
        parents.find_map(|parent| self.find(parent, field, depth))
    }
}
