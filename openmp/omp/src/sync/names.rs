//! Locks of the program where it runs on several nodes: known by name.
//!
//! The memory of a lock is not used, since the nodes share no memory by
//! themselves. A node keeps what it must know about a lock here while a thread
//! of it holds the lock or wants it. Threads of a node compete for it among
//! themselves; the one that gets it asks the cluster, unless the node has the
//! lock already: it is passed on inside the node while somebody there waits,
//! but not for ever.

use super::word::Word;
use crate::cluster::{self, Cluster};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Times a lock is passed on inside a node while other nodes may wait for it.
const PASSES_MAX: u32 = 32;

const SHARDS: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Names([Shard; SHARDS]);

type Shard = Mutex<HashMap<usize, Entry>>;

#[derive(Debug)]
struct Entry {
    held: Arc<Held>,
    /// Threads that hold the lock or want it.
    users: u32,
}

/// What a node knows about a lock. Everything but `word` and `waiting` is in
/// the hands of the thread that holds `word`.
#[derive(Debug)]
struct Held {
    word: Word,
    /// Threads that wait for `word` until they get it.
    waiting: AtomicU32,
    /// The node has the lock.
    here: AtomicBool,
    /// Times it was passed on since.
    passes: AtomicU32,
    /// Nestable locks: the task that holds it, 0 if none, and how often.
    owner: AtomicUsize,
    depth: AtomicU32,
}

impl Default for Names {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Names {
    fn shard(&self, name: usize) -> MutexGuard<'_, HashMap<usize, Entry>> {
        // Locks are 4 to 16 bytes wide; neighbours go to different shards.
        let shard = (name >> 2 ^ name >> 8) % SHARDS;
        self.0[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, name: usize) -> Arc<Held> {
        let mut shard = self.shard(name);
        let entry = shard.entry(name).or_insert_with(|| Entry {
            held: Arc::new(Held {
                word: Word::new(),
                waiting: AtomicU32::new(0),
                here: AtomicBool::new(false),
                passes: AtomicU32::new(0),
                owner: AtomicUsize::new(0),
                depth: AtomicU32::new(0),
            }),
            users: 0,
        });
        entry.users += 1;
        Arc::clone(&entry.held)
    }

    fn quit(&self, name: usize) {
        let mut shard = self.shard(name);
        if let Some(entry) = shard.get_mut(&name) {
            entry.users -= 1;
            if entry.users == 0 {
                shard.remove(&name);
            }
        }
    }

    fn find(&self, name: usize) -> Option<Arc<Held>> {
        self.shard(name)
            .get(&name)
            .map(|entry| Arc::clone(&entry.held))
    }

    /// How often the task that asks, which holds it, has taken a nestable lock.
    pub(super) fn depth(&self, name: usize) -> u32 {
        let held = self.find(name);
        held.map_or(0, |held| held.depth.load(Ordering::Relaxed))
    }

    /// Takes a lock; `patience` as of [`Word::wait`].
    pub(super) fn acquire(&self, cluster: &dyn Cluster, name: usize, patience: u32) {
        self.acquire_held(cluster, name, patience);
    }

    fn acquire_held(&self, cluster: &dyn Cluster, name: usize, patience: u32) -> Arc<Held> {
        cluster::settle();
        let held = self.join(name);
        if !held.word.try_acquire() {
            held.waiting.fetch_add(1, Ordering::Relaxed);
            held.word.wait(patience);
            held.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        if !held.here.load(Ordering::Relaxed) {
            cluster.acquire(name as u64);
            held.arrived();
        }
        held
    }

    /// Takes a lock if it is free.
    pub(super) fn try_acquire(&self, cluster: &dyn Cluster, name: usize) -> bool {
        self.try_acquire_held(cluster, name).is_some()
    }

    fn try_acquire_held(&self, cluster: &dyn Cluster, name: usize) -> Option<Arc<Held>> {
        cluster::settle();
        let held = self.join(name);
        if held.word.try_acquire() {
            if held.here.load(Ordering::Relaxed) {
                return Some(held);
            }
            if cluster.try_acquire(name as u64) {
                held.arrived();
                return Some(held);
            }
            held.word.release();
        }
        self.quit(name);
        None
    }

    /// Gives a lock back. What this node does not hold, it cannot give back.
    pub(super) fn release(&self, cluster: &dyn Cluster, name: usize) {
        if let Some(held) = self.find(name) {
            self.release_held(cluster, name, &held);
        }
    }

    fn release_held(&self, cluster: &dyn Cluster, name: usize, held: &Held) {
        if !held.here.load(Ordering::Relaxed) {
            return;
        }
        let passes = held.passes.load(Ordering::Relaxed);
        // The thread that waits will get the word, so the lock does not stay here unused.
        if held.waiting.load(Ordering::Relaxed) != 0 && passes < PASSES_MAX {
            held.passes.store(passes + 1, Ordering::Relaxed);
        } else {
            held.here.store(false, Ordering::Relaxed);
            cluster.release(name as u64);
        }
        held.word.release();
        self.quit(name);
    }

    /// Takes a nestable lock for `task`, perhaps once more.
    pub(super) fn acquire_nest(
        &self,
        cluster: &dyn Cluster,
        name: usize,
        task: usize,
        patience: u32,
    ) {
        let held = match self.mine(name, task) {
            Some(held) => held,
            None => self.acquire_held(cluster, name, patience),
        };
        held.deepen(task);
    }

    /// The same if no other task holds it; how often `task` then holds it.
    pub(super) fn try_acquire_nest(&self, cluster: &dyn Cluster, name: usize, task: usize) -> u32 {
        let mine = self.mine(name, task);
        mine.or_else(|| self.try_acquire_held(cluster, name))
            .map_or(0, |held| held.deepen(task))
    }

    /// Gives a nestable lock back once.
    pub(super) fn release_nest(&self, cluster: &dyn Cluster, name: usize) {
        let Some(held) = self.find(name) else { return };
        let depth = held.depth.load(Ordering::Relaxed).saturating_sub(1);
        held.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            held.owner.store(0, Ordering::Relaxed);
            self.release_held(cluster, name, &held);
        }
    }

    /// The lock, if `task` holds it. Other tasks change the owner, but never
    /// to or from this one.
    fn mine(&self, name: usize, task: usize) -> Option<Arc<Held>> {
        self.find(name)
            .filter(|held| held.owner.load(Ordering::Relaxed) == task)
    }
}

impl Held {
    /// The node has got the lock.
    fn arrived(&self) {
        self.here.store(true, Ordering::Relaxed);
        self.passes.store(0, Ordering::Relaxed);
    }

    fn deepen(&self, task: usize) -> u32 {
        self.owner.store(task, Ordering::Relaxed);
        let depth = self.depth.load(Ordering::Relaxed) + 1;
        self.depth.store(depth, Ordering::Relaxed);
        depth
    }
}
