//! What the claiming protocols are built from. The model tests compile the same
//! protocol files against another module of this name, whose atomics run under
//! a scheduler that explores interleavings.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
