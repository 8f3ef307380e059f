//! What reading may cost, so that a hostile archive ends in a message instead of a full memory.

use super::error::ArchiveError;

/// Bounds on what is read. The defaults are generous for real programs.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How deep archives may lie in archives; the one given is at depth 1.
    pub depth: usize,
    /// Bytes read in total, over all inputs of one reader.
    pub total: u64,
    /// Classes and archives in one archive.
    pub entries: usize,
    /// How many times larger than its compressed form an entry may be ...
    pub ratio: u64,
    /// ... if it is larger than this.
    pub ratio_from: u64,
    /// Bytes of one class.
    pub class: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 10, total: 2 << 30, entries: 100_000, ratio: 100, ratio_from: 1 << 20, class: 64 << 20 }
    }
}

impl Limits {
    /// Checks a size that an archive states; the stated size is a bound for what is inflated later.
    pub(super) fn check_ratio(&self, packed: u64, size: u64) -> Result<(), ArchiveError> {
        if size > self.ratio_from && size / packed.max(1) >= self.ratio {
            return Err(ArchiveError::Ratio { packed, size, limit: self.ratio });
        }
        Ok(())
    }

    pub(super) fn check_class(&self, size: u64) -> Result<(), ArchiveError> {
        if size > self.class {
            return Err(ArchiveError::ClassTooLarge { size, limit: self.class });
        }
        Ok(())
    }
}

/// What is left of [`Limits::total`].
///
/// It is charged by one thread, in the order of the entries and before they are inflated, so that the same entries are
/// left out whatever the number of threads. The sizes that an archive states are bounds for what is really inflated, and
/// what was charged stays charged: an entry that fails at its last byte has cost its time.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    left: u64,
}

/// Every entry costs at least this much, or millions of tiny ones would fill the memory within the limit on bytes.
const ENTRY_COST: u64 = 512;

impl Budget {
    pub fn new(limit: u64) -> Budget {
        Budget { limit, left: limit }
    }

    /// Takes the cost of one entry. Nothing is left once this has failed.
    pub fn charge(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        match self.left.checked_sub(bytes.max(ENTRY_COST)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(ArchiveError::Total { limit: self.limit })
            }
        }
    }
}
