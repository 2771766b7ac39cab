//! What recordings with some numbers of threads say: runs, regions, and what is odd about them.

mod chunk_granularity;
mod error;
mod imbalance_evidence;
mod observed;
mod runs;

pub(crate) use chunk_granularity::ChunkGranularity;
pub use error::{MOST_THREADS, PredictError};
pub use imbalance_evidence::{ImbalanceEvidence, for_single};
pub(crate) use observed::Observed;
pub(crate) use runs::{Group, Runs, threads_of};
