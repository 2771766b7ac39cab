//! Who the calling thread is.

use super::types::Location;
use fathomp_omp::{current, query};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};

thread_local! {
    /// This thread's number; negative while it has none.
    static NUMBER: Cell<i32> = const { Cell::new(-1) };
}

/// A number that no other thread of the process has; that of the initial thread is 0. A thread
/// that is asked while it ends, when it has nothing left to remember, is told -1.
#[inline]
pub(super) fn global_number() -> i32 {
    match NUMBER.try_with(Cell::get) {
        Ok(number) if number >= 0 => number,
        _ => new_number(),
    }
}

#[cold]
fn new_number() -> i32 {
    // Functions that contain constructs ask for it before they do anything: tools hear first
    // that the runtime begins, as with LLVM's.
    fathomp_omp::runtime();
    static LAST: AtomicI32 = AtomicI32::new(0);
    let number = match fathomp_sys::process::is_initial_thread() {
        true => 0,
        false => LAST.fetch_add(1, Ordering::Relaxed) + 1,
    };
    NUMBER
        .try_with(|own| own.set(number))
        .map_or(-1, |()| number)
}

/// Its number in its team, as the interface has it.
#[inline]
pub(super) fn team_number() -> i32 {
    current().thread_num().cast_signed()
}

/// `void __kmpc_begin(ident_t *, kmp_int32 flags)`: the runtime begins by itself.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_begin(_location: Location, _flags: i32) {}

/// `void __kmpc_end(ident_t *)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end(_location: Location) {}

/// `kmp_int32 __kmpc_global_thread_num(ident_t *)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_thread_num(_location: Location) -> i32 {
    global_number()
}

/// `kmp_int32 __kmpc_global_num_threads(ident_t *)`: most threads there have been.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_num_threads(_location: Location) -> i32 {
    query::max_threads().cast_signed()
}

/// `kmp_int32 __kmpc_bound_thread_num(ident_t *)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_thread_num(_location: Location) -> i32 {
    query::thread_num().cast_signed()
}

/// `kmp_int32 __kmpc_bound_num_threads(ident_t *)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_num_threads(_location: Location) -> i32 {
    query::num_threads().cast_signed()
}

/// `kmp_int32 __kmpc_in_parallel(ident_t *)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_in_parallel(_location: Location) -> i32 {
    i32::from(query::in_parallel())
}

/// `kmp_int32 __kmpc_ok_to_fork(ident_t *)`: compilers of old ask.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ok_to_fork(_location: Location) -> i32 {
    1
}
