//! Threads that go through memory in order: pages behind the one that is missing are fetched with
//! it.

use super::direction::Direction;
use crate::PageRange;
use fathomp_types::PageId;

/// Streams that are followed at the same time: a transform along the third dimension of an array
/// reads in all of its planes in turn.
const STREAMS_MAX: usize = 512;

/// Pages that are fetched where no stream is known: a round trip takes as long as sending some
/// ten pages.
const FIRST_PAGES: u32 = 4;

/// What a thread that reads one page after the other has fetched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stream(PageRange);

/// Sequential readers that have been noticed lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Streams {
    known: Vec<Stream>,
    /// The one to be forgotten next, if there are as many as are followed.
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
        match slot {
            Some(slot) => self.known[slot] = Stream(pages),
            None => self.begin(Stream(pages)),
        }
        pages
    }

    /// A barrier is over: what comes is another phase, and begins its own streams.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.oldest = 0;
    }

    /// Follows one more stream, in place of the oldest if there are too many.
    fn begin(&mut self, stream: Stream) {
        if self.known.len() < STREAMS_MAX {
            self.known.push(stream);
            return;
        }
        self.known[self.oldest] = stream;
        self.oldest = (self.oldest + 1) % STREAMS_MAX;
    }

    /// The stream that goes on at `page`, if one does, which way it goes, and how many pages to
    /// fetch.
    fn stream_at(&self, page: PageId) -> (Option<usize>, Direction, u32) {
        let at = u64::from(page.0);
        let known = self.known.iter().enumerate();
        let mut going_on = known.filter_map(|(slot, Stream(pages))| {
            let way = match (pages.end() == at, u64::from(pages.first().0) == at + 1) {
                (true, _) => Direction::Up,
                (_, true) => Direction::Down,
                _ => return None,
            };
            Some((Some(slot), way, pages.len().saturating_mul(2)))
        });
        let found = going_on.next();
        found.unwrap_or((None, Direction::Up, FIRST_PAGES))
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

    /// As a transform along the third dimension of an array does.
    #[test]
    fn a_thread_that_reads_in_many_planes_in_turn_gets_longer_runs_in_each() {
        let mut streams = Streams::default();
        let mut read = |row: u32, plane: u32| {
            let page = PageId(1000 * plane + row);
            streams.worth_fetching(page, 16, |_| true).len()
        };
        for (row, pages) in [(0, 4), (4, 8), (12, 16)] {
            assert!((0..256).all(|plane| read(row, plane) == pages), "{row}");
        }
    }

    #[test]
    fn of_too_many_streams_the_oldest_is_forgotten_and_at_a_barrier_all_are() {
        let mut streams = Streams::default();
        let pages_at = |streams: &mut Streams, page: u32| {
            streams.worth_fetching(PageId(page), 16, |_| true).len()
        };
        for stream in 0..=u32::try_from(STREAMS_MAX).unwrap() {
            assert_eq!(pages_at(&mut streams, 1000 * stream), 4);
        }
        assert_eq!(streams.known.len(), STREAMS_MAX);
        assert_eq!(pages_at(&mut streams, 1004), 8);
        assert_eq!(pages_at(&mut streams, 4), 4);
        streams.forget();
        assert_eq!(pages_at(&mut streams, 2004), 4);
    }
}
