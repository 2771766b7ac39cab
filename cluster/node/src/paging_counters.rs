//! The counters of the shared memory as the interposer reads them: words that only rise.
//!
//! They get what threads hand over to their recorders, at the same moment, so both
//! recordings have the same sums. What a node does for others has no thread of its own: it
//! counts as that of the node's first thread, since the service thread is no task.

use fathomp_omp::interposer;
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_types::ThreadId;
use fathomp_types::interposer::SharedCount;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A thread's words.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Words([AtomicU64; SharedCount::COUNT]);

impl Words {
    fn add(&self, counter: SharedCount, more: u64) {
        if more != 0 {
            self.0[counter as usize].fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// The words of a node's threads.
#[derive(Debug)]
pub(crate) struct PagingCounters {
    threads: Box<[Words]>,
    /// The number of the thread to which what is done for other nodes is put down.
    first: AtomicU32,
}

impl PagingCounters {
    /// For so many threads, if there is an interposer.
    pub(crate) fn new(threads: usize) -> Option<Self> {
        interposer::interposer().map(|_| Self::for_threads(threads))
    }

    fn for_threads(threads: usize) -> Self {
        Self {
            threads: std::iter::repeat_with(Words::default)
                .take(threads)
                .collect(),
            first: AtomicU32::new(0),
        }
    }

    /// The calling thread is that one: the interposer reads its words from now on.
    pub(crate) fn introduce(&'static self, thread: ThreadId) {
        if let (Some(interposer), Some(words)) = (
            interposer::interposer(),
            self.threads.get(thread.0 as usize),
        ) {
            (interposer.counters)(&words.0);
        }
    }

    /// What is done for other nodes is put down to that thread.
    pub(crate) fn answers_for_node(&self, thread: ThreadId) {
        self.first.store(thread.0, Ordering::Relaxed);
    }

    /// A thread hands over what it has cost.
    pub(crate) fn add(&self, thread: ThreadId, counts: &DsmCounts) {
        if let Some(words) = self.threads.get(thread.0 as usize) {
            let noticed = counts[DsmCount::WriteFaultsLocal] + counts[DsmCount::WriteFaultsRemote];
            words.add(SharedCount::WriteFaults, noticed);
            words.add(SharedCount::FetchFaults, counts[DsmCount::FetchFaults]);
            words.add(SharedCount::PagesIn, counts[DsmCount::PagesFetched]);
        }
    }

    /// What was done for other nodes, or in no thread's name.
    pub(crate) fn add_for_node(&self, counts: &DsmCounts) {
        let first = ThreadId(self.first.load(Ordering::Relaxed));
        self.add(first, counts);
        if let Some(words) = self.threads.get(first.0 as usize) {
            words.add(SharedCount::PagesOut, counts[DsmCount::PagesServed]);
            words.add(SharedCount::BytesOut, counts[DsmCount::BytesSent]);
        }
    }

    /// A message of so many bytes has come.
    pub(crate) fn received(&self, bytes: usize) {
        let first = self.first.load(Ordering::Relaxed) as usize;
        if let Some(words) = self.threads.get(first) {
            words.add(SharedCount::BytesIn, bytes as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_for_others_is_the_first_threads() {
        let told = PagingCounters::for_threads(3);
        told.answers_for_node(ThreadId(1));
        let mut counts = DsmCounts::default();
        counts[DsmCount::WriteFaultsLocal] = 2;
        counts[DsmCount::WriteFaultsRemote] = 3;
        counts[DsmCount::FetchFaults] = 7;
        counts[DsmCount::PagesFetched] = 9;
        told.add(ThreadId(2), &counts);
        let mut for_others = DsmCounts::default();
        for_others[DsmCount::PagesServed] = 4;
        for_others[DsmCount::BytesSent] = 100;
        told.add_for_node(&for_others);
        told.received(30);
        let words = |thread: usize| {
            let words = told.threads[thread].0.iter();
            words
                .map(|word| word.load(Ordering::Relaxed))
                .collect::<Vec<_>>()
        };
        assert_eq!(words(0), [0; 6]);
        assert_eq!(words(1), [0, 0, 0, 4, 30, 100]);
        assert_eq!(words(2), [5, 7, 9, 0, 0, 0]);
    }
}
