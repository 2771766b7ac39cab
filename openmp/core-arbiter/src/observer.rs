//! What a program makes of the board when it begins a region.

use crate::board::Board;
use crate::claim::{Activity, Claim};
use crate::cores::Cores;
use crate::policy::{self, PROGRAMS_MAX};
use crate::presence::{Processes, Watch};

/// Looks at the board for the program in one slot.
#[derive(Clone, Debug)]
pub struct Observer {
    slot: usize,
    watches: [Watch; PROGRAMS_MAX],
}

/// A region that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Threads that are asked for, at least 1.
    pub wanted: u32,
    /// How long it takes with so many, nanoseconds; none if that is not known.
    pub expected_ns: Option<u64>,
    /// Now, nanoseconds of the monotonic clock.
    pub now_ns: u64,
}

impl Observer {
    /// For the program in this slot.
    #[must_use]
    pub fn new(slot: usize) -> Self {
        Self {
            slot,
            watches: Default::default(),
        }
    }

    /// The cores that are the program's in the region that begins; none if nobody else is
    /// there, so that all are. `claim` is what it has said last, with what cores bring to
    /// this region.
    pub fn decide(
        &mut self,
        board: &Board<'_>,
        claim: &Claim,
        beginning: &Beginning,
        processes: &mut impl Processes,
    ) -> Option<Cores> {
        let Beginning {
            wanted,
            expected_ns,
            now_ns,
        } = *beginning;
        let mut claims = [Claim::default(); PROGRAMS_MAX];
        let mut crowded = false;
        let seats = board.slots().zip(&mut claims).zip(&mut self.watches);
        for (index, ((slot, seen), watch)) in seats.enumerate() {
            if index == self.slot {
                continue;
            }
            let presence = watch.look(slot.owner(), now_ns, processes);
            if let Some(wish) = policy::wish(presence, slot.claim(), now_ns) {
                *seen = policy::expected(&wish, now_ns, expected_ns);
                crowded = true;
            }
        }
        if !crowded {
            return None;
        }
        let mine = claims.get_mut(self.slot)?;
        *mine = Claim {
            activity: Activity::Region,
            wanted,
            ..*claim
        };
        let shape = board.shape();
        let claims = claims.get(..shape.slots)?;
        let counts = policy::divide(shape.cores, claims);
        Some(policy::choose(
            self.slot,
            shape.slots,
            shape.cores,
            &counts,
            claims,
        ))
    }
}
