//! Memory that the runtime lends to the program and that all nodes reach.

use crate::fatal::fatal;
use fathomp_omp::cluster;

/// Zeroed memory for what the program keeps of its tasks.
pub(crate) fn allocate(bytes: usize, align: usize) -> usize {
    if let Some(begin) = cluster::allocate(bytes, align) {
        return begin;
    }
    let mut memory = std::ptr::null_mut();
    // SAFETY: plain C allocation into a local; checked below.
    let failed = unsafe { libc::posix_memalign(&raw mut memory, align, bytes.max(1)) };
    if failed != 0 {
        out_of_memory(bytes);
    }
    // SAFETY: just allocated with that size.
    unsafe { memory.write_bytes(0, bytes) };
    memory.expose_provenance()
}

pub(crate) fn out_of_memory(bytes: usize) -> ! {
    fatal(format_args!(
        "no memory for {bytes} bytes of what tasks have for themselves"
    ))
}

/// Gives back what [`allocate`] has returned, once.
pub(crate) fn free(begin: usize) {
    if cluster::free(begin) {
        return;
    }
    // SAFETY: it came from `allocate` and is freed once, as our callers see to.
    unsafe { libc::free(std::ptr::with_exposed_provenance_mut(begin)) };
}
