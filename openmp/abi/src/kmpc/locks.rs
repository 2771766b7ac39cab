//! Locks by LLVM's names, which say where the call stands; otherwise the routines of the API.

use super::types::Location;
use crate::entry::{entries, watched};
use crate::gomp::locks;
use fathomp_omp::sync::{Lock, NestLock};

macro_rules! locks {
    ($($(#[$doc:meta])* $name:ident($type:ty) => $routine:ident $(($hint:literal))? $(-> $result:ty)?;)+) => {
        watched! {
            $(
                $(#[$doc])*
                fn $name(_location: Location, _gtid: i32, lock: $type) $(-> $result)? {
                    // SAFETY: this is an argument of the entry point.
                    unsafe { locks::$routine(lock $(, $hint)?) }
                }
            )+
        }
    };
}

locks! {
    /// Makes a lock a free one.
    __kmpc_init_lock(*const Lock) => begin(0);
    /// Takes a lock.
    __kmpc_set_lock(*const Lock) => take;
    /// Gives a lock back.
    __kmpc_unset_lock(*const Lock) => give;
    /// Takes a lock if it is free; whether it did.
    __kmpc_test_lock(*const Lock) => try_take -> i32;
    /// Makes a nestable lock a free one.
    __kmpc_init_nest_lock(*mut *mut NestLock) => begin_nest(0);
    /// Ends a nestable lock's life.
    __kmpc_destroy_nest_lock(*mut *mut NestLock) => end_nest;
    /// Takes a nestable lock, perhaps once more.
    __kmpc_set_nest_lock(*const *const NestLock) => take_nest;
    /// Gives a nestable lock back once.
    __kmpc_unset_nest_lock(*const *const NestLock) => give_nest;
    /// Takes a nestable lock if no other task holds it; how often the task then holds it, or 0.
    __kmpc_test_nest_lock(*const *const NestLock) => try_take_nest -> i32;
}

entries! {
    /// As `__kmpc_init_lock`; the hint is not needed.
    fn __kmpc_init_lock_with_hint(_location: Location, _gtid: i32, lock: *const Lock, hint: u64) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { locks::begin(lock, hint) };
    }
    /// As `__kmpc_init_nest_lock`; the hint is not needed.
    fn __kmpc_init_nest_lock_with_hint(_location: Location, _gtid: i32, lock: *mut *mut NestLock, hint: u64) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { locks::begin_nest(lock, hint) };
    }
    /// Ends a lock's life.
    fn __kmpc_destroy_lock(_location: Location, _gtid: i32, lock: *const Lock) {
        locks::end(lock);
    }
}
