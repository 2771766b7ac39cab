//! Where the code of fathomp's runtime lies, whose own reading and writing is not the program's.
//!
//! The runtime reads what the kernel says of threads and of memory while it records. That goes by
//! the C library like the program's I/O, and only the caller tells them apart.

use fathomp_sys::cluster::image;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A stretch of addresses; nothing lies in an empty one. Functions in front read it before the
/// compiler's code of theirs begins.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Stretch {
    from: AtomicUsize,
    bytes: AtomicUsize,
}

/// The runtime's library, or the foreign recorder: whichever is loaded beside the interposer.
pub(crate) static OURS: Stretch = Stretch {
    from: AtomicUsize::new(0),
    bytes: AtomicUsize::new(0),
};

/// Finds it: libraries that are preloaded are there before any of them begins.
pub(super) fn find() {
    let inside = &raw const OURS;
    if let Some(range) = image::module_beside(inside.addr()) {
        OURS.from.store(range.start, Ordering::Relaxed);
        OURS.bytes.store(range.len(), Ordering::Relaxed);
    }
}
