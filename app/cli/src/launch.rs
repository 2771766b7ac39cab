//! Starting the user's program, on one node or several.

use crate::args::ThreadCount;
use fathomp_launch::{Cluster, OpenMp, Plan};
use fathomp_runtime::Unpacked;
use std::path::Path;

pub(crate) use fathomp_console::launch::{
    Ended, Launch, LaunchError, Printed, Repeatable, Running, Stderr, Stdin, Stdout,
    StopSignalsBlocked, guard, guard_programs, survive_file_limits, told_alone,
};

/// What asks the program for so many threads on each node, and the runtime for the nodes, if they
/// are several.
pub(crate) fn plan(threads_per_node: Option<ThreadCount>, cluster: Option<Cluster>) -> Plan {
    let nodes = cluster.map_or(1, |cluster| cluster.nodes);
    let threads = threads_per_node.map(|threads| threads.times(nodes.into()).0);
    Plan {
        openmp: OpenMp {
            threads,
            ..OpenMp::default()
        },
        cluster,
        ..Plan::default()
    }
}

/// The edition of the runtime library for such nodes.
pub(crate) fn library(unpacked: &Unpacked, cluster: Option<Cluster>) -> &Path {
    unpacked.edition(cluster.map_or(1, |cluster| cluster.nodes))
}

/// What came of a program that ran on hosts.
pub(crate) struct RanElsewhere {
    pub(crate) exit_code: u8,
    /// How long it took, where this process has led it.
    pub(crate) wall_ns: Option<u64>,
}
