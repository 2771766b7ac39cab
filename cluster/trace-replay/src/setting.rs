//! The cluster to replay on.

use crate::costs::Costs;
use crate::homes::Homes;
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_transport::Net;

/// Which protocol shares memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The home-based one.
    Home {
        /// Pages stay at their first home and are fetched one by one.
        plain: bool,
    },
    /// The homeless one.
    Homeless {
        /// Pages that one node alone writes are watched like others, and are fetched
        /// one by one.
        plain: bool,
        /// Memory of a node for diffs, in MiB.
        memory_mib: u32,
    },
}

/// A cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Nodes, among which the threads are divided in order.
    pub nodes: u16,
    /// The protocol.
    pub sharing: Sharing,
    /// Where pages are at home at first.
    pub homes: Homes,
    /// What is between the nodes.
    pub net: Net,
    /// What their own work costs.
    pub costs: Costs,
    /// What nodes do not predict.
    pub left_out: PredictorSet,
}
