//! Intervals: the stretches of a node's execution between two releases, and
//! what others are told about them (Keleher, Cox, Zwaenepoel: "Lazy Release
//! Consistency for Software Distributed Shared Memory", ISCA 1992, section 3).

use crate::PageSet;
use fathomp_types::NodeId;

/// A node's intervals, counted from 1; 0 is before its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(pub u32);

impl Interval {
    /// The interval after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The node that sequences intervals and is the root of the barrier's tree.
pub const ROOT: NodeId = NodeId(0);

/// An interval of a node.
pub type Version = (NodeId, Interval);

/// A write notice: what a node wrote in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteNotice {
    /// Who wrote.
    pub writer: NodeId,
    /// In which of its intervals.
    pub interval: Interval,
    /// The pages written; more than were written do no harm.
    pub pages: PageSet,
    /// They were not written: their home, which is likely to write them next, recalls all read
    /// leases of them.
    pub recalls: bool,
    /// Before that nobody had ever touched them, as far as their writer knows.
    pub first: bool,
    /// The interval had begun before its writer left the last barrier, which did not
    /// tell it: some of the pages may have lacked what that barrier told. Only noted
    /// where barriers tell single intervals.
    pub late: bool,
    /// Intervals of this epoch that its writer knew of when it ended, the last one of each
    /// node. Only noted where nodes hand on what others wrote.
    pub knew: Vec<Version>,
}

/// How far a node knows of each node's intervals: a vector clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VectorClock(Vec<Interval>);

impl VectorClock {
    /// Knows of no interval of any of `nodes` nodes.
    #[must_use]
    pub fn nothing(nodes: u16) -> Self {
        Self(vec![Interval::default(); usize::from(nodes)])
    }

    /// The last interval of `node` that is known; a node that does not exist
    /// has none.
    #[must_use]
    pub fn of(&self, node: NodeId) -> Interval {
        self.0.get(usize::from(node.0)).copied().unwrap_or_default()
    }

    /// The last interval that is known of each node of which one is.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, Interval)> {
        let nodes = (0..).map(NodeId).zip(self.0.iter().copied());
        nodes.filter(|(_, last)| *last > Interval::default())
    }

    /// True if `interval` of `node` is known.
    #[must_use]
    pub fn covers(&self, node: NodeId, interval: Interval) -> bool {
        interval <= self.of(node)
    }

    /// Learns of `interval` of `node`; true if it was not known.
    pub fn learn(&mut self, node: NodeId, interval: Interval) -> bool {
        match self.0.get_mut(usize::from(node.0)) {
            Some(last) if *last < interval => {
                *last = interval;
                true
            }
            _ => false,
        }
    }
}
