//! What sharing memory costs each thread, for the recording.
//!
//! A thread's account is written by itself and by whoever carries out a step of
//! the protocol that lets it go on; the thread hands it to its recorder when it
//! goes on. What is done for other nodes is on the node's account, which the
//! next thread to go on hands over. Safe where faults are served: all is there
//! from the start, and no lock is taken. Costs a test where nothing is recorded.

use fathomp_base::{ThreadId, Ticks};
use fathomp_omp::worker;
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::live::RECORD_VARIABLE;
use fathomp_trace::now;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

/// The accounts of a node; none if the program is not recorded.
#[derive(Debug)]
pub(crate) struct Profile(Option<Accounts>);

#[derive(Debug)]
struct Accounts {
    threads: Box<[Account]>,
    node: Account,
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

/// Since when a thread is at something, if that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(Option<Ticks>);

impl Profile {
    /// Accounts for so many threads, if the program is recorded.
    pub(crate) fn new(threads: usize) -> Self {
        let recorded = std::env::var_os(RECORD_VARIABLE).is_some_and(|value| !value.is_empty());
        Self(recorded.then(|| Accounts {
            threads: std::iter::repeat_with(Account::new).take(threads).collect(),
            node: Account::new(),
        }))
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
        self.finish(thread, since, time, |counts| {
            if let Some(count) = count {
                counts[count] += 1;
            }
        });
    }

    /// The calling thread has ended a fault, during which its node held a lock or not.
    pub(crate) fn end_fault(&self, thread: ThreadId, since: Since, locked: bool) {
        self.finish(thread, since, DsmCount::FaultTicks, |counts| {
            if locked {
                counts[DsmCount::FetchFaultsLocked] += counts[DsmCount::FetchFaults];
            }
        });
    }

    fn finish(
        &self,
        thread: ThreadId,
        since: Since,
        time: DsmCount,
        more: impl FnOnce(&mut DsmCounts),
    ) {
        let (Some(accounts), Since(Some(since))) = (&self.0, since) else {
            return;
        };
        let Some(account) = accounts.threads.get(thread.0 as usize) else {
            return;
        };
        let mut counts = account.take();
        let at = now();
        counts[time] += at.since(since).0;
        more(&mut counts);
        match worker::recorder() {
            Some(recorder) => {
                counts += &accounts.node.take();
                recorder.dsm(&counts, at);
            }
            // Not known to the runtime yet: it will hand this over later.
            None => account.add(&counts),
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

    /// What the service thread did in its own name was for the node.
    pub(crate) fn give_to_node(&self, thread: ThreadId) {
        if let Some(accounts) = &self.0
            && let Some(account) = accounts.threads.get(thread.0 as usize)
        {
            accounts.node.add(&account.take());
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
    /// Pages were taken out of another node's memory.
    pub(crate) took: bool,
}

impl Tally {
    /// One more of something that was done because of a thread.
    pub(crate) fn add(&mut self, count: DsmCount, number: usize) {
        self.mine[count] += number as u64;
    }

    /// A thread goes on: what was done so far was because of it.
    pub(crate) fn resume(&mut self, profile: &Profile, thread: ThreadId) {
        self.resumed = true;
        profile.credit(thread, &std::mem::take(&mut self.mine));
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
            node: Account::new(),
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
        tally.add(DsmCount::DiffsMade, 5);
        tally.close(&profile, Some(ThreadId(0)));
        let accounts = accounts(&profile);
        assert_eq!(accounts.threads[1].take()[DsmCount::PagesFetched], 3);
        assert_eq!(accounts.threads[0].take()[DsmCount::DiffsMade], 5);
        assert_eq!(accounts.node.take()[DsmCount::PagesServed], 2);
        assert!(accounts.threads[1].take().is_zero());
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
