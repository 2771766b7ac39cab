//! What a node offers of each page: four bits a page, 16 pages a word. So what is offered of
//! a page is read by one load, and is never a mixture of two offers.
//!
//! Only the pages' own node writes here, one of its threads at a time.

use crate::primitive::{AtomicU64, Ordering};
use fathomp_protocols::{Offer, PageRange};
use fathomp_types::PageId;

const BITS: u32 = 4;
const PAGES: u32 = u64::BITS / BITS;
/// Of each page the lowest bit.
const ONES: u64 = u64::MAX / 0xf;

const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const LENT: u64 = 2;
const RESERVED: u64 = 3;
const UPDATED: u64 = 4;

fn code(offer: Offer) -> u64 {
    match offer {
        Offer::Open => OPEN,
        Offer::Lent => LENT,
        Offer::Reserved | Offer::Twinned => RESERVED,
        Offer::Updated => UPDATED,
        Offer::Closed => CLOSED,
    }
}

/// The offers of a node's pages.
#[derive(Clone, Copy)]
pub(crate) struct Offers<'a>(pub(crate) &'a [AtomicU64]);

impl Offers<'_> {
    pub(crate) fn words(pages: u32) -> usize {
        pages.div_ceil(PAGES) as usize
    }

    /// What is offered of a page. A page that does not exist is closed.
    pub(crate) fn of(self, page: PageId) -> Offer {
        let word = self.0.get((page.0 / PAGES) as usize);
        let word = word.map_or(0, |word| word.load(Ordering::Acquire));
        match word >> (page.0 % PAGES * BITS) & 0xf {
            OPEN => Offer::Open,
            LENT => Offer::Lent,
            RESERVED => Offer::Reserved,
            UPDATED => Offer::Updated,
            _ => Offer::Closed,
        }
    }

    /// Offers pages so. What was written before is seen by those who see the offer.
    pub(crate) fn set(self, pages: PageRange, offer: Offer) {
        let code = code(offer);
        self.change(pages, |_, mask| mask & (ONES * code));
    }

    /// Reserves those of the pages of which others may be bringing diffs, or which they may
    /// be updating, and no longer shall when `offer` is made. True if there are some.
    pub(crate) fn reserve_before(self, pages: PageRange, offer: Offer) -> bool {
        let mut any = false;
        self.change(pages, |old, mask| {
            let ends = match offer.admits_diffs() {
                true => with(old, UPDATED),
                false => !with(old, RESERVED) & !(with(old, UPDATED) & is_updated(offer)),
            } & mask;
            any |= ends != 0;
            (old & mask & !ends) | (ends & (ONES * RESERVED))
        });
        any
    }

    /// Replaces what is said of pages: `new` is asked with a word and the bits of it that
    /// matter, and returns these bits.
    fn change(self, pages: PageRange, mut new: impl FnMut(u64, u64) -> u64) {
        for (place, mask) in places(pages) {
            let Some(word) = self.0.get(place) else {
                return;
            };
            let old = word.load(Ordering::Relaxed);
            let changed = old & !mask | new(old, mask);
            if changed != old {
                word.store(changed, Ordering::Release);
            }
        }
    }
}

fn is_updated(offer: Offer) -> u64 {
    match offer {
        Offer::Updated => u64::MAX,
        _ => 0,
    }
}

/// All bits of those pages of a word that are offered so.
fn with(word: u64, code: u64) -> u64 {
    let differs = word ^ (ONES * code);
    let differs = (differs | differs >> 1 | differs >> 2 | differs >> 3) & ONES;
    (ONES & !differs) * 0xf
}

/// The words that tell of some pages, and which of their bits do.
pub(crate) fn places(pages: PageRange) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (u64::from(pages.first().0), pages.end());
    let width = u64::from(PAGES);
    (start / width..end.div_ceil(width)).map(move |word| {
        let from = start.max(word * width) - word * width;
        let to = end.min((word + 1) * width) - word * width;
        let bits = u64::from(BITS);
        let ones = u64::MAX >> (u64::from(u64::BITS) - (to - from) * bits);
        // As an index it fits: there are fewer words than pages.
        (
            usize::try_from(word).unwrap_or(usize::MAX),
            ones << (from * bits),
        )
    })
}
