//! The lock routines of the API, for C and, with a trailing underscore,
//! Fortran.
//!
//! A simple lock is 4 bytes in both languages. A nestable lock is 16 bytes in
//! C; Fortran's kind has room for a pointer only, so there it is allocated.
//! Hints are accepted; the lock adapts by itself.

use crate::entry::entry;
use fathomp_omp::current;
use fathomp_omp::sync::{Lock, NamedNestLock, NestLock};
use fathomp_sys::call_site::call_site;
use fathomp_trace::state::State;
use std::ffi::{c_int, c_void};

/// Defines routines of the API.
macro_rules! routines {
    ($($(#[$doc:meta])* fn $name:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The lock is the program's: aligned, its own, and initialised unless
        /// this routine does that.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
    )+};
}

entry! {
    /// Takes a lock.
    omp_set_lock => set_lock;
    /// Fortran: takes a lock.
    omp_set_lock_ => set_lock;
}

extern "C" fn set_lock(lock: *const Lock) {
    let call = call_site();
    // SAFETY: this is the argument of `omp_set_lock`: the program's lock, aligned and
    // initialised.
    unsafe { &*lock }.acquire(State::Lock, call);
}

routines! {
    /// Makes a lock a free one.
    fn omp_init_lock(lock: *const Lock) {
        // SAFETY: promised by our caller; any four bytes are a lock.
        unsafe { &*lock }.reset();
    }
    /// As `omp_init_lock`; the hint is not needed.
    fn omp_init_lock_with_hint(lock: *const Lock, _hint: u64) {
        // SAFETY: promised by our caller; any four bytes are a lock.
        unsafe { &*lock }.reset();
    }
    /// Ends a lock's life.
    fn omp_destroy_lock(_lock: *const Lock) {}
    /// Gives a lock back.
    fn omp_unset_lock(lock: *const Lock) {
        // SAFETY: promised by our caller.
        unsafe { &*lock }.release();
    }
    /// Takes a lock if it is free; whether it did.
    fn omp_test_lock(lock: *const Lock) -> c_int {
        // SAFETY: promised by our caller.
        c_int::from(unsafe { &*lock }.try_acquire())
    }
    /// Fortran: makes a lock a free one.
    fn omp_init_lock_(lock: *const Lock) {
        // SAFETY: promised by our caller; any four bytes are a lock.
        unsafe { &*lock }.reset();
    }
    /// Fortran: as `omp_init_lock_`; the hint is not needed.
    fn omp_init_lock_with_hint_(lock: *const Lock, _hint: *const c_void) {
        // SAFETY: promised by our caller; any four bytes are a lock.
        unsafe { &*lock }.reset();
    }
    /// Fortran: ends a lock's life.
    fn omp_destroy_lock_(_lock: *const Lock) {}
    /// Fortran: gives a lock back.
    fn omp_unset_lock_(lock: *const Lock) {
        // SAFETY: promised by our caller.
        unsafe { &*lock }.release();
    }
    /// Fortran: takes a lock if it is free; whether it did.
    fn omp_test_lock_(lock: *const Lock) -> c_int {
        // SAFETY: promised by our caller.
        c_int::from(unsafe { &*lock }.try_acquire())
    }
}

routines! {
    /// Makes a nestable lock a free one.
    fn omp_init_nest_lock(lock: *const NestLock) {
        // SAFETY: promised by our caller; any 16 bytes are a nestable lock.
        unsafe { &*lock }.reset();
    }
    /// As `omp_init_nest_lock`; the hint is not needed.
    fn omp_init_nest_lock_with_hint(lock: *const NestLock, _hint: u64) {
        // SAFETY: promised by our caller; any 16 bytes are a nestable lock.
        unsafe { &*lock }.reset();
    }
    /// Ends a nestable lock's life.
    fn omp_destroy_nest_lock(_lock: *const NestLock) {}
    /// Takes a nestable lock, perhaps once more.
    fn omp_set_nest_lock(lock: *const NestLock) {
        // SAFETY: promised by our caller.
        unsafe { &*lock }.acquire(current());
    }
    /// Gives a nestable lock back once.
    fn omp_unset_nest_lock(lock: *const NestLock) {
        // SAFETY: promised by our caller.
        unsafe { &*lock }.release();
    }
    /// Takes a nestable lock if no other task holds it; how often the calling
    /// task then holds it, or 0.
    fn omp_test_nest_lock(lock: *const NestLock) -> c_int {
        // SAFETY: promised by our caller.
        depth(unsafe { &*lock }.try_acquire(current()))
    }
    /// Fortran: allocates a nestable lock.
    fn omp_init_nest_lock_(lock: *mut *mut NestLock) {
        if NamedNestLock::find(lock.addr()).is_some() {
            return;
        }
        let new = Box::into_raw(Box::new(NestLock::new()));
        // SAFETY: promised by our caller; the variable has room for a pointer.
        unsafe { lock.write(new) };
    }
    /// Fortran: as `omp_init_nest_lock_`; the hint is not needed.
    fn omp_init_nest_lock_with_hint_(lock: *mut *mut NestLock, _hint: *const c_void) {
        // SAFETY: promised by our caller.
        unsafe { omp_init_nest_lock_(lock) };
    }
    /// Fortran: frees a nestable lock.
    fn omp_destroy_nest_lock_(lock: *mut *mut NestLock) {
        if NamedNestLock::find(lock.addr()).is_some() {
            return;
        }
        // SAFETY: promised by our caller.
        let old = unsafe { lock.replace(std::ptr::null_mut()) };
        if !old.is_null() {
            // SAFETY: it came from `omp_init_nest_lock_`, and the variable
            // does not hold it any more.
            drop(unsafe { Box::from_raw(old) });
        }
    }
    /// Fortran: takes a nestable lock, perhaps once more.
    fn omp_set_nest_lock_(lock: *const *const NestLock) {
        if let Some(named) = NamedNestLock::find(lock.addr()) {
            return named.acquire(current());
        }
        // SAFETY: promised by our caller: the variable is initialised.
        unsafe { &**lock }.acquire(current());
    }
    /// Fortran: gives a nestable lock back once.
    fn omp_unset_nest_lock_(lock: *const *const NestLock) {
        if let Some(named) = NamedNestLock::find(lock.addr()) {
            return named.release();
        }
        // SAFETY: promised by our caller: the variable is initialised.
        unsafe { &**lock }.release();
    }
    /// Fortran: as `omp_test_nest_lock`.
    fn omp_test_nest_lock_(lock: *const *const NestLock) -> c_int {
        if let Some(named) = NamedNestLock::find(lock.addr()) {
            return depth(named.try_acquire(current()));
        }
        // SAFETY: promised by our caller: the variable is initialised.
        depth(unsafe { &**lock }.try_acquire(current()))
    }
}

/// Deeper than `int` can tell is still "held".
fn depth(times: u32) -> c_int {
    c_int::try_from(times).unwrap_or(c_int::MAX)
}
