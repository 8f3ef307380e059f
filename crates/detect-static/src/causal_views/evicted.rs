//! Torn writes of a cache and its source: what is kept is thrown out, and only then the source is changed. Whoever asks in
//! between finds nothing, reads the source as it still is, and puts that back, where it stays: `cache.evict(key);
//! table.store(key, value);`, while `if (known.get(key) == null) known.put(key, table.load(key));` is one section. The
//! other order is right: what was put back too early is thrown out. The same with a field that is set to null, with a flag
//! that says whether what is kept holds, and with a map that fills itself.
//!
//! Misses: caches that are filled with no lock held from the look at the source on, where no order is right; caches of
//! libraries that are not modelled; a cache that is replaced by an empty one.

use finding::{Finding, SectionPair, Step, Thread, rules};
use location::Place;
use program::model::State;
use program::outline::{Action, Argument, KeyStart, Member, Object, Origin, Outline, Start};
use program::summary::{Access, AccessId, Influence, Root, Spot, Summary};
use program::{MethodId, Variable, Whole, locks};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::explain::section;
use super::rules::{Asking, are_exclusive, is_known};
use super::views::{Item, Joint, common, locks_over, own};
use crate::places::Places;
use crate::threads::{is_owned, is_shared};
use crate::words::{Words, alone, operation};

/// More places than this that fill one cache are not kept.
const MAX_FILLS: usize = 8;

/// What throws things out of a container.
const EMPTYING: [&str; 5] = ["clear", "remove", "removeAll", "removeIf", "retainAll"];

/// What sets an atomic.
const SETTING: [&str; 5] = ["lazySet", "set", "setOpaque", "setPlain", "setRelease"];

/// Where something that is not there is made of what the source says, with a lock held from the source on.
#[derive(Clone, Copy)]
struct Fill {
    method: MethodId,
    /// The look that finds nothing.
    look: AccessId,
    /// The look at the source.
    read: AccessId,
    /// What is kept.
    put: AccessId,
    source: Variable,
    /// What the look has to find.
    lack: Lack,
    /// Whether what is looked at only tells whether what is kept holds.
    is_flag: bool,
}

/// How something says that there is nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// It is empty, null or false.
    Empty,
    /// It is a number that is not nought, or true: `isStale`.
    Set,
}

/// All places that fill caches, by what they look at.
pub(super) struct Fills(FxHashMap<Variable, Vec<Fill>>);

impl Fills {
    pub(super) fn of(whole: &Whole<'_>) -> Fills {
        let methods: Vec<MethodId> = whole.program.methods().collect();
        let found: Vec<(Variable, Fill)> = methods.par_iter().flat_map_iter(|method| fills(whole, *method)).collect();
        let mut all: FxHashMap<Variable, Vec<Fill>> = FxHashMap::default();
        for (emptied, fill) in found {
            let known = all.entry(emptied).or_default();
            let is_alike =
                |other: &Fill| (other.method, other.source, other.lack) == (fill.method, fill.source, fill.lack);
            if known.len() < MAX_FILLS && !known.iter().any(is_alike) {
                known.push(fill);
            }
        }
        Fills(all)
    }
}

fn fills(whole: &Whole<'_>, method: MethodId) -> Vec<(Variable, Fill)> {
    let (Some(summary), Some(outline)) = (whole.summaries.summary(method), whole.summaries.outline(method)) else {
        return Vec::new();
    };
    let variable = |id: AccessId| own(whole, &summary.accesses[id.index()]);
    let mut found = Vec::new();
    for (index, put) in summary.accesses.iter().enumerate() {
        let id = AccessId(index as u32);
        if !put.is_write || put.held.is_empty() || put.base.is_unknown() || matches!(put.base.start, Start::New(_)) {
            continue;
        }
        let fills_itself = put.spot.method == whole.program.method_name(method)
            && operation(whole, &put.spot) == Some("computeIfAbsent");
        let sources = reads(&put.value).filter(|read| {
            let source = &summary.accesses[read.index()];
            !source.is_write
                && !common(source, put).is_empty()
                && (source.event == put.event) == fills_itself
                && variable(*read).is_some_and(|source| variable(id).is_some_and(|kept| kept != source))
        });
        for read in sources {
            let (Some(kept), Some(source)) = (variable(id), variable(read)) else { continue };
            // What is brought back is taken from where it was.
            if writes(whole, summary, source).next().is_some() {
                continue;
            }
            let fill = |look, lack, is_flag| Fill { method, look, read, put: id, source, lack, is_flag };
            if fills_itself {
                found.push((kept, fill(id, Lack::Empty, false)));
                continue;
            }
            for look in reads(&put.control).filter(|look| *look != read) {
                let asked = &summary.accesses[look.index()];
                let Some(emptied) = variable(look).filter(|emptied| *emptied != source) else { continue };
                let is_filled = || match emptied == kept {
                    true => asked.base.same(&put.base),
                    // The flag is put back because of what it was.
                    false => writes(whole, summary, emptied).any(|mark| {
                        mark.value.is_empty()
                            && mark.base.same(&asked.base)
                            && reads(&mark.control).any(|control| control == look)
                    }),
                };
                let lack = lack(whole, outline, asked, put);
                found.extend(lack.filter(|_| is_filled()).map(|lack| (emptied, fill(look, lack, emptied != kept))));
            }
        }
    }
    found
}

/// What a look must have found for a put to happen because of it.
fn lack(whole: &Whole<'_>, outline: &Outline, look: &Access, put: &Access) -> Option<Lack> {
    let mut asked = outline.events[put.event.index()].control.iter().filter_map(|condition| {
        let condition = &outline.conditions[*condition as usize];
        let is_it = condition.sources.iter().any(|source| source.origin == Origin::Event(look.event));
        let is_empty =
            outline.is_because_absent(condition, put.event) || outline.is_because_nought(condition, put.event);
        let asks_for_none = operation(whole, &look.spot) == Some("isEmpty");
        match (is_empty, condition.nought.is_some()) {
            _ if !is_it => None,
            (true, _) => (!asks_for_none).then_some(Lack::Empty),
            (false, true) => Some(if asks_for_none { Lack::Empty } else { Lack::Set }),
            (false, false) => None,
        }
    });
    asked.next()
}

fn reads(influences: &[Influence]) -> impl Iterator<Item = AccessId> {
    influences.iter().filter_map(|influence| match influence.root {
        Root::Access(access) => Some(access),
        Root::Parameter(_) => None,
    })
}

fn writes<'s>(whole: &Whole<'_>, summary: &'s Summary, variable: Variable) -> impl Iterator<Item = &'s Access> {
    let program = whole.program;
    let writes = summary.accesses.iter().filter(|access| access.is_write);
    writes.filter(move |access| Variable::of(program, access) == Some(variable))
}

/// What is thrown out before its source is changed, in one method.
pub(super) fn told(asking: &Asking<'_>, fills: &Fills) -> Vec<Finding> {
    let mut found: Vec<([Variable; 2], Finding)> = Vec::new();
    if fills.0.is_empty() {
        return Vec::new();
    }
    for out in asking.summary.accesses.iter().filter(|access| access.is_write && !access.held.is_empty()) {
        let Some(emptied) = Variable::of(asking.whole.program, out) else { continue };
        for fill in fills.0.get(&emptied).into_iter().flatten() {
            let variables = [emptied, fill.source];
            if found.iter().any(|(told, _)| *told == variables) || lack_of(asking.whole, out) != Some(fill.lack) {
                continue;
            }
            let mut changes = writes(asking.whole, asking.summary, fill.source);
            let change = changes.find(|change| asking.is_too_early(out, change, emptied, fill));
            found.extend(change.and_then(|change| Some((variables, asking.explain(out, change, fill)?))));
        }
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// How a write leaves things so that there is nothing.
fn lack_of(whole: &Whole<'_>, out: &Access) -> Option<Lack> {
    let of = |stored: &Argument| match stored.objects.as_slice() {
        [] if stored.sources.is_empty() => Some(Lack::Empty),
        [Object::Int(0)] => Some(Lack::Empty),
        [Object::Int(_)] => Some(Lack::Set),
        _ => None,
    };
    let called = operation(whole, &out.spot);
    match out.member {
        Member::State(State::Contents) => called.filter(|name| EMPTYING.contains(name)).map(|_| Lack::Empty),
        Member::State(State::Value) if !called.is_some_and(|name| SETTING.contains(&name)) => None,
        _ => match action_at(whole, &out.spot)? {
            Action::Write { stored, .. } => of(stored),
            Action::Call { arguments, .. } => arguments.get(1).and_then(of),
            _ => None,
        },
    }
}

fn action_at<'w>(whole: &'w Whole<'_>, spot: &Spot) -> Option<&'w Action> {
    let method = whole.calls.hierarchy.resolve_name(whole.program, spot.method)?;
    let mut events = whole.summaries.outline(method)?.events.iter();
    events.find(|event| event.pc == spot.pc).map(|event| &event.action)
}

impl Asking<'_> {
    fn is_too_early(&self, out: &Access, change: &Access, emptied: Variable, fill: &Fill) -> bool {
        let whole = self.whole;
        let Some(there) = whole.summaries.summary(fill.method) else { return false };
        let is_of = |id: AccessId, variable: Variable| Variable::of(whole.program, self.access(id)) == Some(variable);
        // What two calls yield may be one key.
        let is_yielded = |access: &Access| access.keys.iter().all(|key| matches!(key.start, KeyStart::Result(_)));
        let is_other_key = out.is_keyed
            && change.is_keyed
            && out.keys != change.keys
            && !out.keys.is_empty()
            && !change.keys.is_empty()
            && !(is_yielded(out) && is_yielded(change));
        let is_named = |access: &Access| Item::of(whole, self.method, access).is_some() && !self.is_in_task(access);
        // What goes from the one to the other is in neither, and nobody puts it back.
        let is_moved = || reads(&change.value).any(|read| is_of(read, emptied));
        // What is put there or thrown out afterwards, whatever it finds, takes the place of what was put back.
        let is_mended = || {
            writes(whole, self.summary, emptied).any(|write| {
                let is_after = write.event == change.event
                    || change.event < write.event && self.outline.leads_to(change.event, write.event, &[]);
                is_after && !is_fill(whole, self.summary, write, emptied)
            })
        };
        // Who fills asks something else as well that changes with the source.
        let is_asked_besides = || {
            reads(&there.accesses[fill.put.index()].control)
                .filter_map(|control| Variable::of(whole.program, &there.accesses[control.index()]))
                .any(|other| {
                    ![emptied, fill.source].contains(&other) && writes(whole, self.summary, other).next().is_some()
                })
        };
        out.event < change.event
            && !change.held.is_empty()
            && self.outline.leads_to(out.event, change.event, &[])
            && !is_other_key
            && is_named(out)
            && is_named(change)
            && !is_moved()
            && !is_mended()
            && !is_asked_besides()
            && !self.is_kept_out(out, change, fill, there)
            && is_shared(whole, emptied)
            && is_shared(whole, fill.source)
            && !is_owned(whole, self.method, out)
            && !is_owned(whole, self.method, change)
            && !self.is_mended_by_callers(emptied)
            && self.runs_with(out, change, &Joint { method: fill.method, first: fill.look, second: fill.put })
    }

    /// Whether an access belongs to a task that the method starts.
    fn is_in_task(&self, access: &Access) -> bool {
        match &self.outline.events[access.event.index()].action {
            Action::Call { method, .. } => {
                let model = self.whole.calls.model(self.whole.program, *method, method.class);
                model.is_some_and(|model| model.starts.is_some())
            }
            _ => false,
        }
    }

    /// Whether who fills is kept out all the time.
    fn is_kept_out(&self, out: &Access, change: &Access, fill: &Fill, there: &Summary) -> bool {
        let cover = self.whole.cover().among(self.whole.threads());
        let always = locks(self.summary, common(out, change));
        if always.iter().any(|lock| !is_known(&lock.name)) {
            return true;
        }
        let mut always = cover.also_named(self.method, always);
        always.extend(cover.held_by_callers(self.method));
        let (read, put) = (&there.accesses[fill.read.index()], &there.accesses[fill.put.index()]);
        let theirs = locks_over(self.whole, fill.method, there, common(read, put));
        let mut theirs = cover.also_named(fill.method, theirs);
        theirs.extend(cover.held_by_callers(fill.method));
        are_exclusive(out, &always, put, &theirs) || are_exclusive(change, &always, read, &theirs)
    }

    /// Whether all who call the method throw it out once more.
    fn is_mended_by_callers(&self, emptied: Variable) -> bool {
        let whole = self.whole;
        let callers = whole.calls.callers(self.method);
        let is_mended = |caller: &MethodId| {
            let (Some(summary), Some(outline)) = (whole.summaries.summary(*caller), whole.summaries.outline(*caller))
            else {
                return false;
            };
            let inside = writes(whole, summary, emptied).filter(|write| {
                let Action::Call { kind, method, .. } = &outline.events[write.event.index()].action else {
                    return false;
                };
                whole.calls.targets(whole.program, *kind, *method).known().contains(&self.method)
            });
            let calls: Vec<_> = inside.map(|write| write.event).collect();
            !calls.is_empty()
                && calls.iter().all(|call| {
                    writes(whole, summary, emptied).any(|write| {
                        *call < write.event
                            && outline.leads_to(*call, write.event, &[])
                            && !is_fill(whole, summary, write, emptied)
                    })
                })
        };
        !callers.is_empty() && callers.iter().all(is_mended)
    }

    fn explain(&self, out: &Access, change: &Access, fill: &Fill) -> Option<Finding> {
        let (whole, summary) = (self.whole, self.summary);
        let there = whole.summaries.summary(fill.method)?;
        let (places, words) = (Places::new(whole, self.method), Words::new(whole, self.method));
        let [first, second] = [section(summary, out, change)?, section(summary, change, out)?];
        let [one, two] = [first, second].map(|section| &summary.sections[section]);
        let (kept, source) = (words.variable(one, out), words.variable(two, change));
        let (read, put) = (&there.accesses[fill.read.index()], &there.accesses[fill.put.index()]);
        let let_go = match alone(one, out) {
            None => {
                let line = one.call.is_none().then(|| words.end_line(one, change.event)).flatten();
                let place = places.event(out.event);
                let place = Place { line: line.or(place.line), ..place };
                (Thread::a(), place, format!("{} let go", words.lock(one)))
            }
            Some(_) => (Thread::a(), places.event(out.event), "nothing keeps others out from here on".to_owned()),
        };
        let told = [
            (
                Thread::a(),
                places.event(out.event),
                match fill.is_flag {
                    true => format!(
                        "`{kept}` written{}{}, so that what is kept no longer holds",
                        words.under(one, out),
                        words.inside(out)
                    ),
                    false => format!("`{kept}` emptied{}{}", words.under(one, out), words.inside(out)),
                },
            ),
            let_go,
            (Thread::b(), places.spot(&read.spot), format!("the old `{source}` read, because of that")),
            (
                Thread::b(),
                places.spot(&put.spot),
                match fill.is_flag {
                    true => format!("what comes of it kept, as `{kept}` then says"),
                    false => format!("what comes of it put into `{kept}`, where it stays"),
                },
            ),
            (
                Thread::a(),
                places.event(change.event),
                format!("`{source}` written{}{}", words.under(two, change), words.inside(change)),
            ),
        ];
        let steps: Vec<Step> = told
            .into_iter()
            .zip(1..)
            .map(|((thread, place, what), number)| Step {
                number,
                thread,
                place: Some(place),
                what,
                callers: Vec::new(),
                ran: false,
            })
            .collect();
        let message = match fill.is_flag {
            true => format!(
                "another thread may keep what comes of the old `{source}` between (1) and (5), and `{kept}` says that it holds"
            ),
            false => format!(
                "another thread may fill `{kept}` from the old `{source}` between (1) and (5), and nobody throws that out"
            ),
        };
        let fix = "do (5) first, and (1) after it; or keep out who does (3) and (4) from (1) to (5)".to_owned();
        let variables = [out, change].into_iter().filter_map(|access| Variable::of(whole.program, access));
        let method = whole.program.names.method_place(whole.program.method_name(self.method));
        Some(Finding {
            variables: variables.map(|variable| variable.readable(whole.program)).collect(),
            locks: [one, two].into_iter().map(|section| words.readable.name(&section.lock)).collect(),
            interleaving: (1..=steps.len() as u32).collect(),
            steps,
            fix,
            sections: Some(SectionPair { first: places.section(one), second: places.section(two) }),
            ..Finding::suspected(&rules::TORN_WRITE, super::DETECTOR.name, method, message)
        })
    }
}

/// Whether a write only happens where there is nothing.
fn is_fill(whole: &Whole<'_>, summary: &Summary, write: &Access, emptied: Variable) -> bool {
    let is_it = |read: AccessId| Variable::of(whole.program, &summary.accesses[read.index()]) == Some(emptied);
    operation(whole, &write.spot) == Some("computeIfAbsent") || reads(&write.control).any(is_it)
}
