//! What a node offers of each page: four bits a page, 16 pages a word. So what is offered of
//! a page is read by one load, and is never a mixture of two offers.
//!
//! Only the pages' own node writes here, one of its threads at a time.

use crate::primitive::{AtomicU64, Ordering};
use fathomp_base::PageId;
use fathomp_dsm::{Offer, PageRange};

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
        _ => CLOSED,
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
        self.change(pages, |_, mask| mask & ONES * code);
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
            (old & mask & !ends) | (ends & ONES * RESERVED)
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
    let differs = word ^ ONES * code;
    let differs = (differs | differs >> 1 | differs >> 2 | differs >> 3) & ONES;
    (ONES & !differs) * 0xf
}

/// The words that tell of some pages, and which of their bits do.
fn places(pages: PageRange) -> impl Iterator<Item = (usize, u64)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_dsm::PageSet;

    fn range(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    #[test]
    fn each_page_has_its_bits() {
        let of = |first, pages| places(range(first, pages)).collect::<Vec<_>>();
        assert_eq!(of(0, 1), [(0, 0xf)]);
        assert_eq!(of(16, 16), [(1, u64::MAX)]);
        assert_eq!(of(14, 20), [(0, 0xff << 56), (1, u64::MAX), (2, 0xff)]);
        assert_eq!(of(u32::MAX, 1), [(u32::MAX as usize / 16, 0xf << 60)]);
    }

    #[test]
    fn the_last_offer_counts() {
        let words: Vec<_> = (0..Offers::words(200)).map(|_| AtomicU64::new(0)).collect();
        let offers = Offers(&words);
        offers.set(range(10, 100), Offer::Open);
        offers.set(range(20, 1), Offer::Closed);
        offers.set(range(30, 70), Offer::Lent);
        offers.set(range(50, 5), Offer::Open);
        offers.set(range(60, 1), Offer::Updated);
        offers.set(range(190, 100), Offer::Lent);
        let of = |what| -> PageSet {
            let pages = (0..2000).map(PageId);
            pages.filter(|page| offers.of(*page) == what).collect()
        };
        let open = [range(10, 10), range(21, 9), range(50, 5), range(100, 10)];
        assert_eq!(of(Offer::Open).ranges(), open);
        let lent = [range(30, 20), range(55, 5), range(61, 39), range(190, 18)];
        assert_eq!(of(Offer::Lent).ranges(), lent);
        assert_eq!(of(Offer::Updated).ranges(), [range(60, 1)]);
    }

    #[test]
    fn what_ends_is_reserved_first() {
        let all = [
            Offer::Closed,
            Offer::Open,
            Offer::Lent,
            Offer::Reserved,
            Offer::Updated,
        ];
        for (old, new) in all.into_iter().flat_map(|old| all.map(|new| (old, new))) {
            let word = [AtomicU64::new(0)];
            let offers = Offers(&word);
            offers.set(range(3, 1), old);
            offers.set(range(4, 1), Offer::Updated);
            let ends = match (old, new) {
                (Offer::Updated, new) => new != Offer::Updated,
                (Offer::Reserved, _) => false,
                (_, new) => !new.admits_diffs(),
            };
            assert_eq!(
                offers.reserve_before(range(3, 1), new),
                ends,
                "{old:?} {new:?}"
            );
            let between = if ends { Offer::Reserved } else { old };
            assert_eq!(offers.of(PageId(3)), between, "{old:?} {new:?}");
            assert_eq!(offers.of(PageId(4)), Offer::Updated);
        }
    }
}
