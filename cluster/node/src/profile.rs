//! What sharing memory costs each thread, for the recording.
//!
//! A thread's account is written by itself and by whoever carries out a step of
//! the protocol that lets it go on; the thread hands it to its recorder when it
//! goes on. What is done for other nodes is on the node's account, which the
//! next thread to go on hands over. The interposer hears of it as well, if one is
//! loaded. Safe where faults are served: all is there
//! from the start, and no lock is taken. Costs a test where nothing is recorded.

use crate::paging_counters::PagingCounters;
use fathomp_launch::of_this_process;
use fathomp_omp::recording;
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::now;
use fathomp_types::{ThreadId, Ticks};
use std::array;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The accounts of a node; none if the program is not recorded.
#[derive(Debug)]
pub(crate) struct Profile(Option<Accounts>);

#[derive(Debug)]
struct Accounts {
    threads: Box<[Account]>,
    waits: Box<[Wait]>,
    node: Account,
    /// Threads have recorders to hand this over to.
    recorded: bool,
    told: Option<PagingCounters>,
}

#[derive(Debug)]
#[repr(align(64))]
struct Account([AtomicU64; DsmCount::COUNT]);

impl Account {
    fn new() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }

    fn add(&self, counts: &DsmCounts) {
        for (sum, more) in self.0.iter().zip(counts.0) {
            if more != 0 {
                sum.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    fn take(&self) -> DsmCounts {
        let take = |sum: &AtomicU64| match sum.load(Ordering::Relaxed) {
            0 => 0,
            _ => sum.swap(0, Ordering::Relaxed),
        };
        DsmCounts(array::from_fn(|number| take(&self.0[number])))
    }
}

/// A thread's wait for a plain variable: it looks, flush by flush, until it does something
/// else. Only that thread touches it.
#[derive(Debug, Default)]
struct Wait {
    /// Up to when it is accounted for, in ticks; 0 if the thread does not wait.
    until: AtomicU64,
    /// It has not yet fetched anything since it looked last: what it fetches first is the
    /// variable, and what comes then may be what the variable was about.
    looked: AtomicBool,
}

impl Wait {
    /// A look is over, which began at `since`.
    fn look(&self, since: Ticks, at: Ticks, counts: &mut DsmCounts) {
        counts[DsmCount::Looks] += 1;
        self.looked.store(true, Ordering::Relaxed);
        let until = self.until.load(Ordering::Relaxed);
        let until = if until == 0 { since } else { Ticks(until) };
        self.lasts(until, since, at, counts);
    }

    /// A fault is over.
    fn fault(&self, since: Ticks, at: Ticks, counts: &mut DsmCounts) {
        let until = self.until.load(Ordering::Relaxed);
        let fetched = counts[DsmCount::FetchFaults];
        if until != 0 && fetched != 0 && self.looked.swap(false, Ordering::Relaxed) {
            counts[DsmCount::FetchFaultsLooking] += fetched;
            self.lasts(Ticks(until), since, at, counts);
        }
    }

    fn lasts(&self, until: Ticks, since: Ticks, at: Ticks, counts: &mut DsmCounts) {
        counts[DsmCount::LookTicks] += at.since(until).0;
        counts[DsmCount::LookSharedTicks] += at.since(since).0;
        self.until.store(at.0, Ordering::Relaxed);
    }

    /// The thread did something else.
    fn end(&self) {
        self.until.store(0, Ordering::Relaxed);
    }
}

/// Since when a thread is at something, if that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(Option<Ticks>);

impl Profile {
    /// Accounts for so many threads, if the program is recorded or its paging is.
    pub(crate) fn new(threads: usize) -> Self {
        let recorded = fathomp_launch::Recorder::is_asked_for(&of_this_process);
        let told = PagingCounters::new(threads);
        Self((recorded || told.is_some()).then(|| {
            Accounts {
                threads: std::iter::repeat_with(Account::new).take(threads).collect(),
                waits: std::iter::repeat_with(Wait::default)
                    .take(threads)
                    .collect(),
                node: Account::new(),
                recorded,
                told,
            }
        }))
    }

    /// The calling thread is the one with that number, which asks for the first time.
    pub(crate) fn introduce(&'static self, thread: ThreadId) {
        if let Some(told) = self.told() {
            told.introduce(thread);
        }
    }

    /// From now on the interposer counts work for other nodes as that thread's.
    pub(crate) fn answers_for_node(&self, thread: ThreadId) {
        if let Some(told) = self.told() {
            told.answers_for_node(thread);
        }
    }

    fn told(&self) -> Option<&PagingCounters> {
        self.0.as_ref()?.told.as_ref()
    }

    /// Whether the program is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A thread begins something.
    pub(crate) fn begin(&self) -> Since {
        Since(self.0.as_ref().map(|_| now()))
    }

    /// The calling thread has ended it, which took `time`; one more of `count`.
    pub(crate) fn end(
        &self,
        thread: ThreadId,
        since: Since,
        time: DsmCount,
        count: Option<DsmCount>,
    ) {
        self.finish(thread, since, time, |counts, wait, _| {
            if let Some(count) = count {
                counts[count] += 1;
            }
            wait.end();
        });
    }

    /// The calling thread has ended an atomic instruction, or a part of one: each counts `once`.
    pub(crate) fn end_atomic(&self, thread: ThreadId, since: Since, once: bool) {
        self.finish(thread, since, DsmCount::LockTicks, |counts, wait, span| {
            counts[DsmCount::Locks] += u64::from(once);
            counts[DsmCount::Atomics] += u64::from(once);
            counts[DsmCount::AtomicTicks] += span.end.since(span.start).0;
            wait.end();
        });
    }

    /// The calling thread has flushed to look whether a plain variable has changed.
    pub(crate) fn end_look(&self, thread: ThreadId, since: Since) {
        self.finish(thread, since, DsmCount::FlushTicks, |counts, wait, span| {
            counts[DsmCount::Flushes] += 1;
            wait.look(span.start, span.end, counts);
        });
    }

    /// The calling thread has ended a fault, during which its node held a lock or not.
    pub(crate) fn end_fault(&self, thread: ThreadId, since: Since, locked: bool) {
        self.finish(thread, since, DsmCount::FaultTicks, |counts, wait, span| {
            if locked {
                counts[DsmCount::FetchFaultsLocked] += counts[DsmCount::FetchFaults];
            }
            wait.fault(span.start, span.end, counts);
        });
    }

    fn finish(
        &self,
        thread: ThreadId,
        since: Since,
        time: DsmCount,
        more: impl FnOnce(&mut DsmCounts, &Wait, Range<Ticks>),
    ) {
        let (Some(accounts), Since(Some(since))) = (&self.0, since) else {
            return;
        };
        let number = thread.0 as usize;
        let (Some(account), Some(wait)) =
            (accounts.threads.get(number), accounts.waits.get(number))
        else {
            return;
        };
        let mut counts = account.take();
        let at = now();
        counts[time] += at.since(since).0;
        more(&mut counts, wait, since..at);
        let recorder = recording::recorder_of_this_thread();
        if accounts.recorded && recorder.is_none() {
            // Not known to the runtime yet: it will hand this over later.
            return account.add(&counts);
        }
        let for_others = accounts.node.take();
        if let Some(told) = &accounts.told {
            told.add(thread, &counts);
            told.add_for_node(&for_others);
        }
        if let Some(recorder) = recorder {
            counts += &for_others;
            recorder.dsm(&counts, at);
        }
    }

    /// Something was done because of a thread.
    pub(crate) fn credit(&self, thread: ThreadId, counts: &DsmCounts) {
        if let Some(accounts) = &self.0 {
            let account = accounts.threads.get(thread.0 as usize);
            account.unwrap_or(&accounts.node).add(counts);
        }
    }

    /// Something was done for other nodes.
    pub(crate) fn credit_node(&self, counts: &DsmCounts) {
        if let Some(accounts) = &self.0 {
            accounts.node.add(counts);
        }
    }

    /// What was done in a thread's name was for the node.
    pub(crate) fn give_to_node(&self, thread: ThreadId) {
        if let Some(accounts) = &self.0
            && let Some(account) = accounts.threads.get(thread.0 as usize)
        {
            accounts.node.add(&account.take());
        }
    }

    /// Bytes came from the transport.
    pub(crate) fn received(&self, bytes: usize) {
        if let Some(told) = self.told() {
            told.received(bytes);
        }
    }

    /// Bytes went to the transport.
    pub(crate) fn sent(&self, bytes: usize) {
        if let Some(accounts) = &self.0 {
            accounts.node.0[DsmCount::BytesSent as usize]
                .fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

/// What a step of a protocol did.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Because of the thread that asked or that goes on.
    pub(crate) mine: DsmCounts,
    /// For other nodes.
    pub(crate) others: DsmCounts,
    /// A thread was let go on.
    pub(crate) resumed: bool,
    /// Pages may be written now.
    pub(crate) writable: bool,
    /// Pages were twinned.
    pub(crate) twinned: bool,
}

impl Tally {
    /// One more of something that was done because of a thread.
    pub(crate) fn add(&mut self, count: DsmCount, number: usize) {
        self.mine[count] += number as u64;
    }

    /// A thread goes on: what was done so far was because of it, and what was done for others is
    /// known when it hands over the accounts, which it may do before this step is over.
    pub(crate) fn resume(&mut self, profile: &Profile, thread: ThreadId) {
        self.resumed = true;
        profile.credit(thread, &std::mem::take(&mut self.mine));
        profile.credit_node(&std::mem::take(&mut self.others));
    }

    /// The step is over; `asker` had asked for it.
    pub(crate) fn close(self, profile: &Profile, asker: Option<ThreadId>) {
        match asker {
            Some(thread) => profile.credit(thread, &self.mine),
            None => profile.credit_node(&self.mine),
        }
        profile.credit_node(&self.others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on() -> Profile {
        Profile(Some(Accounts {
            threads: Box::new([Account::new(), Account::new()]),
            waits: Box::new([Wait::default(), Wait::default()]),
            node: Account::new(),
            recorded: true,
            told: None,
        }))
    }

    fn accounts(profile: &Profile) -> &Accounts {
        profile.0.as_ref().unwrap()
    }

    #[test]
    fn a_step_is_paid_by_whom_it_lets_go_on() {
        let profile = on();
        let mut tally = Tally::default();
        tally.add(DsmCount::PagesFetched, 3);
        tally.others[DsmCount::PagesServed] = 2;
        tally.resume(&profile, ThreadId(1));
        let accounts = accounts(&profile);
        // It may hand that over now.
        assert_eq!(accounts.node.take()[DsmCount::PagesServed], 2);
        tally.others[DsmCount::PagesServed] = 3;
        tally.add(DsmCount::DiffsMade, 5);
        tally.close(&profile, Some(ThreadId(0)));
        assert_eq!(accounts.threads[1].take()[DsmCount::PagesFetched], 3);
        assert_eq!(accounts.threads[0].take()[DsmCount::DiffsMade], 5);
        assert_eq!(accounts.node.take()[DsmCount::PagesServed], 3);
        assert!(accounts.threads[1].take().is_zero());
    }

    #[test]
    fn a_wait_lasts_from_look_to_look() {
        let (wait, mut counts) = (Wait::default(), DsmCounts::default());
        let fetched = |wait: &Wait, since, at| {
            let mut counts = DsmCounts::default();
            counts[DsmCount::FetchFaults] = 1;
            wait.fault(Ticks(since), Ticks(at), &mut counts);
            counts[DsmCount::FetchFaultsLooking]
        };
        // Nobody waits.
        assert_eq!(fetched(&wait, 10, 20), 0);
        wait.look(Ticks(100), Ticks(110), &mut counts);
        assert_eq!(fetched(&wait, 112, 120), 1);
        wait.look(Ticks(150), Ticks(160), &mut counts);
        assert_eq!(counts[DsmCount::Looks], 2);
        // From 100 to 110 and, as the fault had told 110 to 120, from 120 to 160.
        assert_eq!(counts[DsmCount::LookTicks], 50);
        assert_eq!(counts[DsmCount::LookSharedTicks], 20);
        // The second page is no longer the variable's.
        assert_eq!(fetched(&wait, 165, 170), 1);
        assert_eq!(fetched(&wait, 180, 190), 0);
        wait.look(Ticks(200), Ticks(210), &mut counts);
        wait.end();
        assert_eq!(fetched(&wait, 220, 230), 0);
        wait.look(Ticks(1000), Ticks(1010), &mut counts);
        assert_eq!(counts[DsmCount::LookTicks], 50 + (210 - 170) + 10);
    }

    #[test]
    fn an_atomic_instruction_is_a_lock_that_is_told_apart() {
        let profile = on();
        for once in [true, false] {
            profile.end_atomic(ThreadId(0), Since(Some(Ticks(1))), once);
        }
        let counts = accounts(&profile).threads[0].take();
        assert_eq!((counts[DsmCount::Locks], counts[DsmCount::Atomics]), (1, 1));
        assert!(counts[DsmCount::AtomicTicks] > 0);
        assert_eq!(counts[DsmCount::AtomicTicks], counts[DsmCount::LockTicks]);
    }

    #[test]
    fn what_nobody_can_hand_over_stays() {
        let profile = on();
        // Tests are no threads of the runtime.
        profile.end(
            ThreadId(0),
            profile.begin(),
            DsmCount::LockTicks,
            Some(DsmCount::Locks),
        );
        let counts = accounts(&profile).threads[0].take();
        assert_eq!(counts[DsmCount::Locks], 1);
        profile.credit(ThreadId(1), &counts);
        profile.give_to_node(ThreadId(1));
        assert_eq!(accounts(&profile).node.take()[DsmCount::Locks], 1);
    }
}
