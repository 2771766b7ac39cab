//! Atomic instructions of the program. Where it can, a thread carries one out in the memory
//! of its page's home ([`fathomp_dsm::Updates`]); otherwise here, under a lock that all nodes
//! share.

use super::{Node, lock};
use crate::activity::Activity;
use crate::engine::REFUSED;
use crate::profile::Since;
use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::{LockId, Operation};
use fathomp_omp::tap::{self, Called};
use fathomp_shared::UpdateStart;
use fathomp_sys::process::yield_now;
use std::cell::Cell;

/// The lock that atomic instructions take: no address of a lock.
pub(super) const ATOMIC: u64 = u64::MAX;

/// How often a page is asked for that its home does not offer any more when it has answered:
/// threads there write it, too.
const TRIES: u32 = 2;

/// So many atomic instructions under the lock, and a thread flushes. It may be waiting for what
/// another has written plainly, as locks are given back that are taken by an exchange; and who
/// takes a lock is not told what was written right before a barrier, but who flushes.
const FLUSHES_AFTER: u32 = 256;

/// What a thread has while it executes an atomic instruction.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// The lock, and works on these pages: shared ones, in which it begins and ends.
    Lock([Option<PageId>; 2]),
    /// The same, and works on a page of which others may be updated at its home.
    Copy(PageId),
    /// A page's home waits for it, and perhaps others for the lock.
    Page {
        home: NodeId,
        locked: bool,
        since: Since,
    },
}

impl Holds {
    const NOTHING: Self = Self::Lock([None; 2]);
}

thread_local! {
    static HOLDS: Cell<Holds> = const { Cell::new(Holds::NOTHING) };
    /// Atomic instructions under the lock.
    static LOCKED: Cell<u32> = const { Cell::new(0) };
}

impl Node {
    /// An atomic instruction of the program follows, which works on so many bytes and can, if
    /// it is `movable`, work elsewhere. The address at which it is to do so, if it is.
    pub fn begin_atomic(&self, address: usize, bytes: usize, movable: bool) -> Option<usize> {
        let offset = address % PAGE_BYTES;
        let inside = movable && offset + bytes <= PAGE_BYTES;
        let page = self.pages.page_of(address).filter(|_| inside);
        let _told = tap::communicate(Called::Atomic);
        let since = self.profile.begin();
        let owes = page.and_then(|page| {
            let owes = lock(&self.engine).owes_before_update(&self.host(), page);
            Some((page, owes?))
        });
        let Some((page, owes)) = owes else {
            let locked = LOCKED.get().wrapping_add(1);
            LOCKED.set(locked);
            if locked.is_multiple_of(FLUSHES_AFTER) {
                self.flush();
            }
            self.acquire(ATOMIC);
            let last = address.saturating_add(bytes.saturating_sub(1));
            let [first, last] = [address, last].map(|byte| self.pages.page_of(byte));
            HOLDS.set(Holds::Lock([first, last.filter(|_| last != first)]));
            return None;
        };
        self.stand_still();
        if owes {
            self.operation(Operation::Flush);
        }
        let place = self.begin_update(page, offset, since);
        match place {
            // It lasts until the instruction is done.
            Some(_) => self.go_on(),
            // What it does to the copy here may be a fault, which is told by itself.
            None => self.account_atomic(since, true),
        }
        place
    }

    /// The atomic instruction is done.
    pub fn end_atomic(&self) {
        let _told = tap::communicate(Called::Atomic);
        let (home, locked, since) = match HOLDS.replace(Holds::NOTHING) {
            Holds::Lock(pages) => {
                pages
                    .into_iter()
                    .flatten()
                    .for_each(|page| self.learn(page));
                return self.release(ATOMIC);
            }
            Holds::Copy(page) => return self.end_copy(page),
            Holds::Page {
                home,
                locked,
                since,
            } => (home, locked, since),
        };
        if let Some(peers) = &self.peers {
            peers.window().end_update(home);
        }
        if locked {
            self.release(ATOMIC);
        }
        if lock(&self.engine).lacks_news_after_update(&self.host()) {
            self.operation(Operation::Flush);
        }
        self.account_atomic(since, true);
    }

    /// An atomic instruction was executed under the lock, where nodes do not reach each other's
    /// memory: it may have read what another node has stored plainly, and what that did before
    /// has to be known before the program goes on.
    fn learn(&self, page: PageId) {
        if !lock(&self.engine).shows_what_is_unknown(page) {
            return;
        }
        let since = self.enter();
        self.operation(Operation::Learn(page));
        self.account_atomic(since, false);
    }

    /// Begins to update a page in its home's memory, where the byte is at the address that is
    /// returned; or takes the lock, under which it is done here.
    fn begin_update(&self, page: PageId, offset: usize, since: Since) -> Option<usize> {
        let (mut locked, mut tries) = (false, 0);
        loop {
            let begun = lock(&self.engine).begin_update(&self.host(), page);
            match begun {
                (UpdateStart::Begun, home) => {
                    let place = self.place_at(home, page, offset);
                    HOLDS.set(Holds::Page {
                        home,
                        locked,
                        since,
                    });
                    return Some(place);
                }
                // A copy must not be updated while others may do so there.
                (UpdateStart::Never, _) => {
                    self.fail(self.me(), "it cannot reach another node's memory")
                }
                (UpdateStart::NotOffered, _) if tries == TRIES => break,
                (UpdateStart::NotOffered, _) => {}
                // It may be told here.
                (UpdateStart::Incomplete, _) => {
                    self.handle_one();
                    yield_now();
                }
            }
            if !locked {
                self.operation(Operation::Acquire(LockId(ATOMIC)));
                locked = true;
                continue;
            }
            tries += u32::from(begun.0 == UpdateStart::NotOffered);
            if self.operation(Operation::Update(page)) == REFUSED {
                break;
            }
        }
        // Others may have updated it since this thread has the lock.
        self.operation(Operation::Flush);
        self.set_activity(Activity::HoldLock);
        HOLDS.set(Holds::Copy(page));
        None
    }

    /// Where a byte of a page lies in the memory of its home.
    fn place_at(&self, home: NodeId, page: PageId, offset: usize) -> usize {
        let peers = self.peers.as_ref();
        let place = peers.and_then(|peers| peers.place_at(home, &self.pages, (page, offset)).ok());
        // A copy must not be updated while others may do so there.
        place.unwrap_or_else(|| self.fail(self.me(), "it cannot reach another node's memory"))
    }

    /// An update was done in a copy, under the lock: tells of it, and learns of all that the
    /// copy may have shown.
    fn end_copy(&self, page: PageId) {
        let since = self.enter();
        self.operation(Operation::Flush);
        self.operation(Operation::Update(page));
        while lock(&self.engine).lacks_what_is_shown() {
            self.handle_one();
            yield_now();
            self.operation(Operation::Flush);
        }
        self.account_atomic(since, false);
        self.release(ATOMIC);
    }
}
