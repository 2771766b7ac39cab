//! An execution of a parallel region, as its threads hear of it.

use fathomp_trace::record::LoopKind;
use fathomp_types::{InstanceId, SiteId, Ticks};
/// An execution of a parallel region: made by the thread that encounters it, read by all of its
/// team.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    pub(super) site: SiteId,
    pub(super) instance: InstanceId,
    pub(super) parent: InstanceId,
    pub(super) level: u32,
    /// When the team was asked for.
    pub(super) asked: Ticks,
    /// The loop that the region begins with, if its construct is a combined one.
    pub(crate) begins_with: Option<Loop>,
}

/// A worksharing loop, as a thread meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// How iterations are dealt.
    pub(crate) kind: LoopKind,
    /// It has an `ordered` clause.
    pub(crate) ordered: bool,
    /// Chunk size asked for, 0 if none.
    pub(crate) chunk: u64,
    /// From one iteration's number to the next.
    pub(crate) step: i64,
    /// Last byte of the call that met it; 0 if that is not known.
    pub(crate) call: usize,
}
