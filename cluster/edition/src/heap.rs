//! `malloc` and its relatives. Blocks for the program come from the shared heap,
//! blocks for the C library from its own.

use super::caller::with_caller;
use fathomp_node::heap::{self, Block};
use fathomp_sys::cluster::private_heap;
use std::ffi::{c_int, c_void};

with_caller! {
    /// `void *malloc(size_t)`
    fathomp_malloc => malloc, "rsi";
    /// `void *calloc(size_t, size_t)`
    fathomp_calloc => calloc, "rdx";
    /// `void *realloc(void *, size_t)`
    fathomp_realloc => realloc, "rdx";
    /// `void *memalign(size_t, size_t)`, and `aligned_alloc`
    fathomp_memalign => memalign, "rdx";
    /// `int posix_memalign(void **, size_t, size_t)`
    fathomp_posix_memalign => posix_memalign, "rcx";
    /// `char *strdup(const char *)`
    fathomp_strdup => strdup, "rsi";
}

/// Uses the C library's heap.
fn private<R>(use_it: impl FnOnce() -> R) -> R {
    let _undisturbed = heap::undisturbed();
    use_it()
}

fn pointer(block: Block) -> *mut c_void {
    match block {
        Block::At(address) => std::ptr::with_exposed_provenance_mut(address),
        Block::Exhausted => {
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            std::ptr::null_mut()
        }
    }
}

extern "C" fn malloc(bytes: usize, caller: usize) -> *mut c_void {
    match heap::allocate(bytes, heap::ALIGNMENT, caller) {
        Some(block) => pointer(block),
        None => private(|| private_heap::allocate(bytes)),
    }
}

extern "C" fn calloc(count: usize, bytes: usize, caller: usize) -> *mut c_void {
    let Some(total) = count.checked_mul(bytes) else {
        return pointer(Block::Exhausted);
    };
    match heap::allocate(total, heap::ALIGNMENT, caller) {
        Some(block) => {
            let block = pointer(block);
            if !block.is_null() {
                // SAFETY: a block of at least so many bytes.
                unsafe { block.cast::<u8>().write_bytes(0, total) };
            }
            block
        }
        None => private(|| private_heap::allocate_zeroed(count, bytes)),
    }
}

extern "C" fn realloc(old: *mut c_void, bytes: usize, caller: usize) -> *mut c_void {
    if old.is_null() {
        return malloc(bytes, caller);
    }
    let address = old.expose_provenance();
    if !heap::is_shared(address) {
        // SAFETY: a block that is not shared is the C library's.
        return private(|| unsafe { private_heap::resize(old, bytes) });
    }
    let before = heap::size_of(address);
    if bytes != 0 && bytes <= before && bytes > before / 2 {
        return old;
    }
    let new = match heap::allocate(bytes, heap::ALIGNMENT, caller) {
        Some(block) => pointer(block),
        None => private(|| private_heap::allocate(bytes)),
    };
    if !new.is_null() {
        // SAFETY: both blocks are at least so long, and different.
        unsafe {
            new.cast::<u8>()
                .copy_from_nonoverlapping(old.cast(), before.min(bytes))
        };
        heap::free(address);
    }
    new
}

extern "C" fn memalign(align: usize, bytes: usize, caller: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        // SAFETY: the thread's errno.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return std::ptr::null_mut();
    }
    match heap::allocate(bytes, align, caller) {
        Some(block) => pointer(block),
        None => private(|| private_heap::allocate_aligned(align, bytes)),
    }
}

extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    align: usize,
    bytes: usize,
    caller: usize,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = memalign(align, bytes, caller);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller provides a place for the result.
    unsafe { result.write(block) };
    0
}

extern "C" fn strdup(text: *const libc::c_char, caller: usize) -> *mut c_void {
    // SAFETY: the caller passes a C string.
    let bytes = unsafe { libc::strlen(text) } + 1;
    let copy = malloc(bytes, caller);
    if !copy.is_null() {
        // SAFETY: a new block of so many bytes.
        unsafe { copy.copy_from_nonoverlapping(text.cast(), bytes) };
    }
    copy
}

/// `void free(void *)`
///
/// # Safety
/// As of C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_free(block: *mut c_void) {
    let address = block.expose_provenance();
    if heap::is_shared(address) {
        heap::free(address);
    } else {
        // SAFETY: a block that is not shared is the C library's.
        private(|| unsafe { private_heap::release(block) });
    }
}

/// `size_t malloc_usable_size(void *)`
///
/// # Safety
/// As of C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_malloc_usable_size(block: *mut c_void) -> usize {
    let address = block.expose_provenance();
    if heap::is_shared(address) {
        return heap::size_of(address);
    }
    type Real = unsafe extern "C" fn(*mut c_void) -> usize;
    let Some(next) = real!(c"malloc_usable_size" as Real) else {
        return 0;
    };
    // SAFETY: a block of the C library's heap.
    unsafe { next(block) }
}
