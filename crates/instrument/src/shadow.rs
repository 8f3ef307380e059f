//! The fields that a rewritten class gets: a word beside each field of its objects that is watched, one for identity, and
//! one for whatever else the runtime keeps with an object. Words of static fields the runtime keeps itself.

use classfile::Access;
use classfile::edit::{ClassEditor, Limit};
use rustc_hash::FxHashMap;

use crate::constant::ConstantFields;
use crate::plan::Plan;

/// Before the name of the field that a word belongs to.
const PREFIX: &[u8] = b"$fissure$";
/// No field has an empty name, so this is the word of none.
pub(crate) const IDENTITY: &[u8] = b"$fissure$";

/// Where further state of the object hangs.
const MORE: &[u8] = b"$fissure";

const PRIVATE_TRANSIENT_SYNTHETIC: u16 = 0x0002 | 0x0080 | 0x1000;

/// Whether the JVM lets objects of a class have more fields than it knows of.
fn can_grow(class: &[u8]) -> bool {
    class != b"java/lang/Object" && !class.starts_with(b"java/lang/ref/")
}

/// Whether a field is one of those that are added here. Another agent that rewrites a loaded class may hand it on with
/// them, though not with the probes.
pub(crate) fn is_added(access: Access, name: &[u8]) -> bool {
    name.starts_with(MORE) && access.bits() == PRIVATE_TRANSIENT_SYNTHETIC
}

/// Whether the class has a word for identity now.
pub(crate) fn add_fields(
    class: &mut ClassEditor<'_>,
    name: &[u8],
    plan: &Plan,
    constants: Option<&ConstantFields>,
) -> Result<bool, Limit> {
    if class.access().is_interface() || class.access().is_module() || !can_grow(name) {
        return Ok(false);
    }
    // Names need not be unique, only names with descriptors. Of such fields none gets a word.
    let mut names: FxHashMap<&[u8], usize> = FxHashMap::default();
    for field in class.fields() {
        *names.entry(class.pool.utf8(field.name).unwrap_or_default()).or_default() += 1;
    }
    let mut added = Vec::new();
    let mut is_told_of = false;
    for field in class.fields() {
        let field_name = class.pool.utf8(field.name).unwrap_or_default();
        if is_added(field.access, field_name) {
            continue;
        }
        let is_plain = !field.access.is_final() && !field.access.is_volatile() && !field.access.is_static();
        let descriptor = class.pool.utf8(field.descriptor).unwrap_or_default();
        let is_constant = constants.is_some_and(|all| all.has(name, field_name, descriptor));
        is_told_of |= !field.access.is_static() && !field.access.is_final() && !is_constant;
        if is_plain && !is_constant && names.get(field_name) == Some(&1) {
            added.push((&b"J"[..], [PREFIX, field_name].concat()));
        }
    }
    // Of objects of such a class nothing is ever told, unless somebody locks them or has the library do something to them;
    // those few are in a table. They stay as small as they were, and compilers can do without them as before.
    let is_plain_value = plan.skips_unescaped
        && class.access().is_final()
        && matches!(class.super_name(), Some(b"java/lang/Object" | b"java/lang/Record"))
        && !is_told_of
        && !class.methods().iter().any(|method| method.access.is_synchronized() && !method.access.is_static());
    if !is_plain_value && class.super_name().is_none_or(|parent| !plan.includes(parent) || !can_grow(parent)) {
        added.push((b"J", IDENTITY.to_vec()));
        added.push((b"Ljava/lang/Object;", MORE.to_vec()));
    }
    let has = |name: &[u8]| names.contains_key(name);
    let was_added = class
        .fields()
        .iter()
        .any(|field| class.pool.utf8(field.name) == Some(IDENTITY) && is_added(field.access, IDENTITY));
    let has_identity = was_added || added.iter().any(|(_, name)| name == IDENTITY && !has(name));
    added.retain(|(_, name)| !has(name));
    for (descriptor, name) in added {
        class.add_field(Access::from_bits(PRIVATE_TRANSIENT_SYNTHETIC), &name, descriptor)?;
    }
    Ok(has_identity)
}
