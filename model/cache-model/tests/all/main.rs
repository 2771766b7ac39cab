//! Misses of nests of loops that are made up.
//! Those of real programs are in `tests/judged.rs`.

mod anything;
mod bodies;
mod common;
mod known;
mod simulated;
