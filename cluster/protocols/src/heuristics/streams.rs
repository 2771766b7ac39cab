//! How many pages to fetch with the one that is missing.

use super::direction::Direction;
use crate::PageRange;
use fathomp_types::PageId;

/// Streams that are followed at the same time.
const STREAMS: usize = 4;

/// What a thread that reads one page after the other has fetched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stream {
    pages: PageRange,
    /// How many of them because of the stream.
    ahead: u32,
}

/// Sequential readers that have been noticed lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Streams {
    known: [Option<Stream>; STREAMS],
    /// The one to be forgotten next.
    oldest: usize,
    /// The one that the last fault belongs to.
    current: usize,
}

impl Streams {
    /// `page` and those behind it, `most` altogether, that will be wanted too: because
    /// a thread reads one after the other, or because copies were here before. `missed` says
    /// of a page whether one was; nothing if it cannot be fetched with this one, or is not
    /// worth it. Where no stream is, a thread may begin one: `begin` pages then.
    pub(crate) fn worth_fetching(
        &mut self,
        page: PageId,
        begin: u32,
        most: u32,
        missed: impl Fn(PageId) -> Option<bool>,
    ) -> PageRange {
        if most <= 1 {
            return page.into();
        }
        let (stream, way) = self.pages(page, begin);
        let stream = stream.min(most);
        let (mut first, mut last) = (page, page);
        let (mut number, mut ahead) = (1, 1);
        while number < most
            && let Some(next) = way.behind(if way == Direction::Up { last } else { first })
            && let Some(missed) = missed(next)
            && (missed || number < stream)
        {
            ahead += u32::from(number < stream);
            number += 1;
            (first, last) = (first.min(next), last.max(next));
        }
        let pages = PageRange::new(first, number).unwrap_or_else(|| page.into());
        self.fetched(pages, ahead);
        pages
    }

    /// Pages to fetch from `page` on, and which way: twice as many as the last time
    /// if it is where a stream was expected, otherwise `begin`.
    fn pages(&mut self, page: PageId, begin: u32) -> (u32, Direction) {
        let at = u64::from(page.0);
        let way = |stream: &Stream| {
            let first = u64::from(stream.pages.first().0);
            if stream.pages.end() == at {
                Some(Direction::Up)
            } else if first == at + 1 {
                Some(Direction::Down)
            } else {
                None
            }
        };
        let known = self.known.iter().enumerate();
        let mut known = known.filter_map(|(number, stream)| Some((number, (*stream)?)));
        let found = known.find_map(|(number, stream)| Some((number, stream, way(&stream)?)));
        match found {
            Some((number, stream, way)) => {
                self.current = number;
                (stream.ahead.saturating_mul(2), way)
            }
            None => {
                self.current = self.oldest;
                self.oldest = (self.oldest + 1) % STREAMS;
                (begin, Direction::Up)
            }
        }
    }

    /// `pages` were fetched, `ahead` of them because of the stream.
    fn fetched(&mut self, pages: PageRange, ahead: u32) {
        self.known[self.current] = Some(Stream { pages, ahead });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_readers_get_ever_longer_runs_either_way() {
        let mut streams = Streams::default();
        let mut read = |page: &mut u32| {
            let (pages, way) = streams.pages(PageId(*page), 1);
            let first = match way {
                Direction::Up => *page,
                Direction::Down => *page + 1 - pages,
            };
            streams.fetched(PageRange::new(PageId(first), pages).unwrap(), pages);
            *page = match way {
                Direction::Up => first + pages,
                Direction::Down => first - 1,
            };
            pages
        };
        let (mut one, mut other, mut last) = (100, 7000, 500);
        assert_eq!(
            (read(&mut one), read(&mut other), read(&mut last)),
            (1, 1, 1)
        );
        // This one turns out to go down.
        last = 499;
        let runs: Vec<_> = (0..3)
            .map(|_| (read(&mut one), read(&mut other), read(&mut last)))
            .collect();
        assert_eq!(runs, [(2, 2, 2), (4, 4, 4), (8, 8, 8)]);
        assert_eq!(last, 499 - 14);
        assert_eq!(read(&mut 3), 1);
    }
}
