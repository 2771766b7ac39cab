//! The lock routines of the API, for C and, with a trailing underscore,
//! Fortran.
//!
//! A simple lock is 4 bytes. A nestable lock has 16 bytes with gcc, and room for a pointer with
//! LLVM and in Fortran: so it is allocated, and the program has its address. Hints are accepted;
//! the lock adapts by itself.

use crate::entry::{entries, watched};
use fathomp_omp::current;
use fathomp_omp::observer::{self, Mutex};
use fathomp_omp::sync::{Lock, NamedNestLock, NestLock};
use fathomp_sys::call_site::WATCH;
use std::ffi::{c_int, c_void};

watched! {
    /// Takes a lock.
    fn omp_set_lock(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { take(lock) };
    }
    /// Fortran: takes a lock.
    fn omp_set_lock_(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { take(lock) };
    }
}

/// Takes a lock for the entry point that was called last.
///
/// # Safety
/// It is the program's lock, aligned and initialised.
#[inline]
pub(crate) unsafe fn take(lock: *const Lock) {
    // SAFETY: promised by our caller.
    unsafe { &*lock }.take(Mutex::Lock);
}

/// A hint as Fortran passes it.
///
/// # Safety
/// The address is that of a hint, or null.
unsafe fn hint_at(hint: *const c_void) -> u32 {
    // SAFETY: promised by our caller; C's and Fortran's kind has four bytes at least.
    unsafe { hint.cast::<u32>().as_ref() }.copied().unwrap_or(0)
}

/// Makes a lock a free one.
///
/// # Safety
/// It is the program's lock, aligned.
pub(crate) unsafe fn begin(lock: *const Lock, hint: u64) {
    // SAFETY: promised by our caller; any four bytes are a lock.
    unsafe { &*lock }.reset();
    observer::lock_begins(Mutex::Lock, hint as u32, lock.addr() as u64);
}

/// Ends a lock's life.
pub(crate) fn end(lock: *const Lock) {
    observer::lock_ends(Mutex::Lock, lock.addr() as u64);
}

/// Gives a lock back.
///
/// # Safety
/// As of [`take`].
#[inline]
pub(crate) unsafe fn give(lock: *const Lock) {
    // SAFETY: promised by our caller.
    unsafe { &*lock }.give(Mutex::Lock);
}

/// Takes a lock if it is free; whether it did.
///
/// # Safety
/// As of [`take`].
pub(crate) unsafe fn try_take(lock: *const Lock) -> c_int {
    // SAFETY: promised by our caller.
    c_int::from(unsafe { &*lock }.try_take(Mutex::Lock))
}

entries! {
    /// Makes a lock a free one.
    fn omp_init_lock(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { begin(lock, 0) };
    }
    /// As `omp_init_lock`; the hint is not needed.
    fn omp_init_lock_with_hint(lock: *const Lock, hint: u64) {
        // SAFETY: this is the argument of the entry point.
        unsafe { begin(lock, hint) };
    }
    /// Ends a lock's life.
    fn omp_destroy_lock(lock: *const Lock) {
        end(lock);
    }
    /// Gives a lock back.
    fn omp_unset_lock(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { give(lock) };
    }
    /// Takes a lock if it is free; whether it did.
    fn omp_test_lock(lock: *const Lock) -> c_int {
        // SAFETY: this is the argument of the entry point.
        unsafe { try_take(lock) }
    }
    /// Fortran: makes a lock a free one.
    fn omp_init_lock_(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { begin(lock, 0) };
    }
    /// Fortran: as `omp_init_lock_`; the hint is not needed.
    fn omp_init_lock_with_hint_(lock: *const Lock, hint: *const c_void) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { begin(lock, hint_at(hint).into()) };
    }
    /// Fortran: ends a lock's life.
    fn omp_destroy_lock_(lock: *const Lock) {
        end(lock);
    }
    /// Fortran: gives a lock back.
    fn omp_unset_lock_(lock: *const Lock) {
        // SAFETY: this is the argument of the entry point.
        unsafe { give(lock) };
    }
    /// Fortran: takes a lock if it is free; whether it did.
    fn omp_test_lock_(lock: *const Lock) -> c_int {
        // SAFETY: this is the argument of the entry point.
        unsafe { try_take(lock) }
    }
}

/// A nestable lock as the program has it: of this process, or of a cluster.
#[derive(Clone, Copy)]
enum Nest<'a> {
    Here(&'a NestLock),
    Named(NamedNestLock),
}

impl Nest<'_> {
    /// # Safety
    /// It is the program's lock, aligned and initialised.
    unsafe fn at(lock: *const *const NestLock) -> Self {
        match NamedNestLock::find(lock.addr()) {
            Some(named) => Self::Named(named),
            // SAFETY: promised by our caller: the variable is initialised.
            None => Self::Here(unsafe { &**lock }),
        }
    }

    fn depth(self) -> u32 {
        match self {
            Self::Here(lock) => lock.depth(),
            Self::Named(named) => named.depth(),
        }
    }
}

/// Allocates a nestable lock.
///
/// # Safety
/// The variable is the program's, and has room for a pointer.
pub(crate) unsafe fn begin_nest(lock: *mut *mut NestLock, hint: u64) {
    if NamedNestLock::find(lock.addr()).is_none() {
        let new = Box::into_raw(Box::new(NestLock::new()));
        // SAFETY: promised by our caller.
        unsafe { lock.write(new) };
    }
    observer::lock_begins(Mutex::NestLock, hint as u32, lock.addr() as u64);
}

/// Frees a nestable lock.
///
/// # Safety
/// It is the program's lock, aligned and initialised.
pub(crate) unsafe fn end_nest(lock: *mut *mut NestLock) {
    observer::lock_ends(Mutex::NestLock, lock.addr() as u64);
    if NamedNestLock::find(lock.addr()).is_some() {
        return;
    }
    // SAFETY: promised by our caller.
    let old = unsafe { lock.replace(std::ptr::null_mut()) };
    if !old.is_null() {
        // SAFETY: it came from `begin_nest`, and the variable does not hold it any more.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// Takes a nestable lock, perhaps once more.
///
/// # Safety
/// As of [`end_nest`].
pub(crate) unsafe fn take_nest(lock: *const *const NestLock) {
    if !WATCH.is_on() {
        // SAFETY: promised by our caller: the variable is initialised.
        return unsafe { &**lock }.acquire_unwatched(current());
    }
    // SAFETY: promised by our caller.
    unsafe { take_nest_watched(lock) }
}

/// # Safety
/// As of [`end_nest`].
#[cold]
unsafe fn take_nest_watched(lock: *const *const NestLock) {
    // SAFETY: promised by our caller.
    let nest = unsafe { Nest::at(lock) };
    observer::nest_mutex(lock.addr() as u64, |tell| {
        let member = current();
        match nest {
            Nest::Here(lock) => lock.acquire(member),
            Nest::Named(named) => named.acquire(member),
        }
        if tell { nest.depth() } else { 1 }
    });
}

/// Gives a nestable lock back once.
///
/// # Safety
/// As of [`end_nest`].
pub(crate) unsafe fn give_nest(lock: *const *const NestLock) {
    if !WATCH.is_on() {
        // SAFETY: promised by our caller: the variable is initialised.
        return unsafe { &**lock }.release_unwatched();
    }
    // SAFETY: promised by our caller.
    unsafe { give_nest_watched(lock) }
}

/// # Safety
/// As of [`end_nest`].
#[cold]
unsafe fn give_nest_watched(lock: *const *const NestLock) {
    // SAFETY: promised by our caller.
    let nest = unsafe { Nest::at(lock) };
    let last = !observer::hears_each_task() || nest.depth() == 1;
    observer::released(Mutex::NestLock, lock.addr() as u64, || {
        match nest {
            Nest::Here(lock) => lock.release(),
            Nest::Named(named) => named.release(),
        }
        last
    });
}

/// Takes a nestable lock if no other task holds it; how often the calling task then holds it, or 0.
///
/// # Safety
/// As of [`end_nest`].
pub(crate) unsafe fn try_take_nest(lock: *const *const NestLock) -> c_int {
    // SAFETY: promised by our caller.
    let nest = unsafe { Nest::at(lock) };
    let times = observer::try_nest_mutex(lock.addr() as u64, || {
        let member = current();
        match nest {
            Nest::Here(lock) => lock.try_acquire(member),
            Nest::Named(named) => named.try_acquire(member),
        }
    });
    // Deeper than `int` can tell is still "held".
    c_int::try_from(times).unwrap_or(c_int::MAX)
}

/// Defines routines of the API for nestable locks, for C and for Fortran.
macro_rules! nest_routines {
    ($($(#[$doc:meta])* $c:ident, $fortran:ident ($lock:ident: $type:ty) $(-> $result:ty)? = $body:expr;)+) => {
        entries! {$(
            $(#[$doc])*
            fn $c($lock: $type) $(-> $result)? {
                // SAFETY: this is the argument of the entry point.
                unsafe { $body }
            }
            /// The same in Fortran.
            fn $fortran($lock: $type) $(-> $result)? {
                // SAFETY: this is the argument of the entry point.
                unsafe { $body }
            }
        )+}
    };
}

nest_routines! {
    /// Allocates a nestable lock.
    omp_init_nest_lock, omp_init_nest_lock_(lock: *mut *mut NestLock) = begin_nest(lock, 0);
    /// Frees a nestable lock.
    omp_destroy_nest_lock, omp_destroy_nest_lock_(lock: *mut *mut NestLock) = end_nest(lock);
    /// Takes a nestable lock, perhaps once more.
    omp_set_nest_lock, omp_set_nest_lock_(lock: *const *const NestLock) = take_nest(lock);
    /// Gives a nestable lock back once.
    omp_unset_nest_lock, omp_unset_nest_lock_(lock: *const *const NestLock) = give_nest(lock);
    /// Takes a nestable lock if no other task holds it; how often the calling task then holds it,
    /// or 0.
    omp_test_nest_lock, omp_test_nest_lock_(lock: *const *const NestLock) -> c_int = try_take_nest(lock);
}

entries! {
    /// As `omp_init_nest_lock`; the hint is not needed.
    fn omp_init_nest_lock_with_hint(lock: *mut *mut NestLock, hint: u64) {
        // SAFETY: this is the argument of the entry point.
        unsafe { begin_nest(lock, hint) };
    }
    /// The same in Fortran.
    fn omp_init_nest_lock_with_hint_(lock: *mut *mut NestLock, hint: *const c_void) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { begin_nest(lock, hint_at(hint).into()) };
    }
}
