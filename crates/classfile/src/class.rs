//! One class: its head, its members, and the way to their code.

use location::{ClassName, MethodName, Names, Symbol, SymbolCell};

use crate::annotation::{self, Annotation};
use crate::constant::{Bootstrap, Pool, Symbols};
use crate::constants::{Constants, malformed, misnamed};
use crate::cursor::Cursor;
use crate::{Code, Error, KnownClass};

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
    /// Of a local or anonymous class: the method whose body it stands in.
    pub enclosing: Option<MethodName>,
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
    constants: Constants<'a>,
    major: u16,
    access: Access,
    this_class: u16,
    /// 0 if there is none.
    super_class: u16,
    interfaces: Vec<u16>,
    fields: Vec<Member<'a>>,
    methods: Vec<Member<'a>>,
    attributes: Attributes<'a>,
    symbols: Symbols,
}

/// A field or method as it stands in the file.
struct Member<'a> {
    access: Access,
    name: u16,
    descriptor: u16,
    attributes: Attributes<'a>,
}

/// A list of attributes: the name of each, a constant, and its content.
#[derive(Clone)]
pub(crate) struct Attributes<'a> {
    count: u16,
    rest: Cursor<'a>,
}

impl<'a> Attributes<'a> {
    /// Those that start here. They are gone over, so that what follows can be read.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Attributes<'a>, Error> {
        let count = cursor.u16()?;
        let rest = cursor.clone();
        for _ in 0..count {
            cursor.u16()?;
            cursor.block()?;
        }
        Ok(Attributes { count, rest })
    }

    /// Where they start in the file.
    pub(crate) fn at(&self) -> u32 {
        // The number of them, in two bytes, stands first. Constants::read has checked that places fit.
        (self.rest.at() - 2) as u32
    }

    /// Name and content of each.
    pub(crate) fn named(&self, constants: &Constants<'a>) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), Error>> {
        self.clone().map(|(name, content)| {
            let name = constants.utf8(name).ok_or_else(|| misnamed(name))?;
            Ok((name, content))
        })
    }

    /// Of a method: the content of the one that has its code.
    pub(crate) fn code(&self, constants: &Constants<'a>) -> Result<Option<&'a [u8]>, Error> {
        for attribute in self.named(constants) {
            let (name, content) = attribute?;
            if name == b"Code" {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        self.count = self.count.checked_sub(1)?;
        Some((self.rest.u16().ok()?, self.rest.block().ok()?))
    }
}

impl<'a> Class<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Class<'a>, Error> {
        let mut cursor = Cursor::new(bytes);
        if cursor.u32()? != 0xcafe_babe {
            return Err(malformed("it does not start with ca fe ba be"));
        }
        let (minor, major) = (cursor.u16()?, cursor.u16()?);
        if !is_known_version(major) {
            return Err(Error::UnknownVersion { major, minor });
        }
        let constants = Constants::read(bytes, &mut cursor)?;
        let access = Access(cursor.u16()?);
        let (this_class, super_class) = (cursor.u16()?, cursor.u16()?);
        let mut interfaces = Vec::new();
        for _ in 0..cursor.u16()? {
            interfaces.push(cursor.u16()?);
        }
        let fields = members(&mut cursor)?;
        let methods = members(&mut cursor)?;
        let attributes = Attributes::read(&mut cursor)?;
        let symbols = (0..constants.count()).map(|_| SymbolCell::default()).collect();
        Ok(Class {
            constants,
            major,
            access,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            attributes,
            symbols,
        })
    }

    /// What whoever reads the class again need not find out again.
    pub fn into_known(self) -> KnownClass {
        let methods = self.methods.iter().map(|method| method.attributes.at()).collect();
        KnownClass::new(self.constants.into_offsets(), self.symbols, methods, self.attributes.at())
    }

    pub(crate) fn constants(&self) -> &Constants<'a> {
        &self.constants
    }

    pub(crate) fn pool<'r>(&'r self, names: &'r Names) -> Pool<'r, 'a> {
        Pool { raw: &self.constants, names, known: &self.symbols }
    }

    /// The class's own attributes, by name.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), Error>> {
        self.named(&self.attributes)
    }

    fn named(&self, attributes: &Attributes<'a>) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), Error>> {
        attributes.named(&self.constants)
    }

    pub fn header(&self, names: &Names) -> Result<Header, Error> {
        let pool = self.pool(names);
        let mut header = Header {
            name: pool.class(self.this_class)?,
            super_class: (self.super_class > 0).then(|| pool.class(self.super_class)).transpose()?,
            interfaces: self.interfaces.iter().map(|interface| pool.class(*interface)).collect::<Result<_, _>>()?,
            access: self.access,
            major_version: self.major,
            source_file: None,
            enclosing: None,
            annotations: Vec::new(),
            fields: Vec::with_capacity(self.fields.len()),
            methods: Vec::with_capacity(self.methods.len()),
        };
        for attribute in self.attributes() {
            let (name, content) = attribute?;
            if name == b"SourceFile" {
                header.source_file = Some(pool.utf8(Cursor::new(content).u16()?)?);
            } else if name == b"EnclosingMethod" {
                header.enclosing = enclosing(content, &pool);
            } else if is_annotations(name) {
                annotation::read(content, &pool, &mut header.annotations)?;
            }
        }
        for field in &self.fields {
            let mut annotations = Vec::new();
            for attribute in self.named(&field.attributes) {
                let (name, content) = attribute?;
                if is_annotations(name) {
                    annotation::read(content, &pool, &mut annotations)?;
                }
            }
            header.fields.push(Field {
                name: pool.utf8(field.name)?,
                descriptor: pool.utf8(field.descriptor)?,
                access: field.access,
                annotations,
            });
        }
        for method in &self.methods {
            let mut annotations = Vec::new();
            let mut has_code = false;
            for attribute in self.named(&method.attributes) {
                let (name, content) = attribute?;
                if name == b"Code" {
                    has_code = true;
                } else if is_annotations(name) {
                    annotation::read(content, &pool, &mut annotations)?;
                }
            }
            header.methods.push(Method {
                name: pool.utf8(method.name)?,
                descriptor: pool.utf8(method.descriptor)?,
                access: method.access,
                annotations,
                has_code,
            });
        }
        Ok(header)
    }

    pub fn bootstraps(&self, names: &Names) -> Result<Vec<Bootstrap>, Error> {
        self.pool(names).bootstraps(&self.attributes)
    }

    /// The decoded code of the method at `index` in [`Header::methods`]; `None` if it has none.
    pub fn code(&self, index: usize, names: &Names) -> Result<Option<Code>, Error> {
        match self.methods.get(index) {
            Some(method) => self.pool(names).code(&method.attributes),
            None => Ok(None),
        }
    }

    /// The decoded code of every method that `wanted` accepts, by its index in [`Header::methods`].
    pub fn codes(
        &self,
        names: &Names,
        mut wanted: impl FnMut(usize) -> bool,
        mut visit: impl FnMut(usize, Result<Option<Code>, Error>),
    ) {
        let pool = self.pool(names);
        for (index, method) in self.methods.iter().enumerate() {
            if wanted(index) {
                visit(index, pool.code(&method.attributes));
            }
        }
    }

    /// By method: the content of the attribute that has its code.
    pub(crate) fn raw_codes(&self) -> impl Iterator<Item = Result<Option<&'a [u8]>, Error>> {
        self.methods.iter().map(|method| method.attributes.code(&self.constants))
    }
}

fn members<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Member<'a>>, Error> {
    let count = cursor.u16()?;
    // Each takes eight bytes at least.
    let mut members = Vec::with_capacity(usize::from(count).min(cursor.left() / 8));
    for _ in 0..count {
        let access = Access(cursor.u16()?);
        let (name, descriptor) = (cursor.u16()?, cursor.u16()?);
        members.push(Member { access, name, descriptor, attributes: Attributes::read(cursor)? });
    }
    Ok(members)
}

/// None for a class that stands in an initialiser, or if the attribute is damaged, of which nothing else depends.
fn enclosing(content: &[u8], pool: &Pool<'_, '_>) -> Option<MethodName> {
    let mut content = Cursor::new(content);
    let (class, member) = (content.u16().ok()?, content.u16().ok().filter(|member| *member > 0)?);
    let (name, descriptor) = pool.name_and_type(member).ok()?;
    Some(MethodName { class: pool.class(class).ok()?, name, descriptor })
}

fn is_annotations(attribute: &[u8]) -> bool {
    matches!(attribute, b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations")
}
