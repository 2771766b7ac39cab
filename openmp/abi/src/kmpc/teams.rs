//! `teams` constructs, on the host.

use super::fork::region_of;
use super::types::Location;
use crate::entry::{Frame, variadic};
use fathomp_omp::{current, initial};
use std::cell::Cell;

thread_local! {
    /// Clauses `num_teams` and `thread_limit` of the construct that this thread meets next; 0
    /// where there is none.
    static CLAUSES: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Teams of a league whose size neither the program nor the user gives: what LLVM chooses.
const DEFAULT_TEAMS: u32 = 1;

fn clause(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// `void __kmpc_push_num_teams(ident_t *, kmp_int32 gtid, kmp_int32 num_teams, kmp_int32
/// num_threads)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams(_location: Location, _gtid: i32, teams: i32, limit: i32) {
    let _ = CLAUSES.try_with(|clauses| clauses.set((clause(teams), clause(limit))));
}

/// `void __kmpc_push_num_teams_51(ident_t *, kmp_int32 gtid, kmp_int32 lower, kmp_int32 upper,
/// kmp_int32 num_threads)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams_51(
    location: Location,
    gtid: i32,
    lower: i32,
    upper: i32,
    limit: i32,
) {
    __kmpc_push_num_teams(location, gtid, upper.max(lower), limit);
}

/// `void __kmpc_set_thread_limit(ident_t *, kmp_int32 gtid, kmp_int32 limit)`: that of a
/// `target` construct that the host runs.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_set_thread_limit(_location: Location, _gtid: i32, limit: i32) {
    if let Ok(limit) = u32::try_from(limit)
        && limit > 0
    {
        let member = current();
        let mut icvs = member.icvs();
        icvs.thread_limit = limit;
        member.set_icvs(icvs);
    }
}

variadic! {
    /// `void __kmpc_fork_teams(ident_t *, kmp_int32 argc, kmpc_micro microtask, ...)`
    __kmpc_fork_teams => fork_teams;
}

extern "C" fn fork_teams(frame: *const Frame) {
    let (teams, limit) = CLAUSES
        .try_with(|clauses| clauses.replace((0, 0)))
        .unwrap_or((0, 0));
    // SAFETY: it is the frame of `__kmpc_fork_teams`.
    let (function, data) = unsafe { region_of(frame) };
    initial::teams(function, data, teams, limit, DEFAULT_TEAMS);
}
