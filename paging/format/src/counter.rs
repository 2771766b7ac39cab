//! What is counted, and how much of it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::{AddAssign, Index, IndexMut};

/// What the kernel, the C library's callers or the shared memory count for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Page faults served without I/O (`ru_minflt`).
    MinorFaults,
    /// Page faults that waited for I/O (`ru_majflt`).
    MajorFaults,
    /// Pages of 4 KiB read for the task from a disk or swap (`ru_inblock` / 8).
    PageIns,
    /// Blocks of 512 bytes that the task made dirty, to be written (`ru_oublock`).
    BlocksOut,
    /// Times that the task gave its processor up to wait (`ru_nvcsw`).
    VoluntarySwitches,
    /// Times that the task was preempted (`ru_nivcsw`).
    InvoluntarySwitches,
    /// Writes to pages that were shared until then; where it can be had.
    CopiesOnWrite,
    /// Bytes read by I/O calls.
    BytesRead,
    /// Bytes written by I/O calls.
    BytesWritten,
    /// Calls to I/O functions.
    IoCalls,
    /// Writes that the distributed shared memory had to notice.
    DsmWriteFaults,
    /// Accesses to pages that had to be fetched from another node.
    DsmFetchFaults,
    /// Pages that came from other nodes.
    DsmPagesIn,
    /// Pages that went to other nodes.
    DsmPagesOut,
    /// Bytes of messages that came from other nodes.
    DsmBytesIn,
    /// Bytes of messages that went to other nodes.
    DsmBytesOut,
    /// Pages read back from swap, of the whole machine (`pswpin`), by sampling.
    SystemSwapIns,
    /// Pages written to swap, of the whole machine (`pswpout`), by sampling.
    SystemSwapOuts,
    /// Pages of the process that went to swap (growth of `VmSwap`), by sampling.
    ProcessSwapOuts,
    /// Pages of the process that came back (decline of `VmSwap`), by sampling.
    ProcessSwapIns,
}

impl Counter {
    /// Number of counters.
    pub const COUNT: usize = 20;

    /// All, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::MinorFaults,
        Self::MajorFaults,
        Self::PageIns,
        Self::BlocksOut,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::CopiesOnWrite,
        Self::BytesRead,
        Self::BytesWritten,
        Self::IoCalls,
        Self::DsmWriteFaults,
        Self::DsmFetchFaults,
        Self::DsmPagesIn,
        Self::DsmPagesOut,
        Self::DsmBytesIn,
        Self::DsmBytesOut,
        Self::SystemSwapIns,
        Self::SystemSwapOuts,
        Self::ProcessSwapOuts,
        Self::ProcessSwapIns,
    ];

    /// The counter's number, below [`Counter::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The counter with that number.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The counter's name, as in files and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MinorFaults => "minor_faults",
            Self::MajorFaults => "major_faults",
            Self::PageIns => "page_ins",
            Self::BlocksOut => "blocks_out",
            Self::VoluntarySwitches => "voluntary_switches",
            Self::InvoluntarySwitches => "involuntary_switches",
            Self::CopiesOnWrite => "copies_on_write",
            Self::BytesRead => "bytes_read",
            Self::BytesWritten => "bytes_written",
            Self::IoCalls => "io_calls",
            Self::DsmWriteFaults => "dsm_write_faults",
            Self::DsmFetchFaults => "dsm_fetch_faults",
            Self::DsmPagesIn => "dsm_pages_in",
            Self::DsmPagesOut => "dsm_pages_out",
            Self::DsmBytesIn => "dsm_bytes_in",
            Self::DsmBytesOut => "dsm_bytes_out",
            Self::SystemSwapIns => "system_swap_ins",
            Self::SystemSwapOuts => "system_swap_outs",
            Self::ProcessSwapOuts => "process_swap_outs",
            Self::ProcessSwapIns => "process_swap_ins",
        }
    }

    /// The counter of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|counter| counter.name() == name)
    }
}

/// How much of each counter, by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; Counter::COUNT]);

impl Counts {
    /// Nothing of any.
    pub const ZERO: Self = Self([0; Counter::COUNT]);

    /// No count rises by more between two readings: what does is a counter that went
    /// back, or wrapped.
    pub const MOST: u64 = (1 << 62) - 1;

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Those counted, with their amounts.
    pub fn nonzero(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        let all = Counter::ALL.into_iter().zip(self.0);
        all.filter(|(_, count)| *count != 0)
    }
}

/// In JSON an object of those that were counted, by name; names from later
/// versions are left out.
impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.nonzero()
                .map(|(counter, count)| (counter.name(), count)),
        )
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut counts = Self::ZERO;
        for (name, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            if let Some(counter) = Counter::from_name(&name) {
                counts[counter] = count;
            }
        }
        Ok(counts)
    }
}

/// Sums that would not fit stay at the largest number.
impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(count);
        }
    }
}

impl Index<Counter> for Counts {
    type Output = u64;
    fn index(&self, counter: Counter) -> &u64 {
        &self.0[counter.index()]
    }
}

impl IndexMut<Counter> for Counts {
    fn index_mut(&mut self, counter: Counter) -> &mut u64 {
        &mut self.0[counter.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_counters_are_one_to_one() {
        for (number, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter.index(), number);
            assert_eq!(Counter::from_index(number), Some(counter));
            assert_eq!(Counter::from_name(counter.name()), Some(counter));
        }
        assert_eq!(Counter::from_name("faults"), None);
    }
}
