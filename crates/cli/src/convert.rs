//! `fissure trace`: a trace of any form in, the same trace as text or binary out.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use trace::{Event, OrderedWriter, Tables, TextWriter};

use crate::analyze::{lost, open};
use crate::output;

const INCOMPLETE: u8 = 3;

#[derive(Args)]
pub(crate) struct TraceArgs {
    /// The trace, of any form; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The form to write
    #[arg(long, value_name = "FORM")]
    to: FormArg,

    /// Where to write; standard output by default
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormArg {
    Text,
    Binary,
}

pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode> {
    let mut reader = open(&args.file)?;
    let target: Box<dyn Write> = match &args.output {
        Some(path) => {
            if same_file(&args.file, path) {
                bail!("cannot write `{}` while it is read; give another name", path.display());
            }
            Box::new(File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?)
        }
        None if args.to == FormArg::Binary && io::stdout().is_terminal() => {
            bail!("a binary trace is not for a terminal; give a file with `-o`")
        }
        None => Box::new(io::stdout().lock()),
    };
    let mut writer = Writer::new(args.to, BufWriter::with_capacity(1 << 16, target))?;
    let mut batch = Vec::new();
    loop {
        reader.next(&mut batch).with_context(|| format!("`{}`", args.file.display()))?;
        let written = if batch.is_empty() {
            writer.finish(reader.tables()).map(|()| None)
        } else {
            batch.iter().try_for_each(|event| writer.event(event, reader.tables())).map(|()| Some(writer))
        };
        match written {
            Ok(Some(rest)) => writer = rest,
            Ok(None) => break,
            // A reader that stops reading, as `head` does, is no error.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(error).context("cannot write the trace"),
        }
    }
    let problems = lost(&args.file, &reader);
    for problem in &problems {
        output::complain(&format!("{}: {}", problem.path, problem.reason));
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

enum Writer<W: Write> {
    Text(TextWriter<W>),
    Binary(OrderedWriter<W>),
}

impl<W: Write> Writer<W> {
    fn new(form: FormArg, output: W) -> Result<Writer<W>> {
        Ok(match form {
            FormArg::Text => Writer::Text(TextWriter::new(output)),
            FormArg::Binary => Writer::Binary(OrderedWriter::new(output).context("cannot write the trace")?),
        })
    }

    fn event(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        match self {
            Writer::Text(writer) => writer.event(event, tables),
            Writer::Binary(writer) => writer.event(event, tables),
        }
    }

    fn finish(self, tables: &Tables) -> io::Result<()> {
        match self {
            Writer::Text(writer) => writer.finish().map(drop),
            Writer::Binary(writer) => writer.finish(tables).map(drop),
        }
    }
}

/// Writing over the trace would destroy it before it is read.
fn same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
