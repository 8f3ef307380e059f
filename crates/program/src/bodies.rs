//! The code of methods, translated when it is asked for.

use classfile::Error;
use location::FieldName;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::class::{ClassId, MethodId, Program, Unreadable};
use crate::ir::{self, Body};

impl Program {
    /// The code of one method; `None` if it has none.
    pub fn body(&self, method: MethodId) -> Result<Option<Body>, Unreadable> {
        let mut results = self.bodies_of(self.class_of(method), &|wanted| wanted == method, &|_, body| body);
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
        (0..self.checked.classes as u32)
            .into_par_iter()
            .flat_map_iter(|class| self.bodies_of(ClassId(class), &wanted, &visit))
            .collect()
    }

    /// As [`Program::visit_bodies`] for one class, here.
    pub(crate) fn bodies_of<R>(
        &self,
        class: ClassId,
        wanted: &(impl Fn(MethodId) -> bool + Sync),
        visit: &(impl Fn(MethodId, Body) -> R + Sync),
    ) -> Vec<Result<R, Unreadable>> {
        let entry = self.entry(class);
        // Most classes have no method that is wanted.
        let own = (0..).zip(&entry.header.methods);
        let numbered = own.map(|(index, own)| (MethodId(entry.first_method + index), own));
        let methods: Vec<usize> = numbered
            .filter(|(method, own)| wanted(*method) && own.has_code)
            .map(|(method, _)| (method.0 - entry.first_method) as usize)
            .collect();
        if methods.is_empty() {
            return Vec::new();
        }
        let unreadable =
            |index: usize, reason: Error| Unreadable { method: MethodId(entry.first_method + index as u32), reason };
        let read = entry.known.again(&entry.bytes);
        let bootstraps = match read.bootstraps(&self.names) {
            Ok(bootstraps) => bootstraps,
            Err(reason) => {
                return methods.into_iter().map(|index| Err(unreadable(index, reason.clone()))).collect();
            }
        };
        let mut results = Vec::with_capacity(methods.len());
        let mut declared: FxHashMap<FieldName, FieldName> = FxHashMap::default();
        for index in methods {
            let method = MethodId(entry.first_method + index as u32);
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
                Err(reason) => results.push(Err(unreadable(index, reason))),
            }
        }
        results
    }

    /// A field by the class that declares it: code names an inherited one by whatever class it has at hand.
    fn declared_field(&self, field: FieldName) -> FieldName {
        self.resolve_field(field).map_or(field, |known| self.field_name(known))
    }
}
