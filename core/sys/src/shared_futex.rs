//! Sleeping on a 32-bit word until another thread, of this process or of one
//! that shares the memory, wakes us.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Sleeps while `*word == expected`, until somebody wakes a group of `mask` or
/// the moment `until_ns` of `CLOCK_MONOTONIC` comes (none: for ever). May return
/// early for any reason: callers check their condition again.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32, mask: u32, until_ns: Option<u64>) {
    const SECOND_NS: u64 = 1_000_000_000;
    let until = until_ns.map(|until_ns| libc::timespec {
        tv_sec: libc::time_t::try_from(until_ns / SECOND_NS).unwrap_or(libc::time_t::MAX),
        tv_nsec: (until_ns % SECOND_NS) as libc::c_long,
    });
    let timeout = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `word` is a live, aligned 32-bit word for the whole call, which
    // only reads it; `timeout` is null or points to `until`, alive as long.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            expected,
            timeout,
            std::ptr::null::<u32>(),
            mask,
        );
    }
}

/// The low half of a word of 64 bits, to sleep on.
#[must_use]
#[cfg(target_endian = "little")]
pub fn low_half(word: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the first half of a live, aligned word is a live, aligned half word as long as
    // `word` is borrowed; both types allow changes by others.
    unsafe { &*std::ptr::from_ref(word).cast() }
}

/// Wakes at most `count` threads sleeping on `word` with a mask that has a bit
/// in common with `mask`, and says how many.
#[inline]
pub fn wake(word: &AtomicU32, count: u32, mask: u32) -> u32 {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: the kernel uses the address of `word` only to find the page
    // behind it as a key.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET,
            count,
            std::ptr::null::<libc::timespec>(),
            std::ptr::null::<u32>(),
            mask,
        )
    };
    u32::try_from(woken).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_sleep_ends_at_its_moment() {
        let until = monotonic_ns() + 2_000_000;
        let word = AtomicU32::new(5);
        while monotonic_ns() < until {
            wait(&word, 5, 1, Some(until));
        }
    }

    #[test]
    fn another_value_does_not_sleep() {
        wait(&AtomicU32::new(5), 4, 1, None);
    }

    #[test]
    fn a_wake_reaches_the_group_that_is_meant() {
        let word = Arc::new(AtomicU32::new(0));
        let sleeper = {
            let word = Arc::clone(&word);
            std::thread::spawn(move || {
                while word.load(Ordering::SeqCst) == 0 {
                    wait(&word, 0, 2, None);
                }
            })
        };
        wake(&word, u32::MAX, 1);
        word.store(1, Ordering::SeqCst);
        wake(&word, u32::MAX, 2);
        sleeper.join().unwrap();
    }
}
