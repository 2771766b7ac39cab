//! What the waiting protocols are built from. The model tests compile the same
//! protocol files against another module of this name, whose atomics and futex
//! run under a scheduler that explores interleavings.

pub(crate) use fathomp_sys::futex;
pub(crate) use fathomp_sys::process::yield_now;
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
