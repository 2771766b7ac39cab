//! What is known of a program's page faults.

use fathomp_analysis::Place;
use serde::Serialize;

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MappingKind {
    /// What the C library's small allocations come from.
    Heap,
    /// Memory that was mapped without a file, large allocations among it.
    Anonymous,
    /// A thread's stack.
    Stack,
    /// A file: programs, libraries, data.
    File,
    /// Memory that processes share.
    SharedMemory,
    /// Memory that was asked for in huge pages.
    HugePages,
    /// What the kernel maps for itself.
    Kernel,
    /// No mapping is known there.
    Unknown,
}

/// Faults by what they were. Each is one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FaultCounts {
    /// The first access to a page since it was mapped.
    pub first_touch: u64,
    /// An access to a page that the process had touched before and that was not there any
    /// more, or a write to a page that had to be noticed; without I/O.
    pub repeated: u64,
    /// A write to a page that was shared until then.
    pub copy_on_write: u64,
    /// An access that the page's protection forbids: what a library protects to notice
    /// accesses, such as distributed shared memory.
    pub refused: u64,
    /// A fault of any of these kinds that waited for I/O.
    pub major: u64,
}

impl FaultCounts {
    /// All faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.first_touch + self.repeated + self.copy_on_write + self.refused + self.major
    }
}

impl std::ops::AddAssign<&Self> for FaultCounts {
    fn add_assign(&mut self, other: &Self) {
        self.first_touch += other.first_touch;
        self.repeated += other.repeated;
        self.copy_on_write += other.copy_on_write;
        self.refused += other.refused;
        self.major += other.major;
    }
}

/// What is known of all page faults of a recording.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FaultFacts {
    /// Host on which they happened.
    pub host: String,
    /// All of them.
    pub counts: FaultCounts,
    /// Time that threads waited for I/O at major faults, from the fault to when it was
    /// served, in nanoseconds; all threads together.
    pub waited_ns: u64,
    /// Events that the kernel could not store.
    pub lost: u64,
    /// Faults that the recording had no room for.
    pub left_out: u64,
    /// Whether copies on write and refused accesses are known; if not, they count as
    /// repeated faults.
    pub presence_known: bool,
    /// Places in the file that were damaged or cut off.
    pub damaged: u64,
    /// Huge pages that the kernel gave out meanwhile, to all programs of the machine.
    pub huge_pages: Option<u64>,
    /// Huge pages among the first touches: blocks of 2 MiB of which only one page ever
    /// faulted, as far as the kernel's own number allows. Inferred.
    pub huge_pages_inferred: u64,
    /// By source line, most faults first.
    pub lines: Vec<LineRow>,
    /// By variable or kind of memory, most faults first.
    pub variables: Vec<VariableRow>,
    /// By mapping, most faults first.
    pub mappings: Vec<MappingRow>,
    /// By thread, in the order of their first faults.
    pub threads: Vec<ThreadFaults>,
    /// Threads that faulted on pages that others touched first, most faults first.
    pub touches: Vec<TouchRow>,
    /// When and where, for the mappings with most faults.
    pub heat: Heat,
}

/// Faults of the instructions of one source line.
#[derive(Clone, Debug, Serialize)]
pub struct LineRow {
    /// Where.
    pub place: Place,
    /// How many.
    pub counts: FaultCounts,
}

/// Faults on one variable, or on memory without a name.
#[derive(Clone, Debug, Serialize)]
pub struct VariableRow {
    /// The variable's name, or what memory it is: `heap`, `stack`, the name of a file.
    pub name: String,
    /// Path of the program or library that it is a variable of; empty for memory without
    /// a name.
    pub module: String,
    /// What memory it lies in.
    pub kind: MappingKind,
    /// How many.
    pub counts: FaultCounts,
}

/// Faults on one mapping.
#[derive(Clone, Debug, Serialize)]
pub struct MappingRow {
    /// Number of its process.
    pub process: u32,
    /// What memory it is.
    pub kind: MappingKind,
    /// Path of its file, or the kernel's name for it.
    pub name: String,
    /// Lowest address that it ever had.
    pub start: u64,
    /// The address behind the highest.
    pub end: u64,
    /// How many.
    pub counts: FaultCounts,
    /// Threads that touched pages of it first, by their numbers.
    pub first_touches: Vec<FirstTouches>,
}

/// A thread's first touches of a mapping's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FirstTouches {
    /// Number by which the kernel knows the thread.
    pub thread: u32,
    /// Faults that did not wait for I/O.
    pub faults: u64,
}

/// Faults of one thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadFaults {
    /// Number of its process.
    pub process: u32,
    /// Number by which the kernel knows it.
    pub thread: u32,
    /// Name of its program, as far as the kernel keeps it.
    pub program: String,
    /// How many.
    pub counts: FaultCounts,
}

/// A thread that faulted on pages that another of its process had touched first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TouchRow {
    /// Number of their process.
    pub process: u32,
    /// The thread that touched them first.
    pub first: u32,
    /// The thread that faulted there later.
    pub later: u32,
    /// Its faults there.
    pub faults: u64,
}

/// Faults by time and address.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Heat {
    /// Time of the first column's begin: nanoseconds of the recording's clock.
    pub begin_ns: u64,
    /// Time of the last column's end.
    pub end_ns: u64,
    /// Columns.
    pub columns: u32,
    /// Rows, by address within mappings, those in the order of [`FaultFacts::mappings`].
    pub rows: Vec<HeatRow>,
}

/// A part of a mapping.
#[derive(Clone, Debug, Serialize)]
pub struct HeatRow {
    /// Which of [`FaultFacts::mappings`].
    pub mapping: usize,
    /// First address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// Faults in each column.
    pub faults: Vec<u32>,
}
