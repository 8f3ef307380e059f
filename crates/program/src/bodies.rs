//! The code of methods, translated when it is asked for.

use classfile::Error;
use location::FieldName;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::class::{MethodId, Program, Unreadable};
use crate::ir::{self, Body};

impl Program {
    /// The code of one method; `None` if it has none.
    pub fn body(&self, method: MethodId) -> Result<Option<Body>, Unreadable> {
        let mut results = self.bodies_of(&[method], &|_, body| body);
        match results.pop() {
            Some(Ok(body)) => Ok(Some(body)),
            Some(Err(unreadable)) => Err(unreadable),
            None => Ok(None),
        }
    }

    /// Translates each method of a checked class that `wanted` accepts, hands it to `visit`, and drops it again. Works on
    /// all cores; results come in the order of methods.
    pub fn visit_bodies<R: Send>(
        &self,
        wanted: impl Fn(MethodId) -> bool + Sync,
        visit: impl Fn(MethodId, Body) -> R + Sync,
    ) -> Vec<Result<R, Unreadable>> {
        let methods = (0..self.checked.methods as u32).into_par_iter().map(MethodId);
        self.visit_bodies_of(&methods.filter(|method| wanted(*method)).collect::<Vec<_>>(), visit)
    }

    /// As [`Program::visit_bodies`], of methods that come in order.
    pub fn visit_bodies_of<R: Send>(
        &self,
        methods: &[MethodId],
        visit: impl Fn(MethodId, Body) -> R + Sync,
    ) -> Vec<Result<R, Unreadable>> {
        let classes: Vec<&[MethodId]> = self.by_class(methods).collect();
        classes.into_par_iter().flat_map_iter(|methods| self.bodies_of(methods, &visit)).collect()
    }

    /// Methods that come in order, class by class.
    pub(crate) fn by_class<'m>(&self, methods: &'m [MethodId]) -> impl Iterator<Item = &'m [MethodId]> {
        methods.chunk_by(|one, other| self.class_of(*one) == self.class_of(*other))
    }

    /// As [`Program::visit_bodies_of`] for methods of one class, here.
    pub(crate) fn bodies_of<R>(
        &self,
        methods: &[MethodId],
        visit: &impl Fn(MethodId, Body) -> R,
    ) -> Vec<Result<R, Unreadable>> {
        let has_code = |method: &MethodId| self.method(*method).has_code;
        let Some(first) = methods.iter().find(|method| has_code(method)) else { return Vec::new() };
        let entry = self.entry(self.class_of(*first));
        let methods = methods.iter().copied().filter(has_code);
        let unreadable = |method: MethodId, reason: Error| Unreadable { method, reason };
        let read = entry.known.again(&entry.bytes);
        let bootstraps = match read.bootstraps(&self.names) {
            Ok(bootstraps) => bootstraps,
            Err(reason) => return methods.map(|method| Err(unreadable(method, reason.clone()))).collect(),
        };
        let mut results = Vec::new();
        let mut declared: FxHashMap<FieldName, FieldName> = FxHashMap::default();
        for method in methods {
            let index = (method.0 - entry.first_method) as usize;
            let source = ir::Source {
                method: self.method_name(method),
                access: entry.header.methods[index].access,
                file: entry.header.source_file,
                bootstraps: &bootstraps,
            };
            let code = read.code(index, &self.names);
            let body = code.and_then(|code| code.map(|code| ir::build(source, &code, &self.names)).transpose());
            match body {
                Ok(Some(mut body)) => {
                    body.rename_fields(|field| *declared.entry(field).or_insert_with(|| self.declared_field(field)));
                    results.push(Ok(visit(method, body)));
                }
                Ok(None) => {}
                Err(reason) => results.push(Err(unreadable(method, reason))),
            }
        }
        results
    }

    /// A field by the class that declares it: code names an inherited one by whatever class it has at hand.
    fn declared_field(&self, field: FieldName) -> FieldName {
        self.resolve_field(field).map_or(field, |known| self.field_name(known))
    }
}
