//! The fields that a rewritten class gets: a word beside each field that is watched, and one for identity.

use classfile::Access;
use classfile::edit::{ClassEditor, Limit};
use rustc_hash::FxHashMap;

use crate::plan::Plan;

/// Before the name of the field that a word belongs to.
const PREFIX: &[u8] = b"$fissure$";
/// No field has an empty name, so this is the word of none.
const IDENTITY: &[u8] = b"$fissure$";

const PRIVATE_TRANSIENT_SYNTHETIC: u16 = 0x0002 | 0x0080 | 0x1000;
const STATIC: u16 = 0x0008;

/// Whether the JVM lets objects of a class have more fields than it knows of.
fn can_grow(class: &[u8]) -> bool {
    class != b"java/lang/Object" && !class.starts_with(b"java/lang/ref/")
}

pub(crate) fn add_fields(class: &mut ClassEditor<'_>, name: &[u8], plan: &Plan) -> Result<(), Limit> {
    if class.access().is_interface() || class.access().is_module() || !can_grow(name) {
        return Ok(());
    }
    // Names need not be unique, only names with descriptors. Of such fields none gets a word.
    let mut names: FxHashMap<&[u8], usize> = FxHashMap::default();
    for field in class.fields() {
        *names.entry(class.pool.utf8(field.name).unwrap_or_default()).or_default() += 1;
    }
    let mut added = Vec::new();
    for field in class.fields() {
        let field_name = class.pool.utf8(field.name).unwrap_or_default();
        if !field.access.is_final() && !field.access.is_volatile() && names.get(field_name) == Some(&1) {
            added.push((field.access.is_static(), [PREFIX, field_name].concat()));
        }
    }
    if class.super_name().is_none_or(|parent| !plan.includes(parent) || !can_grow(parent)) {
        added.push((false, IDENTITY.to_vec()));
    }
    added.retain(|(_, name)| !names.contains_key(name.as_slice()));
    for (is_static, name) in added {
        let access = if is_static { PRIVATE_TRANSIENT_SYNTHETIC | STATIC } else { PRIVATE_TRANSIENT_SYNTHETIC };
        class.add_field(Access::from_bits(access), &name, b"J")?;
    }
    Ok(())
}
