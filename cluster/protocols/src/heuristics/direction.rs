//! The way in which a thread goes through memory.

use crate::PageRange;
use fathomp_types::PageId;

/// Which way a thread goes through memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    #[default]
    Up,
    Down,
}

impl Direction {
    /// The page behind one, as the thread goes.
    fn behind(self, page: PageId) -> Option<PageId> {
        let next = match self {
            Self::Up => page.0.checked_add(1),
            Self::Down => page.0.checked_sub(1),
        };
        next.map(PageId)
    }

    /// The page before one.
    pub(crate) fn before(self, page: PageId) -> Option<PageId> {
        match self {
            Self::Up => Self::Down.behind(page),
            Self::Down => Self::Up.behind(page),
        }
    }

    /// The way on which more has been done before a page, and how much.
    pub(crate) fn of(done: impl Fn(Self) -> u8) -> (Self, u8) {
        let (up, down) = (done(Self::Up), done(Self::Down));
        if down > up {
            (Self::Down, down)
        } else {
            (Self::Up, up)
        }
    }

    /// A page and those behind it, such a `number` altogether, as far as they are alike.
    pub(crate) fn run(
        self,
        page: PageId,
        number: u32,
        alike: impl Fn(PageId) -> bool,
    ) -> PageRange {
        let (mut first, mut last) = (page, page);
        let mut next = page;
        for _ in 1..number {
            match self.behind(next).filter(|next| alike(*next)) {
                Some(behind) => next = behind,
                None => break,
            }
            (first, last) = (first.min(next), last.max(next));
        }
        PageRange::new(first, last.0 - first.0 + 1).unwrap_or_else(|| page.into())
    }
}
