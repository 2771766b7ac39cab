//! Small kernels, and damaged programs.
//! Tests that need more tools than gcc are in `tests/tools`.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod divided;
mod kernels;
mod places;
