//! Collectors of changes that this process makes up.
//! What needs processes of its own is in `tests/processes.rs`.

mod choices;
#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod writers;
