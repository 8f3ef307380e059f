//! The whole program: what a detector may ask beyond one method.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use classfile::CallKind;
use location::FieldName;
use rustc_hash::FxHashMap;

use crate::atomic::atomic_methods;
use crate::calls::{CallGraph, Calls};
use crate::captured::Captured;
use crate::class::{ClassId, MethodId, Program, Unreadable};
use crate::cover::Cover;
use crate::ir::Body;
use crate::latch::Signals;
use crate::outlines::{OutlineCache, Outlines};
use crate::owned::{InterfaceCallers, Owned};
use crate::release::Release;
use crate::sharing::{Answers, Sharings};
use crate::sole::Sole;
use crate::summary::{Extent, Summaries};
use crate::thread::{Threads, World};
use crate::variable::Variables;

/// How far from a section a method may be and still matter: so many calls up, and from there so many down. The first
/// that keeps to [`MAX_METHODS`] counts, so that very large programs are looked at less deeply, and not for hours; all
/// others whole.
const REACHES: [(usize, usize); 7] = [(usize::MAX, usize::MAX), (4, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)];

const MAX_METHODS: usize = 40_000;

/// What is assumed of the program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    pub call_graph: CallGraph,
    pub world: World,
    /// Methods that are taken to be atomic as if they were marked so: `pkg.Class.method`, or a part of that from the
    /// right.
    pub atomic: Vec<String>,
    /// Detectors that come from a paper keep to its abstraction: one object per class, nothing refined.
    pub paper: bool,
    /// Tell of every value that is used after its section, not only of those that do harm.
    pub strict: bool,
    /// From how many classes on code is large: little of it is made for threads, and what others call says less of threads
    /// that meet. If nothing is said, [`LARGE`], and fewer if no `main` starts threads.
    pub large: Option<usize>,
}

/// Programs of this many classes are large.
pub const LARGE: usize = 64;

/// So are libraries of this many: what has no `main` that starts threads is for others to call.
const LARGE_LIBRARY: usize = 24;

/// What may be asked without summaries: calls, outlines, threads, and which fields are shared. Found when it is first
/// asked for, but for the calls.
pub struct Ground<'p> {
    pub program: &'p Program,
    pub calls: Calls,
    pub settings: Settings,
    outlines: Arc<OutlineCache>,
    threads: OnceLock<Threads>,
    captured: OnceLock<Arc<Captured>>,
    interface_callers: OnceLock<InterfaceCallers>,
    answers: Answers,
    pub(crate) signals: OnceLock<Signals>,
    /// Of two methods: whether calls lead from the first to the second, where that was asked.
    pub(crate) reaching: Mutex<FxHashMap<(MethodId, MethodId), bool>>,
    summarised: OnceLock<Summarised>,
}

/// Which methods the whole program has summaries of.
struct Summarised {
    /// Methods that are taken to be atomic.
    atomic: Vec<MethodId>,
    /// By method: whether it matters.
    matters: Vec<bool>,
}

impl<'p> Ground<'p> {
    pub fn of(program: &'p Program, settings: Settings) -> Ground<'p> {
        let calls = Calls::of(program, settings.call_graph);
        Ground {
            program,
            calls,
            settings,
            outlines: Arc::new(OutlineCache::new(program)),
            threads: OnceLock::new(),
            captured: OnceLock::new(),
            interface_callers: OnceLock::new(),
            answers: Answers::new(program),
            signals: OnceLock::new(),
            reaching: Mutex::default(),
            summarised: OnceLock::new(),
        }
    }

    /// Whether there are many classes.
    pub fn is_large(&self) -> bool {
        let count = self.program.class_count();
        let is_library = || {
            self.settings.large.is_none()
                && count >= LARGE_LIBRARY
                && self.settings.world != World::Closed
                && !self.threads().has_closed
        };
        self.has_many() || is_library()
    }

    fn has_many(&self) -> bool {
        self.program.class_count() >= self.settings.large.unwrap_or(LARGE)
    }

    /// How much summaries of all methods have.
    fn extent(&self) -> Extent {
        if self.has_many() { Extent::LARGE } else { Extent::SMALL }
    }

    /// Whether threads that are not known may run a method: code that is not here calls it or has a part in what starts it.
    /// Of a large program that is so of all of it, unless somebody says that it is all there is: a server is called through
    /// the network, and by reflection, and which of its threads come to an object hardly shows.
    pub fn has_unknown_threads(&self, method: MethodId) -> bool {
        self.threads().is_from_outside(method) || self.is_large() && self.settings.world != World::Closed
    }

    /// Finds out which methods will be summarised. Whoever looks at code before that leaves their outlines behind.
    pub fn expect_summaries(&self) {
        self.summarised();
    }

    fn summarised(&self) -> &Summarised {
        self.summarised.get_or_init(|| {
            let atomic = atomic_methods(self.program, &self.calls, &self.settings.atomic);
            let matters = matters(self.program, &self.calls, &atomic);
            Summarised { atomic, matters }
        })
    }

    /// As [`Program::visit_bodies`]. Outlines that are expected to be asked for are made on the way: reading and
    /// translating code is a large part of what an outline costs.
    pub fn visit_bodies<R: Send>(
        &self,
        wanted: impl Fn(MethodId) -> bool + Sync,
        visit: impl Fn(MethodId, Body) -> R + Sync,
    ) -> Vec<Result<R, Unreadable>> {
        let is_expected = |method: MethodId| {
            let expected = self.summarised.get().is_some_and(|summarised| summarised.matters[method.index()]);
            expected && self.outlines.made(method).is_none()
        };
        self.program.visit_bodies(wanted, |method, body| {
            if is_expected(method) {
                self.outlines.make_of(self.program, method, &body);
            }
            visit(method, body)
        })
    }

    /// The outlines of all methods, not only of those that matter: threads are started, and fields written, in others.
    pub fn outlines(&self) -> Outlines<'_> {
        Outlines::new(self.program, &self.outlines)
    }

    /// Summaries of the methods that `wanted` accepts.
    pub fn summaries(&self, wanted: impl Fn(MethodId) -> bool) -> Summaries {
        Summaries::of(self.program, &self.calls, self.outlines.clone(), Arc::default(), &[], Extent::NEAR, wanted)
    }

    /// What starts what, and which threads run a method; found when it is first asked for. That is done on all cores:
    /// whoever works on several at once asks before.
    pub fn threads(&self) -> &Threads {
        self.threads.get_or_init(|| Threads::of(self.program, &self.calls, self.outlines(), self.settings.world))
    }

    /// The locals that tasks capture.
    fn captured(&self) -> &Arc<Captured> {
        self.captured.get_or_init(|| Arc::new(Captured::of(self.program, &self.calls, self.outlines(), self.threads())))
    }

    /// Which fields are shared, and why others are not; found field by field.
    pub fn sharings(&self) -> Sharings<'_> {
        Sharings::new(self.program, &self.calls, self.outlines(), self.threads(), self.captured(), &self.answers)
    }
}

/// The ground, with summaries of all methods that matter.
pub struct Whole<'p> {
    ground: Arc<Ground<'p>>,
    pub summaries: Summaries,
    pub variables: Variables,
}

impl<'p> std::ops::Deref for Whole<'p> {
    type Target = Ground<'p>;

    fn deref(&self) -> &Ground<'p> {
        &self.ground
    }
}

impl<'p> Whole<'p> {
    pub fn of(program: &'p Program, settings: Settings) -> Whole<'p> {
        Whole::on(Arc::new(Ground::of(program, settings)))
    }

    pub fn on(ground: Arc<Ground<'p>>) -> Whole<'p> {
        let Summarised { atomic, matters } = ground.summarised();
        let (outlines, captured) = (ground.outlines.clone(), ground.captured().clone());
        let summaries =
            Summaries::of(ground.program, &ground.calls, outlines, captured, atomic, ground.extent(), |method| {
                matters[method.index()]
            });
        Whole::with(ground, summaries)
    }

    /// With a summary of every method, not only of those that matter.
    pub fn in_full(program: &'p Program, settings: Settings) -> Whole<'p> {
        let ground = Arc::new(Ground::of(program, settings));
        let atomic = atomic_methods(program, &ground.calls, &ground.settings.atomic);
        let (outlines, captured) = (ground.outlines.clone(), ground.captured().clone());
        let summaries = Summaries::of(program, &ground.calls, outlines, captured, &atomic, ground.extent(), |_| true);
        Whole::with(ground, summaries)
    }

    fn with(ground: Arc<Ground<'p>>, summaries: Summaries) -> Whole<'p> {
        let variables = Variables::of(ground.program, &summaries);
        Whole { ground, summaries, variables }
    }

    pub fn release(&self) -> Release<'_> {
        Release { program: self.program, calls: &self.calls, summaries: &self.summaries }
    }

    /// Which objects belong to one thread.
    pub fn owned(&self) -> Owned<'_> {
        Owned { whole: self }
    }

    /// Which objects there is one of.
    pub(crate) fn sole(&self) -> Sole<'_> {
        Sole { program: self.program, calls: &self.calls, outlines: self.outlines(), threads: self.threads() }
    }

    /// The methods whose code calls something by an interface, by the name of what they call.
    pub(crate) fn interface_callers(&self) -> &InterfaceCallers {
        self.interface_callers.get_or_init(|| {
            let mut callers = InterfaceCallers::default();
            for method in self.program.methods() {
                let made = self.calls.made_by(method).iter().filter(|(kind, _)| *kind == CallKind::Interface);
                for (_, called) in made {
                    let known = callers.entry(called.name).or_default();
                    if known.last() != Some(&method) {
                        known.push(method);
                    }
                }
            }
            callers
        })
    }

    pub fn cover(&self) -> Cover<'_> {
        Cover::new(self.program, &self.calls, &self.summaries)
    }
}

/// By method: whether it goes through a section, leads to one, or is called on the way. To write a volatile field is a
/// section, too, and so is to read one that holds a value of several parts.
fn matters(program: &Program, calls: &Calls, atomic: &[MethodId]) -> Vec<bool> {
    let has_section = |method: &MethodId| {
        program.may_lock(*method)
            || calls.has_library_section(program, *method)
            || atomic.contains(method)
            || calls.mentions[method.index()].writes.iter().any(|field| program.is_volatile_field(*field))
            || calls.mentions[method.index()].reads.iter().any(|field| program.is_replaced_whole(*field))
    };
    let sections: Vec<MethodId> = program.methods().filter(has_section).collect();
    let mut reached = vec![false; program.known_method_count()];
    for (up, down) in REACHES {
        reached.fill(false);
        sections.iter().for_each(|method| reached[method.index()] = true);
        spread(&mut reached, sections.clone(), up, |method| calls.callers(method));
        let above = program.methods().filter(|method| reached[method.index()]).collect();
        spread(&mut reached, above, down, |method| calls.callees(method));
        if reached.iter().filter(|reached| **reached).count() <= MAX_METHODS {
            break;
        }
    }
    // What fields hold is told where objects are made.
    let initialisers = ["<init>", "<clinit>"].map(|name| program.names.intern(name));
    let on_containers =
        program.methods().filter(|method| reached[method.index()] && calls.uses_library(program, *method));
    let asking = sections.iter().copied().chain(on_containers);
    let mut holders: BTreeSet<ClassId> = asking.map(|method| program.class_of(method)).collect();
    let summarised = program.methods().filter(|method| reached[method.index()]);
    holders.extend(summarised.flat_map(|method| receivers(program, calls, method)));
    for class in holders {
        for method in program.methods_of(class) {
            reached[method.index()] |= initialisers.contains(&program.method(method).name);
        }
    }
    reached
}

/// The classes with a final field that a method reads where its code calls what several classes have: what the field
/// holds may tell which of them runs.
fn receivers(program: &Program, calls: &Calls, method: MethodId) -> Vec<ClassId> {
    let called = calls.made_by(method).iter().filter(|(kind, called)| {
        matches!(kind, CallKind::Virtual | CallKind::Interface)
            && calls.targets(program, *kind, *called).known().len() > 1
    });
    let called: Vec<&str> = called.map(|(_, called)| program.names.text(called.class.0)).collect();
    let is_called = |field: &FieldName| {
        let class = program.names.text(field.descriptor).strip_prefix('L').and_then(|class| class.strip_suffix(';'));
        class.is_some_and(|class| called.contains(&class))
    };
    let fields = calls.reads(method).iter().filter(|field| !called.is_empty() && is_called(field));
    let finals = fields.filter(|field| program.is_final_field(**field));
    finals.filter_map(|field| program.resolve_field(*field)).map(|field| program.class_of_field(field)).collect()
}

/// Marks what can be reached from `edge` in so many steps.
fn spread<'c>(reached: &mut [bool], mut edge: Vec<MethodId>, steps: usize, next: impl Fn(MethodId) -> &'c [MethodId]) {
    for _ in 0..steps {
        if edge.is_empty() {
            return;
        }
        let mut further = Vec::new();
        for method in edge.drain(..) {
            for other in next(method) {
                if !std::mem::replace(&mut reached[other.index()], true) {
                    further.push(*other);
                }
            }
        }
        edge = further;
    }
}
