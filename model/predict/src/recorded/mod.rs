//! What recordings with some numbers of threads say: runs, regions, and what is odd about them.

mod error;
mod granules;
mod leaning;
mod observed;
mod runs;

pub use error::{MOST_THREADS, PredictError};
pub(crate) use granules::Granules;
pub use leaning::Leaning;
pub(crate) use observed::Observed;
pub(crate) use runs::{Group, Runs, threads_of};
