//! The last accesses to each variable, as far as they can still matter.
//!
//! An access matters while a transaction is open that it belongs to or that reaches it, and nearly all accesses of a run
//! do not. So what is kept is a table of the few variables with an access that matters, and its size has nothing to do
//! with how many variables there are: it stays in the processor's cache. Entries are not taken out; one that does not
//! matter any more is used again when its place is needed.

use trace::{SiteId, VariableId};

use super::reach::Reach;
use super::state::Mark;

/// The last writer of a variable and its readers since.
#[derive(Clone, Copy)]
pub(super) struct Variable {
    pub(super) writer: Mark,
    /// One reader, none, or the number of a crowd.
    pub(super) reader: Mark,
    pub(super) writer_site: SiteId,
    pub(super) reader_site: SiteId,
}

impl Variable {
    pub(super) const UNTOUCHED: Variable =
        Variable { writer: Mark::NONE, reader: Mark::NONE, writer_site: SiteId(0), reader_site: SiteId(0) };
}

/// Several readers of one variable since its last write. Invariant: sorted by slot, one entry a slot.
pub(super) type Crowd = Vec<(Mark, SiteId)>;

/// The place of an entry, good until the next entry is made.
#[derive(Clone, Copy)]
pub(super) struct Place(usize);

pub(super) struct Variables {
    /// Which variable an entry is of. Beside the entries and not in them, so that one look is at a whole window.
    keys: Vec<u32>,
    entries: Vec<Variable>,
    /// The table has 2 to this power homes, and a window's rest behind the last one.
    bits: u32,
    /// Mixes the numbers of variables, otherwise for each size of the table.
    factor: u64,
    crowds: Vec<Crowd>,
    free_crowds: Vec<usize>,
}

impl Variables {
    /// An entry is this far from its home at most.
    const WINDOW: usize = 8;
    /// As many as fit into the nearest cache.
    const FIRST_BITS: u32 = 12;

    pub(super) fn new() -> Variables {
        let size = (1 << Variables::FIRST_BITS) + Variables::WINDOW - 1;
        Variables {
            keys: vec![u32::MAX; size],
            entries: vec![Variable::UNTOUCHED; size],
            bits: Variables::FIRST_BITS,
            factor: Variables::factor(Variables::FIRST_BITS),
            crowds: Vec::new(),
            free_crowds: Vec::new(),
        }
    }

    /// Another one for each size, so that variables which share their window in one table do not in the next.
    fn factor(bits: u32) -> u64 {
        0x9e37_79b9_7f4a_7c15_u64.rotate_left(2 * bits) | 1
    }

    /// Where the window of a variable begins.
    #[inline]
    fn home(&self, variable: VariableId) -> usize {
        (u64::from(variable.0).wrapping_mul(self.factor) >> (64 - self.bits)) as usize
    }

    #[inline]
    pub(super) fn find(&self, variable: VariableId) -> Option<Place> {
        let home = self.home(variable);
        let window = self.keys[home..].first_chunk::<{ Variables::WINDOW }>()?;
        if window[0] == variable.0 {
            return Some(Place(home));
        }
        // All at once, without a branch for each.
        let mut hits = 0;
        for (index, &key) in window.iter().enumerate() {
            hits |= u32::from(key == variable.0) << index;
        }
        (hits != 0).then(|| Place(home + hits.trailing_zeros() as usize))
    }

    #[inline]
    pub(super) fn at(&self, place: Place) -> &Variable {
        &self.entries[place.0]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, place: Place) -> &mut Variable {
        &mut self.entries[place.0]
    }

    /// A new entry, for a variable that has none.
    pub(super) fn add(&mut self, variable: VariableId, entry: Variable, reach: &Reach) {
        loop {
            let home = self.home(variable);
            let window = home..home + Variables::WINDOW;
            let unused = window.into_iter().find(|&index| !self.matters(&self.entries[index], reach));
            if let Some(index) = unused {
                self.free_crowd(self.entries[index].reader);
                self.keys[index] = variable.0;
                self.entries[index] = entry;
                return;
            }
            self.grow(reach);
        }
    }

    fn matters(&self, entry: &Variable, reach: &Reach) -> bool {
        let read = match entry.reader.as_crowd() {
            Some(number) => self.crowds[number].iter().any(|&(mark, _)| reach.matters(mark)),
            None => reach.matters(entry.reader),
        };
        read || reach.matters(entry.writer)
    }

    /// Twice as many homes, and only what matters moves there.
    #[cold]
    fn grow(&mut self, reach: &Reach) {
        self.bits += 1;
        self.factor = Variables::factor(self.bits);
        let size = (1 << self.bits) + Variables::WINDOW - 1;
        let keys = std::mem::replace(&mut self.keys, vec![u32::MAX; size]);
        let entries = std::mem::replace(&mut self.entries, vec![Variable::UNTOUCHED; size]);
        for (key, entry) in keys.into_iter().zip(entries) {
            if self.matters(&entry, reach) {
                self.add(VariableId(key), entry, reach);
            } else {
                self.free_crowd(entry.reader);
            }
        }
    }

    /// Takes the readers of an entry out.
    pub(super) fn take_crowd(&mut self, number: usize) -> Crowd {
        std::mem::take(&mut self.crowds[number])
    }

    /// Gives back what was taken out, to be used for another variable.
    pub(super) fn drop_crowd(&mut self, number: usize, mut crowd: Crowd) {
        crowd.clear();
        self.crowds[number] = crowd;
        self.free_crowds.push(number);
    }

    fn free_crowd(&mut self, reader: Mark) {
        if let Some(number) = reader.as_crowd() {
            self.crowds[number].clear();
            self.free_crowds.push(number);
        }
    }

    pub(super) fn new_crowd(&mut self) -> usize {
        self.free_crowds.pop().unwrap_or_else(|| {
            self.crowds.push(Crowd::new());
            self.crowds.len() - 1
        })
    }

    /// Puts the last read of a thread into a crowd, if the thread is in it.
    pub(super) fn repeat_in_crowd(&mut self, number: usize, mark: Mark, site: SiteId) -> bool {
        let crowd = &mut self.crowds[number];
        let found = crowd.binary_search_by_key(&mark.slot(), |(mark, _)| mark.slot());
        if let Ok(found) = found {
            crowd[found] = (mark, site);
        }
        found.is_ok()
    }

    pub(super) fn join_crowd(&mut self, number: usize, mark: Mark, site: SiteId, reach: &Reach) {
        let crowd = &mut self.crowds[number];
        match crowd.binary_search_by_key(&mark.slot(), |(mark, _)| mark.slot()) {
            Ok(found) => crowd[found] = (mark, site),
            Err(place) => {
                crowd.insert(place, (mark, site));
                crowd.retain(|&(other, _)| other == mark || reach.matters(other));
            }
        }
    }

    /// How many entries the table has room for, and how many crowds are in use.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.entries.len(), self.crowds.len() - self.free_crowds.len())
    }
}
