//! Places in code: [`Site`] inside an analysis, [`Place`] in what people read.

use crate::{MethodName, Names, Symbol};

/// One instruction of one method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    pub method: MethodName,
    /// Offset of the instruction in the method's bytecode.
    pub pc: u32,
    pub file: Option<Symbol>,
    pub line: Option<u32>,
}

/// A method in text form, as reports name it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodPlace {
    /// With dots: `pkg.Outer$Inner`.
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

/// A [`Site`] in text form. Ordered by class, method, offset.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub method: MethodPlace,
    pub pc: u32,
    /// The bare file name that the compiler recorded; never a path to be opened as it is.
    pub file: Option<String>,
    pub line: Option<u32>,
}

impl Names {
    pub fn method_place(&self, method: MethodName) -> MethodPlace {
        MethodPlace {
            class: self.readable_class(method.class),
            name: self.text(method.name).to_owned(),
            descriptor: self.text(method.descriptor).to_owned(),
        }
    }

    pub fn place(&self, site: Site) -> Place {
        Place {
            method: self.method_place(site.method),
            pc: site.pc,
            file: site.file.map(|file| self.text(file).to_owned()),
            line: site.line,
        }
    }
}
