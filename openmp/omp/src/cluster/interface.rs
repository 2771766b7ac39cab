//! What somebody else provides: the connection of the nodes.

use super::parts::{Dealt, PartedLoop};
use fathomp_types::SiteId;
use std::io;

/// What connects the nodes. All of it may be called by several threads at a
/// time unless it says otherwise.
///
/// Nothing here returns an error: if a node is lost or lies, the provider ends
/// this process and says why. Memory that the program shares is kept coherent
/// by the provider, at the points said here.
pub trait Cluster: Sync {
    /// This node's number, from 0.
    fn node(&self) -> u32;

    /// The process of node 0, where nodes run on several hosts.
    fn first_process(&self) -> Option<u32> {
        None
    }

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

    /// Units of a loop, which has that cell for nothing else; see [`Left::deal`](super::Left::deal). Orders
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

    /// Raises a cell that only this node raises, and for which others wait by
    /// [`wait_at`](Self::wait_at): what this node wrote before is visible to them. It need not be
    /// told anybody before somebody waits.
    fn post(&self, cell: Cell, value: u64) {
        self.put(cell, value);
    }

    /// As [`wait_in`](Self::wait_in), for a cell that only `node` raises, by
    /// [`post`](Self::post).
    fn wait_at(&self, _node: u32, region: u64, cell: Cell, at_least: u64) -> u64 {
        self.wait_in(region, cell, at_least)
    }

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

    /// What moves tasks between nodes; none if each runs where it was created.
    fn carrier(&self) -> Option<&'static dyn Carrier> {
        None
    }

    /// Ends the program on all nodes because of `reason`, a sentence.
    fn fail(&self, reason: &str) -> !;
}

/// What a [`Cluster`] does so that tasks may leave their node. The provider hands in letters by
/// [`tasks::hear`](super::tasks::hear) and arrivals at barriers by
/// [`tasks::hear_arrival`](super::tasks::hear_arrival), and has a thread that calls
/// [`tasks::attend`](super::tasks::attend) now and then, and soon after a letter has come.
pub trait Carrier: Sync {
    /// Sends bytes to another node. Between two nodes letters keep their order. Never waits.
    fn send(&self, node: u32, letter: &[u8]);

    /// What was written on this node before is visible to whoever acquires after a letter that
    /// is sent afterwards.
    fn release(&self);

    /// What was released before a letter that has come is visible on this node afterwards.
    fn acquire(&self);

    /// Has a thread call [`tasks::attend`](super::tasks::attend) soon.
    fn call(&self);

    /// This node comes to the next barrier with that word. The thread that comes to the
    /// [barrier](Cluster::barrier) afterwards gives the word that counts.
    fn arrive(&self, word: u64);

    /// Whether all nodes have come to the barrier to which this one has.
    fn all_have_come(&self) -> bool;

    /// Returns when `done` says so. Calls [`tasks::attend`](super::tasks::attend) when a letter
    /// has come. `why` says what the node's thread waits for.
    fn wait_until(&self, why: Why, done: &dyn Fn() -> bool);

    /// Threads in [`wait_until`](Self::wait_until) look again.
    fn rouse(&self);

    /// Whether all nodes have the program's function at that address.
    fn knows(&self, code: usize) -> bool;
}

/// What a thread waits for that handles letters meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// That all nodes come to a barrier.
    Barrier,
    /// That tasks are complete, some of which may be on other nodes.
    Tasks,
}

/// Name of a word that all nodes see between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub u64);
