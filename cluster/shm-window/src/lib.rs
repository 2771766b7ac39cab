//! Algorithms over memory that the nodes of one machine share, in place of messages: they
//! take pages out of each other's memory and bring diffs there, as remote direct memory
//! access does on a cluster; enter what they have written in a log; and take locks.
//!
//! Real nodes, the simulated cluster and the model checker run these files as they are; so
//! do loom's and shuttle's schedulers ([tests](../tests)). Pages' bytes are somebody else's:
//! where they are copied or written, a closure is called. States, races, and why each
//! ordering is as it is: README.md beside this code.
#![forbid(unsafe_code)]

mod bring;
mod locks;
mod log;
mod memory;
mod offers;
mod primitive;
mod sizes;
mod take;
mod tell;
#[cfg(test)]
mod tests;
mod update;
mod view;
mod window;

pub use memory::Memory;
pub use sizes::{Keeping, Sizes};
pub use tell::Answer;
pub use update::UpdateStart;
pub use window::Window;
