//! Where things stand in a process's ring file, in words of 64 bits.
//!
//! ```text
//! header | strings of the header | names | slots | rings
//! ```
//!
//! The file is written by the interposer and read by the collector, on one machine and by one
//! version; it is never kept.

use fathomp_ring::file::Format;

/// What the file says it is; the version is that of records, too.
pub const FORMAT: Format = Format {
    magic: u64::from_le_bytes(*b"FTHTAP\0\0"),
    version: 1,
    header_words: header::WORDS,
};
/// File name extension of a ring file.
pub const EXTENSION: &str = "pagingrings";

/// Header words; the high half of [`header::PROCESS`] is the number of the parent.
pub mod header {
    pub use fathomp_ring::file::header::*;

    /// Number of the process in the order in which they began, plus 1; 0 if not counted.
    pub const ORDER: usize = 13;
    /// Most slots ever in use at a time.
    pub const SLOTS_USED: usize = 14;
    /// Threads that began.
    pub const THREADS: usize = 15;
    /// Threads that found no slot.
    pub const THREADS_LOST: usize = 16;
    /// How the process ends, [`ending`](super::ending), 0 while it does not; written after
    /// the other facts of the end.
    pub const ENDING: usize = 17;
    /// Tick of the end.
    pub const END: usize = 18;
    /// I/O calls that were seen.
    pub const IO_SEEN: usize = 19;
    /// I/O calls that the kernel counted, plus 1; 0 if not known.
    pub const IO_MADE: usize = 20;
    /// 1 if the program removed the interposer from the environment.
    pub const ENVIRONMENT_CLEARED: usize = 21;
    /// Batches that could not be handed on by the process itself.
    pub const REFUSED: usize = 22;
    /// Marks that found no room.
    pub const MARKS_LOST: usize = 25;
    /// Rank in `MPI_COMM_WORLD`, plus 1; 0 if not known.
    pub const RANK: usize = 23;
    /// Node, plus 1; 0 if not known.
    pub const NODE: usize = 24;
    /// Name of the program: length in bytes, then bytes.
    pub const PROGRAM: usize = 32;
    /// Words for the name, with its length.
    pub const PROGRAM_WORDS: usize = 33;
    /// Names published so far.
    pub const NAMES: usize = 80;
    /// Words of the names in use.
    pub const NAMES_USED: usize = 81;
    /// Names that found no room.
    pub const NAMES_LOST: usize = 82;
    /// Words of the header, a page.
    pub const WORDS: usize = 512;
}

/// The table of names: index, then the names themselves.
pub mod names {
    /// First word.
    pub const BEGIN: usize = super::header::WORDS;
    /// Names there is room for, name 0 (none) included.
    pub const MOST: usize = 2048;
    /// Words for the names' lengths and bytes.
    pub const HEAP_WORDS: usize = 6 * 2048;
    /// First word of these.
    pub const HEAP: usize = BEGIN + MOST;
    /// Words of the table, whole pages.
    pub const WORDS: usize = MOST + HEAP_WORDS;
}

/// A thread slot: a page, so that threads share no cache line.
pub mod slot {
    /// 0 before the first use, then [`ACTIVE`] or [`RETURNED`].
    pub const STATE: usize = 0;
    /// Number of the thread in its process (low half), its kernel number (high half).
    pub const THREAD: usize = 1;
    /// When it began.
    pub const BEGIN: usize = 2;
    /// When it ended, if it did and could not put that into its ring; 0 before.
    pub const END: usize = 3;
    /// How it ended, [`ending`](super::ending).
    pub const ENDING: usize = 4;

    /// Words written to the ring.
    pub const HEAD: usize = 8;
    /// End of the last stay that was told.
    pub const LAST: usize = 9;
    /// What the thread does since then, an activity's number.
    pub const NEXT: usize = 10;

    /// Words read from the ring; the consumer's.
    pub const TAIL: usize = 16;
    /// Number of the thread at `TAIL`, plus 1; 0 for none. The consumer's, where that is a
    /// thread of the process itself.
    pub const TAIL_THREAD: usize = 17;

    /// Stays that found the ring full, merged.
    pub const MERGED: usize = 64;
    /// Stays that were not selected, for the totals.
    pub const OMITTED: usize = MERGED + super::sums::WORDS;
    /// Words of a slot.
    pub const WORDS: usize = 512;

    /// Of [`STATE`]: a thread is using the slot.
    pub const ACTIVE: u64 = 1;
    /// Of [`STATE`]: the last thread to use the slot has ended and all of it is in the ring.
    pub const RETURNED: u64 = 2;
}

/// Sums of stays by state.
pub mod sums {
    use fathomp_paging::{Counter, State};

    /// States that hold anything, a bit each; the words of the others are stale.
    pub const MASK: usize = 0;
    /// When the first of the stays began.
    pub const BEGIN: usize = 1;
    /// The sums are in the ring if its head has reached this position; 0 if they are not
    /// being put there.
    pub const FLUSH: usize = 2;
    /// First state.
    pub const STATES: usize = 8;
    /// Of a state: number of stays.
    pub const STAYS: usize = 0;
    /// Of a state: ticks.
    pub const TICKS: usize = 1;
    /// Of a state: counters that rose, a bit each; the words of the others are stale.
    pub const COUNTED: usize = 2;
    /// Of a state: counters.
    pub const COUNTS: usize = 3;
    /// Words of a state.
    pub const STATE_WORDS: usize = 24;
    /// Words of all.
    pub const WORDS: usize = STATES + STATE_WORDS * State::COUNT;

    const _: () = assert!(COUNTS + Counter::COUNT <= STATE_WORDS);
}

const _: () = assert!(slot::OMITTED + sums::WORDS <= slot::WORDS);
const _: () = assert!(header::PROGRAM + header::PROGRAM_WORDS <= header::NAMES);

/// Endings as words of a header; 0 means none yet.
pub mod ending {
    use fathomp_paging::Ending;

    const ALL: [Ending; 4] = [Ending::Exit, Ending::Exec, Ending::Lost, Ending::Running];

    /// The word of an ending.
    #[must_use]
    pub fn to_word(ending: Ending) -> u64 {
        let place = ALL.iter().position(|&one| one == ending);
        place.map_or(0, |place| place as u64 + 1)
    }

    /// The ending of a word.
    #[must_use]
    pub fn from_word(word: u64) -> Option<Ending> {
        let place = usize::try_from(word.checked_sub(1)?).ok()?;
        ALL.get(place).copied()
    }
}

/// Sizes of the variable parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Thread slots.
    pub slots: usize,
    /// Words per ring, a power of two.
    pub ring_words: usize,
}

impl Geometry {
    /// Largest values that make sense; a file that claims more is damaged.
    const MOST: Self = Self {
        slots: 1 << 14,
        ring_words: 1 << 26,
    };
    /// Most words of all rings together: 64 GiB, which take no space until they are used.
    const RINGS_WORDS_MOST: usize = 1 << 33;

    /// For rings of that size, as many slots as make sense, up to `slots`.
    #[must_use]
    pub fn for_rings(ring_words: usize, slots: usize) -> Self {
        let ring_words = ring_words.next_power_of_two().min(Self::MOST.ring_words);
        let fit = Self::RINGS_WORDS_MOST / ring_words;
        Self {
            slots: slots.clamp(1, Self::MOST.slots.min(fit)),
            ring_words,
        }
    }

    /// First word of a slot.
    #[must_use]
    pub fn slot(&self, index: usize) -> usize {
        names::BEGIN + names::WORDS + index * slot::WORDS
    }

    /// First word of a slot's ring.
    #[must_use]
    pub fn ring(&self, index: usize) -> usize {
        self.slot(self.slots) + index * self.ring_words
    }

    /// Words of the whole file.
    #[must_use]
    pub fn words(&self) -> usize {
        self.ring(self.slots)
    }

    /// The geometry, if it can be that of a file of `words` words.
    #[must_use]
    pub fn checked(self, words: usize) -> Option<Self> {
        let sane = (1..=Self::MOST.slots).contains(&self.slots)
            && (1..=Self::MOST.ring_words).contains(&self.ring_words)
            && self.ring_words.is_power_of_two()
            && self.slots * self.ring_words <= Self::RINGS_WORDS_MOST;
        (sane && self.words() <= words).then_some(self)
    }
}
