//! Who decided on the sizes of a region's teams.

use serde::Serialize;

/// Executions on whose team's size one and the same decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// How many.
    pub executions: u64,
    /// Their lengths.
    pub wall_ns: u64,
    /// Threads of the largest team.
    pub team_size_max: u32,
}
