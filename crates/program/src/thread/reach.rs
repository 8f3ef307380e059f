//! Which entries reach which methods.

use location::MethodName;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::Bits;
use super::callback::{Callback, called_by};
use super::{EntryId, EntryList};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::summary::{Components, components_of};

/// So many methods are looked at by one thread.
const AT_ONCE: usize = 4_096;

/// The call graph without the calls that only start something; with class initialisers, with what the library may call
/// back on an object that somebody makes, and with calls that have many targets.
///
/// A call with many targets is a node of its own, numbered after the methods, that leads to all of them.
pub(super) struct Graph {
    ends: Vec<u32>,
    callees: Vec<MethodId>,
    methods: usize,
}

impl Graph {
    /// Only calls that say whom they call, for what a program surely is made of.
    pub(super) fn of_plain_calls(
        calls: &Calls,
        methods: usize,
        started: &FxHashSet<(MethodId, MethodId)>,
        callbacks: &[Callback],
    ) -> Graph {
        let mut graph = Graph { ends: Vec::with_capacity(methods), callees: Vec::new(), methods };
        for method in (0..methods as u32).map(MethodId) {
            let callees = calls.callees(method).iter().copied();
            graph.callees.extend(callees.filter(|callee| !started.contains(&(method, *callee))));
            graph.callees.extend(called_by(callbacks, method));
            graph.ends.push(graph.callees.len() as u32);
        }
        graph
    }

    /// `started` are pairs of a method and a lambda that it only makes to be started; `entries` are run by threads of
    /// their own.
    pub(super) fn of(
        program: &Program,
        calls: &Calls,
        started: &FxHashSet<(MethodId, MethodId)>,
        entries: &FxHashSet<MethodId>,
        callbacks: &[Callback],
    ) -> Graph {
        let initialiser = program.names.intern("<clinit>");
        let constructor = program.names.intern("<init>");
        let mut by_class: Vec<Option<MethodId>> = vec![None; program.known_class_count()];
        for class in program.classes() {
            by_class[class.0 as usize] =
                program.methods_of(class).find(|method| program.method(*method).name == initialiser);
        }
        let back = called_back(program, calls, entries);
        let methods = program.known_method_count();
        let mut many: FxHashMap<MethodName, MethodId> = FxHashMap::default();
        let mut calls_with_many = Vec::new();
        for called in (0..methods as u32).flat_map(|method| calls.with_many_targets(MethodId(method))) {
            many.entry(*called).or_insert_with(|| {
                calls_with_many.push(*called);
                MethodId((methods + calls_with_many.len() - 1) as u32)
            });
        }
        let callees_of = |graph: &mut Graph, method: MethodId| {
            let callees = calls.callees(method).iter().copied();
            graph.callees.extend(callees.filter(|callee| !started.contains(&(method, *callee))));
            graph.callees.extend(called_by(callbacks, method));
            let own = program.class_of(method);
            let mentions = &calls.mentions[method.index()];
            // Code mostly names fields of its own class, and of one other after the other.
            let mut last = program.header(own).name;
            let touched = mentions.reads.iter().chain(&mentions.writes);
            let touched = touched.filter(|field| std::mem::replace(&mut last, field.class) != field.class);
            for class in touched.filter_map(|field| program.class(field.class)).chain([own]) {
                graph.callees.extend(by_class[class.0 as usize].filter(|found| *found != method));
            }
            if program.is_checked(own) && program.method(method).name == constructor {
                graph.callees.extend(&back[own.0 as usize]);
            }
            graph.callees.extend(calls.with_many_targets(method).iter().map(|called| many[called]));
        };
        let of_methods = |first: usize| {
            let mut part = Graph { ends: Vec::with_capacity(AT_ONCE), callees: Vec::new(), methods };
            for method in first..methods.min(first + AT_ONCE) {
                let start = part.callees.len();
                callees_of(&mut part, MethodId(method as u32));
                part.close(start);
            }
            part
        };
        let (parts, targets): (Vec<Graph>, Vec<Vec<MethodId>>) = rayon::join(
            || (0..methods.div_ceil(AT_ONCE)).into_par_iter().map(|part| of_methods(part * AT_ONCE)).collect(),
            || calls_with_many.par_iter().map(|called| calls.many_targets(program, *called)).collect(),
        );
        let mut graph = Graph { ends: Vec::with_capacity(methods + targets.len()), callees: Vec::new(), methods };
        for part in parts {
            let start = graph.callees.len() as u32;
            graph.ends.extend(part.ends.iter().map(|end| start + end));
            graph.callees.extend(part.callees);
        }
        for targets in targets {
            let start = graph.callees.len();
            // A task that is started has its own thread, whoever else may call such things.
            graph.callees.extend(targets.into_iter().filter(|target| !entries.contains(target)));
            graph.close(start);
        }
        graph
    }

    /// Ends the list of callees that begins at `start`.
    fn close(&mut self, start: usize) {
        self.callees[start..].sort_unstable();
        let mut kept = start;
        for index in start..self.callees.len() {
            if index == start || self.callees[index] != self.callees[kept - 1] {
                self.callees[kept] = self.callees[index];
                kept += 1;
            }
        }
        self.callees.truncate(kept);
        self.ends.push(kept as u32);
    }

    /// By node: whether a call with many targets leads there.
    pub(super) fn hidden(&self) -> Vec<bool> {
        let mut hidden = vec![false; self.ends.len()];
        let mut pending: Vec<MethodId> = (self.methods as u32..self.ends.len() as u32).map(MethodId).collect();
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut hidden[node.index()], true) {
                pending.extend(self.callees(node));
            }
        }
        hidden
    }

    /// How many nodes there are.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Whether a number is that of a method.
    pub(super) fn is_method(&self, node: MethodId) -> bool {
        node.index() < self.methods
    }

    pub(super) fn callees(&self, method: MethodId) -> &[MethodId] {
        let index = method.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.callees[start..self.ends[index] as usize]
    }

    /// Methods of the program in groups that call each other, callees first.
    pub(super) fn components(&self) -> Components {
        components_of(|method| self.callees(method), self.ends.len(), |_| true)
    }
}

/// By class: methods that override what a library class declares, but for those that are started.
fn called_back(program: &Program, calls: &Calls, entries: &FxHashSet<MethodId>) -> Vec<Vec<MethodId>> {
    let classes: Vec<_> = program.classes().collect();
    let of_class = |class: &crate::class::ClassId| {
        let mut library = program.ancestors(*class);
        library.retain(|ancestor| !program.is_checked(*ancestor));
        let overrides = |method: &MethodId| {
            let own = program.method(*method);
            let is_candidate = own.has_code && !own.access.is_static() && !own.access.is_private();
            is_candidate
                && !program.names.text(own.name).starts_with('<')
                && library.iter().any(|ancestor| calls.hierarchy.declares(*ancestor, own.name, own.descriptor))
        };
        program.methods_of(*class).filter(overrides).filter(|method| !entries.contains(method)).collect()
    };
    classes.par_iter().map(of_class).collect()
}

/// By method: the entries that reach it. Equal lists are kept once.
#[derive(Default)]
pub(super) struct Rows {
    row: Vec<u32>,
    lists: Vec<EntryList>,
    sets: Vec<Bits>,
}

impl Rows {
    pub(super) fn of_roots(graph: &Graph, components: &Components, roots: &[Vec<MethodId>]) -> Rows {
        let count = graph.count();
        let mut component_of = vec![0u32; count];
        for (index, component) in components.iter().enumerate() {
            for method in component {
                component_of[method.index()] = index as u32;
            }
        }
        let mut begun: FxHashMap<usize, Bits> = FxHashMap::default();
        for (entry, methods) in roots.iter().enumerate() {
            for method in methods {
                begun.entry(component_of[method.index()] as usize).or_default().insert(entry);
            }
        }
        let mut sets = Sets::default();
        let mut row_of = vec![0u32; components.len()];
        // Callers come last.
        for (index, component) in components.iter().enumerate().rev() {
            if let Some(begun) = begun.remove(&index) {
                let begun = sets.number(begun.trimmed());
                row_of[index] = sets.union(row_of[index], begun);
            }
            let own = row_of[index];
            if own == 0 {
                continue;
            }
            for callee in component.iter().flat_map(|method| graph.callees(*method)) {
                let below = &mut row_of[component_of[callee.index()] as usize];
                *below = sets.union(*below, own);
            }
        }
        let mut rows = Rows { row: vec![0; count], lists: vec![EntryList::new(); sets.list.len()], sets: sets.list };
        for (component, row) in components.iter().zip(row_of) {
            let list = &mut rows.lists[row as usize];
            if row > 0 && list.is_empty() {
                *list = rows.sets[row as usize].iter().map(|entry| EntryId(entry as u32)).collect();
            }
            component.iter().for_each(|method| rows.row[method.index()] = row);
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

/// Sets of entries by number: few different ones go round in a large graph. The empty set has the number 0.
struct Sets {
    list: Vec<Bits>,
    numbers: FxHashMap<Bits, u32>,
    unions: FxHashMap<(u32, u32), u32>,
}

impl Default for Sets {
    fn default() -> Sets {
        let empty = Bits::default();
        Sets { list: vec![empty.clone()], numbers: [(empty, 0)].into_iter().collect(), unions: FxHashMap::default() }
    }
}

impl Sets {
    /// The number of a set, which is trimmed.
    fn number(&mut self, set: Bits) -> u32 {
        *self.numbers.entry(set).or_insert_with_key(|set| {
            self.list.push(set.clone());
            self.list.len() as u32 - 1
        })
    }

    fn union(&mut self, one: u32, other: u32) -> u32 {
        if one == other || other == 0 {
            return one;
        }
        if one == 0 {
            return other;
        }
        if let Some(known) = self.unions.get(&(one, other)) {
            return *known;
        }
        let mut both = self.list[one as usize].clone();
        both.add(&self.list[other as usize]);
        let both = self.number(both.trimmed());
        self.unions.insert((one, other), both);
        both
    }
}
