//! Reductions.
//!
//! The compiler offers three ways: the caller may add what it has to the result (1), do so by
//! atomic operations (2), or leave it to a function that combines two threads' variables. The
//! runtime takes the first, one thread after the other, or the second where one variable is to
//! be updated, which on several nodes is one message. An array takes an atomic operation for each
//! element, which costs ten times as much as to add it under a lock. The third would make threads
//! wait for each other, since their variables are gone when they go on.

use super::types::{CriticalName, Ident, Location};
use crate::entry::{entries, entry};
use fathomp_omp::observer::{self, Mutex, Wait};
use fathomp_omp::{barrier, current};
use fathomp_sys::call_site::call_site;
use std::cell::Cell;

/// Variables up to which atomic operations are quicker than a lock.
const BY_ATOMICS_MAX: i32 = 2;

/// What the caller is to do.
const BY_ITSELF: i32 = 1;
const BY_ATOMICS: i32 = 2;

thread_local! {
    /// Whether this thread holds the lock of the reduction it is in.
    static LOCKED: Cell<bool> = const { Cell::new(false) };
}

entry! {
    /// `kmp_int32 __kmpc_reduce_nowait(ident_t *, kmp_int32 gtid, kmp_int32 num_vars, size_t
    /// reduce_size, void *reduce_data, void (*reduce_func)(void *, void *), kmp_critical_name *)`
    __kmpc_reduce_nowait => reduce;
    /// `kmp_int32 __kmpc_reduce(ident_t *, kmp_int32 gtid, kmp_int32 num_vars, size_t
    /// reduce_size, void *reduce_data, void (*reduce_func)(void *, void *), kmp_critical_name *)`
    __kmpc_reduce => reduce;
}

/// Whether some of the variables are arrays of variable length: beside a pointer for each variable,
/// the list has a length for each of those.
fn has_arrays(variables: i32, bytes: usize) -> bool {
    bytes > usize::try_from(variables).unwrap_or(0) * size_of::<usize>()
}

extern "C" fn reduce(
    location: Location,
    _gtid: i32,
    variables: i32,
    bytes: usize,
    _data: usize,
    _combine: usize,
    name: *const CriticalName,
) -> i32 {
    let call = call_site();
    let way = way(location, (variables, bytes), name, call);
    if way == BY_ITSELF {
        observer::reduction_begins(current());
    }
    way
}

/// How the values are combined, after waiting for the others that do.
fn way(
    location: Location,
    (variables, bytes): (i32, usize),
    name: *const CriticalName,
    call: usize,
) -> i32 {
    if current().team().size() == 1 {
        let _ = LOCKED.try_with(|locked| locked.set(false));
        return BY_ITSELF;
    }
    // SAFETY: this is an argument of the entry point.
    let atomically = unsafe { Ident::flags(location) } & Ident::ATOMIC_REDUCE != 0;
    if atomically && variables <= BY_ATOMICS_MAX && !has_arrays(variables, bytes) {
        let _ = LOCKED.try_with(|locked| locked.set(false));
        return BY_ATOMICS;
    }
    // SAFETY: this is an argument of the entry point: zero at first, which is a free lock, and
    // used for nothing but reductions.
    unsafe { &*name }.acquire(Mutex::Critical, call);
    let _ = LOCKED.try_with(|locked| locked.set(true));
    BY_ITSELF
}

entries! {
    /// `void __kmpc_end_reduce_nowait(ident_t *, kmp_int32 gtid, kmp_critical_name *)`
    fn __kmpc_end_reduce_nowait(_location: Location, _gtid: i32, name: *const CriticalName) {
        observer::reduction_ends(current());
        if LOCKED.try_with(|locked| locked.replace(false)).unwrap_or(false) {
            // SAFETY: promised by our caller.
            unsafe { &*name }.release();
        }
    }
    /// `void __kmpc_end_reduce(ident_t *, kmp_int32 gtid, kmp_critical_name *)`
    fn __kmpc_end_reduce(location: Location, gtid: i32, name: *const CriticalName) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { __kmpc_end_reduce_nowait::body(location, gtid, name) };
        barrier::barrier(current(), Wait::ImplicitBarrier);
    }
}
