//! What gcc makes of `teams`.

use crate::gomp::parallel::Function;
use fathomp_omp::initial;
use fathomp_sys::outlined::{Opaque, Outlined};

/// Teams of a league whose size neither the program nor the user gives; the
/// number libgomp chooses.
const DEFAULT_TEAMS: u32 = 3;

/// `void GOMP_teams(unsigned num_teams, unsigned thread_limit)`, of gcc before
/// 12: begins the only team of a `teams` region inside `target`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams(_num_teams: u32, thread_limit: u32) {
    initial::next_team(1, thread_limit, true);
}

/// `bool GOMP_teams4(unsigned num_teams_low, unsigned num_teams_high,
/// unsigned thread_limit, bool first)`: the region is a loop around it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams4(_low: u32, high: u32, thread_limit: u32, first: bool) -> bool {
    initial::next_team(high, thread_limit, first)
}

/// `void GOMP_teams_reg(void (*fn)(void *), void *data, unsigned num_teams,
/// unsigned thread_limit, unsigned flags)`
///
/// # Safety
/// `function` may be called with `data`, several times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_teams_reg(
    function: Function,
    data: Opaque,
    num_teams: u32,
    thread_limit: u32,
    _flags: u32,
) {
    // SAFETY: promised by the caller.
    let function = unsafe { Outlined::from_program(function) };
    initial::teams(function, data, num_teams, thread_limit, DEFAULT_TEAMS);
}
