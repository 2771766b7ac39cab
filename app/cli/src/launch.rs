//! Starting the user's program, on one node or several.

use crate::args::{Cluster, Faults, Net, ThreadCount};
use fathomp_launch::{OpenMp, Plan};
use fathomp_runtime::Unpacked;
use std::path::Path;

pub(crate) use fathomp_console::launch::{
    Ended, Launch, LaunchError, Printed, Repeatable, Running, Stderr, Stdin, Stdout,
    StopSignalsBlocked, Streams, guard, guard_programs, passed_signals, survive_file_limits,
    told_alone,
};

/// What asks the program for so many threads on each node, and the runtime for the nodes.
pub(crate) fn plan(threads_per_node: Option<ThreadCount>, cluster: Cluster) -> Plan {
    let ThreadCount(threads) = match threads_per_node {
        Some(threads) => threads.times(cluster.nodes.into()),
        None => return cluster_plan(cluster),
    };
    Plan {
        openmp: OpenMp {
            threads: Some(threads),
            ..OpenMp::default()
        },
        ..cluster_plan(cluster)
    }
}

/// What asks the runtime to run the program on several nodes.
pub(crate) fn cluster_plan(cluster: Cluster) -> Plan {
    Plan {
        cluster: (cluster.nodes > 1).then(|| fathomp_launch::Cluster {
            protocol: cluster.dsm,
            diff_memory_mib: cluster.dsm_memory.mib(),
            faults: cluster.fault_detection.map(Faults::of_nodes),
            plain: cluster.dsm_plain,
            network: cluster.net.map(|Net(network)| network),
            ..fathomp_launch::Cluster::of(cluster.nodes)
        }),
        ..Plan::default()
    }
}

/// The edition of the runtime library for so many nodes.
pub(crate) fn library(unpacked: &Unpacked, cluster: Cluster) -> &Path {
    match cluster.nodes {
        1 => &unpacked.library,
        _ => &unpacked.cluster_library,
    }
}
