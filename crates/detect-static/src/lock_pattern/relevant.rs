//! Which methods the pattern can go through: those with a section that may be a context, and what they call on the way to
//! further sections.

use location::MethodName;
use program::ir::CallKind;
use program::{Calls, MethodId, Program, model};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::Options;

/// How many calls down from a section are followed: the first that keeps to [`MAX_METHODS`], so that very large programs
/// are looked at less deeply.
const REACHES: [usize; 5] = [usize::MAX, 6, 4, 2, 1];

const MAX_METHODS: usize = 16_000;

pub(super) struct Relevant {
    methods: Vec<bool>,
    /// Calls that may take a lock: by what they run, or by being a section themselves.
    calls: FxHashSet<(CallKind, MethodName)>,
}

impl Relevant {
    pub(super) fn of(program: &Program, calls: &Calls, options: Options) -> Relevant {
        let count = program.known_method_count();
        let contexts: Vec<MethodId> = program.methods().filter(|method| program.may_lock(*method)).collect();
        let library: FxHashSet<(CallKind, MethodName)> = calls
            .distinct()
            .filter(|(kind, method, _)| is_library_section(program, calls, *kind, *method))
            .map(|(kind, method, _)| (kind, method))
            .collect();
        // What leads to a section, however far.
        let mut leads = vec![false; count];
        let is_section = |method: MethodId, call: &(CallKind, MethodName)| {
            library.contains(call) && (calls.is_behind_interface(method) || is_surely_section(program, calls, call.1))
        };
        let methods: Vec<MethodId> = program.methods().collect();
        let is_lead = |method: &MethodId| {
            program.may_lock(*method) || calls.made_by(*method).iter().any(|call| is_section(*method, call))
        };
        let mut edge: Vec<MethodId> = methods.into_par_iter().filter(is_lead).collect();
        edge.iter().for_each(|method| leads[method.index()] = true);
        while let Some(method) = edge.pop() {
            for caller in calls.callers(method) {
                if !std::mem::replace(&mut leads[caller.index()], true) {
                    edge.push(*caller);
                }
            }
        }
        let reaches: &[usize] = if options.paper { &[usize::MAX] } else { &REACHES };
        let mut methods = Vec::new();
        for reach in reaches {
            methods = vec![false; count];
            let mut found = 0;
            let mut edge = contexts.clone();
            contexts.iter().for_each(|method| methods[method.index()] = true);
            for _ in 0..*reach {
                let mut further = Vec::new();
                for method in edge.drain(..) {
                    for callee in calls.callees(method) {
                        if leads[callee.index()] && !std::mem::replace(&mut methods[callee.index()], true) {
                            further.push(*callee);
                        }
                    }
                }
                found += further.len();
                if further.is_empty() {
                    break;
                }
                edge = further;
            }
            if found + contexts.len() <= MAX_METHODS {
                break;
            }
        }
        let taking = calls.distinct().filter(|(_, _, targets)| targets.iter().any(|target| methods[target.index()]));
        let mut taking: FxHashSet<(CallKind, MethodName)> = taking.map(|(kind, method, _)| (kind, method)).collect();
        taking.extend(library);
        Relevant { methods, calls: taking }
    }

    pub(super) fn is_method(&self, method: MethodId) -> bool {
        self.methods[method.index()]
    }

    /// Whether a call may take a lock.
    pub(super) fn is_call(&self, kind: CallKind, method: MethodName) -> bool {
        self.calls.contains(&(kind, method))
    }
}

/// Whether a call is a section of a library object, may be one, or runs functions that it is given. Behind an interface
/// like `Map` can be anything.
fn is_library_section(program: &Program, calls: &Calls, kind: CallKind, method: MethodName) -> bool {
    is_surely_section(program, calls, method)
        || kind == CallKind::Interface
            && calls.model(program, method, method.class).is_some_and(|model| model.access != model::Access::None)
}

/// The same, whatever the object is.
fn is_surely_section(program: &Program, calls: &Calls, method: MethodName) -> bool {
    calls
        .model(program, method, method.class)
        .is_some_and(|model| model.section != model::Section::None || !model.runs.is_empty())
}
