//! `./x bench refinements`: how many warnings of reduction each refinement takes away, over all dynamic programs.
//!
//! Redraws the figure of the paper that reduction comes from: the refinements are added in its order, one after the
//! other, and the programs run under the paper's rule for units. Programs run once for each column, so the schedule
//! adds some noise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fixture::{Answer, cache, compile, programs, test_jdk};

use crate::process::{self, cargo};

/// As `--without` knows them, in the paper's order.
const REFINEMENTS: [&str; 5] =
    ["reentrant-locks", "thread-local-locks", "handed-over-locks", "protected-locks", "write-protected-data"];

const RULE: &str = "not-atomic";

pub(crate) fn run(words: &[&str]) -> Result<()> {
    let units = words.first().copied().unwrap_or("export+synch");
    process::run(cargo().args(["build", "--quiet", "--release", "-p", "cli", "-p", "agent"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| process::top().join("target"), PathBuf::from);
    let tool = target.join("release/fissure");
    let (fixtures, truths): (Vec<_>, Vec<_>) = programs(&process::top().join("fixtures/programs"))?.into_iter().unzip();
    let jdk = test_jdk()?;
    let compiled = compile(&fixtures, &jdk, &cache())?;
    let heads = ["base".to_owned()].into_iter().chain(REFINEMENTS.iter().map(|name| format!("+{name}")));
    let mut totals: BTreeMap<usize, usize> = BTreeMap::new();
    for (one, truth) in compiled.iter().zip(&truths) {
        let mut line = format!("{:24}", one.fixture.name);
        for kept in 0..=REFINEMENTS.len() {
            let mut command = Command::new(&tool);
            command.args(["run", "--paper", "--units", units]);
            REFINEMENTS[kept..].iter().for_each(|name| {
                command.args(["--without", name]);
            });
            let java = one.jdk.program("java");
            let warnings = warnings(command, &java, &one.classes, &truth.main, &truth.args)?;
            *totals.entry(kept).or_default() += warnings;
            line += &format!("{warnings:6}");
        }
        println!("{line}");
    }
    println!("\nall programs, {units}");
    for (name, total) in heads.zip(totals.values()) {
        println!("{name:24}{total:6}");
    }
    Ok(())
}

/// How many places in code a run warns of.
fn warnings(mut command: Command, java: &Path, classes: &Path, main: &str, arguments: &[String]) -> Result<usize> {
    let report = cache().join(format!("refinements-{}.json", std::process::id()));
    command.args(["--format", "json", "--output"]).arg(&report).arg("--").arg(java).arg("-cp").arg(classes);
    command.arg(main).args(arguments).stdin(Stdio::null());
    let output = command.output().context("cannot start the tool")?;
    ensure!(report.exists(), "{main}: {}", String::from_utf8_lossy(&output.stderr).trim());
    let text = fs::read_to_string(&report)?;
    fs::remove_file(&report)?;
    Ok(Answer::all(&text)?.iter().filter(|answer| answer.rule == RULE).count())
}
