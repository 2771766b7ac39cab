//! What a replay counted.

use fathomp_trace::dsm::DsmCounts;
use std::iter::Sum;
use std::ops::AddAssign;

/// What happened at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Counts as a recording has them; ticks are nanoseconds.
    pub counts: DsmCounts,
    /// Messages sent.
    pub messages: u64,
    /// Time in which the node handled messages.
    pub handling_ns: u64,
    /// Application time of its threads.
    pub work_ns: u64,
    /// Bytes that others changed and that have to come here, whatever the protocol: at most what
    /// is received. See `least.rs`.
    pub least_bytes: u64,
}

/// What a replay counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Time of the program.
    pub time_ns: u64,
    /// By node.
    pub nodes: Vec<NodeOutcome>,
    /// By region, the part outside of regions first.
    pub regions: Vec<RegionOutcome>,
    /// Events that it took.
    pub events: u64,
}

/// What happened in a region, or outside of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionOutcome {
    /// Its site in the recording; 0 outside of all, or if it is not known.
    pub site: u32,
    /// Times it was gone through.
    pub instances: u64,
    /// Time of the first thread in it.
    pub time_ns: u64,
    /// At all nodes.
    pub all: NodeOutcome,
}

impl Outcome {
    /// The sum over all nodes.
    #[must_use]
    pub fn all(&self) -> NodeOutcome {
        self.nodes.iter().sum()
    }
}

impl AddAssign<&Self> for NodeOutcome {
    fn add_assign(&mut self, more: &Self) {
        self.counts += &more.counts;
        self.messages += more.messages;
        self.handling_ns += more.handling_ns;
        self.work_ns += more.work_ns;
        self.least_bytes += more.least_bytes;
    }
}

impl<'a> Sum<&'a Self> for NodeOutcome {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}

/// Two regions that are to be one.
impl AddAssign<&Self> for RegionOutcome {
    fn add_assign(&mut self, more: &Self) {
        self.instances += more.instances;
        self.time_ns += more.time_ns;
        self.all += &more.all;
    }
}
