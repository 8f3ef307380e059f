//! `fissure run`: runs a program, and analyses what it does while it does it.
//!
//! Each JVM of the program asks for a plan before its classes load. The answer comes from a check of its class path: what
//! the code makes suspect is what is watched. Its events are then read as they are written, on a thread of its own.

mod judge;
mod plan;
mod summary;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use detect_dynamic::{Options, Refinement};
use finding::{Evidence, Finding};
use report::Report;

use crate::analyze::{RefinementArg, without};
use crate::args::{OutputArgs, SettingArgs};
use crate::folder::Folder;
use crate::launch::{Launched, WatchArgs};
use crate::output;
use crate::sources::SourceRoots;
use plan::UnitsArg;
use summary::Summary;
use watch::{Watch, Watched};

/// The exit code for findings in a program that itself ended well.
const FINDINGS: u8 = 66;

/// How often new JVMs are looked for.
const PAUSE: Duration = Duration::from_millis(5);

/// Bytes of records that may wait to be judged; then the program waits.
const BACKLOG: u64 = 1 << 30;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Show findings with at least this evidence; what the code alone makes suspect is `pattern`
    #[arg(long, value_name = "EVIDENCE", default_value = "predicted")]
    min_evidence: EvidenceArg,

    /// What ought to be atomic; anything but `inferred` is judged by `reduction`, `serializability` and `hybrid`
    #[arg(long, value_name = "UNITS", default_value = "inferred")]
    units: UnitsArg,

    /// Let `reduction` do without this refinement, which means more warnings; may be repeated
    #[arg(long, value_name = "REFINEMENT")]
    without: Vec<RefinementArg>,

    /// Let `reduction` never judge an access again and `hybrid` go by pairs of conflict edges, as in the papers they come from
    #[arg(long)]
    paper: bool,

    /// Keep what is known of the run within so many megabytes; beyond, old knowledge is given up, which is told
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..))]
    max_memory: u32,

    /// A folder for answers about class paths, made if it is missing; the same classes and settings are not checked again
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Where sources are: the folder that holds the top packages; may be repeated
    #[arg(long = "source-root", value_name = "DIR")]
    source_roots: Vec<PathBuf>,

    #[command(flatten)]
    settings: SettingArgs,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// The program and its arguments: `java ...`, or whatever ends in Java
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EvidenceArg {
    Pattern,
    Predicted,
    Observed,
}

impl EvidenceArg {
    fn evidence(self) -> Evidence {
        match self {
            EvidenceArg::Pattern => Evidence::Pattern,
            EvidenceArg::Predicted => Evidence::Predicted,
            EvidenceArg::Observed => Evidence::Observed,
        }
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let sources = SourceRoots::given(&args.source_roots)?;
    let expected = args.output.baseline.read()?;
    let folder = Folder::temporary()?;
    let mut options = args.watch.options(folder.path());
    options.waits_for_plan = true;
    // Else the recorder does not tell of locks that are taken again.
    options.no_filter |= without(&args.without).contains(Refinement::ReentrantLocks);
    options.backlog = BACKLOG;
    let mut launched = Launched::start(&args.command, &options)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut watching: Vec<JoinHandle<Result<Watched>>> = Vec::new();
    loop {
        // Asked first, so that no JVM comes after the last look.
        let is_running = launched.is_running()?;
        for jvm in launched.new_recordings()? {
            let watch = Watch {
                folder: jvm,
                settings: args.settings.settings(),
                assume: args.settings.assume.clone(),
                cache: args.cache.clone(),
                max_memory: args.max_memory,
                units: args.units,
                options: Options {
                    without: without(&args.without),
                    paper: args.paper,
                    // The other half is for all else.
                    most_bytes: Some((args.max_memory as usize) << 19),
                    ..Options::default()
                },
                is_over: Arc::clone(&is_over),
            };
            watching.push(thread::spawn(move || watch.run()));
        }
        if !is_running {
            break;
        }
        thread::sleep(PAUSE);
    }
    is_over.store(true, Ordering::SeqCst);
    let mut watched = Vec::new();
    for one in watching {
        watched.push(one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }

    let mut summary = Summary::default();
    let mut findings: Vec<Finding> = Vec::new();
    for one in watched {
        findings.extend(summary.take(one));
    }
    let findings = finding::merge(findings);
    let least = args.min_evidence.evidence();
    let (shown, rest): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.evidence >= least);
    let (shown, baseline) = expected.divide(shown)?;
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        inputs: summary.inputs(),
        run: Some(summary.run()),
        findings: &shown,
        baseline,
    };
    // The application's own output stays its own: what is said here goes to the other stream, or into a file.
    let palette = output::palette(true);
    let text = args.output.format.0.render(&report, &sources, palette);
    match &args.output.output {
        Some(path) => output::write_file(path, &text)?,
        None => output::print_apart(&text)?,
    }
    for line in summary.lines(rest.len(), least) {
        output::complain(&line);
    }
    Ok(ExitCode::from(match launched.exit_code() {
        0 if !shown.is_empty() => FINDINGS,
        code => code,
    }))
}
