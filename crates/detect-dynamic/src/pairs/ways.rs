//! Units that a run came near and did not go through, since a branch went another way.
//!
//! A thread is in a method whose code leads to the unit, and has its hands on the very object there: it accesses what the
//! first part would access, or takes the lock that all who do so hold. What did not run is filled in there. What was held
//! when the method was entered, and still is, would be held over the unit. If nobody had its hands on that, two threads in
//! such methods could all the same have gone on to it with one object, if both accessed what only this object has.

use std::collections::BTreeMap;

use finding::Evidence;
use rustc_hash::FxHashSet;
use trace::{Event, LockId, ObjectId, Tables, ThreadId, VariableId};

use super::Pairs;
use super::records::{Access, Held, Record, Span};
use super::seen::{Seen, Unit};
use super::support::{How, Support, is_free};
use crate::clock::Clock;

/// What came near to one suspicion.
#[derive(Default)]
pub(super) struct Ways {
    /// Different units.
    units: Vec<Unit>,
    /// Locks that were taken on the way, each with what a first part would have been but for its variable.
    taken: Vec<(LockId, Unit)>,
    /// What was accessed on the way that only the object of a unit has, each with what a first part would have been but for
    /// its variable.
    witnesses: Vec<(ObjectId, Unit)>,
    /// What anybody accessed of what the first part accesses.
    variables: FxHashSet<VariableId>,
    /// How often it was looked at.
    looked: u32,
}

impl Ways {
    /// So many different ones of each are kept, ...
    const MOST: usize = 32;
    /// ... and so often they are looked for: what came near ten thousand times does so again.
    const MOST_LOOKS: u32 = 10_000;

    pub(super) fn clocks(&self) -> impl Iterator<Item = Clock> {
        let taken = self.taken.iter().map(|(_, unit)| unit);
        let witnesses = self.witnesses.iter().map(|(_, unit)| unit);
        self.units.iter().chain(taken).chain(witnesses).map(|unit| unit.first.clock)
    }

    fn add(&mut self, unit: Unit) {
        if self.units.len() < Ways::MOST && !self.units.iter().any(|known| is_alike(known, &unit)) {
            self.units.push(unit);
        }
    }

    fn witness(&mut self, object: ObjectId, unit: Unit) {
        // Which part of the object it is says nothing.
        let of = |unit: &Unit| (unit.thread, unit.first.clock, unit.held);
        let is_known = |known: &(ObjectId, Unit)| known.0 == object && of(&known.1) == of(&unit);
        if self.witnesses.len() < Ways::MOST && !self.witnesses.iter().any(is_known) {
            self.witnesses.push((object, unit));
        }
    }

    fn take(&mut self, lock: LockId, unit: Unit) {
        let is_known = |known: &(LockId, Unit)| known.0 == lock && is_alike(&known.1, &unit);
        if self.taken.len() < Ways::MOST && !self.taken.iter().any(is_known) {
            self.taken.push((lock, unit));
        }
    }
}

fn is_alike(one: &Unit, other: &Unit) -> bool {
    let of = |unit: &Unit| (unit.thread, unit.first.variable, unit.first.clock, unit.held, unit.has_begun);
    of(one) == of(other)
}

impl Pairs {
    /// Whether somebody who came near matters: nobody has gone through a unit, nor begun one whose second part is known.
    fn asks_for_ways(&self, number: usize) -> bool {
        let (suspicion, seen) = (&self.suspicions[number], &self.seen[number]);
        let is_answered = seen.units > 0 || seen.has_begun() && suspicion.is_one_variable;
        !suspicion.detour.approaches.is_empty() && !is_answered
    }

    /// An access to what the first part of a suspicion accesses, perhaps in a method that leads to it.
    pub(super) fn touch(&mut self, thread: ThreadId, number: usize, access: Access, is_first: bool) {
        if !self.asks_for_ways(number) {
            return;
        }
        let Seen { ways, .. } = &mut self.seen[number];
        if ways.looked == Ways::MOST_LOOKS {
            return;
        }
        ways.looked += 1;
        if ways.variables.len() < Ways::MOST {
            ways.variables.insert(access.variable);
        }
        if let Some(mut unit) = self.near(thread, number, access) {
            let own = self.threads.get_mut(thread.index()).and_then(|thread| thread.open(number));
            unit.has_begun = is_first && own.is_some();
            self.seen[number].ways.add(unit);
        }
    }

    /// A lock is taken, perhaps in a method that leads to units.
    pub(super) fn take_on_the_way(&mut self, event: &Event, lock: LockId) {
        let depth = self.threads.get(event.thread.index()).map_or(0, |thread| thread.activations.len());
        for index in 0..depth {
            let entered = self.threads[event.thread.index()].activations[index].entered.clone();
            for &number in &entered.leads_to {
                if !self.asks_for_ways(number) || self.seen[number].ways.looked == Ways::MOST_LOOKS {
                    continue;
                }
                self.seen[number].ways.looked += 1;
                let access = self.taking(event);
                if let Some(unit) = self.near(event.thread, number, access) {
                    self.seen[number].ways.take(lock, unit);
                }
            }
        }
    }

    /// An access that tells which object a method has that leads to a unit.
    pub(super) fn witness(&mut self, thread: ThreadId, number: usize, access: Access, object: ObjectId) {
        if !self.asks_for_ways(number) || self.seen[number].ways.looked == Ways::MOST_LOOKS {
            return;
        }
        self.seen[number].ways.looked += 1;
        if let Some(unit) = self.near(thread, number, access) {
            self.seen[number].ways.witness(object, unit);
        }
    }

    /// The unit of a suspicion that would have begun at an access, if the thread is in a method that leads to it.
    fn near(&mut self, thread: ThreadId, number: usize, access: Access) -> Option<Unit> {
        let own = self.threads.get(thread.index())?;
        let mut activations = own.activations.iter().rev();
        let approach = activations.find(|activation| activation.entered.leads_to.contains(&number))?;
        let (any, alone) = own.holds.ever_since(approach.stamps, &mut self.sets);
        let suspicion = &self.suspicions[number];
        let is_write = suspicion.detour.is_write;
        let first = Access { writes: is_write, updates: false, span: Span::NONE, ..access };
        let second = Access { writes: is_write || suspicion.is_one_variable, ..first };
        let held = Held { any, alone };
        Some(Unit { thread, first, last_thread: thread, second, held, locks: any, has_run: false, has_begun: false })
    }

    /// At the end of a run: if nobody went through a unit, asks whether somebody could have come in between on a way that
    /// was not taken.
    pub(super) fn go_other_ways(&mut self, number: usize, tables: &Tables) {
        if !self.asks_for_ways(number) {
            return;
        }
        let Ways { mut units, taken, witnesses, variables, .. } = std::mem::take(&mut self.seen[number].ways);
        if units.is_empty() {
            for (lock, unit) in taken {
                let guarded = self.guarded_alone(lock, &variables, tables).into_iter();
                units.extend(guarded.map(|variable| Unit {
                    first: Access { variable, ..unit.first },
                    second: Access { variable, ..unit.second },
                    ..unit
                }));
            }
        }
        let conflicts: Vec<Support> = units.iter().filter_map(|unit| self.conflict(unit, true)).collect();
        let mut supports = if conflicts.is_empty() { self.rivals_near(number, &units) } else { conflicts };
        if units.is_empty() {
            supports.extend(self.rivals_with_one_object(number, &witnesses));
        }
        supports.into_iter().for_each(|support| self.seen[number].add(support));
    }

    /// Of some variables, those that all access under this lock; of several of one name nobody knows which is meant.
    fn guarded_alone(&self, lock: LockId, variables: &FxHashSet<VariableId>, tables: &Tables) -> Vec<VariableId> {
        let mut by_name: BTreeMap<String, Vec<VariableId>> = BTreeMap::new();
        let is_guarded = |variable: &&VariableId| self.sets.locks(self.index.guard(**variable)).contains(&lock);
        variables.iter().filter(is_guarded).for_each(|variable| {
            by_name.entry(tables.variable_name(*variable)).or_default().push(*variable);
        });
        by_name.into_values().filter(|alike| alike.len() == 1).flatten().collect()
    }

    /// Two threads that came near the same unit on the same variable, if the second part writes what the first one reads.
    fn rivals_near(&self, number: usize, units: &[Unit]) -> Vec<Support> {
        if !self.suspicions[number].is_one_variable {
            return Vec::new();
        }
        let supports = units.iter().filter_map(|unit| {
            let near = units.iter().filter(|other| other.first.variable == unit.first.variable);
            let mut rivals = near.map(|other| Record::new(other.thread, other.held, other.first));
            let rival = rivals.find(|rival| is_free(unit, rival, &self.clocks, &self.sets))?;
            let (evidence, how) = (Evidence::Predicted, How::Comes);
            Some(Support { unit: *unit, other: rival.thread, after: rival.first, before: None, evidence, how })
        });
        supports.collect()
    }

    /// Two threads that had the same object in methods which lead to a unit that is about it, if the second part writes what
    /// the first one reads.
    fn rivals_with_one_object(&self, number: usize, witnesses: &[(ObjectId, Unit)]) -> Option<Support> {
        if !self.suspicions[number].is_one_variable {
            return None;
        }
        witnesses.iter().find_map(|(object, unit)| {
            let near = witnesses.iter().filter(|(other, _)| other == object).map(|(_, other)| other);
            let mut rivals = near.map(|other| Record::new(other.thread, other.held, other.first));
            let rival = rivals.find(|rival| is_free(unit, rival, &self.clocks, &self.sets))?;
            let (evidence, how) = (Evidence::Predicted, How::Comes);
            Some(Support { unit: *unit, other: rival.thread, after: rival.first, before: None, evidence, how })
        })
    }
}

#[cfg(test)]
mod tests {
    use finding::{Detour, Evidence, Finding, Suspicion};

    use super::super::tests::{PREDICTED, answer, at, method, suspicion};

    /// `n` leads to `m`, which reads at offset 1 and writes at offset 2 what `look`, `set` and `m` itself touch.
    fn near(is_write: bool, is_one_variable: bool) -> Suspicion {
        let touches = vec![at("m", 1), at("look", 5), at("set", 6)];
        let approaches = vec![method("m"), method("n")];
        let detour = Detour { approaches, touches, is_write, ..Detour::default() };
        Suspicion { detour, is_one_variable, ..suspicion(&[at("m", 1)], &[at("m", 2)], true) }
    }

    fn found(text: &str) -> Option<Finding> {
        answer(text, vec![near(false, true)]).findings.pop()
    }

    fn evidence(text: &str) -> Option<Evidence> {
        found(text).map(|finding| finding.evidence)
    }

    /// Thread A comes by, and looks at something.
    const BY: &str = "A|enter(C.n:()V:1)|\nA|acq(l)|\nA|r(x)|C.look:()V@5\nA|rel(l)|\nA|exit(1)|\n";
    const OTHER: &str = "B|acq(l)|\nB|w(x)|C.set:()V@6\nB|rel(l)|\n";

    #[test]
    fn who_came_by_with_the_variable_in_hand_could_have_gone_there() {
        assert_eq!(evidence(&format!("{BY}{OTHER}")), PREDICTED);
        assert_eq!(evidence(&format!("{OTHER}{BY}")), PREDICTED);
        assert_eq!(evidence(BY), None, "nobody else");
        assert_eq!(evidence(&format!("{BY}{}", OTHER.replace("w(x)", "r(x)"))), None, "who only looks");
        assert_eq!(evidence(&format!("{BY}{}", OTHER.replace("w(x)", "w(y)"))), None, "another object");
        assert_eq!(evidence(&format!("{}{OTHER}", BY.replace("C.n", "C.o"))), None, "leads nowhere");
        assert_eq!(evidence(&format!("{OTHER}B|fork(A)|\n{BY}")), None, "before the start");
        let written = vec![near(true, true)];
        assert_eq!(answer(&format!("{BY}{}", OTHER.replace("w(x)", "r(x)")), written).findings.len(), 1, "to write it");
    }

    #[test]
    fn a_lock_that_is_held_on_the_way_keeps_out_whoever_takes_it() {
        let (by, other) = (format!("A|acq(k)|\n{BY}A|rel(k)|\n"), format!("B|acq(k)|\n{OTHER}B|rel(k)|\n"));
        assert_eq!(evidence(&format!("{by}{other}")), None);
        assert_eq!(evidence(&format!("{by}{OTHER}")), PREDICTED, "only one of them has it");
        assert_eq!(evidence(&format!("{BY}{other}")), PREDICTED, "only the other one has it");
    }

    #[test]
    fn what_ran_says_more_than_what_came_near() {
        let ran = |variable: &str| {
            format!("A|enter(C.m:()V:7)|\nA|r({variable})|C.m:()V@1\nA|w({variable})|C.m:()V@2\nA|exit(7)|\n")
        };
        assert_eq!(evidence(&format!("{}{BY}{OTHER}", ran("y"))), None, "nobody comes in between there");
        assert_eq!(evidence(&format!("{}{BY}{OTHER}", ran("x"))), PREDICTED);
        // Begun and gone another way: what the second part would have written is known only if it is the same.
        let half = "A|enter(C.m:()V:7)|\nA|r(x)|C.m:()V@1\nA|exit(7)|\n";
        let steps = |is_one_variable| answer(&format!("{half}{OTHER}"), vec![near(false, is_one_variable)]).findings;
        assert_eq!(steps(true).len(), 1);
        assert_eq!(steps(false).len(), 1, "it would have been read again");
    }

    #[test]
    fn two_who_came_by_with_the_variable_in_hand_are_rivals() {
        let rival = BY.replace("A|", "B|").replace(":1)", ":2)").replace("exit(1)", "exit(2)");
        assert_eq!(evidence(&format!("{BY}{rival}")), PREDICTED);
        assert_eq!(evidence(&format!("{BY}A|fork(B)|\n{rival}")), None, "one after the other");
        assert_eq!(evidence(&format!("{BY}{}", rival.replace("r(x)", "r(y)"))), None, "another object");
        assert_eq!(
            answer(&format!("{BY}{rival}"), vec![near(false, false)]).findings.len(),
            0,
            "it writes something else"
        );
    }

    #[test]
    fn two_who_had_the_same_object_there_are_rivals() {
        let suspicion = |is_one_variable| {
            let mut suspicion = near(false, is_one_variable);
            suspicion.detour.witnesses = vec![at("n", 9)];
            vec![suspicion]
        };
        let evidence = |text: &str| answer(text, suspicion(true)).findings.pop().map(|finding| finding.evidence);
        let by = "A|enter(C.n:()V:1)|\nA|r(C.z@1)|C.n:()V@9\nA|exit(1)|\n";
        let rival = "B|enter(C.n:()V:2)|\nB|r(C.w@1)|C.n:()V@9\nB|exit(2)|\n";
        assert_eq!(evidence(&format!("{by}{rival}")), PREDICTED, "whatever of the object they accessed");
        assert_eq!(evidence(by), None, "nobody else");
        assert_eq!(evidence(&format!("{by}{}", rival.replace("@1", "@2"))), None, "another object");
        assert_eq!(evidence(&format!("{by}{}", rival.replace("C.n", "C.o"))), None, "leads nowhere");
        assert_eq!(evidence(&format!("{by}A|fork(B)|\n{rival}")), None, "one after the other");
        let locked = |text: &str, thread: &str| format!("{thread}|acq(k)|\n{text}{thread}|rel(k)|\n");
        assert_eq!(evidence(&format!("{}{}", locked(by, "A"), locked(rival, "B"))), None, "kept out");
        assert_eq!(evidence(&format!("{}{rival}", locked(by, "A"))), PREDICTED, "only one of them has it");
        assert_eq!(answer(&format!("{by}{rival}"), suspicion(false)).findings.len(), 0, "it writes something else");
    }

    #[test]
    fn who_read_where_the_code_may_write_could_have_written() {
        let suspicion = || {
            let mut suspicion = near(false, true);
            suspicion.detour.rewrites = vec![at("sweep", 8)];
            vec![suspicion]
        };
        let evidence = |text: &str| answer(text, suspicion()).findings.pop().map(|finding| finding.evidence);
        let unit = "A|enter(C.m:()V:7)|\nA|r(x)|C.m:()V@1\nA|w(x)|C.m:()V@2\nA|exit(7)|\n";
        let sweep = "B|acq(l)|\nB|r(x)|C.sweep:()V@8\nB|rel(l)|\n";
        let told = unit.replace("A|w(x)|C.m:()V@2\n", "");
        assert_eq!(evidence(&format!("{told}{sweep}")), PREDICTED);
        assert_eq!(evidence(&format!("{told}A|fork(B)|\n{sweep}")), None, "later");
        assert_eq!(evidence(&format!("{told}{}", sweep.replace("sweep", "look"))), None, "only looks");
        assert_eq!(evidence(&format!("{told}{}", sweep.replace("r(x)", "r(y)"))), None, "another object");
        let whole = format!("A|acq(l)|\n{told}A|rel(l)|\n");
        assert_eq!(evidence(&format!("{whole}{sweep}")), None, "kept out");
    }

    #[test]
    fn who_took_the_lock_of_a_variable_had_it_in_hand() {
        let by = BY.replace("A|r(x)|C.look:()V@5\n", "A|r(z)|C.look:()V@9\n");
        assert_eq!(evidence(&format!("{by}{OTHER}")), PREDICTED);
        assert_eq!(evidence(&format!("{}{OTHER}", by.replace("(l)", "(k)"))), None, "another lock");
        let free = "C|w(x)|C.set:()V@6\n";
        assert_eq!(evidence(&format!("{by}{OTHER}{free}")), None, "a lock that not all take");
        let other = OTHER.replace("w(x)", "w(C.x@1)");
        let further = OTHER.replace("w(x)", "w(C.x@2)");
        assert_eq!(evidence(&format!("{by}{other}")), PREDICTED);
        assert_eq!(evidence(&format!("{by}{other}{further}")), None, "nobody knows which of two");
    }
}
