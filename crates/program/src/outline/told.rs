//! Locks that getters tell, where paths meet: `Lock first = a < b ? from.lock() : to.lock();`. Each way calls a getter of its
//! own, and what it yields has a name; which way was taken, nobody knows.

use smallvec::SmallVec;

use super::Name;
use super::build::Building;
use super::flow::Places;
use crate::ir::{Op, Value};
use crate::path::Root;
use crate::section::{Section, told};

/// More ways than this are not followed.
const MAX_WAYS: usize = 4;

impl Building<'_> {
    /// The names that the lock of a section may have, if getters tell it on all ways, each once.
    pub(super) fn told_on_ways(&self, section: &Section, places: &Places<'_>) -> SmallVec<[Name; 2]> {
        let Root::Value(root) = section.lock.root else { return SmallVec::new() };
        let ways = match *self.body.op(root) {
            Op::Phi(operands) if section.lock.steps.is_empty() => self.body.operands(operands),
            _ => return SmallVec::new(),
        };
        if ways.len() > MAX_WAYS {
            return SmallVec::new();
        }
        let named = |way: &Value| {
            let told = told(self.body, self.program, self.paths, *way, *way)?;
            Some(self.name(&told, places)).filter(|name| !name.is_unknown())
        };
        let mut names: SmallVec<[Name; 2]> = SmallVec::new();
        for way in ways {
            let Some(name) = named(way) else { return SmallVec::new() };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
