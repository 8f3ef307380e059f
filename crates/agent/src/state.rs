//! What the agent knows: one value per JVM, made once.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::{fs, io, process};

use instrument::{Origin, Plan, Sites};
use recording::{Options, Row};
use rustc_hash::FxHashMap;

use crate::jvm::{Global, Jvmti};
use crate::map::{Events, Filled};
use crate::names::Names;
use crate::packed::Packed;
use crate::plan;
use crate::runtime::Entry;
use crate::select::globs;

/// Callbacks and native methods bring no value of ours, so there is no other place for it.
pub(crate) static AGENT: OnceLock<Agent> = OnceLock::new();

/// A class as it was before it was rewritten.
type KeptClass = (Origin, Arc<[u8]>);

pub(crate) struct Agent {
    pub(crate) jvmti: Jvmti,
    pub(crate) plan: RwLock<Plan>,
    sites: Mutex<Sites>,
    folder: PathBuf,
    /// As it was when the agent was loaded.
    class_path: String,
    waits_for_plan: bool,
    pub(crate) no_filter: bool,
    pub(crate) entry: OnceLock<Entry>,
    /// The loader of the class path.
    pub(crate) app_loader: OnceLock<Global>,
    events: Mutex<Events>,
    /// If the agent writes the trace itself.
    packed: Option<Packed>,
    names: Mutex<Names>,
    stopped: AtomicBool,
    /// Classes as they were, by binary name, if arms may ask what their methods would do.
    classes: Mutex<FxHashMap<String, KeptClass>>,
    /// Classes of the platform that have their hooks.
    pub(crate) hooked: Mutex<Vec<&'static str>>,
    pub(crate) instrumented: AtomicU32,
    pub(crate) failed: AtomicU32,
    /// Methods that could not get their probes.
    pub(crate) left_alone: AtomicU32,
}

impl Agent {
    pub(crate) fn create(jvmti: Jvmti, options: &Options) -> Result<Agent, String> {
        let folder = folder(options).map_err(|error| told("make a folder in", &options.folder, &error))?;
        let trouble = |error: io::Error| told("write to", &folder, &error);
        let events = Events::create(&folder, options.limit, options.backlog).map_err(trouble)?;
        let packed = if options.packs { Some(Packed::create(&folder).map_err(trouble)?) } else { None };
        let kept = packed.as_ref().map(Packed::file).transpose().map_err(trouble)?;
        // Last, as this file makes the folder a recording.
        let names = Names::create(&folder, kept).map_err(trouble)?;
        let (include, exclude) = globs(&options.include, &options.exclude);
        Ok(Agent {
            jvmti,
            plan: RwLock::new(Plan {
                include,
                exclude,
                skips_unescaped: !options.no_filter,
                joins_updates: !options.no_filter,
                speculates: options.speculates,
                ..Plan::default()
            }),
            sites: Mutex::new(Sites::new()),
            class_path: jvmti.property(c"java.class.path").unwrap_or_default(),
            waits_for_plan: options.waits_for_plan,
            folder,
            no_filter: options.no_filter,
            entry: OnceLock::new(),
            app_loader: OnceLock::new(),
            events: Mutex::new(events),
            packed,
            names: Mutex::new(names),
            stopped: AtomicBool::new(false),
            classes: Mutex::new(FxHashMap::default()),
            hooked: Mutex::new(Vec::new()),
            instrumented: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            left_alone: AtomicU32::new(0),
        })
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sites(&self) -> MutexGuard<'_, Sites> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a class for those who ask later. Of two loaders' classes of one name, the later one counts.
    pub(crate) fn keep(&self, name: &str, origin: Origin, bytes: &[u8]) {
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        classes.insert(name.to_owned(), (origin, bytes.into()));
    }

    pub(crate) fn kept(&self, name: &str) -> Option<KeptClass> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Asks for a plan, if it is to, and waits for it.
    pub(crate) fn get_plan(&self) {
        if self.waits_for_plan
            && let Err(trouble) = plan::get(&self.folder, &self.class_path, &self.plan)
        {
            complain(&format!("no plan, so no units: {trouble}"));
        }
    }

    /// Memory for records, or 0 if nothing is recorded any more, or none is asked for. `full` is what the writer is done
    /// with.
    pub(crate) fn chunk(&self, thread: u32, size: usize, full: u64) -> u64 {
        if self.is_stopped() {
            return 0;
        }
        self.chunk_after(thread, size, full).unwrap_or_else(|error| {
            self.stop(&error.to_string());
            0
        })
    }

    fn chunk_after(&self, thread: u32, size: usize, full: u64) -> io::Result<u64> {
        let events = || self.events.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.packed {
            Some(packed) if full != 0 => {
                let filled = Filled::at(full);
                packed.add(&filled, size == 0)?;
                filled.free();
                events().kept(&filled);
            }
            _ => events().full(full),
        }
        if size == 0 { Ok(0) } else { events().chunk(thread, size) }
    }

    pub(crate) fn write(&self, rows: &[Row]) {
        let written = self.names().write(rows);
        if let Err(error) = written {
            self.stop(&error.to_string());
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the recording, once, and says why.
    pub(crate) fn stop(&self, why: &str) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            complain(&format!("recording has stopped: {why}"));
            let _ = self.names().write(&[Row::Note { text: format!("recording has stopped: {why}") }]);
        }
    }

    /// The JVM ends by itself.
    pub(crate) fn end(&self) {
        let instrumented = self.instrumented.load(Ordering::Relaxed);
        let failed = self.failed.load(Ordering::Relaxed);
        let mut rows = vec![Row::Classes { instrumented, failed }];
        let left_branches = self.sites().left_branches;
        if left_branches > 0 {
            rows.push(Row::Note {
                text: format!("the arms of {left_branches} branches or methods are not told: there is no room for probes, or no frames"),
            });
        }
        let left_alone = self.left_alone.load(Ordering::Relaxed);
        if left_alone > 0 {
            rows.push(Row::Note {
                text: format!("{left_alone} methods are left as they are: they have no room for probes"),
            });
        }
        rows.push(Row::End);
        let _ = self.names().write(&rows);
    }
}

fn folder(options: &Options) -> io::Result<PathBuf> {
    fs::create_dir_all(&options.folder)?;
    let name = process::id().to_string();
    // A number may come again after another JVM has ended.
    for again in 0.. {
        let name = if again == 0 { name.clone() } else { format!("{name}.{again}") };
        let folder = options.folder.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(folder),
        }
    }
    Err(io::Error::other("no name is free"))
}

fn told(what: &str, folder: &std::path::Path, error: &io::Error) -> String {
    format!("cannot {what} `{}`: {error}", folder.display())
}

/// One line on standard error, which is all that a person sees of this library.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "fissure: {line}");
}
