//! Two sections in one summary: what goes from one to the other, and what comes together.

use std::collections::BTreeSet;

use location::MethodName;
use program::outline::{Action, Member, Start};
use program::summary::{Access, AccessId, Influence, Influences, Root, Summaries, Summary};
use program::{LockKind, Program, Variable};

/// Why two sections belong together.
#[derive(Default)]
pub(super) struct Stakes {
    pub(super) variables: BTreeSet<Variable>,
    /// Something without a name in the program: the contents of an object that the method was given.
    pub(super) has_unnamed: bool,
    /// Only what one round of a loop leaves to the next, what is written and used again, or parts that are written one
    /// after the other, in methods that are called: much correct code is like that.
    pub(super) is_weak: bool,
}

impl Stakes {
    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty() && !self.has_unnamed
    }
}

/// The two sections in the summary of the method where they come together.
pub(super) struct Sides<'s> {
    pub(super) summaries: &'s Summaries,
    pub(super) summary: &'s Summary,
    pub(super) first: usize,
    pub(super) second: usize,
}

impl<'s> Sides<'s> {
    pub(super) fn accesses(&self, section: usize) -> impl Iterator<Item = (AccessId, &'s Access)> + use<'s> {
        let summary = self.summary;
        summary
            .accesses
            .iter()
            .enumerate()
            .filter(move |(_, access)| access.held.contains(section))
            .map(|(number, access)| (AccessId(number as u32), access))
    }

    /// Whether an access is part of how an object of the program's own locks: under the monitor of what is held as a lock.
    pub(super) fn is_of_lock(&self, access: &Access) -> bool {
        let held = |kind: LockKind| {
            let sections = access.held.iter().map(|section| &self.summary.sections[section]);
            sections.filter(move |section| section.kind == kind)
        };
        held(LockKind::Monitor).any(|monitor| held(LockKind::Lock).any(|lock| lock.lock.same(&monitor.lock)))
    }

    /// Whether an influence comes from a read in the first section; in a loop, of an earlier round, unless each round takes
    /// out what it finds, and whether there was something decides about the next.
    pub(super) fn is_from_first(&self, influence: &Influence) -> bool {
        let Some(id) = read(influence) else { return false };
        let access = &self.summary.accesses[id.index()];
        let is_next_round = || influence.ended.contains(self.first) && !self.is_taken_out(id);
        access.held.contains(self.first) && (self.first != self.second || is_next_round())
    }

    /// Whether the first section also changes what it reads, because of it.
    fn is_taken_out(&self, id: AccessId) -> bool {
        let is_because = |influences: &Influences| influences.iter().any(|influence| read(influence) == Some(id));
        let own = &self.summary.accesses[id.index()];
        self.accesses(self.first).any(|(_, access)| {
            access.is_write
                && access.base == own.base
                && access.member == own.member
                && (is_because(&access.control) || is_because(&access.value))
        })
    }

    /// What the first section read and the second is decided by, given, or writes. Of an object that synchronizes itself
    /// another look does not count, unless it is told where to look; and nowhere does a second look at one variable that
    /// a first look at it led to.
    pub(super) fn flows(&self, program: &Program, is_own: bool) -> BTreeSet<AccessId> {
        let mut reads = BTreeSet::new();
        for (_, access) in self.accesses(self.second) {
            for influences in [&access.value, &access.address] {
                reads.extend(influences.iter().filter(|influence| self.is_from_first(influence)).filter_map(read));
            }
            if is_own && !access.is_write {
                continue;
            }
            let deciding = access.control.iter().filter(|influence| self.is_from_first(influence)).filter_map(read);
            reads.extend(deciding.filter(|read| access.is_write || !self.is_alike(program, *read, access)));
        }
        reads
    }

    /// Whether an earlier read was of the same field. What a container holds is many variables: of that it must have been
    /// the same question.
    fn is_alike(&self, program: &Program, read: AccessId, access: &Access) -> bool {
        let read = &self.summary.accesses[read.index()];
        let is_same_question = || match Variable::of(program, read) {
            Some(Variable::Field(_)) => true,
            Some(Variable::Held(_) | Variable::Within(_)) => {
                let question = self.question(program, read);
                question.is_some() && question == self.question(program, access)
            }
            None => false,
        };
        read.base == access.base && Variable::of(program, read) == Variable::of(program, access) && is_same_question()
    }

    /// Whether an earlier read was of what the same container has under another key, as far as names tell keys apart.
    fn is_for_other_key(&self, program: &Program, read: AccessId, access: &Access) -> bool {
        let read = &self.summary.accesses[read.index()];
        let is_one_key = |access: &Access| access.is_keyed && !access.is_of_each && !access.keys.is_empty();
        read.base == access.base
            && Variable::of(program, read) == Variable::of(program, access)
            && is_one_key(read)
            && is_one_key(access)
            && !read.keys.iter().any(|key| access.keys.contains(key))
    }

    /// The library method that an access is a call of.
    fn question(&self, program: &Program, access: &Access) -> Option<MethodName> {
        let outline = self.summaries.outline(program.declared_method(access.spot.method)?)?;
        outline.events.iter().find(|event| event.pc == access.spot.pc).and_then(|event| match event.action {
            Action::Call { method, .. } => Some(method),
            _ => None,
        })
    }

    /// What the first section writes and the second reads again to go on with, as if nobody else had written it: the
    /// value goes somewhere else, or what was set anew is brought up to date. To decide by it is to look again.
    pub(super) fn read_back(&self, program: &Program) -> BTreeSet<AccessId> {
        let mut written = BTreeSet::new();
        if self.first == self.second {
            return written;
        }
        let is_same = |one: &Access, other: &Access| {
            one.base == other.base && Variable::of(program, one) == Variable::of(program, other)
        };
        let yields = |influences: &Influences, id: AccessId| influences.iter().any(|one| read(one) == Some(id));
        for (write, one) in self.accesses(self.first).filter(|(_, access)| access.is_write) {
            if !matches!(Variable::of(program, one), Some(Variable::Field(_))) {
                continue;
            }
            let is_update = self.accesses(self.first).any(|(id, own)| is_same(own, one) && yields(&one.value, id));
            let is_relied_on = |id: AccessId| {
                yields(&self.summary.result, id)
                    || self.summary.accesses.iter().any(|other| {
                        let goes_on = yields(&other.value, id) || yields(&other.address, id);
                        other.is_write && goes_on && (!is_same(other, one) || !is_update)
                    })
            };
            let mut again = self.accesses(self.second).filter(|(_, access)| !access.is_write && is_same(access, one));
            if again.any(|(id, _)| is_relied_on(id)) {
                written.insert(write);
            }
        }
        written
    }

    /// What was read in both and comes together in one value or one decision.
    pub(super) fn meet(&self, program: &Program) -> BTreeSet<AccessId> {
        let mut reads = BTreeSet::new();
        if self.first == self.second {
            return reads;
        }
        let from = |influences: &Influences, section: usize, not: usize| -> Vec<AccessId> {
            let is_from = |access: &AccessId| {
                let held = self.summary.accesses[access.index()].held;
                held.contains(section) && !held.contains(not)
            };
            influences.iter().filter_map(read).filter(is_from).collect()
        };
        let values = self.summary.accesses.iter().map(|access| (&access.value, false));
        let decisions = self.summary.accesses.iter().map(|access| (&access.control, true));
        for (influences, decides) in std::iter::once((&self.summary.result, false)).chain(values).chain(decisions) {
            let (first, second) =
                (from(influences, self.first, self.second), from(influences, self.second, self.first));
            // To look twice at one variable before deciding is to look again, and so is to look because of a first look.
            // What stands under another key of one container is another thing.
            let is_second_look = first.iter().all(|one| {
                second.iter().all(|other| {
                    let again = &self.summary.accesses[other.index()];
                    if self.is_for_other_key(program, *one, again) {
                        return true;
                    }
                    let is_because = || again.control.iter().any(|influence| read(influence) == Some(*one));
                    self.is_alike(program, *one, again) && (decides || is_because())
                })
            });
            if !first.is_empty() && !second.is_empty() && !is_second_look {
                reads.extend(first);
                reads.extend(second);
            }
        }
        reads
    }

    /// Whether every write of the second section that old values lead to makes sure of them again: it is told what to
    /// expect, or decided by a fresh read of the same variable.
    pub(super) fn is_validated(&self, program: &Program) -> bool {
        let old: Vec<Option<Variable>> = self
            .accesses(self.first)
            .filter(|(_, access)| !access.is_write)
            .map(|(_, access)| Variable::of(program, access))
            .collect();
        let mut writes = self
            .accesses(self.second)
            .filter(|(_, access)| {
                access.is_write
                    && access.value.iter().chain(&access.control).any(|influence| self.is_from_first(influence))
            })
            .peekable();
        writes.peek().is_some()
            && writes.all(|(_, access)| {
                access.is_compound
                    || !access.expects.is_empty()
                    || access.control.iter().any(|influence| {
                        let Root::Access(fresh) = influence.root else { return false };
                        let fresh = &self.summary.accesses[fresh.index()];
                        fresh.held.contains(self.second)
                            && !influence.ended.contains(self.second)
                            && old.contains(&Variable::of(program, fresh))
                    })
            })
    }
}

fn read(influence: &Influence) -> Option<AccessId> {
    match influence.root {
        Root::Access(read) => Some(read),
        Root::Parameter(_) => None,
    }
}

/// Whether an access is to a static, or to an object that has a name and was not made on the way.
pub(super) fn is_named(access: &Access) -> bool {
    matches!(access.member, Member::Static(_)) || !matches!(access.base.start, Start::New(_) | Start::Unknown)
}
