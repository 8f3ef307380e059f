//! Causal views: what one section takes as a whole, another method takes in two pieces.
//!
//! The view of a section is what it reads and what it writes, callees included. Where a section writes two variables, a
//! method that reads them in two sections may see one from before and one from after; that matters if the two values
//! come together. Where a section reads two variables and uses them together, a method that writes them in two sections
//! lets it see a change half done.
//!
//! The same holds for two elements of one container, and for two parts of an object that is replaced as a whole. A cache is
//! to be emptied when its source has been changed, and not before.
//!
//! Reports: `torn-read` and `torn-write`.
//! Misses: values that come together in a method further up or more than a few calls down; objects that have no name
//! in the method; variables that each have other writers of their own.
//! May be wrong when: the values that come together need not be of one moment.
//! Method: views and causal dependencies between sections; departs from it in that both sections must be of one
//! method's activation and of one object, under the lock of the section that takes both.
//! Page: docs/rules/torn-read.md, docs/rules/torn-write.md

mod again;
mod all_locks;
mod alone;
mod amount;
mod between;
mod chain;
mod each_lock;
mod elsewhere;
mod evicted;
mod explain;
mod follow;
mod glanced;
mod handed_on;
mod marked;
mod moved;
mod one_change;
mod one_run;
pub(crate) mod paper;
mod position;
mod refused;
mod reset;
mod rules;
mod settled;
mod stale;
mod steered;
pub(crate) mod tell;
mod there;
mod together;
mod views;

use finding::{Finding, Severity};
use program::{MethodId, Whole};
use rayon::prelude::*;

use self::rules::Torn;
use crate::{Check, Checked, Detector, Options};

pub(crate) const DETECTOR: Detector = Detector {
    name: "causal-views",
    summary: "what one section reads or writes as a whole is written or read in two pieces",
    default: true,
    check: Check::Narrow { look: stale::asked_about, check },
};

fn check(whole: &Whole<'_>, options: &Options) -> Checked {
    let findings = if whole.settings.paper { as_in_the_paper(whole) } else { refined(whole, options.notes) };
    Checked { findings, unreadable: Vec::new() }
}

fn refined(whole: &Whole<'_>, notes: bool) -> Vec<Finding> {
    whole.threads();
    let methods = whole.asked();
    let is_asked = |method: MethodId| notes || !again::is_large(whole, method);
    let others = methods.iter().any(|method| is_asked(*method)).then(|| rules::Others::of(whole));
    methods
        .par_iter()
        .flat_map_iter(|method| {
            let others = others.as_ref().filter(|_| is_asked(*method));
            let asking = others.and_then(|others| Some((rules::Asking::of(whole, others, *method)?, others)));
            let torn = asking.as_ref().map(|(asking, others)| rules::torn(asking, others)).unwrap_or_default();
            let early = asking.as_ref().map(|(asking, others)| evicted::told(asking, &others.fills));
            let early = early.into_iter().flatten();
            let weighed = |told: Option<Finding>, is_weak: bool| match is_weak {
                false => told,
                true => told.filter(|_| notes).map(|told| Finding { severity: Severity::Note, ..told }),
            };
            let (weak, strong): (Vec<Torn>, Vec<Torn>) =
                torn.into_iter().partition(|torn| again::is_weak(whole, *method, torn));
            let told = |torn: Vec<Torn>, is_weak: bool| {
                let all = together::together(whole, *method, torn);
                all.into_iter().filter_map(move |all| weighed(explain::torn(whole, *method, &all), is_weak))
            };
            let torn = told(strong, false).chain(told(weak, true));
            let stale = stale::stale(whole, *method);
            let stale = stale.into_iter().filter_map(|stale| {
                weighed(explain::stale(whole, *method, &stale), stale::is_weak(whole, *method, &stale))
            });
            let early = early.filter_map(|early| weighed(Some(early), again::is_large(whole, *method)));
            torn.chain(stale).chain(early).collect::<Vec<_>>()
        })
        .collect()
}

fn as_in_the_paper(whole: &Whole<'_>) -> Vec<Finding> {
    let views = paper::views(whole);
    let races = paper::races(whole, &views);
    let told = races.iter().map(|race| tell::race(whole, DETECTOR.name, &views, race));
    let escapes = paper::escapes(whole);
    told.chain(escapes.iter().filter_map(|escape| tell::escape(whole, DETECTOR.name, escape))).collect()
}
