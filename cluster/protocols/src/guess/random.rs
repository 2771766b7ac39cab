//! Answers drawn at random, to show that no answer makes results wrong.

use super::{Access, Afterwards, Arrival, Event, Guess, Plan, Release, Settled, View};
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
    borrows: Odds,
    expects: Odds,
    leases: Odds,
    takes_back: Odds,
    watches: Odds,
    lends: Odds,
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
            borrows: Odds(0),
            expects: Odds(0),
            leases: Odds(0),
            takes_back: Odds(0),
            watches: Odds(0),
            lends: Odds(0),
            fetches: Odds(0),
        };
        for at in 0..7 {
            let odds = Odds(this.below(9));
            match at {
                0 => this.borrows = odds,
                1 => this.expects = odds,
                2 => this.leases = odds,
                3 => this.takes_back = odds,
                4 => this.watches = odds,
                5 => this.lends = odds,
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

impl Guess for Random {
    fn on_fault(&mut self, page: PageId, _: Access, _: &dyn View) -> Plan {
        let before = self.below(AROUND_MAX + 1);
        let first = PageId(page.0.saturating_sub(before));
        let pages = page.0 - first.0 + 1 + self.below(AROUND_MAX + 1);
        Plan {
            pages: PageRange::new(first, pages).unwrap_or(page.into()),
            borrow: self.draws(self.borrows),
        }
    }

    fn on_arrival(&mut self, _: &Arrival, _: &dyn View) -> bool {
        self.draws(self.expects)
    }

    fn on_release(&mut self, release: &Release, _: &dyn View) -> Vec<PageId> {
        self.some_of(release.pages.iter().copied(), self.leases)
    }

    fn before_barrier(&mut self, _: &dyn View) -> Vec<PageId> {
        self.some_of((0..self.pages).map(PageId), self.takes_back)
    }

    fn after_barrier(&mut self, barrier: &Settled, _: &dyn View) -> Afterwards {
        let settled = barrier.pages.iter().map(|(page, _)| *page);
        let updated = barrier.updated.iter().map(|(page, _)| *page);
        let pages: Vec<_> = settled.chain(updated).collect();
        Afterwards {
            watch: self.some_of(pages.iter().copied(), self.watches),
            lend: self.some_of(pages.iter().copied(), self.lends),
            prepare: self.others(),
            fetch: self.some_of((0..self.pages).map(PageId), self.fetches),
        }
    }

    fn keeps_lock(&mut self, _: LockId) -> bool {
        self.below(4) > 0
    }

    fn note(&mut self, _: Event, _: &dyn View) {}

    fn boxed(&self) -> Box<dyn Guess> {
        Box::new(self.clone())
    }
}
