//! What is said of a torn read, a torn write, or a stale value.

use std::collections::BTreeSet;

use finding::{Evidence, Finding, SectionPair, Step, Thread, rules};
use location::Place;
use program::outline::MeetingKind;
use program::summary::{Access, Summary};
use program::{MethodId, Readable, Variable, Whole};

use super::rules::{Kind, Torn};
use super::stale::{How, Stale};
use super::views::common;
use crate::places::Places;

pub(super) fn torn(whole: &Whole<'_>, method: MethodId, torn: &Torn) -> Option<Finding> {
    let summary = whole.summaries.summary(method)?;
    let others = whole.summaries.summary(torn.other.method)?;
    let readable = Readable::new(whole.program, &whole.summaries, method);
    let places = Places::new(whole, method);
    let (mut first, mut second) = (&summary.accesses[torn.first.index()], &summary.accesses[torn.second.index()]);
    if second.event < first.event {
        std::mem::swap(&mut first, &mut second);
    }
    let (first_section, second_section) = (section(summary, first, second)?, section(summary, second, first)?);
    let (x, y) = (readable.variable(first), readable.variable(second));
    let lock = readable.name(&summary.sections[first_section].lock);
    let again = readable.name(&summary.sections[second_section].lock);
    let other = &others.accesses[torn.other.first.index()];
    let also = &others.accesses[torn.other.second.index()];
    let (rule, done, by_other) = match torn.kind {
        Kind::Read => (&rules::TORN_READ, "read", "written"),
        Kind::Write => (&rules::TORN_WRITE, "written", "read"),
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut step = |thread: Thread, place: Place, what: String| {
        let number = steps.len() as u32 + 1;
        steps.push(Step { number, thread, place: Some(place), what, callers: Vec::new(), ran: false });
    };
    let at = |access: &Access| places.event(access.event);
    step(Thread::a(), at(first), format!("`{x}` {done} under `{lock}`{}", places.inside(first)));
    step(Thread::a(), at(first), format!("`{lock}` let go"));
    let earlier = if other.spot.pc <= also.spot.pc { other } else { also };
    let theirs = if torn.other.first == torn.other.second {
        format!("`{x}` replaced as a whole")
    } else if x == y {
        format!("two of `{x}` {by_other} in one section")
    } else {
        format!("`{x}` and `{y}` both {by_other} in one section")
    };
    step(Thread::b(), places.spot(&earlier.spot), theirs);
    let met = match torn.met.kind {
        MeetingKind::Decided => "both decide together",
        MeetingKind::Object => "both put into one object",
        MeetingKind::Computed | MeetingKind::Arguments(_) => "both used in one computation",
    };
    let last = format!("`{y}` {done} under `{again}`{}", places.inside(second));
    let message = match torn.kind {
        Kind::Read => {
            step(Thread::a(), at(second), last);
            step(Thread::a(), places.spot(&torn.met.spot), met.to_owned());
            match x == y {
                true => format!("`{x}` may change between (1) and (4), so the values read do not belong together"),
                false => {
                    format!(
                        "`{x}` and `{y}` may both change between (1) and (4), so the values read do not belong together"
                    )
                }
            }
        }
        Kind::Write => {
            step(Thread::b(), places.spot(&torn.met.spot), met.to_owned());
            step(Thread::a(), at(second), last);
            format!("another thread may see `{x}` as after (1) and `{y}` as before (5)")
        }
    };
    let (from, to) = match torn.kind {
        Kind::Read => (1, 4),
        Kind::Write => (1, 5),
    };
    let fix = if lock == again {
        format!("hold `{lock}` from ({from}) to ({to})")
    } else {
        format!("hold `{lock}` and `{again}` from ({from}) to ({to})")
    };
    let variables = [first, second].into_iter().filter_map(|access| Variable::of(whole.program, access));
    Some(Finding {
        rule,
        evidence: Evidence::Pattern,
        severity: rule.severity,
        detectors: BTreeSet::from([super::DETECTOR.name]),
        message,
        method: whole.program.names.method_place(whole.program.method_name(method)),
        variables: variables.map(|variable| variable.readable(whole.program)).collect(),
        locks: BTreeSet::from([lock, again]),
        interleaving: (1..=steps.len() as u32).collect(),
        steps,
        fix,
        count: 1,
        executions: 0,
        sections: Some(SectionPair {
            first: places.section(summary, first_section),
            second: places.section(summary, second_section),
        }),
    })
}

pub(super) fn stale(whole: &Whole<'_>, method: MethodId, stale: &Stale) -> Option<Finding> {
    let summary = whole.summaries.summary(method)?;
    let readable = Readable::new(whole.program, &whole.summaries, method);
    let places = Places::new(whole, method);
    let (read, target) = (&summary.accesses[stale.read.index()], &summary.accesses[stale.target.index()]);
    let (x, y) = (readable.variable(read), readable.variable(target));
    let lock = readable.name(&summary.sections[stale.first].lock);
    let written = whole.summaries.summary(stale.writer.method)?.accesses.get(stale.writer.access.index())?;
    let inside = places.inside(target);
    let last = match stale.how {
        How::Position => format!("the old value says where to look in `{y}`, under `{lock}` again{inside}"),
        How::Bound => format!("`{y}` asked for a position that was checked, under `{lock}` again{inside}"),
        How::Reentered => format!("the old value goes into `{y}`, under `{lock}` again{inside}"),
    };
    let told = [
        (Thread::a(), places.event(read.event), format!("`{x}` read under `{lock}`{}", places.inside(read))),
        (Thread::a(), places.event(read.event), format!("`{lock}` let go")),
        (Thread::b(), places.spot(&written.spot), format!("`{x}` written under `{lock}`")),
        (Thread::a(), places.event(target.event), last),
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
    let message = match stale.how {
        How::Position => format!("`{x}` may change between (1) and (4), which looks where the old value says"),
        How::Bound => format!("`{x}` may change between (1) and (4), and what was checked no longer holds"),
        How::Reentered => format!("`{x}` may change between (1) and (4), and the change is lost"),
    };
    let rule = match stale.how {
        How::Bound => &rules::CHECK_THEN_ACT,
        How::Position | How::Reentered => &rules::STALE_VALUE,
    };
    let variables = [read, target].into_iter().filter_map(|access| Variable::of(whole.program, access));
    Some(Finding {
        rule,
        evidence: Evidence::Pattern,
        severity: rule.severity,
        detectors: BTreeSet::from([super::DETECTOR.name]),
        message,
        method: whole.program.names.method_place(whole.program.method_name(method)),
        variables: variables.map(|variable| variable.readable(whole.program)).collect(),
        fix: format!("hold `{lock}` from (1) to (4)"),
        locks: BTreeSet::from([lock]),
        interleaving: vec![1, 2, 3, 4],
        steps,
        count: 1,
        executions: 0,
        sections: Some(SectionPair {
            first: places.section(summary, stale.first),
            second: places.section(summary, stale.second),
        }),
    })
}

/// The innermost section of an access that the other access is not in.
fn section(summary: &Summary, access: &Access, other: &Access) -> Option<usize> {
    // In a loop both are one.
    let own = if std::ptr::eq(access, other) { access.held } else { access.held.without(common(access, other)) };
    own.iter().max_by_key(|section| (summary.sections[*section].inside.iter().count(), *section))
}
