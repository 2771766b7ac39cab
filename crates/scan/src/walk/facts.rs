//! What the execution of a body shows, by the place where it shows.

use super::Reach;
use crate::values::Value;
use fathomp_code::{BlockId, CycleId, Target};
use fathomp_regions::{CallKind, Direction, LoopId, Reason, ScheduleKind};
use std::collections::{BTreeMap, BTreeSet};

/// Number of a [`super::Frame`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FrameId(pub(crate) u32);

/// An access to memory.
#[derive(Clone, Debug)]
pub(crate) struct AccessFact {
    pub(crate) block: BlockId,
    pub(crate) inside: Option<LoopId>,
    pub(crate) address: Value,
    pub(crate) bytes: u32,
    pub(crate) direction: Direction,
    /// Whether it gathers or scatters.
    pub(crate) scattered: bool,
    /// How often the instruction repeats itself (`rep`), if it does.
    pub(crate) repeats: Option<Value>,
    /// Whether an address of the frame is its base register's value as such.
    pub(crate) by_frame: bool,
    /// Whether it writes past the caches.
    pub(crate) non_temporal: bool,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct CallFact {
    pub(crate) block: BlockId,
    pub(crate) inside: Option<LoopId>,
    pub(crate) target: Target,
    /// The function's name, if it has one.
    pub(crate) name: Option<String>,
    pub(crate) kind: CallKind,
    pub(crate) followed: bool,
}

/// How a loop shares its iterations.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    pub(crate) kind: ScheduleKind,
    pub(crate) chunk: Option<Value>,
    pub(crate) total: Option<Value>,
}

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct LoopFact {
    pub(crate) frame: FrameId,
    pub(crate) cycle: CycleId,
    pub(crate) parent: Option<LoopId>,
    /// Whether it was executed.
    pub(crate) seen: bool,
    /// Iterations.
    pub(crate) trips: Option<Result<Value, Reason>>,
    /// If it goes from chunk to chunk.
    pub(crate) chunks: Option<Scheduled>,
    /// When it is entered.
    pub(crate) entered: Reach,
}

/// All facts.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) accesses: BTreeMap<(FrameId, u64, u8), AccessFact>,
    pub(crate) calls: BTreeMap<(FrameId, u64), CallFact>,
    pub(crate) loops: Vec<LoopFact>,
    /// Variables: where their values come from, and by which watch they were found (its
    /// instruction and its number there).
    pub(crate) variables: BTreeSet<(Value, u64, usize)>,
}

impl LoopFact {
    pub(crate) fn new(frame: FrameId, cycle: CycleId, parent: Option<LoopId>) -> Self {
        Self {
            frame,
            cycle,
            parent,
            seen: false,
            trips: None,
            chunks: None,
            entered: Reach::always(),
        }
    }
}
