//! The cluster at work: an event after the other, by time.
//!
//! A node handles one message after the other; its threads have processors of
//! their own. What a message makes its node do takes effect when the node begins
//! with it, and what it sends leaves when that is done.

mod act;
mod meet;
mod queue;
mod regions;
mod thread;

use crate::desk::Desk;
use crate::homes;
use crate::least::Least;
use crate::memory::{Memory, Size};
use crate::outcome::{NodeOutcome, Outcome};
use crate::setting::{Setting, Sharing};
use act::Tally;
use fathomp_access_trace::Accesses;
use fathomp_driver::Driver;
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_protocols::{Action, AreaError, Input, Protocol, Violation};
use fathomp_types::NodeId;
use meet::Meeting;
use queue::{Event, Parcel, Queue};
use regions::{OUTSIDE, Regions};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use thread::Runner;

/// Accesses cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nobody to run it.
    #[error("a cluster has at least one node")]
    NoNode,
    /// More nodes than threads.
    #[error(
        "{nodes} nodes need the accesses of {nodes} threads, and these are of {threads}: record on {nodes} nodes, or extrapolate from several recordings"
    )]
    TooManyNodes {
        /// Nodes asked for.
        nodes: u16,
        /// Threads there are.
        threads: usize,
    },
    /// Memory that cannot be shared.
    #[error("such memory cannot be shared: {0}")]
    Areas(#[from] AreaError),
    /// The accesses are of no correct program.
    #[error("node {node}: {violation}: these are no accesses of a correct program")]
    Violation {
        /// Where.
        node: NodeId,
        /// Why.
        violation: Violation,
    },
    /// The protocol asked for something that makes no sense.
    #[error("node {node}: the protocol asked for something impossible: {what}")]
    Action {
        /// Where.
        node: NodeId,
        /// What.
        what: &'static str,
    },
    /// Somebody waits for what never happens.
    #[error("thread {thread} waits for ever {what}, at the end of its interval {step}")]
    Stuck {
        /// The first such thread.
        thread: usize,
        /// The interval, from 0.
        step: usize,
        /// What for.
        what: &'static str,
    },
}

/// What happens when accesses that can be replayed ([`Accesses::check`]) are made
/// on a cluster. The same is answered every time.
///
/// # Errors
/// If the cluster cannot be, or threads wait for each other.
pub fn replay(accesses: &Accesses, setting: &Setting) -> Result<Outcome, ReplayError> {
    let (nodes, threads) = (setting.nodes, accesses.threads.len());
    if nodes == 0 {
        return Err(ReplayError::NoNode);
    }
    if usize::from(nodes) > threads {
        return Err(ReplayError::TooManyNodes { nodes, threads });
    }
    let areas = homes::areas(accesses, setting.homes, nodes);
    let acquire = accesses.loads_acquire;
    match setting.sharing {
        Sharing::Home { plain } => {
            let usual = home::Config::usual(nodes, areas, plain, acquire);
            let config = home::Config {
                // What the program takes by itself is not shared.
                watch_home: plain && nodes > 1,
                // Recordings of accesses know no atomic instructions, but locks.
                remembers_unseen: false,
                keeps_locks: !plain,
                heuristics: usual.heuristics.without(setting.left_out),
                ..usual
            };
            run(accesses, setting, |me| {
                Ok(Box::new(Home::new(me, config.clone())?))
            })
        }
        Sharing::Homeless { plain, memory_mib } => {
            let usual = homeless::Config::usual(nodes, areas, memory_mib, plain, acquire);
            let config = homeless::Config {
                remembers_unseen: false,
                heuristics: usual.heuristics.without(setting.left_out),
                ..usual
            };
            run(accesses, setting, |me| {
                Ok(Box::new(Homeless::new(me, config.clone())?))
            })
        }
    }
}

/// A protocol, whichever it is.
type AnyProtocol = Box<dyn Protocol<Size>>;

fn run(
    accesses: &Accesses,
    setting: &Setting,
    protocol: impl Fn(NodeId) -> Result<AnyProtocol, AreaError>,
) -> Result<Outcome, ReplayError> {
    let mut world = World::new(accesses, setting, protocol)?;
    world.run()?;
    world.outcome()
}

struct Node {
    /// None in the middle of a step.
    driver: Option<Driver<AnyProtocol, Size>>,
    memory: Memory,
    /// Numbers of its threads, in order.
    threads: std::ops::Range<usize>,
    meeting: Meeting,
    /// What has arrived while the node was busy.
    waiting: VecDeque<(NodeId, Parcel)>,
    /// It handles a message.
    busy: bool,
    /// The region that it is in.
    region: usize,
    /// By region.
    outcomes: Vec<NodeOutcome>,
}

impl Node {
    /// What is counted in the region that it is in.
    fn outcome(&mut self) -> &mut NodeOutcome {
        &mut self.outcomes[self.region]
    }
}

struct World<'a> {
    accesses: &'a Accesses,
    setting: &'a Setting,
    nodes: Vec<Node>,
    runners: Vec<Runner>,
    /// By node: until when its link is busy outwards and inwards.
    links: Vec<[AtomicU64; 2]>,
    queue: Queue,
    regions: Regions,
    desk: Desk,
    least: Least,
    /// A message as bytes, to know how many they are.
    bytes: Vec<u8>,
}

impl<'a> World<'a> {
    fn new(
        accesses: &'a Accesses,
        setting: &'a Setting,
        protocol: impl Fn(NodeId) -> Result<AnyProtocol, AreaError>,
    ) -> Result<Self, ReplayError> {
        let threads = accesses.threads.len();
        let runners: Vec<_> = (0..threads)
            .map(|thread| Runner::new(homes::node_of(thread, threads, setting.nodes)))
            .collect();
        let regions = Regions::of(accesses.threads.first());
        let mut nodes = Vec::with_capacity(usize::from(setting.nodes));
        for me in (0..setting.nodes).map(NodeId) {
            let first = runners.partition_point(|runner| runner.node < me);
            let end = runners.partition_point(|runner| runner.node <= me);
            let protocol = protocol(me)?;
            let memory = first_memory(&protocol, me, accesses)?;
            nodes.push(Node {
                driver: Some(Driver::new(me, protocol)),
                memory,
                threads: first..end,
                meeting: Meeting::default(),
                waiting: VecDeque::new(),
                busy: false,
                region: OUTSIDE,
                outcomes: vec![NodeOutcome::default(); regions.count()],
            });
        }
        let least = Least::new(runners.iter().map(|r| r.node), accesses.page_bytes);
        Ok(Self {
            accesses,
            setting,
            links: nodes.iter().map(|_| Default::default()).collect(),
            nodes,
            runners,
            queue: Queue::default(),
            regions,
            desk: Desk::default(),
            least,
            bytes: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<(), ReplayError> {
        for thread in 0..self.runners.len() {
            self.queue.push(0, Event::Run(thread));
        }
        while let Some((now_ns, event)) = self.queue.pop() {
            match event {
                Event::Run(thread) => self.go_on(thread, now_ns)?,
                Event::Arrive { from, to, parcel } => {
                    let wake_ns = self.setting.costs.wake_ns;
                    let sleeps = wake_ns > 0 && from != to && self.computes(to);
                    let node = &mut self.nodes[usize::from(to.0)];
                    if !node.busy && !sleeps {
                        self.handle(from, to, parcel, now_ns)?;
                        continue;
                    }
                    node.waiting.push_back((from, parcel));
                    if !std::mem::replace(&mut node.busy, true) {
                        let awake_ns = now_ns.saturating_add(wake_ns);
                        self.queue.push(awake_ns, Event::Free(to));
                    }
                }
                Event::Free(at) => {
                    let node = &mut self.nodes[usize::from(at.0)];
                    node.busy = false;
                    if let Some((from, parcel)) = node.waiting.pop_front() {
                        self.handle(from, at, parcel, now_ns)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether no thread of a node waits, so that none looks for messages.
    fn computes(&self, at: NodeId) -> bool {
        let threads = self.nodes[usize::from(at.0)].threads.clone();
        self.runners[threads].iter().all(Runner::computes)
    }

    /// A node begins with a message.
    fn handle(
        &mut self,
        from: NodeId,
        to: NodeId,
        parcel: Parcel,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        let mut clock_ns = now_ns;
        if from != to {
            clock_ns = clock_ns.saturating_add(self.setting.costs.message_ns);
        }
        match parcel {
            Parcel::Protocol { message, carries } => {
                if carries {
                    clock_ns = clock_ns.saturating_add(self.setting.costs.content_ns);
                }
                let mut tally = Tally::default();
                let input = Input::Message { from, message };
                self.step(to, input, &mut clock_ns, &mut tally)?;
                tally.close(&mut self.nodes[usize::from(to.0)].outcome().counts);
            }
            Parcel::Arrived(epoch) => self.arrived(epoch, clock_ns),
            Parcel::Passed => self.passed(to, clock_ns),
            Parcel::Wish {
                thread,
                epoch,
                cell,
                wish,
            } => self.wished(thread, epoch, cell, wish, clock_ns),
            Parcel::Answer(thread) => self.answered(thread, clock_ns)?,
        }
        let node = &mut self.nodes[usize::from(to.0)];
        node.outcome().handling_ns += clock_ns - now_ns;
        if clock_ns > now_ns || !node.waiting.is_empty() {
            node.busy = true;
            self.queue.push(clock_ns, Event::Free(to));
        }
        Ok(())
    }

    fn outcome(self) -> Result<Outcome, ReplayError> {
        // Threads that wait for work when the first one has ended are done.
        let first = self.runners.first().and_then(|runner| runner.exit_ns);
        let barriers = self.runners.first().map_or(0, |runner| runner.barriers);
        for (thread, runner) in self.runners.iter().enumerate() {
            let is_idle = runner.barriers > barriers && first.is_some();
            if runner.exit_ns.is_none() && !is_idle {
                return Err(ReplayError::Stuck {
                    thread,
                    step: runner.step,
                    what: runner.waits_for(),
                });
            }
        }
        let ends = self.runners.iter().filter_map(|runner| runner.exit_ns);
        let mut regions = self.regions.outcomes();
        for (number, region) in regions.iter_mut().enumerate() {
            let nodes = self.nodes.iter().map(|node| &node.outcomes[number]);
            region.all = nodes.sum();
        }
        let nodes = self.nodes.iter().map(|node| node.outcomes.iter().sum());
        Ok(Outcome {
            time_ns: ends.max().unwrap_or(0),
            nodes: nodes.collect(),
            regions,
            events: self.queue.pushed(),
        })
    }
}

/// A node's pages as its protocol wants them at the start, when all may be written.
fn first_memory(
    protocol: &AnyProtocol,
    me: NodeId,
    accesses: &Accesses,
) -> Result<Memory, ReplayError> {
    let mut memory = Memory::of_pages_as(accesses);
    let mut actions = Vec::new();
    protocol.start(&mut actions);
    for action in actions {
        match action {
            Action::Protect(pages, protection) => memory.start(pages, protection),
            _ => {
                return Err(ReplayError::Action {
                    node: me,
                    what: "something else than to protect pages at the start",
                });
            }
        }
    }
    Ok(memory)
}
