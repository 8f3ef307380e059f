//! Which writes are reached by stale values, and which of those are mistakes.

use std::cell::{LazyCell, OnceCell};

use program::model::State;
use program::outline::{Member, Name, NameStep, Start};
use program::summary::{Access, AccessId, Influence, Root, Summary, SummarySection};
use program::{LockKind, MethodId, Place, Variable, Whole};

use super::orphaned::Dropped;
use super::shut::Shut;
use super::skew::Decided;
use super::stranded::Left;
use super::{idioms, orphaned, shut, skew, stranded};
use crate::given::is_of_given_function;
use crate::threads::{is_part, is_printed, is_shared, run_at_once};

/// How the old value matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    /// It becomes part of what is written.
    Written,
    /// It decides whether something is written.
    Decides,
    /// What it led to is changed, and may be out of its container by then.
    Found,
    /// It is a step of one's own, and what came of it is asked when others may have taken theirs.
    Stepped,
    /// It is taken for a number of one's own, which is counted on in another section.
    Counted,
    /// It is what an iterator came to, and is dealt with once it was taken out, whoever took it out.
    Iterated,
    /// It is the number that a step of one's own has made, and others may count on from it before it is acted on.
    Recounted,
    /// Nothing was left of it, and a flag is taken down that says that somebody is at it.
    Left,
}

/// A read whose section has ended, and the write that it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stale {
    pub(super) read: AccessId,
    pub(super) write: AccessId,
    /// The section of the read, and the one of the write.
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) how: Use,
    pub(super) variable: Variable,
    pub(super) written: Variable,
}

impl Stale {
    /// Whether a wait lets others in between.
    pub(super) fn is_waited(&self) -> bool {
        self.first == self.second && !matches!(self.how, Use::Found | Use::Iterated)
    }
}

/// One method that is looked at.
pub(super) struct Looking<'l> {
    pub(super) whole: &'l Whole<'l>,
    pub(super) method: MethodId,
    pub(super) summary: &'l Summary,
    /// Nothing else is asked for than what stands out ([`Looking::is_telling`]).
    pub(super) is_narrow: bool,
    /// It is only asked what this may be about.
    pub(super) is_first_look: bool,
}

/// How much speaks for a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Other threads can get in between, and the code shows that they do come there.
    Told,
    /// They could, but nothing shows that one object is ever used by two of them.
    Weak,
    /// It would be a mistake if they could, which the code speaks against.
    Doubtful,
    /// The same, and a run could not tell: locks keep threads out that use the same key, and no event says which key; stages
    /// come one after the other that a run has for tasks of any pool; or others may get in between, and what they write leaves
    /// it right.
    Excluded,
}

/// What other methods do that makes a method of its own choice wrong.
#[derive(Default)]
pub(super) struct Elsewhere {
    decided: Decided,
    dropped: Dropped,
    shut: Shut,
    left: Left,
}

impl Elsewhere {
    /// What stands out shows in one variable: what two methods do with two is asked for only if more is told.
    pub(super) fn of(whole: &Whole<'_>, methods: &[MethodId], is_narrow: bool) -> Elsewhere {
        if is_narrow {
            return Elsewhere { dropped: orphaned::dropped(whole, methods), ..Elsewhere::default() };
        }
        Elsewhere {
            decided: skew::decided(whole, methods),
            dropped: orphaned::dropped(whole, methods),
            shut: shut::shut(whole, methods),
            left: stranded::left(whole, methods),
        }
    }
}

/// The stale uses of this standing that come together in this method: one for each variable, the one that says most.
pub(super) fn stale_uses(whole: &Whole<'_>, method: MethodId, elsewhere: &Elsewhere, wanted: Standing) -> Vec<Stale> {
    let Some(looking) = Looking::at(whole, method) else { return Vec::new() };
    let is_narrow = wanted == Standing::Told && whole.is_large() && whole.has_unknown_threads(method);
    let looking = Looking { is_narrow, ..looking };
    let summary = looking.summary;
    let mut found = looking.candidates();
    let checks = looking.checks();
    let skewed = looking.skewed(&checks, &elsewhere.decided);
    let shut_out = looking.shut_out(&elsewhere.shut);
    found.extend(skewed.iter().chain(&shut_out));
    found.extend(looking.stranded(&elsewhere.left));
    found.extend(looking.kept_in_step(&checks));
    found.extend(looking.orphaned(&elsewhere.dropped));
    found.sort_by_key(|stale| (stale.how, stale.variable != stale.written, stale.first, stale.second, stale.read));
    // One mistake, one finding: further places that act on old values of the same variable want the same cure.
    let lock = |stale: &Stale| &summary.sections[stale.first].lock;
    let is_told = |told: &Stale, stale: &Stale| {
        told.variable == stale.variable
            && (lock(told) == lock(stale) || told.read == stale.read || told.write == stale.write)
    };
    let is_crosswise = |stale: &Stale| skewed.contains(stale) && looking.is_mirrored(stale, &elsewhere.decided);
    let mut kept: Vec<Stale> = Vec::new();
    for stale in found {
        let is_tied = || skewed.contains(&stale) || shut_out.contains(&stale);
        let belong_together = || is_tied() || looking.belong_together(&stale);
        let (read, write) = (looking.access(stale.read), looking.access(stale.write));
        if !kept.iter().any(|told| is_told(told, &stale))
            && (read.event == write.event || looking.may_come_before(read, write))
            && (!is_narrow || looking.is_telling(&stale))
            && !is_printed(whole.program, stale.written)
            && looking.is_wrong(&stale, belong_together)
            && looking.standing(&stale, is_crosswise(&stale)) == wanted
        {
            kept.push(stale);
        }
    }
    kept
}

impl<'l> Looking<'l> {
    /// The method, if it goes through sections.
    pub(super) fn at(whole: &'l Whole<'l>, method: MethodId) -> Option<Looking<'l>> {
        Looking::anywhere(whole, method).filter(|looking| !looking.summary.sections.is_empty())
    }

    /// The method, whether it goes through sections or leaves them to its callers.
    pub(super) fn anywhere(whole: &'l Whole<'l>, method: MethodId) -> Option<Looking<'l>> {
        let summary = whole.summaries.summary(method)?;
        Some(Looking { whole, method, summary, is_narrow: false, is_first_look: false })
    }
}

impl Looking<'_> {
    pub(super) fn access(&self, access: AccessId) -> &Access {
        &self.summary.accesses[access.index()]
    }

    /// The access at a place of some method.
    pub(super) fn access_at(&self, place: &Place) -> Option<&Access> {
        self.whole.summaries.summary(place.method)?.accesses.get(place.access.index())
    }

    pub(super) fn variable(&self, access: &Access) -> Option<Variable> {
        Variable::of(self.whole.program, access).or_else(|| self.given(access))
    }

    /// The variable that a parameter holds: the first one that callers give and threads share. Who takes a first look asks
    /// about all of them, and has no need to know which are shared.
    fn given(&self, access: &Access) -> Option<Variable> {
        let mut given = self.all_given(access).iter().copied();
        match self.is_first_look {
            true => given.next(),
            false => given.find(|variable| is_shared(self.whole, *variable)),
        }
    }

    /// The variables that callers give for the parameter that an access is to.
    pub(super) fn all_given(&self, access: &Access) -> &[Variable] {
        let position = access.bare_parameter();
        position.map(|position| self.whole.variables.given(self.method, position)).unwrap_or_default()
    }

    pub(super) fn candidates(&self) -> Vec<Stale> {
        let mut found: Vec<Stale> = Vec::new();
        let puts = vec![OnceCell::new(); self.summary.accesses.len()];
        for (index, write) in self.summary.accesses.iter().enumerate() {
            if !write.is_write || self.around(write).next().is_none() {
                continue;
            }
            // Costly, and asked only if something old reaches it.
            let written = LazyCell::new(|| self.shared(write));
            let uses = [
                (Use::Written, &write.value),
                (Use::Decides, &write.control),
                (Use::Decides, &write.guards),
                (Use::Decides, &write.awaited),
            ];
            for (number, (how, influences)) in uses.into_iter().enumerate() {
                // What stands out of written values is written as it was read.
                let is_direct = self.is_narrow && how == Use::Written;
                let all = if is_direct { influences.to_vec() } else { self.with_kept(influences, write, &puts) };
                let carried = if how == Use::Written && !is_direct { self.with_carried(write) } else { Vec::new() };
                for influence in all.into_iter().chain(carried) {
                    let influence = &influence;
                    let Root::Access(read) = influence.root else { continue };
                    if influence.ended.intersection(self.access(read).held).is_empty() {
                        continue;
                    }
                    let pairs = self.section_pairs(read, write, influence);
                    if pairs.is_empty() && !self.access(read).is_of_each {
                        continue;
                    }
                    if self.is_narrow && !self.may_be_one(self.access(read), write) {
                        continue;
                    }
                    let Some(written) = *written else { continue };
                    if self.is_narrow && self.variable(self.access(read)) != Some(written) {
                        continue;
                    }
                    // A walk that ends where it ends says nothing.
                    let of_each = || if number == 1 { self.one_of_each(self.access(read)) } else { None };
                    let Some(variable) = self.shared(self.access(read)).or_else(of_each) else { continue };
                    // What is to be removed is not what is written, and only matters if something else is done with it.
                    let is_address = || write.address.iter().any(|address| address.root == influence.root);
                    let is_removed = how == Use::Written && write.is_removal && is_address();
                    if is_removed && !self.is_worked_on(read, write) {
                        continue;
                    }
                    let how = if is_removed { Use::Decides } else { how };
                    if how == Use::Written && self.is_only_asked_for(self.access(read)) {
                        continue;
                    }
                    // That something is open, in order or not over is asked in passing; an amount is asked for a reason,
                    // and so is a flag if whoever puts it up changes the other one with it, and what is waited for before a
                    // flag is put up.
                    let is_end = || match number {
                        2 => self.is_ended_by(variable, write),
                        _ => self.is_shut_when_idle(read, write, variable, written),
                    };
                    if number >= 2 && variable != written && !is_end() {
                        continue;
                    }
                    // What one thread alone waits for and then takes is there for it.
                    if number == 3 && variable == written && !run_at_once(self.whole, self.method, self.method) {
                        continue;
                    }
                    let write_id = AccessId(index as u32);
                    let candidate =
                        |(first, second)| Stale { read, write: write_id, first, second, how, variable, written };
                    // A call that yields the very object tells which one it is, and nothing of what is in it.
                    let is_told_by = |second: usize| {
                        let yielded = Start::Result(self.access(read).event);
                        how != Use::Written
                            || self.summary.sections[second].lock.start != yielded
                            || self.is_kept_in(read, yielded, write)
                    };
                    found.extend(pairs.into_iter().filter(|(_, second)| is_told_by(*second)).map(candidate));
                    found.extend(self.asked_of_each(how, read, write, influence).map(candidate));
                }
            }
        }
        found.extend(self.waits());
        found.extend(self.replaced());
        found.extend(self.stepped());
        found.extend(self.counted());
        found.extend(self.recounted());
        found.extend(self.made_room());
        found.extend(self.exchanged());
        found.extend(self.iterated());
        found.extend(self.swept());
        found.extend(self.judged());
        found
    }

    /// The variable of an access to an object that has a name here and that others may have.
    pub(super) fn shared(&self, access: &Access) -> Option<Variable> {
        let is_static = matches!(access.member, Member::Static(_));
        if !is_static {
            match access.base.start {
                Start::Unknown => return None,
                // Taken out of its container, it belongs to this thread until it is put somewhere.
                Start::Result(taken)
                    if is_part(self.whole, access)
                        && self.summary.taken.contains(&taken)
                        && !self.whole.release().is_passed_on(self.method, &[taken], access.event) =>
                {
                    return None;
                }
                Start::New(register)
                    if is_part(self.whole, access)
                        && !self.whole.release().is_let_out(self.method, register, access.event) =>
                {
                    return None;
                }
                Start::Result(call)
                    if is_part(self.whole, access) && self.whole.owned().is_of_thread(self.method, call) =>
                {
                    return None;
                }
                Start::Result(call)
                    if is_part(self.whole, access)
                        && (self.whole.owned().is_made_by_function(self.method, call)
                            || self.whole.owned().is_made_for_caller(self.method, call))
                        && !self.whole.release().is_passed_on(self.method, &[call], access.event) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        self.variable(access)
    }

    /// Sections on one lock: an ended one that the value was read in, and a later one that the write is in. Or a glance at
    /// a volatile from outside, and the section that would have kept its writers out.
    pub(super) fn section_pairs(&self, read: AccessId, write: &Access, influence: &Influence) -> Vec<(usize, usize)> {
        let read = self.access(read);
        let mut pairs = Vec::new();
        // Two accesses of one call are the callee's business, unless the one is in a function that it was given.
        if read.event == write.event && !is_of_given_function(self.whole, self.method, read, write) {
            return pairs;
        }
        for first in influence.ended.iter().filter(|section| read.held.contains(*section)) {
            let earlier = &self.summary.sections[first];
            pairs.extend(self.around(write).map(|second| (first, second)).filter(|(_, second)| {
                let later = &self.summary.sections[*second];
                (first != *second || self.is_left_between(first, read, write))
                    && later.kind == earlier.kind
                    && (later.lock.same(&earlier.lock)
                        || self.is_one_object(read, &earlier.lock, write, &later.lock)
                        || self.are_elements(&earlier.lock, &later.lock)
                        || self.is_got_again(&earlier.lock, &later.lock)
                        || self.is_found_again((read, first), (write, *second)))
                    || earlier.kind == LockKind::Own && self.keeps_writers_out(*second, read)
            }));
        }
        if !pairs.is_empty() && read.event != write.event && !self.may_come_before(read, write) {
            pairs.clear();
        }
        pairs
    }

    /// The sections that an access is in: on every way to it, or, where none is, on some.
    fn around(&self, access: &Access) -> impl Iterator<Item = usize> {
        let outline = self.whole.summaries.outline(self.method).filter(|_| access.held.is_empty());
        let perhaps = outline.map_or_else(Default::default, |outline| outline.events[access.event.index()].perhaps);
        let mut around = access.held;
        for open in perhaps.iter().filter_map(|section| outline?.sections.get(section)) {
            let is_it = |section: &SummarySection| section.call.is_none() && section.spot.pc == open.pc;
            if let Some(number) = self.summary.sections.iter().position(is_it) {
                around.insert(number);
            }
        }
        around.iter()
    }

    /// The variable of an access to one object after the other, none of which has a name here, each under a lock of its own.
    fn one_of_each(&self, access: &Access) -> Option<Variable> {
        let is_locked = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        let is_it = access.is_of_each
            && access.base.is_unknown()
            && (matches!(access.member, Member::Field(_)) || self.is_amount_of_contents(access))
            && !access.held.is_empty()
            && access.held.iter().all(is_locked);
        is_it.then(|| self.variable(access)).flatten()
    }

    /// Where all elements are asked about what then one of them becomes, each under a lock of its own: who does the same
    /// with another element at that time goes by what this one is about to change.
    fn asked_of_each(&self, how: Use, read: AccessId, write: &Access, influence: &Influence) -> Option<(usize, usize)> {
        let read = self.access(read);
        let is_value = || {
            matches!(read.member, Member::Field(_) | Member::State(State::Value))
                || self.is_amount_of_contents(read) && self.are_of_one_whole(read, write)
        };
        let is_one = how == Use::Decides
            && read.is_of_each
            && !write.is_of_each
            && read.member == write.member
            && read.event != write.event
            && is_value();
        let is_alone = || {
            read.held.intersection(write.held).is_empty()
                && self.cover().held_by_callers(self.method).is_empty()
                && run_at_once(self.whole, self.method, self.method)
                && self.may_come_before(read, write)
        };
        let first = influence.ended.iter().find(|section| is_one && read.held.contains(*section))?;
        let second = write.held.iter().next()?;
        is_alone().then_some((first, second))
    }

    /// Whether a read tells how much there is in a container.
    fn is_amount_of_contents(&self, read: &Access) -> bool {
        read.is_of_contents() && self.tells_amount(read)
    }

    /// Whether two accesses may be to elements of one array or container.
    fn are_of_one_whole(&self, read: &Access, write: &Access) -> bool {
        let whole = |access: &Access| {
            let is_element = |step: &NameStep| !matches!(step, NameStep::Field(_));
            match access.base.steps.iter().position(is_element) {
                Some(at) => Some(Name { start: access.base.start, steps: access.base.steps[..at].into() }),
                None => access.within.as_deref().cloned(),
            }
        };
        self.variable(read) == self.variable(write)
            && match (whole(read), whole(write)) {
                (Some(one), Some(other)) => one.is_unknown() || one.same(&other),
                _ => true,
            }
    }

    /// Whether the code has a way from one access to the other: a task that was started before does not get what is
    /// read later.
    pub(super) fn may_come_before(&self, read: &Access, write: &Access) -> bool {
        let outline = self.whole.summaries.outline(self.method);
        outline.is_none_or(|outline| outline.may_follow(read.event, write.event))
    }

    /// Whether it is a mistake, if another thread can get in between.
    pub(super) fn is_wrong(&self, stale: &Stale, belong_together: impl Fn() -> bool) -> bool {
        // Data that nobody changes is never old.
        !self.whole.variables.writers(stale.variable).is_empty()
            && !self.is_taken_over(stale)
            && belong_together()
            && (matches!(
                stale.how,
                Use::Found | Use::Stepped | Use::Counted | Use::Iterated | Use::Recounted | Use::Left
            ) || !idioms::is_correct(self, stale))
            && !self.is_guarded(stale.first, self.access(stale.read), stale.variable)
            && !self.is_of_other_run(stale)
    }

    /// Whether the later lock is taken while the earlier one is held: a write lock becomes a read lock.
    fn is_taken_over(&self, stale: &Stale) -> bool {
        stale.first != stale.second && self.summary.sections[stale.second].inside.contains(stale.first)
    }

    /// Whether the two have to do with each other: somebody keeps both in step, or, where one becomes the other, looks
    /// at both.
    fn belong_together(&self, stale: &Stale) -> bool {
        let variables = &self.whole.variables;
        match stale.how {
            Use::Written => variables.meet(stale.variable, stale.written) || self.is_derived(stale),
            Use::Decides => variables.belong_together(stale.variable, stale.written),
            // Somebody asks the one to decide on the other; or it is one.
            Use::Found | Use::Stepped | Use::Counted | Use::Iterated | Use::Recounted | Use::Left => true,
        }
    }

    /// Whether what is written is always made of the other one, by whoever has changed that: of two who do so at once, the
    /// one with the older data may come last.
    fn is_derived(&self, stale: &Stale) -> bool {
        let is_made_of_it = |place: &Place| {
            self.is_by(place, |looking, write| {
                // What is given to a method to store takes the place of the whole, and an element of its own only.
                let is_whole = matches!(write.member, Member::Field(_) | Member::Static(_));
                (is_whole || looking.method == place.method)
                    && write.value.iter().any(|influence| match influence.root {
                        Root::Access(read) => looking.variable(looking.access(read)) == Some(stale.variable),
                        Root::Parameter(_) => false,
                    })
            })
        };
        let changes = |method: MethodId| {
            let summary = self.whole.summaries.summary(method);
            summary.is_some_and(|summary| {
                summary.accesses.iter().any(|access| {
                    access.is_write && !access.held.is_empty() && self.variable(access) == Some(stale.variable)
                })
            })
        };
        let program = self.whole.program;
        let is_of_class = |caller: &&MethodId| program.class_of(**caller) == program.class_of(self.method);
        let mut callers = self.whole.calls.callers(self.method).iter();
        stale.variable != stale.written
            // Others have no name for a local, and cannot keep it in step.
            && !program.is_captured(stale.written.field())
            && run_at_once(self.whole, self.method, self.method)
            && (changes(self.method) || callers.any(|caller| is_of_class(&caller) && changes(*caller)))
            && self.whole.variables.writers(stale.written).iter().all(is_made_of_it)
    }
}
