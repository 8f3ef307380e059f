//! `fissure record`: runs a program and keeps its events, one trace per JVM.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use recording::{Converter, Keeper, Options, Recording};

use crate::folder::Folder;
use crate::launch::{Launched, WatchArgs, agent_option};
use crate::output;
use crate::request;

/// How often the files of the JVMs are looked at.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Args)]
pub(crate) struct RecordArgs {
    /// The trace to write; further JVMs of the same program get `FILE.2`, `FILE.3` and so on
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "fissure.trace")]
    output: PathBuf,

    /// Print the option that makes a JVM record, for scripts of one's own, and run nothing
    ///
    /// What is recorded is then a folder in the folder that `--output` names, which `fissure analyze` reads as well.
    #[arg(long)]
    print_agent: bool,

    /// Stop recording when a JVM has made so many megabytes of records, and say so; 0 for no limit
    #[arg(long, value_name = "MB", default_value_t = 8192)]
    max_size: u64,

    #[command(flatten)]
    watch: WatchArgs,

    /// The program and its arguments: `java ...`, or whatever ends in Java
    #[arg(last = true, required_unless_present = "print_agent", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode> {
    let options = |folder: &Path| Options { limit: args.max_size << 20, ..args.watch.options(folder) };
    if args.print_agent {
        let folder = std::path::absolute(&args.output).context("cannot find the folder")?;
        output::print(&format!("{}\n", agent_option(&options(&folder))?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = |folder: &Path| {
        let options = options(folder);
        // Where all is kept, nothing is asked.
        Options { packs: true, waits_for_plan: !options.no_filter, ..options }
    };
    let folder = Folder::beside(&args.output)?;
    let mut launched = Launched::start(&args.command, &options(folder.path()))?;
    let mut outputs = Outputs { first: args.output.clone(), count: 0 };
    let mut traces: Vec<Trace> = Vec::new();
    let mut asking: Vec<PathBuf> = Vec::new();
    let mut jvms = 0;
    loop {
        // Asked first, so that nothing is written after the last look.
        let is_running = launched.is_running()?;
        for jvm in launched.new_recordings()? {
            jvms += 1;
            traces.push(Trace::of(&jvm));
            asking.push(jvm);
        }
        // Also those whose trace had to end: they wait for an answer.
        asking.retain(|jvm| match request::read(jvm) {
            Some(paths) => {
                kept(request::answer(jvm, &request::plan_of_constants(&paths)));
                false
            }
            None => true,
        });
        traces.retain_mut(|trace| kept(trace.advance(&mut outputs)).is_some());
        if !is_running {
            break;
        }
        thread::sleep(PAUSE);
    }
    if jvms == 0 {
        kept(write_nothing(launched.was_killed(), &mut outputs));
    }
    for trace in traces {
        kept(trace.finish(&mut outputs));
    }
    Ok(ExitCode::from(launched.exit_code()))
}

/// No JVM has begun to record. There is a trace all the same: one of an earlier run would be taken for it.
fn write_nothing(was_killed: bool, outputs: &mut Outputs) -> Result<()> {
    output::complain(match was_killed {
        true => "warning: the program was killed before a JVM began to record: the trace is empty",
        false => "warning: no JVM was recorded: the program ran none, or none that takes the agent; the trace is empty",
    });
    let mut trace = Converter::new()?;
    // As of a JVM that was killed: without an end.
    let bytes = if was_killed { trace.take() } else { trace.finish()? };
    let path = outputs.next();
    fs::write(&path, &bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Trouble with a trace, such as a full disk, ends the trace and not the program that is recorded.
fn kept<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|trouble| output::complain(&format!("warning: a trace ends here: {trouble:#}"))).ok()
}

/// Where traces go: the first to the file that was asked for, others beside it.
struct Outputs {
    first: PathBuf,
    count: usize,
}

impl Outputs {
    fn next(&mut self) -> PathBuf {
        self.count += 1;
        if self.count == 1 {
            return self.first.clone();
        }
        let mut name = self.first.as_os_str().to_owned();
        name.push(format!(".{}", self.count));
        PathBuf::from(name)
    }
}

/// The trace of one JVM, which the agent writes.
struct Trace {
    keeper: Keeper,
    /// Known when there is code that tells of something: some JVMs only say their version, or help another one.
    output: Option<Output>,
}

/// Where a trace is to be, and where it is now.
struct Output {
    path: PathBuf,
    now: PathBuf,
}

impl Output {
    /// Moves what the agent has begun to where it is to be, so that it is there whatever becomes of this process.
    fn of(begun: PathBuf, path: PathBuf) -> Output {
        // What a link leads to is written, and not the link. What is no file, such as a pipe, gets all at the end.
        let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let is_other = fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file());
        let now = if !is_other && fs::rename(&begun, &target).is_ok() { target } else { begun };
        Output { path, now }
    }

    fn copy_if_elsewhere(&self) -> io::Result<()> {
        let is_there = match (fs::canonicalize(&self.path), fs::canonicalize(&self.now)) {
            (Ok(path), Ok(now)) => path == now,
            _ => false,
        };
        if !is_there {
            io::copy(&mut File::open(&self.now)?, &mut File::create(&self.path)?)?;
        }
        Ok(())
    }
}

impl Trace {
    fn of(jvm: &Path) -> Trace {
        Trace { keeper: Keeper::new(jvm), output: None }
    }

    /// Sees what the JVM says of itself.
    fn advance(&mut self, outputs: &mut Outputs) -> Result<()> {
        let about = self.keeper.poll().context("cannot read the recording")?;
        if self.output.is_none() && about.has_sites {
            self.output = Some(Output::of(self.keeper.begun(), outputs.next()));
        }
        Ok(())
    }

    /// If no JVM ran any code that is watched, one of them has the trace all the same, and that is told.
    fn finish(self, outputs: &mut Outputs) -> Result<()> {
        let output = match self.output {
            Some(output) => output,
            None if outputs.count > 0 => return Ok(()),
            None => Output::of(self.keeper.begun(), outputs.next()),
        };
        let shown = || format!("cannot write `{}`", output.path.display());
        let about = self.keeper.finish(&output.now).with_context(shown)?;
        output.copy_if_elsewhere().with_context(shown)?;
        tell(&output.path, &about);
        Ok(())
    }
}

fn tell(path: &Path, about: &Recording) {
    for note in &about.notes {
        output::complain(&format!("warning: {note}"));
    }
    if !about.ended {
        output::complain("warning: the JVM was killed: the trace has what it did until then");
    } else if about.instrumented == 0 {
        output::complain(
            "warning: no class was instrumented, so nothing was seen: check `--include`, `--exclude` and what the program loads, and stop build daemons that ran before",
        );
    }
    if about.failed > 0 {
        output::complain(&format!(
            "warning: {} classes could not be instrumented and were left as they are",
            about.failed
        ));
    }
    let classes = about.instrumented;
    output::complain(&format!("{} events of {classes} classes are in `{}`", about.events, path.display()));
}
