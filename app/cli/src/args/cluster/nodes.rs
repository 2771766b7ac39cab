//! On how many nodes of this machine a program runs, and how they share memory.

use super::net::Net;
use clap::Args;
use fathomp_console::args::{diff_memory, protocols};
use fathomp_launch::{DIFF_MEMORY_MIB, NODES_MAX, Protocol};
use fathomp_types::size::Size;

/// On how many processes, and how they share memory.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Cluster {
    /// Processes without common memory; what the program writes and reads goes from one
    /// to another.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(NODES_MAX)))]
    pub(crate) nodes: u16,
    /// Protocol by which pages get from one process to another.
    #[arg(long, value_parser = protocols(), default_value = Protocol::Home.name(), value_name = "PROTOCOL")]
    pub(crate) dsm: Protocol,
    /// With --dsm homeless: memory of each process for its changes that others may
    /// still ask for; when it is full, all processes drop old changes at the next
    /// barrier.
    #[arg(long, value_name = "SIZE", default_value_t = Size(u64::from(DIFF_MEMORY_MIB) << 20), value_parser = diff_memory)]
    pub(crate) dsm_memory: Size,
    /// How nodes notice accesses to pages that are not there [default: userfault,
    /// where the kernel has it].
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) fault_detection: Option<Faults>,
    /// Leave pages at their first home and fetch them one by one, so that
    /// faults are counted as the SDP models of such systems count them.
    #[arg(long)]
    pub(crate) dsm_plain: bool,
    /// Emulate a network between the processes: its latency in us and bandwidth
    /// in MB/s, such as 62.5,103.4; or a cluster: gige_amd, gige_amd_mcbench,
    /// infiniband_ddr4x, or a JSON file.
    #[arg(long, value_name = "LAT_US,MBPS|NAME")]
    pub(crate) net: Option<Net>,
}

impl Cluster {
    /// No cluster.
    pub(crate) const ONE: Self = Self {
        nodes: 1,
        dsm: Protocol::Home,
        dsm_memory: Size((DIFF_MEMORY_MIB as u64) << 20),
        fault_detection: None,
        dsm_plain: false,
        net: None,
    };

    /// What the launcher has to arrange, if there are several nodes.
    pub(crate) fn asked(&self) -> Option<fathomp_launch::Cluster> {
        (self.nodes > 1).then(|| fathomp_launch::Cluster {
            protocol: self.dsm,
            diff_memory_mib: self.dsm_memory.mib(),
            faults: self.fault_detection.map(Faults::of_nodes),
            plain: self.dsm_plain,
            network: self.net.map(|Net(network)| network),
            ..fathomp_launch::Cluster::of(self.nodes)
        })
    }

    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        (self.nodes == 1 && self.net.is_some()).then_some(
            "--net emulates a network between nodes, and there is one node: give --nodes 2 or more, or leave --net out",
        )
    }
}

/// How accesses to pages that are not there are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Faults {
    /// By userfaultfd (Linux 6.4 or later).
    Userfault,
    /// By protections of the program's mappings.
    Mprotect,
}

impl Faults {
    /// As nodes are told.
    fn of_nodes(self) -> fathomp_launch::Faults {
        match self {
            Self::Userfault => fathomp_launch::Faults::Userfault,
            Self::Mprotect => fathomp_launch::Faults::Mprotect,
        }
    }
}
