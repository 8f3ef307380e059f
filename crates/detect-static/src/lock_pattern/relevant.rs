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
        // By call.
        let library: Vec<Section> =
            calls.distinct().map(|(kind, method, _)| Section::of(program, calls, kind, method)).collect();
        // What leads to a section, however far.
        let mut leads = vec![false; count];
        let is_section = |method: MethodId, call: u32| match library[call as usize] {
            Section::Sure => true,
            Section::ByInterface => calls.is_behind_interface(method),
            Section::None => false,
        };
        let methods: Vec<MethodId> = program.methods().collect();
        let is_lead = |method: &MethodId| {
            program.may_lock(*method) || calls.numbers(*method).iter().any(|call| is_section(*method, *call))
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
        for (left, reach) in (0..reaches.len()).rev().zip(reaches) {
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
                if further.is_empty() || left > 0 && found + contexts.len() > MAX_METHODS {
                    break;
                }
                edge = further;
            }
            if found + contexts.len() <= MAX_METHODS {
                break;
            }
        }
        let taking = calls.distinct().zip(&library).filter(|((_, _, targets), section)| {
            **section != Section::None || targets.iter().any(|target| methods[target.index()])
        });
        let taking = taking.map(|((kind, method, _), _)| (kind, method)).collect();
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

/// Whether a call is a section of a library object, or runs functions that it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    /// Behind an interface like `Map` can be anything.
    ByInterface,
    /// Whatever the object is.
    Sure,
}

impl Section {
    fn of(program: &Program, calls: &Calls, kind: CallKind, method: MethodName) -> Section {
        match calls.model(program, method, method.class) {
            Some(model) if model.section != model::Section::None || !model.runs.is_empty() => Section::Sure,
            Some(model) if kind == CallKind::Interface && model.access != model::Access::None => Section::ByInterface,
            _ => Section::None,
        }
    }
}
