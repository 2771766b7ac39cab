//! The lock under all mutual exclusion of the interface.

use super::word::Word;
use crate::cluster::{self, Nodes};
use crate::observer::{self, Mutex};
use crate::team::Member;
use crate::worker::current;
use fathomp_sys::call_site::{WATCH, call_site};

/// Pauses, some tenths of a millisecond, after which even a thread that would
/// wait actively elsewhere sleeps: whoever holds a lock that long is probably
/// not running, perhaps because it waits for this very processor.
const PATIENCE_MAX: u32 = 1 << 14;

/// A lock of four bytes (see [`super::word`]). Zeroed memory is a free lock.
#[repr(transparent)]
#[derive(Debug)]
pub struct Lock(Word);

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl Lock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self(Word::new())
    }

    /// Makes it a free lock, whatever it was.
    pub fn reset(&self) {
        if cluster::installed().is_none() {
            self.0.reset();
        }
    }

    /// What a tool knows it by.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u64 {
        self.name() as u64
    }

    /// What it is known by among the nodes of a cluster.
    fn name(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes it for the program, which wants it as `kind` says; a wait is that of the entry point
    /// that was called last.
    #[inline]
    pub fn take(&self, kind: Mutex) {
        if WATCH.is_on() {
            self.take_watched(kind);
        } else {
            self.acquire_unwatched(kind);
        }
    }

    #[inline]
    pub(super) fn acquire_unwatched(&self, kind: Mutex) {
        if !self.0.try_acquire() {
            self.acquire_contended(kind, 0);
        }
    }

    #[cold]
    fn take_watched(&self, kind: Mutex) {
        let call = call_site();
        observer::mutex(kind, 0, self.number(), || self.acquire(kind, call));
    }

    /// The same if it is free; whether it was.
    #[inline]
    #[must_use]
    pub fn try_take(&self, kind: Mutex) -> bool {
        match WATCH.is_on() {
            true => self.try_take_watched(kind),
            false => self.0.try_acquire(),
        }
    }

    #[cold]
    fn try_take_watched(&self, kind: Mutex) -> bool {
        observer::try_mutex(kind, self.number(), || self.try_acquire())
    }

    /// Gives it back for the program. Giving back a free lock has no effect.
    #[inline]
    pub fn give(&self, kind: Mutex) {
        match WATCH.is_on() {
            true => self.give_watched(kind),
            false => self.release_unwatched(),
        }
    }

    #[inline]
    pub(super) fn release_unwatched(&self) {
        self.0.release();
    }

    #[cold]
    fn give_watched(&self, kind: Mutex) {
        observer::released(kind, self.number(), || {
            self.release();
            true
        });
    }

    /// Takes it if it is free.
    #[inline]
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        match cluster::installed() {
            None => self.0.try_acquire(),
            Some(nodes) => nodes.locks.try_acquire(nodes.cluster, self.name()),
        }
    }

    /// Takes it; a wait is that of the construct that called from `call` (0 if that is unknown).
    #[inline]
    pub fn acquire(&self, kind: Mutex, call: usize) {
        if let Some(nodes) = cluster::installed() {
            self.acquire_named(nodes, kind, call);
        } else if !self.0.try_acquire() {
            self.acquire_contended(kind, call);
        }
        observer::mutex_taken();
    }

    #[cold]
    fn acquire_named(&self, nodes: &'static Nodes, kind: Mutex, call: usize) {
        let member = current();
        observer::waits(member, kind.wait(), call, || {
            let patience = patience(member);
            nodes.locks.acquire(nodes.cluster, self.name(), patience);
        });
    }

    #[cold]
    fn acquire_contended(&self, kind: Mutex, call: usize) {
        let member = current();
        observer::waits(member, kind.wait(), call, || self.0.wait(patience(member)));
    }

    #[cold]
    fn release_named(&self, nodes: &'static Nodes) {
        nodes.locks.release(nodes.cluster, self.name());
    }

    /// Gives it back. Giving back a free lock has no effect.
    #[inline]
    pub fn release(&self) {
        match cluster::installed() {
            None => self.0.release(),
            Some(nodes) => self.release_named(nodes),
        }
    }
}

/// Pauses before `member` sleeps for want of a lock.
pub(super) fn patience(member: &'static Member) -> u32 {
    member.team().patience().polls().min(PATIENCE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn count_under(lock: &Lock, patience: u32, threads: usize) {
        const TIMES: u64 = 5_000;
        let count = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..TIMES {
                        if !lock.try_acquire() {
                            lock.0.wait(patience);
                        }
                        // Not an atomic addition: only the lock protects it.
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                        lock.release();
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), TIMES * threads as u64);
        assert!(lock.try_acquire(), "it is free again");
    }

    #[test]
    fn nobody_is_lost_or_let_in_twice() {
        for patience in [0, 1, 100, 100_000] {
            count_under(&Lock::new(), patience, 8);
        }
    }

    #[test]
    fn a_held_lock_is_not_taken_again() {
        let lock = Lock::new();
        assert!(lock.try_acquire());
        assert!(!lock.try_acquire());
        lock.release();
        lock.release();
        assert!(lock.try_acquire());
    }
}
