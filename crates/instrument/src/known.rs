//! What has been seen of classes so far: a reference to a field does not say whether it is volatile, but its class did.

use classfile::Access;
use classfile::edit::{ClassEditor, Member};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bridges::Bridge;
use crate::constant::ConstantFields;
use crate::shadow::is_added;

const FINAL: u16 = 0x0010;

/// The classes of one JVM that passed by, by name. Where two loaders have classes of one name, the later one counts.
#[derive(Default)]
pub(crate) struct Known {
    classes: FxHashMap<Box<[u8]>, Declared>,
    /// By class, the methods that were added for its references to methods.
    pub(crate) bridges: FxHashMap<Box<[u8]>, Vec<Bridge>>,
}

/// Name and descriptor.
type MemberKey = (Box<[u8]>, Box<[u8]>);

struct Declared {
    super_class: Option<Box<[u8]>>,
    interfaces: Vec<Box<[u8]>>,
    fields: FxHashMap<MemberKey, Access>,
    /// Methods with code, if the class is rewritten: names and descriptors.
    methods: FxHashSet<MemberKey>,
}

impl Known {
    /// Fields among `constants` are taken for final ones.
    pub(crate) fn learn(&mut self, class: &ClassEditor<'_>, is_rewritten: bool, constants: Option<&ConstantFields>) {
        let Some(name) = class.name() else { return };
        let member = |index| class.pool.utf8(index).map(Box::from);
        let access = |field: &Member| {
            let text = |index| class.pool.utf8(index).unwrap_or_default();
            let is_constant = constants.is_some_and(|all| all.has(name, text(field.name), text(field.descriptor)));
            if is_constant { Access::from_bits(field.access.bits() | FINAL) } else { field.access }
        };
        let fields = class
            .fields()
            .iter()
            .filter(|field| !is_added(field.access, class.pool.utf8(field.name).unwrap_or_default()))
            .filter_map(|field| Some(((member(field.name)?, member(field.descriptor)?), access(field))))
            .collect();
        let methods = class
            .methods()
            .iter()
            .filter(|method| is_rewritten && !method.access.is_abstract() && !method.access.is_native())
            .filter_map(|method| Some((member(method.name)?, member(method.descriptor)?)))
            .collect();
        let declared = Declared {
            super_class: class.super_name().map(Box::from),
            interfaces: class.interface_names().map(Box::from).collect(),
            fields,
            methods,
        };
        self.classes.insert(name.into(), declared);
    }

    /// Whether a class of this name was seen, and declares a field of that name; with `()` behind the name, whether it was
    /// rewritten and has code of its own for a method of that name; with `;` and a type
    /// behind the name, or `;static;` and a type, whether its only field of that name is of that type. No name has a `;`.
    pub(crate) fn declares(&self, class: &[u8], member: &[u8]) -> bool {
        let Some(class) = self.classes.get(class) else { return false };
        if let Some(end) = member.iter().position(|byte| *byte == b';') {
            let (name, rest) = (&member[..end], &member[end + 1..]);
            let (is_static, descriptor) = rest.strip_prefix(b"static;").map_or((false, rest), |rest| (true, rest));
            let mut named = class.fields.iter().filter(|((one, _), _)| **one == *name);
            return match (named.next(), named.next()) {
                (Some(((_, of), access)), None) => **of == *descriptor && access.is_static() == is_static,
                _ => false,
            };
        }
        match member.strip_suffix(b"()") {
            Some(method) => class.methods.iter().any(|(name, _)| **name == *method),
            None => class.fields.keys().any(|(name, _)| **name == *member),
        }
    }

    /// The fields that a class of this name declares, if it was seen.
    pub(crate) fn declared(&self, class: &[u8]) -> impl Iterator<Item = (&[u8], Access)> {
        let fields = self.classes.get(class).into_iter().flat_map(|class| &class.fields);
        fields.map(|((name, _), access)| (&**name, *access))
    }

    /// The access flags of the field that a reference means, found as the JVM finds it: in the class, in its
    /// interfaces, in its superclass. `None` if no class that has been seen has it.
    pub(crate) fn field(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Access> {
        let field = (Box::from(name), Box::from(descriptor));
        self.first_above(owner, |class| class.fields.get(&field).copied())
    }

    pub(crate) fn has(&self, class: &[u8]) -> bool {
        self.classes.contains_key(class)
    }

    pub(crate) fn super_class(&self, class: &[u8]) -> Option<&[u8]> {
        self.classes.get(class)?.super_class.as_deref()
    }

    /// The superclass, then the interfaces.
    pub(crate) fn parents(&self, class: &[u8]) -> impl Iterator<Item = &[u8]> {
        let class = self.classes.get(class);
        class.into_iter().flat_map(|class| class.super_class.iter().chain(&class.interfaces)).map(|name| &**name)
    }

    /// Whether a method that a call names is code of a rewritten class.
    pub(crate) fn has_own_code(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        let method = (Box::from(name), Box::from(descriptor));
        self.first_above(owner, |class| class.methods.contains(&method).then_some(())).is_some()
    }

    /// The first answer of a class and those above it, each asked once, interfaces before superclasses.
    fn first_above<T>(&self, class: &[u8], mut ask: impl FnMut(&Declared) -> Option<T>) -> Option<T> {
        let mut seen = FxHashSet::default();
        let mut pending = vec![class];
        while let Some(name) = pending.pop() {
            let Some(class) = self.classes.get(name).filter(|_| seen.insert(name)) else { continue };
            if let Some(answer) = ask(class) {
                return Some(answer);
            }
            pending.extend(self.parents(name));
        }
        None
    }
}
