//! Threads that go through memory in order: pages behind the one that is missing are fetched with
//! it.

use super::direction::Direction;
use crate::PageRange;
use fathomp_types::PageId;

/// Streams that are followed at the same time.
const STREAMS_MAX: usize = 4;

/// Pages that are fetched where no stream is known: a round trip takes as long as sending some
/// ten pages.
const FIRST_PAGES: u32 = 4;

/// What a thread that reads one page after the other has fetched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stream(PageRange);

/// Sequential readers that have been noticed lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Streams {
    known: [Option<Stream>; STREAMS_MAX],
    /// The one to be forgotten next.
    oldest: usize,
}

impl Streams {
    /// `page` and those behind it that `may_come` with it, `pages_max` altogether: twice as many
    /// as the last time if a stream was expected to go on at `page`.
    pub(crate) fn worth_fetching(
        &mut self,
        page: PageId,
        pages_max: u32,
        may_come: impl Fn(PageId) -> bool,
    ) -> PageRange {
        if pages_max <= 1 {
            return page.into();
        }
        let (slot, way, pages) = self.stream_at(page);
        let pages = way.run(page, pages.min(pages_max), may_come);
        self.known[slot] = Some(Stream(pages));
        pages
    }

    /// Where to note a stream that goes on or begins at `page`, which way it goes, and how many
    /// pages to fetch.
    fn stream_at(&mut self, page: PageId) -> (usize, Direction, u32) {
        let at = u64::from(page.0);
        let known = self.known.iter().enumerate();
        let mut going_on = known.filter_map(|(slot, stream)| {
            let Stream(pages) = (*stream)?;
            let way = match (pages.end() == at, u64::from(pages.first().0) == at + 1) {
                (true, _) => Direction::Up,
                (_, true) => Direction::Down,
                _ => return None,
            };
            Some((slot, way, pages.len().saturating_mul(2)))
        });
        let found = going_on.next();
        found.unwrap_or_else(|| {
            let slot = self.oldest;
            self.oldest = (self.oldest + 1) % STREAMS_MAX;
            (slot, Direction::Up, FIRST_PAGES)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_readers_get_ever_longer_runs_either_way() {
        let mut streams = Streams::default();
        let mut read = |page: u32, pages_max| {
            let pages = streams.worth_fetching(PageId(page), pages_max, |_| true);
            (pages.first().0, pages.len())
        };
        assert_eq!(read(100, 64), (100, 4));
        assert_eq!(read(7000, 64), (7000, 4));
        assert_eq!(read(500, 64), (500, 4));
        // This one turns out to go down.
        assert_eq!(read(499, 64), (492, 8));
        assert_eq!(read(104, 64), (104, 8));
        assert_eq!(read(491, 64), (476, 16));
        assert_eq!(read(7004, 64), (7004, 8));
        assert_eq!(read(112, 12), (112, 12));
        assert_eq!(read(3, 64), (3, 4));
        assert_eq!(read(2, 1), (2, 1));
    }
}
