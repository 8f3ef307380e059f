//! Which fields the code of each method names, by number: the names are looked up once for all who ask of many methods.

use location::FieldName;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::class::{FieldId, Mentions, MethodId, Program};

/// So many methods are looked at by one thread, which keeps what it has looked up: code of one class names the same few
/// fields again and again.
const AT_ONCE: usize = 2_048;

/// The fields that methods read and write. Names of fields that nobody knows are left out.
#[derive(Default)]
pub(crate) struct Touched {
    list: Vec<FieldId>,
    /// By method.
    ends: Vec<Ends>,
    users: Users,
    writers: Users,
}

/// By field: methods, in order.
#[derive(Default)]
struct Users {
    list: Vec<MethodId>,
    /// Where those of a field end in the list.
    ends: Vec<u32>,
}

impl Users {
    /// Of a program with so many fields, by what `of` tells of each of so many methods.
    fn of<'t>(fields: usize, methods: usize, of: impl Fn(MethodId) -> &'t [FieldId]) -> Users {
        let all = || (0..methods as u32).map(MethodId);
        let mut next = vec![0u32; fields];
        for field in all().flat_map(&of) {
            next[field.0 as usize] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            sum += std::mem::replace(count, sum);
        }
        let starts = next.clone();
        let mut list = vec![MethodId(0); sum as usize];
        for method in all() {
            for field in of(method) {
                // A method may read and write a field, and name it in several ways.
                let at = &mut next[field.0 as usize];
                if *at == starts[field.0 as usize] || list[*at as usize - 1] != method {
                    list[*at as usize] = method;
                    *at += 1;
                }
            }
        }
        let mut users = Users { list: Vec::with_capacity(list.len()), ends: Vec::with_capacity(fields) };
        for (start, end) in starts.into_iter().zip(next) {
            users.list.extend_from_slice(&list[start as usize..end as usize]);
            users.ends.push(users.list.len() as u32);
        }
        users
    }

    /// None for a field that is no field of a class.
    fn get(&self, field: FieldId) -> &[MethodId] {
        let index = field.0 as usize;
        let Some(end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.list[start as usize..*end as usize]
    }
}

/// Where the fields that a method reads end in a list, and those that it writes, which follow.
#[derive(Clone, Copy)]
struct Ends {
    reads: u32,
    writes: u32,
}

impl Touched {
    pub(crate) fn of_program(program: &Program) -> Touched {
        let parts: Vec<Touched> =
            program.mentions.par_chunks(AT_ONCE).map(|mentions| Touched::of_some(program, mentions)).collect();
        let mut all = Touched {
            list: Vec::with_capacity(parts.iter().map(|part| part.list.len()).sum()),
            ends: Vec::with_capacity(program.mentions.len()),
            ..Touched::default()
        };
        for part in parts {
            let start = all.list.len() as u32;
            let moved = |ends: &Ends| Ends { reads: start + ends.reads, writes: start + ends.writes };
            all.ends.extend(part.ends.iter().map(moved));
            all.list.extend(part.list);
        }
        let (fields, methods) = (program.class_of_field.len(), program.method_count());
        (all.users, all.writers) = rayon::join(
            || Users::of(fields, methods, |method| all.of(method)),
            || Users::of(fields, methods, |method| all.writes(method)),
        );
        all
    }

    fn of_some(program: &Program, mentions: &[Mentions]) -> Touched {
        let mut known: FxHashMap<FieldName, Option<FieldId>> = FxHashMap::default();
        let mut field = |name: &FieldName| *known.entry(*name).or_insert_with(|| program.resolve_field(*name));
        let mut touched = Touched::default();
        for mentions in mentions {
            touched.list.extend(mentions.reads.iter().filter_map(&mut field));
            let reads = touched.list.len() as u32;
            touched.list.extend(mentions.writes.iter().filter_map(&mut field));
            touched.ends.push(Ends { reads, writes: touched.list.len() as u32 });
        }
        touched
    }

    /// What a method's own code reads.
    pub(crate) fn reads(&self, method: MethodId) -> &[FieldId] {
        let start = if method.index() == 0 { 0 } else { self.ends[method.index() - 1].writes };
        &self.list[start as usize..self.ends[method.index()].reads as usize]
    }

    /// What a method's own code writes.
    pub(crate) fn writes(&self, method: MethodId) -> &[FieldId] {
        let Ends { reads, writes } = self.ends[method.index()];
        &self.list[reads as usize..writes as usize]
    }

    /// What a method's own code reads, and then what it writes.
    fn of(&self, method: MethodId) -> &[FieldId] {
        let start = if method.index() == 0 { 0 } else { self.ends[method.index() - 1].writes };
        &self.list[start as usize..self.ends[method.index()].writes as usize]
    }

    /// The checked methods whose own code names a field, in order.
    pub(crate) fn users(&self, field: FieldId) -> &[MethodId] {
        self.users.get(field)
    }

    /// The checked methods whose own code writes a field, in order.
    pub(crate) fn writers(&self, field: FieldId) -> &[MethodId] {
        self.writers.get(field)
    }

    /// The methods whose own code writes one of some fields, in order.
    pub(crate) fn writers_of<'f>(&self, fields: impl IntoIterator<Item = &'f FieldId>) -> Vec<MethodId> {
        let mut writers: Vec<MethodId> = fields.into_iter().flat_map(|field| self.writers(*field)).copied().collect();
        writers.sort_unstable();
        writers.dedup();
        writers
    }
}
