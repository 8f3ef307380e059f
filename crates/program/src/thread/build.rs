//! From sites to entries.

use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::Bits;
use super::callback::callbacks;
use super::initial::initial;
use super::lift;
use super::order::{Orders, Starts};
use super::reach::{Graph, Rows};
use super::site::{Site, Sites};
use super::task::{Finder, Run, Stores};
use super::times::{self, Repeats};
use super::unseen::start_unseen;
use super::{Entry, EntryId, EntryKind, Many, StartSite, Threads, World};
use crate::annotation::Mark;
use crate::calls::Calls;
use crate::class::{MethodId, Program};
use crate::library::{Library, is_checked_code, supertypes};
use crate::model::{Instances, Times};
use crate::outlines::Outlines;

/// Processes that run one at a time are sought so often among what such processes start.
const MAX_ROUNDS: usize = 3;

pub(super) fn threads(program: &Program, calls: &Calls, outlines: Outlines<'_>, world: World) -> Threads {
    let library = Library::of(program, calls);
    let stores = Stores::new(program);
    let finder = Finder { program, calls, outlines, library: &library, stores: &stores };
    let mut sites = Sites::of(&finder);
    start_unseen(&finder, &mut sites);
    let callbacks = callbacks(&finder);
    let mut started = started_lambdas(&finder, sites.starts.iter().flat_map(|site| &site.runs));
    started.extend(started_lambdas(&finder, callbacks.iter().map(|callback| &callback.run)));
    let (mut entries, mut started_at) = entries(program, calls, &sites.starts);
    let run: FxHashSet<MethodId> = entries.iter().filter_map(|entry| entry.method).collect();
    let mut roots: Vec<Vec<MethodId>> = entries.iter().map(|entry| entry.method.into_iter().collect()).collect();
    let asks_for_main = world == World::Auto && entries.iter().any(|entry| entry.kind == EntryKind::Main);
    let ((graph, components), by_main) = rayon::join(
        || {
            let graph = Graph::of(program, calls, &started, &run, &callbacks);
            let components = graph.components();
            (graph, components)
        },
        || {
            // What only may be called, by one of many targets or by the library, closes no class.
            let plain = || Graph::of_plain_calls(calls, program.known_method_count(), &started, &callbacks);
            let plain = asks_for_main.then(plain);
            plain.map_or_else(Rows::default, |plain| Rows::of_roots(&plain, &plain.components(), &roots))
        },
    );
    let mut open = Vec::new();
    let mut one_caller = None;
    let mut has_closed = false;
    if world != World::Closed {
        let mut closed = FxHashSet::default();
        if asks_for_main {
            closed = closed_entries(&entries, &sites.starts, &started_at, &by_main);
            has_closed = !closed.is_empty();
        }
        open = open_methods(program, calls, &entries, &by_main, &closed);
        // Who calls what is not made for threads has an object of his own; what that leads to is another matter.
        let is_alone = |method: &MethodId| {
            let is_static = program.method(*method).access.is_static();
            !is_static && program.is_marked(program.class_of(*method), Mark::NotThreadSafe)
        };
        let (alone, several): (Vec<MethodId>, Vec<MethodId>) = open.iter().copied().partition(is_alone);
        for (called, is_one) in [(several, false), (alone, true)] {
            if called.is_empty() {
                continue;
            }
            if is_one {
                one_caller = Some(EntryId(entries.len() as u32));
            }
            entries.push(Entry {
                method: None,
                kind: EntryKind::Callers,
                many: Some(Many::ByNature),
                made: Instances::One,
                sites: Vec::new(),
                objects: Vec::new(),
                lambdas: Vec::new(),
            });
            roots.push(called);
        }
    }
    let rows = Rows::of_roots(&graph, &components, &roots);
    let initial = initial(program, calls, &graph, &run, &open);
    let repeats = Repeats::of(&finder, &graph, &components, &rows, &entries, &started, &sites.starts);
    times::serials(&mut entries, &rows, &repeats);
    times::many(&mut entries, &sites.starts, &started_at, &rows, &repeats);
    let lambdas: FxHashSet<_> =
        sites.starts.iter().flat_map(|site| site.runs.iter().filter_map(|run| run.lambda)).collect();
    let unknown_starts = sites
        .starts
        .iter()
        .filter(|site| site.is_open && site.runs.is_empty())
        .map(|site| StartSite { at: site.at, line: site.line, serial: site.serial })
        .collect();
    let turns = sites.starts.iter().filter_map(|site| Some((site.at, site.taking_turns?))).collect();
    let is_once = |method| times::is_once(&finder, &entries, &rows, &repeats, method);
    let stands_for = lift::lift(&finder, &mut sites, &mut started_at, &entries, &is_once);
    let mut in_turn = Vec::new();
    let mut orders = Orders::default();
    // What runs one at a time orders what it starts.
    for _ in 0..MAX_ROUNDS {
        let starts = Starts {
            sites: &sites,
            entries_of: &started_at,
            entries: &entries,
            rows: &rows,
            lambdas: &lambdas,
            in_turn: &in_turn,
            stands_for: &stands_for,
        };
        orders = Orders::of(&finder, &graph, &components, &starts);
        let refined = times::refine(&mut entries, &rows, &orders);
        if refined.is_empty() {
            break;
        }
        in_turn.extend(refined);
    }
    let overlaps = overlaps(&entries, &rows, &orders);
    let number = |(index, entry): (usize, &Entry)| Some((entry.method?, EntryId(index as u32)));
    let by_method = entries.iter().enumerate().filter_map(number).collect();
    Threads {
        by_method,
        turns,
        entries,
        rows,
        orders,
        overlaps,
        unknown_starts,
        started: lambdas,
        open,
        has_closed,
        initial,
        one_caller,
        library,
        from_outside: OnceLock::new(),
    }
}

/// Lambdas that a method makes only for others to run them.
fn started_lambdas<'r>(finder: &Finder<'_>, runs: impl Iterator<Item = &'r Run>) -> FxHashSet<(MethodId, MethodId)> {
    let mut started = FxHashSet::default();
    for run in runs {
        let Some(made) = run.lambda else { continue };
        let name = finder.program.method_name(run.method);
        let is_called = finder.calls.mentions[made.method.index()].calls.iter().any(|(kind, called)| {
            called.name == name.name
                && called.descriptor == name.descriptor
                && finder.calls.targets(finder.program, *kind, *called).known().contains(&run.method)
        });
        if !is_called {
            started.insert((made.method, run.method));
        }
    }
    started
}

/// All entries but open callers, and for each site the entries that it starts.
fn entries(program: &Program, calls: &Calls, sites: &[Site]) -> (Vec<Entry>, Vec<Vec<EntryId>>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut by_method: FxHashMap<MethodId, EntryId> = FxHashMap::default();
    let mut add = |entries: &mut Vec<Entry>, method: MethodId, kind: EntryKind, many: Option<Many>, made: Instances| {
        *by_method.entry(method).or_insert_with(|| {
            entries.push(Entry {
                method: Some(method),
                kind,
                many,
                made,
                sites: Vec::new(),
                objects: Vec::new(),
                lambdas: Vec::new(),
            });
            EntryId(entries.len() as u32 - 1)
        })
    };
    let (main, arguments) = (program.names.intern("main"), program.names.intern("([Ljava/lang/String;)V"));
    for method in program.methods() {
        let own = program.method(method);
        if own.name == main && own.descriptor == arguments && own.access.is_static() && own.has_code {
            add(&mut entries, method, EntryKind::Main, None, Instances::One);
        }
    }
    let mut tasks: Vec<(MethodId, EntryKind)> =
        sites.iter().flat_map(|site| site.runs.iter().map(|run| (run.method, site.kind))).collect();
    tasks.sort_unstable();
    for (method, kind) in tasks {
        add(&mut entries, method, kind, None, Instances::One);
    }
    let classes: Vec<_> = program.classes().collect();
    let called: Vec<Vec<(MethodId, Times, Instances)>> = classes
        .par_iter()
        .map(|class| {
            let points = calls.models.entry_points(&program.names, program.header(*class), &mut supertypes(program));
            let methods: Vec<MethodId> = program.methods_of(*class).collect();
            points.into_iter().map(|point| (methods[point.method], point.times, point.objects)).collect()
        })
        .collect();
    for (method, times, made) in called.into_iter().flatten() {
        let many = (times == Times::ManyAtOnce).then_some(Many::ByNature);
        add(&mut entries, method, EntryKind::Framework, many, made);
    }
    let started_at = sites
        .iter()
        .map(|site| {
            let mut started = Vec::new();
            for run in &site.runs {
                let Some(entry) = by_method.get(&run.method) else { continue };
                let own = &mut entries[entry.index()];
                if !own.sites.iter().any(|known| known.at == site.at) {
                    own.sites.push(StartSite { at: site.at, line: site.line, serial: site.serial });
                }
                own.objects.push(run.object);
                if let Some(lambda) = run.lambda.filter(|lambda| !own.lambdas.contains(lambda)) {
                    own.lambdas.push(lambda);
                }
                if !started.contains(entry) {
                    started.push(*entry);
                }
            }
            started.sort_unstable();
            started
        })
        .collect();
    (entries, started_at)
}

/// The `main`s that start threads, and what they start.
fn closed_entries(entries: &[Entry], sites: &[Site], started_at: &[Vec<EntryId>], rows: &Rows) -> FxHashSet<EntryId> {
    let mut closed: FxHashSet<EntryId> = FxHashSet::default();
    let mut changed = true;
    while changed {
        changed = false;
        for (site, started) in sites.iter().zip(started_at) {
            for owner in rows.of(site.at.method) {
                if entries[owner.index()].kind == EntryKind::Main {
                    changed |= closed.insert(*owner);
                }
                if closed.contains(owner) {
                    for entry in started {
                        changed |= closed.insert(*entry);
                    }
                }
            }
        }
    }
    closed
}

/// What code that is not here may call: public methods of public classes, and what nothing here calls.
fn open_methods(
    program: &Program,
    calls: &Calls,
    entries: &[Entry],
    rows: &Rows,
    closed: &FxHashSet<EntryId>,
) -> Vec<MethodId> {
    let known: FxHashSet<MethodId> = entries.iter().filter_map(|entry| entry.method).collect();
    let initialiser = program.names.intern("<clinit>");
    let mut open = Vec::new();
    for class in program.classes() {
        let is_closed =
            program.methods_of(class).any(|method| rows.of(method).iter().any(|entry| closed.contains(entry)));
        if is_closed {
            continue;
        }
        let is_public = program.header(class).access.is_public();
        let is_for_threads = program.is_marked(class, Mark::ThreadSafe);
        for method in program.methods_of(class) {
            let own = program.method(method);
            if !is_checked_code(program, method) || own.access.is_private() || own.name == initialiser {
                continue;
            }
            let is_exposed = is_for_threads || (is_public && (own.access.is_public() || own.access.is_protected()));
            let is_called = !calls.callers(method).is_empty();
            if !known.contains(&method)
                && (is_exposed && !own.access.is_synthetic() || (!is_called && !own.access.is_synthetic()))
            {
                open.push(method);
            }
        }
    }
    open
}

/// By entry: those that may run at the same time.
fn overlaps(entries: &[Entry], rows: &Rows, orders: &Orders) -> Vec<Bits> {
    let serial = |entry: &Entry| {
        let first = entry.sites.first()?.serial?;
        entry.sites.iter().all(|site| site.serial == Some(first)).then_some(first)
    };
    let serials: Vec<_> = entries.iter().map(serial).collect();
    let mut overlaps = vec![Bits::default(); entries.len()];
    for (first, entry) in entries.iter().enumerate() {
        if entry.many.is_some() {
            overlaps[first].insert(first);
        }
        for (second, other) in entries.iter().enumerate().skip(first + 1) {
            let both_main = entry.kind == EntryKind::Main && other.kind == EntryKind::Main;
            let is_serial = serials[first].is_some() && serials[first] == serials[second];
            let (a, b) = (EntryId(first as u32), EntryId(second as u32));
            if !both_main && !is_serial && !orders.are_apart(rows, entries, a, b) {
                overlaps[first].insert(second);
                overlaps[second].insert(first);
            }
        }
    }
    overlaps
}
