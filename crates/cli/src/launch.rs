//! Starts a program with the agent in its JVMs, and passes signals and exit codes through.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use clap::Args;
use recording::{Follow, Options};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// The variable whose options the `java` launcher takes, and `javac` does not.
const JAVA_OPTIONS: &str = "JDK_JAVA_OPTIONS";
/// Where the agent is, if not beside the command.
const AGENT: &str = "FISSURE_AGENT";

/// What is watched of a program.
#[derive(Args)]
pub(crate) struct WatchArgs {
    /// Watch these classes and no others: `com.shop.**` for a package and those below it, `*` within one; may be repeated
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,

    /// Leave these classes alone; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Keep every access, also those that change no verdict: much slower, and for tests
    #[arg(long)]
    no_filter: bool,

    /// Also tell what the branches that were not taken would have done, with the objects at hand, as events that did not
    /// happen; the program takes longer
    #[arg(long)]
    speculate: bool,
}

impl WatchArgs {
    pub(crate) fn options(&self, folder: &Path) -> Options {
        Options {
            folder: folder.to_owned(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            no_filter: self.no_filter,
            speculates: self.speculate,
            ..Options::default()
        }
    }
}

/// The option that makes a JVM load the agent.
pub(crate) fn agent_option(options: &Options) -> Result<String> {
    let library = find_agent()?;
    Ok(format!("-agentpath:{}={options}", library.display()))
}

fn find_agent() -> Result<PathBuf> {
    if let Some(path) = env::var_os(AGENT) {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("`{}`, which {AGENT} names, is no file", path.display());
        }
        return Ok(path);
    }
    let command = env::current_exe().and_then(|path| path.canonicalize()).context("cannot find out where I am")?;
    let name = format!("{}fissure_agent{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let folder = command.parent().unwrap_or(Path::new("."));
    // Tests and installations that follow the usual layout have it one folder up.
    let places = [folder.join(&name), folder.join("../lib").join(&name), folder.join("..").join(&name)];
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        bail!("the agent `{name}` is not beside the command in `{}`; build or install both", folder.display());
    };
    Ok(found.clone())
}

/// A program that runs with the agent.
pub(crate) struct Launched {
    child: Child,
    status: Option<ExitStatus>,
    signals: Handle,
    folder: PathBuf,
    /// Folders of JVMs that were handed out.
    seen: Vec<OsString>,
}

impl Launched {
    /// Starts a command. `java` itself gets the option; anything else hands it on in a variable.
    pub(crate) fn start(command: &[OsString], options: &Options) -> Result<Launched> {
        let option = agent_option(options)?;
        let [program, arguments @ ..] = command else { bail!("no program to run") };
        let mut started = Command::new(program);
        if Path::new(program).file_name() == Some(OsStr::new("java")) {
            started.arg(&option);
        } else {
            started.env(JAVA_OPTIONS, with_option(env::var_os(JAVA_OPTIONS), &option));
        }
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).context("cannot pass signals on")?;
        let child =
            started.args(arguments).spawn().with_context(|| format!("cannot start `{}`", program.to_string_lossy()))?;
        let handle = pass_on(signals, &child);
        Ok(Launched { child, status: None, signals: handle, folder: options.folder.clone(), seen: Vec::new() })
    }

    /// Whether the program is still running.
    pub(crate) fn is_running(&mut self) -> Result<bool> {
        if self.status.is_none() {
            self.status = self.child.try_wait().context("cannot wait for the program")?;
        }
        Ok(self.status.is_none())
    }

    /// The program's exit code, as a shell would tell it. Only once it has ended.
    pub(crate) fn exit_code(&self) -> u8 {
        let Some(status) = self.status else { return 0 };
        match (status.code(), status.signal()) {
            (Some(code), _) => code as u8,
            (None, Some(signal)) => 128u8.wrapping_add(signal as u8),
            (None, None) => 1,
        }
    }

    /// Whether a signal has ended the program.
    pub(crate) fn was_killed(&self) -> bool {
        self.status.is_some_and(|status| status.signal().is_some())
    }

    /// Folders of JVMs that have begun to record since the last call, in the order of their names.
    pub(crate) fn new_recordings(&mut self) -> Result<Vec<PathBuf>> {
        let mut new = Vec::new();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(_) => return Ok(new),
        };
        for entry in entries {
            let name = entry.context("cannot list the folder of recordings")?.file_name();
            if !self.seen.contains(&name) && Follow::is_recording(&self.folder.join(&name)) {
                new.push(self.folder.join(&name));
                self.seen.push(name);
            }
        }
        new.sort();
        Ok(new)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.signals.close();
    }
}

/// Passes signals to the program. Those that a terminal sends have reached it already, as they have everyone in front of
/// the terminal; they must only not end this process before the recording is whole.
fn pass_on(mut signals: Signals, child: &Child) -> Handle {
    let handle = signals.handle();
    let child = Pid::from_child(child);
    thread::spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                SIGINT if !is_in_front() => Signal::INT,
                SIGQUIT if !is_in_front() => Signal::QUIT,
                _ => continue,
            };
            // It may be over already.
            let _ = kill_process(child, signal);
        }
    });
    handle
}

/// Whether this process is in front of a terminal, with the program that it started.
fn is_in_front() -> bool {
    let terminal = fs::File::open("/dev/tty").ok();
    terminal.and_then(|terminal| tcgetpgrp(terminal).ok()).is_some_and(|group| group == getpgrp())
}

fn with_option(before: Option<OsString>, option: &str) -> OsString {
    // The launcher splits at spaces outside quotes.
    let quoted = if option.contains(char::is_whitespace) { format!("\"{option}\"") } else { option.to_owned() };
    match before {
        Some(before) if !before.is_empty() => {
            let mut all = before;
            all.push(" ");
            all.push(quoted);
            all
        }
        _ => quoted.into(),
    }
}
