//! Instructions of compiled programs, and programs that are patched.
//! Tests that need more compilers are in `tests/blind.rs`.

mod access;
#[path = "../built/mod.rs"]
mod built;
mod programs;
