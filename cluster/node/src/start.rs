//! How a process becomes several nodes.
//!
//! The process forks after its libraries and its own constructors have run and
//! before `main`, so that code, variables, libraries and environment agree on
//! all nodes by construction; processes that are started apart, on several hosts,
//! [meet](crate::hosts) before that. Each node then replaces the memory behind the
//! shared range by its own.

use crate::activity::Activity;
use crate::blocks;
use crate::engine::Host;
use crate::hosts::{self, Facts, MeetError, Met};
use crate::layout::{Layout, Shared, StackBytes};
use crate::memory;
use crate::node::current::become_node;
use crate::node::{Node, Parts, Size};
use crate::observer::{self, Observer, asked_to_watch};
use crate::profile::Profile;
use crate::sharing::{Sharing, SharingError};
use crate::slots::{self, Hooks, Slots, THREADS};
use crate::waits::Traits;
use fathomp_launch::{Cluster, ClusterError, Faults, WatchError, of_this_process};
use fathomp_omp::interposer;
use fathomp_sys::affinity;
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::cluster::alike::OwnPages;
use fathomp_sys::cluster::backing::Backing;
use fathomp_sys::cluster::deferral;
use fathomp_sys::cluster::image;
use fathomp_sys::cluster::pages::{self, Area, Pages, Scheme};
use fathomp_sys::cluster::process::{self, Forked};
use fathomp_sys::cluster::thread::{Stacks, starting_ours};
use fathomp_sys::process::{sleep_to_the_moment, without_null};
use fathomp_sys::shm;
use fathomp_transport::Net;
use fathomp_transport::Transport;
use fathomp_transport::local::{Fabric, Limits};
use fathomp_transport::tcp::HostsTransport;
use fathomp_types::NodeId;
use std::io;
use std::ops::Range;

/// Libraries of which a program must have been linked with one to become a cluster.
const OPENMP: [&str; 5] = [
    "libgomp.so.1",
    "libomp.so.5",
    "libomp.so",
    "libomp5.so",
    "libiomp5.so",
];

fn program_has_openmp() -> bool {
    OPENMP.iter().any(|name| image::program_needs(name))
}

pub use crate::node::current::node;

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    nodes: u16,
    scheme: Scheme,
    net: Option<Net>,
    sharing: Sharing,
}

impl Plan {
    /// How many nodes.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    /// How accesses to pages are noticed, for [`Pages::take_over`].
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }
}

/// A process could not become a cluster.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment asks for something impossible.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The environment asks for notes that cannot be taken.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Its stacks would have to be executable.
    #[error(
        "the program runs code on its stack (gcc's nested functions whose address is taken, \
         Fortran's internal procedures that are passed on), which nodes cannot do: \
         run it on one node, or link it with -z noexecstack if it does not"
    )]
    ExecutableStack,
    /// An address range is taken.
    #[error("cannot reserve addresses for what the nodes share: {0}{limit}", limit = limit_on_addresses())]
    Reserve(#[source] io::Error),
    /// Other hosts' processes.
    #[error(transparent)]
    Meet(#[from] MeetError),
    /// No memory for messages.
    #[error("cannot connect the nodes: {0}")]
    Connect(#[source] io::Error),
    /// A process is missing.
    #[error("cannot start a node's process: {0}{limit}", limit = limit_on_processes(.0))]
    Fork(#[source] io::Error),
    /// Only node 0 has the standard input.
    #[error("cannot take the standard input from a node: {0}{lacking}", lacking = without_null(.0))]
    Input(#[source] io::Error),
    /// Memory cannot be watched.
    #[error("cannot share the program's memory: {0}")]
    Share(#[source] io::Error),
    /// The protocol cannot start.
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

/// What mends that addresses are refused, if there is a limit.
fn limit_on_addresses() -> String {
    match shm::address_limit() {
        Some(bytes) => format!(
            "; this process may have {} MiB of them, used or not: lift that (ulimit -v unlimited)",
            bytes >> 20
        ),
        None if shm::reserves_nothing() => {
            "; this system promises no more memory than it has (vm.overcommit_memory is 2), and \
             addresses that may be written count: let it (sysctl vm.overcommit_memory=0)"
                .to_owned()
        }
        None => String::new(),
    }
}

/// What mends that a process is refused, if it was one too many.
fn limit_on_processes(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            ": start fewer nodes, or raise the limit (ulimit -u, or the container's)"
        }
        _ => "",
    }
}

/// What the environment asks for: a cluster, if this is a program that can
/// become one.
///
/// # Errors
/// If it asks for something impossible.
pub fn plan() -> Result<Option<Plan>, StartError> {
    let get = &of_this_process;
    // What else may be wrong does not matter to a program that stays alone.
    let wanted = fathomp_launch::nodes(get)? > 1 && program_has_openmp();
    if !wanted {
        return Ok(None);
    }
    if image::program_executes_stacks() {
        return Err(StartError::ExecutableStack);
    }
    let Some(cluster) = Cluster::from_env(get)? else {
        return Ok(None);
    };
    let watch = fathomp_launch::Watch::from_env(get)?;
    Ok(Some(Plan {
        nodes: cluster.nodes,
        scheme: scheme(cluster.faults, watch.as_ref()),
        net: cluster.network.map(Net::from),
        sharing: Sharing::new(cluster),
    }))
}

/// Whether the program has no OpenMP of its own, but a library that was loaded
/// with it has.
#[must_use]
pub fn only_libraries_have_openmp() -> bool {
    !program_has_openmp() && OPENMP.iter().any(|name| image::library_needs(name))
}

/// How accesses are to be noticed.
fn scheme(asked: Option<Faults>, watch: Option<&fathomp_launch::Watch>) -> Scheme {
    match asked {
        // Pages that are opened and closed for each instruction are cheaper so.
        None if observer::opens_for_instructions(watch) => Scheme::Protections,
        None => Scheme::best(),
        Some(Faults::Userfault) => Scheme::Userfaults,
        Some(Faults::Mprotect) => Scheme::Protections,
    }
}

/// Prepares for it: from now on the program's blocks come from the shared heap.
/// To be called before the program's constructors run. `interposer` is an address in the code of the
/// library that records paging, 0 if there is none: its blocks are its own.
///
/// # Errors
/// If an address range is taken.
pub fn prepare(plan: Plan, interposer: usize) -> Result<(), StartError> {
    memory::set_up(plan.nodes, interposer).map_err(StartError::Reserve)?;
    if observer::notes_blocks() {
        blocks::note_all();
    }
    Ok(())
}

/// A process that has become a node and does not share memory yet.
pub struct Forming {
    me: NodeId,
    size: Size,
    traits: Traits,
    layout: Layout,
    fabric: Fabric,
    sharing: Sharing,
    /// Processes of the other nodes, at node 0.
    children: Vec<u32>,
    met: Option<Met>,
    first_process: Option<u32>,
    /// When the program is ended, if shared lines are looked for.
    stops_ns: Option<u64>,
}

/// A process that knows where everything will be, and its host among all hosts.
#[derive(Debug)]
pub struct Meeting {
    plan: Plan,
    threads: u32,
    stacks: StackBytes,
    layout: Layout,
    met: Option<Met>,
}

/// Meets the processes of other hosts, if there are some. `threads` per node, with such stacks;
/// `thread_locals` are the pages of the variables of the program's first thread.
///
/// # Errors
/// If they do not come together, or the system refuses.
pub fn meet(
    plan: Plan,
    threads: u32,
    stacks: StackBytes,
    thread_locals: Range<usize>,
) -> Result<Meeting, StartError> {
    if hosts::are_asked_for() && plan.net.is_some() {
        return Err(MeetError::Emulated.into());
    }
    let layout = Layout::new(image::program_segments(), plan.nodes, stacks)
        .with_thread_locals(thread_locals);
    pages::reserve(&layout.stacks()).map_err(StartError::Reserve)?;
    let met = hosts::meet(plan.nodes)?;
    if let (Some(Met { hosts, .. }), Some(memory)) = (&met, memory::memory()) {
        memory.share_with(hosts.nodes_of(hosts.me()));
    }
    Ok(Meeting {
        plan,
        threads,
        stacks,
        layout,
        met,
    })
}

impl Meeting {
    /// Memory that has to hold the same on all hosts before the program begins.
    #[must_use]
    pub fn areas(&self) -> Vec<Area> {
        let used = memory::memory().map_or(0, |memory| memory.used_end(NodeId(0)));
        self.layout.memory(used)
    }

    /// Compares what has to be the same on all hosts, and takes over what node 0 has in pages
    /// that differ; nothing is to be done where all nodes run on one.
    ///
    /// # Errors
    /// If something differs that must not, or another host is not heard of.
    pub fn agree(&mut self, own: &mut OwnPages<'_>) -> Result<(), StartError> {
        let Some(met) = &mut self.met else {
            return Ok(());
        };
        let heap = memory::memory().map_or(0, |memory| memory.fingerprint());
        let facts = Facts::collect(self.stacks, heap);
        Ok(met.agree(&facts, own)?)
    }

    /// The numbers of the nodes of this host.
    fn nodes_here(&self) -> Range<u16> {
        match &self.met {
            None => 0..self.plan.nodes,
            Some(Met { hosts, .. }) => hosts.nodes_of(hosts.me()),
        }
    }
}

/// Makes the other nodes of this host. Returns in each of them; only to be called while
/// there is one thread that runs, beside one that waits for what becomes of this. `traits` says
/// what the program does.
///
/// # Errors
/// If the system refuses.
pub fn fork(meeting: Meeting, traits: Traits) -> Result<(Forming, Backing), StartError> {
    let here = meeting.nodes_here();
    let Meeting {
        plan,
        threads,
        layout,
        met,
        ..
    } = meeting;
    let size = Size {
        nodes: plan.nodes,
        here: here.end - here.start,
        threads,
        processors: affinity::allowed_count(),
        left: met
            .as_ref()
            .and_then(|met| met.processors)
            .map_or_else(affinity::allowed_count, u32::from),
    };
    if plan.net.is_some() {
        // Whoever waits for a message that is under way sleeps until it arrives.
        sleep_to_the_moment();
    }
    let fabric = Fabric::new(size.here, Limits::for_nodes(size.here), plan.net)
        .map_err(StartError::Connect)?;
    let stops_ns =
        observer::time_limit_ns().map(|limit_ns| monotonic_ns().saturating_add(limit_ns));
    let mut me = NodeId(0);
    let mut children = Vec::new();
    // The process that runs on the first host is node 0; on others it is none.
    for node in here.clone().filter(|node| *node != 0) {
        match process::fork().map_err(StartError::Fork)? {
            Forked::Parent(child) => {
                fabric.announce(NodeId(node - here.start), child);
                children.push(child);
            }
            Forked::Child => {
                interposer::forked();
                me = NodeId(node);
                children.clear();
                // Node 0 tells of them.
                drop(blocks::take());
                break;
            }
        }
    }
    let first_process = met.as_ref().map(|met| met.first_process);
    let met = match met {
        Some(Met { hosts, joints, .. }) if me == NodeId(0) && here.start != 0 => {
            // They would stay open when a node has ended.
            drop(joints);
            hosts::guard(&children, &hosts)
        }
        met => met,
    };
    if let Some(memory) = memory::memory() {
        memory.become_node(me);
    }
    let backing = Backing::new().map_err(StartError::Share)?;
    // On node 0 too: a buffer ends inside a line, and others write in between.
    process::write_stdout_by_lines();
    let forming = Forming {
        me,
        size,
        traits,
        layout,
        fabric,
        sharing: plan.sharing,
        children,
        met,
        first_process,
        stops_ns,
    };
    Ok((forming, backing))
}

/// The connection of node `me` to all others, which lives as long as the process.
fn connect(me: NodeId, fabric: &Fabric, met: Option<Met>) -> io::Result<&'static dyn Transport> {
    let Some(Met { hosts, joints, .. }) = met else {
        return Ok(Box::leak(Box::new(fabric.join(me)?)));
    };
    let transport = HostsTransport::new(hosts, me, fabric, joints)?;
    let transport: &'static HostsTransport = Box::leak(Box::new(transport));
    if transport.has_neighbours() {
        let forward = || {
            interposer::ignore_this_thread();
            transport.forward_bell()
        };
        starting_ours(|| std::thread::Builder::new().spawn(forward))?;
    }
    Ok(transport)
}

impl Forming {
    /// Whether pages will be opened for single instructions.
    #[must_use]
    pub fn notes_lines(&self) -> bool {
        observer::opens_for_instructions(asked_to_watch().as_ref())
    }

    /// Memory to be shared, for [`Pages::take_over`].
    #[must_use]
    pub fn areas(&self) -> Vec<Area> {
        let used = memory::memory().map_or(0, |memory| memory.used_end(NodeId(0)));
        self.layout.memory(used)
    }

    /// Whether this is the node that runs the program.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.me == NodeId(0)
    }

    /// Memory for stacks, part of the above.
    #[must_use]
    pub fn stacks(&self) -> Range<usize> {
        self.layout.stacks()
    }

    /// Joins the others.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn join(self, pages: Pages, stacks: Stacks) -> Result<&'static Node, StartError> {
        let Self {
            me,
            size,
            traits,
            layout,
            fabric,
            sharing,
            children,
            met,
            first_process,
            stops_ns,
        } = self;
        let transport = connect(me, &fabric, met).map_err(StartError::Connect)?;
        let slots = Slots::new();
        let profile = Profile::new(THREADS);
        let observer = Observer::new(sharing.looks_for_races(), stops_ns);
        let host = Host {
            pages: &pages,
            transport,
            slots: &slots,
            profile: &profile,
            observer: observer.as_deref(),
            still: false,
        };
        let memory = Shared {
            nodes: size.nodes,
            areas: layout.homes(),
            loads_acquire: sharing.loads_acquire(traits.waits),
            remembers_unseen: traits.atomics || traits.waits != crate::Waits::Never,
            tries_locks: traits.tries_locks,
            carries: traits.carries && traits.waits == crate::Waits::Never,
        };
        let engine = sharing.start(me, memory, &host)?;
        let node = Node::new(Parts {
            size,
            waits: traits.waits,
            layout,
            children,
            first_process,
            stacks,
            transport,
            pages,
            slots,
            profile,
            engine,
            observer,
        });
        let node = Box::leak(Box::new(node));
        node.set_activity(Activity::Compute);
        become_node(node);
        slots::hook(Hooks {
            introduce: |thread| {
                if let Some(node) = self::node() {
                    node.introduce(thread);
                }
            },
            put_back: |thread| {
                if let Some(node) = self::node() {
                    node.slots().put_back(thread);
                }
            },
        });
        deferral::before_handlers(|| {
            if let Some(node) = self::node() {
                node.expect_handler();
            }
        });
        fathomp_omp::cluster::install(node);
        Ok(node)
    }
}
