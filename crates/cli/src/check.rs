//! `fissure check`: class files in, report out.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use detect_static::{DETECTORS, Detector, LockPatternOptions, Model, Options};
use program::{CallGraph, Program, Unreadable};
use report::{Inputs, Report, Skipped};

use crate::args::CheckArgs;
use crate::assume::Assumed;
use crate::cache::{Answer, Cache, Key};
use crate::input::{self, InputOptions};
use crate::known;
use crate::nearest::nearest;
use crate::output::Progress;
use crate::sources::SourceRoots;

const FINDINGS: u8 = 1;
const INCOMPLETE: u8 = 3;

pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let detectors = select(&args.detectors)?;
    let sources = match args.source_roots.as_slice() {
        [] => SourceRoots::found(&args.paths),
        given => SourceRoots::given(given)?,
    };

    let expected = args.output.baseline.read()?;

    let Answer { classes, methods, jdk, skipped, missing, findings, .. } =
        with_jobs(args.jobs, || analyse(args, &detectors))??;
    let (findings, baseline) = expected.divide(findings)?;
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        inputs: Inputs {
            classes,
            methods,
            skipped: skipped
                .into_iter()
                .map(|skipped| Skipped { path: skipped.path, reason: skipped.reason })
                .collect(),
            jdk: Some(jdk),
            missing,
        },
        run: None,
        findings: &findings,
        baseline,
    };
    args.output.write(&report, &sources)?;
    Ok(ExitCode::from(verdict(findings.len(), report.inputs.skipped.len())))
}

fn analyse(args: &CheckArgs, detectors: &[&Detector]) -> Result<Answer> {
    let paths = &args.paths;
    let progress = Progress::new();
    let known = known::open(&args.known, &InputOptions::default())?;
    progress.tell("reading");
    let jdk = known.platform.version().to_owned();
    let kept = match &args.cache {
        Some(folder) => Some((Cache::new(folder), key(args, detectors, &jdk)?)),
        None => None,
    };
    if let Some(answer) = kept.as_ref().and_then(|(cache, key)| cache.get(key)) {
        return Ok(answer);
    }
    let inputs = input::load(paths, &InputOptions::default())?;
    if inputs.sources.is_empty() && inputs.skipped.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        bail!("there are no class files in {}; compile first", paths.join(", "));
    }
    progress.tell(&format!("reading {} classes", inputs.sources.len()));
    let program = Program::load(inputs.sources, known);
    progress.tell(&format!("checking {} classes", program.class_count()));
    args.settings.check(&program)?;
    let assumed = Assumed::of(&program, &args.settings.assume);
    if let Some(name) = assumed.unknown.first() {
        bail!("there is no class, method or field `{name}`");
    }
    let model = Model::default();
    let mut checked = detect_static::check_keeping(&program, detectors, options(args), &model);
    checked.findings.retain(|finding| !assumed.hides(finding));
    let mut skipped = inputs.skipped;
    skipped.extend(program.skipped().iter().cloned());
    skipped.extend(checked.unreadable.iter().map(|unreadable| unread_method(&program, unreadable)));
    skipped.sort();
    let answer = Answer {
        classes: program.class_count(),
        methods: program.method_count(),
        jdk: jdk.clone(),
        skipped,
        missing: program.missing().iter().map(|class| program.names.readable_class(*class)).collect(),
        findings: checked.findings,
        suspicions: Vec::new(),
        plan: String::new(),
    };
    // The command is about to end: nobody waits for millions of small pieces to be freed.
    std::mem::forget(model);
    std::mem::forget(program);
    if let Some((cache, key_before)) = &kept {
        // What changed while it was read belongs to no key.
        if key(args, detectors, &jdk)? == *key_before {
            cache.put(key_before, &answer);
        }
    }
    Ok(answer)
}

/// Everything that the answer depends on.
fn key(args: &CheckArgs, detectors: &[&Detector], jdk: &str) -> Result<Key> {
    let mut settings = vec![format!("{:?}", options(args)), format!("{:?}", args.settings.assume), jdk.to_owned()];
    settings.extend(detectors.iter().map(|detector| detector.name.to_owned()));
    let key = Key::new(&settings).context("cannot read this program itself, which the cache needs")?;
    Ok(key.with(&input::files(&args.paths)?).with(&input::files(&known::paths(&args.known)?)?))
}

fn options(args: &CheckArgs) -> Options {
    let patterns = &args.patterns;
    let mut settings = args.settings.settings();
    settings.paper = patterns.paper;
    settings.strict = args.strict;
    if patterns.paper {
        settings.call_graph = CallGraph::Hierarchy;
    }
    let lock_pattern = LockPatternOptions {
        paper: patterns.paper,
        variant: patterns.lock_pattern_variant,
        is_asked: args.detectors.iter().any(|name| name == "lock-pattern"),
    };
    Options { settings, lock_pattern, notes: patterns.notes }
}

/// A method whose code could not be read, as one more input that was skipped.
pub(crate) fn unread_method(program: &Program, unreadable: &Unreadable) -> classfile::Skipped {
    let name = program.method_name(unreadable.method);
    let (method, descriptor) = (program.names.text(name.name), program.names.text(name.descriptor));
    let class = program.class_path(program.class_of(unreadable.method));
    classfile::Skipped { path: format!("{class}: {method}{descriptor}"), reason: unreadable.reason.to_string() }
}

/// The exit code. Findings are told even if some inputs were skipped; "nothing found" is not, since it may be wrong.
fn verdict(findings: usize, skipped: usize) -> u8 {
    match (findings, skipped) {
        (0, 0) => 0,
        (0, _) => INCOMPLETE,
        _ => FINDINGS,
    }
}

/// The detectors that were asked for, or those that run by default.
fn select(names: &[String]) -> Result<Vec<&'static Detector>> {
    for name in names {
        if DETECTORS.iter().all(|detector| detector.name != *name) {
            match nearest(name, DETECTORS.iter().map(|detector| detector.name)) {
                Some(near) => bail!("there is no detector `{name}`; did you mean `{near}`?"),
                None => bail!("there is no detector `{name}`; `fissure explain` lists them"),
            }
        }
    }
    let is_chosen = |detector: &&Detector| match names {
        [] => detector.default,
        _ => names.iter().any(|name| name == detector.name),
    };
    Ok(DETECTORS.iter().filter(is_chosen).collect())
}

/// Runs `work` on so many threads.
fn with_jobs<T: Send>(jobs: Option<u16>, work: impl FnOnce() -> T + Send) -> Result<T> {
    // Zero is rayon's word for "as many as there are processors".
    let threads = jobs.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    Ok(pool.install(work))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn exit_codes() {
        assert_eq!(verdict(0, 0), 0);
        assert_eq!(verdict(2, 0), 1);
        assert_eq!(verdict(2, 3), 1);
        assert_eq!(verdict(0, 3), 3);
    }
}
