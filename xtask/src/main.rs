//! The tasks of this repository, called by the script `x` at its top.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who called it")]

mod bench;
mod bench_check;
mod bench_classes;
mod bench_dynamic;
mod bench_refinements;
mod bench_trace;
mod bless;
mod demo;
mod dist;
mod jdk_model;
mod judge;
mod process;
mod rewritten;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: ./x TASK
  demo            build, compile the example and check it
  test [--long]   everything that CI runs; --long adds the tests that take minutes
  bench [NAME]    measure; without a name, list what can be measured
  judge [check|run|prove|rewritten] [--cases DIR] [--only NAME] [-v]
                  score the tool on programs with known truth; `prove` runs the programs themselves, `rewritten` asks
                  whether it says the same of them in other words
  dist            one archive with the command and its agent
  tidy            rules of this repository that no compiler knows
  jdk-model [JDK] make the model of the JDK's classes that is part of the binary
  bless           write the real output into documents that show it";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("x: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["demo"] => demo::run(),
        ["test"] => test::run(test::Length::Short),
        ["test", "--long"] => test::run(test::Length::Long),
        ["bench"] => bench::list(),
        ["bench", name, rest @ ..] => bench::run(name, rest),
        ["judge", rest @ ..] => judge::run(rest),
        ["dist"] => dist::run(),
        ["tidy"] => tidy::run(),
        ["jdk-model"] => jdk_model::run(None),
        ["jdk-model", home] => jdk_model::run(Some(home)),
        ["bless"] => bless::run(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("no such task: {}\n{USAGE}", words.join(" ")),
    }
}
