//! What is read in one section and overwritten in the next, while the old value goes on: `n = count(); count(0); return n;`,
//! or has gone on before: `sent.addAll(copy()); clear();`. What another thread wrote in between is neither in the old value
//! nor in the new one.

use std::cell::LazyCell;

use program::model::State;
use program::outline::{Action, Argument, EventId, Member, Origin, Outline, Sources};
use program::summary::{Access, AccessId, Influences, Root};
use program::{LockKind, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};
use crate::sources::comes_by_calls;
use crate::threads::{is_printed, run_at_once};
use crate::words::called_at;

/// Operations that leave nothing of what was there.
const OVERWRITING: [&str; 6] = ["clear", "set", "lazySet", "removeAllElements", "setLength", "reset"];

/// Values that are boxed and unboxed more often than this are not followed.
const MAX_BOXES: usize = 3;

impl Looking<'_> {
    /// Reads whose value goes on although the variable is overwritten in a later section.
    pub(super) fn replaced(&self) -> Vec<Stale> {
        let mut found = Vec::new();
        let Some(outline) = self.whole.summaries.outline(self.method) else { return found };
        for (index, write) in self.summary.accesses.iter().enumerate() {
            let is_entry = self.is_entry(write);
            if !write.is_write || write.held.is_empty() || !is_entry && !self.overwrites(write) {
                continue;
            }
            // Costly, and asked only if a read goes on.
            let written = LazyCell::new(|| self.shared(write));
            for (number, read) in self.summary.accesses.iter().enumerate() {
                if read.is_write
                    || read.event == write.event
                    || !read.base.same(&write.base)
                    || read.keys != write.keys && (is_entry || write.member == Member::Elements)
                    || is_entry && !self.is_entry_read(read)
                {
                    continue;
                }
                let waited = || self.apart_by_wait(outline, read, write).map(|section| (section, section));
                let gone_over = || self.gone_over_before(outline, read, write);
                let Some((first, second)) = self.apart(read, write).or_else(waited).or_else(gone_over) else {
                    continue;
                };
                // What the read decides is told as such.
                let id = Root::Access(AccessId(number as u32));
                let is_decided = write.control.iter().chain(&write.guards).any(|influence| influence.root == id);
                let Some(written) = written.filter(|_| !is_decided) else { continue };
                if self.variable(read) != Some(written)
                    || !self.goes_on(outline, AccessId(number as u32), read, write)
                    || first != second && self.is_seen_again(write, written)
                    || self.is_overwritten_at_once(AccessId(number as u32), written)
                    || is_entry && comes_from(&write.value, AccessId(number as u32))
                {
                    continue;
                }
                let (read, write) = (AccessId(number as u32), AccessId(index as u32));
                found.push(Stale { read, write, first, second, how: Use::Written, variable: written, written });
            }
        }
        found
    }

    /// Whether a write leaves nothing of what was there, and does not depend on it.
    fn overwrites(&self, write: &Access) -> bool {
        let is_whole = match write.member {
            Member::Field(_) | Member::Static(_) => true,
            Member::Elements => !write.keys.is_empty(),
            Member::State(_) if !write.is_keyed && !write.is_compound => {
                self.called_at(write).is_some_and(|name| OVERWRITING.contains(&name))
            }
            _ => false,
        };
        let of_itself = |root: Root| match root {
            Root::Access(read) => self.variable(self.access(read)) == self.variable(write),
            Root::Parameter(_) => false,
        };
        is_whole && !write.value.iter().any(|influence| of_itself(influence.root))
    }

    /// Whether a write puts, replaces or removes what stands under one key, and nobody asks what was there:
    /// `old = map.get(key); map.remove(key); return old;`.
    fn is_entry(&self, write: &Access) -> bool {
        write.is_write
            && write.member == Member::State(State::Contents)
            && write.is_keyed
            && !write.keys.is_empty()
            && !write.is_compound
            && matches!(self.called_at(write), Some("put" | "add" | "remove"))
    }

    /// Whether a read looks at what stands under a key.
    fn is_entry_read(&self, read: &Access) -> bool {
        read.is_keyed && matches!(self.called_at(read), Some("get" | "getOrDefault" | "contains" | "containsKey"))
    }

    /// The name of the library method that does an access.
    pub(super) fn called_at(&self, access: &Access) -> Option<&str> {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, access.spot.method)?;
        let outline = self.whole.summaries.outline(method)?;
        let event = outline.events.iter().find(|event| event.pc == access.spot.pc)?;
        match &event.action {
            Action::Call { method, .. } => Some(self.whole.program.names.text(method.name)),
            _ => None,
        }
    }

    /// The sections on one lock that keep a read and a write apart.
    fn apart(&self, read: &Access, write: &Access) -> Option<(usize, usize)> {
        let sections = &self.summary.sections;
        read.held.iter().filter(|first| !write.held.contains(*first)).find_map(|first| {
            let second = write.held.iter().find(|second| {
                let (earlier, later) = (&sections[first], &sections[*second]);
                !read.held.contains(*second) && earlier.kind == later.kind && earlier.lock.same(&later.lock)
            })?;
            Some((first, second))
        })
    }

    /// `for (Event event : events) handle(event); events.clear();`: the look at a container that locks itself by which its
    /// elements were gone over, one by one and with nothing held, and the section in which it is emptied.
    fn gone_over_before(&self, outline: &Outline, read: &Access, write: &Access) -> Option<(usize, usize)> {
        let is_element = read.held.is_empty()
            && self.called_at(read).is_some_and(|name| matches!(name, "next" | "nextElement"))
            && outline.events[read.event.index()].in_loop
            && !outline.events[write.event.index()].in_loop;
        let sections = &self.summary.sections;
        let second = write.held.iter().find(|held| is_element && sections[*held].lock.same(&read.base))?;
        let is_look = |first: &usize| {
            let section = &sections[*first];
            *first != second
                && section.kind == sections[second].kind
                && section.lock.same(&sections[second].lock)
                && section.call.is_some_and(|call| outline.leads_to(call, read.event, &[]))
        };
        (0..sections.len()).find(is_look).map(|first| (first, second))
    }

    /// The section in which a wait lets others in between a read and a write.
    fn apart_by_wait(&self, outline: &Outline, read: &Access, write: &Access) -> Option<usize> {
        let both = read.held.intersection(write.held);
        self.summary.waits.iter().find_map(|waiting| {
            let section = both.intersection(waiting.sections).iter().next()?;
            let is_between = read.event < waiting.event
                && outline.may_follow(read.event, waiting.event)
                && outline.leads_to(waiting.event, write.event, &[read.event]);
            is_between.then_some(section)
        })
    }

    /// Whether what was read goes on past the write: it is the result, or is used beside the new value, or in place of
    /// what has been cleared.
    fn goes_on(&self, outline: &Outline, id: AccessId, read: &Access, write: &Access) -> bool {
        let origin = Origin::Event(read.event);
        let has = |sources: &Sources, origin: Origin| sources.iter().any(|source| source.origin == origin);
        let (reading, writing) = (&outline.events[read.event.index()], &outline.events[write.event.index()]);
        // Whoever reads comes to the write, unless what was read says otherwise.
        let is_decided = writing.control.iter().all(|condition| {
            reading.control.contains(condition) || has(&outline.conditions[*condition as usize].sources, origin)
        });
        let is_kept = self.summary.accesses[id.index()].event == read.event;
        if !is_decided || !is_kept || !outline.leads_to(read.event, write.event, &[]) {
            return false;
        }
        // What the write itself yields is not the old value.
        let is_apart = outline.result.iter().any(|source| source.origin != Origin::Event(write.event));
        // Nor is it one where the way on is to throw, as that of the second copy of a `finally`.
        let returned = is_apart
            && self.summary.result.iter().any(|influence| influence.root == Root::Access(id))
            && outline.blocks.may_return(writing.block as usize);
        // A volatile field that is read and set says little: a reference is let go that way and what it led to is ended.
        let is_volatile = matches!(read.member, Member::Field(_) | Member::Static(_))
            && read.held.iter().all(|section| self.summary.sections[section].kind == LockKind::Own);
        if is_volatile {
            let is_result = outline.result.iter().any(|source| source.origin == origin);
            return returned && is_result && reading.control == writing.control;
        }
        if write.is_keyed && write.member != Member::Elements {
            // The very thing is returned, or whether it was there.
            let descriptor = self.whole.program.names.text(self.whole.program.method(self.method).descriptor);
            let is_result = outline.result.iter().any(|source| source.origin == origin) || descriptor.ends_with(")Z");
            return returned && is_result && reading.control == writing.control;
        }
        returned
            || self.is_used_beside(outline, origin, read, write)
            || self.is_moved_on(outline, id, read, write)
            || self.is_gone_from(outline, id, read, write)
    }

    /// `from = sent(); to = size(); while (from < to) send(get(from++)); sent(to);`: a position from which something is gone
    /// over before the position is set. Two who do so at once go over the same.
    fn is_gone_from(&self, outline: &Outline, id: AccessId, read: &Access, write: &Access) -> bool {
        let program = self.whole.program;
        let is_number = matches!(self.variable(read), Some(Variable::Field(field))
            if matches!(program.names.text(program.field(field).descriptor), "I" | "J"));
        is_number
            && run_at_once(self.whole, self.method, self.method)
            && self.summary.accesses.iter().any(|reached| {
                !reached.is_write
                    && reached.event != read.event
                    && outline.events[reached.event.index()].in_loop
                    && self.shared(reached).is_some()
                    && comes_from(&reached.address, id)
                    && outline.leads_to(read.event, reached.event, &[write.event])
                    && outline.leads_to(reached.event, write.event, &[read.event])
            })
    }

    /// Whether the old value, or all that a container had, has gone somewhere else before what it was read from is emptied.
    fn is_moved_on(&self, outline: &Outline, id: AccessId, read: &Access, write: &Access) -> bool {
        if !self.is_emptied_by(outline, write) {
            return false;
        }
        let is_between = |event: EventId| {
            event != read.event
                && event != write.event
                && outline.leads_to(read.event, event, &[write.event])
                && outline.leads_to(event, write.event, &[read.event])
        };
        let is_written_elsewhere = self.summary.accesses.iter().any(|moved| {
            moved.is_write
                && moved.event != read.event
                && comes_from(&moved.value, id)
                && !moved.is_removal
                && self
                    .shared(moved)
                    .is_some_and(|there| Some(there) != self.variable(write) && !is_printed(self.whole.program, there))
                && is_between(moved.event)
        });
        let is_handled = || {
            outline.events.iter().enumerate().any(|(index, event)| match &event.action {
                Action::Call { method, arguments, .. } => {
                    let event = EventId(index as u32);
                    self.whole.calls.model(self.whole.program, *method, method.class).is_none()
                        && arguments.iter().any(|argument| comes_by_calls(outline, &argument.sources, read.event))
                        && is_between(event)
                }
                _ => false,
            })
        };
        is_written_elsewhere || self.is_of_all(read) && is_handled()
    }

    /// Whether a write leaves nothing behind: a container is cleared, a number set to one that stands in the code. What a
    /// reference is set to is another object, and says nothing of the old one.
    fn is_emptied_by(&self, outline: &Outline, write: &Access) -> bool {
        let program = self.whole.program;
        let is_constant = match &outline.events[write.event.index()].action {
            Action::Call { arguments, .. } => arguments.iter().skip(1).all(|argument| argument.sources.is_empty()),
            Action::Write { value, .. } => value.is_empty(),
            _ => false,
        };
        let is_emptied = match write.member {
            Member::State(State::Value) => self.called_at(write) == Some("set") && is_numeric_atomic(self, write),
            Member::State(_) => self.called_at(write) != Some("set"),
            Member::Field(_) | Member::Static(_) => self.variable(write).is_some_and(|variable| {
                matches!(program.names.text(program.field(variable.field()).descriptor), "I" | "J" | "D" | "F" | "S")
            }),
            Member::Elements => is_constant,
        };
        is_emptied && is_constant && write.value.is_empty()
    }

    /// Whether a read takes in all that a container has, and not only how much that is.
    fn is_of_all(&self, read: &Access) -> bool {
        let called = called_at(self.whole, &read.spot).map(|called| self.whole.program.names.text(called.descriptor));
        read.member == Member::State(State::Contents)
            && !read.is_keyed
            && called.is_some_and(|descriptor| !descriptor.ends_with(")I") && !descriptor.ends_with(")Z"))
    }

    /// Whether the old value is given to code that others notice, after the write; together with the new one if there is
    /// a new one.
    fn is_used_beside(&self, outline: &Outline, origin: Origin, read: &Access, write: &Access) -> bool {
        let has = |argument: &Argument, origin: Origin| self.comes(outline, &argument.sources, origin, MAX_BOXES);
        let new: Vec<Origin> = match &outline.events[write.event.index()].action {
            Action::Call { arguments, .. } => {
                arguments.iter().skip(1).flat_map(|argument| &argument.sources).map(|source| source.origin).collect()
            }
            Action::Write { value, .. } => value.iter().map(|source| source.origin).collect(),
            _ => Vec::new(),
        };
        outline.events.iter().enumerate().any(|(index, event)| {
            let id = EventId(index as u32);
            let arguments = match &event.action {
                Action::Call { method, arguments, .. } => {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    // What a function does that somebody gives is not known.
                    let is_function = self.whole.program.names.text(method.class.0).starts_with("java/util/function/");
                    let is_quiet =
                        !is_function && model.is_some_and(|model| model.sink.is_some() || !model.access.writes());
                    if is_quiet {
                        return false;
                    }
                    arguments
                }
                Action::Lambda { arguments, .. } => arguments,
                _ => return false,
            };
            id != write.event
                && id != read.event
                && arguments.iter().any(|argument| has(argument, origin))
                && (new.is_empty() || new.iter().all(|new| arguments.iter().any(|argument| has(argument, *new))))
                && outline.leads_to(write.event, id, &[read.event])
        })
    }

    /// Whether a value comes from somewhere, in a box or out of one.
    fn comes(&self, outline: &Outline, sources: &Sources, origin: Origin, depth: usize) -> bool {
        sources.iter().any(|source| match source.origin {
            from if from == origin => true,
            Origin::Event(event) if depth > 0 => match &outline.events[event.index()].action {
                Action::Call { method, arguments, .. } => {
                    let is_box = self.whole.program.names.text(method.name) == "valueOf"
                        || self.whole.program.names.text(method.name).ends_with("Value");
                    is_box && arguments.iter().any(|argument| self.comes(outline, &argument.sources, origin, depth - 1))
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// `total += drain(); ..; total += drain();`: whether the call that has read overwrites it, too, unless what it has read
    /// says otherwise. What is there later is nothing that it has read; whether it may overwrite is its own business.
    fn is_overwritten_at_once(&self, id: AccessId, variable: Variable) -> bool {
        let read = self.access(id);
        let is_in = |influences: &Influences, root: Root| influences.iter().any(|influence| influence.root == root);
        let is_decided_here = |write: &Access| {
            let mut control = write.control.iter();
            control.all(|influence| influence.root == Root::Access(id) || is_in(&read.control, influence.root))
        };
        self.summary.accesses.iter().any(|write| {
            write.is_write
                && write.event == read.event
                && write.base.same(&read.base)
                && self.variable(write) == Some(variable)
                && is_decided_here(write)
                && self.overwrites(write)
        })
    }

    /// Whether the section of the write has looked for itself.
    fn is_seen_again(&self, write: &Access, variable: Variable) -> bool {
        self.summary.accesses.iter().any(|read| {
            !read.is_write
                && read.spot != write.spot
                && !read.held.intersection(write.held).is_empty()
                && read.base.same(&write.base)
                && self.variable(read) == Some(variable)
        })
    }
}

/// Whether an atomic that is written holds a number.
fn is_numeric_atomic(looking: &Looking<'_>, write: &Access) -> bool {
    let called = called_at(looking.whole, &write.spot);
    called.is_some_and(|called| {
        matches!(looking.whole.program.names.text(called.descriptor), "(I)V" | "(J)V" | "(II)V" | "(IJ)V")
    })
}
