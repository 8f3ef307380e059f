//! `./x bench dynamic`: what recording and running cost, as ratios to the bare JVM in the same run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fixture::{Jdk, test_jdk};

use crate::process::{self, cargo, top};

/// A kind of programs, and what the ratios of recording have to be.
struct Kind {
    name: &'static str,
    programs: &'static [&'static str],
    mean: f64,
    worst: f64,
}

static KINDS: [Kind; 2] = [
    Kind {
        name: "objects",
        programs: &["MolDyn", "RayTracer", "Tsp", "Bank", "ProducerConsumer", "Cache", "BinaryTrees"],
        mean: 3.0,
        worst: 8.0,
    },
    Kind { name: "arrays", programs: &["Sor", "MatMul", "MonteCarlo"], mean: 6.0, worst: 15.0 },
];
const HEAP_LIMIT: f64 = 3.0;
/// Each program runs so often, bare and recorded in turn; the best counts.
const ROUNDS: usize = 2;
/// What is said of all events, with and without the filter, is of runs that do one hundredth of the work.
const SMALL: &str = "-Dscale=1";
/// A collector that tells after every few megabytes how much is in use.
const COLLECTOR: [&str; 3] = ["-XX:+UseSerialGC", "-Xmn16m", "-Xlog:gc"];

struct Measured {
    record: f64,
    heap: Option<f64>,
}

pub(crate) fn run(words: &[&str]) -> Result<()> {
    process::run(cargo().args(["build", "--quiet", "--release", "-p", "cli", "-p", "agent"]))?;
    let jdk = test_jdk()?;
    let work = top().join("target/bench-dynamic");
    fs::create_dir_all(&work).context("cannot make the working folder")?;
    let classes = work.join("classes");
    let sources = fs::read_dir(top().join("benches/dynamic")).context("cannot list the programs")?;
    let sources: Vec<PathBuf> = sources.map(|source| Ok(source?.path())).collect::<Result<_>>()?;
    process::run(Command::new(jdk.program("javac")).arg("-d").arg(&classes).args(sources))?;
    println!(
        "best of {ROUNDS}; all accesses and those kept in a hundredth of the work; most heap in use after a collection"
    );
    println!(
        "{:18} {:>7} {:>9} {:>6} {:>7} {:>6} {:>11} {:>11} {:>9} {:>8} {:>6}",
        "program", "bare s", "record s", "ratio", "run s", "ratio", "events", "of 1/100", "kept", "heap MB", "ratio"
    );
    let bench = Bench { jdk, classes, work };
    for kind in &KINDS {
        let chosen = kind.programs.iter().filter(|program| words.is_empty() || words.contains(program));
        let measured = chosen.map(|program| bench.measure(program)).collect::<Result<Vec<Measured>>>()?;
        if measured.is_empty() {
            continue;
        }
        let mean = (measured.iter().map(|one| one.record.ln()).sum::<f64>() / measured.len() as f64).exp();
        let worst = measured.iter().map(|one| one.record).fold(0.0, f64::max);
        println!("{}: geometric mean {mean:.2}, worst {worst:.2}", kind.name);
        tell(&format!("mean at most {}", kind.mean), mean <= kind.mean);
        tell(&format!("worst at most {}", kind.worst), worst <= kind.worst);
        let heap = measured.iter().filter_map(|one| one.heap).fold(0.0, f64::max);
        tell(&format!("heap at most {HEAP_LIMIT} times"), heap <= HEAP_LIMIT);
    }
    Ok(())
}

fn tell(what: &str, is_met: bool) {
    println!("{what}: {}", if is_met { "met" } else { "MISSED" });
}

struct Bench {
    jdk: Jdk,
    classes: PathBuf,
    work: PathBuf,
}

impl Bench {
    fn measure(&self, program: &str) -> Result<Measured> {
        let (mut bare, mut recorded, mut run) = (f64::MAX, f64::MAX, f64::MAX);
        let mut events = String::new();
        for round in 0..ROUNDS {
            bare = bare.min(timed(&mut self.bare(&[], program))?.seconds);
            let timed_record = timed(&mut self.record(&[], &[], program))?;
            recorded = recorded.min(timed_record.seconds);
            events = timed_record.events();
            if round == 0 {
                run = timed(
                    self.fissure("run").args(["--min-evidence", "observed", "--"]).args(self.java(&[], program)),
                )?
                .seconds;
            }
        }
        let all = timed(&mut self.record(&["--no-filter"], &[SMALL], program))?.events();
        let kept = timed(&mut self.record(&[], &[SMALL], program))?.events();
        let heap = heap(&timed(&mut self.bare(&COLLECTOR, program))?.output);
        let watched = heap.and_then(|_| Some(timed(&mut self.record(&[], &COLLECTOR, program)).ok()?.output));
        let watched = watched.and_then(|output| self::heap(&output));
        let _ = fs::remove_file(self.trace());
        let heaps = heap.zip(watched);
        println!(
            "{program:18} {bare:7.2} {recorded:9.2} {:6.2} {run:7.2} {:6.2} {events:>11} {all:>11} {kept:>9} {:>8} {:>6}",
            recorded / bare,
            run / bare,
            heaps.map_or("-".to_owned(), |(_, watched)| watched.to_string()),
            heaps.map_or("-".to_owned(), |(bare, watched)| format!("{:.2}", watched / bare)),
        );
        Ok(Measured { record: recorded / bare, heap: heaps.map(|(bare, watched)| watched / bare) })
    }

    fn trace(&self) -> PathBuf {
        self.work.join("trace")
    }

    fn java(&self, options: &[&str], program: &str) -> Vec<std::ffi::OsString> {
        let mut words = vec![self.jdk.program("java").into_os_string()];
        words.extend(options.iter().map(Into::into));
        words.extend(["-cp".into(), self.classes.clone().into_os_string(), program.into()]);
        words
    }

    fn bare(&self, options: &[&str], program: &str) -> Command {
        let words = self.java(options, program);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    fn fissure(&self, subcommand: &str) -> Command {
        let mut command = Command::new(top().join("target/release/fissure"));
        command.arg(subcommand);
        command
    }

    fn record(&self, options: &[&str], java: &[&str], program: &str) -> Command {
        let mut command = self.fissure("record");
        command.args(options).arg("-o").arg(self.trace()).arg("--").args(self.java(java, program));
        command
    }
}

struct Timed {
    seconds: f64,
    output: String,
    said: String,
}

impl Timed {
    /// How many events a recording says it has.
    fn events(&self) -> String {
        self.said.lines().last().and_then(|line| line.split(' ').next()).unwrap_or_default().to_owned()
    }
}

/// Findings end `run` with this.
const FINDINGS: i32 = 66;

fn timed(command: &mut Command) -> Result<Timed> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().context("cannot start a program")?;
    let seconds = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(matches!(output.status.code(), Some(0 | FINDINGS)), "a program failed: {said}");
    Ok(Timed { seconds, output: String::from_utf8_lossy(&output.stdout).into_owned(), said })
}

/// The most megabytes in use after a collection, as the JVM tells: `... 24M->3M(90M) ...`.
fn heap(log: &str) -> Option<f64> {
    let after = log.lines().filter(|line| line.contains("Pause")).filter_map(|line| {
        let (_, rest) = line.split_once("M->")?;
        rest.split('M').next()?.parse().ok()
    });
    after.reduce(f64::max)
}
