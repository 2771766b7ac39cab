//! Every page fault of a program, its threads and its children.
//!
//! Events that children inherit cannot share one ring unless they are bound to a
//! processor, so there is one per processor.

use super::PerfError;
use super::attributes::{Attributes, EventScope, flag, kind, open_event, sample, software};
use super::record::{Record, SAMPLE, Shape, parse};
use super::ring::Ring;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// Sizes of rings that are tried, in bytes. Users without privileges may usually lock 516
/// KiB for each processor.
const RING_BYTES: [usize; 4] = [8 << 20, 2 << 20, 512 << 10, 64 << 10];
/// Number of the stack pointer among the registers of a sample.
const STACK_POINTER: u64 = 7;

/// Rings that the kernel fills with the page faults of a program.
#[derive(Debug)]
pub struct FaultRings {
    rings: Vec<Ring>,
    /// Of each processor: faults, and which of them were major. They must stay open.
    events: Vec<(OwnedFd, OwnedFd)>,
    shape: Shape,
    buffer: Vec<u8>,
}

impl FaultRings {
    /// Prepares for the process `process` that is about to become a program: from then on,
    /// faults of it and of everything that it starts are reported.
    ///
    /// # Errors
    /// If the kernel does not permit it.
    pub fn open(process: u32) -> Result<Self, PerfError> {
        let thread = libc::pid_t::try_from(process)
            .ok()
            .filter(|thread| *thread > 0)
            .ok_or(PerfError::Ended)?;
        let mut refused = None;
        for bytes in RING_BYTES {
            match Self::open_with(thread, bytes) {
                Err(PerfError::Memory(error)) => refused = Some(error),
                other => return other,
            }
        }
        Err(PerfError::Memory(
            refused.unwrap_or_else(|| io::ErrorKind::OutOfMemory.into()),
        ))
    }

    fn open_with(thread: libc::pid_t, bytes: usize) -> Result<Self, PerfError> {
        let mut rings = Self {
            rings: Vec::new(),
            events: Vec::new(),
            shape: Shape {
                major: Vec::new(),
                page_size: true,
            },
            buffer: Vec::new(),
        };
        for processor in online()? {
            let whose = EventScope { thread, processor };
            rings.add(whose, bytes)?;
        }
        Ok(rings)
    }

    /// Opens the events of one processor.
    fn add(&mut self, whose: EventScope, bytes: usize) -> Result<(), PerfError> {
        let mut opened = self.open_pair(whose, bytes);
        if self.shape.page_size
            && self.events.is_empty()
            && matches!(&opened, Err(error) if error.raw_os_error() == Some(libc::EINVAL))
        {
            // Before Linux 5.11.
            self.shape.page_size = false;
            opened = self.open_pair(whose, bytes);
        }
        let (faults, majors) = match opened {
            // A processor that was switched off since.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()),
            other => other.map_err(PerfError::of_open)?,
        };
        let ring =
            Ring::map(faults.as_fd(), bytes).map_err(|error| match error.raw_os_error() {
                Some(libc::EPERM | libc::ENOMEM | libc::EAGAIN) => PerfError::Memory(error),
                _ => PerfError::Other(error),
            })?;
        share_ring(&majors, &faults)?;
        self.shape.major.push(identifier(&majors)?);
        self.rings.push(ring);
        self.events.push((faults, majors));
        Ok(())
    }

    fn open_pair(&self, whose: EventScope, bytes: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let page_size = match self.shape.page_size {
            true => sample::PAGE_SIZE,
            false => 0,
        };
        let common = Attributes {
            kind: kind::SOFTWARE,
            size: Attributes::SIZE,
            sample_period: 1,
            sample_type: SAMPLE | page_size,
            user_registers: 1 << STACK_POINTER,
            clock: libc::CLOCK_MONOTONIC,
            // A quarter full is time to read.
            wakeup: u32::try_from(bytes / 4).unwrap_or(u32::MAX),
            flags: flag::DISABLED
                | flag::INHERIT
                | flag::ENABLE_ON_EXEC
                | flag::EXCLUDE_KERNEL
                | flag::EXCLUDE_HYPERVISOR
                | flag::IDENTIFY_ALL
                | flag::OWN_CLOCK
                | flag::WATERMARK,
            ..Attributes::default()
        };
        let faults = Attributes {
            config: software::PAGE_FAULTS,
            flags: common.flags
                | flag::MAPS
                | flag::DATA_MAPS
                | flag::MAPS_IN_DETAIL
                | flag::NAMES
                | flag::NAMES_OF_EXEC
                | flag::TASKS,
            ..common
        };
        let majors = Attributes {
            config: software::MAJOR_FAULTS,
            ..common
        };
        Ok((
            open_event(&faults, whose, None)?,
            open_event(&majors, whose, None)?,
        ))
    }

    /// Whether faults tell if a page was there.
    #[must_use]
    pub fn knows_presence(&self) -> bool {
        self.shape.page_size
    }

    /// Waits until a ring has filled by a quarter, or for so long.
    ///
    /// # Errors
    /// If the kernel cannot wait.
    pub fn wait(&self, limit: Duration) -> io::Result<()> {
        let mut queries: Vec<_> = self
            .events
            .iter()
            .map(|(faults, _)| libc::pollfd {
                fd: faults.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
        let count = queries.len() as libc::nfds_t;
        // SAFETY: `queries` are that many writable pollfds.
        let ready = unsafe { libc::poll(queries.as_mut_ptr(), count, limit) };
        match ready {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            },
            _ => {
                if queries
                    .iter()
                    .any(|query| query.revents & libc::POLLHUP != 0)
                {
                    // All that was watched has ended; poll does not wait any more.
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            }
        }
    }

    /// Hands out what there is. Events of one processor come in order, those of several
    /// one processor after the other.
    pub fn drain(&mut self, mut take: impl FnMut(Record<'_>)) {
        for ring in &mut self.rings {
            ring.drain(&mut self.buffer, |bytes| {
                if let Some(record) = parse(bytes, &self.shape) {
                    take(record);
                }
            });
        }
    }
}

/// Numbers of the processors that are switched on.
fn online() -> Result<Vec<libc::c_int>, PerfError> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let mut processors = Vec::new();
    for part in text.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (from.parse::<libc::c_int>(), to.parse::<libc::c_int>()) else {
            continue;
        };
        processors.extend(from..=to.min(from.saturating_add(1 << 16)));
    }
    match processors.is_empty() {
        true => Err(PerfError::Unknown),
        false => Ok(processors),
    }
}

/// Lets an event write into the ring of another.
fn share_ring(event: &OwnedFd, owner: &OwnedFd) -> io::Result<()> {
    const SET_OUTPUT: libc::c_ulong = 0x2405;
    // SAFETY: takes two descriptors of events.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, owner.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number that samples of an event carry.
fn identifier(event: &OwnedFd) -> io::Result<u64> {
    const GET_ID: libc::c_ulong = 0x8008_2407;
    let mut identifier = 0_u64;
    // SAFETY: the kernel writes one 64-bit number there.
    match unsafe { libc::ioctl(event.as_raw_fd(), GET_ID, &raw mut identifier) } {
        0 => Ok(identifier),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn faults_of_a_program_and_its_children_are_told() {
        let mut rings = None;
        let mut command = Command::new("sh");
        command.args(["-c", "cat /dev/null; cat /dev/null"]);
        let mut child = crate::spawn_stopped::spawn(&mut command, |pid| {
            rings = Some(FaultRings::open(pid));
            true
        })
        .unwrap();
        child.wait().unwrap();
        let mut rings = match rings.unwrap() {
            Ok(rings) => rings,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        };
        rings.wait(Duration::from_millis(1)).unwrap();
        let (mut programs, mut forks, mut faults, mut loader) = (Vec::new(), 0, 0, false);
        let mut lost = 0;
        let mut wrong = 0;
        let now = crate::clock::monotonic_ns();
        rings.drain(|record| match record {
            Record::Name {
                exec: true, name, ..
            } => programs.push(String::from_utf8_lossy(name).into_owned()),
            Record::Fork { .. } => forks += 1,
            Record::Fault(fault) => {
                faults += 1;
                let early = now
                    .checked_sub(fault.at)
                    .is_none_or(|ago| ago > 10_000_000_000);
                wrong += u32::from(early || fault.stack == 0 || fault.instruction == 0);
            }
            Record::Map(map) => loader |= map.name.ends_with(b"so.2") && map.length > 0,
            Record::Lost(count) => lost += count,
            Record::Major { .. } | Record::Name { exec: false, .. } => {}
        });
        programs.sort();
        assert_eq!(programs, ["cat", "cat", "sh"]);
        assert!(forks >= 2 && faults > 100 && loader, "{forks} {faults}");
        assert_eq!((lost, wrong), (0, 0));
    }
}
