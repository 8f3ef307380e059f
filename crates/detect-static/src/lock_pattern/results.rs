//! What calls yield: `board.chalk()` is `board.chalk` where the method returns that field and nothing else.

use location::ClassName;
use program::ir::{Body, Op, Value};
use program::{Calls, LockKind, MethodId, Path, Paths, Program, Root, Step};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::name::{Name, NameStep, Start, settle as settle_path};
use super::skeleton::{Skeleton, Yields};

/// Results of results are followed so far.
const MAX_ROUNDS: usize = 3;

/// Names that start from the result of a call start from what the callee returns, where that has a name here.
pub(super) fn settle(program: &Program, calls: &Calls, skeletons: &mut [Skeleton]) {
    let mut wanted: Vec<MethodId> = skeletons
        .par_iter()
        .flat_map_iter(|skeleton| skeleton.yields.iter().filter_map(|yields| target(program, calls, yields)))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return;
    }
    let found = program.visit_bodies_of(&wanted, |method, body| (method, returned(program, &body)));
    let known: FxHashMap<MethodId, Name> =
        found.into_iter().flatten().filter_map(|(method, name)| Some((method, name?))).collect();
    skeletons.par_iter_mut().for_each(|skeleton| {
        let mut names: FxHashMap<Value, Path> = FxHashMap::default();
        for _ in 0..MAX_ROUNDS {
            let before = names.len();
            for yields in &skeleton.yields {
                let Some(name) = target(program, calls, yields).and_then(|target| known.get(&target)) else { continue };
                let mut arguments = yields.arguments.clone();
                for argument in &mut arguments {
                    if let super::name::Argument::Object(path, _) = argument {
                        replace(path, &names);
                    }
                }
                if let Some((path, _)) = name.at_call(program, &arguments) {
                    names.insert(yields.value, path);
                }
            }
            if names.len() == before {
                break;
            }
        }
        if !names.is_empty() {
            skeleton.rename(|path| replace(path, &names));
        }
    });
}

fn replace(path: &mut Path, names: &FxHashMap<Value, Path>) {
    for _ in 0..MAX_ROUNDS {
        let Root::Value(value) = path.root else { return };
        let Some(name) = names.get(&value) else { return };
        let mut longer = name.clone();
        for step in &path.steps {
            longer = longer.then(*step);
        }
        *path = longer;
    }
}

/// The one method with code that a call runs.
fn target(program: &Program, calls: &Calls, yields: &Yields) -> Option<MethodId> {
    match calls.targets(program, yields.kind, yields.method).known() {
        [only] if program.method(*only).has_code && program.is_checked(program.class_of(*only)) => Some(*only),
        _ => None,
    }
}

/// What a method returns, if all its returns agree and callers have a name for it.
fn returned(program: &Program, body: &Body) -> Option<Name> {
    let paths = Paths::new(body, program);
    let mut common: Option<Path> = None;
    for (value, instruction) in body.instructions() {
        let Op::Return(Some(result)) = instruction.op else { continue };
        let path = paths.of(result, value);
        match &common {
            Some(known) if *known != path => return None,
            _ => common = Some(path),
        }
    }
    outside(body, &settle_path(program, common?))
}

fn outside(body: &Body, path: &Path) -> Option<Name> {
    let parameter = |value: Value| match *body.op(value) {
        Op::Parameter(position) => Some(position),
        _ => None,
    };
    let (start, bound): (Start, Option<ClassName>) = match path.root {
        Root::This => (Start::Parameter(0), Some(body.method.class)),
        Root::Value(value) => (Start::Parameter(parameter(value)?), None),
        Root::Static(field) => (Start::Static(field), None),
        Root::Class(class) => (Start::Class(class), None),
        Root::Unknown => return None,
    };
    let steps = path.steps.iter().map(|step| match *step {
        Step::Field(field) => Some(NameStep::Field(field)),
        Step::Constant(index) => Some(NameStep::Constant(index)),
        Step::Element(index) => parameter(index).map(NameStep::Given),
    });
    Some(Name { start, steps: steps.collect::<Option<_>>()?, kind: LockKind::Monitor, bound })
}
