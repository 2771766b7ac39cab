//! How many cores the process has of the machine that it shares.

use std::sync::atomic::AtomicU32;

/// Cores that the present region has for itself, while partners are there.
pub(super) static CORES: AtomicU32 = AtomicU32::new(u32::MAX);
