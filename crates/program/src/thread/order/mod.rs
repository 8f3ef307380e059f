//! What may be running at an event: what a process has started and not yet waited for.
//!
//! Forward over the blocks of the methods that start and join, bottom-up for what a call leaves behind, and top-down
//! from each entry that runs once for what is there when a method begins. An exception out of a join counts as its
//! end; so does the end of a loop that joins.

mod flow;

use rustc_hash::{FxHashMap, FxHashSet};

use flow::{Act, Here, Method};

use super::bits::Bits;
use super::handle::Handle;
use super::lift::MAX_SITES;
use super::reach::{Graph, Rows};
use super::site::{Site, Sites};
use super::task::{At, Finder};
use super::{Entry, EntryId, EntryKind, Ordered};
use crate::class::MethodId;
use crate::model::Times;
use crate::outlines::Outlines;
use crate::summary::Components;

/// More blocks than this are not looked through.
const MAX_BLOCKS: usize = 2_000;
/// More processes that start others than this are not followed.
const MAX_PROCESSES: usize = 64;
/// Rounds within methods that call each other.
const ROUNDS: usize = 3;

pub(super) struct Starts<'s> {
    pub(super) sites: &'s Sites,
    pub(super) entries_of: &'s [Vec<EntryId>],
    pub(super) entries: &'s [Entry],
    pub(super) rows: &'s Rows,
    /// Where functions are made that are started.
    pub(super) lambdas: &'s FxHashSet<At>,
    /// Entries whose processes are started several times, each when the one before is over.
    pub(super) in_turn: &'s [EntryId],
    /// By site: the one that it is told again for, at a call of the method of that one.
    pub(super) stands_for: &'s [Option<usize>],
}

/// What may be running when a process comes to a method.
struct Process {
    at_entry: FxHashMap<MethodId, Bits>,
    /// Entries that only this process leads to.
    started: Vec<EntryId>,
    /// By site: what may be running just before it, if this process comes there.
    before: Vec<Option<Bits>>,
}

/// An entry that runs once and starts others.
struct Leading {
    entry: EntryId,
    method: MethodId,
    /// Entries that only this one leads to.
    started: Vec<EntryId>,
}

/// Which entries start which.
struct Leads {
    /// By entry: those that it starts, in order.
    to: Vec<Vec<usize>>,
    /// By entry: those that start it.
    by: Vec<Vec<usize>>,
}

impl Leads {
    fn of(starts: &Starts<'_>, sites: &[At]) -> Leads {
        let count = starts.entries.len();
        let mut leads = Leads { to: vec![Vec::new(); count], by: vec![Vec::new(); count] };
        for (started, at) in starts.entries_of.iter().zip(sites) {
            for owner in starts.rows.of(at.method) {
                for entry in started {
                    leads.to[owner.index()].push(entry.index());
                }
            }
        }
        for (entry, to) in leads.to.iter_mut().enumerate() {
            to.sort_unstable();
            to.dedup();
            to.iter().for_each(|started| leads.by[*started].push(entry));
        }
        leads
    }
}

/// By entry: whether some of `from` come there by what `next` has for each, on a way around `barrier`.
fn spread(next: &[Vec<usize>], from: Vec<usize>, barrier: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    let mut pending = from;
    while let Some(entry) = pending.pop() {
        if Some(entry) != barrier && !std::mem::replace(&mut seen[entry], true) {
            pending.extend(next[entry].iter().copied());
        }
    }
    seen
}

#[derive(Default)]
pub(super) struct Orders {
    /// Sites by number: running sites come first, then those that were ever started.
    count: usize,
    sites: Vec<At>,
    /// By site: whether one call starts several tasks there.
    is_of_many: Vec<bool>,
    /// By entry.
    sites_of: Vec<Vec<usize>>,
    is_scoped: Vec<bool>,
    /// By site: those that are over when what is started here begins.
    after: Vec<Bits>,
    /// By site: whether it is also reached by a call with many targets, which is not followed here.
    is_hidden: Vec<bool>,
    /// By site: whether it is told again at each call of its method.
    is_told_again: Vec<bool>,
    /// What methods wait for that they are given, or that they find there; numbered after the sites. Whether these are
    /// executors.
    awaited: Vec<(Handle, bool)>,
    methods: FxHashMap<MethodId, Method>,
    processes: Vec<Process>,
    by_entry: FxHashMap<EntryId, usize>,
}

impl Orders {
    pub(super) fn of(finder: &Finder<'_>, graph: &Graph, components: &Components, starts: &Starts<'_>) -> Orders {
        let count = starts.sites.starts.len();
        if count == 0 || count > MAX_SITES {
            return Orders::default();
        }
        let hidden = graph.hidden();
        let mut orders = Orders {
            count,
            sites: starts.sites.starts.iter().map(|site| site.at).collect(),
            is_of_many: starts.sites.starts.iter().map(|site| site.times == Times::ManyAtOnce).collect(),
            sites_of: vec![Vec::new(); starts.entries.len()],
            is_scoped: starts.sites.starts.iter().map(|site| site.is_scoped).collect(),
            after: starts.sites.starts.iter().map(|site| ended_before(site, starts.sites)).collect(),
            is_hidden: starts.sites.starts.iter().map(|site| hidden[site.at.method.index()]).collect(),
            is_told_again: vec![false; count],
            ..Orders::default()
        };
        for site in starts.stands_for.iter().flatten() {
            orders.is_told_again[*site] = true;
        }
        for (site, entries) in starts.entries_of.iter().enumerate() {
            for entry in entries {
                orders.sites_of[entry.index()].push(site);
            }
        }
        let leading = orders.leading(starts);
        if leading.is_empty() {
            return orders;
        }
        let launched = orders.launched(starts);
        let mut relevant = relevant(finder, starts);
        // Nothing is asked of methods that only others run.
        let is_led = |entry: &EntryId| leading.iter().any(|leading| leading.entry == *entry);
        relevant.retain(|method| starts.rows.of(*method).iter().any(is_led));
        let mut in_order: Vec<MethodId> = relevant.iter().copied().collect();
        in_order.sort_unstable();
        finder.outlines.make(&in_order);
        let mut at_method: FxHashMap<MethodId, Here> = FxHashMap::default();
        for (index, site) in starts.sites.starts.iter().enumerate() {
            at_method.entry(site.at.method).or_default().starts.push(index);
        }
        for (index, join) in starts.sites.joins.iter().enumerate() {
            at_method.entry(join.at.method).or_default().joins.push(index);
        }
        for component in components.iter() {
            let members: Vec<MethodId> = component.iter().copied().filter(|method| relevant.contains(method)).collect();
            for method in &members {
                if let Some(outline) = finder.outline(*method).filter(|outline| outline.blocks.len() <= MAX_BLOCKS) {
                    let here = at_method.get(method).cloned().unwrap_or_default();
                    let made = orders.acts(finder, graph, starts, &launched, *method, outline, &here, &relevant);
                    orders.methods.insert(*method, made);
                }
            }
            for _ in 0..if members.len() > 1 { ROUNDS } else { 1 } {
                for method in &members {
                    orders.summarise(finder, *method);
                }
            }
        }
        orders.processes(finder, graph, components, starts, leading);
        orders
    }

    /// By entry: all sites that its processes may come to start, and those that they start in turn.
    fn launched(&self, starts: &Starts<'_>) -> Vec<Bits> {
        let mut launched = vec![Bits::default(); starts.entries.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (site, at) in self.sites.iter().enumerate() {
                let mut further = Bits::default();
                further.insert(site);
                for entry in &starts.entries_of[site] {
                    further.add(&launched[entry.index()]);
                }
                for owner in starts.rows.of(at.method) {
                    changed |= launched[owner.index()].add(&further);
                }
            }
        }
        launched
    }

    /// The entries that run once and start others.
    fn leading(&self, starts: &Starts<'_>) -> Vec<Leading> {
        let mut leading = Vec::new();
        let leads = Leads::of(starts, &self.sites);
        for (index, entry) in starts.entries.iter().enumerate() {
            let id = EntryId(index as u32);
            let starts_some = self.sites.iter().any(|at| starts.rows.reaches(id, at.method));
            let Some(method) = entry.method.filter(|_| entry.many.is_none() && starts_some) else { continue };
            if leading.len() == MAX_PROCESSES {
                break;
            }
            let started = self.only_from(starts, &leads, id);
            if !started.is_empty() {
                leading.push(Leading { entry: id, method, started });
            }
        }
        leading
    }

    fn processes(
        &mut self,
        finder: &Finder<'_>,
        graph: &Graph,
        components: &Components,
        starts: &Starts<'_>,
        leading: Vec<Leading>,
    ) {
        for Leading { entry, method, started } in leading {
            // What an earlier one has left running, nobody waits for.
            let is_left = |method: &Method| method.leaves.iter().any(|site| site < self.count);
            if starts.in_turn.contains(&entry) && self.methods.get(&method).is_none_or(is_left) {
                continue;
            }
            let at_entry = self.top_down(finder, graph, components, starts, entry, method);
            let mut process = Process { at_entry, started, before: Vec::new() };
            process.before = self.sites.iter().map(|at| self.state_at(finder.outlines, &process, *at)).collect();
            self.by_entry.insert(entry, self.processes.len());
            self.processes.push(process);
        }
    }

    /// Entries that are started by this one, or by what it starts, and by nothing else.
    fn only_from(&self, starts: &Starts<'_>, leads: &Leads, process: EntryId) -> Vec<EntryId> {
        let count = starts.entries.len();
        let own = process.index();
        let from_here = spread(&leads.to, leads.to[own].clone(), None);
        // Of several programs, only the one that leads here runs at the time.
        let leads_here = spread(&leads.by, leads.by[own].clone(), None);
        let is_of_other_run = |entry: usize| starts.entries[entry].kind == EntryKind::Main && !leads_here[entry];
        let is_started = |entry: usize| !leads.by[entry].is_empty();
        let others = (0..count).filter(|entry| *entry != own && !is_started(*entry) && !is_of_other_run(*entry));
        let from_others = spread(&leads.to, others.collect(), Some(own));
        (0..count)
            .filter(|entry| from_here[*entry] && !from_others[*entry] && *entry != own)
            .filter(|entry| !self.sites_of[*entry].iter().any(|site| self.is_hidden[*site]))
            .map(|entry| EntryId(entry as u32))
            .collect()
    }

    fn top_down(
        &self,
        finder: &Finder<'_>,
        graph: &Graph,
        components: &Components,
        starts: &Starts<'_>,
        process: EntryId,
        method: MethodId,
    ) -> FxHashMap<MethodId, Bits> {
        let mut at_entry: FxHashMap<MethodId, Bits> = FxHashMap::default();
        at_entry.insert(method, Bits::default());
        for component in components.iter().rev() {
            if !starts.rows.reaches(process, component[0]) {
                continue;
            }
            let mut changed = true;
            while changed {
                changed = false;
                for method in component {
                    let Some(state) = at_entry.get(method).cloned() else { continue };
                    self.descend(finder, graph, *method, state, &mut |callee, state| {
                        let is_new = !at_entry.contains_key(&callee);
                        let is_more = at_entry.entry(callee).or_default().add(state) || is_new;
                        changed |= is_more && component.binary_search(&callee).is_ok();
                    });
                }
            }
        }
        at_entry
    }

    /// Tells each method that is called, and what may be running then.
    fn descend(
        &self,
        finder: &Finder<'_>,
        graph: &Graph,
        method: MethodId,
        state: Bits,
        tell: &mut dyn FnMut(MethodId, &Bits),
    ) {
        let (Some(outline), Some(own)) = (finder.outline(method), self.methods.get(&method)) else {
            return graph.callees(method).iter().for_each(|callee| tell(*callee, &state));
        };
        let states = self.states(outline, own, state);
        let mut all = Bits::default();
        let mut told: FxHashSet<MethodId> = FxHashSet::default();
        for (block, calls) in own.calls.iter().enumerate() {
            let Some(mut state) = states[block].clone() else { continue };
            let mut acts = own.blocks[block].iter().peekable();
            for (event, callees) in calls {
                while let Some((_, act)) = acts.next_if(|(at, _)| at < event) {
                    self.act(act, &mut state);
                }
                let mut before = state.clone();
                for (_, act) in own.blocks[block].iter().filter(|(at, _)| at == event) {
                    // A function that runs again sees what it left itself.
                    if let Act::Lambda(..) | Act::Again(_) = act {
                        self.act(act, &mut before);
                    }
                }
                for callee in callees {
                    told.insert(*callee);
                    tell(*callee, &before);
                }
            }
            acts.for_each(|(_, act)| self.act(act, &mut state));
            all.add(&state);
            all.add(states[block].as_ref().unwrap_or(&state));
        }
        for callee in graph.callees(method).iter().filter(|callee| !told.contains(callee)) {
            tell(*callee, &all);
        }
    }

    /// What may be running just before an event.
    fn state_at(&self, outlines: Outlines<'_>, process: &Process, at: At) -> Option<Bits> {
        let entry = process.at_entry.get(&at.method)?;
        let outline = outlines.get(at.method)?;
        let Some(own) = self.methods.get(&at.method) else { return Some(entry.clone()) };
        let block = outline.events.get(at.event.index())?.block as usize;
        let mut state = self.states(outline, own, entry.clone())[block].clone()?;
        own.blocks[block]
            .iter()
            .take_while(|(event, _)| *event < at.event)
            .for_each(|(_, act)| self.act(act, &mut state));
        Some(state)
    }

    pub(super) fn ordered(&self, outlines: Outlines<'_>, process: EntryId, at: At, other: EntryId) -> Option<Ordered> {
        let process = &self.processes[*self.by_entry.get(&process)?];
        if !process.started.contains(&other) {
            return None;
        }
        let state = self.state_at(outlines, process, at)?;
        let sites = &self.sites_of[other.index()];
        if sites.iter().any(|site| state.contains(*site)) {
            None
        } else if sites.iter().any(|site| state.contains(site + self.count)) {
            Some(Ordered::AfterJoin)
        } else {
            Some(Ordered::BeforeStart)
        }
    }

    /// Whether what is started at one place may still be running when its only process comes to start something at another.
    pub(super) fn may_still_run(&self, rows: &Rows, started: At, starting: At) -> bool {
        let number = |at: At| self.sites.iter().position(|site| *site == at);
        let (Some(started), Some(next)) = (number(started), number(starting)) else { return false };
        let [process] = rows.of(starting.method) else { return false };
        let process = self.by_entry.get(process).map(|index| &self.processes[*index]);
        process.is_some_and(|process| process.before[next].as_ref().is_some_and(|state| state.contains(started)))
    }

    /// Whether processes of two entries never run at the same time, since one is waited for before the other starts;
    /// with one entry twice, whether one of its processes is over before the next starts.
    pub(super) fn are_apart(&self, rows: &Rows, entries: &[Entry], first: EntryId, second: EntryId) -> bool {
        let sites = |entry: EntryId| self.sites_of.get(entry.index()).map_or(&[][..], Vec::as_slice);
        for (waiting, other) in [(first, second), (second, first)] {
            let is_waited_for = |site: &usize| self.is_scoped[*site] && rows.of(self.sites[*site].method) == [waiting];
            if entries[waiting.index()].many.is_none()
                && !sites(other).is_empty()
                && sites(other).iter().all(is_waited_for)
            {
                return true;
            }
        }
        let all = || sites(first).iter().chain(sites(second));
        if all().any(|site| self.is_hidden[*site]) {
            return false;
        }
        let Some([process]) = all().next().map(|site| rows.of(self.sites[*site].method)) else { return false };
        let Some(process) = self.by_entry.get(process).map(|index| (&self.processes[*index], *process)) else {
            return false;
        };
        if sites(first).is_empty()
            || sites(second).is_empty()
            || !all().all(|site| rows.of(self.sites[*site].method) == [process.1])
        {
            return false;
        }
        // Before a call that starts both, neither runs.
        let is_with = |one: usize, other: usize| self.is_of_many[one] && self.sites[one] == self.sites[other];
        let is_free = |started: &[usize], running: &[usize]| {
            started.iter().all(|site| {
                let before = process.0.before[*site].as_ref();
                let is_running = |other: &usize| {
                    let is_over = self.after[*site].contains(*other);
                    before.is_some_and(|state| state.contains(*other) && !is_over) || is_with(*site, *other)
                };
                before.is_some() && !running.iter().any(is_running)
            })
        };
        is_free(sites(first), sites(second)) && is_free(sites(second), sites(first))
    }

    pub(super) fn started_by(&self, process: EntryId) -> &[EntryId] {
        self.by_entry.get(&process).map_or(&[], |index| &self.processes[*index].started)
    }
}

/// The sites that what is started at one waits for.
fn ended_before(site: &Site, sites: &Sites) -> Bits {
    let mut ended = Bits::default();
    if let Some(after) = &site.after {
        let over = sites.starts.iter().enumerate().filter(|(_, start)| after.is_of(start));
        over.for_each(|(index, _)| ended.insert(index));
    }
    ended
}

/// Methods that start or join, and those that call them.
fn relevant(finder: &Finder<'_>, starts: &Starts<'_>) -> FxHashSet<MethodId> {
    let sites = starts.sites.starts.iter().map(|site| site.at.method);
    let mut pending: Vec<MethodId> = sites.chain(starts.sites.joins.iter().map(|join| join.at.method)).collect();
    let mut relevant = FxHashSet::default();
    while let Some(method) = pending.pop() {
        if relevant.insert(method) {
            pending.extend(finder.calls.callers(method));
        }
    }
    relevant
}
