//! Atomic instructions of the program. Where it can, a thread has its page's home do one
//! ([`fathomp_protocols::Operation::Change`]); otherwise it is done here, under a lock that all
//! nodes share.

use super::{Node, lock};
use crate::activity::Activity;
use crate::profile::Since;
use fathomp_omp::interposer::{self, Called};
use fathomp_protocols::{Change, ChangeKind, LockId, Operation};
use fathomp_sys::text_patch::{Doing, Effect, Section};
use fathomp_types::{PAGE_BYTES, PageId};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lock that atomic instructions take: no address of a lock.
pub(super) const ATOMIC: u64 = LockId::ATOMICS.0;

/// So many atomic instructions that are not postponed, and a thread flushes. It may be waiting for what
/// another has written plainly, as locks are given back that are taken by an exchange; and who
/// takes a lock is not told what was written right before a barrier, but who flushes.
const FLUSHES_AFTER: u32 = 256;

/// What a thread has while it executes an atomic instruction.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// The lock, and works on these pages: shared ones, in which it begins and ends.
    Lock([Option<PageId>; 2]),
    /// Nothing: the page's home has done it, and the thread repeats it to see what it found.
    Answer(PageId),
    /// Nothing: the page's home will do it, and the thread does not look at what it finds.
    Nothing,
}

thread_local! {
    static HOLDS: Cell<Holds> = const { Cell::new(Holds::Nothing) };
    /// Atomic instructions that were not postponed.
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
        let inside = movable && address % PAGE_BYTES + bytes <= PAGE_BYTES;
        let page = self.pages.page_of(address).filter(|_| inside);
        let _told = interposer::communicate(Called::Atomic);
        let since = self.profile.begin();
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
        None
    }

    /// The atomic instruction is done.
    pub fn end_atomic(&self) {
        let _told = interposer::communicate(Called::Atomic);
        match HOLDS.replace(Holds::Nothing) {
            Holds::Lock(pages) => {
                pages
                    .into_iter()
                    .flatten()
                    .for_each(|page| self.learn(page));
                self.release(ATOMIC);
            }
            Holds::Answer(page) => self.learn(page),
            Holds::Nothing => {}
        }
    }

    /// What the instruction does to a page, if the page's home can do that.
    fn carried(&self, page: PageId, section: &Section) -> Option<(PageId, Change)> {
        let change = change(section, section.does?)?;
        lock(&self.engine)
            .forwards_atomics(page)
            .then_some((page, change))
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

    /// An atomic instruction was executed by the page's home, or under the lock: it may have read
    /// what another node has stored plainly, and what that did before has to be known before the
    /// program goes on.
    fn learn(&self, page: PageId) {
        if !lock(&self.engine).may_expose_unseen_writes(page) {
            return;
        }
        let since = self.enter();
        self.operation(Operation::Learn(page));
        self.account_atomic(since, false);
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
