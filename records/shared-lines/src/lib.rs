//! Cache lines that threads share, as other tools read them.
//!
//! Plain data: who finds them and who shows or weighs them need nothing else of each other.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// How threads share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// At different bytes, and at least one of them writes: they need not.
    False,
    /// At the same bytes, and at least one of them writes.
    True,
    /// They read it, and nobody writes meanwhile: that costs nothing.
    ReadMostly,
}

/// A place in the source, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// In words: `file.c:12 (function)`, `function+0x12 (module)`, or an address.
    pub label: String,
    /// The file, if there is line information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Address in the program's file.
    pub address: u64,
}

/// How surely it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Changed bytes and atomic instructions: all there were, but for writes that
    /// changed nothing.
    Writes,
    /// Reads of which the first to a page was seen.
    Reads,
}

/// Lines of one variable, or of several that lie in the same lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedLine {
    /// How they are shared.
    pub kind: Kind,
    /// The variable, or variables: `hits`, `a and b`, or a block of the heap.
    pub name: String,
    /// What of it threads share, such as `hits[0] to hits[7]` or `per[].n`.
    pub parts: Vec<String>,
    /// Bytes from its beginning to the first line's first byte that is meant.
    pub offset: u64,
    /// How many lines of it.
    pub lines: u64,
    /// Address of the first one in this run.
    pub address: u64,
    /// Where the variable is declared, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Site>,
    /// For a block of the heap: the calls that allocated it, the innermost first.
    pub allocation: Vec<Site>,
    /// The regions in which they are shared, the one with the most accesses first.
    pub regions: Vec<Site>,
    /// Source lines of accesses that were seen, the most frequent first.
    pub accesses_at: Vec<Site>,
    /// Phases, from one barrier to the next, in which a line is shared so, the most of any.
    pub phases: u64,
    /// Threads that write, counted over all lines.
    pub writers: Vec<u16>,
    /// Threads that are known to read and do not write.
    pub readers: Vec<u16>,
    /// Accesses that are known of; there may be many more, since what a thread writes
    /// between two barriers is seen once.
    pub accesses: u64,
    /// Of these, atomic instructions.
    pub atomics: u64,
    /// Of these, changes under a lock.
    pub locked: u64,
    /// What those accesses cost beyond what they would in lines of their own; none if
    /// no price is known. In nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub est_cost_ns: Option<f64>,
    /// The lines are only where the blocks of two threads meet.
    pub boundary: bool,
    /// Of true sharing: no byte is written by two threads; what one writes others read.
    pub handed_on: bool,
    /// How surely it was seen.
    pub evidence: Evidence,
    /// What it is, as a sentence.
    pub sentence: String,
    /// What mends it, as a sentence.
    pub mend: String,
}

/// An atomic instruction in the code of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomicSite {
    /// Where.
    pub site: Site,
    /// The instruction, such as `lock xadd`.
    pub instruction: String,
    /// How often it was executed, as far as was looked.
    pub executed: u64,
}

/// The atomic instructions in the code of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionAtomics {
    /// The region.
    pub region: Site,
    /// Its instructions, by address.
    pub instructions: Vec<AtomicSite>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Threads that ran, one on each node.
    pub threads: u16,
    /// Phases that were looked at.
    pub phases: u64,
    /// The program was looked at to its end.
    pub complete: bool,
    /// What is shared: false sharing, true sharing, then what is read, each ranked by
    /// what it costs.
    pub lines: Vec<SharedLine>,
    /// Atomic instructions by region.
    pub atomics: Vec<RegionAtomics>,
    /// What one access to a line costs more if another thread writes it, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contended_ns: Option<f64>,
    /// What limits this answer, each as a sentence.
    pub notes: Vec<String>,
}

impl Findings {
    /// Those of a kind, ranked.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &SharedLine> {
        self.lines.iter().filter(move |line| line.kind == kind)
    }

    /// False sharing that is worth mending: not only where blocks meet.
    pub fn false_sharing(&self) -> impl Iterator<Item = &SharedLine> {
        self.of(Kind::False).filter(|line| !line.boundary)
    }
}
