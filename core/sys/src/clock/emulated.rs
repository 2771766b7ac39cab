//! Emulated time: what the clock of a cluster's node would show if the node had
//! processors of its own.
//!
//! Every thread has a clock of its own. While it runs, the clock moves on as the thread
//! uses a processor; whoever knows what the thread has waited for sets it. While it
//! [stands](stand), for the time in which a thread is at work for its node, it goes on by
//! what such [`Work`] is taken to take, however long it takes here.

mod work;

pub use work::Work;

use super::{Source, clock_ns, thread_cpu_ns};
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock::Runs { ahead_ns: 0 }) };
}

/// A thread's clock.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// What it is ahead of the thread's processor time, modulo 2^64.
    Runs { ahead_ns: u64 },
    /// What it shows.
    Stands { now_ns: u64 },
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
    match CLOCK.get() {
        Clock::Runs { ahead_ns } => thread_cpu_ns().wrapping_add(ahead_ns),
        Clock::Stands { now_ns } => now_ns,
    }
}

/// The calling thread's clock shows `now_ns` now. If it runs, returns what it is ahead of
/// the thread's processor time, modulo 2^64.
pub fn set_ns(now_ns: u64) -> Option<u64> {
    match CLOCK.get() {
        Clock::Runs { .. } => Some(run_from(now_ns)),
        Clock::Stands { .. } => {
            CLOCK.set(Clock::Stands { now_ns });
            None
        }
    }
}

/// The calling thread's clock stands from now on. Whether it ran before.
pub fn stand() -> bool {
    let ran = matches!(CLOCK.get(), Clock::Runs { .. });
    CLOCK.set(Clock::Stands { now_ns: now_ns() });
    ran
}

/// The calling thread's clock runs from now on. Returns what it is ahead of the thread's
/// processor time, modulo 2^64.
pub fn run() -> u64 {
    run_from(now_ns())
}

fn run_from(now_ns: u64) -> u64 {
    let ahead_ns = now_ns.wrapping_sub(thread_cpu_ns());
    CLOCK.set(Clock::Runs { ahead_ns });
    ahead_ns
}

/// The calling thread has worked for its node. Nothing unless its clock stands.
#[inline]
pub fn charge(work: Work) {
    if let Clock::Stands { now_ns } = CLOCK.get() {
        let now_ns = now_ns.saturating_add(work.ns());
        CLOCK.set(Clock::Stands { now_ns });
    }
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
        let ahead_ns = set_ns(1 << 40).unwrap();
        let first = now_ns();
        assert!(first >= 1 << 40);
        assert!(set_ns(1 << 41).unwrap() > ahead_ns);
        assert!(now_ns() >= 1 << 41);
        // Another thread's is its own.
        let other = std::thread::spawn(now_ns).join().unwrap();
        assert!(other < 1 << 40);
    }

    #[test]
    fn a_clock_that_stands_goes_on_by_what_is_charged() {
        charge(Work::Trap);
        assert!(set_ns(1 << 40).is_some());
        assert!(stand() && !stand());
        assert_eq!(set_ns(1 << 41), None);
        assert_eq!(now_ns(), 1 << 41);
        charge(Work::Trap);
        assert_eq!(now_ns(), (1 << 41) + Work::Trap.ns());
        run();
        assert!(now_ns() >= (1 << 41) + Work::Trap.ns());
        assert!(stand());
    }

    #[test]
    fn another_thread_reads_the_same_processor_time() {
        let clock = ProcessorClock::of_this_thread().unwrap();
        let before = thread_cpu_ns();
        let read = std::thread::spawn(move || clock.ns()).join().unwrap();
        assert!(before <= read && read <= thread_cpu_ns());
    }
}
