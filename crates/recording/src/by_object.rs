//! Numbers of the trace by those of objects.
//!
//! A JVM numbers objects from 1 without gaps to speak of, so what an object has is found by its number. Hash tables were
//! half of the time of reading.

use rustc_hash::FxHashMap;

/// Objects beyond so many are looked up: a damaged number must not ask for memory.
const MOST: u64 = 1 << 28;
const NONE: u32 = u32::MAX;

/// Things that have an object and a key. An object has few of them.
#[derive(Default)]
pub(crate) struct ByObject {
    /// By object: the last of its entries, and [`NONE`] if it has none.
    last: Vec<u32>,
    entries: Vec<Entry>,
    /// What is not in `last`: objects that are none, and those with many things.
    others: FxHashMap<(u64, u64), u32>,
}

struct Entry {
    key: u64,
    value: u32,
    /// The object's entry before this one.
    before: u32,
}

impl ByObject {
    /// The value of an object's key. `has_many` says that objects may have many keys like this one.
    #[inline]
    pub(crate) fn get(&self, object: u64, key: u64, has_many: bool) -> Option<u32> {
        if is_other(object, has_many) {
            return self.others.get(&(object, key)).copied();
        }
        let mut at = *self.last.get(object as usize)?;
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.key == key {
                return Some(entry.value);
            }
            at = entry.before;
        }
        None
    }

    pub(crate) fn insert(&mut self, object: u64, key: u64, has_many: bool, value: u32) {
        if is_other(object, has_many) {
            self.others.insert((object, key), value);
            return;
        }
        let object = object as usize;
        if self.last.len() <= object {
            self.last.resize(object + 1, NONE);
        }
        let before = std::mem::replace(&mut self.last[object], self.entries.len() as u32);
        self.entries.push(Entry { key, value, before });
    }
}

/// Static fields belong to no object, which is 0.
#[inline]
fn is_other(object: u64, has_many: bool) -> bool {
    has_many || object == 0 || object >= MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_found() {
        let mut things = ByObject::default();
        let objects = [0, 1, 2, 1000, MOST - (MOST - 77), MOST, u64::MAX];
        let all = objects.iter().flat_map(|&object| {
            [0, 1, u64::MAX].into_iter().flat_map(move |key| [(object, key, false), (object, key << 1 | 1 << 40, true)])
        });
        let all: Vec<(u64, u64, bool)> = all.collect();
        for (value, &(object, key, many)) in all.iter().enumerate() {
            assert_eq!(things.get(object, key, many), None, "{object} {key}");
            things.insert(object, key, many, value as u32);
        }
        for (value, &(object, key, many)) in all.iter().enumerate() {
            assert_eq!(things.get(object, key, many), Some(value as u32));
        }
    }
}
