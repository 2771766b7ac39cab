//! Which whole pages to fetch with the one that is missing. This is a guess: the protocol is
//! right whatever it says.

use crate::PageRange;
use crate::prefetch::Streams;
use fathomp_base::PageId;
use std::collections::BTreeMap;

/// What has become of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Past {
    /// A copy was here and another node has become the page's only one: it is likely to be
    /// read again.
    Dropped,
    /// It was fetched in advance in this epoch.
    Ahead(u32),
    /// The same happened to a copy that was fetched in advance: it was of no use.
    Unwanted,
}

/// What a node knows of the pages that its threads will want.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Advance {
    /// Most pages to fetch at once.
    most: u32,
    streams: Streams,
    past: BTreeMap<PageId, Past>,
}

impl Advance {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most,
            streams: Streams::default(),
            past: BTreeMap::new(),
        }
    }

    /// A thread waits for `page`: it and those beside it that are to be fetched with it in this
    /// epoch. All `fit` the first one.
    pub(super) fn fetch(
        &mut self,
        page: PageId,
        epoch: u32,
        fit: impl Fn(PageId) -> bool,
    ) -> PageRange {
        if self.most <= 1 {
            return page.into();
        }
        let past = &self.past;
        let was_dropped = |next: PageId| match past.get(&next) {
            Some(Past::Unwanted) => None,
            what => fit(next).then_some(what == Some(&Past::Dropped)),
        };
        let pages = self.streams.worth_fetching(page, self.most, was_dropped);
        let ahead = pages.iter().map(|each| (each, Past::Ahead(epoch)));
        self.past.extend(ahead);
        self.past.remove(&page);
        pages
    }

    /// At the end of an epoch a copy is dropped because another node has written the page in
    /// it. Nobody without a data race reads that before: if the copy was fetched in advance
    /// meanwhile, it was of no use.
    pub(super) fn dropped(&mut self, page: PageId, epoch: u32) {
        if self.most > 1 {
            let was_ahead = self.past.get(&page) == Some(&Past::Ahead(epoch));
            let what = if was_ahead {
                Past::Unwanted
            } else {
                Past::Dropped
            };
            self.past.insert(page, what);
        }
    }
}
