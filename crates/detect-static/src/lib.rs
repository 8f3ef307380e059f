//! Static detectors: from a program to findings, one module per detector.
//!
//! A detector never prints, formats or reads files. It returns findings.

mod brackets;
mod causal_views;
mod detour;
mod feasible;
mod given;
mod gone;
mod lock_pattern;
mod places;
mod reply;
mod sources;
mod stale_values;
mod suspicion;
mod threads;
mod view_consistency;
mod words;

use std::cell::OnceCell;
use std::sync::Arc;

use finding::{Finding, Suspicion};
use program::{FieldId, Ground, MethodId, Program, Settings, Unreadable, Whole};
use rustc_hash::FxHashSet;

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
    /// What calls what; the detector looks into the methods that it needs. It has threads found while it does what does
    /// not need them, and summaries made while it does the rest.
    Ground(fn(&Ground<'_>, &Options, Beside<'_>) -> Checked),
    /// The whole program.
    Whole(fn(&Whole<'_>, &Options) -> Checked),
    /// The whole program, or, where only what stands out is told, the part of it that may have that: a first look tells
    /// where, and of which fields, and who else uses these and calls there is added then.
    Narrow { look: fn(&Whole<'_>) -> Vec<(MethodId, FieldId)>, check: fn(&Whole<'_>, &Options) -> Checked },
}

impl Check {
    /// What is to be done with the whole program.
    fn of_whole(&self) -> Option<fn(&Whole<'_>, &Options) -> Checked> {
        match self {
            Check::Ground(_) => None,
            Check::Whole(check) | Check::Narrow { check, .. } => Some(*check),
        }
    }
}

/// Something that is to be done beside something else: neither keeps all cores busy all the time. It asks for threads, so
/// that nobody may be finding them: whoever waits for that keeps others waiting, or waits for himself.
type Beside<'b> = Box<dyn FnOnce() + Send + 'b>;

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
    check_keeping(program, detectors, options, &Model::default())
}

/// The model of a program, as far as a check needed it.
#[derive(Default)]
pub struct Model<'p> {
    ground: OnceCell<Arc<Ground<'p>>>,
    whole: OnceCell<Whole<'p>>,
}

/// The same; the model of the program stays with the caller. To take it apart costs time that one who is about to end need
/// not spend.
pub fn check_keeping<'p>(
    program: &'p Program,
    detectors: &[&Detector],
    options: impl Into<Options>,
    model: &Model<'p>,
) -> Checked {
    run(program, detectors, &options.into(), true, model)
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
    let model = Model::default();
    // A run is asked about more than what stands out.
    let checked = run(program, detectors, &options, false, &model);
    let whole = model.whole.get_or_init(|| Whole::of(program, options.settings.clone()));
    let told = checked.findings.iter().filter_map(|finding| suspicion::of(whole, finding, true));
    // What is not told has to run.
    let mut suspicions = detour::with_detours(whole, told.collect());
    let (weak, doubtful) = (finding::merge(stale_values::weak(whole)), finding::merge(stale_values::doubtful(whole)));
    let weak = weak.iter().filter_map(|finding| suspicion::of(whole, finding, true));
    let doubtful = doubtful.iter().filter_map(|finding| suspicion::of(whole, finding, false));
    suspicions.extend(weak.chain(doubtful).map(|asked| asked.suspicion));
    Suspected { checked, suspicions }
}

fn run<'p>(
    program: &'p Program,
    detectors: &[&Detector],
    options: &Options,
    may_be_narrow: bool,
    model: &Model<'p>,
) -> Checked {
    let mut all = Checked::default();
    let ground = model.ground.get_or_init(|| Arc::new(Ground::of(program, options.settings.clone())));
    let mut add = |checked: Checked| {
        all.findings.extend(checked.findings);
        all.unreadable.extend(checked.unreadable);
    };
    let needs_whole = detectors.iter().any(|detector| detector.check.of_whole().is_some());
    let is_narrow = may_be_narrow
        && ground.is_narrow()
        && !(options.notes || options.settings.strict || options.settings.paper)
        && !detectors.iter().any(|detector| matches!(detector.check, Check::Whole(_)));
    if needs_whole {
        ground.expect_summaries(is_narrow);
    }
    let mut made: Option<Whole<'p>> = None;
    let mut beside: Beside<'_> = Box::new(|| made = needs_whole.then(|| Whole::on(ground.clone())));
    for detector in detectors {
        if let Check::Ground(check) = detector.check {
            add(check(ground, options, std::mem::replace(&mut beside, Box::new(|| ()))));
        }
    }
    beside();
    let whole = made.map(|mut made| {
        if is_narrow {
            let looks = detectors.iter().filter_map(|detector| match detector.check {
                Check::Narrow { look, .. } => Some(look(&made)),
                Check::Ground(_) | Check::Whole(_) => None,
            });
            let (methods, fields): (Vec<MethodId>, FxHashSet<FieldId>) = looks.flatten().unzip();
            made.add_users(&methods, &fields);
        }
        model.whole.get_or_init(|| made)
    });
    for detector in detectors {
        if let (Some(check), Some(whole)) = (detector.check.of_whole(), whole) {
            add(check(whole, options));
        }
    }
    all.findings = finding::merge(all.findings);
    all.unreadable.sort_by_key(|unreadable| unreadable.method);
    all.unreadable.dedup_by_key(|unreadable| unreadable.method);
    all
}
