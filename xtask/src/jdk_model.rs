//! `./x jdk-model`: makes the model of the JDK's classes that is part of the binary.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use classfile::archive::{ArchiveReader, Contents, Kind};
use fixture::{Jdk, find_jdks};
use location::Names;
use program::jdk;

use crate::process;

/// The release whose classes everyone has, and the path of its model.
const RELEASE: u32 = 17;
const MODEL: &str = "crates/program/data/jdk17.bin";

pub(crate) fn run(home: Option<&str>) -> Result<()> {
    let jdk = match home {
        Some(home) => Jdk::at(Path::new(home))?,
        None => {
            let found = find_jdks()?.into_iter().find(|jdk| jdk.feature == RELEASE);
            found.with_context(|| format!("there is no JDK {RELEASE} here: install one or say where it is"))?
        }
    };
    ensure!(jdk.feature == RELEASE, "{} is a JDK {}; the model is of {RELEASE}", jdk.home.display(), jdk.feature);
    let image = jdk.home.join("lib/modules");
    let data = fs::read(&image).with_context(|| image.display().to_string())?;
    let mut contents = Contents::default();
    ArchiveReader::default().read("", Kind::Image, &data, &mut contents);
    ensure!(contents.skipped.is_empty(), "{}: {}", image.display(), contents.skipped[0].reason);

    let names = Names::new();
    let classes = jdk::select(&contents.sources, &names)?;
    let bytes = jdk::encode(&format!("embedded {RELEASE}"), &classes, &names);
    fs::write(process::top().join(MODEL), &bytes)?;
    println!(
        "{MODEL}: {} of {} classes of JDK {}, {} KB",
        classes.len(),
        contents.sources.len(),
        jdk.version,
        bytes.len() / 1000
    );
    Ok(())
}
