//! Programs that tasks start.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};

/// The top folder of the project.
pub(crate) fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The cargo that runs this task.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top());
    command
}

/// Shows the command, runs it in the project's top folder, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = status(command)?;
    ensure!(status.success(), "failed: {shown}");
    Ok(())
}

pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.current_dir(top()).status().with_context(|| format!("cannot start {}", shown(command)))
}

/// What the command writes to standard output; fails if the command does.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.current_dir(top()).output().with_context(|| format!("cannot start {shown}"))?;
    ensure!(output.status.success(), "failed: {shown}: {}", String::from_utf8_lossy(&output.stderr).trim());
    String::from_utf8(output.stdout).with_context(|| format!("no text: {shown}"))
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> = [program].into_iter().chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    words.join(" ")
}
