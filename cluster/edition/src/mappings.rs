//! Calls that change what lies at an address. On memory that the nodes share they
//! would have to happen on all of them at the same time, and what lies there is
//! moved, protected and dropped by the sharing itself: refused with a sentence.

use super::caller::with_caller;
use fathomp_node::{heap, start};
use fathomp_omp::cluster::Cluster as _;
use std::ffi::{CStr, c_int, c_void};

with_caller! {
    /// `int mprotect(void *, size_t, int)`
    fathomp_mprotect => mprotect, "rcx";
    /// `int munmap(void *, size_t)`
    fathomp_munmap => munmap, "rdx";
    /// `int madvise(void *, size_t, int)`
    fathomp_madvise => madvise, "rcx";
    /// `void *mremap(void *, size_t, size_t, int, ... /* void * */)`
    fathomp_mremap => mremap, "r9";
}

/// Ends a program that is about to do `what` to memory that the nodes share.
fn check(what: &CStr, address: *const c_void, bytes: usize) {
    let (first, length) = (address.addr(), bytes.saturating_sub(1));
    let Some(node) = start::node() else {
        return;
    };
    if node.is_shared(first) || node.is_shared(first.saturating_add(length)) {
        node.fail(&format!(
            "the program calls {} on memory that nodes share, which nodes cannot do: \
             let it do so with memory of mmap, or run it on one node",
            what.to_string_lossy()
        ));
    }
}

/// As `mmap` and `mmap64`, which are the same on 64 bits. Elsewhere than at a fixed address
/// the kernel puts nothing over what is there; sharing itself does so before there are nodes.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_mmap(
    address: *mut c_void,
    bytes: usize,
    kind: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    if flags & libc::MAP_FIXED != 0 {
        check(c"mmap(MAP_FIXED)", address, bytes);
    }
    // Not by the C library's function: to look for that may allocate, which maps memory.
    // SAFETY: promised by our caller; the C library's function does nothing else.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, address, bytes, kind, flags, file, offset) };
    std::ptr::with_exposed_provenance_mut(mapped.cast_unsigned() as usize)
}

/// Defines functions that look at the address and go on in the C library's
/// function of the same name.
macro_rules! checked {
    ($($name:ident, $real:literal($first:ident, $bytes:ident $(, $argument:ident: $type:ty)*) -> $result:ty, $failed:expr, if $when:expr;)+) => {$(
        extern "C" fn $name($first: *mut c_void, $bytes: usize $(, $argument: $type)*, caller: usize) -> $result {
            type Real = unsafe extern "C" fn(*mut c_void, usize $(, $type)*) -> $result;
            // Sharing itself may.
            if $when && !heap::is_private(caller) {
                check($real, $first, $bytes);
            }
            let Some(next) = real!($real as Real) else {
                return $failed;
            };
            // SAFETY: promised by our caller.
            unsafe { next($first, $bytes $(, $argument)*) }
        }
    )+};
}

/// Advice after which there is something else in memory.
fn drops(advice: c_int) -> bool {
    [libc::MADV_DONTNEED, libc::MADV_FREE, libc::MADV_REMOVE].contains(&advice)
}

checked! {
    mprotect, c"mprotect"(address, bytes, kind: c_int) -> c_int, -1, if true;
    munmap, c"munmap"(address, bytes) -> c_int, -1, if true;
    madvise, c"madvise"(address, bytes, advice: c_int) -> c_int, -1, if drops(advice);
    // On this processor an argument after the dots is passed as any other.
    mremap, c"mremap"(address, bytes, new_bytes: usize, flags: c_int, new_address: *mut c_void)
        -> *mut c_void, libc::MAP_FAILED, if true;
}
