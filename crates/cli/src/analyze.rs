//! `fissure analyze`: a trace in, report out.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use detect_dynamic::{DETECTORS, Detector, DetectorKind, Options, Refinement, Without, feed};
use recording::{Follow, PACKED_MAGIC, Source, Unpacked};
use report::{Events, Inputs, Report, Run, Skipped};
use trace::{Action, Reader};

use crate::args::OutputArgs;
use crate::nearest::nearest;
use crate::output;
use crate::sources::SourceRoots;

const FINDINGS: u8 = 1;
const INCOMPLETE: u8 = 3;

#[derive(Args)]
pub(crate) struct AnalyzeArgs {
    /// The trace, of any form, or the folder that an agent recorded to; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Run this detector and no others; may be repeated (`fissure explain` lists them). `commit-nodes` is `hybrid` without what
    /// did not run, and is only run if it is named
    #[arg(long = "detector", value_name = "NAME")]
    detectors: Vec<String>,

    /// Count the order of critical sections on one lock as a conflict, as the literature does
    #[arg(long)]
    lock_conflicts: bool,

    /// Let `reduction` do without this refinement, which means more warnings; may be repeated. Doing without
    /// `reentrant-locks` needs a trace that was recorded with `--no-filter`
    #[arg(long, value_name = "REFINEMENT")]
    without: Vec<RefinementArg>,

    /// Let `reduction` never judge an access again and `hybrid` go by pairs of conflict edges, as in the papers they come from
    #[arg(long)]
    paper: bool,

    /// Where sources are: the folder that holds the top packages; may be repeated
    #[arg(long = "source-root", value_name = "DIR")]
    source_roots: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy)]
pub(crate) struct RefinementArg(pub(crate) Refinement);

impl ValueEnum for RefinementArg {
    fn value_variants<'a>() -> &'a [RefinementArg] {
        const VARIANTS: &[RefinementArg] = &[
            RefinementArg(Refinement::ReentrantLocks),
            RefinementArg(Refinement::ThreadLocalLocks),
            RefinementArg(Refinement::HandedOverLocks),
            RefinementArg(Refinement::ProtectedLocks),
            RefinementArg(Refinement::WriteProtectedData),
            RefinementArg(Refinement::SharingStates),
        ];
        VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.id()))
    }
}

pub(crate) fn run(args: &AnalyzeArgs) -> Result<ExitCode> {
    let detectors = select(&args.detectors)?;
    let sources = SourceRoots::given(&args.source_roots)?;
    let expected = args.output.baseline.read()?;
    let options = Options {
        lock_conflicts: args.lock_conflicts,
        without: without(&args.without),
        paper: args.paper,
        ..Options::default()
    };
    let mut reader = open(&args.file)?;
    let mut running: Vec<Box<dyn Detector>> = detectors.iter().map(|detector| (detector.start)(&options)).collect();
    let (mut given, mut seen, mut units) = (0, 0, 0);
    feed(&mut reader, |events| {
        given += events.len();
        seen += events.iter().filter(|event| !matches!(event.action, Action::Lost { .. })).count() as u64;
        units += events.iter().filter(|event| matches!(event.action, Action::UnitBegin { .. })).count() as u64;
        for detector in &mut running {
            detector.on_events(events);
        }
    })
    .with_context(|| shown(&args.file))?;
    // What comes through a pipe can be read but once.
    if args.file.is_file() || Follow::is_recording(&args.file) {
        look_again(&args.file, &mut running, given).with_context(|| shown(&args.file))?;
    }
    for remark in running.iter_mut().flat_map(|detector| detector.conclude(reader.tables())) {
        output::complain(&format!("warning: {remark}"));
    }
    let findings = running.into_iter().flat_map(|detector| detector.finish(reader.tables())).collect();
    let (findings, baseline) = expected.divide(finding::merge(findings))?;

    let skipped = lost(&args.file, &reader);
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        inputs: Inputs { skipped, ..Inputs::default() },
        run: Some(Run {
            jvms: 1,
            classes: 0,
            units,
            events: Events { seen, kept: seen, lost: reader.problems().lost_events() },
        }),
        findings: &findings,
        baseline,
    };
    args.output.write(&report, &sources)?;
    Ok(ExitCode::from(match (findings.len(), report.inputs.skipped.len()) {
        (0, 0) => 0,
        (0, _) => INCOMPLETE,
        _ => FINDINGS,
    }))
}

/// Shows the trace once more to detectors that want it, without what somebody added to it meanwhile.
fn look_again(file: &Path, detectors: &mut [Box<dyn Detector>], given: usize) -> Result<()> {
    let mut again: Vec<_> = detectors.iter_mut().filter_map(|one| one.look_again().then_some(one)).collect();
    if again.is_empty() {
        return Ok(());
    }
    let mut left = given;
    feed(&mut open(file)?, |events| {
        let events = &events[..events.len().min(left)];
        left -= events.len();
        for detector in &mut again {
            detector.on_events(events);
        }
    })?;
    Ok(())
}

pub(crate) fn without(refinements: &[RefinementArg]) -> Without {
    refinements.iter().fold(Without::default(), |without, refinement| without.and(refinement.0))
}

/// Opens a trace of any form.
pub(crate) fn open(file: &Path) -> Result<Reader<Box<dyn Read + Send>>> {
    Reader::new(input(file)?).with_context(|| shown(file))
}

/// The text or the binary form of a trace, or what becomes the binary form while it is read.
fn input(file: &Path) -> Result<Box<dyn Read + Send>> {
    let mut begun = Vec::new();
    if file == Path::new("-") {
        let mut input = std::io::stdin();
        input.by_ref().take(PACKED_MAGIC.len() as u64).read_to_end(&mut begun).context("cannot read the trace")?;
        if !Unpacked::is_one(&begun) {
            return Ok(Box::new(Cursor::new(begun).chain(input)));
        }
        // It is not read in the order in which it was written.
        input.read_to_end(&mut begun).context("cannot read the trace")?;
        return Ok(Box::new(Unpacked::new(Source::Bytes(begun)).with_context(|| shown(file))?));
    }
    if Follow::is_recording(file) {
        let follow = Follow::new(file).with_context(|| shown(file))?;
        return Ok(Box::new(follow.reader(|| false)));
    }
    let mut input = File::open(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let metadata = input.metadata().with_context(|| format!("cannot read `{}`", file.display()))?;
    if metadata.is_dir() {
        bail!("cannot read `{}`: it is a directory", file.display());
    }
    input.by_ref().take(PACKED_MAGIC.len() as u64).read_to_end(&mut begun).with_context(|| shown(file))?;
    if !Unpacked::is_one(&begun) {
        return Ok(Box::new(Cursor::new(begun).chain(input)));
    }
    let source = if metadata.is_file() {
        Source::File(input)
    } else {
        input.read_to_end(&mut begun).with_context(|| shown(file))?;
        Source::Bytes(begun)
    };
    Ok(Box::new(Unpacked::new(source).with_context(|| shown(file))?))
}

/// What of the trace could not be used, one entry a problem.
pub(crate) fn lost(file: &Path, reader: &Reader<Box<dyn Read + Send>>) -> Vec<Skipped> {
    let path = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let problems = reader.problems();
    let mut reasons: Vec<String> = problems.listed().iter().map(|problem| problem.message.clone()).collect();
    let unlisted = problems.count() - reasons.len() as u64;
    if unlisted > 0 {
        reasons.push(format!("and {unlisted} more problems"));
    }
    if reader.out_of_order() > 0 {
        reasons.push(format!(
            "the order of {} events is not known, because what they come after is missing",
            reader.out_of_order()
        ));
    }
    reasons.into_iter().map(|reason| Skipped { path: path.clone(), reason }).collect()
}

fn shown(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { format!("`{}`", file.display()) }
}

/// The detectors that were asked for, or all that run by default.
fn select(names: &[String]) -> Result<Vec<&'static DetectorKind>> {
    for name in names {
        if DETECTORS.iter().all(|detector| detector.id != *name) {
            match nearest(name, DETECTORS.iter().map(|detector| detector.id)) {
                Some(near) => bail!("there is no detector `{name}`; did you mean `{near}`?"),
                None => bail!("there is no detector `{name}`; `fissure explain` lists them"),
            }
        }
    }
    let is_chosen =
        |detector: &&DetectorKind| names.is_empty() && detector.default || names.iter().any(|name| name == detector.id);
    Ok(DETECTORS.iter().filter(is_chosen).collect())
}
