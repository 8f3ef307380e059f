//! Several variables that one method tears apart are told once: of five values that come together there are ten pairs,
//! and one lock, held once, mends them all.
//!
//! Pairs belong together if they have an access in common and one other method touches all of it in a section. The pair
//! that is told is the widest, from the first of all accesses to the last.

use std::cmp::Reverse;

use program::summary::{AccessId, Summary};
use program::{MethodId, Whole};

use super::rules::Torn;
use super::views::common;

/// A pair, and what else is torn apart with it.
pub(super) struct Together {
    pub(super) torn: Torn,
    /// In the order of code.
    pub(super) also: Vec<AccessId>,
}

pub(super) fn together(whole: &Whole<'_>, method: MethodId, torn: Vec<Torn>) -> Vec<Together> {
    let Some(summary) = whole.summaries.summary(method) else { return Vec::new() };
    let mut groups: Vec<Vec<Torn>> = Vec::new();
    for torn in torn {
        let belongs = |known: &Torn| is_of_one_kind(whole, known, &torn) && shares_access(known, &torn);
        // A pair may be what two groups have in common.
        let (mut joined, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group: &Vec<Torn>| group.iter().any(belongs));
        let mut group: Vec<Torn> = joined.drain(..).flatten().collect();
        group.push(torn);
        groups = apart;
        groups.push(group);
    }
    groups.into_iter().filter_map(|group| widest(summary, &group)).collect()
}

/// Whether what two pairs are torn apart for is one section elsewhere.
fn is_of_one_kind(whole: &Whole<'_>, one: &Torn, other: &Torn) -> bool {
    let is_pair = |torn: &Torn| torn.other.first != torn.other.second;
    let shares_section = || {
        let Some(summary) = whole.summaries.summary(one.other.method) else { return false };
        let section = |torn: &Torn| {
            let [first, second] = [torn.other.first, torn.other.second].map(|id| &summary.accesses[id.index()]);
            common(first, second)
        };
        !section(one).intersection(section(other)).is_empty()
    };
    one.kind == other.kind
        && one.other.method == other.other.method
        && is_pair(one)
        && is_pair(other)
        && shares_section()
}

fn shares_access(one: &Torn, other: &Torn) -> bool {
    [one.first, one.second].iter().any(|access| [other.first, other.second].contains(access))
}

fn widest(summary: &Summary, group: &[Torn]) -> Option<Together> {
    let event = |access: AccessId| summary.accesses[access.index()].event;
    let ends = |torn: &Torn| {
        let (one, other) = (event(torn.first), event(torn.second));
        (one.min(other), Reverse(one.max(other)))
    };
    let torn = *group.iter().min_by_key(|torn| ends(torn))?;
    let mut also: Vec<AccessId> = group.iter().flat_map(|torn| [torn.first, torn.second]).collect();
    also.retain(|access| ![torn.first, torn.second].contains(access));
    also.sort_by_key(|access| (event(*access), *access));
    also.dedup();
    Some(Together { torn, also })
}
