//! One class: its head, its members, and the way to their code.

use location::{ClassName, Names, Symbol};
use noak::reader::attributes::AttributeContent;

use crate::annotation::{self, Annotation};
use crate::constant::{Bootstrap, Pool, Symbols};
use crate::{Code, Error};

/// The newest class file version that is read: one ahead of the newest released Java.
const NEWEST_MAJOR: u16 = 70;

/// Whether class files of this major version are read.
pub(crate) fn is_known_version(major: u16) -> bool {
    (45..=NEWEST_MAJOR).contains(&major)
}

/// Access flags of a class or member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access(u16);

impl Access {
    pub fn from_bits(bits: u16) -> Access {
        Access(bits)
    }

    pub fn bits(self) -> u16 {
        self.0
    }

    pub fn is_public(self) -> bool {
        self.0 & 0x0001 != 0
    }

    pub fn is_private(self) -> bool {
        self.0 & 0x0002 != 0
    }

    pub fn is_protected(self) -> bool {
        self.0 & 0x0004 != 0
    }

    pub fn is_static(self) -> bool {
        self.0 & 0x0008 != 0
    }

    pub fn is_final(self) -> bool {
        self.0 & 0x0010 != 0
    }

    /// Of a method.
    pub fn is_synchronized(self) -> bool {
        self.0 & 0x0020 != 0
    }

    /// Of a field.
    pub fn is_volatile(self) -> bool {
        self.0 & 0x0040 != 0
    }

    /// Of a method.
    pub fn is_bridge(self) -> bool {
        self.0 & 0x0040 != 0
    }

    pub fn is_native(self) -> bool {
        self.0 & 0x0100 != 0
    }

    pub fn is_interface(self) -> bool {
        self.0 & 0x0200 != 0
    }

    pub fn is_abstract(self) -> bool {
        self.0 & 0x0400 != 0
    }

    pub fn is_synthetic(self) -> bool {
        self.0 & 0x1000 != 0
    }

    pub fn is_annotation(self) -> bool {
        self.0 & 0x2000 != 0
    }

    pub fn is_enum(self) -> bool {
        self.0 & 0x4000 != 0
    }

    pub fn is_module(self) -> bool {
        self.0 & 0x8000 != 0
    }
}

/// What a class says of itself, without code.
#[derive(Clone, Debug)]
pub struct Header {
    pub name: ClassName,
    /// `None` for `java.lang.Object` and modules.
    pub super_class: Option<ClassName>,
    pub interfaces: Vec<ClassName>,
    pub access: Access,
    pub major_version: u16,
    pub source_file: Option<Symbol>,
    pub annotations: Vec<Annotation>,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Symbol,
    pub descriptor: Symbol,
    pub access: Access,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
pub struct Method {
    pub name: Symbol,
    pub descriptor: Symbol,
    pub access: Access,
    pub annotations: Vec<Annotation>,
    pub has_code: bool,
}

/// A class file that has been taken apart as far as its tables; code is decoded when asked for. All that is asked of one
/// has to be asked with the same names.
pub struct Class<'a> {
    raw: noak::reader::Class<'a>,
    symbols: Symbols,
}

impl<'a> Class<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Class<'a>, Error> {
        Class::read_again(bytes, Symbols::default())
    }

    /// Reads a class again of which some symbols are known.
    pub fn read_again(bytes: &'a [u8], symbols: Symbols) -> Result<Class<'a>, Error> {
        let raw = noak::reader::Class::new(bytes)?;
        let version = raw.version();
        if !is_known_version(version.major) {
            return Err(Error::UnknownVersion { major: version.major, minor: version.minor });
        }
        Ok(Class { raw, symbols })
    }

    /// The symbols of all constants that somebody asked for.
    pub fn into_symbols(self) -> Symbols {
        self.symbols
    }

    pub(crate) fn raw(&self) -> &noak::reader::Class<'a> {
        &self.raw
    }

    pub(crate) fn pool<'r>(&'r self, names: &'r Names) -> Pool<'r, 'a> {
        Pool { raw: self.raw.pool(), names, known: &self.symbols }
    }

    pub fn header(&self, names: &Names) -> Result<Header, Error> {
        let pool = self.pool(names);
        let mut header = Header {
            name: pool.class(self.raw.this_class())?,
            super_class: self.raw.super_class().map(|class| pool.class(class)).transpose()?,
            interfaces: Vec::new(),
            access: Access(self.raw.access_flags().bits()),
            major_version: self.raw.version().major,
            source_file: None,
            annotations: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
        };
        for interface in self.raw.interfaces() {
            header.interfaces.push(pool.class(interface?)?);
        }
        for attribute in self.raw.attributes() {
            let attribute = attribute?;
            match self.raw.pool().get(attribute.name())?.content.as_bytes() {
                b"SourceFile" => {
                    if let AttributeContent::SourceFile(file) = attribute.read_content(self.raw.pool())? {
                        header.source_file = Some(pool.utf8(file.source_file())?);
                    }
                }
                b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations" => {
                    annotation::read(attribute.content(), &pool, &mut header.annotations)?;
                }
                _ => {}
            }
        }
        for field in self.raw.fields() {
            let field = field?;
            let mut annotations = Vec::new();
            for attribute in field.attributes() {
                let attribute = attribute?;
                if is_annotations(self.raw.pool().get(attribute.name())?.content.as_bytes()) {
                    annotation::read(attribute.content(), &pool, &mut annotations)?;
                }
            }
            header.fields.push(Field {
                name: pool.utf8(field.name())?,
                descriptor: pool.utf8(field.descriptor())?,
                access: Access(field.access_flags().bits()),
                annotations,
            });
        }
        for method in self.raw.methods() {
            let method = method?;
            let mut annotations = Vec::new();
            let mut has_code = false;
            for attribute in method.attributes() {
                let attribute = attribute?;
                let name = self.raw.pool().get(attribute.name())?.content.as_bytes();
                if name == b"Code" {
                    has_code = true;
                } else if is_annotations(name) {
                    annotation::read(attribute.content(), &pool, &mut annotations)?;
                }
            }
            header.methods.push(Method {
                name: pool.utf8(method.name())?,
                descriptor: pool.utf8(method.descriptor())?,
                access: Access(method.access_flags().bits()),
                annotations,
                has_code,
            });
        }
        Ok(header)
    }

    pub fn bootstraps(&self, names: &Names) -> Result<Vec<Bootstrap>, Error> {
        let pool = self.pool(names);
        let mut bootstraps = Vec::new();
        for attribute in self.raw.attributes() {
            let attribute = attribute?;
            if self.raw.pool().get(attribute.name())?.content.as_bytes() != b"BootstrapMethods" {
                continue;
            }
            if let AttributeContent::BootstrapMethods(methods) = attribute.read_content(self.raw.pool())? {
                for method in methods.methods() {
                    let method = method?;
                    let handle = pool.handle(self.raw.pool().get(method.method_ref())?)?;
                    let mut arguments = Vec::new();
                    for argument in method.arguments() {
                        arguments.push(pool.constant(argument?)?);
                    }
                    bootstraps.push(Bootstrap { handle, arguments });
                }
            }
        }
        Ok(bootstraps)
    }

    /// The decoded code of the method at `index` in [`Header::methods`]; `None` if it has none.
    pub fn code(&self, index: usize, names: &Names) -> Result<Option<Code>, Error> {
        let Some(method) = self.raw.methods().into_iter().nth(index) else {
            return Ok(None);
        };
        self.code_of(&method?, &self.pool(names))
    }

    /// The decoded code of every method that `wanted` accepts, by its index in [`Header::methods`].
    pub fn codes(
        &self,
        names: &Names,
        mut wanted: impl FnMut(usize) -> bool,
        mut visit: impl FnMut(usize, Result<Option<Code>, Error>),
    ) {
        let pool = self.pool(names);
        for (index, method) in self.raw.methods().into_iter().enumerate() {
            if wanted(index) {
                visit(index, method.map_err(Error::from).and_then(|method| self.code_of(&method, &pool)));
            }
        }
    }

    fn code_of(&self, method: &noak::reader::Method<'a>, pool: &Pool<'_, 'a>) -> Result<Option<Code>, Error> {
        for attribute in method.attributes() {
            let attribute = attribute?;
            if self.raw.pool().get(attribute.name())?.content.as_bytes() == b"Code"
                && let AttributeContent::Code(code) = attribute.read_content(self.raw.pool())?
            {
                return Code::decode(&code, pool).map(Some);
            }
        }
        Ok(None)
    }
}

fn is_annotations(attribute: &[u8]) -> bool {
    matches!(attribute, b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations")
}
