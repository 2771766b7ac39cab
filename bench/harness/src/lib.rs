//! Drivers and statistics of the microbenchmarks.
//!
//! A benchmark here is a C or Fortran program under `suites/` that prints raw
//! samples. This crate builds it with any compiler ([`suite`]), runs it under
//! every OpenMP runtime in turn ([`run`]), keeps all samples in a document
//! ([`result`]) and says what they mean ([`summary`]). The programs know no
//! statistics and the driver knows no OpenMP. [`prices`] does the same for a
//! program that runs on several nodes, and [`floors`] compares that with the
//! least it could cost. [`intrusion`] says what recording costs the program that is recorded.
#![forbid(unsafe_code)]

pub mod compiler;
pub mod epcc;
pub mod floors;
pub mod intrusion;
pub mod machine;
pub mod misses;
pub mod moments;
pub mod noise;
pub mod output;
pub mod pace;
pub mod pattern;
pub mod prices;
pub mod read;
pub mod result;
pub mod run;
pub mod runtime;
pub mod settings;
pub mod suite;
pub mod summary;
pub mod synthetic;
