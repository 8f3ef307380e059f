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
}

/// Where the fields that a method reads end in a list, and those that it writes, which follow.
#[derive(Clone, Copy)]
struct Ends {
    reads: u32,
    writes: u32,
}

impl Touched {
    pub(crate) fn of(program: &Program) -> Touched {
        let parts: Vec<Touched> =
            program.mentions.par_chunks(AT_ONCE).map(|mentions| Touched::of_some(program, mentions)).collect();
        let mut all = Touched {
            list: Vec::with_capacity(parts.iter().map(|part| part.list.len()).sum()),
            ends: Vec::with_capacity(program.mentions.len()),
        };
        for part in parts {
            let start = all.list.len() as u32;
            let moved = |ends: &Ends| Ends { reads: start + ends.reads, writes: start + ends.writes };
            all.ends.extend(part.ends.iter().map(moved));
            all.list.extend(part.list);
        }
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
}
