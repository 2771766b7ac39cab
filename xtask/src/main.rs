//! What cargo cannot do for this workspace.
#![forbid(unsafe_code)]

fn main() {}
