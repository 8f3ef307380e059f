//! Places in code, as findings name them.

use location::{MethodName, Place, Site};
use program::outline::{Action, EventId};
use program::summary::{Spot, SummarySection};
use program::{MethodId, Whole};

/// Places as they are seen from one method.
pub(crate) struct Places<'p> {
    whole: &'p Whole<'p>,
    method: MethodId,
}

impl<'p> Places<'p> {
    pub(crate) fn new(whole: &'p Whole<'p>, method: MethodId) -> Places<'p> {
        Places { whole, method }
    }

    /// Where in this method an event happens, or where the method is called if nobody wrote it.
    pub(crate) fn event(&self, event: EventId) -> Place {
        let (pc, line) = self.position(event);
        self.place(self.whole.program.method_name(self.method), pc, line)
    }

    /// Where in this method a section begins: there, or at the call that leads to it.
    pub(crate) fn section(&self, section: &SummarySection) -> Place {
        match section.call {
            Some(call) => {
                let (pc, line) = self.position(call);
                self.site(self.whole.program.method_name(self.method), pc, line)
            }
            None => self.site(section.spot.method, section.spot.pc, section.spot.line),
        }
    }

    pub(crate) fn spot(&self, spot: &Spot) -> Place {
        self.place(spot.method, spot.pc, spot.line)
    }

    pub(crate) fn place(&self, method: MethodName, pc: u32, line: Option<u32>) -> Place {
        match self.call_of_accessor(method) {
            Some((caller, pc, line)) => self.site(caller, pc, line),
            None => self.site(method, pc, line),
        }
    }

    fn position(&self, event: EventId) -> (u32, Option<u32>) {
        let outline = self.whole.summaries.outline(self.method);
        let event = outline.and_then(|outline| outline.events.get(event.index()));
        event.map_or((0, None), |event| (event.pc, event.line))
    }

    /// Where an accessor is called that a compiler made for a class beside: its own line is that of the class, and says
    /// nothing. Of several calls the first.
    fn call_of_accessor(&self, name: MethodName) -> Option<(MethodName, u32, Option<u32>)> {
        let program = self.whole.program;
        let accessor = program.accessor(name)?;
        self.whole.calls.callers(accessor).iter().find_map(|caller| {
            let events = &self.whole.summaries.outline(*caller)?.events;
            let is_call = |action: &Action| matches!(action, Action::Call { method, .. } if *method == name);
            let call = events.iter().find(|event| is_call(&event.action))?;
            Some((program.method_name(*caller), call.pc, call.line))
        })
    }

    fn site(&self, method: MethodName, pc: u32, line: Option<u32>) -> Place {
        let program = self.whole.program;
        let file = program.class(method.class).and_then(|class| program.header(class).source_file);
        program.names.place(Site { method, pc, file, line })
    }
}
