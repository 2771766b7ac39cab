//! What is done before the kernel reads or writes the program's memory. It does not wait
//! for pages to come from other nodes, it fails; so they are made accessible first.
//!
//! They may be taken back before the kernel comes to them: another thread of this node may
//! have given back a lock meanwhile. Then the call has done nothing and is made again.

use fathomp_node::start;
use std::ffi::{c_char, c_int, c_void};

/// How often a call is made whose memory is taken back under its hands.
pub(super) const AGAIN: u32 = 100;

/// The kernel will write there.
pub(super) fn fill(buffer: *const c_void, bytes: usize) {
    if let Some(node) = start::node() {
        node.touch(buffer.addr(), bytes, true);
    }
}

/// The kernel will read there.
pub(super) fn drain(buffer: *const c_void, bytes: usize) {
    if let Some(node) = start::node() {
        node.touch(buffer.addr(), bytes, false);
    }
}

/// The kernel will write one of these.
pub(super) fn fill_one<T>(place: *const T) {
    fill(place.cast(), size_of::<T>());
}

/// The kernel will read one of these.
pub(super) fn drain_one<T>(place: *const T) {
    drain(place.cast(), size_of::<T>());
}

/// The kernel will read a file's name.
///
/// # Safety
/// As of C's functions that are given one; addresses that make no sense are the kernel's
/// to refuse, as far as nodes do not share what lies there.
pub(super) unsafe fn name(text: *const c_char) {
    if let Some(node) = start::node().filter(|node| node.is_shared(text.addr())) {
        // SAFETY: a string, promised by our caller.
        let length = unsafe { libc::strlen(text) };
        node.touch(text.addr(), length + 1, false);
    }
}

/// What `readv` and its relatives use.
///
/// # Safety
/// There are so many vectors.
pub(super) unsafe fn each(
    vectors: *const libc::iovec,
    count: c_int,
    prepare: fn(*const c_void, usize),
) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: promised by our caller.
        let vector = unsafe { &*vectors.add(index) };
        prepare(vector.iov_base, vector.iov_len);
    }
}

/// What `recvmsg` and `sendmsg` use.
///
/// # Safety
/// Null or a message.
pub(super) unsafe fn message(message: *const libc::msghdr, prepare: fn(*const c_void, usize)) {
    fill_one(message);
    // SAFETY: promised by our caller.
    let Some(parts) = (unsafe { message.as_ref() }) else {
        return;
    };
    prepare(parts.msg_name, parts.msg_namelen as usize);
    prepare(parts.msg_control, parts.msg_controllen);
    drain(
        parts.msg_iov.cast(),
        parts.msg_iovlen.saturating_mul(size_of::<libc::iovec>()),
    );
    let count = c_int::try_from(parts.msg_iovlen).unwrap_or(c_int::MAX);
    // SAFETY: a message has so many vectors.
    unsafe { each(parts.msg_iov, count, prepare) };
}

/// Whether a call has failed because memory that nodes share could not be accessed.
pub(super) fn was_taken_back(failed: bool) -> bool {
    // SAFETY: the thread's errno.
    failed && start::node().is_some() && unsafe { *libc::__errno_location() } == libc::EFAULT
}

/// Defines functions that prepare memory and go on in the C library's function `$real` with
/// the same arguments.
macro_rules! before {
    ($($name:ident => $real:literal($($argument:ident: $type:ty),*) -> $result:ty, $failed:expr, $prepare:expr;)+) => {$(
        #[doc = concat!("As `", $real, "`.")]
        ///
        /// # Safety
        /// As of the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            type Real = unsafe extern "C" fn($($type),*) -> $result;
            static NEXT: fathomp_sys::dlsym_next::Next = fathomp_sys::dlsym_next::Next::new(
                fathomp_sys::dlsym_next::c_string(concat!($real, "\0")),
            );
            let failed: $result = $failed;
            // SAFETY: the C library's function of this name has this type.
            let Some(next) = (unsafe { NEXT.function::<Real>() }) else {
                return failed;
            };
            let mut result = failed;
            for _ in 0..$crate::before::AGAIN {
                $prepare;
                // SAFETY: promised by our caller.
                result = unsafe { next($($argument),*) };
                if !$crate::before::was_taken_back(result == failed) {
                    break;
                }
            }
            result
        }
    )+};
}

pub(super) use before;
