//! From the machine code of a program to what its parallel regions contain.
//!
//! [`scan`] finds the functions that the OpenMP runtime is given to run (`starts`), executes
//! each once with values instead of numbers (`walk`, on `machine` and `values`), and
//! describes what that shows: loops with their trips, accesses with their patterns, arithmetic,
//! calls (`body`). Places and names come from debugging information where there is some
//! (`places`, `names`); nothing else depends on it.
#![forbid(unsafe_code)]

mod accesses;
mod arithmetic;
mod body;
mod compilers;
mod divided;
mod entries;
mod groups;
mod machine;
mod names;
mod places;
mod program;
mod renumber;
mod roles;
mod starts;
mod values;
mod walk;

pub use program::{ScanError, scan, scan_bytes, scan_only, scan_up_to};
