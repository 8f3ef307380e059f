//! The command line, and wrong usage told in one line.

use std::path::PathBuf;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use program::thread::World;
use report::{Report, Sources};

use crate::analyze::AnalyzeArgs;
use crate::assume::AssumeArgs;
use crate::baseline::BaselineArgs;
use crate::convert::TraceArgs;
use crate::output;
use crate::record::RecordArgs;
use crate::run::RunArgs;

/// Finds atomicity violations in JVM programs.
///
/// Code that takes its locks, races with nothing, and is still wrong because another thread can get in between two of
/// its steps.
#[derive(Parser)]
#[command(name = "fissure", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Look for atomicity violations in class files, without running them
    ///
    /// Exit code: 0 nothing found; 1 findings; 2 wrong usage or input; 3 nothing found, but some inputs were skipped.
    Check(CheckArgs),
    /// Run a program and look for atomicity violations in what it does
    ///
    /// What is said goes to standard error, so that the program's own output stays its own.
    ///
    /// Exit code: the program's own, if it is not 0; else 66 with findings, 0 without; 2 if it could not be started.
    Run(RunArgs),
    /// Look for atomicity violations in a recorded run
    ///
    /// Exit code: 0 nothing found; 1 findings; 2 wrong usage or input; 3 nothing found, but a part of the trace was lost.
    Analyze(AnalyzeArgs),
    /// Run a program and keep what its threads did, for `fissure analyze`
    ///
    /// Exit code: the program's own; 2 if it could not be started.
    Record(RecordArgs),
    /// Turn a trace into text or into its binary form
    ///
    /// Exit code: 0 all was written; 2 wrong usage or input; 3 a part of the trace was lost, the rest was written.
    Trace(TraceArgs),
    /// Print a method or field as the analysis sees it: instructions, sections, locks, threads
    Show(ShowArgs),
    /// Print what a rule means, why it matters and how to fix it; without a rule, list them
    Explain(ExplainArgs),
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Directories, class files and archives to check
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) known: KnownArgs,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Tell of every value that is used after the section that read it, harmful or not, and of locks that protect nothing
    #[arg(long)]
    pub(crate) strict: bool,

    /// Where sources are: the folder that holds the top packages; may be repeated
    ///
    /// Without it, `src` and `src/*/{java,kotlin,scala}` beside or above an input are taken.
    #[arg(long = "source-root", value_name = "DIR")]
    pub(crate) source_roots: Vec<PathBuf>,

    /// Run this detector and no others; may be repeated (`fissure explain` lists them)
    #[arg(long = "detector", value_name = "NAME")]
    pub(crate) detectors: Vec<String>,

    #[command(flatten)]
    pub(crate) patterns: PatternArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// How many threads to use; all processors by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) jobs: Option<u16>,

    /// A folder for answers of earlier checks, made if it is missing; the same classes and settings are not checked again
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

/// Classes to know but not to check.
#[derive(Args)]
pub(crate) struct KnownArgs {
    /// Classes to know but not to check: directories and archives, separated as in Java's own option; `lib/*` for all
    /// jars in a directory
    #[arg(long, value_name = "PATHS")]
    pub(crate) classpath: Option<std::ffi::OsString>,

    /// A JDK to know the classes of, instead of the built-in model of JDK 17
    #[arg(long, value_name = "DIR")]
    pub(crate) jdk: Option<PathBuf>,
}

/// How patterns are looked for, and how many are told.
#[derive(Args)]
pub(crate) struct PatternArgs {
    /// Also tell, as notes, of locks that are taken twice where nothing breaks today, and of old values where nothing shows that two threads share the object
    #[arg(long)]
    pub(crate) notes: bool,

    /// Let `lock-pattern` look for two different locks that are taken one after the other, too
    #[arg(long)]
    pub(crate) lock_pattern_variant: bool,

    /// Let `lock-pattern` and `causal-views` do what the papers that they come from do, without any refinement
    #[arg(long)]
    pub(crate) paper: bool,
}

/// What is assumed of the program.
#[derive(Args, Debug)]
pub(crate) struct SettingArgs {
    /// Who calls the code: `closed`, only the `main`s and what they start; `open`, two threads call every public method;
    /// `auto`, closed for what a `main` that starts threads reaches, open for the rest
    #[arg(long, value_name = "WORLD", default_value = "auto")]
    world: WorldArg,

    /// Which classes a virtual call may go to: `cha`, all that fit; `rta`, those that some code makes
    #[arg(long, value_name = "KIND", default_value = "rta")]
    call_graph: CallGraphArg,

    /// Take each call of this method to be atomic, as if it were annotated `@Atomic`: `pkg.Class.method`, or a part of
    /// that from the right; may be repeated. A method that takes locks is atomic as far as they make it so
    #[arg(long = "atomic", value_name = "CLASS.METHOD")]
    atomic: Vec<String>,

    #[command(flatten)]
    pub(crate) assume: AssumeArgs,
}

impl SettingArgs {
    pub(crate) fn settings(&self) -> program::Settings {
        program::Settings {
            atomic: self.atomic.clone(),
            paper: false,
            call_graph: match self.call_graph {
                CallGraphArg::Cha => program::CallGraph::Hierarchy,
                CallGraphArg::Rta => program::CallGraph::Rapid,
            },
            world: match self.world {
                WorldArg::Auto => World::Auto,
                WorldArg::Closed => World::Closed,
                WorldArg::Open => World::Open,
            },
            strict: false,
            large: None,
        }
    }

    /// Trouble if a method that is to be atomic is nowhere.
    pub(crate) fn check(&self, program: &program::Program) -> Result<()> {
        for name in &self.atomic {
            let is_known = !crate::show::methods_named(program, name).is_empty();
            anyhow::ensure!(is_known, "there is no method `{name}`{}", crate::show::hint(program, name));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum WorldArg {
    Auto,
    Closed,
    Open,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum CallGraphArg {
    Cha,
    Rta,
}

/// Where a report goes and what it looks like, for every command that writes one.
#[derive(Args)]
pub(crate) struct OutputArgs {
    /// What the report looks like
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FormatArg,

    /// Write the report to a file, which is replaced whole or not at all
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

impl OutputArgs {
    /// Writes the report to the file, else to standard output.
    pub(crate) fn write(&self, report: &Report<'_>, sources: &dyn Sources) -> Result<()> {
        let text = self.format.0.render(report, sources, output::palette(self.output.is_some()));
        match &self.output {
            Some(path) => output::write_file(path, &text),
            None => output::print(&text),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatArg(pub(crate) report::Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [FormatArg] {
        const VARIANTS: [FormatArg; report::Format::ALL.len()] =
            [FormatArg(report::Format::Text), FormatArg(report::Format::Json), FormatArg(report::Format::Sarif)];
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.id()))
    }
}

#[derive(Args)]
#[command(
    override_usage = "fissure show [OPTIONS] CLASS.MEMBER PATH...\n       fissure show --graph [OPTIONS] CLASS.METHOD|FINGERPRINT PATH...\n       fissure show --problems [OPTIONS] PATH..."
)]
pub(crate) struct ShowArgs {
    /// List the methods that could not be analysed, and those whose sections do not balance, instead of one method
    #[arg(long)]
    pub(crate) problems: bool,

    /// Print what depends on what in the method, callees included, as a graph for Graphviz (DOT); or around a finding, by its
    /// fingerprint in `check --format json`: with its steps, and what leads from one to the next
    #[arg(long)]
    pub(crate) graph: bool,

    /// The method or field as `pkg.Class.member`, or a part of that from the right (not with `--problems`); then
    /// directories, class files and archives to look in
    #[arg(required = true, value_name = "CLASS.MEMBER PATH")]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) known: KnownArgs,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The rule, as `reacquired-lock`
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
}

/// The line that tells what is wrong with a command line, with a hint.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) if !texts.is_empty() => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let help = || match error.get(ContextKind::Usage) {
        Some(usage) => usage_command(&usage.to_string()),
        None => "fissure --help".to_owned(),
    };
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command given; try `fissure --help`".to_owned()
        }
        ErrorKind::InvalidSubcommand => {
            let command = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let hint = match text(ContextKind::SuggestedSubcommand) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "try `fissure --help`".to_owned(),
            };
            format!("there is no command `{command}`; {hint}")
        }
        ErrorKind::UnknownArgument => {
            let hint = match text(ContextKind::SuggestedArg) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("try `{}`", help()),
            };
            format!("there is no option `{argument}`; {hint}")
        }
        ErrorKind::MissingRequiredArgument => format!("missing {argument}; try `{}`", help()),
        ErrorKind::InvalidValue => match text(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
            Some(value) => {
                let valid = text(ContextKind::ValidValue).unwrap_or_default();
                format!("`{value}` is no value for `{argument}`; there are: {valid}")
            }
            None => format!("`{argument}` needs a value; try `{}`", help()),
        },
        ErrorKind::ValueValidation => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            let reason = std::error::Error::source(error).map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("`{value}` is no value for `{argument}`{reason}")
        }
        ErrorKind::ArgumentConflict => format!("`{argument}` may be given only once; try `{}`", help()),
        _ => {
            let whole = error.to_string();
            let first = whole.lines().next().unwrap_or_default();
            format!("{}; try `{}`", first.trim_start_matches("error: "), help())
        }
    }
}

/// `fissure check --help` from clap's `Usage: fissure check [OPTIONS] <PATH>...`.
fn usage_command(usage: &str) -> String {
    let words = usage.split_whitespace().skip_while(|word| *word != "fissure");
    let names: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    format!("{} --help", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> String {
        match Cli::try_parse_from([&["fissure"], words].concat()) {
            Ok(_) => panic!("{words:?} is right usage"),
            Err(error) => one_line(&error),
        }
    }

    #[test]
    fn wrong_usage_is_one_line_with_a_hint() {
        assert_eq!(told(&[]), "no command given; try `fissure --help`");
        assert_eq!(told(&["chek", "x"]), "there is no command `chek`; did you mean `check`?");
        assert_eq!(told(&["zzz"]), "there is no command `zzz`; try `fissure --help`");
        assert_eq!(told(&["check", "--formt", "json", "x"]), "there is no option `--formt`; did you mean `--format`?");
        assert_eq!(told(&["check", "--xyzzy", "x"]), "there is no option `--xyzzy`; try `fissure check --help`");
        assert_eq!(told(&["check"]), "missing <PATH>...; try `fissure check --help`");
        assert_eq!(
            told(&["check", "--format", "xml", "x"]),
            "`xml` is no value for `--format <FORMAT>`; there are: text, json, sarif"
        );
        assert_eq!(told(&["check", "x", "--output"]), "`--output <FILE>` needs a value; try `fissure --help`");
        assert_eq!(told(&["check", "--jobs", "0", "x"]), "`0` is no value for `--jobs <N>`: 0 is not in 1..=512");
        assert_eq!(
            told(&["check", "--jobs", "many", "x"]),
            "`many` is no value for `--jobs <N>`: invalid digit found in string"
        );
        assert_eq!(
            told(&["check", "--jobs", "1", "--jobs", "2", "x"]),
            "`--jobs <N>` may be given only once; try `fissure check --help`"
        );
    }

    #[test]
    fn every_format_can_be_chosen() {
        let ids: Vec<&str> = FormatArg::value_variants().iter().map(|format| format.0.id()).collect();
        let all: Vec<&str> = report::Format::ALL.iter().map(|format| format.id()).collect();
        assert_eq!(ids, all);
    }
}
