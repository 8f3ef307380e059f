//! Numbers as bytes: seven bits a byte, lowest first, the top bit set on all but the last.

/// Bytes of events. Most of writing a trace is here, so there is room for a whole event before it begins, and each number goes
/// to its place with no more than a look at the end.
#[derive(Default)]
pub(super) struct Bytes {
    all: Vec<u8>,
    length: usize,
}

/// More than an event has, with its segment and its order.
const ROOM: usize = 128;

impl Bytes {
    pub(super) fn written(&self) -> &[u8] {
        &self.all[..self.length]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Makes room for the next event.
    #[inline]
    pub(super) fn reserve(&mut self) {
        if self.all.len() - self.length < ROOM {
            let length = (self.all.len() * 2).max(32 * ROOM);
            self.all.resize(length, 0);
        }
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        self.all[self.length] = byte;
        self.length += 1;
    }

    /// Sets a byte that was pushed before.
    #[inline]
    pub(super) fn set(&mut self, at: usize, byte: u8) {
        self.all[at] = byte;
    }

    #[inline]
    pub(super) fn put(&mut self, number: u64) {
        if number >> 28 != 0 {
            return self.put_long(number);
        }
        // As in `Cursor::u32`, no branch depends on how many bytes it has: four are put, and those behind it count no more.
        let number = number as u32;
        let last = (31 - (number | 1).leading_zeros()) / 7;
        let spread =
            number & 0x7f | (number & 0x7f << 7) << 1 | (number & 0x7f << 14) << 2 | (number & 0x7f << 21) << 3;
        let more = 0x80_8080 & ((1 << (8 * last)) - 1);
        if let Some(four) = self.all[self.length..].first_chunk_mut() {
            *four = (spread | more).to_le_bytes();
        }
        self.length += last as usize + 1;
    }

    #[cold]
    fn put_long(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }
}

/// The same at the end of a list.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A position in a chunk's payload. Reading past the end, or a number that does not fit, gives `None`.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        // Nearly all numbers have up to four bytes. How many is hard to foresee for the processor, so they are taken
        // without a branch: four bytes are there, and those behind the number are masked out.
        if let Some(&four) = self.bytes.first_chunk::<4>() {
            let word = u32::from_le_bytes(four);
            let ends = !word & 0x8080_8080;
            if ends != 0 {
                let last = ends.trailing_zeros();
                let word = word & (u32::MAX >> (31 - last));
                self.bytes = &self.bytes[(last as usize + 1) / 8..];
                return Some(word & 0x7f | word >> 1 & 0x7f << 7 | word >> 2 & 0x7f << 14 | word >> 3 & 0x7f << 21);
            }
        }
        u32::try_from(self.u64()?).ok()
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let mut number = 0u64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return None;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put(&mut bytes, number);
                let mut fast = Bytes::default();
                fast.reserve();
                fast.put(number);
                assert_eq!(fast.written(), bytes);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.u64(), Some(number));
                assert_eq!(cursor.left(), 0);
                assert_eq!(Cursor::new(&bytes).u32(), u32::try_from(number).ok());
            }
        }
    }

    #[test]
    fn what_is_too_long_or_cut_off_is_refused() {
        assert_eq!(Cursor::new(&[0x80]).u32(), None);
        assert_eq!(Cursor::new(&[]).u64(), None);
        assert_eq!(Cursor::new(&[0xff; 11]).u64(), None);
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).u64(), None);
    }
}
