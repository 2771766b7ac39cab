//! What the kernel and the processor count about the calling thread.

use crate::descriptor::move_up;
use crate::perf::attributes::{Attributes, EventScope, flag, format, kind, open_event};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Operating-system events of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Context switches because the thread waited.
    pub voluntary_switches: u64,
    /// Context switches because the thread was preempted.
    pub involuntary_switches: u64,
    /// Time on a processor; the kernel brings it up to date with every switch and
    /// every tick of its own, some milliseconds apart.
    pub processor_ns: u64,
    /// Blocks of 512 bytes read for the thread from a disk or swap.
    pub blocks_in: u64,
    /// Blocks of 512 bytes that the thread made dirty.
    pub blocks_out: u64,
}

impl From<&libc::rusage> for Usage {
    #[inline]
    fn from(usage: &libc::rusage) -> Self {
        Self {
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            processor_ns: [usage.ru_utime, usage.ru_stime]
                .iter()
                .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000)
                .sum(),
            blocks_in: usage.ru_inblock as u64,
            blocks_out: usage.ru_oublock as u64,
        }
    }
}

/// Events of the calling thread. One system call.
#[must_use]
pub fn thread_usage() -> Usage {
    UsageReader::default().read()
}

/// Reads the calling thread's events again and again into memory of its own, for code whose
/// stack may be memory that the kernel cannot write to.
#[derive(Debug)]
pub struct UsageReader(libc::rusage);

impl Default for UsageReader {
    fn default() -> Self {
        // SAFETY: all-zero bytes are a valid rusage.
        Self(unsafe { std::mem::zeroed() })
    }
}

impl UsageReader {
    /// Events of the calling thread. One system call, made past the C library's function of
    /// that name, in front of which others may stand; `errno` stays as it was.
    #[inline]
    #[must_use]
    pub fn read(&mut self) -> Usage {
        let buffer = &raw mut self.0;
        // SAFETY: the buffer is writable for the call. RUSAGE_THREAD cannot fail with a valid
        // pointer; if it did, the last reading stays.
        unsafe { libc::syscall(libc::SYS_getrusage, libc::RUSAGE_THREAD, buffer) };
        Usage::from(&self.0)
    }
}

/// What the kernel's scheduler says about one thread: how long it was ready to
/// run without a processor.
#[derive(Debug)]
pub struct RunQueue(OwnedFd);

impl RunQueue {
    /// Of the calling thread.
    ///
    /// # Errors
    /// If `/proc` is not there or shows other things than it should.
    pub fn open() -> io::Result<Self> {
        let path = c"/proc/thread-self/schedstat";
        // SAFETY: the path is a string with an end; no memory is written.
        let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let queue = Self(move_up(unsafe { OwnedFd::from_raw_fd(descriptor) }));
        match queue.delay_ns() {
            Some(_) => Ok(queue),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Nanoseconds that the thread, since it began, was ready to run without a
    /// processor. `None` if that can no longer be read. One system call.
    #[must_use]
    pub fn delay_ns(&self) -> Option<u64> {
        let mut text = [0_u8; 64];
        // SAFETY: the buffer is writable and of the length given.
        let got =
            unsafe { libc::pread(self.0.as_raw_fd(), text.as_mut_ptr().cast(), text.len(), 0) };
        let got = usize::try_from(got).ok()?;
        let text = std::str::from_utf8(text.get(..got)?).ok()?;
        // Time on a processor, time waiting for one, number of turns.
        let mut fields = text.split_ascii_whitespace();
        let (_, delay, turns) = (fields.next()?, fields.next()?, fields.next()?);
        turns.parse::<u64>().ok()?;
        delay.parse().ok()
    }
}

/// The number by which the kernel knows the calling thread.
#[must_use]
pub fn os_thread_id() -> u32 {
    // SAFETY: no arguments, no effects, cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// What the processor counted in user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// CPU cycles.
    pub cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
}

/// The processor's counters of the thread that opened them.
#[derive(Debug)]
pub struct HardwareCounters {
    cycles: OwnedFd,
    _instructions: OwnedFd,
}

const CPU_CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;

impl HardwareCounters {
    /// Begins to count for the calling thread.
    ///
    /// # Errors
    /// If the kernel does not permit it or the machine has no such counters
    /// (usual in virtual machines).
    pub fn open() -> io::Result<Self> {
        let cycles = open_counter(CPU_CYCLES, None)?;
        let instructions = open_counter(INSTRUCTIONS, Some(&cycles))?;
        let counters = Self {
            cycles,
            _instructions: instructions,
        };
        match counters.read() {
            Some(_) => Ok(counters),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Counts since [`open`](Self::open), extrapolated if the kernel had to
    /// share the counters among several users. `None` if they never ran or can
    /// no longer be read. One system call.
    #[must_use]
    pub fn read(&self) -> Option<Hardware> {
        // Number of events, time enabled, time running, then the values.
        let mut group = [0_u64; 5];
        // SAFETY: the buffer is writable and of the length given.
        let got = unsafe {
            libc::read(
                self.cycles.as_raw_fd(),
                group.as_mut_ptr().cast(),
                size_of_val(&group),
            )
        };
        let [events, enabled, running, cycles, instructions] = group;
        if usize::try_from(got) != Ok(size_of_val(&group)) || events != 2 || running == 0 {
            return None;
        }
        let scale = |count: u64| {
            if enabled <= running {
                count
            } else {
                (count as f64 * (enabled as f64 / running as f64)) as u64
            }
        };
        Some(Hardware {
            cycles: scale(cycles),
            instructions: scale(instructions),
        })
    }
}

fn open_counter(config: u64, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: kind::HARDWARE,
        size: Attributes::FIRST_SIZE,
        config,
        read_format: format::GROUP | format::TIME_ENABLED | format::TIME_RUNNING,
        flags: flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    open_event(&attributes, EventScope::MINE, leader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_new_memory_is_seen() {
        let before = thread_usage();
        let mut pages = vec![0_u8; 4 << 20];
        for page in pages.chunks_mut(4096) {
            page[0] = 1;
        }
        std::hint::black_box(&pages);
        assert!(thread_usage().minor_faults > before.minor_faults);
    }

    #[test]
    fn a_thread_that_shares_its_processor_waits_for_it() {
        let allowed = crate::affinity::of_this_thread().unwrap();
        let one: crate::affinity::CpuSet = allowed.iter().take(1).collect();
        let burn = || {
            crate::affinity::bind_this_thread(&one).unwrap();
            let queue = RunQueue::open()?;
            let begin = crate::clock::thread_cpu_ns();
            while crate::clock::thread_cpu_ns() - begin < 50_000_000 {
                std::hint::black_box((0..1000_u64).fold(0, u64::wrapping_add));
            }
            io::Result::Ok(queue.delay_ns())
        };
        let delays = std::thread::scope(|scope| {
            let threads = [scope.spawn(burn), scope.spawn(burn)];
            threads.map(|thread| thread.join().unwrap())
        });
        // Of 100 ms on one processor, somebody waits for the better part of 50.
        match delays {
            [Ok(a), Ok(b)] => assert!(a.unwrap() + b.unwrap() > 20_000_000, "{a:?} {b:?}"),
            [a, _] => assert!(!a.unwrap_err().to_string().is_empty()),
        }
    }

    #[test]
    fn threads_have_numbers_of_their_own() {
        let here = os_thread_id();
        let there = std::thread::spawn(os_thread_id).join().unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn hardware_counters_advance_or_say_why_not() {
        match HardwareCounters::open() {
            Ok(counters) => {
                let before = counters.read().unwrap();
                std::hint::black_box((0..100_000_u64).fold(0, u64::wrapping_add));
                let after = counters.read().unwrap();
                assert!(after.instructions > before.instructions);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
