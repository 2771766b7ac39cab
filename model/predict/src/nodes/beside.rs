//! What is known beside the recording whose time is wanted.

use crate::prices::{Cluster, Prices, Protocol};
use fathomp_analysis::{Analysis, Region, State};

/// What is known beside the recording on nodes.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// The program's recording with one thread.
    pub alone: &'a Analysis,
    /// Its recordings on other numbers of nodes, which say how cold work is there; if
    /// there are none, the one whose time is wanted does.
    pub others: &'a [&'a Analysis],
    /// Processors that all nodes share; none if each has its own.
    pub processors: Option<u32>,
    /// Where synchronisation is priced.
    pub cluster: &'a Cluster,
    /// Whose prices these are.
    pub protocol: Protocol,
    /// What events cost.
    pub prices: &'a Prices,
}

/// Application time of a region with one thread, if that met it.
pub(super) fn alone_ns(alone: &Analysis, region: &Region) -> Option<f64> {
    let same = alone.regions.iter().find(|one| one.key == region.key)?;
    Some(same.states[State::Compute] as f64)
}
