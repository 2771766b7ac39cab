//! The C library's own heap, whichever library stands in front of `malloc`.

use std::ffi::c_void;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// As `malloc`.
#[must_use]
pub fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: any size is allowed.
    unsafe { __libc_malloc(bytes) }
}

/// As `calloc`.
#[must_use]
pub fn allocate_zeroed(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: any sizes are allowed.
    unsafe { __libc_calloc(count, bytes) }
}

/// As `memalign`.
#[must_use]
pub fn allocate_aligned(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the C library checks the alignment.
    unsafe { __libc_memalign(alignment, bytes) }
}

/// As `realloc`.
///
/// # Safety
/// `block` is null or a live block of this heap.
#[must_use]
pub unsafe fn resize(block: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: promised by our caller.
    unsafe { __libc_realloc(block, bytes) }
}

/// As `free`.
///
/// # Safety
/// `block` is null or a live block of this heap.
pub unsafe fn release(block: *mut c_void) {
    // SAFETY: promised by our caller.
    unsafe { __libc_free(block) }
}
