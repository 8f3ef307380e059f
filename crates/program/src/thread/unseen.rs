//! Threads that are made of a function and that nobody is seen to start, where something is started that cannot be traced:
//! `threads.foreach(_.start())` of a library that no model tells of.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::site::{EntryKind, Site, Sites};
use super::task::{At, Finder, MadeThread, Run};
use crate::class::MethodId;
use crate::outline::{Action, EventId};

/// Of more threads than this it is not known which are meant.
const MAX_THREADS: usize = 64;

/// Has the starts of threads that could not be traced start those that no other start does.
pub(super) fn start_unseen(finder: &Finder<'_>, sites: &mut Sites) {
    let is_untraced = |index: &usize| {
        let site = &sites.starts[*index];
        site.kind == EntryKind::Thread && site.is_open && site.runs.is_empty()
    };
    let untraced: Vec<usize> = (0..sites.starts.len()).filter(is_untraced).collect();
    if untraced.is_empty() {
        return;
    }
    let started: FxHashSet<MethodId> =
        sites.starts.iter().flat_map(|site| site.runs.iter().map(|run| run.method)).collect();
    let mut unseen = made(finder);
    unseen.retain(|run| !started.contains(&run.method));
    if unseen.len() > MAX_THREADS {
        return;
    }
    if unseen.is_empty() {
        return;
    }
    for site in untraced {
        let site = Site { runs: unseen.clone(), is_open: false, ..sites.starts[site].clone() };
        sites.starts.push(site);
    }
}

/// What threads run that are made of a function.
fn made(finder: &Finder<'_>) -> Vec<Run> {
    let (program, calls) = (finder.program, finder.calls);
    let runnable = program.names.class("java/lang/Runnable");
    let thread = program.names.class("java/lang/Thread");
    let is_making = |(_, called): &(classfile::CallKind, location::MethodName)| {
        called.name == program.roots.constructor && called.class == thread
    };
    let methods: Vec<MethodId> = program.methods().collect();
    let making: Vec<MethodId> =
        methods.into_par_iter().filter(|method| calls.mentions[method.index()].calls.iter().any(is_making)).collect();
    finder.outlines.make(&making);
    let of_method = |method: &MethodId| {
        let mut found = Vec::new();
        for (index, event) in finder.outline(*method).into_iter().flat_map(|outline| outline.events.iter().enumerate())
        {
            let Action::Call { method: called, arguments, .. } = &event.action else { continue };
            if called.class != thread {
                continue;
            }
            let Some(wrapped) = finder.wrapped(*called, arguments) else { continue };
            let at = At { method: *method, event: EventId(index as u32) };
            let thread = MadeThread { method: at.method, event: at.event, in_loop: event.in_loop };
            let task = finder.task(*method, wrapped, runnable);
            // What cannot be traced either says nothing of this thread.
            let runs = task.runs.into_iter().filter(|_| !task.is_open);
            found.extend(runs.map(|run| Run { thread: Some(thread), ..run }));
        }
        found
    };
    let mut found: Vec<Run> = making.par_iter().map(of_method).collect::<Vec<_>>().concat();
    found.sort_unstable();
    found.dedup();
    found
}
