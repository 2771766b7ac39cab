//! What a program does in MPI.

use super::Place;
use fathomp_types::SiteId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Calls of MPI, of all threads of the processes that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MpiFacts {
    /// Calls that were recorded one by one: those of functions that move data or may wait.
    pub count: u64,
    /// Time in them.
    pub time_ns: u64,
    /// All calls are there; else there were more, since the recorder could not keep up or the
    /// recording was to stay small.
    pub complete: bool,
    /// By place and function, the dearest first.
    pub calls: Vec<MpiCalls>,
}

/// Calls of one function from one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MpiCalls {
    /// "MPI_Allreduce", whatever language calls it.
    pub function: String,
    /// Short name of the place.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Calls.
    pub count: u64,
    /// Time in them.
    pub time_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Bytes that they sent, or had room for where they only receive; of calls of which that is
    /// known.
    pub bytes: u64,
    /// How many these are.
    pub sized: u64,
    /// Calls by the other rank or the root that they named, in `MPI_COMM_WORLD`.
    pub peers: BTreeMap<u32, u64>,
    /// The numbers of the place in the first process.
    #[serde(skip)]
    pub sites: BTreeSet<SiteId>,
}
