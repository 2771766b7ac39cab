//! Whether accesses can be replayed: what would hang or make no sense is found
//! before anything runs.

use crate::accesses::{Accesses, End, Thread};
use fathomp_protocols::{Area, Placement};
use fathomp_types::NodeId;
use std::collections::BTreeSet;

/// Accesses that no program makes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Nobody accesses anything.
    #[error("it has no threads")]
    NoThreads,
    /// More threads than nodes can be numbered.
    #[error("it has {0} threads, and {max} are the most", max = u16::MAX)]
    TooManyThreads(usize),
    /// More pages than can be numbered.
    #[error("its areas have {0} pages, and {max} are the most", max = u32::MAX)]
    TooManyPages(u64),
    /// They work for longer than anybody has recorded: sums of times would overflow.
    #[error("its threads work for more than {max} ns together", max = Accesses::WORK_NS_MAX)]
    TooLong,
    /// An area is at home where there is nothing.
    #[error("area {area} is at home at node {home}, and there are {threads}")]
    Home {
        /// Number of the area, from 0.
        area: usize,
        /// The home.
        home: NodeId,
        /// Threads, each with a node.
        threads: usize,
    },
    /// A page that does not exist.
    #[error("thread {thread} touches page {page}, and there are {pages}")]
    Page {
        /// The thread.
        thread: usize,
        /// The last page touched.
        page: u64,
        /// All pages.
        pages: u64,
    },
    /// A diff longer than any.
    #[error("thread {thread} changes a page by a diff of {bytes} bytes, and {max} are the most")]
    Diff {
        /// The thread.
        thread: usize,
        /// The diff.
        bytes: u32,
        /// The longest.
        max: u32,
    },
    /// Pages of a size that nothing is recorded by.
    #[error(
        "its pages have {0} bytes, and multiples of {min} up to {max} are what they can have",
        min = Accesses::LINE_BYTES,
        max = Accesses::PAGE_BYTES_MAX
    )]
    PageBytes(u32),
    /// An interval names runs that are not there.
    #[error("thread {thread}: interval {step} is of set {set}, and there are {sets}")]
    Set {
        /// The thread.
        thread: usize,
        /// The interval, from 0.
        step: usize,
        /// What it names.
        set: u32,
        /// What there is.
        sets: usize,
    },
    /// The thread's end is missing.
    #[error("thread {thread} does not end: its last interval is cut off, or was never written")]
    NoExit {
        /// The thread.
        thread: usize,
    },
    /// Something follows the thread's end.
    #[error("thread {thread} goes on after its end at interval {step}")]
    AfterExit {
        /// The thread.
        thread: usize,
        /// The interval that ends it, from 0.
        step: usize,
    },
    /// Somebody would wait for ever at a barrier.
    #[error("thread {thread} comes to {barriers} barriers, and thread 0 to {first}")]
    Barriers {
        /// The thread.
        thread: usize,
        /// Its barriers.
        barriers: usize,
        /// Those of the first thread.
        first: usize,
    },
    /// A lock is given back that was not taken.
    #[error("thread {thread} gives lock {lock} back at interval {step}, which it does not hold")]
    NotHeld {
        /// The thread.
        thread: usize,
        /// The lock.
        lock: u64,
        /// The interval that ends with it, from 0.
        step: usize,
    },
    /// A lock is taken twice, or held at a barrier or at the end: others would
    /// wait for ever.
    #[error("thread {thread} holds lock {lock} when it comes to the end of interval {step}")]
    Held {
        /// The thread.
        thread: usize,
        /// The lock.
        lock: u64,
        /// The interval that ends with it, from 0.
        step: usize,
    },
}

impl Accesses {
    /// Whether they can be replayed.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    pub fn check(&self) -> Result<(), AccessError> {
        let threads = self.threads.len();
        if threads == 0 {
            return Err(AccessError::NoThreads);
        }
        if u16::try_from(threads).is_err() {
            return Err(AccessError::TooManyThreads(threads));
        }
        let sizes = Self::LINE_BYTES..=Self::PAGE_BYTES_MAX;
        if !self.page_bytes.is_multiple_of(Self::LINE_BYTES) || !sizes.contains(&self.page_bytes) {
            return Err(AccessError::PageBytes(self.page_bytes));
        }
        let pages = self.pages();
        if pages > u64::from(u32::MAX) {
            return Err(AccessError::TooManyPages(pages));
        }
        for (area, Area { home, .. }) in self.areas.iter().enumerate() {
            if let Placement::At(home) | Placement::Pinned(home) = *home
                && usize::from(home.0) >= threads
            {
                return Err(AccessError::Home {
                    area,
                    home,
                    threads,
                });
            }
        }
        let mut steps = self.threads.iter().flat_map(|thread| &thread.steps);
        let work_ns = steps.try_fold(0u64, |sum, step| sum.checked_add(step.work_ns));
        if work_ns.is_none_or(|work_ns| work_ns > Self::WORK_NS_MAX) {
            return Err(AccessError::TooLong);
        }
        let mut first = 0;
        for (number, thread) in self.threads.iter().enumerate() {
            thread.check(number, pages, self.diff_bytes_max())?;
            let ends = thread.steps.iter().map(|step| step.end);
            let barriers = ends.filter(|end| *end == End::Barrier).count();
            if number == 0 {
                first = barriers;
            }
            // When the first thread ends, the others wait for work.
            if barriers != first && barriers != first + 1 {
                return Err(AccessError::Barriers {
                    thread: number,
                    barriers,
                    first,
                });
            }
        }
        Ok(())
    }
}

impl Thread {
    fn check(&self, thread: usize, pages: u64, max: u32) -> Result<(), AccessError> {
        for run in self.sets.iter().flatten() {
            if run.pages.end() > pages {
                let page = run.pages.end() - 1;
                return Err(AccessError::Page {
                    thread,
                    page,
                    pages,
                });
            }
            if run.diff_bytes > max {
                let bytes = run.diff_bytes;
                return Err(AccessError::Diff { thread, bytes, max });
            }
        }
        let mut held = BTreeSet::new();
        for (number, step) in self.steps.iter().enumerate() {
            if step.set as usize >= self.sets.len() {
                return Err(AccessError::Set {
                    thread,
                    step: number,
                    set: step.set,
                    sets: self.sets.len(),
                });
            }
            let is_held = |lock| AccessError::Held {
                thread,
                lock,
                step: number,
            };
            match step.end {
                End::Acquire(lock) if !held.insert(lock) => return Err(is_held(lock)),
                End::Release(lock) if !held.remove(&lock) => {
                    return Err(AccessError::NotHeld {
                        thread,
                        lock,
                        step: number,
                    });
                }
                End::Barrier | End::Exit => {
                    if let Some(lock) = held.first() {
                        return Err(is_held(*lock));
                    }
                }
                _ => {}
            }
            if step.end == End::Exit && number + 1 != self.steps.len() {
                return Err(AccessError::AfterExit {
                    thread,
                    step: number,
                });
            }
        }
        match self.steps.last() {
            Some(step) if step.end == End::Exit => Ok(()),
            _ => Err(AccessError::NoExit { thread }),
        }
    }
}
