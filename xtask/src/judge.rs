//! `./x judge`: the tool on programs with known truth, and the programs themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fixture::{Answer, Compiled, Truth, cache, compile, programs, test_jdk};

use crate::process::{self, cargo};
use crate::rewritten;

const LONGEST: Duration = Duration::from_secs(120);

/// What is asked about each program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What `fissure check` says.
    Check,
    /// What `fissure run` says of one run.
    Run,
    /// Whether the programs are what their truths say: the wrong ones break when their windows are held open, the correct
    /// ones do not.
    Prove,
    /// Whether `fissure check` says the same of programs that are written in another way.
    Rewritten,
}

struct Options {
    mode: Mode,
    cases: PathBuf,
    /// Only programs whose name contains this.
    only: String,
    is_verbose: bool,
}

#[derive(Default)]
struct Totals {
    violations: usize,
    found: usize,
    reachable: usize,
    reachable_found: usize,
    wrong: usize,
    correct: usize,
    clean: usize,
    unanswered: usize,
}

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = options(words)?;
    if options.mode == Mode::Rewritten {
        return rewritten::run(&options.cases, &options.only);
    }
    let all = programs(&options.cases)?;
    let (fixtures, truths): (Vec<_>, Vec<_>) =
        all.into_iter().filter(|(fixture, _)| fixture.name.contains(&options.only)).unzip();
    let jdk = test_jdk()?;
    let compiled = compile(&fixtures, &jdk, &cache())?;
    if options.mode == Mode::Prove {
        return prove(&compiled, &truths);
    }
    let tool = build()?;
    let mut totals = Totals::default();
    let mut mistakes = Vec::new();
    for (one, truth) in compiled.iter().zip(&truths) {
        let line = match ask(&tool, one, truth, options.mode) {
            Ok(answers) => judge(one, truth, &answers, options.is_verbose, &mut totals, &mut mistakes),
            Err(error) => {
                totals.unanswered += 1;
                totals.violations += truth.violations.len();
                mistakes.push(format!("no answer {}: {error:#}", one.fixture.name));
                "no answer".to_owned()
            }
        };
        let kind = if truth.buggy { "wrong" } else { "correct" };
        println!("{:28} {kind:8} {line}", one.fixture.name);
    }
    println!("\n{}", mistakes.join("\n"));
    let Totals { violations, found, reachable, reachable_found, wrong, correct, clean, unanswered } = totals;
    println!(
        "found {found} of {violations} (of those that a run reaches {reachable_found} of {reachable}), false {wrong}, \
         correct programs without a report {clean} of {correct}, no answer {unanswered}"
    );
    Ok(())
}

/// Builds the command, and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    process::run(cargo().args(["build", "--quiet", "--release"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| process::top().join("target"), PathBuf::from);
    Ok(target.join("release/fissure"))
}

fn options(words: &[&str]) -> Result<Options> {
    let mut options = Options {
        mode: Mode::Check,
        cases: process::top().join("fixtures/programs"),
        only: String::new(),
        is_verbose: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "check" => options.mode = Mode::Check,
            "run" => options.mode = Mode::Run,
            "prove" => options.mode = Mode::Prove,
            "rewritten" => options.mode = Mode::Rewritten,
            "-v" => options.is_verbose = true,
            "--cases" => options.cases = PathBuf::from(words.next().context("--cases needs a folder")?),
            "--only" => options.only = (*words.next().context("--only needs a part of a name")?).to_owned(),
            other => bail!(
                "judge: what is `{other}`? it takes: check, run, prove or rewritten; --cases DIR, --only NAME, -v"
            ),
        }
    }
    Ok(options)
}

pub(crate) fn ask(tool: &Path, one: &Compiled<'_>, truth: &Truth, mode: Mode) -> Result<Vec<Answer>> {
    let report = cache().join(format!("judge-{}.json", std::process::id()));
    let mut command = Command::new(tool);
    match mode {
        Mode::Run => {
            command.args(["run", "--format", "json", "--output"]).arg(&report).arg("--").arg(one.jdk.program("java"));
            command.arg("-cp").arg(&one.classes).arg(&truth.main).args(&truth.args);
        }
        Mode::Check | Mode::Prove | Mode::Rewritten => {
            command.args(["check", "--format", "json", "--output"]).arg(&report).arg(&one.classes);
        }
    }
    let output = finish(&mut command)?;
    let text = fs::read_to_string(&report)
        .with_context(|| format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))?;
    fs::remove_file(&report)?;
    Answer::all(&text)
}

fn judge(
    one: &Compiled<'_>,
    truth: &Truth,
    answers: &[Answer],
    is_verbose: bool,
    totals: &mut Totals,
    mistakes: &mut Vec<String>,
) -> String {
    let name = &one.fixture.name;
    let score = truth.score(answers);
    let found = score.found.iter().filter(|found| **found).count();
    totals.violations += truth.violations.len();
    totals.found += found;
    totals.wrong += score.wrong.len();
    totals.correct += usize::from(!truth.buggy);
    totals.clean += usize::from(!truth.buggy && score.wrong.is_empty());
    for (violation, found) in truth.violations.iter().zip(&score.found) {
        totals.reachable += usize::from(violation.reachable);
        totals.reachable_found += usize::from(violation.reachable && *found);
        if !found {
            mistakes.push(format!("missed {name}: {}", violation.name()));
            if is_verbose {
                mistakes.push(format!("       {:?} and {:?}", violation.first, violation.second));
            }
        }
    }
    for answer in &score.wrong {
        mistakes.push(format!("false {name}: {}", answer.name()));
        if is_verbose {
            mistakes.push(format!("      {:?}", answer.places));
        }
    }
    let verdict = match (truth.violations.len() - found, score.wrong.len()) {
        (0, 0) => "ok".to_owned(),
        (missed, wrong) => format!("missed {missed}, false {wrong}"),
    };
    format!("{found} of {} {verdict}", truth.violations.len())
}

fn prove(compiled: &[Compiled<'_>], truths: &[Truth]) -> Result<()> {
    let mut wrong = Vec::new();
    for (one, truth) in compiled.iter().zip(truths) {
        let name = &one.fixture.name;
        let java = |flags: &[&str], args: &[String]| {
            let mut command = Command::new(one.jdk.program("java"));
            finish(command.args(flags).arg("-cp").arg(&one.classes).arg(&truth.main).args(args))
        };
        let plain = java(&[], &truth.args)?;
        if plain.status.code() != Some(0) {
            wrong.push(format!("{name}: a plain run ended with {}", plain.status));
        }
        let mut broke = false;
        for args in &truth.prove_args {
            let output = java(&["-Dprove=true"], args)?;
            let says_so = String::from_utf8_lossy(&output.stdout).contains("BROKEN");
            if output.status.code() != Some(if says_so { 7 } else { 0 }) {
                wrong.push(format!("{name}: a run with open windows ended with {}", output.status));
            }
            broke |= says_so;
        }
        if broke != truth.buggy {
            wrong.push(format!(
                "{name}: {}",
                if broke { "breaks, but is said to be correct" } else { "does not break" }
            ));
        }
        println!("{name:28} {}", if broke { "breaks" } else { "holds" });
    }
    ensure!(wrong.is_empty(), "not as their truths say:\n{}", wrong.join("\n"));
    Ok(())
}

/// The output of a command that may hang. What it prints must fit into a pipe, or it counts as hanging.
fn finish(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    while child.try_wait()?.is_none() {
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            bail!("not done after {} s", LONGEST.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(child.wait_with_output()?)
}
