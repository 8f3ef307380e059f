//! Positioned reading: the one thing this module asks of its caller.

use std::io;

/// Bytes that can be read from any position by several threads at once: a file, or memory.
pub trait ReadAt: Sync {
    fn size(&self) -> u64;

    /// Fills the start of `buffer` with bytes from `offset` on and says how many; 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// All bytes, if they are in memory already; spares a copy.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

impl ReadAt for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buffer, offset)
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// A part of other data, as an archive stored uncompressed inside another one.
pub(super) struct Window<'a> {
    whole: &'a dyn ReadAt,
    start: u64,
    size: u64,
}

impl<'a> Window<'a> {
    /// `None` if the window would reach beyond the end.
    pub(super) fn new(whole: &'a dyn ReadAt, start: u64, size: u64) -> Option<Window<'a>> {
        let end = start.checked_add(size)?;
        (end <= whole.size()).then_some(Window { whole, start, size })
    }
}

impl ReadAt for Window<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.size.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        self.whole.read_at(&mut buffer[..count], self.start.saturating_add(offset))
    }

    fn in_memory(&self) -> Option<&[u8]> {
        let start = usize::try_from(self.start).ok()?;
        let size = usize::try_from(self.size).ok()?;
        self.whole.in_memory()?.get(start..start.checked_add(size)?)
    }
}

/// Fills the whole buffer or fails.
pub(super) fn read_exact_at(data: &dyn ReadAt, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match data.read_at(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The first bytes, at most `buffer.len()` of them.
pub(super) fn read_head<'b>(data: &dyn ReadAt, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let count = usize::try_from(data.size()).unwrap_or(usize::MAX).min(buffer.len());
    read_exact_at(data, &mut buffer[..count], 0)?;
    Ok(&buffer[..count])
}
