//! What `fathomp bench` measures of nodes.

use super::OnHosts;
use super::net::Net;
use clap::{ArgGroup, Args};
use fathomp_cluster_commands::args::HomesName;
use fathomp_console::args::{ThreadList, protocols};
use fathomp_launch::Protocol;

/// Of `fathomp bench`.
#[derive(Args, Debug)]
// Hosts and numbers of nodes exclude each other elsewhere; here the numbers are how many nodes
// of the hosts to use.
#[command(group = ArgGroup::new("nodes"))]
pub(crate) struct BenchOnNodes {
    /// Numbers of nodes with a thread each, instead of numbers of threads; the runtime is
    /// then home, if no other is named.
    #[arg(
        id = "node_list",
        long = "nodes",
        value_name = "LIST",
        conflicts_with = "threads"
    )]
    pub(crate) nodes: Option<ThreadList>,
    #[command(flatten)]
    pub(crate) on: OnHosts,
    /// With nodes: emulate a network between them, by its latency in us and bandwidth in
    /// MB/s, such as 62.5,103.4; or a cluster: gige_amd, gige_amd_mcbench,
    /// infiniband_ddr4x, or a JSON file.
    #[arg(long, value_name = "LAT_US,MBPS|NAME", conflicts_with_all = ["hosts", "hostfile"])]
    pub(crate) net: Option<Net>,
    /// With nodes: leave pages at their first home and fetch them one by one.
    #[arg(long)]
    pub(crate) dsm_plain: bool,
    /// With mcbench: run nothing, but calculate what it takes on nodes of these clusters:
    /// gige_amd, gige_amd_mcbench, infiniband_ddr4x, or JSON files. What the program accesses is
    /// replayed through the protocols, as `fathomp simulate` does [default of --runtime: home and
    /// homeless, of --nodes: powers of two up to all nodes of the cluster].
    #[arg(
        long,
        value_name = "CLUSTERS",
        value_delimiter = ',',
        conflicts_with_all = ["threads", "hosts", "hostfile", "net", "affinity", "wait_policy", "runs", "samples", "target_us"]
    )]
    pub(crate) simulated: Vec<String>,
    /// With --simulated: where pages are at home at first: where they are touched first
    /// (first-touch), which is a block for each node; at node 0 (first), as real nodes with
    /// --dsm-plain have them; or dealt one by one or by so many (cyclic, cyclic:8).
    #[arg(
        long,
        value_name = "HOMES",
        default_value = "first-touch",
        requires = "simulated"
    )]
    pub(crate) homes: HomesName,
    /// With dsm: protocol by which pages get from one process to another.
    #[arg(long, value_parser = protocols(), default_value = Protocol::Home.name(), value_name = "PROTOCOL")]
    pub(crate) dsm: Protocol,
}

impl BenchOnNodes {
    /// Whether anything is said that only nodes know.
    pub(crate) fn speaks_of_nodes(&self) -> bool {
        self.nodes.is_some() || self.net.is_some() || self.dsm_plain || self.on.are_asked_for()
    }

    /// What does not go together.
    pub(in crate::args) fn contradiction(&self) -> Option<&'static str> {
        let refused = self.on.contradiction();
        refused.or_else(|| super::net_on_hosts(&self.on, self.net))
    }
}
