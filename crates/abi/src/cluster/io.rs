//! Calls that make the kernel read or write the program's memory. The kernel
//! does not wait for pages to come from other nodes, it fails; so they are made
//! accessible first.

use super::next::Next;
use fathomp_node::start;
use fathomp_omp::cluster::Cluster as _;
use std::ffi::{c_char, c_int, c_void};

/// The kernel will write there.
fn fill(buffer: *const c_void, bytes: usize) {
    if let Some(node) = start::node() {
        node.touch(buffer.addr(), bytes, true);
    }
}

/// The kernel will read there.
fn drain(buffer: *const c_void, bytes: usize) {
    if let Some(node) = start::node() {
        node.touch(buffer.addr(), bytes, false);
    }
}

/// Ends a program that reads its standard input on another node than 0: what one
/// node reads ahead would be missing on the others.
pub(super) extern "C" fn refuse_input(_: *mut c_void, _: *mut c_char, _: usize) -> isize {
    if let Some(node) = start::node() {
        node.fail(
            "the program reads its standard input here, and node 0 has it: \
             let the primary thread read it (masked, not single), or read a file",
        );
    }
    -1
}

/// A file will be read, which may be the standard input.
fn check_input(file: c_int) {
    if file == libc::STDIN_FILENO && start::node().is_some_and(|node| node.me().0 != 0) {
        refuse_input(std::ptr::null_mut(), std::ptr::null_mut(), 0);
    }
}

/// Defines functions that prepare memory and go on in the C library's function
/// `$real` with the same arguments.
macro_rules! before {
    ($($name:ident => $real:literal($($argument:ident: $type:ty),*) -> $result:ty, $failed:expr, $prepare:expr;)+) => {$(
        #[doc = concat!("As `", $real, "`.")]
        ///
        /// # Safety
        /// As of the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static NEXT: Next = Next::new(
                match std::ffi::CStr::from_bytes_with_nul(concat!($real, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
            );
            let next = NEXT.address();
            if next.is_null() {
                return $failed;
            }
            $prepare;
            // SAFETY: the C library's function of this name has this type.
            let next = unsafe {
                std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn($($type),*) -> $result,
                >(next)
            };
            // SAFETY: promised by our caller.
            unsafe { next($($argument),*) }
        }
    )+};
}

/// What `readv` and its relatives use.
unsafe fn each(vectors: *const libc::iovec, count: c_int, prepare: fn(*const c_void, usize)) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller passes so many vectors.
        let vector = unsafe { &*vectors.add(index) };
        prepare(vector.iov_base, vector.iov_len);
    }
}

before! {
    fathomp_read => "read"(file: c_int, buffer: *mut c_void, bytes: usize) -> isize, -1,
        { check_input(file); fill(buffer, bytes) };
    fathomp_pread => "pread"(file: c_int, buffer: *mut c_void, bytes: usize, at: i64) -> isize, -1,
        fill(buffer, bytes);
    fathomp_write => "write"(file: c_int, buffer: *const c_void, bytes: usize) -> isize, -1,
        drain(buffer, bytes);
    fathomp_pwrite => "pwrite"(file: c_int, buffer: *const c_void, bytes: usize, at: i64) -> isize, -1,
        drain(buffer, bytes);
    fathomp_readv => "readv"(file: c_int, vectors: *const libc::iovec, count: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { each(vectors, count, fill) };
    fathomp_writev => "writev"(file: c_int, vectors: *const libc::iovec, count: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { each(vectors, count, drain) };
    fathomp_recv => "recv"(socket: c_int, buffer: *mut c_void, bytes: usize, flags: c_int) -> isize, -1,
        fill(buffer, bytes);
    fathomp_send => "send"(socket: c_int, buffer: *const c_void, bytes: usize, flags: c_int) -> isize, -1,
        drain(buffer, bytes);
    fathomp_fread => "fread"(buffer: *mut c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize, 0,
        fill(buffer, size.saturating_mul(count));
    fathomp_fwrite => "fwrite"(buffer: *const c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize, 0,
        drain(buffer, size.saturating_mul(count));
}

/// As `sched_yield`. Whoever calls it often waits for a variable to change.
#[unsafe(no_mangle)]
pub extern "C" fn fathomp_sched_yield() -> c_int {
    if let Some(node) = start::node() {
        fathomp_omp::cluster::tell(false);
        node.yielding();
    }
    fathomp_sys::process::yield_now();
    0
}
