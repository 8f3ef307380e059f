//! The paper's abstraction: views by process, one object per class, nothing refined. With it, view consistency, the
//! older property that does not tell reads from writes.

use program::outline::SectionSet;
use program::summary::{AccessId, Influence, Root, Summary};
use program::thread::EntryId;
use program::{LockKind, MethodId, Variable, Whole};
use rustc_hash::FxHashSet;

use super::chain::{Set, difference, maximal, set, torn};
use super::rules::Kind;
use super::views::own;

/// What one section touches.
pub(crate) struct View {
    pub(crate) method: MethodId,
    /// Its number in the method's summary.
    pub(crate) section: usize,
    reads: Set<Variable>,
    writes: Set<Variable>,
}

/// Two sections of one process that tear apart what a section of another has as a whole. Views by number.
pub(crate) struct Race {
    pub(crate) kind: Kind,
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) other: usize,
    /// One that the first has and the second has not, and the other way around.
    pub(crate) variables: [Variable; 2],
}

/// What was read in one section is written, or decides what is written, in another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Escape {
    pub(super) method: MethodId,
    pub(super) read: AccessId,
    pub(super) write: AccessId,
    pub(super) first: usize,
    pub(super) second: usize,
}

/// The views of all sections, in the order of methods.
pub(crate) fn views(whole: &Whole<'_>) -> Vec<View> {
    let mut views = Vec::new();
    for method in whole.program.methods() {
        let Some(summary) = whole.summaries.summary(method) else { continue };
        let name = whole.program.method_name(method);
        for (number, section) in summary.sections.iter().enumerate() {
            if section.spot.method != name {
                continue;
            }
            let touched = |is_write: bool| {
                let inside = summary.accesses.iter().filter(|access| access.held.contains(number));
                let wanted = inside.filter(|access| access.is_write == is_write);
                set(wanted.filter_map(|access| own(whole, access)))
            };
            let (reads, writes) = (touched(false), touched(true));
            if !reads.is_empty() || !writes.is_empty() {
                views.push(View { method, section: number, reads, writes });
            }
        }
    }
    views
}

/// High-level data races as the paper defines them.
pub(super) fn races(whole: &Whole<'_>, views: &[View]) -> Vec<Race> {
    let correlations = Correlations::of(whole);
    let mut found = Vec::new();
    for_each_pair(whole, views, |ours, theirs| {
        let sets = |of: &[usize], is_write: bool| -> Vec<Set<Variable>> {
            of.iter()
                .map(|view| if is_write { views[*view].writes.clone() } else { views[*view].reads.clone() })
                .collect()
        };
        for kind in [Kind::Read, Kind::Write] {
            let is_write = kind == Kind::Write;
            let (wholes, pieces) = (sets(ours, !is_write), sets(theirs, is_write));
            for largest in maximal(&wholes) {
                for (first, second) in torn(&wholes[largest], &pieces) {
                    let apart = |a: usize, b: usize| {
                        let mut own = difference(&pieces[a], &pieces[b]);
                        own.retain(|variable| wholes[largest].binary_search(variable).is_ok());
                        own
                    };
                    let (xs, ys) = (apart(first, second), apart(second, first));
                    let mut pairs = xs.iter().flat_map(|x| ys.iter().map(move |y| [*x, *y]));
                    let variables = pairs.find(|[x, y]| is_write || correlations.meet(whole, *x, *y));
                    if let Some(variables) = variables {
                        found.push(Race {
                            kind,
                            first: theirs[first],
                            second: theirs[second],
                            other: ours[largest],
                            variables,
                        });
                    }
                }
            }
        }
    });
    once(found)
}

/// Violations of view consistency: reads and writes alike, whatever comes of the values.
pub(crate) fn inconsistencies(whole: &Whole<'_>, views: &[View]) -> Vec<Race> {
    let mut found = Vec::new();
    let all = |view: &View| set(view.reads.iter().chain(&view.writes).copied());
    for_each_pair(whole, views, |ours, theirs| {
        let sets = |of: &[usize]| of.iter().map(|view| all(&views[*view])).collect::<Vec<Set<Variable>>>();
        let (wholes, pieces) = (sets(ours), sets(theirs));
        for largest in maximal(&wholes) {
            for (first, second) in torn(&wholes[largest], &pieces) {
                let one = |a: usize, b: usize| {
                    let own = difference(&pieces[a], &pieces[b]);
                    own.into_iter().find(|variable| wholes[largest].binary_search(variable).is_ok())
                };
                let (Some(x), Some(y)) = (one(first, second), one(second, first)) else { continue };
                let writes = |view: usize, variable: Variable| views[view].writes.contains(&variable);
                let is_write = writes(theirs[first], x) || writes(theirs[second], y);
                let kind = if is_write { Kind::Write } else { Kind::Read };
                let (first, second, other) = (theirs[first], theirs[second], ours[largest]);
                found.push(Race { kind, first, second, other, variables: [x, y] });
            }
        }
    });
    once(found)
}

/// Each pair of sections once.
fn once(mut found: Vec<Race>) -> Vec<Race> {
    found.sort_by_key(|race| (race.first, race.second, race.kind, race.other));
    found.dedup_by_key(|race| (race.first, race.second, race.kind));
    found
}

/// Calls `visit` with the views of every two processes that run at the same time, both ways around.
fn for_each_pair(whole: &Whole<'_>, views: &[View], mut visit: impl FnMut(&[usize], &[usize])) {
    let threads = whole.threads();
    let mut by_process: Vec<Vec<usize>> = vec![Vec::new(); threads.entries().len()];
    for (index, view) in views.iter().enumerate() {
        for entry in threads.of_method(view.method) {
            by_process[entry.index()].push(index);
        }
    }
    for (first, ours) in by_process.iter().enumerate() {
        for (second, theirs) in by_process.iter().enumerate() {
            let is_pair = threads.overlap(EntryId(first as u32), EntryId(second as u32));
            if is_pair && !ours.is_empty() && theirs.len() > 1 {
                visit(ours, theirs);
            }
        }
    }
}

/// Which variables some value depends on together.
struct Correlations {
    pairs: FxHashSet<(Variable, Variable)>,
}

impl Correlations {
    fn of(whole: &Whole<'_>) -> Correlations {
        let mut pairs = FxHashSet::default();
        for method in whole.program.methods() {
            let Some(summary) = whole.summaries.summary(method) else { continue };
            let variables = |influences: &mut dyn Iterator<Item = &Influence>| {
                set(influences.filter_map(|influence| match influence.root {
                    Root::Access(access) => Variable::of(whole.program, &summary.accesses[access.index()]),
                    Root::Parameter(_) => None,
                }))
            };
            let mut add = |variables: &[Variable], but: Option<Variable>| {
                for x in variables {
                    for y in variables {
                        if x != y && Some(*x) != but && Some(*y) != but {
                            pairs.insert((*x, *y));
                        }
                    }
                }
            };
            for access in summary.accesses.iter().filter(|access| access.is_write) {
                let reached = variables(&mut access.value.iter().chain(&access.control));
                add(&reached, Variable::of(whole.program, access));
            }
            add(&variables(&mut summary.result.iter()), None);
        }
        Correlations { pairs }
    }

    /// Whether both reach one written variable, result or local.
    fn meet(&self, whole: &Whole<'_>, x: Variable, y: Variable) -> bool {
        self.pairs.contains(&(x, y))
            || whole.program.methods().any(|method| {
                let Some(summary) = whole.summaries.summary(method) else { return false };
                let reads = |variable: Variable| -> Vec<AccessId> {
                    let accesses = summary.accesses.iter().enumerate();
                    let own = accesses.filter(|(_, access)| {
                        !access.is_write && Variable::of(whole.program, access) == Some(variable)
                    });
                    own.map(|(index, _)| AccessId(index as u32)).collect()
                };
                let (first, second) = (reads(x), reads(y));
                first.iter().any(|a| {
                    second
                        .iter()
                        .any(|b| whole.summaries.meeting(whole.program, &whole.calls, method, *a, *b).is_some())
                })
            })
    }
}

/// Stale values as the paper defines them: each two sections once, one of the variables.
pub(super) fn escapes(whole: &Whole<'_>) -> Vec<Escape> {
    let mut found: Vec<Escape> = Vec::new();
    for method in whole.program.methods() {
        let Some(summary) = whole.summaries.summary(method) else { continue };
        if whole.threads().of_method(method).is_empty() {
            continue;
        }
        // A section inside another one on the same lock ends with that one, and so does a lone access. Another lock keeps
        // others out of something else.
        let keeps_open = |outer: usize, inner: usize| {
            let [outer, inner] = [outer, inner].map(|section| &summary.sections[section]);
            inner.kind == LockKind::Own || outer.kind == inner.kind && outer.lock == inner.lock
        };
        for (index, write) in summary.accesses.iter().enumerate() {
            if !write.is_write || write.held.is_empty() || own(whole, write).is_none() {
                continue;
            }
            for influence in write.value.iter().chain(&write.control) {
                let Root::Access(read) = influence.root else { continue };
                let sections = left(summary, read, influence.ended, write.held, keeps_open);
                let Some((first, second)) = sections else { continue };
                let variable = own(whole, &summary.accesses[read.index()]);
                let is_written = variable.is_some_and(|variable| !whole.variables.writers(variable).is_empty());
                // Two accesses of one call are the callee's business, unless it is left and entered again.
                let is_apart = summary.accesses[read.index()].event != write.event || first == second;
                let escape = Escape { method, read, write: AccessId(index as u32), first, second };
                let is_told = |told: &Escape| told.method == method && (told.first, told.second) == (first, second);
                if is_written && is_apart && !found.iter().any(is_told) {
                    found.push(escape);
                }
            }
        }
    }
    found
}

/// The section that a value was read in and has left, and the one that it is written in, if the first is not still open.
/// A section around the first may be none that keeps it open.
fn left(
    summary: &Summary,
    read: AccessId,
    ended: SectionSet,
    held: SectionSet,
    keeps_open: impl Fn(usize, usize) -> bool,
) -> Option<(usize, usize)> {
    let read = &summary.accesses[read.index()];
    let is_outermost = |section: &usize| {
        let mut around = summary.sections[*section].inside.intersection(read.held).iter();
        !around.any(|outer| keeps_open(outer, *section))
    };
    let first = ended.iter().filter(|section| read.held.contains(*section)).find(is_outermost)?;
    let second = held.iter().find(|section| !read.held.contains(*section) || ended.contains(*section))?;
    Some((first, second))
}
