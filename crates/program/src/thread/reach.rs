//! Which entries reach which methods.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::Bits;
use super::{EntryId, EntryList};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::summary::components_of;

/// The call graph without the calls that only start something, and with class initialisers.
pub(super) struct Graph {
    ends: Vec<u32>,
    callees: Vec<MethodId>,
}

impl Graph {
    /// `started` are pairs of a method and a lambda that it only makes to be started.
    pub(super) fn of(program: &Program, calls: &Calls, started: &FxHashSet<(MethodId, MethodId)>) -> Graph {
        let initialiser = program.names.intern("<clinit>");
        let mut by_class: Vec<Option<MethodId>> = vec![None; program.known_class_count()];
        for class in program.classes() {
            by_class[class.0 as usize] =
                program.methods_of(class).find(|method| program.method(*method).name == initialiser);
        }
        let mut graph = Graph { ends: Vec::with_capacity(program.known_method_count()), callees: Vec::new() };
        for method in (0..program.known_method_count() as u32).map(MethodId) {
            let start = graph.callees.len();
            let callees = calls.callees(method).iter().copied();
            graph.callees.extend(callees.filter(|callee| !started.contains(&(method, *callee))));
            let own = program.class_of(method);
            let mentions = &calls.mentions[method.index()];
            let touched = mentions.reads.iter().chain(&mentions.writes).filter_map(|field| program.class(field.class));
            for class in touched.chain([own]) {
                graph.callees.extend(by_class[class.0 as usize].filter(|found| *found != method));
            }
            graph.callees[start..].sort_unstable();
            let mut kept = start;
            for index in start..graph.callees.len() {
                if index == start || graph.callees[index] != graph.callees[kept - 1] {
                    graph.callees[kept] = graph.callees[index];
                    kept += 1;
                }
            }
            graph.callees.truncate(kept);
            graph.ends.push(kept as u32);
        }
        graph
    }

    pub(super) fn callees(&self, method: MethodId) -> &[MethodId] {
        let index = method.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.callees[start..self.ends[index] as usize]
    }

    /// Methods of the program in groups that call each other, callees first.
    pub(super) fn components(&self, wanted: impl Fn(MethodId) -> bool) -> Vec<Vec<MethodId>> {
        components_of(|method| self.callees(method), self.ends.len(), wanted)
    }
}

/// By method: the entries that reach it. Equal lists are kept once.
#[derive(Default)]
pub(super) struct Rows {
    row: Vec<u32>,
    lists: Vec<EntryList>,
    sets: Vec<Bits>,
}

impl Rows {
    pub(super) fn of_roots(graph: &Graph, components: &[Vec<MethodId>], roots: &[Vec<MethodId>]) -> Rows {
        let count = graph.ends.len();
        let mut component_of = vec![u32::MAX; count];
        for (index, component) in components.iter().enumerate() {
            for method in component {
                component_of[method.index()] = index as u32;
            }
        }
        let mut sets: Vec<Bits> = vec![Bits::default(); components.len()];
        for (entry, methods) in roots.iter().enumerate() {
            for method in methods {
                if let Some(set) = sets.get_mut(component_of[method.index()] as usize) {
                    set.insert(entry);
                }
            }
        }
        // Callers come last.
        for index in (0..components.len()).rev() {
            if sets[index].is_empty() {
                continue;
            }
            let set = sets[index].clone();
            for method in &components[index] {
                for callee in graph.callees(*method) {
                    let of_callee = component_of[callee.index()] as usize;
                    if of_callee != index
                        && let Some(below) = sets.get_mut(of_callee)
                    {
                        below.add(&set);
                    }
                }
            }
        }
        let mut rows = Rows { row: vec![0; count], lists: vec![EntryList::new()], sets: vec![Bits::default()] };
        let mut known: FxHashMap<Bits, u32> = FxHashMap::default();
        known.insert(Bits::default(), 0);
        for (component, set) in components.iter().zip(sets) {
            let set = set.trimmed();
            let row = *known.entry(set.clone()).or_insert_with(|| {
                rows.lists.push(set.iter().map(|entry| EntryId(entry as u32)).collect());
                rows.sets.push(set);
                rows.lists.len() as u32 - 1
            });
            for method in component {
                rows.row[method.index()] = row;
            }
        }
        rows
    }

    pub(super) fn of(&self, method: MethodId) -> &[EntryId] {
        self.row.get(method.index()).map_or(&[], |row| &self.lists[*row as usize])
    }

    pub(super) fn reaches(&self, entry: EntryId, method: MethodId) -> bool {
        self.row.get(method.index()).is_some_and(|row| self.sets[*row as usize].contains(entry.index()))
    }
}
