//! `fissure record`: runs a program and keeps its events, one trace per JVM.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use recording::{Converter, Follow, Options, Recording};

use crate::folder::Folder;
use crate::launch::{Launched, WatchArgs, agent_option};
use crate::output;
use crate::request;

/// How often the files of the JVMs are looked at.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of records that may wait to be read; then the program waits. Few enough to stay in the processor's cache: more
/// are written and read by way of memory that has to be cleared first.
const BACKLOG: u64 = 16 << 20;

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
        Options { backlog: BACKLOG, waits_for_plan: !options.no_filter, ..options }
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
            traces.extend(kept(Trace::of(&jvm)));
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
        let mut more = false;
        traces.retain_mut(|trace| {
            let advanced = kept(trace.advance(&mut outputs));
            more |= advanced == Some(true);
            advanced.is_some()
        });
        if !is_running {
            break;
        }
        if !more {
            thread::sleep(PAUSE);
        }
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
    write(&mut outputs.next()?, &bytes)
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
    fn next(&mut self) -> Result<(PathBuf, File)> {
        self.count += 1;
        let path = if self.count == 1 {
            self.first.clone()
        } else {
            let mut name = self.first.as_os_str().to_owned();
            name.push(format!(".{}", self.count));
            PathBuf::from(name)
        };
        let file = File::create(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok((path, file))
    }
}

/// The trace of one JVM.
struct Trace {
    follow: Follow,
    /// Made when there is code that tells of something: some JVMs only say their version, or help another one.
    file: Option<(PathBuf, File)>,
}

impl Trace {
    fn of(jvm: &Path) -> Result<Trace> {
        let follow = Follow::consuming(jvm).with_context(|| format!("cannot read `{}`", jvm.display()))?;
        Ok(Trace { follow, file: None })
    }

    /// Writes what is new; whether there was anything.
    fn advance(&mut self, outputs: &mut Outputs) -> Result<bool> {
        let more = self.follow.poll().context("cannot read the recording")?;
        if self.follow.about().has_sites {
            self.write(outputs)?;
        }
        Ok(more)
    }

    fn write(&mut self, outputs: &mut Outputs) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(outputs.next()?),
        };
        let (path, file) = file;
        self.follow.write_to(file).with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// If no JVM ran any code that is watched, one of them has the trace all the same, and that is told.
    fn finish(self, outputs: &mut Outputs) -> Result<()> {
        let Trace { mut follow, file } = self;
        let mut bytes = Vec::new();
        if file.is_none() {
            follow.write_to(&mut bytes)?;
        }
        let (rest, about) = follow.finish().context("cannot read the recording")?;
        bytes.extend(rest);
        let mut file = match file {
            Some(file) => file,
            None if outputs.count > 0 => return Ok(()),
            None => outputs.next()?,
        };
        write(&mut file, &bytes)?;
        tell(&file.0, &about);
        Ok(())
    }
}

fn write((path, file): &mut (PathBuf, File), bytes: &[u8]) -> Result<()> {
    file.write_all(bytes).with_context(|| format!("cannot write `{}`", path.display()))
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
