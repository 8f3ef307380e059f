//! Summaries of all methods that were asked for, callees first.

use std::cell::RefCell;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::compose::Compose;
use super::holding::{Asking, Holdings};
use super::influences::SetsByThread;
use super::order::Needed;
use super::{Extent, Summary};
use crate::calls::Calls;
use crate::captured::Captured;
use crate::class::{MethodId, Program};
use crate::outline::Outline;
use crate::outlines::{OutlineCache, Outlines};

/// Rounds within a component of methods that call each other.
const ROUNDS: usize = 3;

/// Outlines and summaries of all methods that were asked for.
pub struct Summaries {
    pub outlines: Arc<OutlineCache>,
    /// By method: whether it was asked for.
    wanted: Vec<bool>,
    /// Others of which only the outlines count, made when they are asked for.
    around: FxHashSet<MethodId>,
    /// Outlines of methods that are atomic.
    enclosed: FxHashMap<MethodId, Outline>,
    summaries: Vec<Option<Box<Summary>>>,
    pub holdings: Holdings,
    pub(super) extent: Extent,
}

/// How methods are summarised.
pub struct Scope<'s> {
    /// Methods that are one section each.
    pub atomic: &'s [MethodId],
    pub extent: Extent,
    /// Methods that call those that are summarised, and of which only what their outlines tell is known.
    pub around: FxHashSet<MethodId>,
    /// Of those that are asked for: which make objects, and tell by their outlines alone what these hold.
    pub makers: FxHashSet<MethodId>,
}

impl From<Extent> for Scope<'_> {
    fn from(extent: Extent) -> Self {
        Scope { atomic: &[], extent, around: FxHashSet::default(), makers: FxHashSet::default() }
    }
}

impl Summaries {
    /// Outlines and summarises the methods that `wanted` accepts.
    pub fn of(
        program: &Program,
        calls: &Calls,
        outlines: Arc<OutlineCache>,
        captured: Arc<Captured>,
        scope: Scope<'_>,
        wanted: impl Fn(MethodId) -> bool,
    ) -> Summaries {
        let Scope { atomic, extent, around, makers } = scope;
        let count = program.known_method_count();
        let wanted: Vec<bool> = (0..count as u32).map(|method| wanted(MethodId(method))).collect();
        outlines.make(program, |method| wanted[method.index()]);
        let mut enclosed = FxHashMap::default();
        for method in atomic.iter().filter(|method| wanted[method.index()]) {
            if let Some(mut outline) = outlines.made(*method).cloned() {
                crate::atomic::enclose(program, &mut outline);
                enclosed.insert(*method, outline);
            }
        }
        let holdings = Holdings::default();
        let mut all = Summaries { outlines, wanted, around, enclosed, summaries: Vec::new(), holdings, extent };
        let asking = Asking { program, calls, outlines: Outlines::new(program, &all.outlines), fields: None };
        let of_caller = |method| all.outline_of_caller(program, method);
        let is_summarised = |method: MethodId| all.wanted[method.index()] && !makers.contains(&method);
        let (holdings, levels) = rayon::join(
            || Holdings::of(asking, |method| all.outline(method), of_caller, captured),
            || Needed::of(program, calls, extent.follows_tasks()).levels(calls, count, is_summarised),
        );
        all.holdings = holdings;
        all.summaries.resize_with(count, || None);
        all.summarise(program, calls, levels);
        all
    }

    /// Summarises more methods. Those that are summarised already and call them stay as they are.
    pub(crate) fn extend(&mut self, program: &Program, calls: &Calls, methods: &FxHashSet<MethodId>) {
        self.outlines.make(program, |method| methods.contains(&method));
        for (number, wanted) in self.wanted.iter_mut().enumerate() {
            *wanted |= methods.contains(&MethodId(number as u32));
        }
        self.around.retain(|method| !methods.contains(method));
        let count = program.known_method_count();
        let needed = Needed::of(program, calls, self.extent.follows_tasks());
        let levels = needed.levels(calls, count, |method| methods.contains(&method));
        self.summarise(program, calls, levels);
    }

    fn summarise(&mut self, program: &Program, calls: &Calls, levels: Vec<Vec<Vec<MethodId>>>) {
        let sets = SetsByThread::new();
        for level in levels {
            let done: Vec<Vec<(MethodId, Summary)>> = level
                .par_iter()
                .with_max_len(1)
                .map(|component| self.component(program, calls, component, &sets))
                .collect();
            for (method, summary) in done.into_iter().flatten() {
                self.summaries[method.index()] = Some(Box::new(summary));
            }
        }
    }

    pub fn summary(&self, method: MethodId) -> Option<&Summary> {
        self.summaries[method.index()].as_deref()
    }

    pub fn outline(&self, method: MethodId) -> Option<&Outline> {
        if !self.wanted[method.index()] {
            return None;
        }
        self.enclosed.get(&method).or_else(|| self.outlines.made(method))
    }

    /// The outline of a method that is summarised, or of one that calls those.
    pub(crate) fn outline_of_caller<'s>(&'s self, program: &'s Program, method: MethodId) -> Option<&'s Outline> {
        match self.around.contains(&method) {
            true => Outlines::new(program, &self.outlines).get(method),
            false => self.outline(method),
        }
    }

    fn component(
        &self,
        program: &Program,
        calls: &Calls,
        members: &[MethodId],
        sets: &SetsByThread,
    ) -> Vec<(MethodId, Summary)> {
        let compose = Compose { program, calls, holdings: &self.holdings, component: members, extent: self.extent };
        if let [only] = *members
            && !calls.callees(only).contains(&only)
        {
            let outline = self.outline(only).into_iter();
            return outline
                .map(|outline| (only, compose.of(only, outline, &|method| self.summary(method), sets)))
                .collect();
        }
        let mut done: Vec<Option<Summary>> = vec![None; members.len()];
        // By member: the members whose summaries it asked for, and whether its own is another than the round before.
        let mut asked: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); members.len()];
        let mut changed = vec![true; members.len()];
        for round in 0..ROUNDS {
            let next: Vec<_> = (0..members.len())
                .into_par_iter()
                .map(|index| {
                    if round > 0 && !asked[index].iter().any(|other| changed[*other as usize]) {
                        return None;
                    }
                    let asks: RefCell<SmallVec<[u32; 4]>> = RefCell::default();
                    let known = |method: MethodId| match members.binary_search(&method) {
                        Ok(other) => {
                            asks.borrow_mut().push(other as u32);
                            done[other].as_ref()
                        }
                        Err(_) => self.summary(method),
                    };
                    let outline = self.outline(members[index])?;
                    let summary = compose.of(members[index], outline, &known, sets);
                    Some((summary, asks.into_inner()))
                })
                .collect();
            changed.fill(false);
            for (index, next) in next.into_iter().enumerate() {
                let Some((summary, asks)) = next else { continue };
                changed[index] = done[index].as_ref() != Some(&summary);
                done[index] = Some(summary);
                asked[index] = asks;
            }
            if !changed.contains(&true) {
                break;
            }
        }
        members.iter().zip(done).filter_map(|(member, summary)| Some((*member, summary?))).collect()
    }
}
