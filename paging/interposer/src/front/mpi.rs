//! MPI.
//!
//! One library serves all implementations: what a function is given is passed on as it is,
//! thirteen words (as many as the longest has), whatever they mean. That is possible since all
//! are integers and pointers. Fortran's functions have the same, by reference.
//!
//! What MPI itself reads and writes meanwhile belongs to the call.

mod list;
mod rank;

use crate::engine::Call;
use fathomp_paging::Activity;
use fathomp_sys::mpi::behind;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Words that are passed on. Fewer are meant usually; what lies in the others' place, in
/// registers or further up the stack, is passed on unseen.
type Words = [usize; 13];

/// One of MPI's functions, by one of its names.
type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

/// What a function returns if there is none behind it: `MPI_ERR_OTHER` of several
/// implementations, an error in all.
const ERROR: usize = 16;

/// When the rank of the process becomes known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Not by this call.
    Other,
    /// When this call has ended.
    Init,
}

/// Calls the function of that name with these words.
///
/// # Safety
/// As of the function behind.
unsafe fn pass(
    call: &Call,
    (name, found): (&'static CStr, &AtomicPtr<c_void>),
    (activity, moment): (Activity, Moment),
    words: Words,
) -> usize {
    let mut address = found.load(Ordering::Relaxed);
    if address.is_null() {
        address = behind::find(name);
        found.store(address, Ordering::Relaxed);
    }
    if address.is_null() {
        return ERROR;
    }
    // SAFETY: the address is that of a function, which takes its arguments where these words
    // are passed.
    let next: Function = unsafe { super::macros::function(address) };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m] = words;
    let stay = call.enter_sealed(activity);
    // SAFETY: promised by our caller.
    let result = unsafe { next(a, b, c, d, e, f, g, h, i, j, k, l, m) };
    stay.leave_with(crate::engine::Effect::NONE);
    if moment == Moment::Init {
        rank::find_out();
    }
    result
}

/// Defines functions in front of MPI's, under the names of C, of C for large counts, and of
/// Fortran: `Name name` for `MPI_Name` and `mpi_name_`.
macro_rules! mpi {
    ($($activity:ident $moment:ident: $($name:ident $lower:ident),+;)+) => {
        $($(mpi!(@calls $activity $moment $name [
            in_c concat!("MPI_", stringify!($name)),
            for_large_counts concat!("MPI_", stringify!($name), "_c"),
            in_fortran concat!("mpi_", stringify!($lower), "_"),
            in_fortran_2008 concat!("mpi_", stringify!($lower), "_f08_"),
            in_fortran_2008_ts concat!("mpi_", stringify!($lower), "_f08ts_"),
        ]);)+)+
    };
    (@calls $activity:ident $moment:ident $name:ident [$($variant:ident $text:expr,)+]) => {
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "MPI's names and arguments")]
        mod $name {
            static CALL: crate::engine::Call = call!(concat!("MPI_", stringify!($name)));
            $(
                #[unsafe(export_name = concat!("fathomp_tap_front_", $text))]
                unsafe extern "C" fn $variant(
                    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize,
                    h: usize, i: usize, j: usize, k: usize, l: usize, m: usize,
                ) -> usize {
                    static FOUND: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
                        std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
                    let how = (
                        fathomp_paging::Activity::$activity,
                        super::super::Moment::$moment,
                    );
                    let words = [a, b, c, d, e, f, g, h, i, j, k, l, m];
                    // SAFETY: promised by our caller.
                    unsafe { super::super::pass(&CALL, (call!(@text $text), &FOUND), how, words) }
                }
            )+
        }
    };
}

use mpi;
