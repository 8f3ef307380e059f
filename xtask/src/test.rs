//! `./x test`: everything that CI runs.

use std::time::Instant;

use anyhow::Result;
use fixture::{TEST_JDK, find_jdks, test_jdk};

use crate::process::{self, cargo};
use crate::tidy;

/// Whether tests that take minutes run, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Long,
}

pub(crate) fn run(length: Length) -> Result<()> {
    let start = Instant::now();
    let jdks = find_jdks()?;
    for jdk in &jdks {
        println!("JDK {} in {}", jdk.version, jdk.home.display());
    }
    process::run(cargo().args(["fmt", "--all", "--check"]))?;
    process::run(cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    tidy::run()?;

    let first = test_jdk()?;
    println!("all tests, fixtures compiled by JDK {}", first.version);
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--workspace"]).env(TEST_JDK, &first.home);
    if length == Length::Long {
        tests.env("FISSURE_LONG", "1");
    }
    process::run(&mut tests)?;
    for jdk in jdks.iter().filter(|jdk| **jdk != first) {
        println!("fixtures compiled by JDK {}", jdk.version);
        let fixtures = ["test", "--quiet", "--workspace", "--test", "fixtures", "--test", "model"];
        process::run(cargo().args(fixtures).env(TEST_JDK, &jdk.home))?;
    }

    let versions: Vec<&str> = jdks.iter().map(|jdk| jdk.version.as_str()).collect();
    println!("all passed on JDK {} in {} s", versions.join(", "), start.elapsed().as_secs());
    Ok(())
}
