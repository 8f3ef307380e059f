//! The interner, and names made of interned parts.
//!
//! Symbols are handed out by whichever thread comes first, so their numeric order differs between runs.
//! That is why they have no `Ord`: whatever reaches output is sorted by its text.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::interner::Interner;

/// An interned string: equal symbols of one [`Names`] are equal strings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(NonZeroU32);

impl std::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A place for a symbol that several threads may fill, all with the same one.
#[derive(Default)]
pub struct SymbolCell(AtomicU32);

impl SymbolCell {
    #[inline]
    pub fn get(&self) -> Option<Symbol> {
        NonZeroU32::new(self.0.load(Ordering::Acquire)).map(Symbol)
    }

    #[inline]
    pub fn set(&self, symbol: Symbol) {
        self.0.store(symbol.0.get(), Ordering::Release);
    }
}

/// A class by its binary name with slashes (`java/util/Map$Entry`), or an array by its descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassName(pub Symbol);

/// A method as class files refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodName {
    pub class: ClassName,
    pub name: Symbol,
    pub descriptor: Symbol,
}

/// A field as class files refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldName {
    pub class: ClassName,
    pub name: Symbol,
    pub descriptor: Symbol,
}

/// The interner. Shared by all threads of an analysis; nothing is ever removed.
pub struct Names {
    strings: Interner,
}

impl Default for Names {
    fn default() -> Names {
        Names::new()
    }
}

impl Names {
    pub fn new() -> Names {
        Names { strings: Interner::new() }
    }

    pub fn intern(&self, text: &str) -> Symbol {
        Symbol(self.strings.intern(text))
    }

    /// The symbol of a string that was interned before, if it was.
    pub fn lookup(&self, text: &str) -> Option<Symbol> {
        self.strings.lookup(text).map(Symbol)
    }

    pub fn text(&self, symbol: Symbol) -> &str {
        self.strings.text(symbol.0)
    }

    pub fn class(&self, binary_name: &str) -> ClassName {
        ClassName(self.intern(binary_name))
    }

    pub fn method(&self, class: &str, name: &str, descriptor: &str) -> MethodName {
        MethodName { class: self.class(class), name: self.intern(name), descriptor: self.intern(descriptor) }
    }

    pub fn field(&self, class: &str, name: &str, descriptor: &str) -> FieldName {
        FieldName { class: self.class(class), name: self.intern(name), descriptor: self.intern(descriptor) }
    }

    /// The name as people write it: `java.util.Map$Entry`.
    pub fn readable_class(&self, class: ClassName) -> String {
        self.text(class.0).replace('/', ".")
    }

    /// `java.util.Map$Entry.getKey`
    pub fn readable_method(&self, method: MethodName) -> String {
        format!("{}.{}", self.readable_class(method.class), self.text(method.name))
    }

    /// `java.util.HashMap.table`
    pub fn readable_field(&self, field: FieldName) -> String {
        format!("{}.{}", self.readable_class(field.class), self.text(field.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_is_one_symbol() {
        let names = Names::new();
        let first = names.intern("balance");
        assert_eq!(first, names.intern("balance"));
        assert_ne!(first, names.intern("lock"));
        assert_eq!(names.text(first), "balance");
        assert_eq!(names.lookup("nowhere"), None);
    }

    #[test]
    fn readable_names_have_dots() {
        let names = Names::new();
        let method = names.method("java/util/Map$Entry", "getKey", "()Ljava/lang/Object;");
        assert_eq!(names.readable_method(method), "java.util.Map$Entry.getKey");
    }
}
