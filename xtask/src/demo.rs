//! `./x demo`: the tool on a small program with a mistake in it.

use std::process::Command;

use anyhow::{Result, ensure};
use fixture::test_jdk;

use crate::process::{self, cargo};

const SOURCE_ROOT: &str = "examples/bank/src";
const CLASSES: &str = "target/demo";

pub(crate) fn run() -> Result<()> {
    process::run(cargo().args(["build", "--quiet", "--release", "--package", "cli"]))?;
    let sources = process::output(Command::new("find").args([SOURCE_ROOT, "-name", "*.java"]))?;
    let jdk = test_jdk()?;
    process::run(Command::new(jdk.program("javac")).args(["-g", "-d", CLASSES]).args(sources.lines()))?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let mut command = Command::new(format!("{target}/release/fissure"));
    command.args(["check", "--source-root", SOURCE_ROOT, CLASSES]);
    println!("$ fissure check --source-root {SOURCE_ROOT} {CLASSES}");
    let status = process::status(&mut command)?;
    ensure!(matches!(status.code(), Some(0 | 1)), "fissure ended with {status}");
    Ok(())
}
