//! The stream files of a process within a paging recording: blocks and notes
//! (docs/paging-format.md, "Streams").

use crate::{CounterSet, Counts, Ending, State, TaskKind};
use fathomp_blocks::Origin;
use fathomp_types::{Clock, Ticks};
use serde::{Deserialize, Serialize};

/// First bytes of a stream.
pub const MAGIC: [u8; 8] = *b"FTHPAGE\0";
/// Version of streams.
pub const VERSION: u32 = 1;
/// File name extension of a stream.
pub const EXTENSION: &str = "fthp";
/// Owner of blocks that tell of the process as a whole.
pub const PROCESS: u32 = u32::MAX;
/// Source of blocks of the interposer, or of the collector in its place.
pub const BY_INTERPOSER: u32 = 0;
/// Source of blocks of a sampler, which numbers tasks as it likes: the reader
/// finds them by process and [`TaskNote::os_id`].
pub const BY_SAMPLER: u32 = 1;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A [`ProcessNote`].
    Process = 1,
    /// A [`NamesNote`].
    Names = 2,
    /// A [`TaskNote`].
    Task = 3,
    /// Packed intervals of a task.
    Intervals = 4,
    /// Packed marks of a task.
    Marks = 5,
    /// Packed samples of a task.
    Samples = 6,
    /// Bins of a task; those with the highest position count.
    Bins = 7,
    /// An [`EndNote`].
    End = 8,
}

impl Kind {
    /// The kind of that number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        [
            Self::Process,
            Self::Names,
            Self::Task,
            Self::Intervals,
            Self::Marks,
            Self::Samples,
            Self::Bins,
            Self::End,
        ]
        .into_iter()
        .find(|&kind| kind as u32 == number)
    }
}

/// Name of a stream file: of the process `pid` that begins at `begin`; `part`
/// tells the files of one process apart if there are several.
#[must_use]
pub fn file_name(pid: u32, begin: Ticks, part: Option<u32>) -> String {
    match part {
        None => format!("{pid}-{:x}.{EXTENSION}", begin.0),
        Some(part) => format!("{pid}-{:x}.{part}.{EXTENSION}", begin.0),
    }
}

/// The bytes that a stream file begins with.
#[must_use]
pub fn start() -> [u8; fathomp_blocks::START_BYTES] {
    fathomp_blocks::start(MAGIC, VERSION)
}

/// Appends a block with a note as JSON to `out`.
///
/// `position` orders the notes of one owner: later ones complete and correct
/// earlier ones. Any rising number will do, such as a tick.
pub fn put_note(
    out: &mut Vec<u8>,
    kind: Kind,
    source: u32,
    owner: u32,
    position: u64,
    note: &impl Serialize,
) {
    // Numbers, strings and lists have no keys or floats that JSON could refuse.
    let json = serde_json::to_vec(note).unwrap_or_default();
    let origin = Origin {
        source,
        owner,
        position,
    };
    fathomp_blocks::put(out, kind as u32, origin, &json);
}

/// What is known of a process. A field that is `None` leaves what an earlier note
/// said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessNote {
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Number of the process that forked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Name of its program, without directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Name of its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its rank in `MPI_COMM_WORLD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its node, if the program runs on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// What its ticks mean. The same as that of the process in the recording of
    /// regions, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Nanoseconds to add to times of `clock` to get the recording's, that is
    /// those of [`PagingMeta::clock`](crate::PagingMeta::clock). `None` if its
    /// ticks are those of the recording's clock: then the reader knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_ns: Option<i64>,
    /// How far off `offset_ns` may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_error_ns: Option<u64>,
    /// When it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<Ticks>,
    /// When it ended, or was seen alive for the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Ticks>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The counters that its intervals count exactly; samples of these only say
    /// when within an interval they rose. `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<CounterSet>,
    /// I/O calls that the interposer saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_calls_seen: Option<u64>,
    /// I/O calls that the kernel counted, without the interposer's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_calls_made: Option<u64>,
    /// What should be known of it beside, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Names of calls and constructs, numbered on from `first`. Number 0 is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamesNote {
    /// Number of the first.
    pub first: u32,
    /// The names.
    pub names: Vec<String>,
}

/// What is known of a task. A field that is `None` leaves what an earlier note
/// said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskNote {
    /// What it is; a thread, if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// Number by which the kernel knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_id: Option<u32>,
    /// Its rank, node and so on, where they are not those of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Its number among its process's OpenMP threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openmp_thread: Option<u32>,
    /// When it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<Ticks>,
    /// When its record ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Ticks>,
    /// How its record ends; as that of its process, if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Whether its intervals were recorded; if not said, they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// All that happened to it, recorded or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
}

/// What happened to a task altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Stays in states.
    pub stays: u64,
    /// Ticks in each state, by its number.
    pub ticks: [u64; State::COUNT],
    /// What was counted.
    pub counts: Counts,
}

impl Totals {
    /// Adds `stays` stays in `state` of `ticks` together.
    pub fn add(&mut self, state: State, ticks: u64, stays: u64, counts: &Counts) {
        let sum = &mut self.ticks[state.index()];
        *sum = sum.saturating_add(ticks);
        self.stays = self.stays.saturating_add(stays);
        self.counts += counts;
    }
}

/// How much of an owner is in the stream, and what of it is not: what a packer
/// counted. The last note of an owner counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndNote {
    /// Intervals in blocks of intervals.
    pub intervals: u64,
    /// Stays merged into bins at the recording's limit.
    pub binned: u64,
    /// Tick from which on they are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binned_from: Option<Ticks>,
    /// Stays that were merged before they reached the packer, because a ring was
    /// full.
    pub merged_early: u64,
    /// Marks in the stream.
    pub marks: u64,
    /// Marks that found no room.
    pub marks_left_out: u64,
    /// Samples in the stream.
    pub samples: u64,
    /// Samples that were added to the next one, to save room.
    pub samples_joined: u64,
    /// Changes of state that came to nothing: damaged, or without room.
    pub changes_lost: u64,
    /// Times that the clock seemed to run backwards; those stays are empty.
    pub clock_went_back: u64,
    /// Times that a counter seemed to run backwards; nothing was counted then.
    pub counters_went_back: u64,
    /// The disk was full for a while.
    pub disk_full: bool,
}

impl EndNote {
    /// Both together: of several packers of one task.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let first = [self.binned_from, other.binned_from];
        Self {
            intervals: self.intervals.saturating_add(other.intervals),
            binned: self.binned.saturating_add(other.binned),
            binned_from: first.into_iter().flatten().min(),
            merged_early: self.merged_early.saturating_add(other.merged_early),
            marks: self.marks.saturating_add(other.marks),
            marks_left_out: self.marks_left_out.saturating_add(other.marks_left_out),
            samples: self.samples.saturating_add(other.samples),
            samples_joined: self.samples_joined.saturating_add(other.samples_joined),
            changes_lost: self.changes_lost.saturating_add(other.changes_lost),
            clock_went_back: self.clock_went_back.saturating_add(other.clock_went_back),
            counters_went_back: self
                .counters_went_back
                .saturating_add(other.counters_went_back),
            disk_full: self.disk_full || other.disk_full,
        }
    }
}
