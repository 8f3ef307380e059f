//! Which calls are of modelled library methods.

use classfile::{Access, Field, text_of};
use location::{ClassName, Names};
use program::jdk::Jdk;
use program::model::{Ancestry, Models};
use rustc_hash::FxHashMap;

use crate::call::{Call, WatchedCall, flag, watched};
use crate::known::Known;

/// Locks of the platform that people write classes below. No two of them have an operation of one name.
const EXTENDED: [&str; 2] = ["java/util/concurrent/locks/ReentrantLock", "java/util/concurrent/Semaphore"];

/// Hierarchies deeper than this are no Java.
const DEEPEST: usize = 1_000;

/// The models, with what was found in them before.
pub(crate) struct Library {
    names: Names,
    models: Models,
    jdk: Jdk<'static>,
    /// Of classes of the JDK, whose ancestors do not change.
    ancestries: FxHashMap<ClassName, Ancestry>,
}

impl Default for Library {
    fn default() -> Library {
        let names = Names::new();
        Library { models: Models::new(&names), names, jdk: Jdk::embedded(), ancestries: FxHashMap::default() }
    }
}

impl Library {
    /// What a call gets, if a model knows its method. Not so if a class that is rewritten itself declares the method:
    /// then its own code tells.
    pub(crate) fn call(&mut self, known: &Known, [owner, name, descriptor]: [&[u8]; 3]) -> Option<WatchedCall> {
        if owner.starts_with(b"[") || known.has_own_code(owner, name, descriptor) {
            return None;
        }
        let class = self.names.class(&text_of(owner));
        let is_known = known.has(owner);
        if is_known || !self.ancestries.contains_key(&class) {
            let ancestry = self.ancestry(known, class);
            self.ancestries.insert(class, ancestry);
        }
        let (name, descriptor) = (text_of(name), text_of(descriptor));
        let Some(ancestry) = self.ancestries.get(&class).filter(|ancestry| !ancestry.is_empty()) else {
            let is_unseen = !is_known && self.jdk.class(&text_of(owner), &self.names).is_none();
            return if is_unseen { self.lock_call_perhaps(known, &name, &descriptor) } else { None };
        };
        let method = self.names.method(&text_of(owner), &name, &descriptor);
        let model = self.models.call_in(&self.names, ancestry, method)?;
        watched(model, &name, &descriptor, self.is_thread(known, class))
    }

    /// What a call gets whose class comes later and may be below a lock of the platform: the run will tell.
    fn lock_call_perhaps(&self, known: &Known, name: &str, descriptor: &str) -> Option<WatchedCall> {
        EXTENDED.iter().find_map(|owner| {
            let ancestry = self.ancestry(known, self.names.class(owner));
            let method = self.names.method(owner, name, descriptor);
            let model = self.models.call_in(&self.names, &ancestry, method).filter(|model| model.is_lock_operation)?;
            let watched = watched(model, name, descriptor, false)?;
            let is_meant = matches!(
                watched.call,
                Call::Lock | Call::TryLock | Call::Unlock | Call::Acquire | Call::TryAcquire | Call::Release
            );
            is_meant.then_some(WatchedCall { flags: watched.flags | flag::PERHAPS, ..watched })
        })
    }

    fn is_thread(&self, known: &Known, mut class: ClassName) -> bool {
        // A class that is its own ancestor is never loaded.
        for _ in 0..DEEPEST {
            let name = self.names.text(class.0);
            if name == "java/lang/Thread" {
                return true;
            }
            let parent = match known.super_class(name.as_bytes()) {
                Some(parent) => Some(self.names.class(&text_of(parent))),
                None => self.jdk.class(name, &self.names).and_then(|header| header.super_class),
            };
            let Some(parent) = parent else { return false };
            class = parent;
        }
        false
    }

    /// The access flags of a field that the JDK's own class declares, as far as the model of the JDK has it.
    pub(crate) fn field(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Access> {
        let class = self.jdk.class(&text_of(owner), &self.names)?;
        let (name, descriptor) = (self.names.lookup(&text_of(name))?, self.names.lookup(&text_of(descriptor))?);
        let is_meant = |field: &&Field| field.name == name && field.descriptor == descriptor;
        class.fields.iter().find(is_meant).map(|field| field.access)
    }

    fn ancestry(&self, known: &Known, class: ClassName) -> Ancestry {
        let (names, jdk) = (&self.names, self.jdk);
        self.models.ancestry(class, &mut |class, tell| {
            let name = names.text(class.0);
            if known.has(name.as_bytes()) {
                known.parents(name.as_bytes()).for_each(|parent| tell(names.class(&text_of(parent))));
            } else if let Some(header) = jdk.class(name, names) {
                header.super_class.iter().chain(&header.interfaces).for_each(|parent| tell(*parent));
            }
        })
    }
}
