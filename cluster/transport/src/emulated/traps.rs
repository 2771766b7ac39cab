//! What the kernel takes to interrupt a program and to let it go on, which emulated time
//! is not to hold: it is charged like all that is done for shared memory.
//!
//! A trap begins and ends in the program, so it cannot be timed. But if a program is
//! let go on without what it trapped for, it traps again, and has got nowhere in
//! between.

/// Traps that are known.
const KNOWN: usize = 15;
/// Every so many traps one is taken twice, beyond the first.
const EVERY: u32 = 16;
/// How much longer than is charged a trap may be taken to take.
pub(super) const MARGIN_NS: u64 = 20_000;

/// What is known of a program's traps.
#[derive(Debug, Default)]
pub(super) struct Traps {
    /// The last ones that were taken twice, in any order, and how many there were.
    took_ns: [u64; KNOWN],
    known: usize,
    /// Traps since one was taken twice.
    since: u32,
    /// The program has been sent back: to that page, at that moment.
    again: Option<(u32, u64)>,
}

/// What comes of a trap, and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trapped {
    Serve(u64),
    /// The program is to trap once more.
    Again(u64),
}

impl Traps {
    /// The program, whose clock shows `now_ns`, has trapped at a page.
    pub(super) fn trapped(&mut self, page: u32, now_ns: u64) -> Trapped {
        match self.again.take() {
            Some((before, at_ns)) if before == page => {
                self.took_ns[self.known % KNOWN] = now_ns.saturating_sub(at_ns);
                self.known += 1;
                return Trapped::Serve(at_ns);
            }
            _ => {}
        }
        let at_ns = now_ns.saturating_sub(self.usual_ns());
        self.since += 1;
        if self.known >= KNOWN && self.since < EVERY {
            return Trapped::Serve(at_ns);
        }
        self.since = 0;
        Trapped::Again(at_ns)
    }

    /// The program goes back at `now_ns` to the page where it trapped.
    pub(super) fn goes_back(&mut self, page: u32, now_ns: u64) {
        self.again = Some((page, now_ns));
    }

    /// What a trap takes here, as a rule.
    fn usual_ns(&self) -> u64 {
        let mut took_ns = self.took_ns;
        let took_ns = &mut took_ns[..self.known.min(KNOWN)];
        took_ns.sort_unstable();
        let median = took_ns.get(took_ns.len() / 2).copied();
        median.unwrap_or(0).min(MARGIN_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trap_takes_is_taken_away() {
        let mut traps = Traps::default();
        let mut now_ns = 1_000_000;
        // 100 of work, a trap of 5, a trap of 7 without work.
        for page in 0..KNOWN as u32 {
            now_ns += 105;
            let Trapped::Again(at_ns) = traps.trapped(page, now_ns) else {
                panic!("is not taken twice");
            };
            traps.goes_back(page, at_ns);
            assert_eq!(traps.trapped(page, at_ns + 7), Trapped::Serve(at_ns));
            now_ns = at_ns;
        }
        for page in 1..EVERY {
            assert_eq!(
                traps.trapped(page, now_ns + 107),
                Trapped::Serve(now_ns + 100)
            );
        }
        assert_eq!(traps.trapped(9, now_ns + 7), Trapped::Again(now_ns));
        // It went elsewhere: what it was sent back for is there now.
        traps.goes_back(9, now_ns);
        assert_eq!(
            traps.trapped(10, now_ns + 107),
            Trapped::Serve(now_ns + 100)
        );
        assert_eq!(traps.known, KNOWN);
    }

    #[test]
    fn no_trap_takes_longer_than_the_margin() {
        let mut traps = Traps::default();
        traps.goes_back(1, 0);
        assert_eq!(traps.trapped(1, 1 << 40), Trapped::Serve(0));
        let Trapped::Again(at_ns) = traps.trapped(2, 1 << 20) else {
            panic!("is not taken twice");
        };
        assert_eq!(at_ns, (1 << 20) - MARGIN_NS);
    }
}
