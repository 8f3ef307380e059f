//! What a whole `check` costs: the command on jars with classes of the installed JDK, against `unzip -tq` of the same
//! jar; on a small program; and with a warm cache.
//!
//! Ratios of one run are what counts. Beside the time stands the processor time: where others use the machine, too,
//! only that can be compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench_classes::{best, jdk_home, make_jars, unzip};
use crate::process::{cargo, output, run as run_command, top};

/// Every time is the best of this many, unless told otherwise: one is enough to see where things stand, and takes a few
/// minutes on a busy machine.
const RUNS: usize = 1;
const SMALL_RUNS: usize = 20;
const THREADS: usize = 2;
/// Memory and processor time are looked at this often while the command runs.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A choice of detectors, and what its figures have to be for the jar with all classes.
struct Goal {
    detectors: &'static [&'static str],
    ratio: f64,
    memory_mb: f64,
}

static GOALS: [Goal; 3] = [
    Goal { detectors: &["lock-pattern"], ratio: 1.8, memory_mb: 800.0 },
    Goal { detectors: &["lock-pattern", "stale-values"], ratio: 2.2, memory_mb: 1200.0 },
    Goal { detectors: &["lock-pattern", "stale-values", "causal-views"], ratio: 3.0, memory_mb: 1200.0 },
];

const SMALL_LIMIT: Duration = Duration::from_millis(30);
const WARM_LIMIT: f64 = 0.1;
/// The ratio of the largest jar may be so many times that of the smallest, in processor time.
const LINEAR_LIMIT: f64 = 1.5;

struct Measured {
    time: Duration,
    cpu: Duration,
    peak_mb: f64,
}

/// `words` may say how often each is measured.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let runs = words.first().map_or(Ok(RUNS), |word| word.parse()).context("how often?")?;
    let fissure = build()?;
    println!(
        "check with {THREADS} threads, best of {runs}; ratios to unzip -tq of the same jar, in time and in processor time"
    );
    println!(
        "{:>30} {:>45} {:>7} {:>9} {:>7} {:>9} {:>8}",
        "jar", "detectors", "time", "ratio", "cpu", "ratio", "peak MB"
    );
    let (mut last, mut costs) = (Vec::new(), Vec::new());
    let jars = make_jars(&jdk_home()?)?;
    for jar in &jars {
        let yardstick = best(|| unzip(jar))?.as_secs_f64();
        last.clear();
        // Of the smaller jars only what all detectors cost is wanted, to see how it grows.
        let is_largest = Some(jar) == jars.last();
        for goal in GOALS.iter().skip(if is_largest { 0 } else { GOALS.len() - 1 }) {
            let measured = fastest(runs, || check(&fissure, goal.detectors, &[jar.as_os_str().as_ref()]))?;
            let (time, cpu) = (measured.time.as_secs_f64(), measured.cpu.as_secs_f64());
            println!(
                "{:>30} {:>45} {time:>7.2} {:>9.2} {cpu:>7.2} {:>9.2} {:>8.0}",
                jar.file_name().unwrap_or_default().to_string_lossy(),
                goal.detectors.join(" "),
                time / yardstick,
                cpu / yardstick,
                measured.peak_mb,
            );
            last.push((goal, time / yardstick, measured.peak_mb));
            costs.push(cpu / yardstick);
        }
    }
    for (goal, ratio, peak) in last {
        let what = goal.detectors.join(" ");
        tell(&format!("{what}: at most {} of unzip", goal.ratio), ratio <= goal.ratio);
        tell(&format!("{what}: at most {} MB", goal.memory_mb), peak <= goal.memory_mb);
    }
    // The yardstick grows with the jar, so that equal ratios mean that the cost does so, too.
    if let (Some(smallest), Some(largest)) = (costs.first(), costs.last()) {
        tell(
            &format!("largest jar at most {LINEAR_LIMIT} times the ratio of the smallest"),
            *largest <= LINEAR_LIMIT * smallest,
        );
    }
    small(&fissure)?;
    warm(&fissure, jars.last().context("no jar")?, runs)
}

fn tell(what: &str, is_met: bool) {
    println!("{what}: {}", if is_met { "met" } else { "MISSED" });
}

/// The program of the demo.
fn small(fissure: &Path) -> Result<()> {
    let classes = top().join("target/bench/bank");
    fs::create_dir_all(&classes)?;
    let mut sources = Vec::new();
    collect_sources(&top().join("examples/bank"), &mut sources)?;
    output(Command::new(jdk_home()?.join("bin/javac")).arg("-g").arg("-d").arg(&classes).args(sources))?;
    let measured = fastest(SMALL_RUNS, || check(fissure, &[], &[classes.as_path()]))?;
    println!("the program of the demo: {:.1} ms", measured.time.as_secs_f64() * 1e3);
    tell(&format!("at most {} ms", SMALL_LIMIT.as_millis()), measured.time <= SMALL_LIMIT);
    Ok(())
}

fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "java") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(())
}

/// The second check of the same classes.
fn warm(fissure: &Path, jar: &Path, runs: usize) -> Result<()> {
    let cache = top().join("target/bench/cache");
    let words = [Path::new("--cache"), &cache, jar];
    if cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    let cold = check(fissure, &[], &words)?.time.as_secs_f64();
    let warm = fastest(runs, || check(fissure, &[], &words))?.time.as_secs_f64();
    println!("with an empty cache {cold:.2} s, with a full one {warm:.2} s");
    tell(&format!("a full cache at most {WARM_LIMIT} of an empty one"), warm <= WARM_LIMIT * cold);
    Ok(())
}

fn build() -> Result<PathBuf> {
    run_command(cargo().args(["build", "--quiet", "--release", "--package", "cli"]))?;
    Ok(top().join("target/release/fissure"))
}

fn fastest(runs: usize, mut measure: impl FnMut() -> Result<Measured>) -> Result<Measured> {
    let mut best = measure()?;
    for _ in 1..runs {
        let next = measure()?;
        best.peak_mb = best.peak_mb.max(next.peak_mb);
        best.cpu = best.cpu.min(next.cpu);
        best.time = best.time.min(next.time);
    }
    Ok(best)
}

fn check(fissure: &Path, detectors: &[&str], words: &[&Path]) -> Result<Measured> {
    let mut command = Command::new(fissure);
    command.args(["check", "--format", "json", "--jobs", &THREADS.to_string()]);
    for detector in detectors {
        command.args(["--detector", detector]);
    }
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().context("the command does not start")?;
    let (mut cpu, mut peak_mb) = (Duration::ZERO, 0.0);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some((more, peak)) = look(&child) {
            (cpu, peak_mb) = (more, peak);
        }
        thread::sleep(LOOK_EVERY);
    };
    // Findings end it with 1.
    ensure!(matches!(status.code(), Some(0 | 1 | 3)), "the command fails: {status}");
    Ok(Measured { time: start.elapsed(), cpu, peak_mb })
}

/// Processor time and most memory so far, where the system tells.
fn look(child: &Child) -> Option<(Duration, f64)> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // Behind the name, which may have spaces: user and system time are the 12th and 13th.
    let mut times = stat.rsplit(')').next()?.split_ascii_whitespace().skip(11);
    let ticks: f64 = times.next()?.parse::<f64>().ok()? + times.next()?.parse::<f64>().ok()?;
    let memory = fs::read_to_string(folder.join("status")).ok()?;
    let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let peak_kb: f64 = peak.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some((Duration::from_secs_f64(ticks / TICKS_PER_SECOND), peak_kb / 1e3))
}
