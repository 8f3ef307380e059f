//! Baselines as files: `--baseline` leaves out what is in one, `--write-baseline` writes one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use finding::{Baseline, Divided, Finding, NoBaseline};
use report::Known;

use crate::output;

#[derive(Args)]
pub(crate) struct BaselineArgs {
    /// Leave out findings that are known by this file, which `--write-baseline` wrote; they do not count for the exit code
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write a file that makes all findings known, one a line, to be kept with the sources
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
}

/// A baseline that was read before the work began, so that a wrong file is told at once.
pub(crate) struct Expected<'a> {
    baseline: Option<Baseline>,
    write_to: Option<&'a Path>,
}

impl BaselineArgs {
    pub(crate) fn read(&self) -> Result<Expected<'_>> {
        let baseline = self.baseline.as_deref().map(read).transpose()?;
        Ok(Expected { baseline, write_to: self.write_baseline.as_deref() })
    }
}

impl Expected<'_> {
    /// Writes what is to be known from now on, and leaves out what is known.
    pub(crate) fn divide(&self, findings: Vec<Finding>) -> Result<(Vec<Finding>, Option<Known>)> {
        if let Some(path) = self.write_to {
            output::write_file(path, &Baseline::render(&findings))?;
        }
        Ok(match &self.baseline {
            None => (findings, None),
            Some(baseline) => {
                let Divided { new, known, gone } = baseline.divide(findings);
                (new, Some(Known { known, gone }))
            }
        })
    }
}

fn read(path: &Path) -> Result<Baseline> {
    let shown = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read baseline `{shown}`"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| NoBaseline::OtherKind);
    match text.and_then(Baseline::parse) {
        Ok(baseline) => Ok(baseline),
        Err(NoBaseline::OtherKind) => bail!("`{shown}` is no baseline; `--write-baseline FILE` writes one"),
        Err(NoBaseline::Later) => bail!("`{shown}` was written by a later version; `--write-baseline` writes it anew"),
        Err(NoBaseline::Line(line)) => bail!("`{shown}` is no baseline: line {line} does not begin with a fingerprint"),
    }
}
