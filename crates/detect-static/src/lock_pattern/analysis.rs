//! The pattern across methods: from the callees up, what each method takes, and takes twice.

use location::{ClassName, FieldName, MethodName};
use program::ir::CallKind;
use program::model::{self, Target};
use program::summary::{Holding, Holdings, components};
use program::{Calls, FieldId, Ground, LockKind, MethodId, Mode, Path, Program, Root, Step, Unreadable};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::name::{Argument, Name, narrower};
use super::relevant::Relevant;
use super::rules::{Found, Outcome, Pattern, Prepared, Take, flow};
use super::skeleton::{Action, CallSite, Knows, Own, Skeleton};
use super::state::Holder;
use super::stores::Stores;
use super::summary::{Chain, Pair, Summary, Taken, Twice, Via};
use super::{Options, results};

/// Sections further down than this many calls are not seen. A report that needs more steps convinces nobody.
const MAX_DEPTH: u16 = 3;

/// Pairs that a method hands to its callers, at most.
const MAX_TWICE: usize = 64;

/// A pair of takings with a context: the pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Witness {
    /// The method that has the context.
    pub(super) method: MethodId,
    pub(super) context: Holder,
    /// Calls from there to the method where both takings come together, in order.
    pub(super) calls: Chain,
    pub(super) pair: Pair,
    /// The lock that is taken second, as the method with the context names it.
    pub(super) lock: Path,
}

/// What a call may run.
#[derive(Clone, Default, Debug)]
pub(super) struct Resolved {
    pub(super) targets: SmallVec<[MethodId; 2]>,
    /// Functions that the call runs in place: their number among the call's functions, and the method behind.
    pub(super) functions: SmallVec<[(u8, MethodId); 1]>,
    pub(super) repeats: bool,
    /// The section that a library call is on its receiver.
    pub(super) library: Option<LockKind>,
}

pub(super) struct Analysis<'p> {
    pub(super) program: &'p Program,
    pub(super) calls: &'p Calls,
    pub(super) options: Options,
    /// By method: its place in the lists below.
    places: Vec<u32>,
    pub(super) skeletons: Vec<Skeleton>,
    pub(super) resolved: Vec<Vec<Resolved>>,
    summaries: Vec<Summary>,
    pub(super) stores: Stores,
    pub(super) witnesses: Vec<Witness>,
    pub(super) unreadable: Vec<Unreadable>,
}

const NOWHERE: u32 = u32::MAX;

/// What one pass over the code of all methods that may matter shows.
pub(super) struct Skeletons {
    /// By method: its place in the list.
    places: Vec<u32>,
    list: Vec<Skeleton>,
    unreadable: Vec<Unreadable>,
}

impl Skeletons {
    pub(super) fn of(ground: &Ground<'_>, options: Options) -> Skeletons {
        let program = ground.program;
        let relevant = Relevant::of(program, &ground.calls, options);
        let knows = if options.paper { Knows::Monitors } else { Knows::AllLocks };
        let close = (program.names.intern("close"), program.names.intern("()V"));
        let matters = |kind: CallKind, method: MethodName| {
            (method.name, method.descriptor) == close || relevant.is_call(kind, method)
        };
        let built = ground.visit_bodies(
            |method| relevant.is_method(method),
            |method, body| Skeleton::build(program, method, &body, &matters, knows),
        );
        let mut all =
            Skeletons { places: vec![NOWHERE; program.known_method_count()], list: Vec::new(), unreadable: Vec::new() };
        for built in built {
            match built {
                Ok(skeleton) => {
                    all.places[skeleton.method.index()] = all.list.len() as u32;
                    all.list.push(skeleton);
                }
                Err(problem) if program.may_lock(problem.method) => all.unreadable.push(problem),
                Err(_) => {}
            }
        }
        all
    }
}

impl<'p> Analysis<'p> {
    pub(super) fn of(ground: &'p Ground<'_>, options: Options, skeletons: Skeletons) -> Analysis<'p> {
        let (program, calls) = (ground.program, &ground.calls);
        let Skeletons { places, list: skeletons, unreadable } = skeletons;
        let mut analysis = Analysis {
            program,
            calls,
            options,
            places,
            resolved: Vec::new(),
            summaries: vec![Summary::default(); skeletons.len()],
            stores: Stores::default(),
            skeletons,
            witnesses: Vec::new(),
            unreadable,
        };
        results::settle(program, calls, &mut analysis.skeletons);
        let holdings = analysis.holdings();
        analysis.resolved = analysis
            .skeletons
            .par_iter()
            .map(|skeleton| skeleton.calls.iter().map(|call| analysis.resolve(&holdings, call)).collect())
            .collect();
        analysis.stores = Stores::of(program, calls, &analysis.skeletons);
        let (stores, program, calls) = (&analysis.stores, analysis.program, analysis.calls);
        analysis.skeletons.par_iter_mut().for_each(|skeleton| {
            skeleton.settle_runs(|kind, method| stores.of_call(program, calls, kind, method));
        });
        analysis.solve();
        analysis
    }

    pub(super) fn place(&self, method: MethodId) -> Option<usize> {
        self.places.get(method.index()).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    pub(super) fn skeleton(&self, method: MethodId) -> Option<&Skeleton> {
        self.place(method).map(|place| &self.skeletons[place])
    }

    pub(super) fn summary(&self, method: MethodId) -> Option<&Summary> {
        self.place(method).map(|place| &self.summaries[place])
    }

    /// What the fields hold that library calls go to, as far as their types leave that open.
    fn holdings(&self) -> Holdings {
        let mut wanted: FxHashSet<FieldId> = FxHashSet::default();
        for call in self.skeletons.iter().flat_map(|skeleton| &skeleton.calls) {
            let Some(field) = receiver_field(call).filter(|_| call.kind == CallKind::Interface) else { continue };
            wanted.extend(self.program.resolve_field(field));
        }
        Holdings::of_fields(self.program, self.calls, &wanted)
    }

    fn resolve(&self, holdings: &Holdings, call: &CallSite) -> Resolved {
        let (program, calls) = (self.program, self.calls);
        let holding = match (call.known.exactly, receiver_field(call)) {
            (Some(class), _) => Holding { class: Some(class), section: None },
            (None, Some(field)) => holdings.get(program, field),
            (None, None) => Holding::default(),
        };
        let is_virtual = matches!(call.kind, CallKind::Virtual | CallKind::Interface);
        let targets: SmallVec<[MethodId; 2]> = match holding.class {
            _ if !is_virtual || self.options.paper => calls.targets(program, call.kind, call.method).known().into(),
            Some(class) => calls.targets_on(program, class, call.method).known().into(),
            // What the code has asked, a cast, or a field of a narrower type, says more than the call does.
            None => calls.targets_for(program, call.kind, call.method, &call.known),
        };
        let mut resolved = Resolved {
            targets: targets.iter().copied().filter(|target| self.place(*target).is_some()).collect(),
            ..Resolved::default()
        };
        let has_code = targets
            .iter()
            .any(|target| program.method(*target).has_code && program.is_checked(program.class_of(*target)));
        if has_code {
            return resolved;
        }
        let class = holding.class.unwrap_or(call.method.class);
        let Some(mut model) = calls.model(program, call.method, class) else { return resolved };
        if let Some(section) = holding.section {
            model = model.within(section);
        }
        resolved.library = match model.section {
            _ if model.target == Target::Named || call.kind == CallKind::Static => None,
            _ if program.names.text(call.method.name) == "<init>" => None,
            model::Section::None => None,
            model::Section::Monitor => Some(LockKind::Monitor),
            // The paper knows monitors alone.
            model::Section::Own => (!self.options.paper).then_some(LockKind::Own),
        };
        for (number, function) in call.functions.iter().enumerate() {
            let target = calls.hierarchy.resolve_name(program, function.method);
            if let Some(target) =
                target.filter(|target| model.runs.contains(function.position) && self.place(*target).is_some())
            {
                resolved.functions.push((number as u8, target));
                resolved.repeats |= model.is_traversal;
            }
        }
        resolved
    }

    fn solve(&mut self) {
        let count = self.program.known_method_count();
        let components = components(self.calls, count, |method| self.place(method).is_some());
        for component in components {
            self.held(&component);
            self.pairs(&component);
        }
        // Where one place is confirmed in several contexts, the nearest comes first.
        self.witnesses.sort_by_key(|witness| (witness.calls.len(), witness.method, witness.context, witness.pair));
        self.witnesses.dedup();
    }

    /// LOCKSHELD of methods that call each other: the least solution.
    fn held(&mut self, component: &[MethodId]) {
        let mut known: Vec<FxHashSet<Name>> = vec![FxHashSet::default(); component.len()];
        loop {
            let mut changed = false;
            for (number, method) in component.iter().enumerate() {
                let Some(place) = self.place(*method) else { continue };
                let fresh: Vec<Taken> =
                    self.takings(place).filter(|taken| !known[number].contains(&taken.name)).collect();
                for taken in fresh {
                    if known[number].insert(taken.name.clone()) {
                        self.summaries[place].taken.push(taken);
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The locks that a method takes, as its callers name them.
    fn takings(&self, place: usize) -> impl Iterator<Item = Taken> + '_ {
        let skeleton = &self.skeletons[place];
        let own = skeleton.sections.iter().enumerate().filter(|(_, own)| self.is_taking(own));
        let own = own.filter_map(|(number, own)| {
            Some(Taken { name: own.name.clone()?, via: Via::Own(number as u32), depth: 0 })
        });
        let called = skeleton.calls.iter().enumerate().flat_map(move |(number, call)| {
            let resolved = &self.resolved[place][number];
            let number = number as u32;
            let library = resolved.library.into_iter().filter_map(move |kind| match call.arguments.first() {
                Some(Argument::Object(path, class)) => {
                    let name = skeleton.outside(path, kind, class.filter(|_| path.steps.is_empty()))?;
                    Some(Taken { name, via: Via::Library { call: number }, depth: 0 })
                }
                _ => None,
            });
            let below = self.run_by(resolved, call).flat_map(move |(target, arguments)| {
                let summary = self.summary(target);
                let taken = summary.into_iter().flat_map(|summary| summary.taken.iter().enumerate());
                taken.filter_map(move |(index, taken)| {
                    if !self.options.paper && taken.depth >= MAX_DEPTH {
                        return None;
                    }
                    let (path, bound) = taken.name.at_call(self.program, arguments)?;
                    let via = Via::Call { call: number, target, taken: index as u32 };
                    Some(Taken { name: skeleton.outside(&path, taken.name.kind, bound)?, via, depth: taken.depth + 1 })
                })
            });
            library.chain(below)
        });
        own.chain(called)
    }

    /// Whether a section can be one of a pair. An optimistic one keeps nobody out; one that waits is a step of some
    /// protocol, such as a lock that the program makes itself.
    pub(super) fn is_taking(&self, own: &Own) -> bool {
        match self.options.paper {
            true => own.kind == LockKind::Monitor,
            false => own.mode != Mode::Optimistic && !own.waits,
        }
    }

    /// The methods that a call runs, each with what it is given.
    pub(super) fn run_by<'a>(
        &'a self,
        resolved: &'a Resolved,
        call: &'a CallSite,
    ) -> impl Iterator<Item = (MethodId, &'a [Argument])> + 'a {
        let called = resolved.targets.iter().map(|target| (*target, call.arguments.as_slice()));
        let functions = resolved
            .functions
            .iter()
            .map(|(number, target)| (*target, call.functions[usize::from(*number)].captured.as_slice()));
        called.chain(functions)
    }

    /// T, P and FINAL_T of methods that call each other.
    fn pairs(&mut self, component: &[MethodId]) {
        let mut known: Vec<FxHashSet<(Name, Name, Pair)>> = vec![FxHashSet::default(); component.len()];
        loop {
            let mut changed = false;
            for (number, method) in component.iter().enumerate() {
                let Some(place) = self.place(*method) else { continue };
                let Some((twice, confirmed, summary)) = self.method(place) else { continue };
                self.summaries[place].acquires = summary.acquires;
                self.summaries[place].gives_back = summary.gives_back;
                for twice in twice {
                    let key = (twice.names.0.clone(), twice.names.1.clone(), twice.pair);
                    if self.summaries[place].twice.len() < MAX_TWICE && known[number].insert(key) {
                        self.summaries[place].twice.push(twice);
                        changed = true;
                    }
                }
                self.witnesses.extend(confirmed);
            }
            if !changed || component.len() == 1 && !self.calls.callees(component[0]).contains(&component[0]) {
                return;
            }
        }
    }

    /// One method with what is known of its callees; `None` if nothing there is taken twice or handed on.
    fn method(&self, place: usize) -> Option<(Vec<Twice>, Vec<Witness>, Summary)> {
        let prepared = self.prepare(place);
        let is_plain = prepared.takes.len() < 2
            && prepared.calls.iter().all(|effects| effects.twice.is_empty() && effects.acquires.is_empty())
            && !self.skeletons[place]
                .blocks
                .iter()
                .any(|block| block.actions.iter().any(|action| matches!(action, Action::GiveBack(..))));
        if is_plain && !self.skeletons[place].sections.iter().any(|own| !own.is_method) && prepared.takes.is_empty() {
            return None;
        }
        let pattern = if self.options.variant { Pattern::AnyTwo } else { Pattern::OneLock };
        let is_compatible = |first: &Take, second: &Take| {
            self.options.paper
                || first.lock != second.lock
                || narrower(self.program, first.bound, second.bound).is_some()
        };
        let outcome = flow(&prepared, pattern, &is_compatible);
        Some(self.conclude(place, &prepared, outcome))
    }

    /// What the objects must be that the two locks' names start from.
    fn bounds(&self, place: usize, prepared: &Prepared<'_>, found: Found) -> (Option<ClassName>, Option<ClassName>) {
        match found {
            Found::Here { first, second } => (prepared.take(first).bound, prepared.take(second).bound),
            Found::Below { call, target, twice, .. } => {
                let below = self.summary(target).and_then(|summary| summary.twice.get(twice as usize));
                let (call, site) = (&self.resolved[place][call as usize], &self.skeletons[place].calls[call as usize]);
                let Some((_, given)) = self.run_by(call, site).find(|(run, _)| *run == target) else {
                    return (None, None);
                };
                let bound = |name: &Name| name.at_call(self.program, given).and_then(|(_, bound)| bound);
                below.map_or((None, None), |below| (bound(&below.names.0), bound(&below.names.1)))
            }
        }
    }

    fn conclude(&self, place: usize, prepared: &Prepared<'_>, outcome: Outcome) -> (Vec<Twice>, Vec<Witness>, Summary) {
        let method = self.skeletons[place].method;
        let located = |found: Found| -> Option<(Pair, Chain)> {
            match found {
                Found::Here { first, second } => Some((prepared.pair(first, second), Chain::new())),
                Found::Below { call, target, twice, .. } => {
                    let below = self.summary(target)?.twice.get(twice as usize)?;
                    let mut calls = Chain::new();
                    calls.push((method, call));
                    calls.extend(below.calls.iter().copied());
                    Some((below.pair, calls))
                }
            }
        };
        let mut twice = Vec::new();
        for found in outcome.open {
            let locks = match found {
                Found::Here { first, second } => (prepared.take(first).lock, prepared.take(second).lock),
                Found::Below { locks, .. } => locks,
            };
            let bounds = self.bounds(place, prepared, found);
            let names = (prepared.outside(locks.0, bounds.0), prepared.outside(locks.1, bounds.1));
            let (Some(first), Some(second)) = names else { continue };
            let Some((pair, calls)) = located(found) else { continue };
            if self.options.paper || calls.len() < usize::from(MAX_DEPTH) {
                twice.push(Twice { names: (first, second), pair, calls });
            }
        }
        let mut confirmed = Vec::new();
        for witness in outcome.confirmed {
            let lock = match witness.found {
                Found::Here { second, .. } => prepared.take(second).lock,
                Found::Below { locks, .. } => locks.1,
            };
            if let Some((pair, calls)) = located(witness.found) {
                let lock = prepared.locks.get(lock).path.clone();
                confirmed.push(Witness { method, context: witness.context, calls, pair, lock });
            }
        }
        let lock_of = |holder: Holder| match holder {
            Holder::Method => None,
            Holder::Own(section) => prepared.sections[section.index()].0,
            Holder::Call(call) => prepared.calls[call as usize].acquires.first().copied().flatten(),
        };
        let left = outcome.left_held.unwrap_or_default();
        let summary = Summary {
            acquires: left.into_iter().filter_map(|holder| prepared.outside(lock_of(holder)?, None)).collect(),
            gives_back: outcome.gives_back.iter().map(|lock| prepared.outside((*lock)?, None)).collect(),
            ..Summary::default()
        };
        (twice, confirmed, summary)
    }
}

/// The field that the receiver of a call was read from.
fn receiver_field(call: &CallSite) -> Option<FieldName> {
    let Some(Argument::Object(path, _)) = call.arguments.first().filter(|_| call.receiver.is_some()) else {
        return None;
    };
    match (path.steps.last(), path.root) {
        (Some(Step::Field(field)), _) => Some(*field),
        (None, Root::Static(field)) => Some(field),
        _ => None,
    }
}
