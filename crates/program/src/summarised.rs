//! Which methods are summarised: those that have to do with sections, and of a large program those alone that may have what
//! is told of it.

use classfile::CallKind;
use location::FieldName;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::atomic::atomic_methods;
use crate::calls::Calls;
use crate::class::{ClassId, FieldId, MethodId, Program};
use crate::homes::{Homes, IsGiven};
use crate::outlines::OutlineCache;

/// How far from a section a method may be and still matter: so many calls up, and from there so many down. The first
/// that keeps to [`MAX_METHODS`] counts, so that very large programs are looked at less deeply, and not for hours; all
/// others whole.
const REACHES: [(usize, usize); 7] = [(usize::MAX, usize::MAX), (4, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)];

const MAX_METHODS: usize = 40_000;

/// Which methods the whole program has summaries of.
pub(crate) struct Summarised {
    /// By method: whether it matters.
    pub(crate) matters: Vec<bool>,
    /// Methods that would matter if more were told: of these outlines are made when somebody asks.
    pub(crate) around: FxHashSet<MethodId>,
    /// Of those that matter: constructors that matter only for what their objects hold.
    pub(crate) makers: FxHashSet<MethodId>,
}

/// What is known of them before any code is looked at.
pub(crate) struct Expected {
    /// Methods that are taken to be atomic.
    pub(crate) atomic: Vec<MethodId>,
    /// By method: whether its outline will be asked for.
    pub(crate) is_outlined: Vec<bool>,
    /// Methods that have sections, or lead to one.
    above: Vec<MethodId>,
    /// From there, so many calls down count.
    down: usize,
    /// By method: whether it matters, if all of the program does.
    matters: Vec<bool>,
    /// If only what stands out is going to be told: the methods that may have it.
    homes: Option<Vec<MethodId>>,
}

impl Expected {
    /// A method matters if it goes through a section, leads to one, or is called on the way. To write a volatile field is a
    /// section, too, and so is to read one that holds a value of several parts.
    ///
    /// If only what stands out is going to be told (`is_narrow`), those matter that may have it, and what they call.
    pub(crate) fn of(program: &Program, calls: &Calls, marked: &[String], is_narrow: bool) -> Expected {
        let atomic = atomic_methods(program, calls, marked);
        let has_section = |method: &MethodId| {
            program.may_lock(*method)
                || calls.has_library_section(*method)
                || atomic.contains(method)
                || calls.touched.writes(*method).iter().any(|field| program.field(*field).access.is_volatile())
                || calls.touched.reads(*method).iter().any(|field| program.is_field_replaced_whole(*field))
        };
        let methods: Vec<MethodId> = program.methods().collect();
        let sections: Vec<MethodId> = methods.into_par_iter().filter(has_section).collect();
        let (mut above, mut matters) = (Vec::new(), Vec::new());
        let mut down = 0;
        for (left, reach) in (0..REACHES.len()).rev().zip(REACHES) {
            let most = if left > 0 { MAX_METHODS } else { usize::MAX };
            matters = marked_in(program, &sections);
            if !spread(&mut matters, sections.clone(), reach.0, most, |method| calls.callers(method)) {
                continue;
            }
            above = program.methods().filter(|method| matters[method.index()]).collect();
            down = reach.1;
            if spread(&mut matters, above.clone(), down, most, |method| calls.callees(method)) {
                break;
            }
        }
        if !is_narrow {
            with_initialisers(program, calls, &sections, &mut matters);
            let is_outlined = matters.clone();
            return Expected { atomic, is_outlined, above, down, matters, homes: None };
        }
        let leads = marked_in(program, &above);
        let is_home = |method: &MethodId| atomic.contains(method) || may_be_home(program, calls, *method, &leads);
        let homes: Vec<MethodId> = above.par_iter().copied().filter(is_home).collect();
        let is_outlined = marked_in(program, &homes);
        Expected { atomic, is_outlined, above, down, matters, homes: Some(homes) }
    }

    /// Which methods are summarised, by what the outlines of those tell that may have what is told.
    pub(crate) fn settled(&self, program: &Program, calls: &Calls, outlines: &OutlineCache) -> Summarised {
        let Some(homes) = &self.homes else {
            let matters = self.matters.clone();
            return Summarised { matters, around: FxHashSet::default(), makers: FxHashSet::default() };
        };
        outlines.make(program, |method| self.is_outlined[method.index()]);
        let leads = marked_in(program, &self.above);
        let asked = Homes::new(program, calls, &leads);
        let look = |home: &MethodId| {
            let is_atomic = self.atomic.contains(home);
            let outline = outlines.made(*home);
            let seen = outline.and_then(|outline| asked.look(*home, outline, is_atomic));
            // What is marked matters, whether or not its code can be read.
            seen.or(is_atomic.then_some(IsGiven(false))).map(|is_given| (*home, is_given))
        };
        let found: Vec<(MethodId, IsGiven)> = homes.par_iter().filter_map(look).collect();
        let homes: Vec<MethodId> = found.iter().map(|(home, _)| *home).collect();
        let mut matters = marked_in(program, &homes);
        // What callers give tells of which variable it is.
        let given = found.iter().filter(|(_, is_given)| is_given.0).map(|(home, _)| *home);
        for caller in given.flat_map(|home| calls.callers(home)) {
            matters[caller.index()] |= self.matters[caller.index()];
        }
        // Where no lock is held, what is called counts if it goes to a section itself, or only tells what a field has.
        let tells = |method: MethodId| calls.made_by(method).is_empty() && !calls.reads(method).is_empty();
        let (locking, others): (Vec<_>, Vec<_>) = homes.iter().copied().partition(|home| program.may_lock(*home));
        spread(&mut matters, locking, self.down, usize::MAX, |method| calls.callees(method));
        let led = others.iter().flat_map(|home| calls.callees(*home)).copied();
        let led: Vec<MethodId> =
            led.filter(|callee| (leads[callee.index()] || tells(*callee)) && !matters[callee.index()]).collect();
        led.iter().for_each(|method| matters[method.index()] = true);
        spread(&mut matters, led, self.down.saturating_sub(1), usize::MAX, |method| calls.callees(method));
        let run = matters.clone();
        with_initialisers(program, calls, &homes, &mut matters);
        let makers = program.methods().filter(|method| matters[method.index()] && !run[method.index()]).collect();
        let is_around = |method: &MethodId| self.matters[method.index()] && !matters[method.index()];
        let around = program.methods().filter(is_around).collect();
        Summarised { matters, around, makers }
    }
}

/// By method: whether it is among these.
fn marked_in(program: &Program, methods: &[MethodId]) -> Vec<bool> {
    let mut marked = vec![false; program.known_method_count()];
    methods.iter().for_each(|method| marked[method.index()] = true);
    marked
}

/// Whether two steps of a method may be in two sections, with neither lock held over both: what is `synchronized` from its
/// beginning to its end has none unless it waits, and so has what goes through one section. `leads` tells, by method, which
/// lead to a section.
fn may_be_home(program: &Program, calls: &Calls, method: MethodId, leads: &[bool]) -> bool {
    let waits = |method: MethodId| {
        calls.made_by(method).iter().any(|(_, called)| {
            let name = program.names.text(called.name);
            name == "wait" || name.starts_with("await")
        })
    };
    if program.method(method).access.is_synchronized() {
        return waits(method) || calls.callees(method).iter().any(|callee| waits(*callee));
    }
    let callees = calls.callees(method).iter().filter(|callee| leads[callee.index()]).count();
    let volatiles =
        |fields: &[FieldId]| fields.iter().filter(|field| program.field(**field).access.is_volatile()).count();
    let by_volatiles = volatiles(calls.touched.reads(method)) + volatiles(calls.touched.writes(method));
    let by_library = calls.library_sections(method);
    // An operation of a library object may be called twice, a volatile field is named for each of both kinds.
    program.may_lock(method) || by_library > 0 || callees + by_volatiles > 1
}

/// Adds the constructors of classes whose methods matter.
fn with_initialisers(program: &Program, calls: &Calls, sections: &[MethodId], reached: &mut [bool]) {
    // What fields hold is told where objects are made.
    let initialisers = ["<init>", "<clinit>"].map(|name| program.names.intern(name));
    let summarised: Vec<MethodId> = program.methods().filter(|method| reached[method.index()]).collect();
    let on_containers = summarised.iter().copied().filter(|method| calls.uses_library(*method));
    let asking = sections.iter().copied().chain(on_containers);
    let mut holders: Vec<ClassId> =
        summarised.par_iter().flat_map_iter(|method| receivers(program, calls, *method)).collect();
    holders.extend(asking.map(|method| program.class_of(method)));
    holders.sort_unstable();
    holders.dedup();
    for class in holders {
        for method in program.methods_of(class) {
            reached[method.index()] |= initialisers.contains(&program.method(method).name);
        }
    }
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

/// Marks what can be reached from `edge` in so many steps. Ends early, and says so, where that is more than `most` with `edge`.
fn spread<'c>(
    reached: &mut [bool],
    mut edge: Vec<MethodId>,
    steps: usize,
    most: usize,
    next: impl Fn(MethodId) -> &'c [MethodId],
) -> bool {
    let mut count = edge.len();
    for _ in 0..steps {
        if edge.is_empty() || count > most {
            break;
        }
        let mut further = Vec::new();
        for method in edge.drain(..) {
            for other in next(method) {
                if !std::mem::replace(&mut reached[other.index()], true) {
                    further.push(*other);
                }
            }
        }
        count += further.len();
        edge = further;
    }
    count <= most
}
