//! What a time on nodes consists of, and which parts of it count.

use serde::{Serialize, Serializer, ser::SerializeMap};
use std::iter::Sum;
use std::ops::{Index, IndexMut};
use std::str::FromStr;

/// A part of a time on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodesTerm {
    /// Application time outside of regions.
    Serial = 0,
    /// Application time inside, divided among the threads.
    Work = 1,
    /// What the slowest thread takes longer than the mean.
    Imbalance = 2,
    /// What nodes take longer that share processors.
    Sharing = 3,
    /// First writes to own pages.
    LocalWrites = 4,
    /// First writes to copies.
    RemoteWrites = 5,
    /// Fetches, each as if it were alone.
    Fetches = 6,
    /// What they cost more because others fetch as well.
    Contention = 7,
    /// Diffs sent to homes.
    Diffs = 8,
    /// Barriers.
    Barriers = 9,
    /// Locks and atomics.
    Locks = 10,
    /// Flushes.
    Flushes = 11,
    /// Without homes: diffs of a page beyond the first that a fetch collects.
    Writers = 12,
    /// What the slowest thread's work takes longer than with one thread: caches and
    /// page tables are cold after faults and waits.
    Stalls = 13,
    /// What barriers take longer for pages that they make invalid.
    Notices = 14,
    /// Waiting for flags that others set.
    Waits = 15,
}

impl NodesTerm {
    /// All terms, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::Serial,
        Self::Work,
        Self::Imbalance,
        Self::Sharing,
        Self::LocalWrites,
        Self::RemoteWrites,
        Self::Fetches,
        Self::Contention,
        Self::Diffs,
        Self::Barriers,
        Self::Locks,
        Self::Flushes,
        Self::Writers,
        Self::Stalls,
        Self::Notices,
        Self::Waits,
    ];
    /// Number of terms.
    pub const COUNT: usize = Self::ALL.len();

    /// Name as in tables and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Work => "work",
            Self::Imbalance => "imbalance",
            Self::Sharing => "sharing",
            Self::LocalWrites => "local-writes",
            Self::RemoteWrites => "remote-writes",
            Self::Fetches => "fetches",
            Self::Contention => "contention",
            Self::Diffs => "diffs",
            Self::Barriers => "barriers",
            Self::Locks => "locks",
            Self::Flushes => "flushes",
            Self::Writers => "writers",
            Self::Stalls => "stalls",
            Self::Notices => "notices",
            Self::Waits => "waits",
        }
    }
}

/// No term has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no term \"{0}\": the terms are serial, work, imbalance, sharing, local-writes, remote-writes, fetches, contention, diffs, barriers, locks, flushes, writers, stalls, notices and waits"
)]
pub struct NoTerm(String);

impl FromStr for NodesTerm {
    type Err = NoTerm;

    fn from_str(name: &str) -> Result<Self, NoTerm> {
        let found = Self::ALL.into_iter().find(|term| term.name() == name);
        found.ok_or_else(|| NoTerm(name.to_owned()))
    }
}

/// Some of the terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodesTerms(u16);

impl NodesTerms {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// These and `term`.
    #[must_use]
    pub const fn with(self, term: NodesTerm) -> Self {
        Self(self.0 | 1 << term as u16)
    }

    /// Whether `term` is one of these.
    #[must_use]
    pub const fn contains(self, term: NodesTerm) -> bool {
        self.0 >> term as u16 & 1 != 0
    }
}

impl FromIterator<NodesTerm> for NodesTerms {
    fn from_iter<T: IntoIterator<Item = NodesTerm>>(terms: T) -> Self {
        terms.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Serialize for NodesTerms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let terms = NodesTerm::ALL.into_iter();
        serializer.collect_seq(
            terms
                .filter(|term| self.contains(*term))
                .map(NodesTerm::name),
        )
    }
}

/// A time on nodes, in nanoseconds by term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodesTime([f64; NodesTerm::COUNT]);

impl NodesTime {
    /// The terms, in the order of their numbers.
    pub fn terms(&self) -> impl Iterator<Item = (NodesTerm, f64)> {
        NodesTerm::ALL.into_iter().zip(self.0)
    }

    /// All terms together.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The same with some terms left out.
    #[must_use]
    pub fn without(mut self, terms: NodesTerms) -> Self {
        for term in NodesTerm::ALL {
            if terms.contains(term) {
                self[term] = 0.0;
            }
        }
        self
    }

    /// The largest term that is not the work itself, and its share.
    #[must_use]
    pub fn largest_loss(&self) -> Option<(NodesTerm, f64)> {
        let losses = self
            .terms()
            .filter(|(term, ns)| *term != NodesTerm::Work && *ns > 0.0);
        let most = losses.max_by(|a, b| a.1.total_cmp(&b.1));
        most.map(|(term, ns)| (term, ns / self.time_ns()))
    }
}

impl<'a> Sum<&'a Self> for NodesTime {
    fn sum<I: Iterator<Item = &'a Self>>(times: I) -> Self {
        times.fold(Self::default(), |mut sum, more| {
            for (sum, more) in sum.0.iter_mut().zip(more.0) {
                *sum += more;
            }
            sum
        })
    }
}

impl Index<NodesTerm> for NodesTime {
    type Output = f64;

    fn index(&self, term: NodesTerm) -> &f64 {
        &self.0[term as usize]
    }
}

impl IndexMut<NodesTerm> for NodesTime {
    fn index_mut(&mut self, term: NodesTerm) -> &mut f64 {
        &mut self.0[term as usize]
    }
}

impl Serialize for NodesTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(NodesTerm::COUNT))?;
        for (term, time_ns) in self.terms() {
            let name = term.name().replace('-', "_") + "_ns";
            map.serialize_entry(&name, &time_ns)?;
        }
        map.end()
    }
}
