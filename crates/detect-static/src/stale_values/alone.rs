//! Signs in the code of large programs that one thread alone is at a variable: it is a box for what a function changes, part of
//! an algorithm without locks, with the one thread that its object has started, or with whoever has put up a mark for that.

use location::ClassName;
use program::outline::{Action, Argument, EventId, Member, Origin, Source};
use program::summary::{Access, Influence, Root};
use program::thread::{EntryId, EntryKind, Many};
use program::{LockKind, MethodId, Variable};

use super::marks::Move;
use super::rules::{Looking, Stale, Use};

/// Methods that tell which thread it is are looked for this far.
const MAX_ASKED: usize = 2;

/// What asks more than that does something else with the thread.
const MAX_EVENTS: usize = 4;

/// More methods that write a variable are not asked.
const MAX_WRITERS: usize = 20;

impl Looking<'_> {
    pub(super) fn is_with_one_thread(&self, stale: &Stale) -> bool {
        self.is_box(stale)
            || self.is_atomic_itself(stale)
            || self.is_of_thread_of_object(stale)
            || self.is_marked_over(stale)
            || self.is_compared_elsewhere(stale)
            || self.is_asked_once_more(stale)
            || self.is_of_some_thread(stale)
    }

    /// Whether a volatile field is asked more than once on the way to the act: who asks again has taken a lock in between, be it
    /// one that is not known.
    fn is_asked_once_more(&self, stale: &Stale) -> bool {
        let is_it = |influence: &&Influence| match influence.root {
            Root::Access(read) => {
                let read = self.access(read);
                self.variable(read) == Some(stale.variable) && !self.is_away_from(read)
            }
            Root::Parameter(_) => false,
        };
        matches!(stale.variable, Variable::Field(_))
            && stale.how == Use::Decides
            && self.is_unlocked(self.access(stale.read))
            && self.access(stale.write).control.iter().filter(is_it).count() > 1
    }

    fn is_away_from(&self, access: &Access) -> bool {
        access.spot.method != self.whole.program.method_name(self.method)
    }

    /// Whether somebody who writes the variable asks first which thread it is on: that is one of its own.
    fn is_of_some_thread(&self, stale: &Stale) -> bool {
        let writers = self.whole.variables.writers(stale.variable).iter().take(MAX_WRITERS).map(|place| place.method);
        writers.chain([self.method]).any(|method| self.asks_for_thread(method, MAX_ASKED))
    }

    /// Whether a method asks which thread it is on, whatever happens, itself or by calls that tell or see to it.
    fn asks_for_thread(&self, method: MethodId, depth: usize) -> bool {
        let (program, calls) = (self.whole.program, &self.whole.calls);
        let Some(outline) = self.whole.outlines().get(method) else { return false };
        outline.events.iter().filter(|event| event.control.is_empty()).any(|event| match &event.action {
            Action::Call { kind, method, .. } => {
                let text = |symbol| program.names.text(symbol);
                let is_asking = depth < MAX_ASKED
                    && text(method.class.0) == "java/lang/Thread"
                    && text(method.name) == "currentThread"
                    && outline.events.len() <= MAX_EVENTS;
                let is_answer = || text(method.descriptor).ends_with(")Z") || text(method.descriptor) == "()V";
                is_asking
                    || depth > 0
                        && is_answer()
                        && matches!(calls.targets(program, *kind, *method).known(),
                            [target] if self.asks_for_thread(*target, depth - 1))
            }
            _ => false,
        })
    }

    /// Whether the section that asks puts up a mark that it has found down, and the one that acts takes it down: who finds it
    /// up stays away meanwhile.
    fn is_marked_over(&self, stale: &Stale) -> bool {
        let is_lock = |section: usize| self.summary.sections[section].kind != LockKind::Own;
        let mark =
            |access: &Access| self.variable(access).filter(|mark| *mark != stale.variable && self.is_mark(*mark));
        let marks = |section: usize, how: Option<Move>| {
            let accesses = self.summary.accesses.iter().filter(move |access| access.held.contains(section));
            accesses.filter_map(move |access| match how {
                None => mark(access).filter(|_| !access.is_write),
                Some(_) => mark(access).filter(|_| access.is_write && self.moves(access, None) == how),
            })
        };
        is_lock(stale.first)
            && is_lock(stale.second)
            && marks(stale.first, Some(Move::Up)).any(|mark| {
                marks(stale.first, None).any(|asked| asked == mark)
                    && marks(stale.second, Some(Move::Down)).any(|down| down == mark)
            })
    }

    /// Whether something else is compared with what was read, and set, in one step, before anything is done.
    fn is_compared_elsewhere(&self, stale: &Stale) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let (read, write) = (self.access(stale.read), self.access(stale.write));
        let is_it = |source: &Source| source.origin == Origin::Event(read.event);
        let is_told = |argument: &Argument| argument.sources.iter().any(is_it);
        let is_step = |event: EventId| match &outline.events[event.index()].action {
            Action::Call { method, arguments, .. } => {
                self.whole.program.names.text(method.name).contains("ompareAndSet") && arguments.iter().any(is_told)
            }
            _ => false,
        };
        let conditions = outline.events[write.event.index()].control.iter();
        let mut sources = conditions.flat_map(|condition| &outline.conditions[*condition as usize].sources);
        sources.any(|source| matches!(source.origin, Origin::Event(event) if event != write.event && is_step(event)))
    }

    /// Whether it is an atomic in a local that functions share: they cannot write the local, whoever runs them.
    fn is_box(&self, stale: &Stale) -> bool {
        let field = stale.variable.field();
        self.whole.program.is_captured(field)
            && matches!(stale.variable, Variable::Held(_))
            && self.type_of(field).starts_with("Ljava/util/concurrent/atomic/Atomic")
    }

    /// Whether the object whose method it is is an atomic itself, by its class: so do algorithms without locks, which say
    /// elsewhere who may call what.
    fn is_atomic_itself(&self, stale: &Stale) -> bool {
        let read = self.access(stale.read);
        read.bare_parameter() == Some(0)
            && matches!(read.member, Member::State(_))
            && self.summary.sections[stale.first].kind == LockKind::Own
            && !self.whole.program.method(self.method).access.is_static()
    }

    /// Whether nobody but the one thread that the object has started for itself writes the variable.
    fn is_of_thread_of_object(&self, stale: &Stale) -> bool {
        let (program, threads) = (self.whole.program, self.whole.threads());
        let field = stale.variable.field();
        let [own] = threads.of_method(self.method) else { return false };
        let outermost = |class: ClassName| {
            let name = program.names.text(class.0);
            name.split_once('$').map_or(name, |(outermost, _)| outermost)
        };
        let home = outermost(program.header(program.class_of_field(field)).name);
        let is_started_there = |method: MethodId| outermost(program.method_name(method).class) == home;
        let is_one = |entry: EntryId| {
            let entry = threads.entry(entry);
            matches!(entry.kind, EntryKind::Thread | EntryKind::SingleThread | EntryKind::Timer)
                && matches!(entry.many, None | Some(Many::StarterRepeats))
                && matches!(entry.sites.as_slice(), [site] if is_started_there(site.at.method))
        };
        let writers = self.whole.variables.writers(stale.variable);
        !program.field(field).access.is_static()
            && is_one(*own)
            && writers.iter().all(|place| threads.of_method(place.method) == [*own])
    }
}
