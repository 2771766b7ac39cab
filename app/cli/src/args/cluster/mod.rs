//! What users type about clusters: the commands of that wing, and the options that it adds to
//! other commands.
//!
//! A program without the feature `cluster` has `args/no_cluster.rs` in the place of this module:
//! the same names, and no option.

mod bench;
mod hosts;
mod net;
mod nodes;
mod uses;

use super::rules::Rare;
use clap::{ArgGroup, Args, Subcommand};
use fathomp_cluster_commands::args::{NotOnHosts, Sharing, Simulate};
use fathomp_console::args::{ThreadCount, protocols};
use fathomp_launch::Protocol;

pub(crate) use bench::BenchOnNodes;
pub(crate) use hosts::{HostAgent, OnHosts, Transport, WireFloor};
pub(crate) use net::Net;
pub(crate) use nodes::Cluster;
pub(super) use uses::OPTIONS;

/// Examples of the wing's commands.
pub(super) const EXAMPLES: &str = include_str!("examples.txt");

/// Options that only the long form of help has.
pub(super) const RARE: Rare = &[
    (
        "",
        &[
            "hostfile",
            "transport",
            "mpicc",
            "ssh",
            "ports",
            "secure",
            "start_timeout",
            "dsm_memory",
            "fault_detection",
            "dsm_plain",
        ],
    ),
    ("run", &["check_races"]),
    ("record", &["lines"]),
    ("bench", &["simulated", "homes"]),
];

/// What else the user could type, where `mpirun` has started a program several times, each by
/// itself.
pub(crate) const TOGETHER: &str =
    ": to have them run it together, give --transport tcp or --transport mpi";

/// The commands of this wing.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say which variables and cache lines threads share, without hardware counters.
    Sharing(Sharing),
    /// Replay what a program accessed on clusters that are not there: more nodes,
    /// the other protocol, other homes, another network.
    Simulate(Simulate),
    /// Serve `fathomp run --hosts` on this host.
    #[command(hide = true)]
    HostAgent(HostAgent),
    /// Measure the network between hosts for `fathomp bench dsm` and `fathomp calibrate`.
    #[command(hide = true)]
    WireFloor(WireFloor),
}

impl Command {
    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self {
            Self::Sharing(sharing) => sharing.not_on.contradiction(),
            Self::Simulate(simulate) => simulate.contradiction(),
            Self::HostAgent(_) | Self::WireFloor(_) => None,
        }
    }
}

/// Options that have a program run on several nodes, of this machine or of hosts.
#[derive(Args, Debug)]
pub(crate) struct OnNodes {
    #[command(flatten)]
    pub(crate) on: OnHosts,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

impl OnNodes {
    fn contradiction(&self) -> Option<&'static str> {
        let between = || net_on_hosts(&self.on, self.cluster.net);
        self.on
            .contradiction()
            .or_else(between)
            .or_else(|| self.cluster.contradiction())
    }
}

/// An emulated network goes with nodes of one machine.
fn net_on_hosts(on: &OnHosts, net: Option<Net>) -> Option<&'static str> {
    (on.are_asked_for() && net.is_some()).then_some(
        "--net emulates a network between nodes of one machine: leave it out with --hosts and --transport",
    )
}

/// Of `fathomp run`.
#[derive(Args, Debug)]
pub(crate) struct RunOnNodes {
    #[command(flatten)]
    pub(crate) nodes: OnNodes,
    /// Name at the end, on standard error, variables of which two nodes changed the
    /// same bytes without synchronisation in between.
    #[arg(long)]
    pub(crate) check_races: bool,
}

impl RunOnNodes {
    /// The nodes of this machine that are asked for, if they are several.
    pub(crate) fn cluster(&self) -> Option<fathomp_launch::Cluster> {
        let cluster = self.nodes.cluster.asked()?;
        Some(fathomp_launch::Cluster {
            races: self.check_races,
            ..cluster
        })
    }

    /// Whether the program is to run on hosts.
    pub(super) fn are_on_hosts(&self) -> bool {
        self.nodes.on.are_asked_for()
    }

    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let several = self.cluster().is_some() || self.are_on_hosts();
        let home = several && self.nodes.cluster.dsm == Protocol::Home;
        self.nodes.contradiction().or((self.check_races && !home).then_some(
            "--check-races compares what nodes of the home-based protocol change: give --nodes 2 or more, --hosts or --transport, and --dsm home, or leave it out",
        ))
    }
}

/// Of `fathomp record`.
#[derive(Args, Debug)]
pub(crate) struct RecordOnNodes {
    /// With --nodes or --hosts: also record which pages each thread accesses between
    /// synchronisations, for `fathomp simulate`. One thread on each node; every
    /// first access traps, so that times mean little.
    #[arg(long)]
    pub(crate) accesses: bool,
    /// With --accesses: record lines of 64 bytes in place of pages, so that `fathomp simulate
    /// --granularity` can say what smaller pages would do. Nearly every access traps: the
    /// program takes hundreds of times as long, so give it a small input.
    #[arg(long, requires = "accesses")]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) nodes: OnNodes,
}

impl RecordOnNodes {
    /// The nodes of this machine that are asked for, if they are several.
    pub(crate) fn cluster(&self) -> Option<fathomp_launch::Cluster> {
        self.nodes.cluster.asked()
    }

    /// Whether the program is to run on hosts.
    pub(super) fn are_on_hosts(&self) -> bool {
        self.nodes.on.are_asked_for()
    }

    /// Threads of each node, where so many are asked for: one where accesses are recorded.
    pub(crate) fn threads(&self, asked: Option<ThreadCount>) -> Option<ThreadCount> {
        match self.accesses {
            true => Some(ThreadCount(1)),
            false => asked,
        }
    }

    /// What does not go together.
    pub(super) fn contradiction(&self, threads: Option<ThreadCount>) -> Option<&'static str> {
        if let Some(sentence) = self.nodes.contradiction() {
            return Some(sentence);
        }
        if self.accesses && threads.is_some_and(|ThreadCount(threads)| threads != 1) {
            return Some(
                "accesses are recorded of one thread on each node: give as many nodes as threads and leave --threads out",
            );
        }
        let alone = self.cluster().is_none() && !self.are_on_hosts();
        (self.accesses && alone).then_some(TOO_FEW_NODES)
    }
}

/// Why accesses are not recorded on a single node.
pub(crate) const TOO_FEW_NODES: &str = "accesses are recorded on nodes: give --nodes with as many as threads, or hosts with several nodes";

/// Of `fathomp study`.
#[derive(Args, Debug)]
// Named as what --hosts cannot be given with, of which there is none here.
#[command(group = ArgGroup::new("nodes"))]
pub(crate) struct StudyOnHosts {
    /// Also run it on as many nodes as the largest number of threads, at least 2, and
    /// report which cache lines threads share, as `fathomp sharing` does. Without this,
    /// that is done for some seconds where nothing else tells why computing takes longer
    /// with more threads.
    #[arg(long, conflicts_with = "no_sharing")]
    pub(crate) sharing: bool,
    /// With --hosts: the protocol by which pages get from one node to another.
    #[arg(long, value_parser = protocols(), default_value = Protocol::Home.name(), value_name = "PROTOCOL")]
    pub(crate) dsm: Protocol,
    #[command(flatten)]
    pub(crate) on: OnHosts,
}

impl StudyOnHosts {
    /// Whether the program is to run on hosts.
    pub(super) fn are_on_hosts(&self) -> bool {
        self.on.are_asked_for()
    }

    /// Whether more is asked for than times.
    pub(super) fn asks_for_sharing(&self) -> bool {
        self.sharing
    }

    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if let Some(sentence) = self.on.contradiction() {
            return Some(sentence);
        }
        match self.on.are_asked_for() {
            true if self.sharing => {
                Some("--sharing and --cores are about one machine: leave them or --hosts out")
            }
            false if self.dsm != Protocol::Home => Some(
                "--dsm says how nodes on hosts share memory: name the hosts by --hosts, or leave it out",
            ),
            _ => None,
        }
    }
}

/// Of `fathomp predict`.
#[derive(Args, Debug)]
// Named as what --hosts cannot be given with, of which there is none here.
#[command(group = ArgGroup::new("nodes"))]
pub(crate) struct PredictOnHosts {
    #[command(flatten)]
    pub(crate) on: OnHosts,
}

impl PredictOnHosts {
    /// Whether programs are to run on hosts.
    pub(super) fn are_on_hosts(&self) -> bool {
        self.on.are_asked_for()
    }

    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        self.on.contradiction()
    }
}

/// Of `fathomp calibrate`.
#[derive(Args, Debug)]
pub(crate) struct CalibrateOnNodes {
    /// With --nodes or --hosts: compiler of the program that measures nodes.
    #[arg(long, value_name = "CC", default_value = "gcc")]
    pub(crate) cc: String,
    #[command(flatten)]
    pub(crate) nodes: OnNodes,
}

impl CalibrateOnNodes {
    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let OnNodes { on, cluster } = &self.nodes;
        if cluster.fault_detection.is_some() && on.are_asked_for() {
            return Some(
                "how hosts notice accesses is theirs to choose: leave --fault-detection or --hosts out",
            );
        }
        self.nodes.contradiction()
    }
}

/// Of `fathomp workload run` and `verify`.
#[derive(Args, Debug)]
pub(crate) struct WorkloadOnNodes {
    #[command(flatten)]
    not_on: NotOnHosts,
    #[command(flatten)]
    cluster: Cluster,
}

impl WorkloadOnNodes {
    /// The nodes that are asked for, if they are several.
    pub(crate) fn cluster(&self) -> Option<fathomp_launch::Cluster> {
        self.cluster.asked()
    }

    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let refused = self.not_on.contradiction();
        refused.or_else(|| self.cluster.contradiction())
    }
}
