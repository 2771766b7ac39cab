//! What threads accessed between synchronisations.

use fathomp_protocols::{Access, Area, PageRange};
use fathomp_types::PAGE_BYTES;
use serde::{Deserialize, Serialize};

/// Pages touched one after the other in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// How.
    pub access: Access,
    /// Which, ascending.
    pub pages: PageRange,
    /// Bytes of the diff of each page, if they were written.
    pub diff_bytes: u32,
}

/// What ends an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All threads meet.
    Barrier,
    /// What was written becomes visible, and what others flushed.
    Flush,
    /// Takes a lock.
    Acquire(u64),
    /// Gives it back.
    Release(u64),
    /// Adds to a cell of node 0, and waits for what was there.
    Add(u64, u64),
    /// Raises a cell of node 0 to a value, and does not wait.
    Put(u64, u64),
    /// Waits until a cell of node 0 has at least a value.
    Await(u64, u64),
    /// The thread ends. That of the first thread ends the program.
    Exit,
}

/// An interval: what a thread did up to a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Which of the thread's sets of runs it went through.
    pub set: u32,
    /// Time of the application itself.
    #[serde(default)]
    pub work_ns: u64,
    /// What ended it.
    pub end: End,
    /// At a barrier of the first thread: bytes of the order for the next region
    /// that it brings to all nodes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub order_bytes: u32,
    /// That region: its site in the recording, 0 if it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub region: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Runs in the order of first touch. A page that was read before it was
    /// written is in a run of each kind. Intervals that are alike share one.
    pub sets: Vec<Vec<Run>>,
    /// Its intervals; the last one ends with [`End::Exit`].
    pub steps: Vec<Step>,
}

impl Thread {
    /// Time of the application itself.
    #[must_use]
    pub fn work_ns(&self) -> u64 {
        let work = self.steps.iter().map(|step| step.work_ns);
        work.fold(0, u64::saturating_add)
    }

    /// Interval that ends at each barrier.
    fn barriers(&self) -> impl Iterator<Item = usize> {
        let steps = self.steps.iter().enumerate();
        steps.filter_map(|(number, step)| (step.end == End::Barrier).then_some(number))
    }

    /// The thread ends when it has passed so many barriers.
    fn end_behind(&mut self, barriers: usize) {
        let last = barriers.checked_sub(1).and_then(|n| self.barriers().nth(n));
        self.steps.truncate(last.map_or(0, |last| last + 1));
        self.steps.push(Step {
            set: u32::try_from(self.sets.len()).unwrap_or(u32::MAX),
            work_ns: 0,
            end: End::Exit,
            order_bytes: 0,
            region: 0,
        });
        self.sets.push(Vec::new());
    }

    /// The thread passes no more than so many barriers: it ends where it would wait for ever.
    fn end_at_barrier(&mut self, passed: usize) {
        let waits = self.barriers().nth(passed);
        if let Some(waits) = waits {
            self.steps.truncate(waits + 1);
            self.steps[waits].end = End::Exit;
        }
    }
}

/// What a program accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accesses {
    /// Bytes of a page: of memory that is shared as one. Recorded are pages of the machine, or
    /// lines of [`Accesses::LINE_BYTES`].
    pub page_bytes: u32,
    /// Its shared memory, and where it was at home when it was recorded: each thread
    /// had a node of its own, with the thread's number.
    pub areas: Vec<Area>,
    /// Whether it may rely on ordinary loads to acquire.
    pub loads_acquire: bool,
    /// Its threads.
    pub threads: Vec<Thread>,
}

impl Default for Accesses {
    fn default() -> Self {
        Self {
            page_bytes: Self::PAGE_BYTES,
            areas: Vec::new(),
            loads_acquire: false,
            threads: Vec::new(),
        }
    }
}

impl Accesses {
    /// Bytes of a page of the machine.
    pub const PAGE_BYTES: u32 = PAGE_BYTES as u32;
    /// Bytes of a line, the smallest that accesses are recorded of.
    pub const LINE_BYTES: u32 = 64;
    /// Bytes of the largest page that accesses are looked at by.
    pub const PAGE_BYTES_MAX: u32 = 2 << 20;
    /// Bytes of a diff without content. Each line that changed adds as many, and what changed
    /// in it.
    pub const EMPTY_DIFF_BYTES: u32 = 8;
    /// The longest that all threads work together, in nanoseconds: 146 years.
    pub const WORK_NS_MAX: u64 = 1 << 62;

    /// Bytes of the longest diff of a page.
    #[must_use]
    pub fn diff_bytes_max(&self) -> u32 {
        let each = Self::LINE_BYTES + Self::EMPTY_DIFF_BYTES;
        let lines = self.page_bytes.div_ceil(Self::LINE_BYTES);
        lines
            .saturating_mul(each)
            .saturating_add(Self::EMPTY_DIFF_BYTES)
    }

    /// Pages of all areas.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.areas.iter().map(|area| u64::from(area.pages)).sum()
    }

    /// Time of the application itself, all threads together: what one thread alone
    /// would take.
    #[must_use]
    pub fn work_ns(&self) -> u64 {
        let work = self.threads.iter().map(Thread::work_ns);
        work.fold(0, u64::saturating_add)
    }

    /// All threads end at the last barrier that all have come to; how many there are.
    pub(crate) fn end_at_last_barrier(&mut self) -> usize {
        let barriers = self.threads.iter().map(|thread| thread.barriers().count());
        let barriers = barriers.min().unwrap_or(0);
        for thread in &mut self.threads {
            thread.end_behind(barriers);
        }
        barriers
    }

    /// When the first thread ends, the others wait for work, or have yet to begin that: so they
    /// are at one barrier more or not, as it happens. They end there, and the same program is the
    /// same accesses.
    pub(crate) fn end_at_last_wait(&mut self) {
        let passed = self.threads.first().map(|first| first.barriers().count());
        for thread in &mut self.threads {
            thread.end_at_barrier(passed.unwrap_or(0));
        }
    }

    /// Makes all application times so many times as long.
    pub fn scale_work(&mut self, factor: f64) {
        let steps = self.threads.iter_mut().flat_map(|thread| &mut thread.steps);
        for step in steps {
            // A float that is too large becomes the largest integer.
            step.work_ns = (step.work_ns as f64 * factor).round() as u64;
        }
    }
}
