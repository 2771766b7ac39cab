//! Drivers and statistics of the microbenchmarks.
#![forbid(unsafe_code)]
