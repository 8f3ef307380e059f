//! The command `fissure`. Only this crate reads and writes files.

mod analyze;
mod args;
mod assume;
mod baseline;
mod cache;
mod check;
mod class_path;
mod convert;
mod explain;
mod folder;
mod graph;
mod input;
mod known;
mod launch;
mod nearest;
mod output;
mod record;
mod request;
mod run;
mod show;
mod sources;

use std::panic;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command};

/// A check makes and drops millions of small things, on all cores.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Wrong usage, configuration or input.
const TROUBLE: u8 = 2;
/// A mistake of ours.
const INTERNAL: u8 = 101;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let what = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("no message");
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        output::complain(&format!(
            "internal error in fissure {}: {what}{place}; please report it with the command line",
            env!("CARGO_PKG_VERSION")
        ));
    }));
    panic::catch_unwind(start).unwrap_or(ExitCode::from(INTERNAL))
}

fn start() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            output::print(&error.to_string()).map(|()| ExitCode::SUCCESS)
        }
        Err(error) => Err(anyhow::Error::msg(args::one_line(&error))),
    };
    result.unwrap_or_else(|error| {
        output::complain(&format!("error: {error:#}"));
        ExitCode::from(TROUBLE)
    })
}

fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Check(args) => check::run(args),
        Command::Analyze(args) => analyze::run(args),
        Command::Run(args) => run::run(args),
        Command::Record(args) => record::run(args),
        Command::Trace(args) => convert::run(args),
        Command::Show(args) => show::run(args),
        Command::Explain(args) => explain::run(args),
    }
}
