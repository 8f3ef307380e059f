//! One method made ready for the flow of facts: its locks by number, and what its calls do, from its own side.

use location::ClassName;
use program::{LockKind, MethodId, Path};
use rustc_hash::FxHashSet;

use super::analysis::{Analysis, Resolved};
use super::name::{Argument, Name};
use super::rules::{Effects, Prepared, Take};
use super::skeleton::CallSite;
use super::state::{LockId, Locks, TakeId};
use super::summary::Via;

impl Analysis<'_> {
    /// The method's locks by number, and what its calls do.
    pub(super) fn prepare(&self, place: usize) -> Prepared<'_> {
        let skeleton = &self.skeletons[place];
        let mut prepared =
            Prepared { skeleton, locks: Locks::default(), takes: Vec::new(), sections: Vec::new(), calls: Vec::new() };
        for (number, own) in skeleton.sections.iter().enumerate() {
            let lock = prepared.locks.number(own.lock.clone(), own.kind);
            let take = lock.filter(|_| self.is_taking(own) && !own.is_method).map(|lock| {
                prepared.takes.push(Take { lock, via: Via::Own(number as u32), bound: own.bound });
                TakeId(prepared.takes.len() as u32 - 1)
            });
            prepared.sections.push((lock, take));
        }
        for (number, call) in skeleton.calls.iter().enumerate() {
            let effects = self.effects(&mut prepared, call, number as u32, &self.resolved[place][number]);
            prepared.calls.push(effects);
        }
        self.close(&mut prepared);
        prepared
    }

    fn effects(&self, prepared: &mut Prepared<'_>, call: &CallSite, number: u32, resolved: &Resolved) -> Effects {
        let mut effects = Effects { repeats: resolved.repeats, ..Effects::default() };
        let mut seen: FxHashSet<(LockId, Option<ClassName>)> = FxHashSet::default();
        if let (Some(kind), Some(Argument::Object(path, class))) = (resolved.library, call.arguments.first())
            && let Some(lock) = prepared.locks.number(path.clone(), kind)
        {
            let bound = class.filter(|_| path.steps.is_empty());
            prepared.takes.push(Take { lock, via: Via::Library { call: number }, bound });
            effects.takes.push(TakeId(prepared.takes.len() as u32 - 1));
        }
        for (target, arguments) in self.run_by(resolved, call) {
            let Some(summary) = self.summary(target) else { continue };
            for (index, taken) in summary.taken.iter().enumerate() {
                let Some((path, bound)) = taken.name.at_call(self.program, arguments) else { continue };
                let Some(lock) = prepared.locks.number(path, taken.name.kind) else { continue };
                if !seen.insert((lock, bound)) {
                    continue;
                }
                let via = Via::Call { call: number, target, taken: index as u32 };
                prepared.takes.push(Take { lock, via, bound });
                effects.takes.push(TakeId(prepared.takes.len() as u32 - 1));
            }
            for (index, twice) in summary.twice.iter().enumerate() {
                let named = |name: &Name, locks: &mut Locks| {
                    name.at_call(self.program, arguments).and_then(|(path, _)| locks.number(path, name.kind))
                };
                let first = named(&twice.names.0, &mut prepared.locks);
                let second = named(&twice.names.1, &mut prepared.locks);
                if let (Some(first), Some(second)) = (first, second) {
                    effects.twice.push((first, second, target, index as u32));
                }
            }
            if resolved.targets.len() == 1 {
                for name in &summary.acquires {
                    let path = name.at_call(self.program, arguments);
                    effects.acquires.push(path.and_then(|(path, _)| prepared.locks.number(path, name.kind)));
                }
            }
            for name in &summary.gives_back {
                let lock = name.as_ref().and_then(|name| {
                    let (path, _) = name.at_call(self.program, arguments)?;
                    prepared.locks.number(path, name.kind)
                });
                effects.gives_back.push(lock);
            }
        }
        effects.stores = self.stores.of_call(self.program, self.calls, call.kind, call.method);
        effects
    }

    /// An object that a call returned with a lock held, or that was made so, gives it back when it is closed.
    fn close(&self, prepared: &mut Prepared<'_>) {
        if prepared.calls.iter().all(|effects| effects.acquires.is_empty()) {
            return;
        }
        let sites = &prepared.skeleton.calls;
        let close = (self.program.names.intern("close"), self.program.names.intern("()V"));
        for (number, site) in sites.iter().enumerate() {
            if (site.method.name, site.method.descriptor) != close || !prepared.calls[number].gives_back.is_empty() {
                continue;
            }
            let opened = sites.iter().zip(&prepared.calls).find(|(opening, effects)| {
                let is_made = self.program.names.text(opening.method.name) == "<init>";
                let object = if is_made { opening.receiver } else { Some(opening.value) };
                !effects.acquires.is_empty() && object.is_some() && object == site.receiver
            });
            if let Some((_, effects)) = opened {
                let given = effects.acquires.clone();
                prepared.calls[number].gives_back = given;
            }
        }
    }

    /// The lock of a taking, as the method names it.
    pub(super) fn taken_lock(&self, method: MethodId, via: Via) -> Option<(Path, LockKind)> {
        let place = self.place(method)?;
        let skeleton = &self.skeletons[place];
        match via {
            Via::Own(section) => {
                let own = skeleton.sections.get(section as usize)?;
                Some((own.lock.clone(), own.kind))
            }
            Via::Library { call } => match skeleton.calls.get(call as usize)?.arguments.first()? {
                Argument::Object(path, _) => Some((path.clone(), self.resolved[place].get(call as usize)?.library?)),
                Argument::Position(_) => None,
            },
            Via::Call { call, target, taken } => {
                let name = &self.summary(target)?.taken.get(taken as usize)?.name;
                let site = skeleton.calls.get(call as usize)?;
                let (_, arguments) =
                    self.run_by(self.resolved[place].get(call as usize)?, site).find(|(run, _)| *run == target)?;
                Some((name.at_call(self.program, arguments)?.0, name.kind))
            }
        }
    }

    /// The lock that a call returns with, as the caller names it.
    pub(super) fn left_held(&self, method: MethodId, call: u32) -> Option<Path> {
        let place = self.place(method)?;
        let site = self.skeletons[place].calls.get(call as usize)?;
        let target = self.resolved[place].get(call as usize)?.targets.first()?;
        let lock = self.summary(*target)?.acquires.first()?;
        lock.at_call(self.program, &site.arguments).map(|(path, _)| path)
    }
}
