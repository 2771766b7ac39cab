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
mod interface;
mod memory;
mod nodes;
mod order;
mod parts;
mod process;
mod region;

pub use blocks::{settle, tell};
pub(crate) use cells::{Of, of_construct, of_reductions};
pub use interface::{Carrier, Cell, Cluster, Why};
pub use memory::{allocate, free};
pub(crate) use nodes::{Nodes, installed};
#[doc(hidden)]
pub use order::is_order;
pub use parts::{Dealt, Left, PartedLoop};
pub use process::{Memory, Process, Setting, process, provide};
pub(crate) use region::Part;
pub use region::{IDLE, dismiss, serve};

use crate::parallel::LARGEST_TEAM;
use crate::sync::Names;
use crate::task::Remote;
use fathomp_sys::affinity;
use fathomp_sys::call_site::WATCH;
use fathomp_types::NodeId;
use nodes::{Blocks, ConstructMemory, INSTALLED};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// Tasks that leave their node: what a [`Carrier`] calls.
pub mod tasks {
    #[doc(hidden)]
    pub use crate::task::is_letter;
    pub use crate::task::{BadLetter, attend, hear, hear_arrival, is_due};
}

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
            lent: ConstructMemory::default(),
            blocks: Blocks::default(),
            code: Mutex::default(),
            remote: cluster
                .carrier()
                .map(|carrier| Remote::new(cluster, carrier)),
        }));
        INSTALLED.0.store(Some(nodes), Ordering::Release);
        WATCH.set(true, true);
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

/// This node's number and the process number of node 0, whose children the others are unless
/// they run on other hosts, if this process is a node.
pub(crate) fn identity() -> Option<(NodeId, u32)> {
    let cluster = installed()?.cluster;
    let node = cluster.node();
    let first = cluster.first_process().unwrap_or_else(|| match node {
        0 => std::process::id(),
        _ => std::os::unix::process::parent_id(),
    });
    Some((NodeId(u16::try_from(node).unwrap_or(0)), first))
}

/// Runs in a forked child: it is no node.
pub(crate) fn leave() {
    INSTALLED.0.store(None, Ordering::Release);
}
