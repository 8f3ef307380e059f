//! Static detectors: from a program to findings, one module per detector.
//!
//! A detector never prints, formats or reads files. It returns findings.

mod brackets;
mod causal_views;
mod detour;
mod gone;
mod lock_pattern;
mod places;
mod sources;
mod stale_values;
mod suspicion;
mod threads;
mod view_consistency;
mod words;

use std::cell::OnceCell;
use std::sync::Arc;

use finding::{Finding, Suspicion};
use program::{Ground, Program, Settings, Unreadable, Whole};

pub use lock_pattern::Options as LockPatternOptions;

/// One algorithm that looks for one or more rules.
pub struct Detector {
    /// What users write after `--detector`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Whether `check` runs it unless told otherwise.
    pub default: bool,
    check: Check,
}

/// What a detector looks at.
enum Check {
    /// What calls what; the detector looks into the methods that it needs. What it returns is left to do, and may be
    /// done while summaries are made.
    Ground(for<'g> fn(&'g Ground<'g>, &'g Options) -> Rest<'g>),
    /// The whole program.
    Whole(fn(&Whole<'_>, &Options) -> Checked),
}

type Rest<'g> = Box<dyn FnOnce() -> Checked + Send + 'g>;

/// How to check.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// What is assumed of the program.
    pub settings: Settings,
    pub lock_pattern: LockPatternOptions,
    /// Tell as notes what nobody can break today, or what little speaks for.
    pub notes: bool,
}

impl From<Settings> for Options {
    fn from(settings: Settings) -> Options {
        Options { settings, ..Options::default() }
    }
}

/// What came of a check.
#[derive(Default)]
pub struct Checked {
    pub findings: Vec<Finding>,
    /// Methods that could not be looked at, each once.
    pub unreadable: Vec<Unreadable>,
}

/// All detectors, in the order in which a newcomer should read them.
pub static DETECTORS: &[Detector] =
    &[stale_values::DETECTOR, causal_views::DETECTOR, lock_pattern::DETECTOR, view_consistency::DETECTOR];

/// Runs the detectors and joins what they found into one finding per mistake, in report order.
pub fn check(program: &Program, detectors: &[&Detector]) -> Checked {
    check_with(program, detectors, Options::default())
}

/// The same with other assumptions about the program.
pub fn check_with(program: &Program, detectors: &[&Detector], options: impl Into<Options>) -> Checked {
    check_keeping(program, detectors, options, &OnceCell::new())
}

/// The same; the model of the program, if it was needed, stays with the caller. To take it apart costs time that one who
/// is about to end need not spend.
pub fn check_keeping<'p>(
    program: &'p Program,
    detectors: &[&Detector],
    options: impl Into<Options>,
    whole: &OnceCell<Whole<'p>>,
) -> Checked {
    run(program, detectors, &options.into(), whole)
}

/// A check, and what a run could say about it.
pub struct Suspected {
    pub checked: Checked,
    /// What a run can support: the findings of the check, and what would be findings if more threads met than the code
    /// shows.
    pub suspicions: Vec<Suspicion>,
}

/// Checks, and asks what a run would have to show.
pub fn suspect(program: &Program, detectors: &[&Detector], options: impl Into<Options>) -> Suspected {
    let options = options.into();
    let whole = OnceCell::new();
    let checked = run(program, detectors, &options, &whole);
    let whole = whole.get_or_init(|| Whole::of(program, options.settings.clone()));
    let told = checked.findings.iter().filter_map(|finding| suspicion::of(whole, finding, true));
    // What is not told has to run.
    let mut suspicions = detour::with_detours(whole, told.collect());
    let (weak, doubtful) = (finding::merge(stale_values::weak(whole)), finding::merge(stale_values::doubtful(whole)));
    let weak = weak.iter().filter_map(|finding| suspicion::of(whole, finding, true));
    let doubtful = doubtful.iter().filter_map(|finding| suspicion::of(whole, finding, false));
    suspicions.extend(weak.chain(doubtful).map(|asked| asked.suspicion));
    Suspected { checked, suspicions }
}

fn run<'p>(program: &'p Program, detectors: &[&Detector], options: &Options, whole: &OnceCell<Whole<'p>>) -> Checked {
    let mut all = Checked::default();
    let ground = Arc::new(Ground::of(program, options.settings.clone()));
    let mut add = |checked: Checked| {
        all.findings.extend(checked.findings);
        all.unreadable.extend(checked.unreadable);
    };
    let needs_whole = detectors.iter().any(|detector| matches!(detector.check, Check::Whole(_)));
    if needs_whole {
        ground.expect_summaries();
    }
    let begun = detectors.iter().filter_map(|detector| match detector.check {
        Check::Ground(check) => Some(check(&ground, options)),
        Check::Whole(_) => None,
    });
    let begun: Vec<Rest<'_>> = begun.collect();
    // Neither keeps all cores busy all the time. Making summaries asks for no threads, which the others may be finding.
    let (checked, made) = rayon::join(
        || begun.into_iter().map(|rest| rest()).collect::<Vec<_>>(),
        || needs_whole.then(|| Whole::on(ground.clone())),
    );
    checked.into_iter().for_each(&mut add);
    let whole = made.map(|made| whole.get_or_init(|| made));
    for detector in detectors {
        if let (Check::Whole(check), Some(whole)) = (&detector.check, whole) {
            add(check(whole, options));
        }
    }
    all.findings = finding::merge(all.findings);
    all.unreadable.sort_by_key(|unreadable| unreadable.method);
    all.unreadable.dedup_by_key(|unreadable| unreadable.method);
    all
}
