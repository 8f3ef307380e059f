//! The whole program: what a detector may ask beyond one method.

use std::sync::{Arc, Mutex, OnceLock};

use classfile::CallKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::apart_objects;
use crate::atomic::atomic_methods;
use crate::calls::{CallGraph, Calls};
use crate::captured::Captured;
use crate::class::{FieldId, MethodId, Program, Unreadable};
use crate::cover::Cover;
use crate::ir::Body;
use crate::latch::Signals;
use crate::outline::{Action, Name};
use crate::outlines::{OutlineCache, Outlines};
use crate::owned::{InterfaceCallers, Owned};
use crate::release::Release;
use crate::sharing::{Answers, Sharings};
use crate::sole::Sole;
use crate::summarised::{Expected, Summarised};
use crate::summary::{Extent, Scope, Summaries};
use crate::thread::{Threads, World};
use crate::variable::Variables;

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

/// Callers of what may stand out are summarised so many calls up.
const MAX_UP: usize = 2;

/// Functions that more methods may run are not followed to these.
const MAX_RUNNERS: usize = 40;

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
    expected: OnceLock<Expected>,
    summarised: OnceLock<Summarised>,
}

impl<'p> Ground<'p> {
    pub fn of(program: &'p Program, settings: Settings) -> Ground<'p> {
        let (calls, answers) = rayon::join(|| Calls::of(program, settings.call_graph), || Answers::new(program));
        Ground {
            program,
            calls,
            settings,
            outlines: Arc::new(OutlineCache::new(program)),
            threads: OnceLock::new(),
            captured: OnceLock::new(),
            interface_callers: OnceLock::new(),
            answers,
            signals: OnceLock::new(),
            reaching: Mutex::default(),
            expected: OnceLock::new(),
            summarised: OnceLock::new(),
        }
    }

    /// Whether there are many classes.
    pub fn is_large(&self) -> bool {
        let is_library = || {
            self.settings.large.is_none()
                && self.program.class_count() >= LARGE_LIBRARY
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

    /// Whether only what stands out is told, unless somebody asks for more: there are many classes, and threads come that
    /// nobody sees.
    pub fn is_narrow(&self) -> bool {
        self.has_many() && self.settings.world != World::Closed
    }

    /// Finds out which methods will be summarised. Whoever looks at code before that leaves their outlines behind. If only
    /// what stands out is going to be told (`is_narrow`), those are left out that have no part in it.
    pub fn expect_summaries(&self, is_narrow: bool) {
        self.expected.get_or_init(|| self.to_expect(is_narrow));
    }

    fn expected(&self) -> &Expected {
        self.expected.get_or_init(|| self.to_expect(false))
    }

    fn to_expect(&self, is_narrow: bool) -> Expected {
        Expected::of(self.program, &self.calls, &self.settings.atomic, is_narrow)
    }

    fn summarised(&self) -> &Summarised {
        self.summarised.get_or_init(|| self.expected().settled(self.program, &self.calls, &self.outlines))
    }

    /// As [`Program::visit_bodies`]. Outlines that are expected to be asked for are made on the way: reading and
    /// translating code is a large part of what an outline costs.
    pub fn visit_bodies<R: Send>(
        &self,
        wanted: impl Fn(MethodId) -> bool + Sync,
        visit: impl Fn(MethodId, Body) -> R + Sync,
    ) -> Vec<Result<R, Unreadable>> {
        let is_expected = |method: MethodId| {
            let expected = self.expected.get().is_some_and(|expected| expected.is_outlined[method.index()]);
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

    /// Summaries of the methods that `wanted` accepts. Of `around`, which call them, only what they hold then is known.
    pub fn summaries(&self, wanted: impl Fn(MethodId) -> bool, around: FxHashSet<MethodId>) -> Summaries {
        let scope = Scope { around, ..Scope::from(Extent::NEAR) };
        Summaries::of(self.program, &self.calls, self.outlines.clone(), Arc::default(), scope, wanted)
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

fn yields_object(program: &Program, method: MethodId) -> bool {
    program.names.text(program.method_name(method).descriptor).ends_with(';')
}

/// The ground, with summaries of all methods that matter.
pub struct Whole<'p> {
    ground: Arc<Ground<'p>>,
    pub summaries: Summaries,
    pub variables: Variables,
    /// The methods that may have what is told, if the others have been ruled out.
    asked: Option<Vec<MethodId>>,
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
        // Each has parts that keep one core busy, and neither asks for the other.
        let (Summarised { matters, around, makers }, _) = rayon::join(|| ground.summarised(), || ground.threads());
        let atomic = &ground.expected().atomic;
        let (outlines, captured) = (ground.outlines.clone(), ground.captured().clone());
        let scope = Scope { atomic, around: around.clone(), makers: makers.clone(), ..Scope::from(ground.extent()) };
        let is_wanted = |method: MethodId| matters[method.index()];
        let summaries = Summaries::of(ground.program, &ground.calls, outlines, captured, scope, is_wanted);
        Whole::with(ground, summaries)
    }

    /// Whether only what stands out is going to be told, and methods that have nothing of that have been ruled out.
    pub fn has_ruled_out(&self) -> bool {
        self.asked.is_some()
    }

    /// The methods in which something may be told.
    pub fn asked(&self) -> Vec<MethodId> {
        self.asked.clone().unwrap_or_else(|| self.program.methods().collect())
    }

    /// Summarises those methods, too, that would matter if more were told: whose code names one of these fields, or which
    /// call one of these methods. In none but these and the methods themselves something is told.
    pub fn add_users(&mut self, methods: &[MethodId], fields: &FxHashSet<FieldId>) {
        let (program, calls) = (self.ground.program, &self.ground.calls);
        let around = &self.ground.summarised().around;
        let users = fields.iter().flat_map(|field| calls.users(*field)).copied();
        let mut added: FxHashSet<MethodId> = users.filter(|user| around.contains(user)).collect();
        let mut called = methods.to_vec();
        for _ in 0..MAX_UP {
            let mut above: Vec<MethodId> = called.iter().flat_map(|method| calls.callers(*method)).copied().collect();
            above.extend(called.iter().flat_map(|method| self.runners(*method)));
            called = above;
            called.retain(|caller| around.contains(caller) && added.insert(*caller));
            // What they call tells whose the objects are that they give.
            let callees = called.iter().flat_map(|caller| calls.callees(*caller));
            added.extend(callees.filter(|callee| around.contains(callee) && yields_object(program, **callee)));
        }
        self.summaries.extend(program, calls, &added);
        let new: Vec<MethodId> = added.iter().copied().collect();
        self.variables.add(program, &self.summaries, &new);
        added.extend(methods);
        let mut asked: Vec<MethodId> = added.into_iter().collect();
        asked.sort_unstable();
        self.asked = Some(asked);
    }

    /// Who may run a method as a function, by the name of what functions of its kind are called by; nobody if that may be
    /// too many.
    fn runners(&self, function: MethodId) -> Vec<MethodId> {
        let (program, calls) = (self.program, &self.calls);
        let is_made = |maker: &&MethodId| {
            let lambdas = &calls.mentions[maker.index()].lambdas;
            lambdas.iter().any(|made| calls.lambda_targets(program, *made).known().contains(&function))
        };
        let makers = calls.callers(function).iter().filter(is_made).filter_map(|maker| self.outlines().get(*maker));
        let kinds = makers.flat_map(|outline| &outline.events).filter_map(|event| match &event.action {
            Action::Lambda { method, by, .. } => {
                calls.lambda_targets(program, *method).known().contains(&function).then_some(by.name)
            }
            _ => None,
        });
        let runners = kinds.filter_map(|kind| self.interface_callers().get(&kind));
        runners.filter(|runners| runners.len() <= MAX_RUNNERS).flatten().copied().collect()
    }

    /// With a summary of every method, not only of those that matter.
    pub fn in_full(program: &'p Program, settings: Settings) -> Whole<'p> {
        let ground = Arc::new(Ground::of(program, settings));
        let atomic = atomic_methods(program, &ground.calls, &ground.settings.atomic);
        let (outlines, captured) = (ground.outlines.clone(), ground.captured().clone());
        let scope = Scope { atomic: &atomic, ..Scope::from(ground.extent()) };
        let summaries = Summaries::of(program, &ground.calls, outlines, captured, scope, |_| true);
        Whole::with(ground, summaries)
    }

    fn with(ground: Arc<Ground<'p>>, summaries: Summaries) -> Whole<'p> {
        let variables = Variables::of(ground.program, &summaries);
        Whole { ground, summaries, variables, asked: None }
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

    /// The name that an object has in all methods, if it is one of which the program makes one, or comes from such a one.
    pub fn name_everywhere(&self, method: MethodId, name: &Name) -> Option<Name> {
        // Of what others call, nobody knows how many they make.
        self.threads().has_closed.then(|| self.sole().name(method, name)).flatten()
    }

    /// The methods by way of which another one may have the object of a name, `None` if it may be any object: who writes to one
    /// object of a class need not write to the other.
    pub fn ways_to(&self, object: (MethodId, &Name), other: (MethodId, &Name)) -> Option<Vec<MethodId>> {
        let is_known = self.threads().has_closed && !self.is_large();
        is_known.then(|| apart_objects::ways(self.sole(), object, other)).flatten()
    }

    /// Whether two names that a method has mean one object, since the program makes one of that kind.
    pub fn is_one_object(&self, method: MethodId, first: &Name, second: &Name) -> bool {
        self.name_everywhere(method, first).is_some_and(|first| self.name_everywhere(method, second) == Some(first))
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
        Cover::new(self.program, &self.calls, &self.summaries).on(&self.ground)
    }
}
