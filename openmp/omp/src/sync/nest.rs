//! Nestable locks.

use super::lock::{Lock, patience};
use crate::cluster::{self, Nodes};
use crate::observer::{self, Mutex, Wait};
use crate::team::Member;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// `omp_nest_lock_t`: 16 bytes with gcc. A task that holds it may take it
/// again; it is free when it has been given back as often.
#[repr(C)]
#[derive(Debug, Default)]
pub struct NestLock {
    lock: Lock,
    /// Times the owner has taken it; written by the owner only.
    depth: AtomicU32,
    /// Identity of the task that holds it, 0 if none.
    owner: AtomicUsize,
}

impl NestLock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lock: Lock::new(),
            depth: AtomicU32::new(0),
            owner: AtomicUsize::new(0),
        }
    }

    /// Makes it a free lock, whatever it was.
    pub fn reset(&self) {
        if cluster::installed().is_some() {
            return;
        }
        self.lock.reset();
        self.depth.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
    }

    /// Takes it, waiting if another task holds it.
    #[inline]
    pub fn acquire(&self, member: &'static Member) {
        match self.named() {
            Some(named) => named.acquire(member),
            None => self.acquire_by(member, || self.lock.acquire(Mutex::NestLock, 0)),
        }
    }

    /// The same where nobody [watches](fathomp_sys::call_site::Watch).
    #[inline]
    pub fn acquire_unwatched(&self, member: &'static Member) {
        self.acquire_by(member, || self.lock.acquire_unwatched(Mutex::NestLock));
    }

    #[inline]
    fn acquire_by(&self, member: &'static Member, acquire: impl FnOnce()) {
        if !self.is_mine(member) {
            acquire();
            self.owner.store(member.task.identity(), Ordering::Relaxed);
        }
        self.deepen();
    }

    /// Takes it if no other task holds it; returns how often its owner now
    /// holds it, 0 if another task does.
    #[inline]
    #[must_use]
    pub fn try_acquire(&self, member: &'static Member) -> u32 {
        if let Some(named) = self.named() {
            return named.try_acquire(member);
        }
        if !self.is_mine(member) {
            if !self.lock.try_acquire() {
                return 0;
            }
            self.owner.store(member.task.identity(), Ordering::Relaxed);
        }
        self.deepen()
    }

    /// Gives it back once.
    #[inline]
    pub fn release(&self) {
        match self.named() {
            Some(named) => named.release(),
            None => self.release_by(|| self.lock.release()),
        }
    }

    /// The same where nobody [watches](fathomp_sys::call_site::Watch).
    #[inline]
    pub fn release_unwatched(&self) {
        self.release_by(|| self.lock.release_unwatched());
    }

    #[inline]
    fn release_by(&self, release: impl FnOnce()) {
        let depth = self.depth.load(Ordering::Relaxed).saturating_sub(1);
        self.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            self.owner.store(0, Ordering::Relaxed);
            release();
        }
    }

    /// How often its owner, who asks, holds it.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    #[inline]
    fn named(&self) -> Option<NamedNestLock> {
        NamedNestLock::find(std::ptr::from_ref(self).addr())
    }

    /// Another task may change the owner at any time, but never to or from
    /// the calling one.
    #[inline]
    fn is_mine(&self, member: &'static Member) -> bool {
        self.owner.load(Ordering::Relaxed) == member.task.identity()
    }

    #[inline]
    fn deepen(&self) -> u32 {
        let depth = self.depth.load(Ordering::Relaxed) + 1;
        self.depth.store(depth, Ordering::Relaxed);
        depth
    }
}

/// A nestable lock that the nodes of a cluster know by its address.
#[derive(Clone, Copy, Debug)]
pub struct NamedNestLock {
    nodes: &'static Nodes,
    name: usize,
}

impl NamedNestLock {
    /// The lock at `address`; none if this process is no node of a cluster,
    /// where a lock is what its memory says.
    #[inline]
    #[must_use]
    pub fn find(address: usize) -> Option<Self> {
        cluster::installed().map(|nodes| Self {
            nodes,
            name: address,
        })
    }

    /// As [`NestLock::acquire`].
    pub fn acquire(self, member: &'static Member) {
        let task = member.task.identity();
        observer::waits(member, Wait::Lock, 0, || {
            self.nodes
                .locks
                .acquire_nest(self.nodes.cluster, self.name, task, patience(member));
        });
    }

    /// As [`NestLock::try_acquire`].
    #[must_use]
    pub fn try_acquire(self, member: &'static Member) -> u32 {
        let Self { nodes, name } = self;
        let task = member.task.identity();
        nodes.locks.try_acquire_nest(nodes.cluster, name, task)
    }

    /// As [`NestLock::depth`].
    #[must_use]
    pub fn depth(self) -> u32 {
        self.nodes.locks.depth(self.name)
    }

    /// As [`NestLock::release`].
    pub fn release(self) {
        self.nodes.locks.release_nest(self.nodes.cluster, self.name);
    }
}
