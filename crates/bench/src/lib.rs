//! Drivers and statistics of the microbenchmarks.
//!
//! A benchmark here is a C program under `suites/` that prints raw samples,
//! and a driver that builds it, runs it under several OpenMP runtimes in turn
//! and judges the samples. The programs know no statistics and the drivers
//! know no OpenMP.
#![forbid(unsafe_code)]

pub mod machine;
pub mod overheads;
mod process;
pub mod stats;
