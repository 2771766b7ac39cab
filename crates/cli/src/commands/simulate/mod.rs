//! `fathomp simulate`: recorded accesses on clusters that are not there.

mod answer;

use crate::args::workload::Seconds;
use crate::args::{FaultPrice, HomesName, Simulate, ThreadList};
use crate::failure::{Failure, Outcome, exit};
use crate::recording;
use crate::voice::Voice;
use answer::{Answer, Point};
use fathomp_accesses::Accesses;
use fathomp_predict::prices::{self, Cluster, Network, PricesOf, Protocol};
use fathomp_replay::{Costs, Setting, Sharing, extrapolate, replay};
use fathomp_transport::local::Net;
use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

pub(super) fn simulate(plan: &Simulate, voice: Voice) -> Outcome {
    let known = Known::read(plan)?;
    let ThreadList(nodes) = plan
        .nodes
        .clone()
        .unwrap_or_else(|| ThreadList::doubling(known.threads()));
    let priced = Priced::new(plan)?;
    let HomesName(homes) = plan.homes;
    let mut points = Vec::new();
    for number in nodes {
        let nodes = u16::try_from(number).map_err(|_| {
            Failure::new(format!(
                "{number} nodes are more than can be numbered: ask for at most {}",
                u16::MAX
            ))
            .with_code(exit::USAGE)
        })?;
        let setting = Setting {
            nodes,
            sharing: priced.sharing,
            homes,
            net: priced.net,
            costs: priced.costs,
        };
        let (accesses, extrapolated) = known.on(nodes)?;
        let outcome = replay(&accesses, &setting).map_err(|error| Failure::of(&error))?;
        let mut point = Point::new(&outcome, &known, plan.each);
        point.extrapolated = extrapolated;
        points.push(point);
    }
    let answer = Answer::new(&known, plan, &priced, points);
    voice.result("fathomp.simulate", &answer, || answer.text(voice.width()))?;
    Ok(0)
}

/// Accesses with different numbers of threads, ascending; at least one.
struct Known {
    least: Accesses,
    more: Vec<Accesses>,
    /// Names of regions by their sites, as far as they are known.
    names: Vec<String>,
}

impl Known {
    fn read(plan: &Simulate) -> Result<Self, Failure> {
        let all: Result<Vec<_>, _> = plan
            .accesses
            .iter()
            .map(|path| read(&file_of(path)))
            .collect();
        let mut all = all?;
        all.sort_by_key(|accesses| accesses.threads.len());
        let twice = all
            .windows(2)
            .find(|pair| pair[0].threads.len() == pair[1].threads.len());
        if let Some(pair) = twice {
            return Err(Failure::new(format!(
                "two of these are of {} threads: give one for each number of threads",
                pair[0].threads.len()
            ))
            .with_code(exit::USAGE));
        }
        if let (Some(Seconds(time)), Some(least)) = (plan.sequential, all.first()) {
            let factor = time.as_secs_f64() * 1e9 / least.work_ns().max(1) as f64;
            all.iter_mut()
                .for_each(|accesses| accesses.scale_work(factor));
        }
        let mut all = all.into_iter();
        let least = all.next().unwrap_or_default();
        Ok(Self {
            least,
            more: all.collect(),
            names: names(plan),
        })
    }

    fn all(&self) -> impl Iterator<Item = &Accesses> {
        std::iter::once(&self.least).chain(&self.more)
    }

    /// The most threads that were recorded.
    fn threads(&self) -> u32 {
        let most = self.all().map(|accesses| accesses.threads.len()).max();
        u32::try_from(most.unwrap_or(1)).unwrap_or(u32::MAX)
    }

    /// Application time of one thread alone.
    fn alone_ns(&self) -> u64 {
        self.least.work_ns()
    }

    /// Name of a region by its site.
    fn name_of(&self, site: u32) -> String {
        let named = self.names.get(site as usize).filter(|_| site > 0);
        named.map_or_else(|| format!("region {site}"), Clone::clone)
    }

    /// What is accessed on so many nodes; whether that was extrapolated.
    fn on(&self, nodes: u16) -> Result<(Cow<'_, Accesses>, bool), Failure> {
        let recorded = self.all().find(|a| a.threads.len() == usize::from(nodes));
        if let Some(recorded) = recorded {
            return Ok((Cow::Borrowed(recorded), false));
        }
        if self.more.is_empty() || nodes < 2 {
            return Ok((Cow::Borrowed(&self.least), false));
        }
        let all: Vec<_> = self.all().collect();
        let told = extrapolate(&all, nodes).map_err(|error| Failure::of(&error))?;
        Ok((Cow::Owned(told), true))
    }
}

/// Names of regions as the first recording has them. A file of accesses alone has none.
fn names(plan: &Simulate) -> Vec<String> {
    let mut recordings = plan.accesses.iter().filter(|path| path.is_dir());
    let recording = recordings.find_map(|path| fathomp_trace::reader::open(path).ok());
    recording.map_or_else(Vec::new, |recording| {
        fathomp_analyse::site_names(&recording)
    })
}

/// A recording stands for the file in it.
fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => recording::accesses::file(path),
        false => path.to_owned(),
    }
}

fn read(path: &Path) -> Result<Accesses, Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| {
        Failure::new(format!(
            "cannot read {shown}: {error}: make it by `fathomp record --nodes N --accesses`"
        ))
    })?;
    fathomp_accesses::read(BufReader::new(file))
        .map_err(|error| Failure::new(format!("{shown}: {}", Failure::of(&error).sentence)))
}

/// What the cluster asked for is, and costs.
struct Priced {
    sharing: Sharing,
    net: Net,
    prices: PricesOf,
    costs: Costs,
}

impl Priced {
    fn new(plan: &Simulate) -> Result<Self, Failure> {
        let (plain, memory_mib) = (plan.dsm_plain, plan.dsm_memory);
        let sharing = match plan.dsm {
            Protocol::Home => Sharing::Home { plain },
            Protocol::Homeless => Sharing::Homeless { plain, memory_mib },
        };
        let usage = |error: &dyn std::error::Error| Failure::of(error).with_code(exit::USAGE);
        let cluster = if plan.net.contains(',') {
            let net: fathomp_launch::Network = plan.net.parse().map_err(|error| usage(&error))?;
            unknown_cluster(&net, plan.fault_us)
        } else {
            Cluster::find(Path::new(&plan.net)).map_err(|error| usage(&error))?
        };
        let Network {
            latency_us,
            bandwidth_mb_per_s,
        } = cluster.network;
        let net = Net::new(latency_us, bandwidth_mb_per_s).map_err(|error| usage(&error))?;
        let prices = cluster.prices(plan.dsm, None);
        let prices = prices.map_err(|error| Failure::of(&error))?;
        let prices::Prices {
            local_write_us,
            remote_write_us,
            fetch_us,
            diff_to_home_us,
        } = prices.prices;
        let parts = fathomp_replay::Prices {
            local_write_us,
            remote_write_us,
            fetch_us,
            diff_to_home_us: match diff_to_home_us > 0.0 {
                // Messages are under way together in a replay too.
                true => measured(&cluster, |row| row.crowd?.half_diff_us)
                    .unwrap_or(diff_to_home_us)
                    .max(diff_to_home_us),
                false => 0.0,
            },
            ours: cluster.measured.is_some(),
            barrier_us: measured(&cluster, |row| Some(row.barrier_us)),
        };
        Ok(Self {
            sharing,
            net,
            prices,
            costs: Costs::from_prices(&parts, &net),
        })
    }
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
