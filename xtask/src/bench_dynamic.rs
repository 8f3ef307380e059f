//! `./x bench dynamic`: what recording costs, as a ratio to the bare JVM in the same run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fixture::{Jdk, test_jdk};

use crate::process::{self, cargo, top};

const OBJECTS: &[&str] = &["MolDyn", "RayTracer", "Tsp", "Bank", "ProducerConsumer", "Cache", "BinaryTrees"];
const ARRAYS: &[&str] = &["Sor", "MatMul", "MonteCarlo"];
/// Each program runs so often, bare and recorded in turn; the best counts.
const ROUNDS: usize = 3;

pub(crate) fn run(words: &[&str]) -> Result<()> {
    process::run(cargo().args(["build", "--quiet", "--release", "-p", "cli", "-p", "agent"]))?;
    let jdk = test_jdk()?;
    let work = top().join("target/bench-dynamic");
    fs::create_dir_all(&work).context("cannot make the working folder")?;
    let classes = work.join("classes");
    let sources = fs::read_dir(top().join("benches/dynamic")).context("cannot list the programs")?;
    let sources: Vec<PathBuf> = sources.map(|source| Ok(source?.path())).collect::<Result<_>>()?;
    process::run(Command::new(jdk.program("javac")).arg("-d").arg(&classes).args(sources))?;
    println!("{:18} {:>7} {:>9} {:>6} {:>10}", "program", "bare s", "record s", "ratio", "events");
    for (kind, programs) in [("objects", OBJECTS), ("arrays", ARRAYS)] {
        let chosen = programs.iter().filter(|program| words.is_empty() || words.contains(program));
        let ratios = chosen.map(|program| measure(&jdk, &classes, &work, program)).collect::<Result<Vec<f64>>>()?;
        if !ratios.is_empty() {
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            println!("{kind}: geometric mean {mean:.2}, worst {worst:.2}");
        }
    }
    Ok(())
}

fn measure(jdk: &Jdk, classes: &Path, work: &Path, program: &str) -> Result<f64> {
    let trace = work.join("trace");
    let (mut bare, mut recorded) = (f64::MAX, f64::MAX);
    let mut events = String::new();
    for _ in 0..ROUNDS {
        let java = jdk.program("java");
        let (seconds, _) = timed(Command::new(&java).arg("-cp").arg(classes).arg(program))?;
        bare = bare.min(seconds);
        let mut record = Command::new(top().join("target/release/fissure"));
        record.arg("record").arg("-o").arg(&trace).arg("--").arg(&java).arg("-cp").arg(classes).arg(program);
        let (seconds, said) = timed(&mut record)?;
        recorded = recorded.min(seconds);
        events = said.lines().last().and_then(|line| line.split(' ').next()).unwrap_or_default().to_owned();
    }
    let _ = fs::remove_file(trace);
    println!("{program:18} {bare:7.2} {recorded:9.2} {:6.2} {events:>10}", recorded / bare);
    Ok(recorded / bare)
}

/// The seconds that a command took, and what it wrote to standard error.
fn timed(command: &mut Command) -> Result<(f64, String)> {
    let start = Instant::now();
    let output = command.stdout(Stdio::null()).output().context("cannot start a program")?;
    ensure!(output.status.success(), "a program failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok((start.elapsed().as_secs_f64(), String::from_utf8_lossy(&output.stderr).into_owned()))
}
