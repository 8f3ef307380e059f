//! What one method does to what is running, block by block.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{MAX_BLOCKS, Orders, Starts};
use crate::class::MethodId;
use crate::outline::{Action, EventId, Outline, Successor};
use crate::thread::bits::Bits;
use crate::thread::join::Join;
use crate::thread::lift;
use crate::thread::reach::Graph;
use crate::thread::task::{At, Finder};

/// What an event does to what is running.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Start(Bits),
    /// What a function starts each time that it runs, and leaves.
    Again(Bits),
    Join(Bits),
    Call(Vec<MethodId>),
    /// A function that may run here, any number of times; whether it surely does.
    Lambda(MethodId, bool),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Method {
    /// By block: events that matter, in order.
    pub(super) blocks: Vec<Vec<(EventId, Act)>>,
    /// By block: all calls, and what they may run.
    pub(super) calls: Vec<Vec<(EventId, Vec<MethodId>)>>,
    /// What is over when a block, the head of a loop that joins, is reached.
    pub(super) over_at: Vec<(usize, Bits)>,
    /// What is over when control goes from the one block to the other.
    pub(super) over_on: Vec<((usize, usize), Bits)>,
    /// What a call may leave running, but for what is told again where it is called.
    pub(super) leaves: Bits,
    /// What is told again.
    pub(super) leaves_again: Bits,
    /// What a call surely waits for.
    pub(super) ends: Bits,
}

impl Method {
    /// What is over when control goes on from a block.
    fn over_on(&self, block: usize, next: Successor) -> impl Iterator<Item = &Bits> {
        let is_way = move |way: (usize, usize)| !next.is_exceptional && way == (block, next.block);
        self.over_on.iter().filter(move |(way, _)| is_way(*way)).map(|(_, over)| over)
    }
}

/// Numbers of the sites and joins of one method.
#[derive(Clone, Default)]
pub(super) struct Here {
    pub(super) starts: Vec<usize>,
    pub(super) joins: Vec<usize>,
}

impl Orders {
    #[allow(clippy::too_many_arguments, reason = "one place puts all together")]
    pub(super) fn acts(
        &mut self,
        finder: &Finder<'_>,
        graph: &Graph,
        starts: &Starts<'_>,
        launched: &[Bits],
        method: MethodId,
        outline: &Outline,
        here: &Here,
        relevant: &FxHashSet<MethodId>,
    ) -> Method {
        let mut made = Method {
            blocks: vec![Vec::new(); outline.blocks.len()],
            calls: vec![Vec::new(); outline.blocks.len()],
            ..Method::default()
        };
        let mut block_of_site: FxHashMap<usize, usize> = FxHashMap::default();
        for site in here.starts.iter().copied() {
            let start = &starts.sites.starts[site];
            block_of_site.insert(site, outline.events[start.at.event.index()].block as usize);
        }
        let add = |made: &mut Method, event: EventId, act: Act| {
            let block = outline.events[event.index()].block as usize;
            made.blocks[block].push((event, act));
        };
        // What a call waits for comes before what it leaves running.
        let of_callees = self.joins_of_callees(finder, graph, method, outline);
        for join in here.joins.iter().map(|join| &starts.sites.joins[*join]).chain(&of_callees) {
            let over = self.joined(starts, launched, outline, &block_of_site, join, &mut made);
            if !over.is_empty() {
                add(&mut made, join.at.event, Act::Join(over));
            }
        }
        for site in here.starts.iter().copied() {
            let start = &starts.sites.starts[site];
            let is_left = |first: usize| {
                self.methods.get(&self.sites[first].method).is_none_or(|callee| callee.leaves_again.contains(first))
            };
            if !starts.stands_for[site].is_none_or(is_left) {
                continue;
            }
            let mut bits = Bits::default();
            if !start.is_scoped {
                bits.insert(site);
            }
            for entry in &starts.entries_of[site] {
                bits.add(&launched[entry.index()]);
            }
            let ever: Vec<usize> = bits.iter().chain([site]).map(|site| site + self.count).collect();
            ever.into_iter().for_each(|site| bits.insert(site));
            let is_again = matches!(outline.events[start.at.event.index()].action, Action::Lambda { .. });
            add(&mut made, start.at.event, if is_again { Act::Again(bits) } else { Act::Start(bits) });
        }
        for (index, event) in outline.events.iter().enumerate() {
            let id = EventId(index as u32);
            // A function that is only made to be started does not run here.
            let at = At { method, event: id };
            if starts.lambdas.contains(&at) && finder.runner(at).is_none() {
                continue;
            }
            let all = called(finder, graph, method, &event.action);
            if all.is_empty() {
                continue;
            }
            let matter: Vec<MethodId> = all.iter().copied().filter(|callee| relevant.contains(callee)).collect();
            made.calls[event.block as usize].push((id, all));
            if matter.is_empty() {
                continue;
            }
            match &event.action {
                Action::Lambda { .. } => {
                    let is_run = finder.runner(at).is_some();
                    matter.into_iter().for_each(|callee| add(&mut made, id, Act::Lambda(callee, is_run)));
                }
                _ => add(&mut made, id, Act::Call(matter)),
            }
        }
        for block in &mut made.blocks {
            block.sort_by_key(|(event, _)| *event);
        }
        made
    }

    /// What is over when a join has returned. Where that is where a loop ends, or on one way of a branch, it is told there.
    fn joined(
        &mut self,
        starts: &Starts<'_>,
        launched: &[Bits],
        outline: &Outline,
        block_of_site: &FxHashMap<usize, usize>,
        join: &Join,
        made: &mut Method,
    ) -> Bits {
        let block = outline.events[join.at.event.index()].block as usize;
        let mut over = Bits::default();
        let mut end = |ended: Bits, outer: Option<usize>| {
            let head = match (join.of_each, join.on_way) {
                (Some(taken), _) => outline.blocks.loop_head(&[taken, block], outer),
                (None, None) if join.in_loop => outline.blocks.loop_head(&[block], outer),
                (None, _) => None,
            };
            match (head, join.on_way) {
                (Some(head), _) => made.over_at.push((head, ended)),
                (None, Some(way)) => made.over_on.push((way, ended)),
                (None, None) => {
                    over.add(&ended);
                }
            }
        };
        for (site, start) in starts.sites.starts.iter().enumerate() {
            if !join.is_of(start) {
                continue;
            }
            let mut ended = Bits::default();
            ended.insert(site);
            // What the joined thread started is over if nobody else starts it and it joined it itself.
            for entry in &starts.entries_of[site] {
                let left = starts.entries[entry.index()].method.and_then(|run| self.methods.get(&run));
                let inner = launched[entry.index()].iter().filter(|inner| {
                    starts.rows.of(self.sites[*inner].method) == [*entry]
                        && left.is_none_or(|left| !left.leaves.contains(*inner))
                });
                inner.for_each(|inner| ended.insert(inner));
            }
            end(ended, block_of_site.get(&site).copied());
        }
        for handle in join.handles.iter().filter(|handle| handle.parameter(join.at.method).is_some()) {
            if join.is_of_one(handle) || join.is_of_all() {
                let awaited = (handle.clone(), join.is_executor);
                let number = self.awaited.iter().position(|known| *known == awaited).unwrap_or_else(|| {
                    self.awaited.push(awaited);
                    self.awaited.len() - 1
                });
                let mut ended = Bits::default();
                ended.insert(2 * self.count + number);
                end(ended, None);
            }
        }
        over
    }

    /// What calls wait for, since what they call does.
    fn joins_of_callees(&self, finder: &Finder<'_>, graph: &Graph, method: MethodId, outline: &Outline) -> Vec<Join> {
        let mut joins = Vec::new();
        for (index, event) in outline.events.iter().enumerate() {
            let at = At { method, event: EventId(index as u32) };
            if matches!(event.action, Action::Lambda { .. }) && finder.runner(at).is_none() {
                continue;
            }
            let [callee] = called(finder, graph, method, &event.action)[..] else { continue };
            let Some(ends) = self.methods.get(&callee).map(|callee| &callee.ends) else { continue };
            for (handle, is_executor) in
                ends.iter().filter_map(|number| self.awaited.get(number.checked_sub(2 * self.count)?))
            {
                joins.extend(lift::join_at(finder, at, event, callee, handle, *is_executor));
            }
        }
        joins
    }

    /// What a call of the method leaves running, and what it surely waits for.
    pub(super) fn summarise(&mut self, finder: &Finder<'_>, method: MethodId) {
        let (Some(outline), Some(own)) = (finder.outline(method), self.methods.get(&method)) else { return };
        let states = self.states(outline, own, Bits::default());
        let mut leaves = Bits::default();
        for (block, state) in states.into_iter().enumerate() {
            if outline.blocks.successors(block).all(|next| next.is_exceptional)
                && let Some(mut state) = state
            {
                own.blocks[block].iter().for_each(|(_, act)| self.act(act, &mut state));
                leaves.add(&state);
            }
        }
        let ends = self.surely_ended(outline, own);
        let mut again = Bits::default();
        leaves.iter().filter(|site| self.is_told_again.get(*site) == Some(&true)).for_each(|site| again.insert(site));
        leaves.remove(&again);
        if let Some(own) = self.methods.get_mut(&method) {
            own.leaves_again = again;
            own.leaves = leaves.trimmed();
            own.ends = ends;
        }
    }

    pub(super) fn act(&self, act: &Act, state: &mut Bits) {
        match act {
            Act::Start(bits) | Act::Again(bits) => {
                state.add(bits);
            }
            Act::Join(over) => state.remove(over),
            Act::Call(callees) => {
                let mut ended: Option<Bits> = None;
                for callee in callees.iter().filter_map(|callee| self.methods.get(callee)) {
                    match &mut ended {
                        Some(ended) => ended.keep(&callee.ends),
                        None => ended = Some(callee.ends.clone()),
                    }
                }
                if let Some(ended) = ended {
                    state.remove(&ended);
                }
                for callee in callees.iter().filter_map(|callee| self.methods.get(callee)) {
                    state.add(&callee.leaves);
                }
            }
            Act::Lambda(body, is_run) => {
                if let Some(body) = self.methods.get(body) {
                    if *is_run {
                        state.remove(&body.ends);
                    }
                    state.add(&body.leaves);
                }
            }
        }
    }

    /// By block: what may be running where it begins; none if control does not come there.
    pub(super) fn states(&self, outline: &Outline, own: &Method, at_entry: Bits) -> Vec<Option<Bits>> {
        let mut states: Vec<Option<Bits>> = vec![None; outline.blocks.len()];
        if states.is_empty() {
            return states;
        }
        states[0] = Some(at_entry);
        self.end_loops(own, 0, &mut states);
        let mut pending: Vec<usize> = vec![0];
        while let Some(block) = pending.pop() {
            let Some(before) = states[block].clone() else { continue };
            let mut after = before.clone();
            own.blocks[block].iter().for_each(|(_, act)| self.act(act, &mut after));
            // An exception may come before a start, and after it; a join that throws has ended.
            let mut thrown = before;
            for (_, act) in &own.blocks[block] {
                match act {
                    Act::Start(bits) | Act::Again(bits) => {
                        thrown.add(bits);
                    }
                    Act::Call(_) | Act::Lambda(..) => self.act(act, &mut thrown),
                    Act::Join(over) => thrown.remove(over),
                }
            }
            for next in outline.blocks.successors(block) {
                let mut from = if next.is_exceptional { thrown.clone() } else { after.clone() };
                own.over_on(block, next).for_each(|over| from.remove(over));
                let known = states[next.block].clone();
                match &mut states[next.block] {
                    Some(state) => {
                        state.add(&from);
                    }
                    empty => *empty = Some(from),
                }
                self.end_loops(own, next.block, &mut states);
                if known != states[next.block] {
                    pending.push(next.block);
                }
            }
        }
        states
    }

    fn end_loops(&self, own: &Method, block: usize, states: &mut [Option<Bits>]) {
        for (_, over) in own.over_at.iter().filter(|(head, _)| *head == block) {
            if let Some(state) = &mut states[block] {
                state.remove(over);
            }
        }
    }

    /// What is waited for on every way through the method that does not throw.
    fn surely_ended(&self, outline: &Outline, own: &Method) -> Bits {
        let mut states: Vec<Option<Bits>> = vec![None; outline.blocks.len()];
        let mut pending = Vec::new();
        if let Some(first) = states.first_mut() {
            *first = Some(Bits::default());
            pending.push(0);
        }
        let mut at_end: Option<Bits> = None;
        let mut steps = 0;
        while let Some(block) = pending.pop() {
            steps += 1;
            if steps > 20 * MAX_BLOCKS {
                return Bits::default();
            }
            let Some(mut state) = states[block].clone() else { continue };
            for (_, over) in own.over_at.iter().filter(|(head, _)| *head == block) {
                state.add(over);
            }
            for (_, act) in &own.blocks[block] {
                match act {
                    Act::Start(bits) | Act::Again(bits) => state.remove(bits),
                    Act::Join(over) => {
                        state.add(over);
                    }
                    Act::Call(callees) => {
                        if let [callee] = callees.as_slice()
                            && let Some(callee) = self.methods.get(callee)
                        {
                            state.remove(&callee.leaves);
                            state.add(&callee.ends);
                        }
                    }
                    Act::Lambda(body, is_run) => {
                        if let Some(body) = self.methods.get(body).filter(|_| *is_run) {
                            state.remove(&body.leaves);
                            state.add(&body.ends);
                        }
                    }
                }
            }
            let mut is_end = true;
            for next in outline.blocks.successors(block).filter(|next| !next.is_exceptional) {
                is_end = false;
                let mut state = state.clone();
                own.over_on(block, next).for_each(|over| {
                    state.add(over);
                });
                let known = states[next.block].clone();
                match &mut states[next.block] {
                    Some(kept) => kept.keep(&state),
                    empty => *empty = Some(state),
                }
                if known != states[next.block] {
                    pending.push(next.block);
                }
            }
            if is_end {
                match &mut at_end {
                    Some(kept) => kept.keep(&state),
                    empty => *empty = Some(state),
                }
            }
        }
        at_end.unwrap_or_default().trimmed()
    }
}

/// The methods that an event calls, of those that its method is known to call.
fn called(finder: &Finder<'_>, graph: &Graph, method: MethodId, action: &Action) -> Vec<MethodId> {
    let (name, is_exact) = match action {
        Action::Call { kind, method, .. } => {
            (*method, matches!(kind, classfile::CallKind::Static | classfile::CallKind::Special))
        }
        Action::Lambda { method, .. } => (*method, true),
        _ => return Vec::new(),
    };
    let exact = if is_exact { finder.calls.hierarchy.resolve_name(finder.program, name) } else { None };
    let fits = |callee: &MethodId| {
        if is_exact {
            return Some(*callee) == exact;
        }
        let found = finder.program.method_name(*callee);
        found.name == name.name
            && found.descriptor == name.descriptor
            && (finder.program.is_subtype(found.class, name.class)
                || finder.program.is_subtype(name.class, found.class))
    };
    graph.callees(method).iter().copied().filter(|callee| graph.is_method(*callee)).filter(fits).collect()
}
