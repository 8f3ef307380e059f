//! One JVM: answers what it asks, and follows what it does.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use detect_dynamic::{Answered, Pairs};
use detect_static::{DETECTORS, Detector, Suspected};
use finding::Suspicion;
use program::{Known, Program, Settings};
use recording::{Follow, Recording};
use trace::Reader;

use crate::check::unread_method;
use crate::input::{self, InputOptions};
use crate::output;

const REQUEST: &str = "request";
const PLAN: &str = "plan";
const PAUSE: Duration = Duration::from_millis(5);

/// About what one record of an access takes, with all that belongs to it.
const RECORD_BYTES: usize = 200;

pub(super) struct Watch {
    pub(super) folder: PathBuf,
    pub(super) settings: Settings,
    pub(super) max_memory: u32,
    pub(super) is_over: Arc<AtomicBool>,
}

/// What came of one JVM.
pub(super) struct Watched {
    pub(super) checked: Checked,
    pub(super) answered: Answered,
    pub(super) recording: Recording,
    pub(super) seen: u64,
    pub(super) lost: u64,
}

/// What the check of a class path says.
#[derive(Default)]
pub(super) struct Checked {
    pub(super) classes: usize,
    pub(super) methods: usize,
    pub(super) skipped: Vec<classfile::Skipped>,
    pub(super) jdk: Option<String>,
    pub(super) findings: Vec<finding::Finding>,
}

impl Watch {
    pub(super) fn run(&self) -> Result<Watched> {
        let (checked, suspicions) = self.answer()?;
        let most_records = (self.max_memory as usize * (1 << 20)) / RECORD_BYTES;
        let mut pairs = Pairs::new(suspicions, most_records);
        let follow = Follow::new(&self.folder).with_context(|| self.shown())?;
        let (sender, about) = channel();
        let live = Live { follow: Some(follow), is_over: Arc::clone(&self.is_over), bytes: Vec::new(), at: 0, sender };
        let mut reader = Reader::new(live).with_context(|| self.shown())?;
        let mut batch = Vec::new();
        let mut seen = 0;
        let mut behind = Behind::new(&self.is_over);
        loop {
            reader.next(&mut batch).with_context(|| self.shown())?;
            if batch.is_empty() {
                break;
            }
            seen += batch.len() as u64;
            pairs.on_events(&batch, reader.tables());
            behind.tell(seen);
        }
        let lost = reader.problems().lost_events();
        let answered = pairs.finish(reader.tables());
        Ok(Watched { checked, answered, recording: last(&about), seen, lost })
    }

    fn shown(&self) -> String {
        format!("cannot read the recording in `{}`", self.folder.display())
    }

    /// Waits for the JVM's request, and makes its plan.
    fn answer(&self) -> Result<(Checked, Vec<Suspicion>)> {
        let request = self.folder.join(REQUEST);
        let text = loop {
            match fs::read_to_string(&request) {
                Ok(text) => break text,
                // A JVM that ended early asks nothing.
                Err(_) if self.is_over.load(Ordering::SeqCst) => return Ok(Default::default()),
                Err(_) => thread::sleep(PAUSE),
            }
        };
        let mut lines = text.lines();
        let (class_path, working) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let (checked, suspicions) = match check(&class_path_of(class_path, Path::new(working)), self.settings) {
            Ok(answer) => answer,
            Err(error) => {
                output::complain(&format!(
                    "warning: the class path cannot be checked, so nothing is suspected: {error:#}"
                ));
                Default::default()
            }
        };
        let unfinished = self.folder.join(format!("{PLAN}.tmp"));
        fs::write(&unfinished, plan(&suspicions))
            .with_context(|| format!("cannot write `{}`", unfinished.display()))?;
        fs::rename(&unfinished, self.folder.join(PLAN))
            .with_context(|| format!("cannot write a plan in `{}`", self.folder.display()))?;
        Ok((checked, suspicions))
    }
}

/// The entries of a class path that are there. What is not there the JVM ignores, too.
fn class_path_of(text: &str, working: &Path) -> Vec<PathBuf> {
    let entries = std::env::split_paths(text).filter(|entry| !entry.as_os_str().is_empty());
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in entries.map(|entry| working.join(entry)) {
        if path.exists() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn check(paths: &[PathBuf], settings: Settings) -> Result<(Checked, Vec<Suspicion>)> {
    if paths.is_empty() {
        return Ok(Default::default());
    }
    let inputs = input::load(paths, &InputOptions::default())?;
    let program = Program::load(inputs.sources, Known::default());
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    let Suspected { checked, suspicions } = detect_static::suspect(&program, &detectors, settings);
    let mut skipped = inputs.skipped;
    skipped.extend(program.skipped().iter().cloned());
    skipped.extend(checked.unreadable.iter().map(|unreadable| unread_method(&program, unreadable)));
    skipped.sort();
    let checked = Checked {
        classes: program.class_count(),
        methods: program.method_count(),
        skipped,
        jdk: Some(program.jdk().to_owned()),
        findings: checked.findings,
    };
    Ok((checked, suspicions))
}

/// The methods whose activations the run must tell, one a line.
fn plan(suspicions: &[Suspicion]) -> String {
    let mut lines: Vec<String> = suspicions
        .iter()
        .map(|suspicion| &suspicion.finding.method)
        .map(|method| format!("enter\t{}\t{}\t{}\n", method.class.replace('.', "/"), method.name, method.descriptor))
        .collect();
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// The last of what was sent.
fn last(about: &Receiver<Recording>) -> Recording {
    about.try_iter().last().unwrap_or_default()
}

/// A recording as a trace, which ends when the program has ended and all is read.
struct Live {
    follow: Option<Follow>,
    is_over: Arc<AtomicBool>,
    bytes: Vec<u8>,
    at: usize,
    sender: Sender<Recording>,
}

impl Read for Live {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() {
            let Some(follow) = &mut self.follow else { return Ok(0) };
            // Asked before the files are read, so that nothing is written after the last look.
            let is_over = self.is_over.load(Ordering::SeqCst);
            let more = follow.poll()?;
            (self.bytes, self.at) = (follow.take(), 0);
            if is_over || follow.about().ended {
                if let Some(follow) = self.follow.take() {
                    let (rest, about) = follow.finish()?;
                    self.bytes.extend_from_slice(&rest);
                    // Whoever reads may have given up.
                    let _ = self.sender.send(about);
                }
            } else if !more {
                thread::sleep(PAUSE);
            }
        }
        let length = out.len().min(self.bytes.len() - self.at);
        out[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Says how far the analysis has come when the program is over and it is not.
struct Behind<'a> {
    is_over: &'a AtomicBool,
    since: Option<std::time::Instant>,
    told: bool,
}

impl<'a> Behind<'a> {
    const PATIENCE: Duration = Duration::from_secs(2);

    fn new(is_over: &'a AtomicBool) -> Behind<'a> {
        Behind { is_over, since: None, told: false }
    }

    fn tell(&mut self, seen: u64) {
        if self.told || !self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let since = *self.since.get_or_insert_with(std::time::Instant::now);
        if since.elapsed() > Behind::PATIENCE {
            self.told = true;
            output::complain(&format!("the program is over, and the analysis is behind: {seen} events so far"));
        }
    }
}
