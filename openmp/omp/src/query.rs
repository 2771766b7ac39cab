//! Questions about the calling thread's regions, as the `omp_get_*` routines
//! ask them.

use crate::{cluster, current, places};

/// `omp_get_ancestor_thread_num`: -1 if there is no such level.
#[must_use]
pub fn ancestor_thread_num(level: i32) -> i32 {
    current()
        .at_level(level)
        .map_or(-1, |member| member.thread_num() as i32)
}

/// `omp_get_team_size`: -1 if there is no such level.
#[must_use]
pub fn team_size(level: i32) -> i32 {
    current()
        .at_level(level)
        .map_or(-1, |member| member.team().size() as i32)
}

/// Threads in the current team.
#[inline]
#[must_use]
pub fn num_threads() -> u32 {
    let member = current();
    member.worker().counting.size();
    member.team().size()
}

/// Number of the calling thread in its team.
#[inline]
#[must_use]
pub fn thread_num() -> u32 {
    let member = current();
    member.worker().counting.number();
    member.thread_num()
}

/// Most threads that a region without `num_threads` clause could have.
#[must_use]
pub fn max_threads() -> u32 {
    let member = current();
    crate::observer::advice::asked_for_most(member.worker());
    member.icvs().num_threads
}

/// Processors available to the program.
#[must_use]
pub fn num_procs() -> u32 {
    match cluster::installed() {
        Some(nodes) => nodes.all_threads(),
        None => places::places().num_procs(),
    }
}

/// Whether the calling thread is inside a region of more than one thread.
#[must_use]
pub fn in_parallel() -> bool {
    current().team().active_level() > 0
}

/// `omp_get_team_num`: 0 outside a `teams` region.
#[must_use]
pub fn team_num() -> u32 {
    current().team().league().0
}

/// `omp_get_num_teams`: 1 outside a `teams` region.
#[must_use]
pub fn num_teams() -> u32 {
    current().team().league().1
}
