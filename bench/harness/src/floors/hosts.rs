//! The same over several hosts: what nodes there cost beside what the network between the hosts
//! takes for the same messages, waited for in the same way.

use super::document::{Unit, row};
use super::{Bound, Document, Extent, FloorsError, Nodes, REPETITIONS, Row, Scheme, Step};
use crate::machine::Machine;
use crate::prices::{self, Effort, Faults, Sync, Writes};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A fetch should be at most so many times a question and a page in answer.
const TIMES_TRIP: f64 = 2.5;
/// A barrier of two nodes should be at most so many times a word both ways,
const TIMES_MEETING_OF_TWO: f64 = 3.0;
/// and one of more so many times what telling each other takes.
const TIMES_MEETING: f64 = 2.5;
/// Nodes that events between two of them are measured on.
const PAIR: u16 = 2;
const PAGE_BYTES: f64 = 4096.0;

/// Ways to start programs.
pub struct OnHosts<'a> {
    /// On so many nodes, of different hosts as far as there are.
    pub on_nodes: &'a dyn Fn(&Path, Nodes) -> Command,
    /// What the network between so many hosts takes.
    pub floor: &'a dyn Fn(u16) -> Result<WireFloor, FloorsError>,
    /// The hosts in words.
    pub names: String,
    /// How many there are.
    pub hosts: u16,
    /// Numbers of nodes to synchronise, ascending.
    pub nodes: &'a [u16],
}

/// Round trips between two hosts in a way of waiting, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trips {
    /// 8 bytes there and 8 back.
    pub word_ns: Vec<f64>,
    /// 8 bytes there and a page back.
    pub page_ns: Vec<f64>,
    /// 8 bytes there and [`large_bytes`](WireFloor::large_bytes) back.
    pub large_ns: Vec<f64>,
}

/// How long so many hosts take to hear of each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meetings {
    /// How many.
    pub hosts: u16,
    /// While all look, in nanoseconds.
    pub looking_ns: Vec<f64>,
    /// While all sleep, likewise.
    pub asleep_ns: Vec<f64>,
}

/// What the network between hosts takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WireFloor {
    /// Processors of each host's process.
    pub processors: Vec<u32>,
    /// Bytes of a large answer.
    pub large_bytes: f64,
    /// Both sides look again and again for what comes.
    pub looking: Trips,
    /// Both sides sleep until it comes.
    pub asleep: Trips,
    /// Who asks looks, who answers sleeps.
    pub at_work: Trips,
    /// By number of hosts.
    pub meetings: Vec<Meetings>,
}

impl WireFloor {
    /// What an emulated network takes by its numbers, among up to so many nodes.
    #[must_use]
    pub fn of_network(latency_us: f64, mb_per_s: f64, nodes: u16) -> Self {
        const LARGE_BYTES: f64 = 1048576.0;
        // 1 MB/s is a byte in a microsecond.
        let trip = |bytes: f64| vec![(2.0 * latency_us + bytes / mb_per_s) * 1e3];
        let trips = Trips {
            word_ns: trip(0.0),
            page_ns: trip(PAGE_BYTES),
            large_ns: trip(LARGE_BYTES),
        };
        let meeting = |hosts: u16| {
            let rounds = f64::from(hosts).log2().ceil();
            let ns = vec![rounds * latency_us * 1e3];
            Meetings {
                hosts,
                looking_ns: ns.clone(),
                asleep_ns: ns,
            }
        };
        Self {
            processors: vec![u32::MAX; nodes.into()],
            large_bytes: LARGE_BYTES,
            looking: trips.clone(),
            asleep: trips.clone(),
            at_work: trips,
            meetings: (2..=nodes).map(meeting).collect(),
        }
    }

    /// Whether so many nodes, spread over the hosts, look for messages before they sleep, as
    /// they do where each has a processor.
    #[must_use]
    pub fn nodes_look(&self, nodes: u16) -> bool {
        let hosts = self.processors.len().max(1);
        let each = usize::from(nodes).div_ceil(hosts);
        self.processors.iter().all(|count| *count as usize >= each)
    }

    /// Trips between nodes that wait.
    #[must_use]
    pub fn trips(&self, nodes: u16) -> &Trips {
        match self.nodes_look(nodes) {
            true => &self.looking,
            false => &self.asleep,
        }
    }

    fn meetings(&self, nodes: u16) -> Option<&Vec<f64>> {
        let hosts = usize::from(nodes).min(self.processors.len());
        let found = self
            .meetings
            .iter()
            .find(|one| usize::from(one.hosts) == hosts)?;
        Some(match self.nodes_look(nodes) {
            true => &found.looking_ns,
            false => &found.asleep_ns,
        })
    }
}

/// Runs the program that measures the network, which has all it needs.
///
/// # Errors
/// If it gives no answer.
pub fn wire_floor(program: &mut Command) -> Result<WireFloor, FloorsError> {
    Ok(prices::ask(program)?)
}

/// What the processes of all runs said.
#[derive(Default)]
struct Said {
    floors: Vec<WireFloor>,
    faults: Vec<Faults>,
    writes: Vec<Writes>,
    /// By number of nodes.
    sync: Vec<Vec<Sync>>,
}

/// Steps of [`measure_on_hosts`].
#[must_use]
pub fn steps_on_hosts(extent: Extent, sizes: usize) -> usize {
    (3 + sizes) * extent.runs as usize
}

/// Measures everything; `progress` hears of every step. `program` is that of prices.
///
/// # Errors
/// If a program computes something wrong, or gives no answer.
pub fn measure_on_hosts(
    program: &Path,
    ground: &OnHosts,
    extent: Extent,
    mut progress: impl FnMut(Step),
) -> Result<Document, FloorsError> {
    let nodes = |count, plain| Nodes {
        count,
        scheme: Scheme::Userfault,
        plain,
    };
    let effort = Effort {
        size: extent.pages,
        rounds: extent.rounds,
        limit: Duration::from_secs(2),
    };
    let mut said = Said {
        sync: ground.nodes.iter().map(|_| Vec::new()).collect(),
        ..Said::default()
    };
    let mut done = 0;
    let mut step = |what: &str| {
        progress(Step {
            done,
            what: what.to_owned(),
        });
        done += 1;
    };
    for _ in 0..extent.runs {
        step("the network");
        said.floors.push((ground.floor)(ground.hosts)?);
        step("faults");
        let mut on = (ground.on_nodes)(program, nodes(PAIR, true));
        said.faults.push(prices::faults(&mut on, effort)?);
        step("fetches");
        let mut on = (ground.on_nodes)(program, nodes(PAIR, false));
        said.writes.push(prices::writes(&mut on, effort)?);
        for (count, sync) in ground.nodes.iter().zip(&mut said.sync) {
            step("synchronisation");
            let mut on = (ground.on_nodes)(program, nodes(*count, false));
            let size = REPETITIONS;
            sync.push(prices::sync(&mut on, Effort { size, ..effort })?);
        }
        said.check(&ground.names)?;
    }
    let mut document = Document::new(Machine::read(), extent);
    document.rows = rows(&said, ground);
    if said.floors.iter().any(|floor| !floor.nodes_look(PAIR)) {
        document.warnings.push(
            "The hosts have fewer processors than nodes, so waiting nodes sleep: their floors are those of messages that are waited for asleep."
                .to_owned(),
        );
    }
    Ok(document)
}

impl Said {
    fn check(&self, names: &str) -> Result<(), FloorsError> {
        let sync = self.sync.iter().filter_map(|runs| runs.last());
        let wrong = [
            self.faults.last().map(|said| said.wrong),
            self.writes.last().map(|said| said.wrong),
        ];
        let wrong = wrong
            .into_iter()
            .flatten()
            .chain(sync.map(|said| said.wrong));
        match wrong.sum() {
            0 => Ok(()),
            count => Err(FloorsError::Wrong {
                program: "prices",
                group: format!("hosts {names}"),
                count,
            }),
        }
    }
}

/// Microseconds by process.
fn us<T>(runs: &[T], of: impl Fn(&T) -> &Vec<f64>) -> Vec<Vec<f64>> {
    let in_us = |run| of(run).iter().map(|ns| ns * 1e-3).collect();
    runs.iter().map(in_us).collect()
}

fn rows(said: &Said, ground: &OnHosts) -> Vec<Row> {
    let group = &ground.names;
    let floor = |of: fn(&WireFloor) -> &Vec<f64>| Some(us(&said.floors, of));
    let page = || floor(|floor| &floor.trips(PAIR).page_ns);
    let word = || floor(|floor| &floor.trips(PAIR).word_ns);
    let times = |times| Some(Bound::Ratio(times));
    let large = said.floors.first().map_or(0.0, |floor| floor.large_bytes);
    let whole = us(&said.writes, |said| &said.fetch_in_order_ns).into_iter();
    let whole = whole.map(|times| {
        times
            .into_iter()
            .map(|us| us * large / PAGE_BYTES)
            .collect()
    });
    let faults = |of: fn(&Faults) -> &Vec<f64>| us(&said.faults, of);
    let mut all = vec![
        (
            "fetch, page by page, asked for",
            faults(|said| &said.fetch_ns),
            page(),
            times(TIMES_TRIP),
        ),
        (
            "fetch, page by page",
            us(&said.writes, |said| &said.fetch_apart_ns),
            page(),
            times(TIMES_TRIP),
        ),
        (
            "1 MiB, fetched in order",
            whole.collect(),
            floor(|floor| &floor.trips(PAIR).large_ns),
            None,
        ),
        (
            "write fault, page at home here",
            faults(|said| &said.local_write_ns),
            None,
            None,
        ),
        (
            "write fault, copy of another's page",
            faults(|said| &said.remote_write_ns),
            None,
            None,
        ),
    ];
    if let Some(sync) = said
        .sync
        .first()
        .filter(|_| ground.nodes.first() == Some(&PAIR))
    {
        all.extend([
            (
                "fetch while the page's home computes",
                us(sync, |said| &said.at_work_ns),
                floor(|floor| &floor.at_work.page_ns),
                times(TIMES_TRIP),
            ),
            (
                "lock, grant to grant",
                us(sync, |said| &said.lock_ns),
                word(),
                None,
            ),
            (
                "flush of nothing",
                us(sync, |said| &said.flush_ns),
                word(),
                None,
            ),
        ]);
    }
    let mut rows: Vec<Row> = all
        .into_iter()
        .filter_map(|(name, ours, floor, bound)| {
            row(group, name.to_owned(), Unit::Us, ours, floor, |_| bound)
        })
        .collect();
    for (nodes, sync) in ground.nodes.iter().zip(&said.sync) {
        let met = |floor: &WireFloor| floor.meetings(*nodes).cloned();
        let met: Option<Vec<Vec<f64>>> = said.floors.iter().map(met).collect();
        let met = met.map(|met| us(&met, |times| times));
        let most = match *nodes {
            PAIR => TIMES_MEETING_OF_TWO,
            _ => TIMES_MEETING,
        };
        // Hosts with several nodes meet within themselves too, which no network takes part in.
        let bound = times(most).filter(|_| *nodes <= ground.hosts && met.is_some());
        let name = format!("empty barrier, {nodes} nodes");
        let ours = us(sync, |said| &said.barrier_ns);
        rows.extend(row(group, name, Unit::Us, ours, met, |_| bound));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(processors: &[u32]) -> WireFloor {
        let trips = |ns: f64| Trips {
            word_ns: vec![ns; 3],
            page_ns: vec![2.0 * ns; 3],
            large_ns: vec![100.0 * ns; 3],
        };
        WireFloor {
            processors: processors.to_vec(),
            large_bytes: 1048576.0,
            looking: trips(10e3),
            asleep: trips(20e3),
            at_work: trips(15e3),
            meetings: vec![Meetings {
                hosts: 2,
                looking_ns: vec![9e3; 3],
                asleep_ns: vec![19e3; 3],
            }],
        }
    }

    #[test]
    fn nodes_that_share_a_processor_are_compared_with_sleepers() {
        let two = floor(&[2, 2]);
        assert!(two.nodes_look(2) && two.nodes_look(4) && !two.nodes_look(5));
        assert_eq!(two.trips(2).word_ns[0], 10e3);
        assert_eq!(two.trips(6).word_ns[0], 20e3);
        assert_eq!(two.meetings(2).unwrap()[0], 9e3);
        let odd = floor(&[4, 1]);
        assert!(odd.nodes_look(2) && !odd.nodes_look(3));
        assert_eq!(odd.meetings(3).unwrap()[0], 19e3);
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn rows_have_the_floors_of_their_kind() {
        let sync = r#"{"threads":2,"wrong":0,"barrier_ns":[27000],"lock_ns":[1],"flush_ns":[1],
            "crowd_half_ns":[1],"at_work_ns":[45000]}"#;
        let on_nodes = |_: &Path, nodes: Nodes| {
            assert_eq!(nodes.count, 2);
            let script = format!(
                "case $1 in faults) echo '{}';; writes) echo '{}';; *) echo '{}';; esac",
                r#"{"threads":2,"wrong":0,"local_write_ns":[1],"remote_write_ns":[1],"fetch_ns":[60000],"diff_to_home_ns":[1]}"#,
                r#"{"threads":2,"wrong":0,"exclusive_write_ns":[1],"written_again_ns":[1],"fetch_in_order_ns":[5000],"fetch_apart_ns":[30000]}"#,
                sync.replace('\n', " ")
            );
            let mut command = shell(&script);
            command.arg("prices");
            command
        };
        let text = serde_json::to_string(&floor(&[2, 2])).unwrap();
        let ground = OnHosts {
            on_nodes: &on_nodes,
            floor: &|_| wire_floor(&mut shell(&format!("echo '{text}'"))),
            names: "a, b".to_owned(),
            hosts: 2,
            nodes: &[2],
        };
        let extent = Extent {
            runs: 2,
            rounds: 3,
            pages: 4,
            array_mib: 1,
        };
        let mut steps = 0;
        let document = measure_on_hosts(Path::new("x"), &ground, extent, |_| steps += 1).unwrap();
        assert_eq!(steps, steps_on_hosts(extent, 1));
        let ratio = |name: &str| {
            let row = document.rows.iter().find(|row| row.name == name).unwrap();
            (row.ratio.map(|ratio| ratio.value), row.met)
        };
        assert_eq!(
            ratio("fetch, page by page, asked for"),
            (Some(3.0), Some(false))
        );
        assert_eq!(ratio("fetch, page by page"), (Some(1.5), Some(true)));
        assert_eq!(
            ratio("fetch while the page's home computes"),
            (Some(1.5), Some(true))
        );
        assert_eq!(ratio("1 MiB, fetched in order"), (Some(1.28), None));
        assert_eq!(ratio("empty barrier, 2 nodes"), (Some(3.0), Some(true)));
        assert_eq!(ratio("write fault, page at home here"), (None, None));
        assert!(!document.is_met());
    }

    #[test]
    fn an_emulated_network_takes_what_it_says() {
        let floor = WireFloor::of_network(62.5, 100.0, 4);
        assert_eq!(floor.trips(2).word_ns, [125e3]);
        assert_eq!(floor.trips(4).page_ns, [125e3 + 40960.0]);
        assert_eq!(floor.meetings(2).unwrap(), &[62.5e3]);
        assert_eq!(floor.meetings(3).unwrap(), &[125e3]);
    }

    #[test]
    fn a_network_that_is_not_measured_says_why() {
        let error = wire_floor(&mut shell("echo no >&2; exit 125")).unwrap_err();
        assert!(error.to_string().contains("no"), "{error}");
    }
}
