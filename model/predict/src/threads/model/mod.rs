//! The scaling model.
//!
//! The time of a region with a team of `k` threads is a sum of terms, each
//! the mean over the team's threads, so that the measured terms add up to the
//! measured time exactly:
//!
//! | Term | Shape in `k` | From |
//! |---|---|---|
//! | work | `U(1) / k` | application time |
//! | saturation | `(U(k) - U(1)) / k`, `U` growing with the machine's bandwidth curve or linearly | growth of application time |
//! | serial in region | `1 - 1/k` | waits at barriers and for tasks |
//! | imbalance | `(1 - 1/k) / k` | the same waits |
//! | mutex, ordered | closed queues ([`queue`]) and `k - 1` (handing on takes longer) | waits for critical sections and locks; for one's turn |
//! | overhead | prices of the machine x executions; without a machine constant, `1/k` and `log k` | the runtime's own time, barrier prices |
//! | pieces | `W/k (ceil(n/k) k/n - 1)` for `n` pieces ([pieces](recorded::ChunkGranularity)) | waits at barriers |
//! | I/O, communication, blocked | constant and `1/k` | time in these states |
//! | oversubscription | see [`RegionModel::terms`] | processors |
//!
//! Several shapes often explain the same measurements. Then all of them are
//! kept, weighed by how well they fit ([`numeric::explain`]): the prediction
//! is their mean, and the interval draws one at a time, so it widens where
//! they part company. What no mixture of shapes explains stays as a factor, by which
//! the model meets what was measured ([`RegionModel::fit`]). What the threads of a region show about each other
//! ([evidence](recorded::ImbalanceEvidence)) weighs serial code inside it against imbalance.

mod queue;
mod region;
mod setting;

pub(crate) use region::RegionModel;
pub(crate) use setting::{Choice, Setting};

#[cfg(doc)]
use crate::{numeric, recorded};
