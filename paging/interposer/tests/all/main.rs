//! Programs under the interposer that were written for its tests.
//! Other programs are in `tests/tools.rs`.

mod io;
mod processes;
#[allow(dead_code, reason = "other programs use more of it")]
#[path = "../support/mod.rs"]
mod support;
