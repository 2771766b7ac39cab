//! Emulated time: what the clock of a cluster's node would show if the node had
//! processors of its own.
//!
//! Every thread has a clock of its own that moves on as the thread uses a
//! processor, and stands still otherwise; whoever knows what the thread has
//! waited for sets it.

use super::{Source, clock_ns, thread_cpu_ns};
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;

thread_local! {
    /// What the thread's clock is ahead of its processor time, modulo 2^64.
    static AHEAD_NS: Cell<u64> = const { Cell::new(0) };
}

/// From now on this process's ticks are nanoseconds of emulated time. To be
/// called before the first reading.
pub fn emulate() {
    super::SOURCE.store(Source::Emulated as u8, Ordering::Relaxed);
}

/// Whether time is emulated.
#[inline]
#[must_use]
pub fn is_emulated() -> bool {
    super::SOURCE.load(Ordering::Relaxed) == Source::Emulated as u8
}

/// The calling thread's clock, in nanoseconds.
#[must_use]
pub fn now_ns() -> u64 {
    thread_cpu_ns().wrapping_add(AHEAD_NS.get())
}

/// The calling thread's clock shows `now_ns` now. Returns what it is ahead of the
/// thread's processor time, modulo 2^64.
pub fn set_ns(now_ns: u64) -> u64 {
    let ahead_ns = now_ns.wrapping_sub(thread_cpu_ns());
    AHEAD_NS.set(ahead_ns);
    ahead_ns
}

/// Nanoseconds of whoever reads clocks for a program: emulated, if time is.
#[must_use]
pub fn program_ns() -> u64 {
    if is_emulated() {
        now_ns()
    } else {
        super::monotonic_ns()
    }
}

/// The processor time of a thread of this process, for other threads of it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorClock(libc::clockid_t);

impl ProcessorClock {
    /// That of the calling thread.
    ///
    /// # Errors
    /// If the system has none.
    pub fn of_this_thread() -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: `clock` is a valid place for the answer during the call.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        match error {
            0 => Ok(Self(clock)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// The time, in nanoseconds; 0 if the thread has ended.
    #[must_use]
    pub fn ns(self) -> u64 {
        clock_ns(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_on_from_where_it_was_set() {
        let ahead_ns = set_ns(1 << 40);
        let first = now_ns();
        assert!(first >= 1 << 40);
        assert!(set_ns(1 << 41) > ahead_ns);
        assert!(now_ns() >= 1 << 41);
        // Another thread's is its own.
        let other = std::thread::spawn(now_ns).join().unwrap();
        assert!(other < 1 << 40);
    }

    #[test]
    fn another_thread_reads_the_same_processor_time() {
        let clock = ProcessorClock::of_this_thread().unwrap();
        let before = thread_cpu_ns();
        let read = std::thread::spawn(move || clock.ns()).join().unwrap();
        assert!(before <= read && read <= thread_cpu_ns());
    }
}
