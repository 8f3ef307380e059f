//! What a trace does not order: a plain detector of races, to see that a recording has every order that the run had.

use std::collections::{BTreeMap, BTreeSet};

type Clock = BTreeMap<String, u64>;

fn join(clock: &mut Clock, other: &Clock) {
    for (thread, time) in other {
        let mine = clock.entry(thread.clone()).or_default();
        *mine = (*mine).max(*time);
    }
}

/// The last accesses to a variable: the write, and each thread's read since.
#[derive(Default)]
struct Variable {
    write: Option<(String, u64)>,
    reads: BTreeMap<String, u64>,
}

/// Variables with accesses that nothing orders, and the threads that make them, from a trace as text.
pub(crate) fn races(text: &str) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut clocks: BTreeMap<String, Clock> = BTreeMap::new();
    let mut channels: BTreeMap<String, Clock> = BTreeMap::new();
    let mut variables: BTreeMap<String, Variable> = BTreeMap::new();
    let mut races: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let (thread, operation) = (fields[0].to_owned(), fields[1]);
        let (name, rest) = operation.split_once('(').unwrap_or((operation, ")"));
        let subject = rest[..rest.rfind(')').unwrap_or(rest.len())].to_owned();
        let mut clock = clocks.remove(&thread).unwrap_or_else(|| Clock::from([(thread.clone(), 1)]));
        match name {
            "r" | "w" => {
                let variable = variables.entry(subject.clone()).or_default();
                let now = clock.get(&thread).copied().unwrap_or_default();
                let mut after = |other: &str, time: u64| {
                    if clock.get(other).is_none_or(|seen| *seen < time) {
                        races.entry(subject.clone()).or_default().insert((other.to_owned(), thread.clone()));
                    }
                };
                if let Some((other, time)) = &variable.write {
                    after(other, *time);
                }
                if name == "w" {
                    variable.reads.iter().for_each(|(other, time)| after(other, *time));
                    variable.write = Some((thread.clone(), now));
                    variable.reads.clear();
                } else {
                    variable.reads.insert(thread.clone(), now);
                }
            }
            "fork" => {
                let child = clocks.entry(subject.clone()).or_insert_with(|| Clock::from([(subject.clone(), 1)]));
                join(child, &clock);
            }
            "join" => {
                if let Some(child) = clocks.get(&subject) {
                    join(&mut clock, child);
                }
            }
            _ => {
                let channel = channels.entry(subject.clone()).or_default();
                if matches!(name, "acq" | "acqs" | "wacq" | "leave" | "vr" | "vu" | "ar" | "au" | "mr" | "mu") {
                    join(&mut clock, channel);
                }
                if matches!(name, "rel" | "wrel" | "rels" | "arrive" | "vw" | "vu" | "aw" | "au" | "mw" | "mu") {
                    join(channel, &clock);
                }
            }
        }
        *clock.entry(thread.clone()).or_default() += 1;
        clocks.insert(thread, clock);
    }
    races
}
