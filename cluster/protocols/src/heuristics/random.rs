//! Answers drawn at random, to show that no answer makes results wrong.

use super::{Access, Arrival, Event, Heuristic, Release, View};
use crate::{LockId, PageRange};
use fathomp_types::{NodeId, PageId};

/// Most pages before the one that faults, and behind it, in a plan.
const AROUND_MAX: u32 = 5;
/// Most pages in an answer that were not asked about.
const OTHERS_MAX: u32 = 3;

/// Random answers. Each kind of yes has odds of its own, which the seed decides.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
    pages: u32,
    expects: Odds,
    leases: Odds,
    recalls: Odds,
    fetches: Odds,
}

/// How many times of 8.
#[derive(Clone, Copy, Debug)]
struct Odds(u32);

impl Random {
    pub(super) fn new(seed: u64, me: NodeId, pages: u32) -> Self {
        let mut this = Self {
            state: seed ^ u64::from(me.0) << 48,
            pages,
            expects: Odds(0),
            leases: Odds(0),
            recalls: Odds(0),
            fetches: Odds(0),
        };
        for at in 0..4 {
            let odds = Odds(this.below(9));
            match at {
                0 => this.expects = odds,
                1 => this.leases = odds,
                2 => this.recalls = odds,
                _ => this.fetches = odds,
            }
        }
        this
    }

    /// A number below `end`, at least 1 (Steele, Lea, Flood: "Fast Splittable Pseudorandom
    /// Number Generators", OOPSLA 2014).
    fn below(&mut self, end: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 32) as u32 % end
    }

    fn draws(&mut self, odds: Odds) -> bool {
        self.below(8) < odds.0
    }

    /// Pages that may have nothing to do with the question, some of which may not exist.
    fn others(&mut self) -> Vec<PageId> {
        let number = self.below(OTHERS_MAX + 1);
        (0..number)
            .map(|_| PageId(self.below(self.pages.max(1) + 1)))
            .collect()
    }

    fn some_of(&mut self, pages: impl Iterator<Item = PageId>, odds: Odds) -> Vec<PageId> {
        let mut some: Vec<_> = pages.filter(|_| self.draws(odds)).collect();
        some.extend(self.others());
        some
    }
}

impl Heuristic for Random {
    fn on_fault(&mut self, page: PageId, _: Access, _: &dyn View) -> PageRange {
        let before = self.below(AROUND_MAX + 1);
        let first = PageId(page.0.saturating_sub(before));
        let pages = page.0 - first.0 + 1 + self.below(AROUND_MAX + 1);
        PageRange::new(first, pages).unwrap_or(page.into())
    }

    fn on_arrival(&mut self, _: &Arrival, _: &dyn View) -> bool {
        self.draws(self.expects)
    }

    fn on_release(&mut self, release: &Release, _: &dyn View) -> Vec<PageId> {
        self.some_of(release.pages.iter().copied(), self.leases)
    }

    fn before_barrier(&mut self, _: &dyn View) -> Vec<PageId> {
        self.some_of((0..self.pages).map(PageId), self.recalls)
    }

    fn after_barrier(&mut self, _: &[PageId], _: &dyn View) -> Vec<PageId> {
        self.some_of((0..self.pages).map(PageId), self.fetches)
    }

    fn keeps_lock(&mut self, _: LockId) -> bool {
        self.below(4) > 0
    }

    fn note(&mut self, _: Event, _: &dyn View) {}

    fn boxed(&self) -> Box<dyn Heuristic> {
        Box::new(self.clone())
    }
}
