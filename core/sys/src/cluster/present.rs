//! Which pages a process has touched, as the kernel tells.

use fathomp_types::PAGE_BYTES;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Which pages of the process exist.
pub(super) struct Present(File);

impl Present {
    pub(super) fn open() -> io::Result<Self> {
        File::open("/proc/self/pagemap").map(Self)
    }

    /// Of each page of a range of addresses, whether it does.
    pub(super) fn pages(&self, range: &Range<usize>) -> io::Result<Vec<bool>> {
        /// In memory, or swapped out.
        const EXISTS: u64 = 1 << 63 | 1 << 62;
        /// Entries looked at in one go.
        const CHUNK: usize = 1 << 16;
        let pages = range.len() / PAGE_BYTES;
        let mut exists = Vec::with_capacity(pages.min(CHUNK));
        let mut buffer = vec![0; CHUNK.min(pages) * size_of::<u64>()];
        while exists.len() < pages {
            let entries = CHUNK.min(pages - exists.len());
            let at = (range.start / PAGE_BYTES + exists.len()) * size_of::<u64>();
            let bytes = &mut buffer[..entries * size_of::<u64>()];
            self.0.read_exact_at(bytes, at as u64)?;
            exists.extend(bytes.chunks_exact(size_of::<u64>()).map(|entry| {
                entry
                    .try_into()
                    .is_ok_and(|e| u64::from_ne_bytes(e) & EXISTS != 0)
            }));
        }
        Ok(exists)
    }
}
