//! Methods that only tell which lock to take: `Lock latch() { return latch; }`. What a call of one yields is called what
//! the method calls it, so that two calls name one lock. Of methods that yield something else, whose monitor may be the
//! lock, those count that compilers make for inner classes to get at a private field.

use classfile::Type;
use location::{MethodName, Symbol};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class::{MethodId, Program};
use crate::ir::{Body, Op};
use crate::keyed;
use crate::lock;
use crate::path::Paths;
use crate::wrapper::WrappedLock;

/// The getters of locks in a program.
#[derive(Default)]
pub(crate) struct Getters {
    methods: FxHashMap<MethodId, WrappedLock>,
    /// Names and descriptors of the methods, for a quick no.
    names: FxHashSet<(Symbol, Symbol)>,
}

impl Getters {
    pub(crate) fn find(program: &Program) -> Getters {
        let descriptors: FxHashSet<Symbol> =
            program.methods().map(|method| program.method(method).descriptor).collect();
        let results: FxHashSet<&str> =
            descriptors.iter().filter_map(|descriptor| result_of(program, *descriptor)).collect();
        let lockable: FxHashSet<&str> = results.into_par_iter().filter(|result| is_lockable(program, result)).collect();
        let is_telling = |descriptor: &Symbol| {
            let is_lockable = result_of(program, *descriptor).is_some_and(|result| lockable.contains(result));
            is_lockable || is_lookup(program, *descriptor)
        };
        let telling: FxHashSet<Symbol> = descriptors.into_iter().filter(is_telling).collect();
        let is_candidate = |method: MethodId| {
            let own = program.method(method);
            let is_accessor = own.access.is_synthetic() && own.access.is_static();
            own.has_code && (telling.contains(&own.descriptor) || is_accessor && returns_part(program, own.descriptor))
        };
        let found = program.visit_bodies(is_candidate, |method, body| Some((method, returned(program, &body)?)));
        let mut getters = Getters::default();
        for (method, lock) in found.into_iter().filter_map(|found| found.ok().flatten()) {
            let name = program.method_name(method);
            getters.names.insert((name.name, name.descriptor));
            getters.methods.insert(method, lock);
        }
        getters
    }

    /// The lock that a call yields, as far as the class that it names tells.
    pub(crate) fn get(&self, program: &Program, called: MethodName) -> Option<&WrappedLock> {
        if !self.names.contains(&(called.name, called.descriptor)) {
            return None;
        }
        self.methods.get(&program.inherited_method(called)?)
    }
}

/// Whether a method yields an object, and needs at most one to get it from.
fn returns_part(program: &Program, descriptor: Symbol) -> bool {
    let text = program.names.text(descriptor);
    classfile::split_method(text).is_some_and(|(count, _)| count <= 1)
        && text.rsplit_once(')').is_some_and(|(_, result)| result.starts_with(['L', '[']))
}

/// What a method yields.
fn result_of(program: &Program, descriptor: Symbol) -> Option<&str> {
    program.names.text(descriptor).split_once(')').map(|(_, result)| result)
}

/// Whether what is described so can be locked.
fn is_lockable(program: &Program, result: &str) -> bool {
    match classfile::parse_field(result, &program.names) {
        Some(Type::Reference(class)) => lock::is_lockable(program, class),
        _ => false,
    }
}

/// Whether it may be a method that looks up an object by a key, which then is nothing but a lock.
fn is_lookup(program: &Program, descriptor: Symbol) -> bool {
    let text = program.names.text(descriptor);
    text.ends_with(")Ljava/lang/Object;") && classfile::split_method(text).is_some_and(|(count, _)| count == 1)
}

/// What a body returns, if it is the same on all paths and has a name outside.
fn returned(program: &Program, body: &Body) -> Option<WrappedLock> {
    let paths = Paths::new(body, program);
    let mut names = body.instructions().filter_map(|(at, instruction)| match instruction.op {
        Op::Return(Some(value)) => Some(match keyed::path(program, body, &paths, value, at) {
            Some(path) => WrappedLock::of(program, body, &path).filter(WrappedLock::is_keyed),
            None => WrappedLock::of(program, body, &paths.of(value, at)).filter(WrappedLock::is_held),
        }),
        _ => None,
    });
    let first = names.next()??;
    names.all(|other| other.as_ref() == Some(&first)).then_some(first)
}
