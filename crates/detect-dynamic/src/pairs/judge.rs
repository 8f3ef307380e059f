//! Units that ran, or stopped halfway, and what of the run speaks for their suspicions: at once if it can be told,
//! otherwise when the run is over.

use finding::Evidence;
use trace::{Tables, ThreadId, VariableId};

use super::records::{Access, Span};
use super::seen::{Seen, Unit};
use super::support::Support;
use super::threads::First;
use super::{Answered, Pairs, explain};

impl Pairs {
    /// A second part: with each first that waits for it a unit.
    pub(super) fn second(&mut self, thread: ThreadId, suspicion: usize, second: Access) {
        let mut units = std::mem::take(&mut self.units);
        units.clear();
        if self.suspicions[suspicion].is_split {
            units.extend(self.seen[suspicion].after_tasks(thread, second, &self.clocks));
        } else if let Some(own) = self.threads.get_mut(thread.index()) {
            self.seen[suspicion].is_divided |= own.units(suspicion, thread, second, &mut self.sets, &mut units);
        }
        self.judge(suspicion, &units);
        self.units = units;
    }

    fn judge(&mut self, suspicion: usize, units: &[Unit]) {
        if units.is_empty() {
            return;
        }
        let seen = &mut self.seen[suspicion];
        seen.units += 1;
        units.iter().for_each(|unit| seen.follow(unit));
        // Beyond, nobody counts what happens how often.
        if seen.observed < Pairs::MOST_COUNTED {
            seen.asked += 1;
            let mut is_observed = false;
            for unit in units {
                is_observed |= self.unit(suspicion, *unit) == Some(Evidence::Observed);
            }
            self.seen[suspicion].observed += u64::from(is_observed);
        }
    }

    /// First parts that no second came after: the run went another way, and the code says what it went by.
    pub(super) fn stopped(&mut self, thread: ThreadId, firsts: Vec<(usize, First)>) {
        for (number, first) in firsts {
            self.stopped_at(thread, number, first);
        }
    }

    pub(super) fn stopped_at(&mut self, thread: ThreadId, number: usize, first: First) {
        let suspicion = &self.suspicions[number];
        if first.is_followed || first.access.writes || !suspicion.is_told {
            return;
        }
        let second = if suspicion.is_one_variable {
            Access { writes: true, updates: false, ..first.access }
        } else {
            // What another execution went on to, after it had looked at the same.
            let Some(second) = self.seen[number].second_after(first.access.variable) else { return };
            second
        };
        let clock = self.clocks.now(thread);
        let filled_in = Access { moment: self.now, span: Span::NONE, clock, section: self.now, ..second };
        let held = first.held_since(&self.threads[thread.index()].holds, &mut self.sets);
        let unit = Unit { has_run: false, ..Unit::new(thread, &first, thread, filled_in, held) };
        self.unit(number, unit);
    }

    /// Asks who comes in between. What speaks for it, if something does.
    fn unit(&mut self, suspicion: usize, unit: Unit) -> Option<Evidence> {
        let seen = &self.seen[suspicion];
        // What did not run is never more than predicted.
        if !unit.has_run && seen.observed > 0 {
            return None;
        }
        if let Some(support) = self.support(&unit, suspicion) {
            self.seen[suspicion].add(support);
            return Some(support.evidence);
        }
        let seen = &mut self.seen[suspicion];
        let (first, second) = (unit.first, unit.second);
        let key = (
            unit.thread,
            first.variable,
            first.writes,
            second.variable,
            second.writes,
            unit.held,
            first.clock,
            second.clock,
            unit.has_run,
        );
        if seen.observed == 0 && seen.waiting.len() < Pairs::MOST_WAITING && seen.known.insert(key) {
            seen.waiting.push(unit);
        }
        None
    }

    /// What the run says about each suspicion, at its end.
    pub fn finish(mut self, tables: &Tables) -> Answered {
        let mut answered = Answered { findings: Vec::new(), unsupported: 0, units: 0, forgot: self.forgot };
        for number in 0..self.suspicions.len() {
            // Others may have come after the unit was over: they could have come earlier.
            let waiting = std::mem::take(&mut self.seen[number].waiting);
            let is_told = self.suspicions[number].is_told;
            // What ran goes before what was filled in.
            let (ran, filled_in): (Vec<Unit>, Vec<Unit>) = waiting.into_iter().partition(|unit| unit.has_run);
            for unit in ran.iter().chain(&filled_in) {
                if let Some(support) = self.support(unit, number) {
                    self.seen[number].add(support);
                }
            }
            self.go_other_ways(number, tables);
            if self.seen[number].supports.is_empty() {
                for unit in ran.iter().chain(&filled_in) {
                    if let Some(support) = self.rewriter(unit, number) {
                        self.seen[number].add(support);
                    }
                }
            }
            let seen = &self.seen[number];
            answered.units += seen.units;
            match self.best(seen) {
                Some(support) if support.evidence >= self.suspicions[number].least => {
                    answered.findings.push(explain::explain(&self.suspicions[number], support, seen, tables));
                }
                _ => answered.unsupported += usize::from(is_told),
            }
        }
        answered
    }

    /// The best support that stands at the end: where threads take turns, what did not happen could not.
    fn best<'s>(&self, seen: &'s Seen) -> Option<&'s Support> {
        let alike: Vec<VariableId> = seen.supports.iter().map(|support| support.unit.first.variable).collect();
        let stands = |support: &&Support| {
            let unit = &support.unit;
            support.evidence >= Evidence::Observed
                || (unit.has_run || seen.may_go_on(support))
                    && support.is_possible(&self.clocks)
                    && !self.turns.keep_apart([unit.first.variable, unit.second.variable], &alike)
        };
        // The first of the best ones.
        seen.supports.iter().filter(stands).rev().max_by_key(|support| support.rank())
    }
}
