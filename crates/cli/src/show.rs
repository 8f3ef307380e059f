//! `fissure show`: a method as the analysis sees it.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::ShowArgs;
use crate::input;

pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode> {
    let inputs = input::load(&args.paths)?;
    bail!("there is no method `{}` in {} classes", args.method, inputs.sources.len());
}
