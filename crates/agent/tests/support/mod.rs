//! Compiles programs of `fixtures/record` and runs them, with and without the agent.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod races;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use fixture::{Jdk, find_jdks, workspace};

/// JDKs that the agent is for.
pub(crate) fn jdks() -> Vec<Jdk> {
    find_jdks().unwrap().into_iter().filter(|jdk| jdk.feature >= 17).collect()
}

#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    classes: PathBuf,
}

impl Program {
    /// A program of `fixtures/record`. They are all compiled at once, by the first JDK.
    pub(crate) fn named(name: &str) -> Program {
        static CLASSES: OnceLock<PathBuf> = OnceLock::new();
        let classes = CLASSES.get_or_init(|| {
            let classes = temporary("classes");
            let sources = fs::read_dir(workspace().join("fixtures/record")).unwrap();
            let mut compile = Command::new(jdks()[0].program("javac"));
            compile.args(["-g", "--release", "17", "-d"]).arg(&classes);
            assert!(compile.args(sources.map(|source| source.unwrap().path())).status().unwrap().success());
            classes
        });
        Program { name: name.to_owned(), classes: classes.clone() }
    }

    pub(crate) fn arguments(&self) -> [String; 5] {
        let classes = self.classes.display().to_string();
        ["-Xss256k".to_owned(), "-Xmx64m".to_owned(), "-cp".to_owned(), classes, self.name.clone()]
    }
}

/// The option that makes a JVM record to a folder.
pub(crate) fn agent_option(folder: &Path, options: &str) -> String {
    let output = Command::new(fissure()).args(["record", "--print-agent", "-o"]).arg(folder).output().unwrap();
    ended(&output).stdout.trim().to_owned() + options
}

/// A trace or a recording as text.
pub(crate) fn text_of(trace: &Path) -> String {
    ended(&Command::new(fissure()).arg("trace").arg(trace).args(["--to", "text"]).output().unwrap()).stdout
}

pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

pub(crate) fn run(jdk: &Jdk, program: &Program, arguments: &[&str]) -> Ended {
    let mut java = Command::new(jdk.program("java"));
    ended(&java.args(program.arguments()).args(arguments).output().unwrap())
}

pub(crate) struct Event {
    pub(crate) thread: String,
    /// Without numbers of objects and sections.
    pub(crate) operation: String,
}

pub(crate) struct Recorded {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Event>,
    /// The trace as it is.
    pub(crate) text: String,
    /// Events whose order is not known.
    pub(crate) order_unknown: usize,
}

pub(crate) fn record(jdk: &Jdk, program: &Program, arguments: &[&str], options: &[&str]) -> Recorded {
    let folder = temporary("trace");
    let trace = folder.join("t.trace");
    let mut command = Command::new(fissure());
    command.arg("record").arg("-o").arg(&trace).args(options).arg("--").arg(jdk.program("java"));
    let Ended { stdout, stderr, code } = ended(&command.args(program.arguments()).args(arguments).output().unwrap());
    let text = ended(&Command::new(fissure()).arg("trace").arg(&trace).args(["--to", "text"]).output().unwrap());
    let _ = fs::remove_dir_all(folder);
    Recorded {
        stdout,
        stderr,
        code,
        events: events(&text.stdout),
        order_unknown: usize::from(text.stderr.contains("order of")),
        text: text.stdout,
    }
}

fn events(text: &str) -> Vec<Event> {
    text.lines()
        .map(|line| {
            let mut fields = line.split('|');
            let thread = fields.next().unwrap_or_default().to_owned();
            let operation = fields.next().unwrap_or_default();
            let operation = operation.split('{').next().unwrap_or_default();
            Event { thread, operation: without_numbers(operation) }
        })
        .collect()
}

/// `Counter.count@` for `Counter.count@17`.
fn without_numbers(operation: &str) -> String {
    let mut out = String::new();
    let mut after = false;
    for c in operation.chars() {
        if !(after && c.is_ascii_digit()) {
            after = c == '@';
            out.push(c);
        }
    }
    out
}

fn ended(output: &Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { stdout: text(&output.stdout), stderr: text(&output.stderr), code: output.status.code() }
}

/// The command with the agent beside it. Cargo makes neither for this test by itself.
pub(crate) fn fissure() -> &'static Path {
    static FISSURE: OnceLock<PathBuf> = OnceLock::new();
    FISSURE.get_or_init(|| {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "cli", "-p", "agent"])
            .current_dir(workspace())
            .status();
        assert!(status.unwrap().success());
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("debug/fissure")
    })
}

pub(crate) fn temporary(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}
