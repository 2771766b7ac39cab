//! Memory allocators: `omp_alloc` and its family, `omp_init_allocator`, and
//! what gcc makes of the `allocate` clause.
//!
//! All memory spaces are the host's memory. Of the traits, `alignment`,
//! `pool_size`, `fallback`, `fb_data` and `pinned` have their meaning;
//! `sync_hint`, `access` and `partition` are checked and otherwise leave the
//! implementation free.
//!
//! * `heap`: blocks that know how they were made; the unsafe part.
//! * `traits`: an allocator's description; `spaces`: what memory it takes.
//! * `fortran`: which variables of Fortran have such memory.
//! * this file: the C symbols and the rules of fallback.

pub mod fortran;
mod heap;
pub mod spaces;
pub mod traits;

use crate::fatal::fatal;
use fathomp_omp::env::{AllocatorChoice, ENVIRONMENT_ALLOCATOR, GNU_PINNED_ALLOCATOR};
use fathomp_omp::{cluster, current, runtime};
use heap::{Block, Request};
use spaces::{DEFAULT_ALLOCATOR, Handle, NULL_ALLOCATOR};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use traits::{Allocator, Fallback, Trait};

/// The allocator of the handle; `None` if there cannot be one.
fn lookup(handle: Handle) -> Option<&'static Allocator> {
    static PREDEFINED: Allocator = Allocator::predefined();
    static PINNED: Allocator = Allocator::pinned();
    static ENVIRONMENT: OnceLock<Option<Allocator>> = OnceLock::new();
    match handle {
        NULL_ALLOCATOR => None,
        1..ENVIRONMENT_ALLOCATOR
        | spaces::LLVM_TARGET_FIRST..=spaces::LLVM_TARGET_LAST
        | spaces::GNU_MANAGED_ALLOCATOR => Some(&PREDEFINED),
        GNU_PINNED_ALLOCATOR => Some(&PINNED),
        ENVIRONMENT_ALLOCATOR => ENVIRONMENT
            .get_or_init(|| match &runtime().settings.allocator {
                AllocatorChoice::Predefined(_) => None,
                AllocatorChoice::Custom { memspace, traits } => {
                    let traits = traits.iter().map(|&(key, value)| Trait { key, value });
                    Allocator::new(*memspace, traits)
                }
            })
            .as_ref(),
        address if address < 4096 || !address.is_multiple_of(align_of::<Allocator>()) => None,
        address => {
            // SAFETY: other handles come from `omp_init_allocator`, which keeps
            // the allocator there; the program may not use one after
            // `omp_destroy_allocator` (OpenMP 5.1, 3.13.3).
            unsafe { ptr::with_exposed_provenance::<Allocator>(address).as_ref() }
        }
    }
}

/// `def-allocator-var` in place of the null allocator.
fn or_default(handle: Handle) -> Handle {
    if handle == NULL_ALLOCATOR {
        current().icvs().default_allocator
    } else {
        handle
    }
}

/// Allocates, following the fallback trait where that fails. Null if all
/// fails.
fn allocate(handle: Handle, request: Request) -> *mut c_void {
    allocate_instead(handle, request, None)
}

/// The same for what takes the place of `old`: what that has of its allocator's pool counts for the
/// new block, if it is from the same.
fn allocate_instead(mut handle: Handle, request: Request, old: Option<&Block>) -> *mut c_void {
    if request.bytes == 0 {
        return ptr::null_mut();
    }
    // An allocator can only name an older one as its fallback, so chains end;
    // the bound is for programs that break the rules.
    for _ in 0..64 {
        let Some(allocator) = lookup(handle) else {
            return ptr::null_mut();
        };
        let held = old.filter(|old| old.allocator() == handle);
        let missing = request.bytes.saturating_sub(held.map_or(0, Block::bytes));
        if allocator.reserve(missing) {
            let request = Request {
                alignment: request.alignment.max(allocator.alignment),
                // Memory that all nodes share stays where their heap is.
                pinned: allocator.pinned && !cluster::is_node(),
                ..request
            };
            if let Some(block) = Block::new(request, handle) {
                return block.pointer();
            }
            allocator.release(missing);
        }
        handle = match allocator.fallback {
            Fallback::Null => return ptr::null_mut(),
            Fallback::Abort => out_of_memory(request.bytes),
            Fallback::Default if handle == DEFAULT_ALLOCATOR => return ptr::null_mut(),
            Fallback::Default => DEFAULT_ALLOCATOR,
            Fallback::Allocator(other) => other,
        };
    }
    ptr::null_mut()
}

fn out_of_memory(bytes: usize) -> ! {
    fatal(format_args!("out of memory allocating {bytes} bytes"))
}

/// Gives the block back to the system and its size to its allocator's pool.
fn release(block: Block) {
    let bytes = block.bytes();
    release_part(block, bytes);
}

/// Gives the block back to the system and so many bytes to its allocator's pool.
fn release_part(block: Block, bytes: usize) {
    // Predefined pools have no limit, and an allocator that is gone has no
    // pool: only look at it if it counts.
    let handle = block.allocator();
    if handle >= ENVIRONMENT_ALLOCATOR
        && let Some(allocator) = lookup(handle)
    {
        allocator.release(bytes);
    }
    block.free();
}

/// `omp_allocator_handle_t omp_init_allocator(omp_memspace_handle_t, int, const omp_alloctrait_t[])`
///
/// # Safety
/// `traits` points to `count` traits, or `count` is not positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator(
    memspace: usize,
    count: i32,
    traits: *const Trait,
) -> Handle {
    let traits = match usize::try_from(count) {
        Ok(count) if count > 0 && !traits.is_null() => {
            // SAFETY: promised by the caller.
            unsafe { std::slice::from_raw_parts(traits, count) }
        }
        _ => &[],
    };
    match Allocator::new(memspace, traits.iter().copied()) {
        Some(allocator) => keep(allocator),
        None => NULL_ALLOCATOR,
    }
}

/// Puts an allocator where all nodes of a cluster find it, if there is one.
/// They share what it is; how much of its pool is used is then an estimate.
fn keep(allocator: Allocator) -> Handle {
    let (bytes, align) = (size_of::<Allocator>(), align_of::<Allocator>());
    match cluster::allocate(bytes, align) {
        None => Box::into_raw(Box::new(allocator)).expose_provenance(),
        Some(address) => {
            // SAFETY: fresh memory of the allocator's size and alignment.
            unsafe { ptr::with_exposed_provenance_mut::<Allocator>(address).write(allocator) };
            address
        }
    }
}

/// Fortran: `function omp_init_allocator(memspace, ntraits, traits)`
///
/// # Safety
/// As for [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_(
    memspace: &usize,
    count: &i32,
    traits: *const Trait,
) -> Handle {
    // SAFETY: promised by the caller.
    unsafe { omp_init_allocator(*memspace, *count, traits) }
}

/// Fortran with `-fdefault-integer-8`.
///
/// # Safety
/// As for [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_8_(
    memspace: &usize,
    count: &i64,
    traits: *const Trait,
) -> Handle {
    let count = i32::try_from(*count).unwrap_or(0);
    // SAFETY: promised by the caller.
    unsafe { omp_init_allocator(*memspace, count, traits) }
}

/// `void omp_destroy_allocator(omp_allocator_handle_t)`
///
/// # Safety
/// The handle comes from [`omp_init_allocator`], is not used again, and no
/// memory of it is left; or it is a predefined or the null allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_allocator(handle: Handle) {
    if handle > ENVIRONMENT_ALLOCATOR && lookup(handle).is_some() && !cluster::free(handle) {
        let allocator = ptr::with_exposed_provenance_mut::<Allocator>(handle);
        // SAFETY: by the caller's promise this is the box that
        // `omp_init_allocator` leaked, and nobody else uses it.
        drop(unsafe { Box::from_raw(allocator) });
    }
}

/// Fortran: `subroutine omp_destroy_allocator(allocator)`
///
/// # Safety
/// As for [`omp_destroy_allocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_allocator_(handle: &Handle) {
    // SAFETY: promised by the caller.
    unsafe { omp_destroy_allocator(*handle) }
}

/// `void omp_set_default_allocator(omp_allocator_handle_t)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(handle: Handle) {
    let member = current();
    let mut icvs = member.icvs();
    icvs.default_allocator = if handle == NULL_ALLOCATOR {
        DEFAULT_ALLOCATOR
    } else {
        handle
    };
    member.set_icvs(icvs);
}

/// Fortran: `subroutine omp_set_default_allocator(allocator)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator_(handle: &Handle) {
    omp_set_default_allocator(*handle);
}

/// `omp_allocator_handle_t omp_get_default_allocator(void)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> Handle {
    current().icvs().default_allocator
}

/// Fortran: `function omp_get_default_allocator()`
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator_() -> Handle {
    omp_get_default_allocator()
}

/// `void *omp_alloc(size_t size, omp_allocator_handle_t)`; Fortran's form is
/// the same symbol.
#[unsafe(no_mangle)]
pub extern "C" fn omp_alloc(bytes: usize, handle: Handle) -> *mut c_void {
    omp_aligned_alloc(1, bytes, handle)
}

/// `void *omp_aligned_alloc(size_t alignment, size_t size, omp_allocator_handle_t)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_alloc(alignment: usize, bytes: usize, handle: Handle) -> *mut c_void {
    match Request::new(alignment, bytes, false) {
        Some(request) => allocate(or_default(handle), request),
        None => ptr::null_mut(),
    }
}

/// `void *omp_calloc(size_t nmemb, size_t size, omp_allocator_handle_t)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_calloc(count: usize, bytes: usize, handle: Handle) -> *mut c_void {
    omp_aligned_calloc(1, count, bytes, handle)
}

/// `void *omp_aligned_calloc(size_t alignment, size_t nmemb, size_t size, omp_allocator_handle_t)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_calloc(
    alignment: usize,
    count: usize,
    bytes: usize,
    handle: Handle,
) -> *mut c_void {
    // A product that does not fit cannot be had either; the fallback decides.
    match Request::new(alignment, count.saturating_mul(bytes), true) {
        Some(request) => allocate(or_default(handle), request),
        None => ptr::null_mut(),
    }
}

/// `void *omp_realloc(void *ptr, size_t size, omp_allocator_handle_t allocator,
/// omp_allocator_handle_t free_allocator)`
///
/// # Safety
/// `pointer` is null or came from this family and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_realloc(
    pointer: *mut c_void,
    bytes: usize,
    handle: Handle,
    _free_handle: Handle,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    let Some(old) = (unsafe { Block::from_pointer(pointer) }) else {
        return omp_alloc(bytes, handle);
    };
    if bytes == 0 {
        release(old);
        return ptr::null_mut();
    }
    // The block knows its allocator, so `free_allocator` tells nothing new.
    let handle = if handle == NULL_ALLOCATOR {
        old.allocator()
    } else {
        handle
    };
    let Some(request) = Request::new(1, bytes, false) else {
        return ptr::null_mut();
    };
    let new = allocate_instead(handle, request, Some(&old));
    // SAFETY: it returns null or a live block that nobody else knows.
    if let Some(new) = unsafe { Block::from_pointer(new) } {
        new.copy_from(&old);
        let bytes = match new.allocator() == old.allocator() {
            // The new block has the rest.
            true => old.bytes().saturating_sub(new.bytes()),
            false => old.bytes(),
        };
        release_part(old, bytes);
    }
    new
}

/// `void omp_free(void *ptr, omp_allocator_handle_t)`
///
/// # Safety
/// `pointer` is null or came from this family and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_free(pointer: *mut c_void, _handle: Handle) {
    // SAFETY: promised by the caller.
    if let Some(block) = unsafe { Block::from_pointer(pointer) } {
        release(block);
    }
}

/// `void *GOMP_alloc(size_t alignment, size_t size, uintptr_t allocator)`: the
/// `allocate` clause, which has no way to report failure.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_alloc(alignment: usize, bytes: usize, handle: Handle) -> *mut c_void {
    let pointer = omp_aligned_alloc(alignment, bytes, handle);
    if pointer.is_null() && bytes != 0 {
        out_of_memory(bytes);
    }
    pointer
}

/// `void GOMP_free(void *ptr, uintptr_t allocator)`
///
/// # Safety
/// `pointer` is null or came from this family and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_free(pointer: *mut c_void, handle: Handle) {
    // SAFETY: promised by the caller.
    unsafe { omp_free(pointer, handle) }
}

#[cfg(test)]
mod tests;
