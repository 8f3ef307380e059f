//! One JVM: answers what it asks, and follows what it does.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use detect_dynamic::{Answered, Options, feed_with_tables};
use detect_static::{DETECTORS, Suspected};
use program::{Known, Program, Settings};
use recording::{Follow, LiveEvents, Piece, Recording};
use trace::Events;

use super::judge::Judge;
use super::plan::{UnitsArg, plan};
use crate::assume::{AssumeArgs, Assumed};
use crate::cache::{Answer, Cache, Key};
use crate::check::unread_method;
use crate::input::{self, InputOptions};
use crate::output;
use crate::request;
use crate::show::methods_named;

const PAUSE: Duration = Duration::from_millis(5);

/// Parts of a recording on their way to whoever makes events of them.
const PARTS_AHEAD: usize = 4;

pub(super) struct Watch {
    pub(super) folder: PathBuf,
    pub(super) settings: Settings,
    pub(super) assume: AssumeArgs,
    pub(super) cache: Option<PathBuf>,
    pub(super) max_memory: u32,
    pub(super) units: UnitsArg,
    pub(super) options: Options,
    pub(super) is_over: Arc<AtomicBool>,
}

/// What came of one JVM.
pub(super) struct Watched {
    /// What the check of the class path says; nothing if the JVM asked for nothing.
    pub(super) checked: Option<Answer>,
    pub(super) answered: Answered,
    pub(super) recording: Recording,
    pub(super) seen: u64,
    pub(super) lost: u64,
}

impl Watch {
    pub(super) fn run(&self) -> Result<Watched> {
        let checked = self.answer()?;
        let (suspicions, plan) = match &checked {
            Some(answer) => (answer.suspicions.clone(), answer.plan.as_str()),
            None => Default::default(),
        };
        let mut judge = Judge::new(self, suspicions, plan);
        let follow = Follow::consuming(&self.folder).with_context(|| self.shown())?;
        let (sender, receiver) = sync_channel(PARTS_AHEAD);
        // Records are read on one thread, their events are put in order on the next, and judged on this one.
        thread::scope(|scope| {
            let following = scope.spawn(move || self.follow(follow, &sender));
            let mut events = LiveEvents::new(receiver);
            let mut seen = 0;
            let mut behind = Behind::new(&self.is_over);
            feed_with_tables(&mut events, |events, tables| {
                seen += events.len() as u64;
                judge.on_events(events, tables);
                behind.tell(seen);
            })
            .with_context(|| self.shown())?;
            let answered = judge.finish(events.tables());
            let mut recording = following.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            recording.events = seen;
            recording.broken += events.broken();
            Ok(Watched { checked, answered, recording, seen, lost: events.broken() })
        })
    }

    /// Sends the recording until the program has ended and all is read, or nobody takes it any more.
    fn follow(&self, mut follow: Follow, sender: &SyncSender<io::Result<Vec<Piece>>>) -> Recording {
        loop {
            // Asked before the files are read, so that nothing is written after the last look.
            let is_over = self.is_over.load(Ordering::SeqCst) || follow.about().ended;
            let more = match follow.poll() {
                Ok(more) => more,
                Err(error) => {
                    // Whoever reads may have given up.
                    let _ = sender.send(Err(error));
                    return Recording::default();
                }
            };
            let pieces = follow.pieces();
            if !pieces.is_empty() && sender.send(Ok(pieces)).is_err() {
                return Recording::default();
            }
            if !more && is_over {
                return follow.about().clone();
            }
            if !more {
                thread::sleep(PAUSE);
            }
        }
    }

    fn shown(&self) -> String {
        format!("cannot read the recording in `{}`", self.folder.display())
    }

    /// Waits for the JVM's request, and makes its plan.
    fn answer(&self) -> Result<Option<Answer>> {
        let paths = loop {
            match request::read(&self.folder) {
                Some(paths) => break paths,
                // A JVM that ended early asks nothing.
                None if self.is_over.load(Ordering::SeqCst) => return Ok(None),
                None => thread::sleep(PAUSE),
            }
        };
        let answer = match self.check(&paths) {
            Ok(answer) => answer,
            Err(error) => {
                output::complain(&format!(
                    "warning: the class path cannot be checked, so nothing is suspected: {error:#}"
                ));
                None
            }
        };
        let plan = answer.as_ref().map(|answer| answer.plan.as_str()).unwrap_or_default();
        request::answer(&self.folder, plan)?;
        Ok(answer)
    }

    /// Checks classes: what was found, what is suspect, and the plan; or finds out that it is known.
    fn check(&self, paths: &[PathBuf]) -> Result<Option<Answer>> {
        if paths.is_empty() {
            return Ok(None);
        }
        let kept = match &self.cache {
            Some(folder) => Some((Cache::new(folder), self.key(paths)?)),
            None => None,
        };
        if let Some(answer) = kept.as_ref().and_then(|(cache, key)| cache.get(key)) {
            return Ok(Some(answer));
        }
        let answer = self.check_anew(paths)?;
        if let Some((cache, key)) = &kept {
            // What changed while it was read belongs to no key.
            if self.key(paths)? == *key {
                cache.put(key, &answer);
            }
        }
        Ok(Some(answer))
    }

    /// Everything that the answer depends on.
    fn key(&self, paths: &[PathBuf]) -> Result<Key> {
        let settings = [
            "run".to_owned(),
            format!("{:?}", self.settings),
            format!("{:?}", self.assume),
            format!("{:?}", self.units),
        ];
        let key = Key::new(&settings).context("cannot read this program itself, which the cache needs")?;
        Ok(key.with(&input::files(paths)?))
    }

    fn check_anew(&self, paths: &[PathBuf]) -> Result<Answer> {
        let inputs = input::load(paths, &InputOptions::default())?;
        let constants = request::constants(&inputs);
        let program = Program::load(inputs.sources, Known::default());
        let assumed = Assumed::of(&program, &self.assume);
        for name in &assumed.unknown {
            output::complain(&format!("warning: there is no class, method or field `{name}` on the class path"));
        }
        for name in self.settings.atomic.iter().filter(|name| methods_named(&program, name).is_empty()) {
            output::complain(&format!("warning: there is no method `{name}` on the class path"));
        }
        let detectors: Vec<&detect_static::Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
        let suspected = detect_static::suspect(&program, &detectors, self.settings.clone());
        let Suspected { mut checked, mut suspicions } = suspected;
        checked.findings.retain(|finding| !assumed.hides(finding));
        suspicions.retain(|suspicion| !assumed.hides(&suspicion.finding));
        let mut skipped = inputs.skipped;
        skipped.extend(program.skipped().iter().cloned());
        skipped.extend(checked.unreadable.iter().map(|unreadable| unread_method(&program, unreadable)));
        skipped.sort();
        Ok(Answer {
            classes: program.class_count(),
            methods: program.method_count(),
            jdk: program.jdk().to_owned(),
            skipped,
            missing: Vec::new(),
            findings: checked.findings,
            plan: plan(self.units, &program, &self.settings, &suspicions) + &assumed.plan() + &constants,
            suspicions,
        })
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
