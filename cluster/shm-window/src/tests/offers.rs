//! Offers of pages.

use crate::offers::{Offers, places};
use fathomp_protocols::{Offer, PageRange, PageSet};
use fathomp_types::PageId;
use std::sync::atomic::AtomicU64;

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
