//! The cluster that is asked for, and what it costs.

use crate::args::{FaultPrice, Simulate};
use fathomp_access_trace::Accesses;
use fathomp_console::failure::{Failure, exit};
use fathomp_predict::prices::{self, Cluster, Network, PricesOf, Protocol};
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_trace_replay::{Costs, Homes, Outcome, Setting, Sharing, replay};
use fathomp_transport::Net;
use std::path::Path;

/// What the cluster asked for is, and costs.
pub struct Priced {
    /// How nodes share memory.
    pub sharing: Sharing,
    /// The network between them.
    pub net: Net,
    /// What the protocol's events cost, and how that is known.
    pub prices: PricesOf,
    /// The same as a replay takes it.
    pub costs: Costs,
}

impl Priced {
    /// As asked for, with that protocol.
    pub(super) fn new(plan: &Simulate, protocol: Protocol) -> Result<Self, Failure> {
        let cluster = if plan.net.contains(',') {
            let net: fathomp_launch::Network = plan.net.parse().map_err(|error| usage(&error))?;
            unknown_cluster(&net, plan.fault_us.unwrap_or_default())
        } else {
            Cluster::find(Path::new(&plan.net)).map_err(|error| usage(&error))?
        };
        Self::on(&cluster, protocol, plan.dsm_plain, plan.dsm_memory.mib())
    }

    /// On a cluster; nodes of the homeless protocol have so much memory for diffs.
    ///
    /// # Errors
    ///
    /// Fails if the cluster has no prices of that protocol, or no such network.
    pub fn on(
        cluster: &Cluster,
        protocol: Protocol,
        plain: bool,
        memory_mib: u32,
    ) -> Result<Self, Failure> {
        let sharing = match protocol {
            Protocol::Home => Sharing::Home { plain },
            Protocol::Homeless => Sharing::Homeless { plain, memory_mib },
        };
        let Network {
            latency_us,
            bandwidth_mb_per_s,
        } = cluster.network;
        let net = Net::new(latency_us, bandwidth_mb_per_s).map_err(|error| usage(&error))?;
        let prices = cluster.prices(protocol, None);
        let prices = prices?;
        let prices::Prices {
            local_write_us,
            remote_write_us,
            fetch_us,
            diff_to_home_us,
        } = prices.prices;
        let parts = fathomp_trace_replay::Prices {
            local_write_us,
            remote_write_us,
            fetch_us,
            diff_to_home_us: match diff_to_home_us > 0.0 {
                // Messages are under way together in a replay too.
                true => measured(cluster, |row| row.crowd?.half_diff_us)
                    .unwrap_or(diff_to_home_us)
                    .max(diff_to_home_us),
                false => 0.0,
            },
            ours: cluster.measured.is_some(),
            barrier_us: measured(cluster, |row| Some(row.barrier_us)),
            fetch_at_work_us: measured(cluster, |row| row.fetch_at_work_us),
        };
        Ok(Self {
            sharing,
            net,
            prices,
            costs: Costs::from_prices(&parts, &net),
        })
    }

    /// What happens there on so many nodes.
    ///
    /// # Errors
    ///
    /// Fails if the accesses would hang, or are of too many threads.
    pub fn replay(
        &self,
        accesses: &Accesses,
        nodes: u16,
        homes: Homes,
    ) -> Result<Outcome, Failure> {
        let setting = Setting {
            nodes,
            sharing: self.sharing,
            homes,
            net: self.net,
            costs: self.costs.of_pages(accesses.page_bytes),
            left_out: PredictorSet::default(),
        };
        replay(accesses, &setting).map_err(|error| Failure::of(&error))
    }
}

/// What was asked for makes no sense.
fn usage(error: &dyn std::error::Error) -> Failure {
    Failure::of(error).with_code(exit::USAGE)
}

/// A price of synchronisation of two nodes, in microseconds, if it was measured.
fn measured(
    cluster: &Cluster,
    of: impl Fn(&prices::Synchronisation) -> Option<prices::Priced>,
) -> Option<f64> {
    let rows = &cluster.measured.as_ref()?.synchronisation;
    let two = rows.iter().find(|row| row.nodes == 2)?;
    of(two).map(|price| price.median)
}

/// A cluster of which only the network and a fault's price are known.
fn unknown_cluster(net: &fathomp_launch::Network, FaultPrice(fault_us): FaultPrice) -> Cluster {
    Cluster {
        schema: prices::CLUSTER_SCHEMA.to_owned(),
        version: prices::CLUSTER_VERSION,
        name: net.to_string(),
        about: String::new(),
        source: String::new(),
        nodes: 1,
        network: Network {
            latency_us: net.latency_us(),
            bandwidth_mb_per_s: net.mb_per_s(),
        },
        page_bytes: 4096,
        fault_us: Some(fault_us),
        homeless: None,
        home: None,
        measured: None,
    }
}
