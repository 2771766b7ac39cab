//! Sleeping on a 32-bit word until another thread wakes us.

use std::sync::atomic::AtomicU32;

/// Sleeps while `*word == expected`. May return early for any reason: callers
/// check their condition again.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32) {
    // SAFETY: `word` is a live, aligned 32-bit word for the whole call; the
    // kernel only reads it. A null timeout means none.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes at most `count` threads sleeping on `word`.
#[inline]
pub fn wake(word: &AtomicU32, count: u32) {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: the kernel uses the address of `word` only as a key.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        );
    }
}

/// Wakes all threads sleeping on `word`.
#[inline]
pub fn wake_all(word: &AtomicU32) {
    wake(word, u32::MAX);
}
