//! Cancellation.

use super::sync::barrier_kind;
use super::types::Location;
use crate::entry::entries;
use fathomp_omp::observer::{self, Cancelled, Cancels};
use fathomp_omp::worksharing::{Cancel, cancel, is_cancelled};
use fathomp_omp::{barrier, current, runtime};

/// What a number names: the region, a loop, sections, the taskgroup.
fn construct(kind: i32) -> Cancel {
    match kind {
        2 | 3 => Cancel::Worksharing,
        4 => Cancel::Taskgroup,
        _ => Cancel::Parallel,
    }
}

entries! {
    /// `kmp_int32 __kmpc_cancel_barrier(ident_t *, kmp_int32 gtid)`: whether the region has been
    /// cancelled.
    fn __kmpc_cancel_barrier(location: Location, _gtid: i32) -> i32 {
        // SAFETY: promised by our caller.
        i32::from(barrier::cancellable(current(), unsafe { barrier_kind(location) }))
    }
    /// `kmp_int32 __kmpc_cancel(ident_t *, kmp_int32 gtid, kmp_int32 kind)`: whether to go to the
    /// construct's end.
    fn __kmpc_cancel(_location: Location, _gtid: i32, kind: i32) -> i32 {
        let member = current();
        let cancelled = cancel(member, construct(kind));
        if cancelled {
            observer::cancels(member, told(kind), Cancels::Activates);
        }
        i32::from(cancelled)
    }
    /// `kmp_int32 __kmpc_cancellationpoint(ident_t *, kmp_int32 gtid, kmp_int32 kind)`
    fn __kmpc_cancellationpoint(_location: Location, _gtid: i32, kind: i32) -> i32 {
        let member = current();
        let cancelled = is_cancelled(member, construct(kind));
        if cancelled {
            observer::cancels(member, told(kind), Cancels::Detects);
        }
        i32::from(cancelled)
    }
}

/// The same as observers are told it.
fn told(kind: i32) -> Cancelled {
    match kind {
        2 => Cancelled::Loop,
        3 => Cancelled::Sections,
        4 => Cancelled::Taskgroup,
        _ => Cancelled::Parallel,
    }
}

/// `int kmp_get_cancellation_status(int kind)`
#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_cancellation_status(kind: i32) -> i32 {
    i32::from(runtime().settings.cancellation && is_cancelled(current(), construct(kind)))
}
