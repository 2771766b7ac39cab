//! What the shared-memory protocols are built from. The model tests compile the
//! same protocol files against another module of this name, whose atomics run
//! under a scheduler that explores interleavings.

pub(crate) use fathomp_sys::shared_futex as futex;
pub(crate) use fathomp_sys::shared_memory::{append, copy_in, copy_out};
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
