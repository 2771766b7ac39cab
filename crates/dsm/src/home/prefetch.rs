//! How many pages to fetch with the one that is missing.

use fathomp_base::PageId;

/// Streams that are followed at the same time.
const STREAMS: usize = 4;

/// Where a thread that reads one page after the other is expected next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Stream {
    /// Number of the page behind those fetched.
    next: u64,
    /// Pages fetched the last time.
    pages: u32,
}

/// Sequential readers that have been noticed lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Streams {
    known: [Stream; STREAMS],
    /// The one to be forgotten next.
    oldest: usize,
    /// The one that the last fault belongs to.
    current: usize,
}

impl Streams {
    /// Pages to fetch from `page` on: twice as many as the last time if it is
    /// where a stream was expected.
    pub(super) fn pages(&mut self, page: PageId) -> u32 {
        let next = u64::from(page.0);
        match self
            .known
            .iter()
            .position(|s| s.pages > 0 && s.next == next)
        {
            Some(stream) => {
                self.current = stream;
                self.known[stream].pages.saturating_mul(2)
            }
            None => {
                self.current = self.oldest;
                self.oldest = (self.oldest + 1) % STREAMS;
                1
            }
        }
    }

    /// Pages up to `end` were fetched, `pages` of them because of the stream.
    pub(super) fn fetched(&mut self, end: u64, pages: u32) {
        self.known[self.current] = Stream { next: end, pages };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sequential_readers_get_ever_longer_runs() {
        let mut streams = Streams::default();
        let mut read = |page: &mut u32| {
            let pages = streams.pages(PageId(*page));
            *page += pages;
            streams.fetched(u64::from(*page), pages);
            pages
        };
        let (mut one, mut other) = (100, 7000);
        let runs: Vec<_> = (0..4).map(|_| (read(&mut one), read(&mut other))).collect();
        assert_eq!(runs, [(1, 1), (2, 2), (4, 4), (8, 8)]);
        assert_eq!(read(&mut 3), 1);
    }
}
