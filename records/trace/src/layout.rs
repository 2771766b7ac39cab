//! Where things stand in a ring file, in words of 64 bits.
//!
//! ```text
//! header | strings of the header | site table | string heap | slots | rings
//! ```
//!
//! The file is written by the program and read by the drainer, on one machine
//! and from one build of fathomp or at least one version; unlike the
//! recording it is never kept.

use fathomp_ring::file::Format;

/// What the file says it is.
pub(crate) const FORMAT: Format = Format {
    magic: u64::from_le_bytes(*b"FTHRING\0"),
    version: 10,
    header_words: header::WORDS,
};

/// Header words; the high half of [`header::PROCESS`] is the node.
pub(crate) mod header {
    pub(crate) use fathomp_ring::file::header::*;

    /// Tick at which the process ended properly; 0 before.
    pub(crate) const END: usize = 11;
    /// Threads attached so far: the next thread's number.
    pub(crate) const THREADS: usize = 14;
    /// Threads that found no slot.
    pub(crate) const THREADS_LOST: usize = 15;
    /// 1 if hardware counters could be read.
    pub(crate) const HARDWARE: usize = 16;
    /// Entries of the site table.
    pub(crate) const SITES: usize = 17;
    /// Regions nested too deep to be recorded.
    pub(crate) const TOO_DEEP: usize = 18;
    /// Words of the string heap.
    pub(crate) const HEAP_WORDS: usize = 19;
    /// Process number of node 0 if the process is a node of a cluster, else 0.
    pub(crate) const CLUSTER: usize = 20;
    /// [`StackOverflow`](crate::stack::StackOverflow), if a stack ran out; the
    /// last of its words is written last.
    pub(crate) const STACK: usize = 22;
    /// Places that found the site table full.
    pub(crate) const SITES_LOST: usize = 13;
    /// Sites published so far.
    pub(crate) const SITE_COUNT: usize = 21;
    /// 1 if the recorder is not part of the runtime (see [`crate::foreign_recorder`]).
    pub(crate) const FOREIGN_RECORDER: usize = 27;
    /// [`Unseen`](crate::foreign_recorder::Unseen), one bit each.
    pub(crate) const UNSEEN: usize = 28;
    /// Events that were told to a foreign recorder.
    pub(crate) const EVENTS: usize = 29;
    /// Ticks in a foreign recorder.
    pub(crate) const COST: usize = 30;
    /// How often each [`Lapse`](crate::foreign_recorder::Lapse) was met.
    pub(crate) const LAPSES: usize = 32;
    /// Name of the OpenMP runtime: length in bytes, then bytes.
    pub(crate) const RUNTIME: usize = 64;
    /// Words for the name, with its length.
    pub(crate) const RUNTIME_WORDS: usize = 32;
    /// Path of the program: length in bytes, then bytes.
    pub(crate) const EXECUTABLE: usize = 96;
    /// Words for the path, with its length.
    pub(crate) const EXECUTABLE_WORDS: usize = 513;
    /// Path of the runtime's library, if a foreign recorder watches it: length in bytes, then bytes.
    pub(crate) const LIBRARY: usize = 640;
    /// Words for the path, with its length.
    pub(crate) const LIBRARY_WORDS: usize = 257;
    /// Words of the header, whole pages.
    pub(crate) const WORDS: usize = 1024;
}

/// An entry of the site table.
pub(crate) mod site {
    /// Kind.
    pub(crate) const KIND: usize = 0;
    /// Word of the heap at which the module's name stands; 0 for none.
    pub(crate) const MODULE: usize = 1;
    /// Address of the call.
    pub(crate) const CALL: usize = 2;
    /// Address of the outlined function.
    pub(crate) const FUNCTION: usize = 3;
    /// Words of an entry.
    pub(crate) const WORDS: usize = 4;
}

/// A thread slot: whole pages, so that threads share no cache line.
pub(crate) mod slot {
    /// 0 before the first use, then [`ACTIVE`] or [`RETURNED`].
    pub(crate) const STATE: usize = 0;
    /// Number of the thread (low half), its kernel number (high half).
    pub(crate) const THREAD: usize = 1;
    /// When it attached.
    pub(crate) const BEGIN: usize = 2;

    /// Words written to the ring.
    pub(crate) const HEAD: usize = 16;
    /// Latest sign of life.
    pub(crate) const LAST: usize = 17;
    /// Records that found the ring full.
    pub(crate) const DROPPED: usize = 18;
    /// Open regions, those too deep to be recorded included.
    pub(crate) const DEPTH: usize = 19;
    /// Carries in use.
    pub(crate) const CARRIED: usize = 20;

    /// Words read from the ring; the drainer's.
    pub(crate) const TAIL: usize = 32;

    /// Accumulators of the open regions, outermost (serial) first.
    pub(crate) const FRAMES: usize = 64;
    /// Accumulators: the serial part and this many levels but one.
    pub(crate) const FRAME_COUNT: usize = 9;
    /// Sums of executions that found the ring full.
    pub(crate) const CARRIES: usize = 784;
    /// Regions that can be carried at a time.
    pub(crate) const CARRY_COUNT: usize = 8;
    /// Words of a slot.
    pub(crate) const WORDS: usize = 1536;

    /// Of [`STATE`]: a thread is using the slot.
    pub(crate) const ACTIVE: u64 = 1;
    /// Of [`STATE`]: the last thread to use the slot has ended properly.
    pub(crate) const RETURNED: u64 = 2;
}

/// What a region has accumulated so far.
pub(crate) mod frame {
    /// Site (low half) and nesting level (high half).
    pub(crate) const SITE: usize = 0;
    /// Instance.
    pub(crate) const INSTANCE: usize = 1;
    /// Enclosing instance.
    pub(crate) const PARENT: usize = 2;
    /// Thread number (low half) and team size (high half).
    pub(crate) const TEAM: usize = 3;
    /// Tick of the fork.
    pub(crate) const FORK: usize = 4;
    /// Tick of the begin.
    pub(crate) const BEGIN: usize = 5;
    /// States that have accumulated anything, one bit each. The words of the
    /// other states are stale.
    pub(crate) const MASK: usize = 6;
    /// Loops met.
    pub(crate) const LOOPS: usize = 7;
    /// Chunks run.
    pub(crate) const CHUNKS: usize = 8;
    /// Iterations run.
    pub(crate) const ITERATIONS: usize = 9;
    /// Tasks created.
    pub(crate) const TASKS_CREATED: usize = 10;
    /// Tasks run.
    pub(crate) const TASKS_RUN: usize = 11;
    /// Ticks per state.
    pub(crate) const TICKS: usize = 12;
    /// Waits per state.
    pub(crate) const WAITS: usize = TICKS + crate::state::State::RECORDED;
    /// Of a carry: executions summed.
    pub(crate) const MERGED: usize = WAITS + crate::state::State::RECORDED;
    /// Of a carry: sum of their lengths.
    pub(crate) const BUSY: usize = MERGED + 1;
    /// Of a carry: end of the last.
    pub(crate) const END: usize = MERGED + 2;
    /// Counts of [`DSM`] that are not zero, one bit each. The words of the
    /// others are stale.
    pub(crate) const DSM_MASK: usize = END + 1;
    /// [`DsmCount`](crate::dsm::DsmCount)s.
    pub(crate) const DSM: usize = DSM_MASK + 1;
    /// Time waited for `single` constructs.
    pub(crate) const SINGLE_WAIT: usize = 73;
    /// Time in tasks that were timed, without their waits for others.
    pub(crate) const TASK_TICKS: usize = 74;
    /// The longest of these.
    pub(crate) const LONGEST_TASK: usize = 75;
    /// Critical sections entered and locks taken.
    pub(crate) const MUTEXES: usize = 76;
    /// Set of values that the region was begun with; 0 if that is not known.
    pub(crate) const SET: usize = 77;
    /// Of the tasks run, those that a clause had their creator run at once.
    pub(crate) const TASKS_UNDEFERRED: usize = 78;
    /// Of the tasks created, those that had to wait for others.
    pub(crate) const TASKS_DEPENDENT: usize = 79;
    /// Words of a frame, whole cache lines.
    pub(crate) const WORDS: usize = 80;
}

const _: () = assert!(frame::DSM + crate::dsm::DsmCount::COUNT <= frame::SINGLE_WAIT);
const _: () = assert!(frame::TASKS_DEPENDENT < frame::WORDS);
const _: () = assert!(slot::FRAMES + slot::FRAME_COUNT * frame::WORDS <= slot::CARRIES);
const _: () = assert!(slot::CARRIES + slot::CARRY_COUNT * frame::WORDS <= slot::WORDS);
const _: () =
    assert!(header::LAPSES + crate::foreign_recorder::Lapse::ALL.len() <= header::RUNTIME);
const _: () = assert!(header::EXECUTABLE + header::EXECUTABLE_WORDS <= header::LIBRARY);
const _: () = assert!(header::LIBRARY + header::LIBRARY_WORDS <= header::WORDS);

/// Sizes of the variable parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Thread slots.
    pub(crate) slots: usize,
    /// Words per ring, a power of two.
    pub(crate) ring_words: usize,
    /// Entries of the site table.
    pub(crate) sites: usize,
    /// Words of the string heap.
    pub(crate) heap_words: usize,
}

impl Geometry {
    /// First word of the site table.
    pub(crate) const SITES: usize = header::WORDS;

    /// Largest values that make sense; a file that claims more is damaged.
    const MOST: Self = Self {
        slots: 1 << 16,
        ring_words: 1 << 27,
        sites: 1 << 20,
        heap_words: 1 << 24,
    };

    /// First word of the string heap.
    pub(crate) fn heap(&self) -> usize {
        Self::SITES + self.sites * site::WORDS
    }

    /// First word of a slot.
    pub(crate) fn slot(&self, index: usize) -> usize {
        self.heap() + self.heap_words + index * slot::WORDS
    }

    /// First word of a slot's ring.
    pub(crate) fn ring(&self, index: usize) -> usize {
        self.slot(self.slots) + index * self.ring_words
    }

    /// Words of the whole file.
    pub(crate) fn words(&self) -> usize {
        self.ring(self.slots)
    }

    /// The geometry, if it can be that of a file of `words` words.
    pub(crate) fn checked(self, words: usize) -> Option<Self> {
        let sane = (1..=Self::MOST.slots).contains(&self.slots)
            && (1..=Self::MOST.ring_words).contains(&self.ring_words)
            && self.ring_words.is_power_of_two()
            && (1..=Self::MOST.sites).contains(&self.sites)
            && (1..=Self::MOST.heap_words).contains(&self.heap_words);
        (sane && self.words() <= words).then_some(self)
    }
}
