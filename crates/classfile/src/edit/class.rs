//! A class that is being edited.

use super::code::CodeEditor;
use super::layout::{self, Layout, Member};
use super::limit::{EditError, Limit};
use super::pool::ConstantPool;
use crate::{Access, Error};

/// A class file to which code, constants and fields are added.
pub struct ClassEditor<'a> {
    bytes: &'a [u8],
    layout: Layout,
    pub pool: ConstantPool<'a>,
    /// By method: the new content of its `Code`.
    codes: Vec<Option<Vec<u8>>>,
    new_fields: Vec<u8>,
    new_field_count: usize,
}

impl<'a> ClassEditor<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<ClassEditor<'a>, Error> {
        let (layout, pool) = layout::read(bytes)?;
        let codes = vec![None; layout.methods.len()];
        Ok(ClassEditor { bytes, layout, pool, codes, new_fields: Vec::new(), new_field_count: 0 })
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

    /// Whether anything was changed.
    pub fn is_edited(&self) -> bool {
        self.new_field_count > 0 || self.codes.iter().any(Option::is_some)
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

        out.extend((self.layout.methods.len() as u16).to_be_bytes());
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
        out.extend_from_slice(&self.bytes[self.layout.tail]);
        out
    }
}
