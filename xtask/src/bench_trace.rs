//! How fast traces are read and judged: the example `bench` of `detect-dynamic`, built for speed.

use anyhow::Result;

use crate::process::{self, cargo};

/// `words` may give the number of events in millions.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let example = ["run", "--quiet", "--release", "-p", "detect-dynamic", "--example", "bench", "--"];
    process::run(cargo().args(example).args(words))
}
