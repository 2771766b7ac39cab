//! Runs the construct programs of `tests/abi` under libgomp and under our
//! runtime and compares what they print and how they end.
//!
//! libgomp is the reference because the programs are gcc's: what it does with
//! one of them is right unless the program says otherwise. Each program is
//! built once per optimisation level and run with several team sizes, with our
//! library preloaded, and with it standing in for libgomp by its name.
#![forbid(unsafe_code)]

pub mod build;
pub mod compare;
pub mod program;
pub mod run;
pub mod threads;
pub mod trials;
