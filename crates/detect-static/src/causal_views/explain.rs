//! What is said of a torn read, a torn write, or a stale value.

use std::collections::BTreeSet;

use finding::{Finding, SectionPair, Step, Thread, rules};
use location::Place;
use program::outline::MeetingKind;
use program::summary::{Access, Summary};
use program::{MethodId, Whole};

use super::rules::Kind;
use super::stale::{How, Stale};
use super::together::Together;
use super::views::{common, known};
use crate::places::Places;
use crate::words::{Alone, Words, alone};

pub(super) fn torn(whole: &Whole<'_>, method: MethodId, together: &Together) -> Option<Finding> {
    let torn = &together.torn;
    let summary = whole.summaries.summary(method)?;
    let others = whole.summaries.summary(torn.other.method)?;
    let places = Places::new(whole, method);
    let (mut first, mut second) = (&summary.accesses[torn.first.index()], &summary.accesses[torn.second.index()]);
    if second.event < first.event {
        std::mem::swap(&mut first, &mut second);
    }
    let (first_section, second_section) = (section(summary, first, second)?, section(summary, second, first)?);
    let words = Words::new(whole, method);
    let (one, two) = (&summary.sections[first_section], &summary.sections[second_section]);
    let (x, y) = (words.variable(one, first), words.variable(two, second));
    let between: Vec<&Access> = together.also.iter().map(|access| &summary.accesses[access.index()]).collect();
    let mut names = vec![x.clone()];
    for access in between.iter().chain([&second]) {
        let own = section(summary, access, first).or_else(|| section(summary, access, second));
        let name = own.map(|own| words.variable(&summary.sections[own], access));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    let lock = words.readable.name(&one.lock);
    let again = words.readable.name(&two.lock);
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
    step(Thread::a(), at(first), format!("`{x}` {done}{}{}", words.under(one, first), words.inside(first)));
    match alone(one, first) {
        None => {
            let line = one.call.is_none().then(|| words.end_line(one, second.event)).flatten();
            let place = Place { line: line.or(at(first).line), ..at(first) };
            step(Thread::a(), place, format!("{} let go", words.lock(one)));
        }
        Some(_) => step(Thread::a(), at(first), "nothing keeps others out from here on".to_owned()),
    }
    let earlier = if other.spot.pc <= also.spot.pc { other } else { also };
    let is_replaced = torn.kind == Kind::Read && torn.other.first == torn.other.second;
    let theirs = if is_replaced {
        format!("`{x}` replaced as a whole")
    } else if torn.other.first == torn.other.second {
        format!("all of `{x}` read in one section")
    } else if common(other, also).is_empty() {
        format!("`{x}` and `{y}` asked one after the other")
    } else if x == y {
        format!("two of `{x}` {by_other} in one section")
    } else {
        format!("`{x}` and `{y}` both {by_other} in one section")
    };
    step(Thread::b(), places.spot(&earlier.spot), theirs);
    let met = match torn.met.kind {
        MeetingKind::Decided => "both decide together",
        MeetingKind::Steered => "the one is used because of the other",
        MeetingKind::Object => "both put into one object",
        MeetingKind::Text => "both put into one text",
        MeetingKind::Computed | MeetingKind::Arguments(_) => "both used in one computation",
    };
    let last = format!("`{y}` {done}{}{}", words.under(two, second), words.inside(second));
    let message = match torn.kind {
        Kind::Read => {
            step(Thread::a(), at(second), last);
            step(Thread::a(), places.spot(&torn.met.spot), met.to_owned());
            match x == y {
                true => format!("`{x}` may change between (1) and (4), so the values read do not belong together"),
                false => format!(
                    "{} may {} change between (1) and (4), so the values read do not belong together",
                    listed(&names),
                    if names.len() > 2 { "all" } else { "both" }
                ),
            }
        }
        Kind::Write => {
            step(Thread::b(), places.spot(&torn.met.spot), met.to_owned());
            step(Thread::a(), at(second), last);
            match x == y {
                true => format!("another thread may see part of `{x}` as after (1) and part as before (5)"),
                false => format!("another thread may see `{x}` as after (1) and {} as before (5)", listed(&names[1..])),
            }
        }
    };
    let (from, to) = match torn.kind {
        Kind::Read => (1, 4),
        Kind::Write => (1, 5),
    };
    let fix = match (alone(one, first), alone(two, second)) {
        _ if is_replaced => {
            format!("read `{x}` once, into a local variable, and take both parts from there")
        }
        (None, None) if lock == again => words.hold(one, (from, first), (to, second), torn.kind == Kind::Write),
        (None, None) => {
            format!("hold `{lock}` and `{again}` from ({from}) to ({to}), taken in the same order by everybody")
        }
        _ => "keep both in one object that is replaced as a whole, or guard both by one lock".to_owned(),
    };
    let all = between.into_iter().chain([first, second]);
    let variables = all.filter_map(move |access| known(whole, method, access));
    let method = whole.program.names.method_place(whole.program.method_name(method));
    Some(Finding {
        variables: variables.map(|variable| variable.readable(whole.program)).collect(),
        locks: BTreeSet::from([lock, again]),
        interleaving: (1..=steps.len() as u32).collect(),
        steps,
        fix,
        sections: Some(SectionPair {
            first: places.section(&summary.sections[first_section]),
            second: places.section(&summary.sections[second_section]),
        }),
        ..Finding::suspected(rule, super::DETECTOR.name, method, message)
    })
}

pub(super) fn stale(whole: &Whole<'_>, method: MethodId, stale: &Stale) -> Option<Finding> {
    let summary = whole.summaries.summary(method)?;
    let words = Words::new(whole, method);
    let places = Places::new(whole, method);
    let (read, target) = (&summary.accesses[stale.read.index()], &summary.accesses[stale.target.index()]);
    let section = &summary.sections[stale.first];
    let (x, y) = (words.variable(section, read), words.variable(&summary.sections[stale.second], target));
    let lock = words.readable.name(&section.lock);
    let again = match alone(section, read) {
        None => format!(", under `{lock}` again"),
        Some(_) => words.by(target),
    };
    let written = whole.summaries.summary(stale.writer.method)?.accesses.get(stale.writer.access.index())?;
    let inside = words.inside(target);
    let last = match stale.how {
        How::Position => format!("the old value says where to look in `{y}`{again}{inside}"),
        How::Bound => format!("`{y}` asked for a position that was checked{again}{inside}"),
        How::Reentered => format!("the old value goes into `{y}`{again}{inside}"),
        How::There => format!("`{y}` read again{again}{inside}, and used as if there still were something"),
        How::Refused => format!("`{y}` read again{again}{inside}, which throws if it has changed"),
    };
    let told = [
        (
            Thread::a(),
            places.event(read.event),
            match alone(section, read) {
                Some(Alone::Call) => format!("`{x}` asked{}{}", words.by(read), words.inside(read)),
                _ => format!("`{x}` read{}{}", words.under(section, read), words.inside(read)),
            },
        ),
        (
            Thread::a(),
            places.event(read.event),
            match alone(section, read) {
                None => format!("{} let go", words.lock(section)),
                Some(_) => "nothing keeps others out from here on".to_owned(),
            },
        ),
        (
            Thread::b(),
            places.spot(&written.spot),
            match alone(section, read) {
                Some(Alone::Call) => format!("`{x}` changed{}", words.by(written)),
                _ => format!("`{x}` written{}", words.theirs(section, read, &stale.writer)),
            },
        ),
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
        How::Bound | How::Refused => {
            format!("`{x}` may change between (1) and (4), and what was checked no longer holds")
        }
        How::Reentered => format!("`{x}` may change between (1) and (4), and the change is lost"),
        How::There => format!("`{x}` may change between (1) and (4), and what was found there may be gone"),
    };
    let rule = match stale.how {
        How::Bound | How::There | How::Refused => &rules::CHECK_THEN_ACT,
        How::Position | How::Reentered => &rules::STALE_VALUE,
    };
    let variables = [read, target].into_iter().filter_map(move |access| known(whole, method, access));
    let method = whole.program.names.method_place(whole.program.method_name(method));
    Some(Finding {
        variables: variables.map(|variable| variable.readable(whole.program)).collect(),
        fix: match alone(section, read) {
            _ if stale.how == How::There => "fetch it once at (1), and use what was fetched at (4)".to_owned(),
            None => words.hold(section, (1, read), (4, target), false),
            Some(_) => format!("go over a copy of `{x}`, or guard all uses by one lock"),
        },
        locks: BTreeSet::from([lock]),
        interleaving: vec![1, 2, 3, 4],
        steps,
        sections: Some(SectionPair {
            first: places.section(&summary.sections[stale.first]),
            second: places.section(&summary.sections[stale.second]),
        }),
        ..Finding::suspected(rule, super::DETECTOR.name, method, message)
    })
}

/// Names as a sentence lists them.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// The innermost section of an access that the other access is not in.
pub(super) fn section(summary: &Summary, access: &Access, other: &Access) -> Option<usize> {
    // In a loop both are one.
    let own = if std::ptr::eq(access, other) { access.held } else { access.held.without(common(access, other)) };
    own.iter().max_by_key(|section| (summary.sections[*section].inside.iter().count(), *section))
}
