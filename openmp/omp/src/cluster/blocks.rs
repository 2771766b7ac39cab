//! What `single` blocks without a barrier write, for those who update it at once.
//!
//! Programs set a sum to zero in such a block and add to it afterwards, atomically
//! and without a barrier between. On one machine the zero is in memory long before
//! the first sum is ready. Between nodes nobody would see it before the next
//! barrier, and the addition would be lost. So a member that enters a lock or an
//! atomic instruction waits first for the blocks that other nodes run, and whoever
//! ran one says so, at the latest when it does the same, at its next barrier, or
//! when its node has been quiet for a while.

use super::interface::Cell;
use super::nodes::{Nodes, installed};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    static SELF: u8 = const { 0 };
}

/// Distinguishes threads.
fn me() -> usize {
    SELF.with(|byte| std::ptr::from_ref(byte).addr())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Nodes {
    /// The calling thread will run a block, or nobody of this node will; `cell`
    /// says when it has been run.
    pub(crate) fn claimed(&self, cell: Cell, here: bool) {
        if here {
            lock(&self.blocks.here).push((me(), cell));
        } else {
            lock(&self.blocks.elsewhere).push(cell);
        }
        self.blocks.some.store(true, Ordering::Release);
    }

    /// Tells of blocks that have been run here: those of the calling thread, or
    /// all.
    fn tell(&self, all: bool) {
        let me = me();
        let told: Vec<_> = lock(&self.blocks.here)
            .extract_if(.., |(thread, _)| all || *thread == me)
            .collect();
        for (_, cell) in told {
            self.cluster.put(cell, 1);
        }
    }

    /// All threads of this node are at a barrier.
    pub(crate) fn pass_blocks(&self) {
        if self.blocks.some.swap(false, Ordering::Acquire) {
            self.tell(true);
            lock(&self.blocks.elsewhere).clear();
        }
    }

    /// The calling thread is about to wait for tasks, which may wait for its blocks.
    pub(crate) fn tell_own_blocks(&self) {
        if self.blocks.some.load(Ordering::Acquire) {
            self.tell(false);
        }
    }

    fn settle(&self) {
        if self.blocks.some.load(Ordering::Acquire) {
            self.tell(false);
            // Others who come meanwhile must wait as well.
            let mut elsewhere = lock(&self.blocks.elsewhere);
            for cell in elsewhere.drain(..) {
                self.cluster.wait(cell, 1);
            }
        }
    }
}

/// The calling thread is about to enter a lock or an atomic instruction.
#[inline]
pub fn settle() {
    if let Some(nodes) = installed() {
        nodes.settle();
    }
}

/// The calling thread waits for others in its own way, or (`all`) this node has
/// been quiet for a while.
pub fn tell(all: bool) {
    if let Some(nodes) = installed().filter(|nodes| nodes.blocks.some.load(Ordering::Acquire)) {
        nodes.tell(all);
    }
}
