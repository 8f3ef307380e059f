//! Which classes a constant pool names: as such, and in the types of members.
//!
//! Annotations are left out: they can be read without their classes.

use noak::reader::cpool::Item;

use crate::Class;
use crate::text::text;

/// A place where a class names others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mention<'t> {
    /// A class by binary name, or an array by descriptor.
    Class(&'t str),
    /// The type of a field or method.
    Descriptor(&'t str),
}

impl Class<'_> {
    /// Tells every class constant, and the descriptor of every member that the constant pool refers to; the same may be
    /// told several times. Members that the class declares are in its header. What is damaged names nothing.
    pub fn mentions(&self, mut visit: impl FnMut(Mention<'_>)) {
        let pool = self.raw().pool();
        for item in pool.iter() {
            let (index, mention): (_, fn(&str) -> Mention<'_>) = match item {
                Item::Class(class) => (class.name, |text| Mention::Class(text)),
                Item::NameAndType(member) => (member.descriptor, |text| Mention::Descriptor(text)),
                Item::MethodType(method) => (method.descriptor, |text| Mention::Descriptor(text)),
                _ => continue,
            };
            if let Ok(found) = pool.get(index) {
                visit(mention(&text(found.content)));
            }
        }
    }
}

/// The classes that a descriptor of a field, method or array names: `(I[[La/B;)La/C;` names `a/B` and `a/C`. What is no
/// descriptor names whatever looks like a class in it.
pub fn classes_in(descriptor: &str) -> impl Iterator<Item = &str> {
    let mut rest = descriptor;
    std::iter::from_fn(move || {
        // Descriptors are short: looking at each byte beats a search that has to be set up.
        let start = rest.bytes().position(|byte| byte == b'L')? + 1;
        let length = rest[start..].bytes().position(|byte| byte == b';')?;
        let class = &rest[start..start + length];
        rest = &rest[start + length + 1..];
        Some(class)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_name_classes() {
        let found = |descriptor| classes_in(descriptor).collect::<Vec<_>>();
        assert_eq!(found("(I[[La/B;JLc/LD;)[LL;"), ["a/B", "c/LD", "L"]);
        assert_eq!(found("()V"), [""; 0]);
        assert_eq!(found("[[I"), [""; 0]);
        assert_eq!(found("(La/B"), [""; 0]);
        assert_eq!(found("Lé;L"), ["é"]);
    }
}
