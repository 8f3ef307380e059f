//! Records that were read and need no space any more.

use std::fs::File;
use std::ops::Range;

/// Given back at once.
const ENOUGH: u64 = 1 << 24;

/// Parts of the file of records that are done with and still have their space.
#[derive(Default)]
pub(crate) struct Consumed {
    ranges: Vec<Range<u64>>,
    bytes: u64,
    /// The file system cannot do it.
    is_off: bool,
}

impl Consumed {
    /// Nobody will read or write this part again.
    pub(crate) fn add(&mut self, range: Range<u64>, file: &File) {
        if self.is_off {
            return;
        }
        self.bytes += range.end - range.start;
        self.ranges.push(range);
        if self.bytes >= ENOUGH {
            self.bytes = 0;
            for range in merged(std::mem::take(&mut self.ranges)) {
                if !give_back(file, range) {
                    self.is_off = true;
                    return;
                }
            }
        }
    }
}

/// Neighbours as one.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

#[cfg(target_os = "linux")]
fn give_back(file: &File, range: Range<u64>) -> bool {
    use rustix::fs::{FallocateFlags, fallocate};
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, flags, range.start, range.end - range.start).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn give_back(_: &File, _: Range<u64>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one() {
        assert_eq!(merged(vec![8..12, 0..4, 4..8, 20..24]), [0..12, 20..24]);
    }
}
