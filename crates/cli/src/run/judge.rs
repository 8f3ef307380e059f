//! What judges the events of one JVM: suspicions, or detectors of units that somebody drew or a rule finds.

use std::fs;

use detect_dynamic::{Answered, Assumptions, Detector, Pairs, Units};
use finding::{Finding, Suspicion};
use trace::{Event, Tables};

use super::plan::UnitsArg;
use super::watch::Watch;
use crate::assume::Assumed;
use crate::output;

/// What judges the events of one JVM.
pub(super) enum Judge {
    Suspicions(Box<Pairs>),
    Units(Box<UnitsJudge>),
}

/// The detectors of units that are not inferred.
pub(super) struct UnitsJudge {
    units: Units,
    detectors: Vec<Box<dyn Detector>>,
    batch: Vec<Event>,
    findings: Vec<Finding>,
    assumed: Assumed,
    assumptions: Assumptions,
    /// Bytes that the process may have.
    most: u64,
    seen: u64,
}

impl UnitsJudge {
    /// The process is measured after so many events.
    const MEASURED: u64 = 1 << 18;

    fn on_events(&mut self, events: &[Event], tables: &Tables) {
        self.batch.clear();
        events.iter().for_each(|event| self.units.add(event, &mut self.batch));
        self.assumptions.tell(&self.batch, tables, &mut self.detectors);
        self.detectors.iter_mut().for_each(|detector| detector.on_events(&self.batch));
        let before = self.seen;
        self.seen += events.len() as u64;
        if before / UnitsJudge::MEASURED == self.seen / UnitsJudge::MEASURED || self.detectors.is_empty() {
            return;
        }
        if process_bytes().is_some_and(|bytes| bytes > self.most) {
            // Half of what is known would make false findings: what is held, and by whom.
            self.judge_rest(tables);
            output::complain(&format!(
                "warning: stopped judging after {} events to keep within `--max-memory`; the rest of the run is not judged",
                self.seen
            ));
        }
    }

    fn judge_rest(&mut self, tables: &Tables) {
        let mut detectors = std::mem::take(&mut self.detectors);
        for remark in detectors.iter_mut().flat_map(|detector| detector.conclude(tables)) {
            output::complain(&format!("warning: {remark}"));
        }
        self.findings.extend(detectors.into_iter().flat_map(|detector| detector.finish(tables)));
    }
}

/// The memory that this process has, where the system tells.
fn process_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

impl Judge {
    pub(super) fn new(watch: &Watch, suspicions: Vec<Suspicion>, plan: &str) -> Judge {
        if watch.units == UnitsArg::Inferred {
            let most_records = (watch.max_memory as usize * (1 << 20)) / Pairs::RECORD_BYTES;
            return Judge::Suspicions(Box::new(Pairs::new(suspicions, most_records)));
        }
        let chosen = detect_dynamic::DETECTORS.iter().filter(|detector| detector.default);
        let detectors = chosen.map(|detector| (detector.start)(&watch.options)).collect();
        let units = match watch.units {
            UnitsArg::Annotated | UnitsArg::Configured => Units::given(),
            UnitsArg::Inferred | UnitsArg::Synch | UnitsArg::ExportSynch => Units::default(),
        };
        let most = u64::from(watch.max_memory) << 20;
        let (batch, findings) = (Vec::new(), Vec::new());
        let assumed = Assumed::from_plan(plan);
        let assumptions = assumed.assumptions();
        let judge = UnitsJudge { units, detectors, batch, findings, assumed, assumptions, most, seen: 0 };
        Judge::Units(Box::new(judge))
    }

    pub(super) fn on_events(&mut self, events: &[Event], tables: &Tables) {
        match self {
            Judge::Suspicions(pairs) => pairs.on_events(events, tables),
            Judge::Units(judge) => judge.on_events(events, tables),
        }
    }

    pub(super) fn finish(self, tables: &Tables) -> Answered {
        match self {
            Judge::Suspicions(pairs) => pairs.finish(tables),
            Judge::Units(mut judge) => {
                judge.judge_rest(tables);
                judge.findings.retain(|finding| !judge.assumed.hides(finding));
                Answered { findings: judge.findings, unsupported: 0, units: judge.units.begun(), forgot: 0 }
            }
        }
    }
}
