//! A class that is being edited.

use super::code::CodeEditor;
use super::layout::{self, Layout, Member};
use super::limit::{EditError, Limit};
use super::pool::ConstantPool;
use super::snippet::Snippet;
use crate::cursor::Cursor;
use crate::{Access, Error};

/// How a call site is made: a handle, and constants that it gets.
#[derive(Clone, Debug)]
pub struct BootstrapMethod {
    pub handle: u16,
    pub arguments: Vec<u16>,
    /// Where the arguments stand.
    at: usize,
}

/// A class file to which code, constants, fields and methods are added.
pub struct ClassEditor<'a> {
    bytes: &'a [u8],
    layout: Layout,
    pub pool: ConstantPool<'a>,
    /// By method: the new content of its `Code`.
    codes: Vec<Option<Vec<u8>>>,
    new_fields: Vec<u8>,
    new_field_count: usize,
    new_methods: Vec<u8>,
    new_method_count: usize,
    /// Arguments of bootstrap methods: where they stand, and the constants that stand there now.
    new_arguments: Vec<(usize, u16)>,
}

impl<'a> ClassEditor<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<ClassEditor<'a>, Error> {
        let (layout, pool) = layout::read(bytes)?;
        let codes = vec![None; layout.methods.len()];
        Ok(ClassEditor {
            bytes,
            layout,
            pool,
            codes,
            new_fields: Vec::new(),
            new_field_count: 0,
            new_methods: Vec::new(),
            new_method_count: 0,
            new_arguments: Vec::new(),
        })
    }

    pub fn major_version(&self) -> u16 {
        self.layout.major
    }

    pub fn access(&self) -> Access {
        self.layout.access
    }

    /// The constant that names the class itself.
    pub fn this_class(&self) -> u16 {
        self.layout.this_class
    }

    pub fn name(&self) -> Option<&'a [u8]> {
        self.pool.class(self.layout.this_class)
    }

    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.pool.class(self.layout.super_class)
    }

    pub fn interface_names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.layout.interfaces.iter().filter_map(|interface| self.pool.class(*interface))
    }

    pub fn source_file(&self) -> Option<&'a [u8]> {
        self.pool.utf8(self.layout.source_file?)
    }

    pub fn fields(&self) -> &[Member] {
        &self.layout.fields
    }

    pub fn methods(&self) -> &[Member] {
        &self.layout.methods
    }

    /// The code of a method, to be edited; `None` if it has none.
    pub fn code(&self, method: usize) -> Result<Option<CodeEditor<'a>>, Error> {
        let Some(range) = self.layout.methods.get(method).and_then(|method| method.code.clone()) else {
            return Ok(None);
        };
        CodeEditor::read(&self.bytes[range], self.layout.major, &self.pool).map(Some)
    }

    /// Puts edited code in its place.
    pub fn set_code(&mut self, method: usize, code: CodeEditor<'_>) -> Result<(), EditError> {
        self.codes[method] = Some(code.finish(&mut self.pool)?);
        Ok(())
    }

    /// How many bytes the edited code of a method has; `None` if it was not edited.
    pub fn edited_length(&self, method: usize) -> Option<u32> {
        let length = self.codes[method].as_ref()?.get(4..8)?;
        Some(u32::from_be_bytes([length[0], length[1], length[2], length[3]]))
    }

    /// Gives up what was done to the code of a method.
    pub fn reset_code(&mut self, method: usize) {
        self.codes[method] = None;
    }

    pub fn add_field(&mut self, access: Access, name: &[u8], descriptor: &[u8]) -> Result<(), Limit> {
        if self.layout.fields.len() + self.new_field_count >= usize::from(u16::MAX) {
            return Err(Limit::Fields);
        }
        let (name, descriptor) = (self.pool.add_utf8(name)?, self.pool.add_utf8(descriptor)?);
        for part in [access.bits(), name, descriptor, 0] {
            self.new_fields.extend(part.to_be_bytes());
        }
        self.new_field_count += 1;
        Ok(())
    }

    /// The bootstrap methods, in their order.
    pub fn bootstraps(&self) -> Result<Vec<BootstrapMethod>, Error> {
        let Some(range) = self.layout.bootstraps.clone() else { return Ok(Vec::new()) };
        let start = range.start;
        let mut cursor = Cursor::new(&self.bytes[range]);
        let mut all = Vec::new();
        for _ in 0..cursor.u16()? {
            let (handle, count) = (cursor.u16()?, cursor.u16()?);
            let at = start + cursor.at();
            let arguments = (0..count).map(|_| cursor.u16()).collect::<Result<_, Error>>()?;
            all.push(BootstrapMethod { handle, arguments, at });
        }
        Ok(all)
    }

    /// Gives a bootstrap method another constant for one of its arguments.
    pub fn set_argument(&mut self, of: &BootstrapMethod, index: usize, constant: u16) {
        self.new_arguments.push((of.at + 2 * index, constant));
    }

    /// Adds a method, all of whose code is on one line, if the line is not 0.
    pub fn add_method(
        &mut self,
        access: Access,
        [name, descriptor]: [&[u8]; 2],
        (code, max_locals): (&Snippet, u16),
        line: u16,
    ) -> Result<(), Limit> {
        if self.layout.methods.len() + self.new_method_count >= usize::from(u16::MAX) {
            return Err(Limit::Methods);
        }
        let (name, descriptor) = (self.pool.add_utf8(name)?, self.pool.add_utf8(descriptor)?);
        let (attribute, lines) = (self.pool.add_utf8(b"Code")?, self.pool.add_utf8(b"LineNumberTable")?);
        let mut content = [code.highest().to_be_bytes(), max_locals.to_be_bytes()].concat();
        content.extend((code.bytes().len() as u32).to_be_bytes());
        content.extend_from_slice(code.bytes());
        content.extend([0, 0]);
        content.extend(u16::from(line > 0).to_be_bytes());
        if line > 0 {
            // One entry: from the start on, this line.
            content.extend([lines.to_be_bytes(), [0, 0], [0, 6], [0, 1], [0, 0], line.to_be_bytes()].concat());
        }
        for part in [access.bits(), name, descriptor, 1, attribute] {
            self.new_methods.extend(part.to_be_bytes());
        }
        self.new_methods.extend((content.len() as u32).to_be_bytes());
        self.new_methods.extend(content);
        self.new_method_count += 1;
        Ok(())
    }

    /// Whether anything was changed.
    pub fn is_edited(&self) -> bool {
        let is_larger = self.new_field_count > 0 || self.new_method_count > 0;
        is_larger || !self.new_arguments.is_empty() || self.codes.iter().any(Option::is_some)
    }

    /// The class with all edits.
    pub fn finish(self) -> Vec<u8> {
        let grown: usize = self.codes.iter().flatten().map(Vec::len).sum();
        let mut out = Vec::with_capacity(self.bytes.len() + self.pool.added().len() + self.new_fields.len() + grown);
        out.extend_from_slice(&self.bytes[..8]);
        out.extend(self.pool.count().to_be_bytes());
        out.extend_from_slice(&self.bytes[10..self.layout.head.start]);
        out.extend_from_slice(self.pool.added());
        out.extend_from_slice(&self.bytes[self.layout.head.clone()]);

        // Adding a field fails before the sum would no longer fit.
        let fields = self.layout.fields.len() + self.new_field_count;
        out.extend((fields as u16).to_be_bytes());
        for field in &self.layout.fields {
            out.extend_from_slice(&self.bytes[field.range.clone()]);
        }
        out.extend_from_slice(&self.new_fields);

        let methods = self.layout.methods.len() + self.new_method_count;
        out.extend((methods as u16).to_be_bytes());
        for (method, code) in self.layout.methods.iter().zip(&self.codes) {
            match (code, &method.code) {
                (Some(new), Some(old)) => {
                    out.extend_from_slice(&self.bytes[method.range.start..old.start - 4]);
                    out.extend((new.len() as u32).to_be_bytes());
                    out.extend_from_slice(new);
                    out.extend_from_slice(&self.bytes[old.end..method.range.end]);
                }
                _ => out.extend_from_slice(&self.bytes[method.range.clone()]),
            }
        }
        out.extend_from_slice(&self.new_methods);
        let moved = out.len() as isize - self.layout.tail.start as isize;
        out.extend_from_slice(&self.bytes[self.layout.tail]);
        for (at, constant) in self.new_arguments {
            // They stand in the tail, which is there.
            let at = at.wrapping_add_signed(moved);
            out[at..at + 2].copy_from_slice(&constant.to_be_bytes());
        }
        out
    }
}
