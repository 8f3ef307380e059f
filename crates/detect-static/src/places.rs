//! Places in code, as findings name them.

use location::{MethodName, Place, Site};
use program::outline::EventId;
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

    /// Where in this method an event happens.
    pub(crate) fn event(&self, event: EventId) -> Place {
        let outline = self.whole.summaries.outline(self.method);
        let (pc, line) = outline
            .and_then(|outline| outline.events.get(event.index()))
            .map_or((0, None), |event| (event.pc, event.line));
        self.place(self.whole.program.method_name(self.method), pc, line)
    }

    /// Where in this method a section begins: there, or at the call that leads to it.
    pub(crate) fn section(&self, section: &SummarySection) -> Place {
        match section.call {
            Some(call) => self.event(call),
            None => self.spot(&section.spot),
        }
    }

    pub(crate) fn spot(&self, spot: &Spot) -> Place {
        self.place(spot.method, spot.pc, spot.line)
    }

    pub(crate) fn place(&self, method: MethodName, pc: u32, line: Option<u32>) -> Place {
        let program = self.whole.program;
        let file = program.class(method.class).and_then(|class| program.header(class).source_file);
        program.names.place(Site { method, pc, file, line })
    }
}
