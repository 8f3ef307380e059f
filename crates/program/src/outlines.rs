//! Outlines of the program's methods, made when they are first asked for and then kept: few of many are.

use std::sync::OnceLock;

use location::MethodName;

use crate::class::{MethodId, Program};
use crate::ir::Body;
use crate::outline::{Outline, outline};

/// The outlines that have been made so far.
pub struct OutlineCache {
    /// By method; none if it has no code that can be read.
    slots: Vec<OnceLock<Option<Box<Outline>>>>,
}

impl OutlineCache {
    pub fn new(program: &Program) -> OutlineCache {
        OutlineCache { slots: (0..program.known_method_count()).map(|_| OnceLock::new()).collect() }
    }

    /// An outline that was made before.
    pub(crate) fn made(&self, method: MethodId) -> Option<&Outline> {
        self.slots.get(method.index())?.get()?.as_deref()
    }

    /// Makes the outlines of many methods, on all cores.
    pub(crate) fn make(&self, program: &Program, wanted: impl Fn(MethodId) -> bool + Sync) {
        let is_missing = |method: MethodId| self.slots[method.index()].get().is_none() && wanted(method);
        program.visit_bodies(is_missing, |method, body| self.make_of(program, method, &body));
    }

    /// Makes the outline of a method whose body is at hand.
    pub(crate) fn make_of(&self, program: &Program, method: MethodId, body: &Body) {
        // Whoever comes second has made the same.
        let _ = self.slots[method.index()].set(Some(Box::new(outline(program, body, EVERY_CALL))));
    }
}

const EVERY_CALL: fn(MethodName) -> bool = |_| true;

/// The outlines of a program.
#[derive(Clone, Copy)]
pub struct Outlines<'o> {
    program: &'o Program,
    cache: &'o OutlineCache,
}

impl<'o> Outlines<'o> {
    pub fn new(program: &'o Program, cache: &'o OutlineCache) -> Outlines<'o> {
        Outlines { program, cache }
    }

    /// The outline of a checked method; none if it has no code that can be read.
    pub fn get(self, method: MethodId) -> Option<&'o Outline> {
        let make = || {
            let body = self.program.is_checked(self.program.class_of(method)).then(|| self.program.body(method));
            body?.ok()?.map(|body| Box::new(outline(self.program, &body, EVERY_CALL)))
        };
        self.cache.slots.get(method.index())?.get_or_init(make).as_deref()
    }

    /// Makes the outlines of many methods, which come in order, on all cores.
    pub(crate) fn make(self, methods: &[MethodId]) {
        let missing = self.missing(methods);
        self.program.visit_bodies_of(&missing, |method, body| self.cache.make_of(self.program, method, &body));
    }

    /// Makes the outlines of some methods, which come in order, here: each class is read once for all of its methods.
    pub(crate) fn make_here(self, methods: &[MethodId]) {
        let missing = self.missing(methods);
        for methods in self.program.by_class(&missing) {
            self.program.bodies_of(methods, &|method, body| self.cache.make_of(self.program, method, &body));
        }
    }

    fn missing(self, methods: &[MethodId]) -> Vec<MethodId> {
        let is_made = |method: MethodId| self.cache.slots[method.index()].get().is_some();
        let methods = methods.iter().copied();
        methods.filter(|method| !is_made(*method) && self.program.is_checked(self.program.class_of(*method))).collect()
    }
}
