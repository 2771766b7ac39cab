//! Updates that only the program knows how to do, and the lock.

use super::{Atomic, under_lock};
use crate::kmpc::types::Location;
use fathomp_omp::observer::Mutex;
use fathomp_omp::sync;
use std::ffi::c_void;

/// `void f(void *out, void *a, void *b)`: what an operation makes of two values.
type Combine = extern "C" fn(*mut c_void, *mut c_void, *mut c_void);

macro_rules! generic {
    ($($name:ident, $type:ty, $update:path;)+) => {
        kmpc! {
            $(
                /// `void NAME(ident_t *, int gtid, void *lhs, void *rhs, void (*f)(void *, void *,
                /// void *))`
                fn $name(_location: Location, _gtid: i32, place: *mut $type, with: *mut c_void, combine: Combine) {
                    let new = |old: $type| {
                        let (mut old, mut now) = (old, old);
                        combine((&raw mut now).cast(), (&raw mut old).cast(), with);
                        now
                    };
                    // SAFETY: promised by our caller.
                    unsafe { $update(place, new) };
                }
            )+
        }
    };
}

generic! {
    __kmpc_atomic_1, u8, u8::update;
    __kmpc_atomic_2, u16, u16::update;
    __kmpc_atomic_4, u32, u32::update;
    __kmpc_atomic_8, u64, u64::update;
    __kmpc_atomic_10, [u8; 10], under_lock;
    __kmpc_atomic_16, Sixteen, under_lock;
    __kmpc_atomic_20, [u8; 20], under_lock;
    __kmpc_atomic_32, ThirtyTwo, under_lock;
}

/// Values that the program's function may read aligned.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Sixteen([u8; 16]);

/// See [`Sixteen`].
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct ThirtyTwo([u8; 32]);

/// Compare and exchange: whether it was done, or what was there.
macro_rules! exchanges {
    ($($bool:ident, $bool_cpt:ident, $val:ident, $val_cpt:ident, $type:ty;)+) => {
        kmpc! {
            $(
                /// `bool NAME(ident_t *, int gtid, T *x, T e, T d)`: `if (x == e) x = d`.
                fn $bool(_location: Location, _gtid: i32, place: *mut $type, expected: $type, desired: $type) -> bool {
                    // SAFETY: promised by our caller.
                    let (old, _) = unsafe { exchange(place, expected, desired) };
                    old == expected
                }
                /// The same, which tells what was there if it was not done.
                fn $bool_cpt(_location: Location, _gtid: i32, place: *mut $type, expected: $type, desired: $type, value: *mut $type) -> bool {
                    // SAFETY: promised by our caller.
                    unsafe {
                        let (old, _) = exchange(place, expected, desired);
                        if old != expected {
                            value.write(old);
                        }
                        old == expected
                    }
                }
                /// `T NAME(ident_t *, int gtid, T *x, T e, T d)`: what was there.
                fn $val(_location: Location, _gtid: i32, place: *mut $type, expected: $type, desired: $type) -> $type {
                    // SAFETY: promised by our caller.
                    unsafe { exchange(place, expected, desired) }.0
                }
                /// The same, which tells what is there now.
                fn $val_cpt(_location: Location, _gtid: i32, place: *mut $type, expected: $type, desired: $type, value: *mut $type) -> $type {
                    // SAFETY: promised by our caller.
                    unsafe {
                        let (old, now) = exchange(place, expected, desired);
                        value.write(now);
                        old
                    }
                }
            )+
        }
    };
}

/// # Safety
/// As of [`Atomic::update`].
unsafe fn exchange<T: Atomic + PartialEq>(place: *mut T, expected: T, desired: T) -> (T, T) {
    let new = |old: T| if old == expected { desired } else { old };
    // SAFETY: promised by our caller.
    unsafe { T::update(place, new) }
}

exchanges! {
    __kmpc_atomic_bool_1_cas, __kmpc_atomic_bool_1_cas_cpt, __kmpc_atomic_val_1_cas, __kmpc_atomic_val_1_cas_cpt, u8;
    __kmpc_atomic_bool_2_cas, __kmpc_atomic_bool_2_cas_cpt, __kmpc_atomic_val_2_cas, __kmpc_atomic_val_2_cas_cpt, u16;
    __kmpc_atomic_bool_4_cas, __kmpc_atomic_bool_4_cas_cpt, __kmpc_atomic_val_4_cas, __kmpc_atomic_val_4_cas_cpt, u32;
    __kmpc_atomic_bool_8_cas, __kmpc_atomic_bool_8_cas_cpt, __kmpc_atomic_val_8_cas, __kmpc_atomic_val_8_cas_cpt, u64;
}

/// `void __kmpc_atomic_start(void)`: an update for which there is no routine.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_start() {
    sync::atomic().acquire(Mutex::Atomic, 0);
}

/// `void __kmpc_atomic_end(void)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_end() {
    sync::atomic().release();
}
