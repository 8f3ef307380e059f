//! `./x dist`: one archive with the command and its agent, which belong side by side.

use std::env::consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{self, cargo, top};

pub(crate) fn run() -> Result<()> {
    process::run(cargo().args(["build", "--release", "-p", "cli", "-p", "agent"]))?;
    let name = format!("fissure-{}-{OS}-{ARCH}", env!("CARGO_PKG_VERSION"));
    let folder = top().join("target/dist").join(&name);
    fs::create_dir_all(&folder).context("cannot make the folder of the archive")?;
    let library = format!("target/release/{DLL_PREFIX}fissure_agent{DLL_SUFFIX}");
    for file in ["target/release/fissure", &library, "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        let from = top().join(file);
        let to = folder.join(from.file_name().unwrap_or_default());
        fs::copy(&from, to).with_context(|| format!("cannot copy {file}"))?;
    }
    let archive = format!("target/dist/{name}.tar.gz");
    process::run(Command::new("tar").args(["-C", "target/dist", "-czf", &archive, &name]))?;
    println!("{archive}");
    Ok(())
}
