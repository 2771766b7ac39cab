//! What a program would cost on a cluster that is not there: what its threads
//! accessed between synchronisations is replayed through the protocols that real
//! nodes run, over a network that is arithmetic.
//!
//! Faults are not replayed: they are what one protocol with one placement of
//! pages makes of a program's accesses. [`fathomp_access_trace::Accesses`] are the program's own
//! ([decision 0040](../../../docs/decisions/0040-simulate-from-access-sets.md)).
#![forbid(unsafe_code)]

mod costs;
mod desk;
mod extrapolate;
mod false_sharing;
mod homes;
mod least;
mod memory;
mod outcome;
mod setting;
mod world;

pub use costs::{Costs, Prices};
pub use extrapolate::{ExtrapolateError, extrapolate};
pub use false_sharing::{Shared, shared_pages};
pub use homes::Homes;
pub use outcome::{NodeOutcome, Outcome, RegionOutcome};
pub use setting::{Setting, Sharing};
pub use world::{ReplayError, replay};
