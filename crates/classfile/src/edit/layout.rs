//! Where the parts of a class file lie.

use std::ops::Range;

use super::pool::ConstantPool;
use crate::cursor::Cursor;
use crate::{Access, Error};

/// A field or method.
#[derive(Clone, Debug)]
pub struct Member {
    pub access: Access,
    /// A constant with the name.
    pub name: u16,
    /// A constant with the descriptor.
    pub descriptor: u16,
    /// The whole member.
    pub(super) range: Range<usize>,
    /// The content of its `Code`.
    pub(super) code: Option<Range<usize>>,
}

/// A class file cut at the places where something can change.
pub(super) struct Layout {
    pub(super) major: u16,
    /// From the access flags to the end of the interfaces.
    pub(super) head: Range<usize>,
    pub(super) access: Access,
    pub(super) this_class: u16,
    pub(super) super_class: u16,
    pub(super) interfaces: Vec<u16>,
    pub(super) fields: Vec<Member>,
    pub(super) methods: Vec<Member>,
    /// From the number of the class's own attributes to the end.
    pub(super) tail: Range<usize>,
    pub(super) source_file: Option<u16>,
    /// The content of its `BootstrapMethods`.
    pub(super) bootstraps: Option<Range<usize>>,
}

pub(super) fn read<'a>(bytes: &'a [u8]) -> Result<(Layout, ConstantPool<'a>), Error> {
    let mut cursor = Cursor::new(bytes);
    if cursor.u32()? != 0xcafe_babe {
        return Err(Error::Malformed("it does not start with ca fe ba be".to_owned()));
    }
    let (minor, major) = (cursor.u16()?, cursor.u16()?);
    // Before 45.3, the sizes in front of a method's code took fewer bytes.
    if !crate::class::is_known_version(major) || (major == 45 && minor < 3) {
        return Err(Error::UnknownVersion { major, minor });
    }
    let pool = ConstantPool::read(bytes, &mut cursor)?;
    let head = cursor.at();
    let access = Access::from_bits(cursor.u16()?);
    let (this_class, super_class) = (cursor.u16()?, cursor.u16()?);
    let mut interfaces = Vec::new();
    for _ in 0..cursor.u16()? {
        interfaces.push(cursor.u16()?);
    }
    let head = head..cursor.at();
    let fields = members(&mut cursor, &pool)?;
    let methods = members(&mut cursor, &pool)?;
    let tail = cursor.at();
    let (mut source_file, mut bootstraps) = (None, None);
    for _ in 0..cursor.u16()? {
        let name = cursor.u16()?;
        let content = cursor.block()?;
        match pool.utf8(name) {
            Some(b"SourceFile") => source_file = Some(Cursor::new(content).u16()?),
            Some(b"BootstrapMethods") => bootstraps = Some(cursor.at() - content.len()..cursor.at()),
            _ => {}
        }
    }
    if !cursor.is_at_end() {
        return Err(Error::Malformed("something follows its end".to_owned()));
    }
    let tail = tail..cursor.at();
    let layout = Layout {
        major,
        head,
        access,
        this_class,
        super_class,
        interfaces,
        fields,
        methods,
        tail,
        source_file,
        bootstraps,
    };
    Ok((layout, pool))
}

fn members(cursor: &mut Cursor<'_>, pool: &ConstantPool<'_>) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    for _ in 0..cursor.u16()? {
        let start = cursor.at();
        let access = Access::from_bits(cursor.u16()?);
        let (name, descriptor) = (cursor.u16()?, cursor.u16()?);
        let mut code = None;
        for _ in 0..cursor.u16()? {
            let attribute = cursor.u16()?;
            let content = cursor.block()?;
            if pool.utf8(attribute) == Some(b"Code") {
                if code.is_some() {
                    return Err(Error::Malformed("a method has two codes".to_owned()));
                }
                code = Some(cursor.at() - content.len()..cursor.at());
            }
        }
        members.push(Member { access, name, descriptor, range: start..cursor.at(), code });
    }
    Ok(members)
}
