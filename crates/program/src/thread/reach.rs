//! Which entries reach which methods.

use location::MethodName;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::Bits;
use super::callback::{Callback, called_by};
use super::{EntryId, EntryList};
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::library::supertypes;
use crate::model::linearize;
use crate::summary::components_of;

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
        let mut many: FxHashMap<MethodName, u32> = FxHashMap::default();
        let mut calls_with_many = Vec::new();
        let mut graph = Graph { ends: Vec::with_capacity(methods), callees: Vec::new(), methods };
        for method in (0..methods as u32).map(MethodId) {
            let start = graph.callees.len();
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
            for called in calls.with_many_targets(method) {
                let number = *many.entry(*called).or_insert_with(|| {
                    calls_with_many.push(*called);
                    calls_with_many.len() as u32 - 1
                });
                graph.callees.push(MethodId(methods as u32 + number));
            }
            graph.close(start);
        }
        let targets: Vec<Vec<MethodId>> =
            calls_with_many.par_iter().map(|called| calls.many_targets(program, *called)).collect();
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
    pub(super) fn components(&self, wanted: impl Fn(MethodId) -> bool) -> Vec<Vec<MethodId>> {
        components_of(|method| self.callees(method), self.ends.len(), wanted)
    }
}

/// By class: methods that override what a library class declares, but for those that are started.
fn called_back(program: &Program, calls: &Calls, entries: &FxHashSet<MethodId>) -> Vec<Vec<MethodId>> {
    let classes: Vec<_> = program.classes().collect();
    let of_class = |class: &crate::class::ClassId| {
        let ancestors = linearize(program.header(*class).name, &mut supertypes(program));
        let library: Vec<_> = ancestors
            .into_iter()
            .filter_map(|ancestor| program.class(ancestor))
            .filter(|ancestor| !program.is_checked(*ancestor))
            .collect();
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
