//! `./x bless`: golden output is taken from the tool as it is now. Marks in fixtures are never rewritten.

use anyhow::Result;

use crate::process::{self, cargo};

pub(crate) fn run() -> Result<()> {
    process::run(cargo().args(["test", "--quiet", "--package", "cli", "--test", "readme"]).env("FISSURE_BLESS", "1"))
}
