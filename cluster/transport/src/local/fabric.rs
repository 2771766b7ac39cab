//! What the nodes share: made once, before they are forked.

use super::members::Members;
use crate::doorbell::Doorbell;
use crate::local::link::LocalTransport;
use crate::net::Net;
use crate::ring::Ring;
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use fathomp_types::NodeId;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Words of one kind of use are kept this far apart from others, in bytes: two
/// cache lines, because processors fetch them in pairs.
const APART_BYTES: usize = 128;
const APART_HALVES: usize = APART_BYTES / size_of::<u32>();
const APART_WORDS: usize = APART_BYTES / size_of::<u64>();

/// What bounds the memory that messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of each ring in bytes, a power of two. There is one for each ordered
    /// pair of nodes.
    pub ring_bytes: usize,
    /// Longest message in bytes.
    pub message_bytes_max: u32,
    /// What may wait for a node that takes nothing, in bytes.
    pub backlog_bytes_max: usize,
}

impl Limits {
    const RING_BYTES_MIN: usize = 64;

    /// For so many nodes: rings of a quarter of a megabyte, less where there
    /// are so many nodes that it would add up.
    #[must_use]
    pub const fn for_nodes(nodes: u16) -> Self {
        let ring_bytes = match nodes {
            0..=16 => 256 << 10,
            17..=64 => 64 << 10,
            _ => 16 << 10,
        };
        Self {
            ring_bytes,
            message_bytes_max: 64 << 20,
            backlog_bytes_max: 4 << 30,
        }
    }

    fn are_sound(&self) -> bool {
        self.ring_bytes.is_power_of_two() && self.ring_bytes >= Self::RING_BYTES_MIN
    }
}

/// The shared memory of a cluster's nodes. Every node inherits it through fork
/// and [joins](Self::join).
#[derive(Clone, Debug)]
pub struct Fabric {
    memory: Arc<SharedMemory>,
    nodes: u16,
    limits: Limits,
    net: Option<Net>,
}

impl Fabric {
    /// Joins `nodes` nodes of this machine, by a network `net` if there is one
    /// to emulate.
    ///
    /// # Errors
    /// If there are no nodes, the limits make no sense, or there is no memory.
    pub fn new(nodes: u16, limits: Limits, net: Option<Net>) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        if nodes == 0 || !limits.are_sound() {
            return Err(invalid());
        }
        let count = usize::from(nodes);
        let rings = count * count;
        let sections = Sections {
            halves: count * APART_HALVES,
            words: rings * Self::RING_WORDS + count * APART_WORDS + Members::words(count),
            bytes: rings.checked_mul(limits.ring_bytes).ok_or_else(invalid)?,
        };
        Ok(Self {
            memory: Arc::new(SharedMemory::new(sections)?),
            nodes,
            limits,
            net,
        })
    }

    /// A ring's head and the reader's words are apart from each other.
    const RING_WORDS: usize = 2 * APART_WORDS;

    /// Says which process a node is, so that its death is noticed even if it
    /// dies before it joins. For whoever forks it.
    pub fn announce(&self, node: NodeId, pid: u32) {
        self.members().join(node, pid);
    }

    /// This process's connection as node `me`; once per node.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn join(&self, me: NodeId) -> io::Result<LocalTransport> {
        if me.0 >= self.nodes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.announce(me, std::process::id());
        Ok(LocalTransport::new(self.clone(), me))
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The network that holds messages back.
    pub(super) fn net(&self) -> Option<Net> {
        self.net
    }

    fn pair(&self, from: NodeId, to: NodeId) -> usize {
        usize::from(to.0) * usize::from(self.nodes) + usize::from(from.0)
    }

    fn storage(&self, from: NodeId, to: NodeId) -> Range<usize> {
        let start = self.pair(from, to) * self.limits.ring_bytes;
        start..start + self.limits.ring_bytes
    }

    /// Makes a ring's memory present in this process.
    pub(super) fn populate(&self, from: NodeId, to: NodeId) {
        self.memory.populate(self.storage(from, to));
    }

    /// The ring that carries messages from one node to another.
    #[inline]
    pub(super) fn ring(&self, from: NodeId, to: NodeId) -> Ring<'_> {
        let start = self.pair(from, to) * Self::RING_WORDS;
        let words = &self.memory.words()[start..start + Self::RING_WORDS];
        let storage = &self.memory.bytes()[self.storage(from, to)];
        Ring::new(
            &words[0],
            &words[APART_WORDS],
            &words[APART_WORDS + 1],
            storage,
        )
    }

    /// The doorbell of a node.
    #[inline]
    pub(super) fn doorbell(&self, node: NodeId) -> Doorbell<'_> {
        const { assert!(Doorbell::HALVES <= APART_HALVES) };
        let start = usize::from(node.0) * APART_HALVES;
        Doorbell::new(&self.memory.halves()[start..start + APART_HALVES])
    }

    fn inwards_at(&self, node: u16) -> usize {
        let rings = usize::from(self.nodes) * usize::from(self.nodes);
        rings * Self::RING_WORDS + usize::from(node) * APART_WORDS
    }

    /// When an emulated network will have carried to a node what was sent to it,
    /// in nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) fn inwards(&self, to: NodeId) -> &AtomicU64 {
        &self.memory.words()[self.inwards_at(to.0)]
    }

    /// What nodes know of each other.
    pub(super) fn members(&self) -> Members<'_> {
        Members::new(&self.memory.words()[self.inwards_at(self.nodes)..])
    }
}
