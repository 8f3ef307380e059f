//! Units that a rule finds in the events: critical sections, and where units end that nobody drew.
//!
//! Whoever starts or joins a thread, meets others at a barrier or waits, does not mean what comes before and after to be
//! one step. So units that were chosen by a rule end there and begin anew; units that somebody drew do not come here.

use trace::{Action, ActivationId, BranchId, Cause, Event, Ran, SiteId, StackId, UnitId};

use crate::lockset::Holds;

/// Adds the begins and ends of units to a stream of events.
#[derive(Default)]
pub struct Units {
    /// Whether sections are units, and units end where threads meet.
    is_given: bool,
    threads: Vec<Thread>,
    /// Units that were begun.
    begun: u64,
}

#[derive(Default)]
struct Thread {
    holds: Holds,
    held: u32,
    open: Vec<Open>,
    /// Branches of speculated arms that are open, and of arms inside them: what is taken there is not held.
    speculated: Vec<BranchId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    unit: UnitId,
    activation: ActivationId,
    site: SiteId,
    stack: StackId,
}

impl Units {
    /// The unit that sections belong to.
    const SECTION: UnitId = UnitId(0);

    /// The units of the trace as they are: somebody drew them.
    pub fn given() -> Units {
        Units { is_given: true, ..Units::default() }
    }

    /// How many were begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Appends the event with all that begins or ends around it.
    pub fn add(&mut self, event: &Event, out: &mut Vec<Event>) {
        if self.is_given {
            self.begun += u64::from(matches!(event.action, Action::UnitBegin { .. }));
            out.push(*event);
            return;
        }
        if event.thread.index() >= self.threads.len() {
            self.threads.resize_with(event.thread.index() + 1, Thread::default);
        }
        let thread = &mut self.threads[event.thread.index()];
        if thread.is_speculated(&event.action) {
            out.push(*event);
            return;
        }
        let with = |action: Action| Event { action, ..*event };
        match event.action {
            Action::Acquire { lock, mode, cause, .. } => {
                let is_free = thread.held == 0;
                thread.held += u32::from(thread.holds.acquire(lock, mode, cause));
                if cause == Cause::Wait {
                    out.push(*event);
                    thread.begin_again(event, out);
                    return;
                }
                if is_free {
                    let (site, stack) = (event.site, event.stack);
                    thread.open.push(Open { unit: Units::SECTION, activation: ActivationId(0), site, stack });
                    out.push(with(Action::UnitBegin { unit: Units::SECTION, activation: ActivationId(0) }));
                    self.begun += 1;
                }
                out.push(*event);
            }
            Action::Release { lock, mode, cause } => {
                let is_let_go = thread.holds.release(lock, mode, cause) == Some(true);
                thread.held = thread.held.saturating_sub(u32::from(is_let_go));
                if cause == Cause::Wait {
                    thread.end_all(event, out);
                    out.push(*event);
                    return;
                }
                out.push(*event);
                if is_let_go
                    && thread.held == 0
                    && let Some(index) = thread.open.iter().rposition(|open| open.unit == Units::SECTION)
                {
                    thread.open.remove(index);
                    out.push(with(Action::UnitEnd { unit: Units::SECTION }));
                }
            }
            Action::UnitBegin { unit, activation } => {
                thread.open.push(Open { unit, activation, site: event.site, stack: event.stack });
                self.begun += 1;
                out.push(*event);
            }
            Action::UnitEnd { unit } => {
                if let Some(index) = thread.open.iter().rposition(|open| open.unit == unit) {
                    thread.open.remove(index);
                }
                out.push(*event);
            }
            Action::Start { .. } | Action::Join { .. } | Action::Arrive { .. } | Action::Leave { .. } => {
                thread.end_all(event, out);
                out.push(*event);
                thread.begin_again(event, out);
            }
            Action::ThreadEnd | Action::Lost { .. } => {
                *thread = Thread::default();
                out.push(*event);
            }
            _ => out.push(*event),
        }
    }
}

impl Thread {
    /// Keeps the speculated arms, and says whether the event belongs to one.
    fn is_speculated(&mut self, action: &Action) -> bool {
        match *action {
            Action::ArmBegin { branch, arm: _, ran } => {
                let is_speculated = ran == Ran::Speculated || !self.speculated.is_empty();
                self.speculated.extend(is_speculated.then_some(branch));
                is_speculated
            }
            Action::ArmEnd { branch } => {
                let index = self.speculated.iter().rposition(|open| *open == branch);
                index.into_iter().for_each(|index| self.speculated.truncate(index));
                index.is_some()
            }
            Action::ThreadEnd | Action::Lost { .. } => false,
            _ => !self.speculated.is_empty(),
        }
    }

    fn end_all(&self, event: &Event, out: &mut Vec<Event>) {
        let ends = self.open.iter().rev().map(|open| Action::UnitEnd { unit: open.unit });
        out.extend(ends.map(|action| Event { action, ..*event }));
    }

    fn begin_again(&self, event: &Event, out: &mut Vec<Event>) {
        out.extend(self.open.iter().map(|open| Event {
            thread: event.thread,
            site: open.site,
            stack: open.stack,
            action: Action::UnitBegin { unit: open.unit, activation: open.activation },
        }));
    }
}

#[cfg(test)]
mod tests {
    use trace::Reader;

    use super::*;

    fn with_units(text: &str) -> String {
        let mut reader = Reader::new(text.as_bytes()).expect("it is text");
        let mut units = Units::default();
        let (mut batch, mut out) = (Vec::new(), Vec::new());
        while reader.next(&mut batch).is_ok() && !batch.is_empty() {
            batch.iter().for_each(|event| units.add(event, &mut out));
        }
        let shown = out.iter().map(|event| match event.action {
            Action::UnitBegin { unit, .. } => format!("begin{}", unit.0),
            Action::UnitEnd { unit } => format!("end{}", unit.0),
            Action::Acquire { .. } => "acq".to_owned(),
            Action::Release { .. } => "rel".to_owned(),
            Action::Start { .. } => "start".to_owned(),
            _ => "other".to_owned(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_outermost_section_is_a_unit() {
        let text = "A|acq(l)|\nA|acq(m)|\nA|rel(m)|\nA|acq(l)|\nA|rel(l)|\nA|rel(l)|\n";
        assert_eq!(with_units(text), "begin0 acq acq rel acq rel rel end0");
    }

    #[test]
    fn what_did_not_run_is_no_unit() {
        let text = "A|spec(1:0)|\nA|acq(l)|\nA|rel(l)|\nA|merge(1)|\nA|acq(l)|\nA|rel(l)|\n";
        assert_eq!(with_units(text), "other acq rel other begin0 acq rel end0");
    }

    #[test]
    fn starts_and_waits_divide_units() {
        assert_eq!(with_units("A|begin(m)|\nA|fork(B)|\nA|end(m)|\n"), "begin1 end1 start begin1 end1");
        assert_eq!(
            with_units("A|acq(l)|\nA|wrel(l)|\nA|wacq(l)|\nA|rel(l)|\n"),
            "begin0 acq end0 rel acq begin0 rel end0"
        );
    }
}
