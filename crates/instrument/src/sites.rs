//! The places that have probes, and what they touch: the tables that give meaning to the numbers in events.

use classfile::{Access, ArrayKind};
use rustc_hash::FxHashMap;

use crate::arms::BranchRow;
use crate::call::{Call, WatchedCall};
use crate::known::Known;
use crate::library::Library;

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
    /// A modelled call, by its number in the table of calls.
    Call(u32),
    /// A branch whose arms are told.
    Branch,
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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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

/// A method that modelled calls name. Its number is its place in the table of calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CallRow {
    /// As the call has it: the receiver may be of a class below.
    pub owner: String,
    pub name: String,
    pub descriptor: String,
    pub call: Call,
}

/// A method that arms call, as the call has it: class, name and descriptor. Its number is its place in the table of members.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

/// All tables of one JVM, which grow with every class.
#[derive(Default)]
pub struct Sites {
    rows: Vec<SiteRow>,
    methods: Vec<MethodRow>,
    fields: Vec<FieldRow>,
    calls: Vec<CallRow>,
    branches: Vec<BranchRow>,
    members: Vec<Member>,
    member_numbers: FxHashMap<Member, u32>,
    /// Where arms are told, a method's code may be gone through again for those who call it: rows of methods, and sites by
    /// method, offset and whether they stand for the method as a whole.
    method_numbers: FxHashMap<MethodRow, u32>,
    site_numbers: FxHashMap<(u32, u32, bool), i32>,
    call_numbers: FxHashMap<CallRow, u32>,
    /// How much of each table was handed out.
    taken: [usize; 4],
    notes: Vec<String>,
    /// Branches, or methods with all of theirs, whose arms are not told for want of room or of frames.
    pub left_branches: u32,
    pub(crate) known: Known,
    pub(crate) library: Library,
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
    pub first_call: usize,
    pub calls: &'s [CallRow],
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

    pub fn calls(&self) -> &[CallRow] {
        &self.calls
    }

    /// The methods that arms call.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn add_member(&mut self, member: Member) -> u32 {
        let next = self.members.len() as u32;
        *self.member_numbers.entry(member).or_insert_with_key(|member| {
            self.members.push(member.clone());
            next
        })
    }

    /// The row of a method whose sites are kept by place.
    pub(crate) fn method_number(&mut self, row: MethodRow) -> u32 {
        if let Some(number) = self.method_numbers.get(&row) {
            return *number;
        }
        let number = self.add_method(row.clone());
        self.method_numbers.insert(row, number);
        number
    }

    pub(crate) fn site_number(&mut self, row: SiteRow) -> i32 {
        let key = (row.method, u32::from(row.offset), row.what == What::Method);
        if let Some(number) = self.site_numbers.get(&key) {
            return *number;
        }
        let number = self.add_site(row);
        self.site_numbers.insert(key, number);
        number
    }

    pub fn branches(&self) -> &[BranchRow] {
        &self.branches
    }

    /// Whether a class of this binary name was seen, and declares a field of that name.
    pub fn declares(&self, class: &str, field: &str) -> bool {
        self.known.declares(class.as_bytes(), field.as_bytes())
    }

    /// The fields that a class declares, if it was seen.
    pub fn declared(&self, class: &str) -> impl Iterator<Item = (&[u8], Access)> {
        self.known.declared(class.as_bytes())
    }

    /// The access flags of a field, by all classes that were seen by now: more may be known than when code that refers
    /// to it was rewritten.
    pub fn access(&self, field: &FieldRow) -> Option<Access> {
        self.known.field(field.owner.as_bytes(), field.name.as_bytes(), field.descriptor.as_bytes())
    }

    /// The rows that were not handed out before.
    pub fn take_new(&mut self) -> NewRows<'_> {
        let [first_site, first_method, first_field, first_call] = self.taken;
        self.taken = [self.rows.len(), self.methods.len(), self.fields.len(), self.calls.len()];
        NewRows {
            first_site,
            sites: &self.rows[first_site..],
            first_method,
            methods: &self.methods[first_method..],
            first_field,
            fields: &self.fields[first_field..],
            first_call,
            calls: &self.calls[first_call..],
        }
    }

    /// What a person has to know of the classes since they were asked for last.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    pub(crate) fn add_note(&mut self, note: String) {
        self.notes.push(note);
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

    pub(crate) fn add_call(&mut self, row: CallRow) -> u32 {
        let next = self.calls.len() as u32;
        *self.call_numbers.entry(row).or_insert_with_key(|row| {
            self.calls.push(row.clone());
            next
        })
    }

    pub(crate) fn add_branch(&mut self, row: BranchRow) -> i32 {
        self.branches.push(row);
        self.branches.len() as i32 - 1
    }

    /// How long the tables are, to come back to where a method's rows are not wanted after all.
    pub(crate) fn mark(&self) -> Mark {
        Mark { sites: self.rows.len(), methods: self.methods.len(), branches: self.branches.len() }
    }

    pub(crate) fn reset(&mut self, mark: Mark) {
        self.rows.truncate(mark.sites);
        self.methods.truncate(mark.methods);
        self.branches.truncate(mark.branches);
        self.method_numbers.retain(|_, number| (*number as usize) < mark.methods);
        self.site_numbers.retain(|_, number| (*number as usize) < mark.sites);
    }
}

pub(crate) struct Mark {
    sites: usize,
    methods: usize,
    branches: usize,
}

/// The fields that one class refers to, by constant.
pub(crate) type FieldNumbers = FxHashMap<u16, Option<(u32, FieldKind)>>;

/// The modelled calls of one class, by constant.
pub(crate) type CallNumbers = FxHashMap<u16, Option<(u32, WatchedCall)>>;
