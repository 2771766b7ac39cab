//! What a thread says when it enters a region.

use crate::record::Decider;
use fathomp_types::{InstanceId, SiteId, Ticks};

/// A thread enters a parallel region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// The region.
    pub site: SiteId,
    /// This execution, the same for the whole team.
    pub instance: InstanceId,
    /// The execution that encloses it; 0 if none.
    pub parent: InstanceId,
    /// OpenMP thread number in the team.
    pub thread_num: u32,
    /// Threads in the team.
    pub team_size: u32,
    /// Nesting level, 1 for an outermost region.
    pub level: u32,
    /// When the encountering thread asked for the team.
    pub fork: Ticks,
    /// Who decided on the team's size, for its thread 0.
    pub decider: Decider,
    /// Number of the set of values that the region was begun with, for the team's thread 0;
    /// 0 if it is not known.
    pub set: u64,
}
