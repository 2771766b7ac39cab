//! Runs whose processes somebody else has started, one for each rank: `mpirun` or `srun`.
//!
//! The ranks [meet](meet()) by what has started them, and learn where the first of them listens
//! and the run's key. From then on each is an agent like any other, with a connection to the
//! launcher, which is in the first. Nodes are connected by TCP, as on hosts that were logged in
//! to, or their agents carry what they send over MPI ([`MpiThread`]).

mod channel;
mod frame;
mod meet;
mod mpi_relay;
mod mpi_thread;
mod pmi;
mod rank_info;

pub(crate) use meet::Common;
pub use meet::{First, FoundBy, MeetError, Member, Met, Way, meet};
pub(crate) use mpi_thread::MpiThread;
pub use pmi::{PmiError, end_all};
