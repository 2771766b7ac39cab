//! Atomic instructions of the program. Where it can, a thread carries one out in the memory
//! of its page's home ([`fathomp_protocols::Updates`]), or has the home do it
//! ([`fathomp_protocols::Operation::Change`]); otherwise here, under a lock that all nodes share.

use super::{Node, lock};
use crate::activity::Activity;
use crate::engine::REFUSED;
use crate::profile::Since;
use fathomp_omp::tap::{self, Called};
use fathomp_protocols::{Change, ChangeKind, LockId, Operation};
use fathomp_shm_window::UpdateStart;
use fathomp_sys::process::yield_now;
use fathomp_sys::text_patch::{Doing, Effect, Section};
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lock that atomic instructions take: no address of a lock.
pub(super) const ATOMIC: u64 = LockId::ATOMICS.0;

/// How often a page is asked for that its home does not offer any more when it has answered:
/// threads there write it, too.
const TRIES: u32 = 2;

/// So many atomic instructions under the lock or by message, and a thread flushes. It may be waiting for what
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
    /// Nothing: the page's home has done it, and the thread repeats it to see what it found.
    Answer(PageId),
    /// Nothing: the page's home will do it, and the thread does not look at what it finds.
    Nothing,
    /// A page's home waits for it, and perhaps others for the lock.
    Page {
        home: NodeId,
        locked: bool,
        since: Since,
    },
}

thread_local! {
    static HOLDS: Cell<Holds> = const { Cell::new(Holds::Nothing) };
    /// Atomic instructions under the lock or by message.
    static ASKED: Cell<u32> = const { Cell::new(0) };
    /// The word that the thread's instruction has found at its page's home.
    static FOUND: AtomicU64 = const { AtomicU64::new(0) };
}

impl Node {
    /// An atomic instruction of the program follows. The address at which it is to work, if it
    /// is one elsewhere.
    pub fn begin_atomic(&self, section: &Section) -> Option<usize> {
        let Section {
            address,
            bytes,
            movable,
            ..
        } = *section;
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
            if let Some(place) = page.and_then(|page| self.postpone(page, section, since)) {
                return Some(place);
            }
            let asked = ASKED.get().wrapping_add(1);
            ASKED.set(asked);
            if asked.is_multiple_of(FLUSHES_AFTER) {
                self.flush();
            }
            if let Some((page, change)) = page.and_then(|page| self.carried(page, section)) {
                return Some(self.carry(page, change, since));
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
        let (home, locked, since) = match HOLDS.replace(Holds::Nothing) {
            Holds::Lock(pages) => {
                pages
                    .into_iter()
                    .flatten()
                    .for_each(|page| self.learn(page));
                return self.release(ATOMIC);
            }
            Holds::Answer(page) => return self.learn(page),
            Holds::Nothing => return,
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

    /// What the instruction does to a page, if the page's home can do that.
    fn carried(&self, page: PageId, section: &Section) -> Option<(PageId, Change)> {
        let change = change(section, section.does?)?;
        lock(&self.engine).carries(page).then_some((page, change))
    }

    /// Has a page's home do it some time before this node's threads tell others anything, if the
    /// thread never looks at what the instruction finds: then it can be anything, but for an
    /// exchange if what was expected is there.
    fn postpone(&self, page: PageId, section: &Section, since: Since) -> Option<usize> {
        let blind = section.blind?;
        let change = change(section, blind)?;
        let postponed = lock(&self.engine).postpone(&self.host(), page, change);
        if !self.must(postponed) {
            return None;
        }
        HOLDS.set(Holds::Nothing);
        self.account_atomic(since, true);
        Some(found(blind.expected))
    }

    /// Has a page's home do what an instruction does. Where a word lies that is as it was there:
    /// the instruction does the same to that, and so leaves what it would have left in registers
    /// and flags.
    fn carry(&self, page: PageId, change: Change, since: Since) -> usize {
        self.stand_still();
        let activity = self.begin_activity(Activity::AwaitAtomic);
        let before = self.operation(Operation::Change(page, change));
        self.set_activity(activity);
        HOLDS.set(Holds::Answer(page));
        self.account_atomic(since, true);
        found(before)
    }

    /// An atomic instruction was executed by the page's home, or under the lock, where nodes do not reach each other's
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

/// Where a word of the calling thread lies that is this.
fn found(word: u64) -> usize {
    FOUND.with(|found| {
        found.store(word, Ordering::Relaxed);
        found.as_ptr() as usize
    })
}

/// What an atomic instruction does to its page.
fn change(section: &Section, doing: Doing) -> Option<Change> {
    let Doing {
        effect,
        operand,
        expected,
    } = doing;
    let kind = match effect {
        Effect::Add => ChangeKind::Add,
        Effect::And => ChangeKind::And,
        Effect::Or => ChangeKind::Or,
        Effect::Xor => ChangeKind::Xor,
        Effect::AddFloat => ChangeKind::AddFloat,
        Effect::MultiplyFloat => ChangeKind::MultiplyFloat,
        Effect::Exchange => ChangeKind::Exchange,
        Effect::CompareExchange => ChangeKind::CompareExchange { expected },
    };
    Change::new(section.address % PAGE_BYTES, section.bytes, kind, operand)
}
