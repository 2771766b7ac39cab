//! The C symbols compiled OpenMP programs call.
//!
//! Thin: each symbol turns C arguments into a call of `fathomp-omp` and does
//! nothing else. This is the only place with C names. The crate is linked
//! into `libgomp.so.1` with the version scripts `libgomp.map` and `llvm.map`.
//!
//! * [`gomp`]: what gcc and gfortran emit; [`kmpc`]: what clang, flang and Intel's compilers do.
//! * [`api`]: the `omp_*` routines; [`allocator`]: those about memory.
//! * [`device`]: `target` constructs and routines, on the host.
//! * [`unloading`]: `dlclose`, for the sake of recordings.
//! * [`interposer`]: tells the recorder of paging, if there is one, what threads wait for.
//! * `mpi`: what the interposer of MPI finds, to tell the recorder of MPI's calls.
//! * [`ompt`]: finds the first-party tool, if there is one, and what it may call.
//! * [`entry`]: entry points that remember where they were called from.

#![allow(non_snake_case, reason = "C's names are not ours to choose")]

pub mod allocator;
pub mod api;
pub mod device;
mod entry;
pub mod error_directive;
pub mod fatal;
pub mod gomp;
pub mod interposer;
pub mod kmpc;
mod load;
mod mpi;
mod ompt;
mod reachable;
pub mod unloading;

/// The allocator of the libraries that this is part of.
pub use fathomp_sys::private_heap::PrivateHeap;
pub use load::{finish, load};
