//! How many processes of an entry run at once.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::lift;
use super::order::Orders;
use super::reach::{Graph, Rows};
use super::site::{Serial, Site};
use super::task::{Finder, MadeThread};
use super::{Entry, EntryId, EntryKind, Many};
use crate::class::MethodId;
use crate::model::Times;
use crate::outline::Action;
use crate::summary::Components;

/// Methods that may run more than once in one process, of those that start something or make an executor.
pub(super) struct Repeats {
    repeated: FxHashSet<MethodId>,
}

impl Repeats {
    pub(super) fn of(
        finder: &Finder<'_>,
        graph: &Graph,
        components: &Components,
        rows: &Rows,
        entries: &[Entry],
        started: &FxHashSet<(MethodId, MethodId)>,
        sites: &[Site],
    ) -> Repeats {
        let executors = sites.iter().filter_map(|site| match site.serial {
            Some(Serial::Executor(at)) => Some(at.method),
            _ => None,
        });
        let held = lift::fields(sites).flat_map(|field| finder.stores_of(field)).map(|at| at.method);
        let runs = || sites.iter().flat_map(|site| &site.runs);
        let tasks = runs().filter_map(|run| Some(run.object?.0));
        let threads = runs().filter_map(|run| Some(run.thread?.method));
        let mut relevant = vec![false; finder.program.known_method_count()];
        let mut order = Vec::new();
        let mut pending: Vec<MethodId> =
            sites.iter().map(|site| site.at.method).chain(executors).chain(tasks).chain(threads).chain(held).collect();
        while let Some(method) = pending.pop() {
            if !std::mem::replace(&mut relevant[method.index()], true) {
                order.push(method);
                pending.extend(finder.calls.callers(method));
            }
        }
        let mut recursive = vec![false; graph.count()];
        for component in components.iter() {
            if component.len() > 1 || graph.callees(component[0]).contains(&component[0]) {
                component.iter().for_each(|method| recursive[method.index()] = true);
            }
        }
        let begun: FxHashSet<MethodId> = entries.iter().filter_map(|entry| entry.method).collect();
        let called: Vec<Called> = order
            .par_iter()
            .map(|method| match recursive[method.index()] {
                true => Called::Twice,
                false => called(finder, rows, entries, &begun, started, *method),
            })
            .collect();
        let mut repeats = Repeats { repeated: FxHashSet::default() };
        let repeat = |repeats: &mut Repeats, mut pending: Vec<MethodId>| {
            while let Some(method) = pending.pop() {
                if repeats.repeated.insert(method) {
                    let callees = graph.callees(method).iter();
                    pending.extend(callees.filter(|callee| relevant.get(callee.index()) == Some(&true)));
                }
            }
        };
        let twice = order.iter().zip(&called).filter(|(_, called)| matches!(called, Called::Twice));
        repeat(&mut repeats, twice.map(|(method, _)| *method).collect());
        // Few are left, of which the code of callers has to be asked.
        let open = order.iter().copied().zip(&called).filter(|(method, _)| !repeats.contains(*method));
        let open: Vec<(MethodId, &Called)> = open.collect();
        let mut asked: Vec<MethodId> = open.iter().flat_map(|(_, called)| called.callers()).copied().collect();
        asked.sort_unstable();
        asked.dedup();
        finder.outlines.make(&asked);
        let is_called_twice = |(method, called): &(MethodId, &Called)| {
            called.callers().iter().any(|caller| calls_twice(finder, *caller, *method))
        };
        let more: Vec<(MethodId, &Called)> = open.into_par_iter().filter(is_called_twice).collect();
        repeat(&mut repeats, more.into_iter().map(|(method, _)| method).collect());
        repeats
    }

    pub(super) fn contains(&self, method: MethodId) -> bool {
        self.repeated.contains(&method)
    }
}

/// How a method is called, as far as that is told without a look at code.
enum Called {
    /// Perhaps more than once.
    Twice,
    /// By these, of which at most one runs.
    By(Vec<MethodId>),
}

impl Called {
    fn callers(&self) -> &[MethodId] {
        match self {
            Called::Twice => &[],
            Called::By(callers) => callers,
        }
    }
}

fn called(
    finder: &Finder<'_>,
    rows: &Rows,
    entries: &[Entry],
    begun: &FxHashSet<MethodId>,
    started: &FxHashSet<(MethodId, MethodId)>,
    method: MethodId,
) -> Called {
    let callers: Vec<MethodId> = finder
        .calls
        .callers(method)
        .iter()
        .copied()
        .filter(|caller| !started.contains(&(*caller, method)) && !rows.of(*caller).is_empty())
        .collect();
    // Called by code that is not followed.
    let name = finder.program.method(method).name;
    if callers.is_empty() && !begun.contains(&method) && finder.program.names.text(name) != "<clinit>" {
        return Called::Twice;
    }
    let two = callers.iter().enumerate().any(|(index, first)| {
        callers[index + 1..].iter().any(|second| !are_programs_apart(entries, rows.of(*first), rows.of(*second)))
    });
    if two { Called::Twice } else { Called::By(callers) }
}

/// Whether the code of one method calls another one in two places, or again and again.
fn calls_twice(finder: &Finder<'_>, caller: MethodId, method: MethodId) -> bool {
    let mut count = 0;
    for event in finder.outline(caller).into_iter().flat_map(|outline| &outline.events) {
        match &event.action {
            Action::Call { method: called, .. } if finder.may_mean(*called, method) => {
                count += if event.in_loop { 2 } else { 1 };
            }
            // Who gets a function may call it again and again.
            Action::Lambda { method: made, .. } if finder.may_mean(*made, method) => count += 2,
            _ => {}
        }
    }
    count > 1
}

/// Whether only different `main`s are involved: they run in different virtual machines.
fn are_programs_apart(entries: &[Entry], first: &[EntryId], second: &[EntryId]) -> bool {
    let is_main = |entry: &EntryId| entries[entry.index()].kind == EntryKind::Main;
    first.iter().all(is_main) && second.iter().all(is_main) && !first.iter().any(|entry| second.contains(entry))
}

/// An executor that may be made several times orders nothing.
pub(super) fn serials(entries: &mut [Entry], rows: &Rows, repeats: &Repeats) {
    let many: Vec<bool> = entries.iter().map(|entry| entry.many.is_some()).collect();
    let mut known: FxHashMap<MethodId, bool> = FxHashMap::default();
    for site in entries.iter_mut().flat_map(|entry| &mut entry.sites) {
        if let Some(Serial::Executor(at)) = site.serial {
            let is_one = *known.entry(at.method).or_insert_with(|| {
                !repeats.contains(at.method) && !rows.of(at.method).iter().any(|entry| many[entry.index()])
            });
            if !is_one {
                site.serial = None;
            }
        }
    }
}

pub(super) fn many(entries: &mut [Entry], sites: &[Site], started_at: &[Vec<EntryId>], rows: &Rows, repeats: &Repeats) {
    let mut of_entry: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    for (index, started) in started_at.iter().enumerate() {
        for entry in started {
            of_entry[entry.index()].push(index);
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for index in 0..entries.len() {
            if entries[index].many.is_some() || of_entry[index].is_empty() {
                continue;
            }
            if let Some(many) = decide(entries, index, sites, &of_entry[index], rows, repeats) {
                entries[index].many = Some(many);
                changed = true;
            }
        }
    }
}

fn decide(
    entries: &[Entry],
    index: usize,
    sites: &[Site],
    own: &[usize],
    rows: &Rows,
    repeats: &Repeats,
) -> Option<Many> {
    let serial = |site: &super::StartSite| site.serial.is_some() && site.serial == entries[index].sites[0].serial;
    if entries[index].sites.iter().all(serial) {
        return None;
    }
    if let Some(threads) = made_threads(&entries[index], sites, own)
        && is_made_once(entries, index, &threads, rows, repeats)
    {
        return None;
    }
    if own.iter().any(|site| sites[*site].times == Times::ManyAtOnce) {
        return Some(Many::AtOnce);
    }
    if own.iter().any(|site| sites[*site].in_loop) {
        return Some(Many::InLoop);
    }
    let owners = |site: &usize| rows.of(sites[*site].at.method);
    let two = own.iter().enumerate().any(|(at, first)| {
        own[at + 1..].iter().any(|second| !are_programs_apart(entries, owners(first), owners(second)))
    });
    if two {
        return Some(Many::TwoSites);
    }
    let is_repeated = own.iter().any(|site| is_repeated(entries, index, sites[*site].at.method, rows, repeats));
    is_repeated.then_some(Many::StarterRepeats)
}

/// Where the threads are made that run an entry, if all of them are known.
fn made_threads(entry: &Entry, sites: &[Site], own: &[usize]) -> Option<Vec<MadeThread>> {
    let mut threads = Vec::new();
    for site in own.iter().map(|site| &sites[*site]) {
        if site.kind != EntryKind::Thread {
            return None;
        }
        for run in site.runs.iter().filter(|run| Some(run.method) == entry.method) {
            threads.push(run.thread?);
        }
    }
    threads.sort_unstable();
    threads.dedup();
    (!threads.is_empty()).then_some(threads)
}

/// Whether there is only ever one of these threads, which runs once, wherever it is started.
fn is_made_once(entries: &[Entry], index: usize, threads: &[MadeThread], rows: &Rows, repeats: &Repeats) -> bool {
    let owners = |thread: &MadeThread| rows.of(thread.method);
    let two = threads.iter().enumerate().any(|(at, first)| {
        threads[at + 1..].iter().any(|second| !are_programs_apart(entries, owners(first), owners(second)))
    });
    let is_repeated = |thread: &MadeThread| is_repeated(entries, index, thread.method, rows, repeats);
    !two && !threads.iter().any(|thread| thread.in_loop || is_repeated(thread))
}

/// Whether a method runs at most once in a run of the program.
pub(super) fn is_once(
    finder: &Finder<'_>,
    entries: &[Entry],
    rows: &Rows,
    repeats: &Repeats,
    method: MethodId,
) -> bool {
    let is_initialiser = || finder.program.names.text(finder.program.method(method).name) == "<clinit>";
    is_initialiser() || !is_repeated(entries, entries.len(), method, rows, repeats)
}

/// Whether a method that makes or starts what runs an entry runs more than once.
fn is_repeated(entries: &[Entry], index: usize, method: MethodId, rows: &Rows, repeats: &Repeats) -> bool {
    let owners = rows.of(method);
    let is_shared = owners
        .iter()
        .enumerate()
        .any(|(at, first)| owners[at + 1..].iter().any(|second| !are_programs_apart(entries, &[*first], &[*second])));
    is_shared
        || repeats.contains(method)
        || owners.iter().any(|owner| owner.index() != index && entries[owner.index()].many.is_some())
}

/// Takes back what the order of starts and joins rules out: each is over before the next one starts. Tells of which entries.
pub(super) fn refine(entries: &mut [Entry], rows: &Rows, orders: &Orders) -> Vec<EntryId> {
    let mut refined = Vec::new();
    for index in 0..entries.len() {
        let entry = &entries[index];
        let may_be_apart = matches!(entry.many, Some(Many::InLoop | Many::TwoSites | Many::StarterRepeats));
        let id = EntryId(index as u32);
        if may_be_apart && orders.are_apart(rows, entries, id, id) {
            entries[index].many = None;
            refined.push(id);
        }
    }
    refined
}
