//! What the execution of a body shows, by the place where it shows.

use super::Reach;
use crate::values::Value;
use fathomp_cfg::{BlockId, CycleId, Target};
use fathomp_regions::{CallKind, Direction, LoopId, Reason, ScheduleKind};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

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
    /// When it is made.
    pub(crate) reach: Rc<Reach>,
    /// Its first and third argument.
    pub(crate) arguments: [Value; 2],
}

/// A number divided by the team's size.
#[derive(Clone, Debug)]
pub(crate) struct DivisionFact {
    pub(crate) block: BlockId,
    /// Bits of the number.
    pub(crate) bits: u8,
    pub(crate) inside: Option<LoopId>,
    pub(crate) number: Value,
    pub(crate) reach: Rc<Reach>,
}

/// A loop of LLVM's interface whose part a thread is told.
#[derive(Clone, Debug)]
pub(crate) struct StaticFact {
    /// Iterations of all threads, if its step is known.
    pub(crate) total: Option<Value>,
    pub(crate) chunk: Option<Value>,
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
    /// Where it is left: from which block, and what holds as long as it is not.
    pub(crate) ends: Vec<(BlockId, Option<Value>)>,
    /// The number of its last iteration, if all ways out are taken in the same one.
    pub(crate) last: Option<Value>,
}

/// All facts.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) accesses: BTreeMap<(FrameId, u64, u8), AccessFact>,
    pub(crate) calls: BTreeMap<(FrameId, u64), CallFact>,
    pub(crate) loops: Vec<LoopFact>,
    pub(crate) divisions: BTreeMap<(FrameId, u64), DivisionFact>,
    /// By the address of the call.
    pub(crate) statics: BTreeMap<u64, StaticFact>,
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
            ends: Vec::new(),
            last: None,
        }
    }
}
