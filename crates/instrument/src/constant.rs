//! Fields that are as good as final: only constructors write them, each to its own object while nobody else can have it.
//!
//! The recorder leaves such writes out, so a recording has no write to such a field at all, and its reads conflict with
//! nothing. They need no probe, and the field needs no word.
//!
//! Who writes a field is known where all code is known that may name it: a private field or one without modifier belongs
//! to a package, whose classes one loader brings. Fields that other packages may name are not looked at.

use classfile::edit::{ClassEditor, op};
use classfile::{Access, Error, text_of};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::method::unescaped;

/// Name and descriptor.
type Member = (String, String);

/// What one class tells of its fields and of those that it writes.
#[derive(Clone, Debug)]
pub struct Writes {
    class: String,
    /// All that it declares, and whether they may be as good as final.
    fields: Vec<(Member, bool)>,
    /// The owner as the code names it, and the field.
    written: Vec<(String, Member)>,
}

impl Writes {
    pub fn of(bytes: &[u8]) -> Result<Writes, Error> {
        let class = ClassEditor::read(bytes)?;
        let name = class.name().ok_or_else(|| Error::Malformed("it has no name".to_owned()))?;
        let text = |index| text_of(class.pool.utf8(index).unwrap_or_default()).into_owned();
        let fields = class.fields().iter();
        let fields =
            fields.map(|field| ((text(field.name), text(field.descriptor)), is_candidate(field.access))).collect();
        let mut written = Vec::new();
        for (index, method) in class.methods().iter().enumerate() {
            let Some(code) = class.code(index)? else { continue };
            let is_constructor = class.pool.utf8(method.name) == Some(b"<init>");
            let own = match is_constructor {
                true => unescaped::own_writes(&code, &class.pool, name, class.super_name().unwrap_or_default()),
                false => FxHashSet::default(),
            };
            for instruction in code.instructions().filter(|instruction| instruction.opcode == op::PUTFIELD) {
                let Some([owner, field, descriptor]) = class.pool.field(instruction.constant().unwrap_or(0)) else {
                    return Err(Error::BadCode { pc: instruction.pc, reason: "it names no field" });
                };
                if owner != name || !own.contains(&instruction.pc) {
                    let field = (text_of(field).into_owned(), text_of(descriptor).into_owned());
                    written.push((text_of(owner).into_owned(), field));
                }
            }
        }
        written.sort();
        written.dedup();
        Ok(Writes { class: text_of(name).into_owned(), fields, written })
    }
}

/// Plain, of objects, and out of reach of other packages.
fn is_candidate(access: Access) -> bool {
    let is_plain = !access.is_static() && !access.is_final() && !access.is_volatile();
    is_plain && !access.is_public() && !access.is_protected()
}

/// Fields that are as good as final, by class.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ConstantFields(FxHashMap<String, FxHashSet<Member>>);

impl ConstantFields {
    /// `all` are all classes that a loader may bring.
    pub fn of(all: &[Writes]) -> ConstantFields {
        // A class may be there several times, and any of them may be the one that is loaded.
        let mut declared: FxHashMap<&str, FxHashMap<&Member, bool>> = FxHashMap::default();
        for class in all {
            let fields = declared.entry(&class.class).or_default();
            for (field, is_candidate) in &class.fields {
                *fields.entry(field).or_insert(true) &= is_candidate;
            }
        }
        let mut written: FxHashSet<(&str, &Member)> = FxHashSet::default();
        // Named by a class below the one that declares it: then each field of that name may be meant.
        let mut written_somewhere: FxHashSet<&Member> = FxHashSet::default();
        for (owner, field) in all.iter().flat_map(|class| &class.written) {
            match declared.get(owner.as_str()).is_some_and(|fields| fields.contains_key(field)) {
                true => written.insert((owner, field)),
                false => written_somewhere.insert(field),
            };
        }
        let mut constant = ConstantFields::default();
        for class in all {
            for (field, _) in &class.fields {
                let is_candidate = declared.get(class.class.as_str()).and_then(|fields| fields.get(field));
                let is_written = written.contains(&(&*class.class, field)) || written_somewhere.contains(field);
                if is_candidate == Some(&true) && !is_written {
                    constant.add(&class.class, &field.0, &field.1);
                }
            }
        }
        constant
    }

    pub fn add(&mut self, class: &str, name: &str, descriptor: &str) {
        self.0.entry(class.to_owned()).or_default().insert((name.to_owned(), descriptor.to_owned()));
    }

    /// Class, name and descriptor of each, in order.
    pub fn rows(&self) -> Vec<[&str; 3]> {
        let fields = self.0.iter().flat_map(|(class, fields)| fields.iter().map(move |field| (class, field)));
        let mut rows: Vec<[&str; 3]> =
            fields.map(|(class, (name, descriptor))| [class.as_str(), name.as_str(), descriptor.as_str()]).collect();
        rows.sort_unstable();
        rows
    }

    pub(crate) fn has(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let field = || (text_of(name).into_owned(), text_of(descriptor).into_owned());
        self.0.get(&*text_of(class)).is_some_and(|fields| fields.contains(&field()))
    }
}
