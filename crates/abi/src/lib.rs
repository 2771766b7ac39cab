//! The C symbols compiled OpenMP programs call.
//!
//! Thin: each symbol turns C arguments into a call of `fathomp-omp` and does
//! nothing else. This is the only place with C names. The crate is linked
//! into `libgomp.so.1` with the version script `libgomp.map`.
//!
//! * [`gomp`]: what gcc and gfortran emit.
//! * [`api`]: the `omp_*` routines; [`allocator`]: those about memory.
//! * [`cluster`]: what stands in front of the C library on several nodes.
//! * [`device`]: `target` constructs and routines, on the host.
//! * [`unloading`]: `dlclose`, for the sake of recordings.
//! * [`tap`]: tells the recorder of paging, if there is one, what threads wait for.
//! * [`entry`]: entry points that remember where they were called from.

#![allow(non_snake_case, reason = "C's names are not ours to choose")]

pub mod allocator;
pub mod api;
pub mod cluster;
pub mod device;
mod entry;
pub mod error_directive;
mod fatal;
pub mod gomp;
mod load;
mod tap;
pub mod unloading;
