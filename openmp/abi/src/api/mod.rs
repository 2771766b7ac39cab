//! The `omp_*` routines, for C and for Fortran.
//!
//! gfortran calls a routine by its name with an underscore and passes every
//! argument by reference; with `-fdefault-integer-8` it calls names ending in
//! `_8_` and passes references to 8-byte integers. The macros here define all
//! forms of a routine from one body. Fortran's `logical(4)` and C's `int` are
//! passed alike.
//!
//! Lock routines are with the constructs they resemble (`crate::gomp`),
//! allocators in `crate::allocator`, device memory in `crate::device`.

pub mod affinity;
pub mod control;
pub mod levels;
pub mod places;
pub mod teams;
pub mod threads;
pub mod time;

/// Routines without arguments: `C, Fortran -> type = value;`
macro_rules! ask {
    ($($(#[$doc:meta])* $c:ident, $fortran:ident -> $type:ty = $value:expr;)+) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $c() -> $type {
            $value
        }

        #[doc = concat!("Fortran's form of `", stringify!($c), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $type {
            $value
        }
    )+};
}

/// Routines that take one integer: `C, Fortran, Fortran 8 (name) -> type = value;`
macro_rules! ask_with {
    ($($(#[$doc:meta])*
       $c:ident, $fortran:ident, $fortran_8:ident ($argument:ident) -> $type:ty = $value:expr;)+
    ) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $c($argument: i32) -> $type {
            $value
        }

        #[doc = concat!("Fortran's form of `", stringify!($c), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran($argument: &i32) -> $type {
            $c(*$argument)
        }

        #[doc = concat!("Fortran's form of `", stringify!($c), "` with 8-byte integers.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran_8($argument: &i64) -> $type {
            $c(crate::api::saturated(*$argument))
        }
    )+};
}

pub(crate) use {ask, ask_with};

/// The nearest `int`.
pub(crate) fn saturated(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// The nearest `int` of a count.
pub(crate) fn count(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// Changes the ICVs of the current task.
pub(crate) fn update_icvs(change: impl FnOnce(&mut fathomp_omp::icv::Icvs)) {
    let member = fathomp_omp::current();
    let mut icvs = member.icvs();
    change(&mut icvs);
    member.set_icvs(icvs);
}

#[cfg(test)]
mod tests;
