//! The `fathomp` command.
#![forbid(unsafe_code)]

fn main() {}
