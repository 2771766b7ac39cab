//! Atomic updates by a call: `__kmpc_atomic_TYPE_OPERATION`. clang puts atomic operations inline;
//! compilers of other makers call these.
//!
//! Values as wide as a machine word or narrower are updated by compare and exchange, so that this goes
//! together with inline operations on the same variable; on several nodes where an inline
//! operation would be executed, too. Wider values are updated under the lock of `atomic`.

pub mod complex;
pub mod generic;
pub mod integers;
pub mod reals;

use fathomp_omp::cluster::{is_node, process};
use fathomp_omp::observer::Mutex;
use fathomp_omp::sync;
use fathomp_sys::call_site::call_site;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A value that is updated atomically.
trait Atomic: Copy {
    /// Replaces what is at `place` by what `new` makes of it; returns both.
    ///
    /// # Safety
    /// `place` is a variable of the program's, used by atomic operations alone.
    unsafe fn update(place: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self);
}

/// Calls `work` with the address at which an update of the variable at `place` is to work.
fn at_home<T, R>(place: *mut T, work: impl FnOnce(*mut T) -> R) -> R {
    let Some(process) = process().filter(|_| is_node()) else {
        return work(place);
    };
    let home = process.begin_update(place.expose_provenance(), size_of::<T>());
    let result = work(home.map_or(place, std::ptr::with_exposed_provenance_mut));
    process.end_update();
    result
}

/// Values that a machine word holds, by the atomic type that is as wide.
macro_rules! words {
    ($($type:ty, $word:ty, $to:expr, $from:expr;)+) => {$(
        impl Atomic for $type {
            unsafe fn update(place: *mut Self, new: impl Fn(Self) -> Self) -> (Self, Self) {
                let (to, from): (fn(Self) -> _, fn(_) -> Self) = ($to, $from);
                if !place.addr().is_multiple_of(align_of::<$word>()) {
                    // SAFETY: promised by our caller.
                    return unsafe { under_lock(place, new) };
                }
                at_home(place, |place| {
                    // SAFETY: promised by our caller; aligned by the check above, or by the node
                    // that gives another place.
                    let word = unsafe { <$word>::from_ptr(place.cast()) };
                    let mut seen = word.load(Ordering::SeqCst);
                    loop {
                        let old = from(seen);
                        let next = new(old);
                        match word.compare_exchange_weak(seen, to(next), Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(_) => return (old, next),
                            Err(now) => seen = now,
                        }
                    }
                })
            }
        }
    )+};
}

words! {
    i8, AtomicU8, |value| value as u8, |word| word as i8;
    u8, AtomicU8, |value| value, |word| word;
    i16, AtomicU16, |value| value as u16, |word| word as i16;
    u16, AtomicU16, |value| value, |word| word;
    i32, AtomicU32, |value| value as u32, |word| word as i32;
    u32, AtomicU32, |value| value, |word| word;
    i64, AtomicU64, |value| value as u64, |word| word as i64;
    u64, AtomicU64, |value| value, |word| word;
    f32, AtomicU32, f32::to_bits, f32::from_bits;
    f64, AtomicU64, f64::to_bits, f64::from_bits;
}

/// An update of any width.
///
/// # Safety
/// As of [`Atomic::update`].
unsafe fn under_lock<T: Copy>(place: *mut T, new: impl Fn(T) -> T) -> (T, T) {
    sync::atomic().acquire(Mutex::Atomic, call_site());
    // SAFETY: promised by our caller; the lock keeps others away.
    let result = unsafe {
        let old = place.read_unaligned();
        let next = new(old);
        place.write_unaligned(next);
        (old, next)
    };
    sync::atomic().release();
    result
}

/// `NAME(ident_t *, int gtid, T *lhs, T rhs)` of these operations, and those that the notes tell
/// apart: `cpt` returns the value before, or after if `flag` says so; `rev` has the operands the
/// other way round.
macro_rules! updates {
    ($name:literal, $type:ty: $($form:ident $operation:literal $with:ty, $new:expr;)+) => {
        $($crate::kmpc::atomics::update_form!($form, $name, $operation, $type, $with, $new);)+
    };
}

macro_rules! update_form {
    (set, $name:literal, $operation:literal, $type:ty, $with:ty, $new:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__kmpc_atomic_", $name, "_", $operation))]
            unsafe extern "C" fn update(_: Location, _: i32, place: *mut $type, with: $with) {
                let new: fn($type, $with) -> $type = $new;
                // SAFETY: compiled code passes a variable of its own.
                unsafe { <$type as Atomic>::update(place, |old| new(old, with)) };
            }
        };
    };
    (get, $name:literal, $operation:literal, $type:ty, $with:ty, $new:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__kmpc_atomic_", $name, "_", $operation))]
            unsafe extern "C" fn update(
                _: Location,
                _: i32,
                place: *mut $type,
                with: $with,
                after: i32,
            ) -> $type {
                let new: fn($type, $with) -> $type = $new;
                // SAFETY: compiled code passes a variable of its own.
                let (old, now) = unsafe { <$type as Atomic>::update(place, |old| new(old, with)) };
                if after != 0 { now } else { old }
            }
        };
    };
    (swap, $name:literal, $operation:literal, $type:ty, $with:ty, $new:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__kmpc_atomic_", $name, "_", $operation))]
            unsafe extern "C" fn update(
                _: Location,
                _: i32,
                place: *mut $type,
                with: $with,
            ) -> $type {
                let new: fn($type, $with) -> $type = $new;
                // SAFETY: compiled code passes a variable of its own.
                unsafe { <$type as Atomic>::update(place, |old| new(old, with)) }.0
            }
        };
    };
    (read, $name:literal, $operation:literal, $type:ty, $with:ty, $new:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__kmpc_atomic_", $name, "_", $operation))]
            unsafe extern "C" fn read(_: Location, _: i32, place: *mut $type) -> $type {
                // SAFETY: compiled code passes a variable of its own.
                unsafe { <$type as Atomic>::update(place, |old| old) }.0
            }
        };
    };
    (out, $name:literal, $operation:literal, $type:ty, $with:ty, $new:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__kmpc_atomic_", $name, "_", $operation))]
            unsafe extern "C" fn update(
                _: Location,
                _: i32,
                place: *mut $type,
                with: $with,
                out: *mut $type,
                after: i32,
            ) {
                let new: fn($type, $with) -> $type = $new;
                // SAFETY: compiled code passes variables of its own.
                unsafe {
                    let (old, now) = <$type as Atomic>::update(place, |old| new(old, with));
                    out.write(if after != 0 { now } else { old });
                }
            }
        };
    };
}

use {update_form, updates};
