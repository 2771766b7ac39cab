//! MCBENCH's pattern: which bytes of the array a thread changes and reads in a pass.
//!
//! The same as `suites/mcbench` does: chunks are dealt round-robin, and from pass to pass a thread
//! goes on to the chunks that it has just read.

use std::ops::Range;

/// Bytes of what is added to and read.
pub const WORD_BYTES: u64 = 4;

/// What MCBENCH does with its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Bytes of the array.
    pub array: u64,
    /// Bytes of a chunk; none: one for each thread.
    pub chunk: Option<u64>,
    /// Threads.
    pub threads: u64,
}

impl Pattern {
    /// Bytes of a chunk; the last of the array may be shorter.
    #[must_use]
    pub fn chunk_bytes(self) -> u64 {
        let of_all = || self.array.div_ceil(self.threads.max(1));
        let blocked = || of_all().next_multiple_of(WORD_BYTES);
        self.chunk.unwrap_or_else(blocked).max(1)
    }

    /// The chunks of a share: the `first`, and each that lies so many threads behind it.
    pub fn share(self, first: u64) -> impl Iterator<Item = Range<u64>> {
        let (bytes, array) = (self.chunk_bytes(), self.array);
        let chunks = array.div_ceil(bytes);
        let step = usize::try_from(self.threads.max(1)).unwrap_or(usize::MAX);
        let begins = (first..chunks).step_by(step).map(move |at| at * bytes);
        begins.map(move |begin| begin..begin.saturating_add(bytes).min(array))
    }

    /// The share that a thread changes in a pass, numbered from 1.
    #[must_use]
    pub fn changed(self, thread: u64, pass: u64) -> u64 {
        (thread + pass) % self.threads.max(1)
    }

    /// The share that it reads in that pass: what its neighbour has just changed.
    #[must_use]
    pub fn read(self, thread: u64, pass: u64) -> u64 {
        self.changed(thread, pass + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins and ends of each share's chunks.
    fn shares(pattern: Pattern) -> Vec<Vec<(u64, u64)>> {
        let ends = |bytes: Range<u64>| (bytes.start, bytes.end);
        let shares = (0..pattern.threads).map(|first| pattern.share(first).map(ends).collect());
        shares.collect()
    }

    #[test]
    fn shares_are_dealt_round_robin() {
        let pattern = Pattern {
            array: 40,
            chunk: Some(16),
            threads: 2,
        };
        assert_eq!(shares(pattern), [vec![(0, 16), (32, 40)], vec![(16, 32)]]);
        assert_eq!((pattern.changed(1, 1), pattern.read(1, 1)), (0, 1));
        let blocked = Pattern {
            chunk: None,
            threads: 3,
            ..pattern
        };
        assert_eq!(
            shares(blocked),
            [vec![(0, 16)], vec![(16, 32)], vec![(32, 40)]]
        );
        let more_than_words = Pattern {
            array: 8,
            chunk: None,
            threads: 4,
        };
        assert_eq!(shares(more_than_words)[1..], [vec![(4, 8)], vec![], vec![]]);
    }
}
