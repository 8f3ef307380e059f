//! Events to findings: the dynamic detectors.
//!
//! A detector takes one event after the other, in an order that the run had, and keeps only what it needs to judge what
//! is still to come. It knows neither JVM nor files: an event stream is an event stream, from a file, a pipe or a test.

mod assumptions;
mod clock;
mod feed;
mod filter;
mod hybrid;
mod lockset;
mod pairs;
mod places;
#[cfg(test)]
mod random;
mod reduction;
mod serializability;
mod units;

pub use assumptions::{Assumed, Assumptions};
pub use feed::{feed, feed_with_tables};
pub use filter::Filter;
pub use pairs::{Answered, COMMIT_NODES, Pairs};
pub use reduction::{Refinement, Without};
pub use units::Units;

use finding::Finding;
use trace::{Event, Tables};

/// How many events' variables are fetched at once: few enough to stay in the nearest cache until they are used.
const AHEAD: usize = 64;

/// One run of one algorithm over one trace.
pub trait Detector {
    fn on_event(&mut self, event: &Event);

    /// Looks at what the next events are about without judging them, so that it is near when they are.
    fn fetch(&self, _events: &[Event]) {}

    /// The events of a batch, one by one.
    fn on_events(&mut self, events: &[Event]) {
        for some in events.chunks(AHEAD) {
            self.fetch(some);
            for event in some {
                self.on_event(event);
            }
        }
    }

    /// Takes something for granted that the next events are about. What it means is the detector's business.
    fn assume(&mut self, _assumed: Assumed) {}

    /// After the last event: whether this detector wants to see all of them once more, to say all that it could. Who can
    /// read the trace but once does not ask.
    fn look_again(&mut self) -> bool {
        false
    }

    /// After the last event, before [`Detector::finish`]: what has to be known along with the findings, as what was given up
    /// or taken for granted. One line each, lower case, no full stop.
    fn conclude(&mut self, _tables: &Tables) -> Vec<String> {
        Vec::new()
    }

    /// Judges what was open when the trace ended, and says all that was found. `tables` are those of the whole trace.
    fn finish(self: Box<Self>, tables: &Tables) -> Vec<Finding>;
}

/// What a user can choose.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// A release of a lock comes before the next acquire, as a write comes before the next read.
    pub lock_conflicts: bool,
    /// `reduction`: refinements to leave out.
    pub without: Without,
    /// `reduction`: never judge an access again that was judged before. `hybrid`: pairs of conflict edges.
    pub paper: bool,
    /// `hybrid`: bytes that what it keeps may take, about. Beyond, it judges what it has and gives it up.
    pub most_bytes: Option<usize>,
}

/// An algorithm that can be chosen by name.
pub struct DetectorKind {
    pub id: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Whether it runs if none is chosen.
    pub default: bool,
    pub start: fn(&Options) -> Box<dyn Detector>,
}

/// All of them, in the order in which a newcomer should read them.
pub static DETECTORS: &[DetectorKind] =
    &[reduction::REDUCTION, serializability::SERIALIZABILITY, hybrid::HYBRID, hybrid::PURELY_DYNAMIC];
