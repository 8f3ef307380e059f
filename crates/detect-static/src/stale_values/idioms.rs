//! Correct ways to use a value after its section: the value was handed over, is made sure of again, or does no harm.

use location::{MethodName, Symbol};
use program::ir::CallKind;
use program::outline::{Action, Argument, EventId, Member, Object, Origin, Source};
use program::summary::{Access, AccessId, Influence, Influences, Root};
use program::{Place, Variable};

use super::rules::{Looking, Stale, Use};

/// Methods that ask others are looked at this deep.
const MAX_DEPTH: usize = 2;

pub(super) fn is_correct(looking: &Looking<'_>, stale: &Stale) -> bool {
    let write = looking.access(stale.write);
    stale.first != stale.second && looking.is_handed_over(stale)
        || looking.is_reserved(stale, write)
        || is_set_if_different(stale, write)
        || looking.is_set_if_different_by_call(stale, write)
        || looking.is_validated(stale, write)
        || looking.is_harmless(stale, write)
        || looking.is_gone_either_way(stale, write)
        || looking.is_used_up(stale, write)
        || looking.is_lasting_key(stale, write)
        || looking.is_asked_twice(stale, write)
        || looking.is_computed_once(stale, write)
}

/// `if (x != wanted) x = wanted;`: what is written does not depend on what was read, and was compared with it. Whoever
/// wrote in between, the outcome is one that was asked for.
fn is_set_if_different(stale: &Stale, write: &Access) -> bool {
    stale.how == Use::Decides
        && stale.variable == stale.written
        && matches!(write.member, Member::Field(_) | Member::Static(_))
        && !write.value.is_empty()
        && write.compared.iter().filter(|compared| !compared.are_equal).any(|compared| {
            let [left, right] = &compared.sides;
            let is_told = |old: &Influences, wanted: &Influences| {
                comes_from(old, stale.read)
                    && write.value.iter().all(|value| wanted.iter().any(|wanted| wanted.root == value.root))
            };
            is_told(left, right) || is_told(right, left)
        })
}

fn comes_from(influences: &Influences, read: AccessId) -> bool {
    influences.iter().any(|influence| influence.root == Root::Access(read))
}

impl Looking<'_> {
    /// The same where a method of the program compares the two: `if (differ(x(), wanted)) x(wanted);`.
    fn is_set_if_different_by_call(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        if stale.how != Use::Decides || stale.variable != stale.written || comes_from(&write.value, stale.read) {
            return false;
        }
        let writing = &outline.events[write.event.index()];
        let written: Vec<Origin> = match &writing.action {
            Action::Call { arguments, .. } => {
                arguments.iter().skip(1).flat_map(|argument| &argument.sources).map(|source| source.origin).collect()
            }
            Action::Write { value, .. } => value.iter().map(|source| source.origin).collect(),
            _ => return false,
        };
        let reading = Origin::Event(self.access(stale.read).event);
        let has = |argument: &Argument, origin: Origin| argument.sources.iter().any(|source| source.origin == origin);
        !written.is_empty()
            && writing.control.iter().any(|condition| {
                let [Source { origin: Origin::Event(asking), .. }] =
                    outline.conditions[*condition as usize].sources.as_slice()
                else {
                    return false;
                };
                let Action::Call { kind, method, arguments } = &outline.events[asking.index()].action else {
                    return false;
                };
                arguments.iter().any(|old| has(old, reading))
                    && arguments.iter().any(|new| !has(new, reading) && written.iter().all(|origin| has(new, *origin)))
                    && self.asks_equality(*kind, *method, MAX_DEPTH)
            })
    }

    /// Whether a method only asks whether what it is given is equal.
    fn asks_equality(&self, kind: CallKind, method: MethodName, depth: usize) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        // What `Object` promises of every override, and what the library builds on it (`Objects`, `Arrays`, `String`).
        let name = text(method.name);
        let is_promised = name == "equals" && text(method.descriptor) == "(Ljava/lang/Object;)Z";
        let is_library = text(method.class.0).starts_with("java/") && matches!(name, "equals" | "deepEquals");
        if is_promised || is_library {
            return true;
        }
        let targets = self.whole.calls.targets(self.whole.program, kind, method);
        let [target] = targets.known() else { return false };
        let Some(outline) = self.whole.summaries.outline(*target) else { return false };
        depth > 0
            && !outline.conditions.iter().any(|condition| condition.is_by_size)
            && outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, method, .. } => self.asks_equality(*kind, *method, depth - 1),
                _ => false,
            })
    }

    /// Whether the value is taken out of where it was, in the section of the read or if it is still there: this thread
    /// owns it from then on.
    fn is_handed_over(&self, stale: &Stale) -> bool {
        self.summary.accesses.iter().any(|access| {
            access.is_write
                && (access.held.contains(stale.first) || comes_from(&access.expects, stale.read))
                && access.value.is_empty()
                && matches!(access.member, Member::Field(_) | Member::Static(_) | Member::State(_))
                && self.variable(access) == Some(stale.variable)
        })
    }

    /// Whether the section of the read also changes what it read, because of what it read: a flag that is set where it
    /// was found unset, a number that is taken and counted on. What comes later relies on the change, which is this
    /// thread's own.
    fn is_reserved(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let mut changes = self.summary.accesses.iter().filter(|access| {
            access.is_write
                && access.held.contains(stale.first)
                && self.variable(access) == Some(stale.variable)
                && access.event == read.event
                || access.is_write
                    && access.held.contains(stale.first)
                    && self.variable(access) == Some(stale.variable)
                    && (comes_from(&access.control, stale.read) || comes_from(&access.value, stale.read))
        });
        match stale.how {
            Use::Decides if self.is_claimed(stale) || self.is_undone(stale, write) => true,
            Use::Decides => changes.any(|change| {
                // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
                let is_moved = comes_from(&change.value, stale.read) && matches!(change.member, Member::Field(_));
                !is_moved || stale.variable != stale.written || self.is_relative(stale, write)
            }),
            Use::Written => {
                stale.variable != stale.written && changes.any(|change| comes_from(&change.value, stale.read))
            }
        }
    }

    /// Whether the section of the read sets another variable that it has asked as well, because of both answers: a flag
    /// that says who goes on.
    fn is_claimed(&self, stale: &Stale) -> bool {
        let asked = |change: &Access, variable: Variable| {
            change.control.iter().any(|influence| match influence.root {
                Root::Access(read) => {
                    let read = self.access(read);
                    read.held.contains(stale.first) && self.variable(read) == Some(variable)
                }
                Root::Parameter(_) => false,
            })
        };
        stale.first != stale.second
            && self.summary.accesses.iter().any(|change| {
                change.is_write
                    && change.held.contains(stale.first)
                    && comes_from(&change.control, stale.read)
                    && self
                        .variable(change)
                        .is_some_and(|variable| variable != stale.variable && asked(change, variable))
            })
    }

    /// Whether the call that asked has also acted on the answer, and what comes later goes on with that or undoes it:
    /// `if (desk.lend(book)) desk.giveBack(book);`.
    fn is_undone(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        let is_field = |access: &Access| matches!(access.member, Member::Field(_) | Member::Static(_));
        let undoes = |change: &Access| {
            self.summary.accesses.iter().any(|later| {
                later.is_write
                    && later.event == write.event
                    && self.variable(later) == self.variable(change)
                    && (is_field(later) || later.is_removal && !change.is_removal)
            })
        };
        // A count that was moved on is set to something else later, whoever has moved it on meanwhile.
        let goes_on = |change: &Access| {
            self.variable(change) == Some(stale.written)
                && (stale.variable != stale.written
                    || !(is_field(change) && comes_from(&change.value, stale.read))
                    || self.is_relative(stale, write))
        };
        self.summary.accesses.iter().any(|change| {
            change.is_write
                && change.event != write.event
                && (change.event == read.event || !change.held.intersection(read.held).is_empty())
                && [&change.control, &change.guards, &change.awaited].into_iter().any(|by| comes_from(by, stale.read))
                && (goes_on(change) || undoes(change))
        })
    }

    /// Whether a write depends on what its own section finds.
    fn is_relative(&self, stale: &Stale, write: &Access) -> bool {
        write.value.iter().any(|influence| self.is_fresh(influence, stale.variable, write))
    }

    /// Whether a value is one of the variable that was read under a lock which is still held at the write.
    fn is_fresh(&self, influence: &Influence, variable: Variable, write: &Access) -> bool {
        let Root::Access(read) = influence.root else { return false };
        let access = self.access(read);
        let shared = access.held.intersection(write.held).without(influence.ended);
        !access.is_write && !shared.is_empty() && self.variable(access) == Some(variable)
    }

    /// Whether the write makes sure that what was read still holds: it is told what to expect, it is one step with a
    /// read of its own, or a fresh read in its section vouches for the old one.
    fn is_validated(&self, stale: &Stale, write: &Access) -> bool {
        // What says whether it was done, and is listened to, does not do it twice.
        if write.is_refusing && stale.how == Use::Written && stale.variable == stale.written {
            return true;
        }
        if comes_from(&write.expects, stale.read) || stale.how == Use::Decides && self.expects_same(stale, write) {
            return true;
        }
        if stale.how == Use::Decides {
            // What a call looks at by itself before it acts is that call's business.
            let looks_again = write.control.iter().any(|influence| match influence.root {
                Root::Access(read) if read != stale.read => {
                    let again = self.access(read);
                    self.is_fresh(influence, stale.variable, write)
                        || again.event == write.event && self.variable(again) == Some(stale.variable)
                }
                _ => false,
            });
            // What asks for a key answers for that key, and not for how many there are.
            let read = self.access(stale.read);
            let answers = write.is_compound
                && stale.variable == stale.written
                && stale.first != stale.second
                && (read.is_keyed || !write.is_keyed);
            // What looks at the very thing that it changes needs no other permission.
            let looks_at_itself = stale.variable != stale.written
                && write.control.iter().any(|influence| self.is_fresh(influence, stale.written, write));
            if looks_again || answers || looks_at_itself {
                return true;
            }
        }
        write.compared.iter().filter(|compared| compared.are_equal).any(|compared| {
            let [left, right] = &compared.sides;
            self.vouches(left, right, stale, write) || self.vouches(right, left, stale, write)
        })
    }

    /// Whether what the write is told to expect was read from the very object that was asked: an entry of a map.
    fn expects_same(&self, stale: &Stale, write: &Access) -> bool {
        let asked = self.receiver(self.access(stale.read));
        asked.is_some()
            && write.expects.iter().any(|influence| match influence.root {
                Root::Access(read) => self.receiver(self.access(read)) == asked,
                Root::Parameter(_) => false,
            })
    }

    /// The object that another call yielded and that a read of the method itself is a call on.
    fn receiver(&self, read: &Access) -> Option<EventId> {
        let outline = self.whole.summaries.outline(self.method)?;
        match &outline.events.get(read.event.index())?.action {
            Action::Call { arguments, .. } => match arguments.first()?.objects.as_slice() {
                [Object::Event(event)] => Some(*event),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether one side is a fresh read and the other one the old value, or an old version that goes with it.
    fn vouches(&self, fresh: &Influences, old: &Influences, stale: &Stale, write: &Access) -> bool {
        fresh.iter().any(|influence| {
            let Root::Access(read) = influence.root else { return false };
            let Some(variable) = self.variable(self.access(read)) else { return false };
            if read == stale.read || !self.is_fresh(influence, variable, write) {
                return false;
            }
            old.iter().any(|influence| {
                let Root::Access(copy) = influence.root else { return false };
                copy == stale.read
                    || self.variable(self.access(copy)) == Some(variable)
                        && (stale.how == Use::Decides || self.access(copy).held.contains(stale.first))
                        && self.is_version(variable, stale.variable)
            })
        })
    }

    /// Whether every write of a variable also writes its version, in one section, or has compared the version there.
    fn is_version(&self, version: Variable, variable: Variable) -> bool {
        version != variable
            && self.whole.variables.writers(variable).iter().all(|place| {
                let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
                let write = &summary.accesses[place.access.index()];
                let held = write.held;
                let is_fresh = |influence: &Influence| match influence.root {
                    Root::Access(read) => {
                        let read = &summary.accesses[read.index()];
                        !read.held.intersection(held).is_empty() && self.variable(read) == Some(version)
                    }
                    Root::Parameter(_) => false,
                };
                let mut sides = write.compared.iter().filter(|one| one.are_equal).flat_map(|one| &one.sides);
                sides.any(|side| side.iter().any(is_fresh))
                    || summary.accesses.iter().any(|access| {
                        access.is_write
                            && !access.held.intersection(held).is_empty()
                            && self.variable(access) == Some(version)
                    })
            })
    }

    /// Whether it does no harm to do it twice: a flag that is only ever set, a set that gets what it has. Nothing else
    /// may hang on the old answer.
    fn is_harmless(&self, stale: &Stale, write: &Access) -> bool {
        stale.how == Use::Decides
            && stale.variable == stale.written
            && (write.is_repeatable && self.access(stale.read).is_keyed && !self.decides_more(stale, write)
                || self.is_one_way(stale.variable)
                    && (self.is_signal(stale.variable) || !self.decides_more(stale, write)))
    }

    /// Whether something is removed that was found to be there: the very element, or a key whose presence was asked. If
    /// it has gone meanwhile, nothing happens.
    fn is_gone_either_way(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && stale.variable == stale.written
            && write.is_removal
            && (self.asks_presence(read) && !self.decides_more(stale, write)
                || !write.is_mapped && comes_from(&write.address, stale.read))
    }

    /// Whether a call that asks has acted on the answer itself: what comes later follows that act, as `release` follows
    /// `admit`. Whether the call may act on what it has asked is its own business.
    fn is_used_up(&self, stale: &Stale, write: &Access) -> bool {
        let read = self.access(stale.read);
        stale.how == Use::Decides
            && write.event != read.event
            && self.summary.accesses.iter().any(|act| {
                act.is_write
                    && act.event == read.event
                    && comes_from(&act.control, stale.read)
                    && act.base.same(&read.base)
                    && self.variable(act) == Some(stale.variable)
            })
    }

    /// `if (log() != null) log().add(line);`: the same call on the same object, which does the second time what it would
    /// have done anyway.
    fn is_asked_twice(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        let reading = &outline.events[self.access(stale.read).event.index()].action;
        match (reading, &outline.events[write.event.index()].action) {
            (
                Action::Call { method: first, arguments: one, .. },
                Action::Call { method: second, arguments: other, .. },
            ) => stale.how == Use::Decides && first == second && one.len() == 1 && one[0].name.same(&other[0].name),
            _ => false,
        }
    }

    /// A value that never changes, computed from the object alone when it is first asked for and kept in a volatile field:
    /// whoever computes it again gets the same.
    fn is_computed_once(&self, stale: &Stale, write: &Access) -> bool {
        let (Use::Decides, Variable::Field(field)) = (stale.how, stale.variable) else { return false };
        let program = self.whole.program;
        let declared = program.field(field);
        stale.written == stale.variable
            && declared.access.is_volatile()
            && self.is_unchanging(declared.descriptor)
            && self.whole.variables.writers(stale.variable).len() == 1
            && write.value.iter().all(|influence| matches!(influence.root, Root::Parameter(0)))
            && !self.decides_more(stale, write)
    }

    fn is_unchanging(&self, descriptor: Symbol) -> bool {
        let program = self.whole.program;
        let name = program.names.text(descriptor).strip_prefix('L').and_then(|name| name.strip_suffix(';'));
        name.is_some_and(|name| self.whole.calls.is_immutable(program, program.names.class(name)))
    }

    /// Whether the old value is a key that is still there, because nobody ever removes one.
    fn is_lasting_key(&self, stale: &Stale, write: &Access) -> bool {
        self.access(stale.read).is_of_keys
            && write.is_keyed
            && stale.variable == stale.written
            && !self.is_emptied(stale.variable)
    }

    /// Whether something is ever taken out of a container, or another one takes its place.
    fn is_emptied(&self, container: Variable) -> bool {
        let variables = &self.whole.variables;
        let removes = |place: &Place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return true };
            let write = &summary.accesses[place.access.index()];
            let outline = self.whole.summaries.outline(place.method);
            match outline.map(|outline| &outline.events[write.event.index()].action) {
                Some(Action::Call { method, .. }) => {
                    let name = self.whole.program.names.text(method.name);
                    ["remove", "clear", "poll", "retain", "pop", "take", "drain"]
                        .iter()
                        .any(|word| name.starts_with(word))
                }
                _ => true,
            }
        };
        !variables.writers(Variable::Field(container.field())).is_empty()
            || variables.writers(container).iter().any(removes)
    }

    /// Whether a read is a question whether something is there.
    fn asks_presence(&self, read: &Access) -> bool {
        let method = self.whole.calls.hierarchy.resolve_name(self.whole.program, read.spot.method);
        let outline = method.and_then(|method| self.whole.summaries.outline(method));
        let event = outline.and_then(|outline| outline.events.iter().find(|event| event.pc == read.spot.pc));
        match event.map(|event| &event.action) {
            Some(Action::Call { method, .. }) => self.whole.program.names.text(method.name).starts_with("contains"),
            _ => false,
        }
    }

    /// Whether somebody writes the variable without asking: then it does not say who may go on.
    fn is_signal(&self, variable: Variable) -> bool {
        self.whole.variables.writers(variable).iter().any(|place| {
            let Some(summary) = self.whole.summaries.summary(place.method) else { return false };
            let write = &summary.accesses[place.access.index()];
            !write.control.iter().any(|influence| match influence.root {
                Root::Access(read) => self.variable(&summary.accesses[read.index()]) == Some(variable),
                Root::Parameter(_) => false,
            })
        })
    }

    /// Whether everybody who writes the variable writes the same number.
    pub(super) fn is_one_way(&self, variable: Variable) -> bool {
        self.is_always_the_same(variable, |action| match action {
            Action::Write { stored, .. } => number(&stored.objects),
            _ => None,
        })
    }

    /// The same of what an atomic holds.
    pub(super) fn is_set_one_way(&self, variable: Variable) -> bool {
        self.is_always_the_same(variable, |action| match action {
            Action::Call { method, arguments, .. } => match self.whole.program.names.text(method.name) {
                "set" | "setRelease" | "setPlain" | "setOpaque" | "lazySet" => number(&arguments.get(1)?.objects),
                _ => None,
            },
            _ => None,
        })
    }

    fn is_always_the_same(&self, variable: Variable, written: impl Fn(&Action) -> Option<i32>) -> bool {
        let number = |place: &Place| {
            let event = self.whole.summaries.summary(place.method)?.accesses[place.access.index()].event;
            written(&self.whole.summaries.outline(place.method)?.events.get(event.index())?.action)
        };
        let mut numbers = self.whole.variables.writers(variable).iter().map(number);
        let Some(Some(first)) = numbers.next() else { return false };
        numbers.all(|number| number == Some(first))
    }

    /// Whether something but the write depends on the old value: another write, or a call that others may notice.
    fn decides_more(&self, stale: &Stale, write: &Access) -> bool {
        let is_other =
            |access: &Access| access.is_write && access.event != write.event && comes_from(&access.control, stale.read);
        if self.summary.accesses.iter().any(is_other) {
            return true;
        }
        let beside = |access: &Access| {
            access.is_write && access.event == write.event && self.variable(access) != Some(stale.variable)
        };
        if self.summary.accesses.iter().any(beside) {
            return true;
        }
        let Some(outline) = self.whole.summaries.outline(self.method) else { return true };
        let deciding = outline.events[write.event.index()].control.clone();
        let reading = self.access(stale.read).event;
        outline.events.iter().enumerate().any(|(index, event)| {
            let is_call = match &event.action {
                Action::Call { method, .. } => {
                    let model = self.whole.calls.model(self.whole.program, *method, method.class);
                    model.is_none_or(|model| model.sink.is_some_and(|sink| sink == program::model::Sink::Print))
                }
                _ => false,
            };
            is_call
                && index != write.event.index()
                && index != reading.index()
                && deciding.iter().any(|condition| event.control.contains(condition))
        })
    }
}

/// The number that a value always is.
fn number(objects: &[Object]) -> Option<i32> {
    match objects {
        [Object::Int(number)] => Some(*number),
        _ => None,
    }
}
