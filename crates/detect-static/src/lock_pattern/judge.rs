//! Which of the pairs are told: those that one run can go through, on a lock that other threads can have, and whose
//! sections belong together.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use finding::Finding;
use location::Place;
use program::ir::Value;
use program::summary::Spot;
use program::{Ground, LockKind, MethodId, Mode, Root, Step, Variable};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::analysis::{Analysis, Witness};
use super::explain::{Explaining, Told};

use super::local::Locals;
use super::receiver::is_one_object;
use super::relation::{Relations, calls_up, is_far};
use super::sources::Sources;
use super::standing::may_stand_out;
use super::state::Holder;
use super::summary::Via;
use super::ties::{Registers, Ties};
use crate::Options;
use crate::feasible::Feasible;
use crate::threads::{is_shared, run_at_once};

/// What was found out about a pair.
#[derive(Clone, Default)]
pub(super) struct Judgement {
    /// Nothing breaks today.
    pub(super) is_style: bool,
    /// The sections have little to do with each other: not told where threads that nobody sees must meet.
    pub(super) is_weak: bool,
    /// Told even of a large program. Known after the second look.
    pub(super) stands_out: bool,
    /// What the witness guards: `pkg.Foo.field`.
    pub(super) variables: BTreeSet<String>,
    /// Those of them that nothing keeps other threads from writing in between, and who writes them.
    pub(super) open: Vec<(Variable, Vec<MethodId>)>,
    /// Where another thread writes one of these, if it can be shown. Known after the second look.
    pub(super) interference: Option<(Place, String)>,
}

/// What is known of the pairs without threads.
pub(super) struct Looked<'a> {
    analysis: &'a Analysis<'a>,
    candidates: Vec<(Candidate<'a>, Judgement)>,
    /// None where the paper is kept to.
    relations: Option<Relations<'a>>,
}

/// Looks at the pairs without asking for threads.
pub(super) fn look<'a>(analysis: &'a Analysis<'a>, ground: &Ground<'_>, options: &Options) -> Looked<'a> {
    if options.lock_pattern.paper {
        return Looked { analysis, candidates: Vec::new(), relations: None };
    }
    let is_narrow = ground.is_narrow() && !options.lock_pattern.variant;
    let possible = possible(analysis, |witness| {
        options.notes || !is_far(analysis, witness) && (!is_narrow || may_stand_out(analysis, witness))
    });
    let relations = Relations::of(analysis, ground, &possible, options.notes);
    let judge = |candidate: Candidate<'a>| relations.judge(&candidate).map(|judgement| (candidate, judgement));
    let candidates = possible.into_par_iter().filter_map(judge).collect();
    Looked { analysis, candidates, relations: Some(relations) }
}

pub(super) fn findings(looked: Looked<'_>, ground: &Ground<'_>, options: &Options) -> Vec<Finding> {
    let Looked { analysis, candidates, relations } = looked;
    let chosen: Vec<(&Witness, Judgement)> = if let Some(relations) = relations {
        let judged = judged(candidates, relations, ground);
        let ranked = judged.into_par_iter().filter_map(|(witness, judgement)| {
            let is_little = judgement.is_weak && ground.threads().is_from_outside(witness.method);
            let is_hidden = || ground.is_large() && ground.has_unknown_threads(witness.method) && !judgement.stands_out;
            let is_doubtful = is_little || !options.lock_pattern.variant && is_hidden();
            let is_told = (options.notes || !is_doubtful) && may_happen(ground, witness, &judgement);
            is_told.then_some((witness, Judgement { is_style: judgement.is_style || is_doubtful, ..judgement }))
        });
        ranked.collect()
    } else {
        by_witness(analysis).into_iter().map(|witness| (witness, Judgement::default())).collect()
    };
    chosen.par_iter().filter_map(|(witness, judgement)| explain(analysis, witness, judgement)).collect()
}

/// Whether another thread can write one of the variables while the context is held. Asked last: it needs all threads.
fn may_happen(ground: &Ground<'_>, witness: &Witness, judgement: &Judgement) -> bool {
    let may_be_written = |(variable, writers): &(Variable, Vec<MethodId>)| {
        let is_at_once = || writers.iter().any(|writer| run_at_once(ground, witness.method, *writer));
        (writers.is_empty() || is_at_once()) && is_shared(ground, *variable)
    };
    !is_in_making(ground, witness) && (judgement.open.is_empty() || judgement.open.iter().any(may_be_written))
}

/// Whether the lock is one that nobody else can get at as long as the method runs: of an object in the making, or of a class
/// that is being initialised.
fn is_in_making(ground: &Ground<'_>, witness: &Witness) -> bool {
    let (program, sharings, method) = (ground.program, ground.sharings(), witness.method);
    let own = program.method_name(method).class;
    match witness.lock.root {
        Root::This => sharings.makes_its_object(method),
        Root::Class(class) => class == own && sharings.initialises(method),
        Root::Static(field) => field.class == own && sharings.initialises(method),
        Root::Value(_) | Root::Unknown => false,
    }
}

/// As the paper has it: one for each place where a witness is taken the second time, then one for each witness of a
/// method; vectors and string buffers are left out by name.
fn by_witness<'a>(analysis: &'a Analysis<'_>) -> Vec<&'a Witness> {
    let names = &analysis.program.names;
    let filtered = ["java/util/Vector", "java/lang/StringBuffer"].map(|name| names.class(name));
    let mut places = FxHashSet::default();
    let mut locks = FxHashSet::default();
    let mut chosen = Vec::new();
    for witness in &analysis.witnesses {
        let pair = witness.pair;
        let is_filtered = [pair.first, pair.second]
            .iter()
            .any(|via| called_class(analysis, pair.method, *via).is_some_and(|class| filtered.contains(&class)));
        let second = deepest(analysis, pair.method, pair.second);
        if !is_filtered && places.insert(second) && locks.insert((witness.method, witness.lock.clone())) {
            chosen.push(witness);
        }
    }
    chosen
}

/// The class whose method takes the lock in the end.
fn called_class(analysis: &Analysis<'_>, method: MethodId, via: Via) -> Option<location::ClassName> {
    let (method, via) = bottom(analysis, method, via);
    match via {
        Via::Library { call } => Some(analysis.skeleton(method)?.calls.get(call as usize)?.method.class),
        _ => Some(analysis.program.method_name(method).class),
    }
}

/// Looks at the pairs again, with threads, and chooses one for each mistake.
fn judged<'a>(
    candidates: Vec<(Candidate<'a>, Judgement)>,
    mut relations: Relations<'a>,
    ground: &'a Ground<'_>,
) -> Vec<(&'a Witness, Judgement)> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let analysis = relations.analysis;
    ground.threads();
    relations.ground = Some(ground);
    // Threads tell of more that keeps others out, and of nothing that lets them in.
    let again = |(candidate, first): (Candidate<'a>, Judgement)| {
        let second = relations.judge(&candidate)?;
        let (is_style, is_weak) = (first.is_style || second.is_style, first.is_weak || second.is_weak);
        Some((candidate.witness, Judgement { is_style, is_weak, ..second }))
    };
    let mut order: Vec<(&Witness, Judgement)> = candidates.into_par_iter().filter_map(again).collect();
    // Errors before what is weak, and that before style; the nearest context first; of several first places the earliest.
    order.sort_by_key(|(witness, judgement)| {
        (
            judgement.is_style,
            judgement.is_weak,
            witness.calls.len(),
            witness.pair.first == witness.pair.second,
            depth(analysis, witness),
            witness.method,
            witness.pair,
            witness.context,
        )
    });
    let mut seconds = FxHashSet::default();
    let mut lines = FxHashSet::default();
    order.retain(|(witness, _)| {
        let pair = witness.pair;
        let second = deepest(analysis, pair.method, pair.second);
        let line = |via| (pair.method, line_of(analysis, pair.method, via));
        // A call that takes several locks is one place, and so are copies of a `finally` block.
        let here = (line(pair.first), line(pair.second));
        let is_new = !seconds.contains(&(second, line(pair.second))) && !lines.contains(&here);
        seconds.insert((second, line(pair.second)));
        lines.insert(here);
        is_new
    });
    order
}

/// How many calls down the two takings are.
fn depth(analysis: &Analysis<'_>, witness: &Witness) -> u32 {
    let of = |via: Via| {
        let mut calls = 0;
        let mut here = via;
        while let Via::Call { target, taken, .. } = here {
            calls += 1;
            match analysis.summary(target).and_then(|summary| summary.taken.get(taken as usize)) {
                Some(next) => here = next.via,
                None => break,
            }
        }
        calls
    };
    of(witness.pair.first) + of(witness.pair.second)
}

/// A pair that is worth a closer look.
pub(super) struct Candidate<'a> {
    pub(super) witness: &'a Witness,
    pub(super) ties: Ties,
}

/// Calls from the context to the pair, and from there to where a lock is taken, at most.
const MAX_CALLS: usize = 2;

/// Pairs of one method that are looked at closely, at most.
const MAX_IN_METHOD: usize = 12;

/// One context for each pair, the nearest; for each two lines of a method, and for each place where a lock is taken in the
/// end, the pairs that are the fewest calls away.
fn nearest<'a>(analysis: &'a Analysis<'_>) -> Vec<&'a Witness> {
    const MAX_ALIKE: u32 = 2;
    const MAX_BELOW: u32 = 64;
    let mut order: Vec<(u32, &Witness)> = analysis
        .witnesses
        .iter()
        .map(|witness| (depth(analysis, witness) + witness.calls.len() as u32, witness))
        .collect();
    order.sort_by_key(|(calls, witness)| {
        (*calls, witness.pair.first == witness.pair.second, witness.method, witness.context, witness.pair)
    });
    let mut pairs = FxHashSet::default();
    let mut by_lines: FxHashMap<(MethodId, u32, u32), u32> = FxHashMap::default();
    let mut by_second: FxHashMap<(MethodId, u32), u32> = FxHashMap::default();
    let mut by_method: FxHashMap<MethodId, usize> = FxHashMap::default();
    let mut sources = Sources::new(analysis);
    let mut chosen = Vec::new();
    for (_, witness) in order {
        let pair = witness.pair;
        // Takings that are many calls away, or a context that is, convince nobody.
        let is_away = calls_up(analysis, witness) > MAX_CALLS || depth(analysis, witness) > 2 * MAX_CALLS as u32;
        if is_away || pairs.contains(&pair) {
            continue;
        }
        if may_be_context(analysis, &mut sources, witness) || !is_one_object(analysis, witness) {
            continue;
        }
        pairs.insert(pair);
        let line = |via| line_of(analysis, pair.method, via);
        let alike = by_lines.entry((pair.method, line(pair.first), line(pair.second))).or_default();
        let second = by_second.entry(deepest(analysis, pair.method, pair.second)).or_default();
        let in_method = by_method.entry(pair.method).or_default();
        if *alike < MAX_ALIKE && *second < MAX_BELOW && *in_method < MAX_IN_METHOD {
            *alike += 1;
            *second += 1;
            *in_method += 1;
            chosen.push(witness);
        }
    }
    chosen
}

/// Whether the witness may be the context by another name: the same field of what may be the same object.
fn may_be_context(analysis: &Analysis<'_>, sources: &mut Sources<'_>, witness: &Witness) -> bool {
    let Holder::Own(section) = witness.context else { return false };
    let Some(skeleton) = analysis.skeleton(witness.method) else { return false };
    let context = &skeleton.sections[section.index()].lock;
    let program = analysis.program;
    match (context.steps.last(), witness.lock.steps.last()) {
        (Some(Step::Field(one)), Some(Step::Field(other))) => sources.may_be_one(*one, *other),
        // A part that knows the whole it belongs to.
        (None, Some(Step::Field(back))) => {
            let descriptor = program.names.text(back.descriptor);
            let class = descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';'));
            context.root == Root::This
                && program.is_final_field(*back)
                && class == Some(program.names.text(program.method_name(witness.method).class.0))
        }
        _ => false,
    }
}

/// Leaves out pairs that no run goes through, locks that only one thread knows, and takings with nothing in common.
fn possible<'a>(analysis: &'a Analysis<'_>, is_wanted: impl Fn(&Witness) -> bool) -> Vec<Candidate<'a>> {
    let program = analysis.program;
    let mut witnesses = nearest(analysis);
    witnesses.retain(|witness| is_wanted(witness));
    let mut by_method: FxHashMap<MethodId, Vec<usize>> = FxHashMap::default();
    for (number, witness) in witnesses.iter().enumerate() {
        by_method.entry(witness.method).or_default().push(number);
        if witness.pair.method != witness.method {
            by_method.entry(witness.pair.method).or_default().push(number);
        }
    }
    let mut methods: Vec<MethodId> = by_method.keys().copied().collect();
    methods.sort_unstable();
    let looked = program.visit_bodies_of(&methods, |method, body| {
        let locals = Locals { program, calls: analysis.calls };
        let feasible = Feasible::new(program, &body);
        let registers = LazyCell::new(|| Registers::new(program, &body));
        // Of a pair: its ties, if it is this method's; `None` if it is to be left out.
        let look = |number: usize| -> Option<Option<Ties>> {
            let witness = witnesses[number];
            if witness.method == method && locals.is_local(&body, &witness.lock) {
                return None;
            }
            if witness.pair.method != method {
                return Some(None);
            }
            let pair = witness.pair;
            let (lock, _) = analysis.taken_lock(method, pair.second)?;
            if locals.is_local(&body, &lock) {
                return None;
            }
            let first = value_of(analysis, method, pair.first)?;
            let second = value_of(analysis, method, pair.second)?;
            if !feasible.is_possible(first, second) || registers.is_held_by_choice(&lock, first, second) {
                return None;
            }
            let ties = registers.ties((pair.first, first), (pair.second, second));
            let is_near = pair.first != pair.second && depth(analysis, witness) <= 2;
            (ties.any() || is_near).then_some(Some(ties))
        };
        by_method[&method].iter().map(|number| (*number, look(*number))).collect::<Vec<_>>()
    });
    let mut dropped = vec![false; witnesses.len()];
    let mut ties = vec![Ties::default(); witnesses.len()];
    for (number, look) in looked.into_iter().flatten().flatten() {
        match look {
            None => dropped[number] = true,
            Some(Some(found)) => ties[number] = found,
            Some(None) => {}
        }
    }
    let kept = witnesses.into_iter().enumerate().filter(|(number, _)| !dropped[*number]);
    kept.map(|(number, witness)| Candidate { witness, ties: ties[number] }).collect()
}

/// The instruction that takes a lock, or calls what does.
fn value_of(analysis: &Analysis<'_>, method: MethodId, via: Via) -> Option<Value> {
    let skeleton = analysis.skeleton(method)?;
    match via {
        Via::Own(section) => skeleton.sections.get(section as usize)?.start,
        Via::Call { call, .. } | Via::Library { call } => Some(skeleton.calls.get(call as usize)?.value),
    }
}

fn explain(analysis: &Analysis<'_>, witness: &Witness, judgement: &Judgement) -> Option<Finding> {
    let outer = Told::of(analysis.program, witness.method)?;
    let inner = match witness.pair.method == witness.method {
        true => None,
        false => Some(Told::of(analysis.program, witness.pair.method)?),
    };
    Explaining { analysis, witness, outer: &outer, inner: inner.as_ref(), judgement }.explain()
}

/// The taking at the end of a chain of calls.
pub(super) fn bottom(analysis: &Analysis<'_>, method: MethodId, via: Via) -> (MethodId, Via) {
    let (mut method, mut via) = (method, via);
    while let Via::Call { target, taken, .. } = via {
        let Some(next) = analysis.summary(target).and_then(|summary| summary.taken.get(taken as usize)) else { break };
        method = target;
        via = next.via;
    }
    (method, via)
}

/// The line, or else the instruction, in the method itself.
fn line_of(analysis: &Analysis<'_>, method: MethodId, via: Via) -> u32 {
    let spot = spot(analysis, method, via);
    spot.map_or(0, |spot| spot.line.unwrap_or(spot.pc))
}

/// Where a method takes a lock by itself, or calls what does.
pub(super) fn spot(analysis: &Analysis<'_>, method: MethodId, via: Via) -> Option<Spot> {
    let skeleton = analysis.skeleton(method)?;
    let (pc, line) = match via {
        Via::Own(section) => {
            let own = skeleton.sections.get(section as usize)?;
            (own.pc, own.line)
        }
        Via::Call { call, .. } | Via::Library { call } => {
            let site = skeleton.calls.get(call as usize)?;
            (site.pc, site.line)
        }
    };
    Some(Spot { method: analysis.program.method_name(method), pc, line })
}

/// The place in the code where a taking happens in the end.
pub(super) fn bottom_spot(analysis: &Analysis<'_>, method: MethodId, via: Via) -> Option<Spot> {
    let (method, via) = bottom(analysis, method, via);
    spot(analysis, method, via)
}

fn deepest(analysis: &Analysis<'_>, method: MethodId, via: Via) -> (MethodId, u32) {
    let (method, via) = bottom(analysis, method, via);
    (method, line_of(analysis, method, via))
}

/// Whether a taking is one operation of an object that synchronizes itself.
pub(super) fn is_own_step(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    analysis.taken_lock(witness.pair.method, witness.pair.second).is_some_and(|(_, kind)| kind == LockKind::Own)
}

/// Whether the context is the half of a lock that others hold at the same time: it keeps out who closes or replaces
/// something, and says nothing of those who come in by the same half.
pub(super) fn is_in_shared_half(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    let Holder::Own(section) = witness.context else { return false };
    let skeleton = analysis.skeleton(witness.method);
    skeleton.is_some_and(|skeleton| skeleton.sections[section.index()].mode == Mode::Shared)
}
