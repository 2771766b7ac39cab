//! Our model of a program on nodes of one thread each: the published critical
//! path, with what it leaves out.
//!
//! ```text
//! T(p) = sum over phases k of all regions of
//!        ( max over threads i of ( w_ki + c_ki + x_ki ) + barriers B(p) + flushes F(p) + locks )
//! ```
//!
//! A phase is what lies between two barriers of the nodes: threads that are slowest by turns
//! take longer than any of them in all. Where phases were not recorded, a region is one; and
//! where threads wait for flags in between, and it was not recorded when they looked.
//!
//! * w: application time of the region with one thread, divided by p; times the thread's
//!   share in what was recorded with other numbers of nodes (of the time on a processor),
//!   relative to the mean (`balance`); times p over the processors, where these are
//!   fewer. Outside of regions, undivided. The published models have T(1)/p for all of it.
//!   If time is emulated, also what work took longer than that, all together.
//! * c: the published cost of its faults and diffs; of first writes less what work takes longer
//!   after them (`stalls`), and of diffs by their bytes and runs (`diffs`), where the price is
//!   of a known number of them.
//! * x: what fetches wait for others at their homes and on the links, for who has to wake up
//!   there, and for diffs that a home is still writing (`contention`, `left`): they are
//!   simulated, message by message (`queues`).
//!   Without homes, fetches also take longer for each diff of a page beyond the first.
//! * B, F, L: prices of synchronisation among p nodes. Of a barrier, each thread pays its own
//!   way (`meeting`). A lock that all ask for is
//!   handed on from one to the next, who may fetch a page before handing it on; one
//!   that nobody else wants takes a message there and back. Threads that wait for flags,
//!   flushing more often than they lock, come to locks by turns; and the slowest waits for
//!   each of the others while their pipeline fills and empties (`waits`).

mod balance;
mod beside;
mod contention;
mod diffs;
mod fetches;
mod interval;
mod left;
mod locks;
mod looks;
mod meeting;
mod messages;
mod mva;
mod part;
mod predict;
mod queues;
mod regions;
mod serving;
mod stalls;
mod sync;
mod terms;
mod time;
mod tree;
mod waits;

pub use beside::Beside;
pub use interval::{NodesInterval, Precision, interval};
pub use predict::{
    NodesError, NodesPoint, NodesPredicted, NodesProgram, NodesQuestion, SCHEMA, VERSION,
    predict_nodes,
};
pub use regions::{NodesRegion, nodes};
pub use terms::{NoTerm, NodesTerm, NodesTerms, NodesTime};
