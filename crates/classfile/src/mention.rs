//! Which classes a constant pool names: as such, and in the types of members.
//!
//! Annotations are left out: they can be read without their classes.

use location::{ClassName, Names, Symbol};

use crate::Class;
use crate::constants::{CLASS, METHOD_TYPE, NAME_AND_TYPE, number};

/// A place where a class names others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mention {
    /// A class by binary name, or an array by descriptor.
    Class(ClassName),
    /// The type of a field or method.
    Descriptor(Symbol),
}

impl Class<'_> {
    /// Tells every class constant, and the descriptor of every member that the constant pool refers to; the same may be
    /// told several times. Members that the class declares are in its header. What is damaged names nothing.
    pub fn mentions(&self, names: &Names, mut visit: impl FnMut(Mention)) {
        let pool = self.pool(names);
        for (tag, content) in self.constants().all() {
            let (at, mention): (_, fn(Symbol) -> Mention) = match tag {
                CLASS => (0, |symbol| Mention::Class(ClassName(symbol))),
                NAME_AND_TYPE => (2, Mention::Descriptor),
                METHOD_TYPE => (0, Mention::Descriptor),
                _ => continue,
            };
            if let Some(found) = number(content, at).and_then(|index| pool.utf8(index).ok()) {
                visit(mention(found));
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
