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
use fathomp_sys::mpi::behind::{Behind, ERROR, Words};

/// When the rank of the process becomes known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Not by this call.
    Other,
    /// When this call has ended.
    Init,
}

/// Calls the function behind with these words.
///
/// # Safety
/// As of the function behind.
unsafe fn pass(
    call: &Call,
    behind: &Behind,
    (activity, moment): (Activity, Moment),
    words: Words,
) -> usize {
    if behind.address().is_null() {
        return ERROR;
    }
    let stay = call.enter_sealed(activity);
    // SAFETY: promised by our caller.
    let result = unsafe { behind.call(words) };
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
                #[unsafe(export_name = concat!("fathomp_paging_front_", $text))]
                unsafe extern "C" fn $variant(
                    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize,
                    h: usize, i: usize, j: usize, k: usize, l: usize, m: usize,
                ) -> usize {
                    static BEHIND: fathomp_sys::mpi::behind::Behind =
                        fathomp_sys::mpi::behind::Behind::new(call!(@text $text));
                    let how = (
                        fathomp_paging::Activity::$activity,
                        super::super::Moment::$moment,
                    );
                    let words = [a, b, c, d, e, f, g, h, i, j, k, l, m];
                    // SAFETY: promised by our caller.
                    unsafe { super::super::pass(&CALL, &BEHIND, how, words) }
                }
            )+
        }
    };
}

use mpi;
