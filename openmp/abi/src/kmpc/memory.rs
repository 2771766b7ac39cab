//! Memory: allocators by LLVM's names, and `kmp_malloc` and its like.

use crate::allocator::traits::Trait;
use crate::allocator::{
    omp_aligned_alloc, omp_alloc, omp_calloc, omp_destroy_allocator, omp_free,
    omp_get_default_allocator, omp_init_allocator, omp_realloc, omp_set_default_allocator,
};
use std::ffi::c_void;

/// `omp_allocator_handle_t`.
type Handle = usize;

kmpc! {
    /// `void *__kmpc_alloc(int gtid, size_t size, omp_allocator_handle_t)`
    fn __kmpc_alloc(_gtid: i32, bytes: usize, allocator: Handle) -> *mut c_void {
        omp_alloc(bytes, allocator)
    }
    /// `void *__kmpc_aligned_alloc(int gtid, size_t align, size_t size, omp_allocator_handle_t)`
    fn __kmpc_aligned_alloc(_gtid: i32, align: usize, bytes: usize, allocator: Handle) -> *mut c_void {
        omp_aligned_alloc(align, bytes, allocator)
    }
    /// `void *__kmpc_calloc(int gtid, size_t nmemb, size_t size, omp_allocator_handle_t)`
    fn __kmpc_calloc(_gtid: i32, count: usize, bytes: usize, allocator: Handle) -> *mut c_void {
        omp_calloc(count, bytes, allocator)
    }
    /// `void *__kmpc_realloc(int gtid, void *ptr, size_t size, omp_allocator_handle_t,
    /// omp_allocator_handle_t free_allocator)`
    fn __kmpc_realloc(_gtid: i32, pointer: *mut c_void, bytes: usize, allocator: Handle, old: Handle) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { omp_realloc(pointer, bytes, allocator, old) }
    }
    /// `void __kmpc_free(int gtid, void *ptr, omp_allocator_handle_t)`
    fn __kmpc_free(_gtid: i32, pointer: *mut c_void, allocator: Handle) {
        // SAFETY: promised by our caller.
        unsafe { omp_free(pointer, allocator) };
    }
    /// `omp_allocator_handle_t __kmpc_init_allocator(int gtid, omp_memspace_handle_t, int ntraits,
    /// omp_alloctrait_t traits[])`
    fn __kmpc_init_allocator(_gtid: i32, space: usize, count: i32, traits: *const Trait) -> Handle {
        // SAFETY: promised by our caller.
        unsafe { omp_init_allocator(space, count, traits) }
    }
    /// `void __kmpc_destroy_allocator(int gtid, omp_allocator_handle_t)`
    fn __kmpc_destroy_allocator(_gtid: i32, allocator: Handle) {
        // SAFETY: promised by our caller.
        unsafe { omp_destroy_allocator(allocator) };
    }
    /// `void __kmpc_set_default_allocator(int gtid, omp_allocator_handle_t)`
    fn __kmpc_set_default_allocator(_gtid: i32, allocator: Handle) {
        omp_set_default_allocator(allocator);
    }
    /// `omp_allocator_handle_t __kmpc_get_default_allocator(int gtid)`
    fn __kmpc_get_default_allocator(_gtid: i32) -> Handle {
        omp_get_default_allocator()
    }
}

kmpc! {
    /// `void *kmp_malloc(size_t size)`
    fn kmp_malloc(bytes: usize) -> *mut c_void {
        // SAFETY: plain C allocation.
        unsafe { libc::malloc(bytes) }
    }
    /// `void *kmp_aligned_malloc(size_t size, size_t alignment)`
    fn kmp_aligned_malloc(bytes: usize, align: usize) -> *mut c_void {
        let mut memory = std::ptr::null_mut();
        let align = align.max(size_of::<usize>());
        // SAFETY: plain C allocation into a local.
        match unsafe { libc::posix_memalign(&raw mut memory, align, bytes) } {
            0 => memory,
            _ => std::ptr::null_mut(),
        }
    }
    /// `void *kmp_calloc(size_t nelem, size_t elsize)`
    fn kmp_calloc(count: usize, bytes: usize) -> *mut c_void {
        // SAFETY: plain C allocation.
        unsafe { libc::calloc(count, bytes) }
    }
    /// `void *kmp_realloc(void *ptr, size_t size)`
    fn kmp_realloc(pointer: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { libc::realloc(pointer, bytes) }
    }
    /// `void kmp_free(void *ptr)`
    fn kmp_free(pointer: *mut c_void) {
        // SAFETY: promised by our caller.
        unsafe { libc::free(pointer) };
    }
    /// Fortran: `function kmp_malloc(size)`
    fn kmp_malloc_(bytes: &usize) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { kmp_malloc(*bytes) }
    }
    /// Fortran: `function kmp_aligned_malloc(size, alignment)`
    fn kmp_aligned_malloc_(bytes: &usize, align: &usize) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { kmp_aligned_malloc(*bytes, *align) }
    }
    /// Fortran: `function kmp_calloc(nelem, elsize)`
    fn kmp_calloc_(count: &usize, bytes: &usize) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { kmp_calloc(*count, *bytes) }
    }
    /// Fortran: `function kmp_realloc(ptr, size)`
    fn kmp_realloc_(pointer: &*mut c_void, bytes: &usize) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { kmp_realloc(*pointer, *bytes) }
    }
    /// Fortran: `subroutine kmp_free(ptr)`
    fn kmp_free_(pointer: &*mut c_void) {
        // SAFETY: promised by our caller.
        unsafe { kmp_free(*pointer) };
    }
}
