//! Measuring what keeping memory consistent between nodes costs here.
//!
//! A program of ours (`suites/prices`) runs on nodes as the user's would, with
//! pages that stay at their homes and come one by one, as the models that the
//! prices are for assume.

use crate::args::ThreadCount;
use crate::args::cluster::{CalibrateOnNodes, Cluster, Net};
use crate::calibrate::{doubt, now_unix_ns};
use crate::failure::{Failure, exit};
use crate::host;
use crate::hosts::Across;
use crate::launch::{library, plan, told_alone};
use fathomp_bench::compiler::Compiler;
use fathomp_bench::floors::{self, FloorsError};
use fathomp_bench::prices::{self, Effort, Estimate, Faults, PricesError, Sync};
use fathomp_launch::{Plan, Protocol};
use fathomp_predict::prices::{
    self as model, CLUSTER_SCHEMA, CLUSTER_VERSION, Crowd, DiffPrice, Ends, HomePrices,
    HomelessPrices, Measured, Network, Priced, Synchronisation,
};
use fathomp_runtime::Unpacked;
use fathomp_toolchain::CompilerError;
use fathomp_transport::local;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PAGE_BYTES: u32 = 4096;
/// Round trips of each kind between hosts.
const TRIPS: u32 = 1000;
/// Processes, because two of them differ more than two samples of one.
const PROCESSES: usize = 5;
const FAULTS: Effort = Effort {
    size: 512,
    rounds: 12,
    limit: Duration::from_secs(2),
};
const SYNC: Effort = Effort {
    size: 20,
    rounds: 20,
    limit: Duration::from_secs(2),
};

/// A cluster could not be measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClusterError {
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    #[error(transparent)]
    Prices(#[from] PricesError),
    #[error(transparent)]
    Wire(#[from] FloorsError),
    #[error("two nodes cannot be connected to measure their network: {0}")]
    Network(#[source] std::io::Error),
    #[error(
        "a thread read {0} values that another had overwritten: nodes do not work here, do not use them"
    )]
    Wrong(u64),
    #[error(
        "{0} cannot be distinguished from the work around it, because other programs disturb both: calibrate again when the machine is quiet"
    )]
    Drowned(&'static str),
}

/// A cluster that was measured, and what makes the measurement doubtful.
#[derive(Debug)]
pub(super) struct Calibrated {
    pub(super) cluster: model::Cluster,
    pub(super) doubts: Vec<String>,
}

/// Nodes whose prices `fathomp calibrate` is to measure.
pub(in crate::commands) struct NodesToPrice<'a> {
    asked: &'a CalibrateOnNodes,
    cluster: Cluster,
    across: Option<Across>,
}

impl<'a> NodesToPrice<'a> {
    /// Those that are asked for, if any are.
    pub(in crate::commands) fn of(asked: &'a CalibrateOnNodes) -> Result<Option<Self>, Failure> {
        let across = Across::of(&asked.nodes.on)?;
        let cluster = asked.nodes.cluster;
        let nodes = across.as_ref().map_or(cluster.nodes, Across::nodes);
        if across.as_ref().is_some_and(|across| across.count() < 2) {
            return Err(Failure::new(
                "a network between hosts takes two of them: name a second one, as in --hosts a,b",
            )
            .with_code(exit::USAGE));
        }
        Ok((nodes > 1).then_some(Self {
            asked,
            cluster: Cluster { nodes, ..cluster },
            across,
        }))
    }

    /// The steps in which progress is told.
    pub(in crate::commands) fn steps(&self) -> usize {
        PROCESSES * (1 + sizes(self.cluster.nodes).len())
    }

    /// What they cost, and what makes that doubtful.
    pub(in crate::commands) fn price(
        self,
        unpacked: &Unpacked,
        progress: impl FnMut(usize),
    ) -> Result<(model::Cluster, Vec<String>), Failure> {
        let across = self.across.as_ref();
        let measured = cluster(unpacked, self.cluster, across, &self.asked.cc, progress)?;
        Ok((measured.cluster, measured.doubts))
    }
}

/// How to run the program.
struct Bench<'a> {
    program: PathBuf,
    library: &'a Path,
    cluster: Cluster,
    /// On which hosts, if not here.
    across: Option<&'a Across>,
}

impl Bench<'_> {
    /// The program on so many nodes.
    fn on(&self, nodes: u16) -> Command {
        let cluster = Cluster {
            nodes,
            dsm_plain: true,
            ..self.cluster
        };
        if let Some(across) = self.across {
            return across.run(&self.program, cluster);
        }
        let plan = Plan {
            preload: vec![self.library.to_owned()],
            ..plan(Some(ThreadCount(1)), cluster.asked())
        };
        told_alone(&self.program, &plan)
    }

    fn faults(&self) -> Result<Faults, ClusterError> {
        Ok(prices::faults(&mut self.on(2), FAULTS)?)
    }

    fn sync(&self, nodes: u16) -> Result<Sync, ClusterError> {
        Ok(prices::sync(&mut self.on(nodes), SYNC)?)
    }
}

/// What nodes like those of `cluster` cost, here or on the hosts of `across`; `compiler` builds
/// the program that measures. Progress is told in the steps that [`NodesToPrice::steps`] counts.
pub(super) fn cluster(
    unpacked: &Unpacked,
    cluster: Cluster,
    across: Option<&Across>,
    compiler: &str,
    mut progress: impl FnMut(usize),
) -> Result<Calibrated, ClusterError> {
    let compiler = Compiler::find(compiler, &unpacked.cache)?;
    let bench = Bench {
        program: prices::build(&compiler, &unpacked.cache)?,
        library: library(unpacked, cluster.asked()),
        cluster,
        across,
    };
    // What runs on hosts is started by agents: this machine's accounts take it for others'.
    let meter = across.is_none().then(host::Meter::start);
    let net = match across {
        Some(across) => wire(across, cluster.nodes)?,
        None => network(cluster.net)?,
    };
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(done);
    };
    let sizes = sizes(cluster.nodes);
    let (mut faults, mut runs) = (Vec::new(), vec![Vec::new(); sizes.len()]);
    // In turn, so that what disturbs the machine for a while disturbs all alike.
    for _ in 0..PROCESSES {
        let measured = bench.faults()?;
        if measured.wrong > 0 {
            return Err(ClusterError::Wrong(measured.wrong));
        }
        faults.push(measured);
        step();
        for (nodes, runs) in sizes.iter().zip(&mut runs) {
            let measured = bench.sync(*nodes)?;
            if measured.wrong > 0 {
                return Err(ClusterError::Wrong(measured.wrong));
            }
            runs.push(measured);
            step();
        }
    }
    let rows = sizes.iter().zip(&runs);
    let synchronisation = rows.map(|(nodes, runs)| row(*nodes, runs));
    let synchronisation = synchronisation.collect::<Result<_, _>>()?;
    let others = meter.and_then(|meter| meter.others(None));
    let mut doubts: Vec<String> = doubt(others, false, false).into_iter().collect();
    let crowded = u32::from(cluster.nodes) > host::usable_cpus();
    if across.is_none() && crowded {
        doubts.push(format!(
            "{} nodes shared {} processors: prices of synchronisation among more nodes than that hold their waiting for a processor too.",
            cluster.nodes,
            host::usable_cpus()
        ));
    }
    let place = across.map(Across::names);
    let cluster = describe(cluster, place, &net, &faults, synchronisation)?;
    Ok(Calibrated { cluster, doubts })
}

/// Numbers of nodes to synchronise: powers of two and the last.
pub(super) fn sizes(nodes: u16) -> Vec<u16> {
    let doubling = std::iter::successors(Some(2_u16), |size| size.checked_mul(2));
    let below = doubling.take_while(|size| *size < nodes);
    below.chain([nodes]).collect()
}

/// A network's latency and bandwidth.
struct Seen {
    latency_us: Estimate,
    bandwidth_mb_per_s: Estimate,
}

/// What the network between hosts takes for a word to the other side and back, halved, and for
/// a large answer beyond that; waited for as nodes wait there.
fn wire(across: &Across, nodes: u16) -> Result<Seen, ClusterError> {
    let floor = floors::wire_floor(&mut across.floor(across.count(), TRIPS))?;
    let trips = floor.trips(nodes);
    let halves = trips.word_ns.iter().map(|ns| ns * 0.5e-3).collect();
    let drowned = ClusterError::Drowned("the network's time");
    let Some(latency_us) = Estimate::of(&[halves]) else {
        return Err(drowned);
    };
    let quickest_ns = trips.word_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let longer_us = trips.large_ns.iter().map(|ns| (ns - quickest_ns) * 1e-3);
    let rates = longer_us
        .filter(|us| *us > 0.0)
        .map(|us| floor.large_bytes / us);
    let bandwidth_mb_per_s = Estimate::of(&[rates.collect()]).ok_or(drowned)?;
    Ok(Seen {
        latency_us,
        bandwidth_mb_per_s,
    })
}

fn network(net: Option<Net>) -> Result<Seen, ClusterError> {
    let seen =
        local::observe(net.map(|Net(network)| network.into())).map_err(ClusterError::Network)?;
    let bytes = seen.large_bytes as f64;
    let drowned = ClusterError::Drowned("the network's time");
    // On a busy machine most small messages are late, and what a large one takes
    // longer than these would be too little.
    let quickest_us = seen.small_us.iter().copied().fold(f64::INFINITY, f64::min);
    let Some(latency_us) = Estimate::of(&[seen.small_us]) else {
        return Err(drowned);
    };
    // A message that seems to take no time was sent in a luckier moment.
    let longer_us = seen.large_us.iter().map(|us| us - quickest_us);
    let rates = longer_us.filter(|us| *us > 0.0).map(|us| bytes / us);
    let bandwidth_mb_per_s = Estimate::of(&[rates.collect()]).ok_or(drowned)?;
    Ok(Seen {
        latency_us,
        bandwidth_mb_per_s,
    })
}

/// The price that samples of several processes, in nanoseconds, speak for.
fn price<T>(
    runs: &[T],
    what: &'static str,
    samples_ns: impl Fn(&T) -> &[f64],
) -> Result<Priced, ClusterError> {
    let price = difference(runs, samples_ns).filter(|price| price.median > 0.0);
    price.ok_or(ClusterError::Drowned(what))
}

/// The same of what may be too little to be told from nothing, and is 0 if less than nothing
/// was measured; none without samples.
fn difference<T>(runs: &[T], samples_ns: impl Fn(&T) -> &[f64]) -> Option<Priced> {
    let in_us = |run: &T| samples_ns(run).iter().map(|ns| ns * 1e-3).collect();
    let processes: Vec<Vec<f64>> = runs.iter().map(in_us).collect();
    let price = Estimate::of(&processes)?;
    Some(Priced {
        median: price.value.max(0.0),
        interval: [price.interval.low, price.interval.high.max(0.0)],
    })
}

fn row(nodes: u16, runs: &[Sync]) -> Result<Synchronisation, ClusterError> {
    let half_diff_us = difference(runs, |run| &run.crowd_half_ns);
    Ok(Synchronisation {
        nodes: nodes.into(),
        barrier_us: price(runs, "the time of a barrier", |run| &run.barrier_ns)?,
        fetch_at_work_us: difference(runs, |run| &run.at_work_ns),
        crowd: half_diff_us.map(|price| Crowd {
            half_diff_us: Some(price),
        }),
    })
}

/// Prices of a protocol.
struct Prices {
    protocol: &'static str,
    homeless: Option<HomelessPrices>,
    home: Option<HomePrices>,
    intervals_us: BTreeMap<String, Ends>,
}

fn home(faults: &[Faults]) -> Result<Prices, ClusterError> {
    let local = price(faults, "a local write fault", |run| &run.local_write_ns)?;
    let remote = price(faults, "a remote write fault", |run| &run.remote_write_ns)?;
    let fetch = price(faults, "a fetch fault", |run| &run.fetch_ns)?;
    let diff = price(faults, "a diff sent home", |run| &run.diff_to_home_ns)?;
    let named = [
        ("local_write_fault_us", local),
        ("remote_write_fault_us", remote),
        ("fetch_fault_us", fetch),
        ("diffs_to_home", diff),
    ];
    Ok(Prices {
        protocol: "home-based",
        homeless: None,
        home: Some(HomePrices {
            local_write_fault_us: local.median,
            remote_write_fault_us: remote.median,
            fetch_fault_us: fetch.median,
            diffs_to_home: vec![DiffPrice {
                bytes: PAGE_BYTES,
                us: diff.median,
            }],
        }),
        intervals_us: named
            .map(|(name, price)| (name.to_owned(), price.interval))
            .into(),
    })
}

fn homeless(faults: &[Faults]) -> Result<Prices, ClusterError> {
    let write = price(faults, "a write fault", |run| &run.local_write_ns)?;
    let fetch = price(faults, "a fetch fault", |run| &run.fetch_ns)?;
    let named = [("write_fault_us", write), ("fetch_fault_us", fetch)];
    Ok(Prices {
        protocol: "homeless",
        homeless: Some(HomelessPrices {
            write_fault_us: write.median,
            fetch_fault_us: fetch.median,
        }),
        home: None,
        intervals_us: named
            .map(|(name, price)| (name.to_owned(), price.interval))
            .into(),
    })
}

fn describe(
    cluster: Cluster,
    place: Option<String>,
    net: &Seen,
    faults: &[Faults],
    synchronisation: Vec<Synchronisation>,
) -> Result<model::Cluster, ClusterError> {
    let prices = match cluster.dsm {
        Protocol::Home => home(faults)?,
        Protocol::Homeless => homeless(faults)?,
    };
    let ends = |of: &Estimate| [of.interval.low, of.interval.high];
    let asked = cluster.net.map(|net| Network {
        latency_us: net.0.latency_us(),
        bandwidth_mb_per_s: net.0.mb_per_s(),
    });
    let network = match asked {
        None => "through its memory".to_owned(),
        Some(asked) => format!(
            "through an emulated network of {} us and {} MB/s",
            asked.latency_us, asked.bandwidth_mb_per_s,
        ),
    };
    let host = host::machine();
    Ok(model::Cluster {
        schema: CLUSTER_SCHEMA.to_owned(),
        version: CLUSTER_VERSION,
        name: place.clone().unwrap_or(host.host),
        about: match &place {
            Some(names) => format!(
                "{} processes on hosts {names}, measured over the network between them; {}",
                cluster.nodes, prices.protocol
            ),
            None => format!(
                "{} processes of one machine, {}, {network}; {}",
                cluster.nodes, host.cpu_model, prices.protocol
            ),
        },
        source: format!("fathomp calibrate {}", env!("CARGO_PKG_VERSION")),
        nodes: cluster.nodes.into(),
        network: Network {
            latency_us: net.latency_us.value,
            bandwidth_mb_per_s: net.bandwidth_mb_per_s.value,
        },
        page_bytes: PAGE_BYTES,
        fault_us: None,
        homeless: prices.homeless,
        home: prices.home,
        measured: Some(Measured {
            unix_ns: now_unix_ns(),
            network_emulated: asked,
            latency_us: ends(&net.latency_us),
            bandwidth_mb_per_s: ends(&net.bandwidth_mb_per_s),
            prices_us: prices.intervals_us,
            synchronisation,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nodes_double() {
        assert_eq!(sizes(2), [2]);
        assert_eq!(sizes(3), [2, 3]);
        assert_eq!(sizes(8), [2, 4, 8]);
        assert_eq!(sizes(256), [2, 4, 8, 16, 32, 64, 128, 256]);
    }

    #[test]
    fn a_price_below_zero_is_none() {
        let of = |samples: &[f64]| price(&[samples.to_vec()], "it", |run| run);
        assert_eq!(of(&[1000.0, 2000.0, 3000.0]).unwrap().median, 2.0);
        assert!(matches!(
            of(&[-1.0, -2.0]),
            Err(ClusterError::Drowned("it"))
        ));
        assert!(of(&[]).is_err());
        let notice = difference(&[vec![-3000.0, -1000.0]], |run| run).unwrap();
        assert_eq!((notice.median, notice.interval[1]), (0.0, 0.0));
        assert!(notice.interval[0] < 0.0);
    }
}
