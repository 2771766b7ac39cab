//! Which thread of a node sleeps where, while nobody looks at the connections.
//!
//! Two posts: at the *inner* one all connections are waited for, at the *outer* one the inner
//! post is. A thread that waits for an answer sleeps at the inner post, one at a time; others
//! that wait sleep at the node's doorbell, and are roused when what they wait for has happened.
//! The service thread sleeps at the outer post, where the inner one counts only while no thread
//! of the program looks: what arrives wakes the thread that waits for it and no other.

use fathomp_sys::polling::{Epoll, EventFd, Interest, NonblockingSocket};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Keys that are no connection's.
const EVENT: u32 = u32::MAX;
const INNER: u32 = u32::MAX - 1;

/// Where a node's threads wait for connections.
#[derive(Debug)]
pub(super) struct Waiting {
    inner: Epoll,
    outer: Epoll,
    /// Wakes the thread at the inner post, and the one at the outer.
    inner_event: EventFd,
    outer_event: EventFd,
    /// Threads of the program that look at the connections, at the inner post or awake.
    looking: Mutex<u32>,
    /// A thread has the inner post for itself, and whether it sleeps there.
    taken: AtomicBool,
    asleep: AtomicBool,
}

impl Waiting {
    /// Where nothing is waited for yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn new() -> io::Result<Self> {
        let (inner, outer) = (Epoll::new()?, Epoll::new()?);
        let (inner_event, outer_event) = (EventFd::new()?, EventFd::new()?);
        inner.add_event(&inner_event, EVENT)?;
        outer.add_event(&outer_event, EVENT)?;
        inner.add_to(&outer, Interest::Bytes, INNER)?;
        Ok(Self {
            inner,
            outer,
            inner_event,
            outer_event,
            looking: Mutex::new(0),
            taken: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
        })
    }

    /// From now on a connection is waited for.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn add(&self, wire: &NonblockingSocket, key: u16) -> io::Result<()> {
        self.inner.add(wire, key.into())
    }

    /// What of a connection is waited for.
    pub(super) fn set(&self, wire: &NonblockingSocket, interest: Interest, key: u16) {
        // It fails for one that was removed, of which nothing is wanted any more.
        let _ = self.inner.set(wire, interest, key.into());
    }

    /// A connection is not waited for any more.
    pub(super) fn remove(&self, wire: &NonblockingSocket) {
        self.inner.remove(wire);
    }

    /// Calls `each` with the connections of which the kernel knows that there is something.
    pub(super) fn ready(&self, mut each: impl FnMut(u16)) {
        let mut keys = [0; Epoll::KEYS];
        let count = self.inner.wait(Some(Duration::ZERO), &mut keys);
        for key in &keys[..count] {
            if let Ok(key) = u16::try_from(*key) {
                each(key);
            }
        }
    }

    fn looking(&self) -> MutexGuard<'_, u32> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread of the program looks at the connections.
    pub(super) fn is_looked_at(&self) -> bool {
        *self.looking() > 0
    }

    /// A thread of the program begins to look at the connections. If it is the first,
    /// `work` says to them that somebody does.
    pub(super) fn look(&self, work: impl FnOnce()) {
        let mut looking = self.looking();
        *looking += 1;
        if *looking == 1 {
            self.lead_to_outer(Interest::Nothing);
            work();
        }
    }

    /// It stops. `left_over` says whether there is something that no connection tells any more,
    /// because it has been received. If it was the last, `rest` says to them that nobody looks.
    pub(super) fn look_away(&self, rest: impl FnOnce(), left_over: impl FnOnce() -> bool) {
        let mut looking = self.looking();
        *looking = looking.saturating_sub(1);
        if *looking == 0 {
            self.lead_to_outer(Interest::Bytes);
            rest();
            if left_over() {
                self.outer_event.raise();
            }
        }
    }

    fn lead_to_outer(&self, interest: Interest) {
        // It was added when this was made, so only a program that has closed our descriptors
        // can make it fail; the service thread then looks each time that it wakes.
        let _ = self.inner.set_at(&self.outer, interest, INNER);
    }

    /// The service thread sleeps, if `may_sleep`, which is asked after its bell counts. While
    /// no thread of the program looks, `rest` says to the connections that nobody does, and
    /// `work` that this thread does again.
    pub(super) fn serve(
        &self,
        timeout: Option<Duration>,
        rest: impl FnOnce(),
        may_sleep: impl FnOnce() -> bool,
        work: impl FnOnce(),
    ) {
        self.alone(rest);
        if may_sleep() {
            self.outer.wait(timeout, &mut [0; Epoll::KEYS]);
            self.alone(work);
        }
        self.outer_event.clear();
    }

    /// Says something to the connections if no thread of the program looks at them, or is about
    /// to.
    fn alone(&self, say: impl FnOnce()) {
        let looking = self.looking();
        if *looking == 0 {
            say();
        }
    }

    /// A thread of the program that looks at the connections sleeps until there is something,
    /// if `may_sleep`; `false` if another sleeps there. `rest` and `work` as above.
    pub(super) fn sleep(
        &self,
        timeout: Option<Duration>,
        rest: impl FnOnce(),
        may_sleep: impl FnOnce() -> bool,
        work: impl FnOnce(bool),
    ) -> bool {
        if self.taken.swap(true, Ordering::Acquire) {
            return false;
        }
        self.asleep.store(true, Ordering::Relaxed);
        // Whoever has something to tell writes it before it looks whether somebody sleeps.
        fence(Ordering::SeqCst);
        rest();
        let sleeps = may_sleep();
        if sleeps {
            self.inner.wait(timeout, &mut [0; Epoll::KEYS]);
        }
        work(sleeps);
        self.asleep.store(false, Ordering::Relaxed);
        self.inner_event.clear();
        self.taken.store(false, Ordering::Release);
        true
    }

    /// Wakes the thread of the program that sleeps here, if one does.
    pub(super) fn rouse(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.inner_event.raise();
        }
    }

    /// Wakes the service thread.
    pub(super) fn rouse_service(&self) {
        self.outer_event.raise();
    }

    /// Wakes all.
    pub(super) fn rouse_all(&self) {
        self.rouse();
        self.outer_event.raise();
    }

    /// Wakes whoever is there to handle what has come by another way.
    pub(super) fn call(&self) {
        fence(Ordering::SeqCst);
        match self.asleep.load(Ordering::Relaxed) {
            true => self.inner_event.raise(),
            false => self.outer_event.raise(),
        }
    }
}
