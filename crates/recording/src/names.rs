//! What the numbers of a recording mean, and what they are called in a trace.

use rustc_hash::FxHashMap;
use trace::{
    BarrierId, Frame, LockId, MethodId, ObjectId, Part, SiteId, StringId, Tables, Thing, ThreadId, UnitId, VariableId,
};

use crate::by_object::ByObject;
use crate::record;
use crate::rows::Row;

/// The numbers of both sides.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) tables: Tables,
    strings: FxHashMap<String, StringId>,
    /// By the numbers of the recording.
    classes: Vec<StringId>,
    fields: Vec<StringId>,
    sites: Vec<SiteId>,
    methods: FxHashMap<SiteId, MethodId>,
    units: FxHashMap<u32, UnitId>,
    threads: Vec<Option<ThreadId>>,
    /// By kind, field or class and index.
    variables: ByObject,
    locks: ByObject,
    barriers: FxHashMap<u64, BarrierId>,
}

impl Names {
    pub(crate) fn row(&mut self, row: &Row) {
        match row {
            Row::Class { number, name } => {
                let name = self.string(&readable_class(name));
                put(&mut self.classes, *number, name);
            }
            Row::Thread { number, name } => {
                // A thread without a name has its number.
                let name = if name.is_empty() { format!("thread {number}") } else { name.clone() };
                let thread = self.tables.add_thread(&name);
                put(&mut self.threads, *number, Some(thread));
            }
            Row::Field { number, owner, name } => {
                let name = self.string(&format!("{}.{name}", owner.replace('/', ".")));
                put(&mut self.fields, *number, name);
            }
            Row::Site { number, class, method, descriptor, file, line, offset } => {
                let class = class.replace('/', ".");
                let frame = Frame {
                    class: self.string(&class),
                    method: self.string(method),
                    descriptor: self.string(descriptor),
                    file: self.string(file),
                    line: *line,
                    pc: *offset,
                };
                let site = self.tables.push_site(frame);
                put(&mut self.sites, *number, site);
            }
            Row::Unit { number, name } => {
                let unit = self.tables.add_unit(name);
                self.units.insert(*number, unit);
            }
            Row::Note { .. } | Row::Classes { .. } | Row::End => {}
        }
    }

    /// A site that is none has no row.
    #[inline(always)]
    pub(crate) fn site(&self, number: u32) -> SiteId {
        self.sites.get(number as usize).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn variable(&mut self, kind: u8, name: u32, object: u64, index: u32) -> VariableId {
        // A name has 24 bits, a kind six.
        let key = u64::from(kind) << 56 | u64::from(name) << 32 | u64::from(index);
        let has_many = kind == record::ELEMENT;
        match self.variables.get(object, key, has_many) {
            Some(variable) => VariableId(variable),
            None => self.new_variable(kind, name, object, index, key, has_many),
        }
    }

    #[cold]
    fn new_variable(&mut self, kind: u8, name: u32, object: u64, index: u32, key: u64, has_many: bool) -> VariableId {
        let (names, part) = match kind {
            record::FIELD => (&self.fields, Part::Whole),
            record::ELEMENT => (&self.classes, Part::Element(index)),
            _ => (&self.classes, Part::Contents),
        };
        let name_id = names.get(name as usize).copied().unwrap_or_default();
        let variable = self.tables.push_variable(Thing { name: name_id, object: ObjectId(object), part });
        self.variables.insert(object, key, has_many, variable.0);
        variable
    }

    #[inline]
    pub(crate) fn lock(&mut self, class: u32, object: u64) -> LockId {
        if let Some(lock) = self.locks.get(object, 0, false) {
            return LockId(lock);
        }
        let name = self.classes.get(class as usize).copied().unwrap_or_default();
        let lock = self.tables.push_lock(Thing { name, object: ObjectId(object), part: Part::Whole });
        self.locks.insert(object, 0, false, lock.0);
        lock
    }

    pub(crate) fn barrier(&mut self, class: u32, object: u64) -> BarrierId {
        if let Some(&barrier) = self.barriers.get(&object) {
            return barrier;
        }
        let name = self.classes.get(class as usize).copied().unwrap_or_default();
        let name = format!("{}@{object}", self.tables.string(name));
        let barrier = self.tables.add_barrier(&name);
        self.barriers.insert(object, barrier);
        barrier
    }

    pub(crate) fn unit(&mut self, number: u32) -> UnitId {
        self.units.get(&number).copied().unwrap_or_default()
    }

    pub(crate) fn method(&mut self, site: u32) -> MethodId {
        let site = self.sites.get(site as usize).copied().unwrap_or_default();
        if let Some(&method) = self.methods.get(&site) {
            return method;
        }
        let name = match self.tables.frame(site) {
            Some(frame) => {
                let text = |id| self.tables.string(id);
                format!("{}.{}:{}", text(frame.class), text(frame.method), text(frame.descriptor))
            }
            None => String::new(),
        };
        let method = MethodId(self.string(&name).0);
        self.methods.insert(site, method);
        method
    }

    /// A thread by its number in the recording. One without a row gets a name that says so.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> ThreadId {
        if let Some(Some(thread)) = self.threads.get(number as usize) {
            return *thread;
        }
        let thread = self.tables.add_thread(&format!("thread {number}"));
        put(&mut self.threads, number, Some(thread));
        thread
    }

    fn string(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.tables.add_string(text);
        self.strings.insert(text.to_owned(), id);
        id
    }
}

fn put<T: Clone + Default>(table: &mut Vec<T>, number: u32, value: T) {
    *at(table, number) = value;
}

pub(crate) fn at<T: Clone + Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    let number = number as usize;
    if table.len() <= number {
        table.resize(number + 1, T::default());
    }
    &mut table[number]
}

/// `int[]` for the JVM's `[I`.
fn readable_class(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.to_owned();
    }
    let element = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        object => object.strip_prefix('L').and_then(|object| object.strip_suffix(';')).unwrap_or(object),
    };
    element.to_owned() + &"[]".repeat(dimensions)
}
