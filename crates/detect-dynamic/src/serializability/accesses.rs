//! Reads and writes, and the edges that they make.

use trace::{Access, Interval, VariableId};

use super::paths::{Deed, Via};
use super::rules::{Engine, Here};
use super::state::{Mark, Timed};
use super::variables::Variable;

impl Engine {
    /// Edge: last write → read.
    #[inline(always)]
    pub(super) fn read(&mut self, here: Here, variable: VariableId) {
        let mark = Mark::new(here.slot, here.moment);
        let Some(place) = self.variables.find(variable) else {
            if self.reach.matters(mark) {
                let entry = Variable { reader: mark, reader_site: here.site, ..Variable::UNTOUCHED };
                self.variables.add(variable, entry, &self.reach);
            }
            return;
        };
        let state = *self.variables.at(place);
        if state.reader.slot() == here.slot && state.reader != Mark::NONE {
            // A repeated read: no write since, so nothing new can come in.
            let state = self.variables.at_mut(place);
            state.reader = mark;
            state.reader_site = here.site;
            return;
        }
        let crowd = state.reader.as_crowd();
        if crowd.is_some_and(|number| self.variables.repeat_in_crowd(number, mark, here.site)) {
            return;
        }
        if state.writer.slot() != here.slot && self.reach.matters(state.writer) {
            self.edge_from(state.writer, state.writer_site, Deed::Write, here, Deed::Read, Via::Variable(variable));
        }
        if !self.reach.matters(mark) {
            return;
        }
        if let Some(number) = crowd {
            self.variables.join_crowd(number, mark, here.site, &self.reach);
        } else if !self.reach.matters(state.reader) {
            // A reader that cannot matter any more is as good as none.
            let state = self.variables.at_mut(place);
            state.reader = mark;
            state.reader_site = here.site;
        } else {
            let number = self.variables.new_crowd();
            self.variables.join_crowd(number, state.reader, state.reader_site, &self.reach);
            self.variables.join_crowd(number, mark, here.site, &self.reach);
            self.variables.at_mut(place).reader = Mark::crowd(number);
        }
    }

    /// Edges: last write → write, every read since → write.
    #[inline]
    pub(super) fn write(&mut self, here: Here, variable: VariableId, deed: Deed) {
        let mark = Mark::new(here.slot, here.moment);
        let entry = Variable { writer: mark, writer_site: here.site, ..Variable::UNTOUCHED };
        let Some(place) = self.variables.find(variable) else {
            if self.reach.matters(mark) {
                self.variables.add(variable, entry, &self.reach);
            }
            return;
        };
        let state = *self.variables.at(place);
        let via = Via::Variable(variable);
        if state.writer.slot() != here.slot && self.reach.matters(state.writer) {
            self.edge_from(state.writer, state.writer_site, Deed::Write, here, deed, via);
        }
        if let Some(number) = state.reader.as_crowd() {
            let crowd = self.variables.take_crowd(number);
            for &(mark, site) in &crowd {
                self.edge_from(mark, site, Deed::Read, here, deed, via);
            }
            self.variables.drop_crowd(number, crowd);
        } else if state.reader.slot() != here.slot && self.reach.matters(state.reader) {
            self.edge_from(state.reader, state.reader_site, Deed::Read, here, deed, via);
        }
        *self.variables.at_mut(place) = entry;
    }

    /// Edges: every conflicting access that was over before this one began → this one.
    pub(super) fn timed(&mut self, here: Here, variable: VariableId, access: Access, interval: Interval) {
        let writes = access.writes();
        let deed = match access {
            Access::Read => Deed::Read,
            Access::Write => Deed::Write,
            Access::Update => Deed::Update,
        };
        let (before, after) = (interval.before(), interval.after());
        let mut known = self.timed.remove(&variable).unwrap_or_default();
        for old in &known {
            if (writes || old.writes) && old.after < before {
                let from = if old.writes { Deed::Write } else { Deed::Read };
                self.edge_from(old.mark, old.site, from, here, deed, Via::Variable(variable));
            }
        }
        // Accesses come in the order of their first numbers, so what was over before a write that itself is over now
        // reaches every later access through that write. And of one thread only the last of a kind counts.
        let superseded = |old: &Timed, by: &Timed| {
            by.after < before
                && old.mark.moment() < by.mark.moment()
                && (by.writes && old.after < by.before
                    || by.mark.slot() == old.mark.slot() && (by.writes || !old.writes))
        };
        let all = known.clone();
        known.retain(|old| self.reach.matters(old.mark) && !all.iter().any(|by| superseded(old, by)));
        known.push(Timed { mark: Mark::new(here.slot, here.moment), site: here.site, writes, before, after });
        self.timed.insert(variable, known);
    }
}
