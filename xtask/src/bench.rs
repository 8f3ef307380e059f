//! `./x bench`: measurements, as ratios within one run. They are for reading: no test fails by the clock.

use anyhow::{Result, bail};

/// Something that can be measured.
pub(crate) struct Bench {
    name: &'static str,
    summary: &'static str,
    run: fn(&[&str]) -> Result<()>,
}

/// A new measurement is a module and a line here.
static BENCHES: &[Bench] = &[];

pub(crate) fn list() -> Result<()> {
    if BENCHES.is_empty() {
        println!("nothing to measure yet");
    }
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
