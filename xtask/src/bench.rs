//! `./x bench`: measurements, as ratios within one run. They are for reading: no test fails by the clock.

use anyhow::{Result, bail};

use crate::{bench_check, bench_classes, bench_dynamic, bench_refinements, bench_trace};

/// Something that can be measured.
pub(crate) struct Bench {
    name: &'static str,
    summary: &'static str,
    run: fn(&[&str]) -> Result<()>,
}

/// A new measurement is a module and a line here.
static BENCHES: &[Bench] = &[
    Bench {
        name: "check",
        summary: "a whole check: of all classes of a JDK against `unzip -tq`, of a small program, with a warm cache",
        run: bench_check::run,
    },
    Bench {
        name: "classes",
        summary: "reading and decoding all classes of a JDK, against `unzip -tq`",
        run: |_| bench_classes::run(),
    },
    Bench {
        name: "dynamic",
        summary: "what recording costs, on programs with objects and with arrays, or on those that are named",
        run: bench_dynamic::run,
    },
    Bench {
        name: "refinements",
        summary: "warnings of reduction as its refinements are added, over all programs with known truth",
        run: bench_refinements::run,
    },
    Bench {
        name: "trace",
        summary: "reading and judging traces of 30 million events, or of as many millions as are given",
        run: bench_trace::run,
    },
];

pub(crate) fn list() -> Result<()> {
    for bench in BENCHES {
        println!("{:12} {}", bench.name, bench.summary);
    }
    Ok(())
}

pub(crate) fn run(name: &str, words: &[&str]) -> Result<()> {
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.run)(words),
        None => {
            let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
            bail!("no such bench: {name}; there are: {}", names.join(", "))
        }
    }
}
