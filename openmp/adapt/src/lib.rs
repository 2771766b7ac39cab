//! How many threads a region deserves: as advice says, and found out while the program runs.
//!
//! Pure: the runtime asks here when it forms a team, and hands in what it knows. The
//! launcher hands the runtime a [`Table`] of advice, and reads what was chosen as
//! [`Choices`].
//!
//! Finding out: time comes in as numbers (any unit, the same everywhere), numbers of
//! threads go out. A [`Region`] begins with the whole team. Now and then it holds a trial:
//! blocks of executions with the team that is best so far and with another one, in random
//! order. The other team is taken if it is faster beyond doubt and the program as a whole,
//! from one execution of the region to the next, is not slower. What trials may cost is
//! bounded by an [`Account`] over all regions of a thread.
//!
//! Why random: programs call the same region in turn with data of different size, and an
//! order with a period would try one team with the large and the other with the small.
//! Why blocks, of which the first execution does not count: it finds the data in the caches
//! of the team before.
#![forbid(unsafe_code)]

mod account;
mod choices;
mod region;
mod sample;
#[cfg(test)]
mod simulate;
mod table;
mod trial;

pub use account::Account;
pub use choices::{Choice, Choices, ChoicesError, Why};
pub use region::Region;
pub use table::{Advised, Table, TableError, TableModule};

/// How much faster a smaller team must be to be taken, as a fraction of the time. Less is
/// not worth the risk that it is chance.
const MARGIN: f64 = 0.03;

/// The next number of a generator that need not be good (Marsaglia's xorshift).
fn random(state: &mut u32) -> u32 {
    let mut x = (*state).max(1);
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    x
}
