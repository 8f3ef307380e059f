//! The places that have probes, and what they touch: the tables that give meaning to the numbers in events.

use classfile::ArrayKind;
use rustc_hash::FxHashMap;

use crate::known::Known;

/// What is known of a field when code that touches it is rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    Plain,
    Volatile,
    /// Nothing tells: the class that declares it has not been seen. Its probes are those of a plain field.
    Unknown,
}

/// What a probe is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// A field, by its number in the table of fields.
    Read(u32),
    Write(u32),
    ReadElement(ArrayKind),
    WriteElement(ArrayKind),
    /// A monitor is taken.
    Enter,
    /// A monitor is given back.
    Leave,
    /// The method as a whole: its activations and units, and the monitor of a synchronized method.
    Method,
}

/// One instruction that has a probe. Its number is its place in the table of sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteRow {
    /// A number in the table of methods.
    pub method: u32,
    /// In the code as it was.
    pub offset: u16,
    /// 0 if the class does not tell.
    pub line: u16,
    pub what: What,
}

/// A method that has sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodRow {
    /// Binary name.
    pub class: String,
    pub name: String,
    pub descriptor: String,
    pub file: Option<String>,
}

/// A field as one class refers to it. Its number is its place in the table of fields.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldRow {
    /// The class whose code refers to it.
    pub class: String,
    /// As the reference has it: the field may be declared in a class above.
    pub owner: String,
    pub name: String,
    pub descriptor: String,
    pub is_static: bool,
    pub kind: FieldKind,
}

/// All tables of one JVM, which grow with every class.
#[derive(Default)]
pub struct Sites {
    rows: Vec<SiteRow>,
    methods: Vec<MethodRow>,
    fields: Vec<FieldRow>,
    /// How much of each table was handed out.
    taken: (usize, usize, usize),
    pub(crate) known: Known,
}

/// What came to the tables since they were asked last, with the number of each first row.
#[derive(Clone, Copy, Debug)]
pub struct NewRows<'s> {
    pub first_site: usize,
    pub sites: &'s [SiteRow],
    pub first_method: usize,
    pub methods: &'s [MethodRow],
    pub first_field: usize,
    pub fields: &'s [FieldRow],
}

impl Sites {
    pub fn new() -> Sites {
        Sites::default()
    }

    pub fn sites(&self) -> &[SiteRow] {
        &self.rows
    }

    pub fn methods(&self) -> &[MethodRow] {
        &self.methods
    }

    pub fn fields(&self) -> &[FieldRow] {
        &self.fields
    }

    /// Whether a class of this binary name was seen, and declares a field of that name.
    pub fn declares(&self, class: &str, field: &str) -> bool {
        self.known.declares(class.as_bytes(), field.as_bytes())
    }

    /// Whether a field is volatile, by all classes that were seen by now: more may be known than when code that refers
    /// to it was rewritten.
    pub fn is_volatile(&self, field: &FieldRow) -> bool {
        let access = self.known.field(field.owner.as_bytes(), field.name.as_bytes(), field.descriptor.as_bytes());
        access.is_some_and(|access| access.is_volatile())
    }

    /// The rows that were not handed out before.
    pub fn take_new(&mut self) -> NewRows<'_> {
        let (first_site, first_method, first_field) = self.taken;
        self.taken = (self.rows.len(), self.methods.len(), self.fields.len());
        NewRows {
            first_site,
            sites: &self.rows[first_site..],
            first_method,
            methods: &self.methods[first_method..],
            first_field,
            fields: &self.fields[first_field..],
        }
    }

    pub(crate) fn add_site(&mut self, row: SiteRow) -> i32 {
        let number = self.rows.len();
        self.rows.push(row);
        // Two thousand million sites are more than any JVM loads code for.
        number as i32
    }

    pub(crate) fn add_method(&mut self, row: MethodRow) -> u32 {
        self.methods.push(row);
        self.methods.len() as u32 - 1
    }

    pub(crate) fn add_field(&mut self, row: FieldRow) -> u32 {
        self.fields.push(row);
        self.fields.len() as u32 - 1
    }

    /// How long the tables are, to come back to where a method's rows are not wanted after all.
    pub(crate) fn mark(&self) -> Mark {
        Mark { sites: self.rows.len(), methods: self.methods.len() }
    }

    pub(crate) fn reset(&mut self, mark: Mark) {
        self.rows.truncate(mark.sites);
        self.methods.truncate(mark.methods);
    }
}

pub(crate) struct Mark {
    sites: usize,
    methods: usize,
}

/// The fields that one class refers to, by constant.
pub(crate) type FieldNumbers = FxHashMap<u16, Option<(u32, FieldKind)>>;
