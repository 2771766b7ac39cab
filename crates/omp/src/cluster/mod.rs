//! Regions whose members are spread over several processes, the *nodes*.
//!
//! Every node runs this runtime. Node 0 runs the program; the others wait in
//! [`serve`] for regions. A region that is spread has a team on every node
//! that has members of it, an ordinary team whose thread numbers begin at the
//! node's first one. What the teams must agree on goes through a [`Cluster`],
//! which somebody else provides: barriers, locks by name, and words that all
//! nodes see. Without one, all this costs a test of a pointer.
//!
//! `README.md` beside this file says who has which number, what happens at
//! barriers, and what every construct asks of the cluster.

mod blocks;
mod cells;
mod memory;
mod order;
mod parts;
mod region;

pub use blocks::{settle, tell};
pub(crate) use cells::{Of, of_construct, of_reductions};
pub use memory::{allocate, free};
#[doc(hidden)]
pub use order::is_order;
pub use parts::{Dealt, Left, PartedLoop};
pub(crate) use region::Part;
pub use region::{dismiss, serve};

use crate::parallel::LARGEST_TEAM;
use crate::sync::Names;
use blocks::Blocks;
use fathomp_base::{NodeId, SiteId};
use fathomp_sys::affinity;
use fathomp_sys::outlined::Outlined;
use fathomp_sys::static_ref::AtomicRef;
use memory::Lent;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::{fmt, io};

/// What connects the nodes. All of it may be called by several threads at a
/// time unless it says otherwise.
///
/// Nothing here returns an error: if a node is lost or lies, the provider ends
/// this process and says why. Memory that the program shares is kept coherent
/// by the provider, at the points said here.
pub trait Cluster: Sync {
    /// This node's number, from 0.
    fn node(&self) -> u32;

    /// How many nodes there are; the same everywhere.
    fn nodes(&self) -> u32;

    /// Threads per node that the user wants; the same everywhere, at least 1.
    fn threads_per_node(&self) -> u32;

    /// Processors that this node's threads have for themselves, at least 1:
    /// tells how long it makes sense to poll.
    fn processors(&self) -> u32;

    /// Whether the other nodes have the code at `code`, and reach the memory of
    /// a thread whose stack has the address `stack`: not if the code was loaded
    /// later, nor if the program has started the thread by itself.
    fn reaches(&self, code: usize, stack: usize) -> bool;

    /// All nodes meet; called by one thread of each, while no other thread of
    /// the node's team runs code of the program. What any node wrote before is
    /// visible to all afterwards. Returns all nodes' words, or-ed. All cells
    /// vanish.
    fn barrier(&self, word: u64) -> u64;

    /// Node 0: the region with that outlined function, entered by the call at that
    /// address, begins with the next [fork](Self::fork); zeros: it has ended.
    fn names_region(&self, _function: usize, _call: usize) {}

    /// Node 0, right before a barrier: the other nodes get `order` with it, for the
    /// region at `site` if it is recorded.
    fn fork(&self, order: &[u8], site: SiteId);

    /// On the other nodes, after a barrier: the order that came with it.
    fn next_order(&self) -> Option<Vec<u8>>;

    /// Waits for the lock with that name. What was written on any node before
    /// it was given back is visible afterwards.
    fn acquire(&self, lock: u64);

    /// The same if nobody holds it; whether it did.
    fn try_acquire(&self, lock: u64) -> bool;

    /// Gives back a lock this node holds, perhaps by another thread than took
    /// it.
    fn release(&self, lock: u64);

    /// Adds to a cell, which is 0 at first; returns what it was before. Orders
    /// nothing else.
    fn add(&self, cell: Cell, amount: u64) -> u64;

    /// Units of a loop, which has that cell for nothing else; see [`Left::deal`]. Orders
    /// nothing else.
    fn deal(&self, cell: Cell, parted: PartedLoop, most: u64) -> Dealt;

    /// Raises a cell to `value` if it is less. What this node wrote before is
    /// visible to whoever waits for the cell.
    fn put(&self, cell: Cell, value: u64);

    /// Waits until a cell is at least that much, and returns it. What was
    /// written before it was put there is visible afterwards.
    fn wait(&self, cell: Cell, at_least: u64) -> u64;

    /// The same, but if the region with that number is cancelled, on whichever node, the
    /// cell is raised to `u64::MAX`: whoever was to put something there may have left.
    fn wait_in(&self, region: u64, cell: Cell, at_least: u64) -> u64;

    /// Tells the other nodes soon that the region with this number is cancelled.
    /// Numbers grow.
    fn cancel(&self, region: u64);

    /// Number of the last region that a node has cancelled; 0 if none.
    fn cancelled(&self) -> u64;

    /// Zeroed memory at the same address on all nodes, as aligned as asked (a
    /// power of two). Others see the zeroes as they would see a write of this
    /// node.
    fn allocate(&self, bytes: usize, align: usize) -> Option<usize>;

    /// Gives back what [`Cluster::allocate`] returned on this node.
    fn free(&self, address: usize);

    /// Starts a thread that can run code of the program: one whose stack and
    /// thread-local variables the other nodes can reach.
    ///
    /// # Errors
    /// If the system refuses.
    fn spawn(
        &self,
        name: String,
        stack_bytes: usize,
        run: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()>;

    /// Ends the program on all nodes because of `reason`, a sentence.
    fn fail(&self, reason: &str) -> !;
}

/// Name of a word that all nodes see between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub u64);

/// This node's side of the cluster.
pub(crate) struct Nodes {
    pub(crate) cluster: &'static dyn Cluster,
    /// A region is spread at the moment; there can be one at a time.
    busy: AtomicBool,
    /// Regions that were spread until now, the present one included.
    regions: AtomicU64,
    /// Locks that threads of this node hold or wait for.
    pub(crate) locks: Names,
    lent: Lent,
    blocks: Blocks,
    /// Functions that regions have run.
    code: Mutex<HashMap<usize, Outlined>>,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Nodes({} of {})",
            self.cluster.node(),
            self.cluster.nodes()
        )
    }
}

impl Nodes {
    /// Threads that the user wants on all nodes together.
    pub(crate) fn all_threads(&self) -> u32 {
        self.cluster
            .nodes()
            .saturating_mul(self.cluster.threads_per_node())
            .min(LARGEST_TEAM)
    }

    /// Ends the program because of `reason`.
    fn fail(&self, reason: fmt::Arguments) -> ! {
        self.cluster.fail(&reason.to_string())
    }

    /// The system has refused threads that other nodes count on.
    #[cold]
    pub(crate) fn lack_threads(&self, missing: u32) -> ! {
        self.fail(format_args!(
            "the system refuses {missing} of the threads that a region needs on node {}: \
             ask for fewer threads or raise the limit (ulimit -u)",
            self.cluster.node()
        ))
    }
}

/// On a line of its own, since every lock looks at it.
#[repr(align(128))]
struct Apart(AtomicRef<Nodes>);

static INSTALLED: Apart = Apart(AtomicRef::new(None));

/// Makes this process a node. To be called before the program's first OpenMP
/// construct, once. A cluster of one node changes nothing.
///
/// Where the program's constructors have used OpenMP, its runtime is there already: what
/// they have set stays, and it is recorded from now on.
pub fn install(cluster: &'static dyn Cluster) {
    if cluster.nodes() > 1 {
        let nodes = Box::leak(Box::new(Nodes {
            cluster,
            busy: AtomicBool::new(false),
            regions: AtomicU64::new(0),
            locks: Names::default(),
            lent: Lent::default(),
            blocks: Blocks::default(),
            code: Mutex::default(),
        }));
        INSTALLED.0.store(Some(nodes), Ordering::Release);
        crate::runtime::become_node();
    }
}

/// What is known of a cluster before this process is a node of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Nodes.
    pub nodes: u32,
    /// Threads per node that the user wants.
    pub threads_per_node: u32,
}

static EXPECTED: OnceLock<Expected> = OnceLock::new();

/// This process will be a node. To be called before anything else of the runtime: what
/// constructors ask for is answered by it.
pub fn expect(expected: Expected) {
    let _ = EXPECTED.set(expected);
}

/// Of a cluster that is there, or will be: processors for the threads of this process, and
/// threads of a region that asks for none.
pub(crate) fn sizes() -> Option<[u32; 2]> {
    if let Some(nodes) = installed() {
        return Some([nodes.cluster.processors(), nodes.all_threads()]);
    }
    let expected = EXPECTED.get()?;
    let threads = expected.nodes.saturating_mul(expected.threads_per_node);
    Some([
        (affinity::allowed_count() / expected.nodes).max(1),
        threads.min(LARGEST_TEAM),
    ])
}

/// Whether this process will be a node and is none yet.
pub(crate) fn is_awaited() -> bool {
    installed().is_none() && EXPECTED.get().is_some()
}

/// The calling thread, which will run the program, gives back the threads that regions of
/// constructors have used: their stacks are no node's.
pub fn depart() {
    crate::runtime::send_workers_away();
}

/// The thread that has called [`depart`] goes on as the first of node 0.
pub fn arrive() {
    crate::worker::record_anew();
}

/// Whether this process is a node of a cluster.
#[inline]
#[must_use]
pub fn is_node() -> bool {
    installed().is_some()
}

/// Whether a region of this node's is spread over nodes now.
#[must_use]
pub fn is_spread() -> bool {
    installed().is_some_and(|nodes| nodes.busy.load(Ordering::Relaxed))
}

/// The cluster, if this process is a node of one.
#[inline]
pub(crate) fn installed() -> Option<&'static Nodes> {
    INSTALLED.0.load(Ordering::Acquire)
}

/// This node's number and the process number of node 0, whose children the
/// others are, if this process is a node.
pub(crate) fn identity() -> Option<(NodeId, u32)> {
    let node = installed()?.cluster.node();
    let first = match node {
        0 => std::process::id(),
        _ => std::os::unix::process::parent_id(),
    };
    Some((NodeId(u16::try_from(node).unwrap_or(0)), first))
}

/// Runs in a forked child: it is no node.
pub(crate) fn leave() {
    INSTALLED.0.store(None, Ordering::Release);
}
