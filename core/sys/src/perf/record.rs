//! What the kernel writes into a ring of events.

use super::attributes::sample;
use std::ops::Range;

/// A page fault of a program in user mode, about to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When: nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Its process.
    pub process: u32,
    /// Its thread.
    pub thread: u32,
    /// What was accessed.
    pub address: u64,
    /// Where the access is in the program.
    pub instruction: u64,
    /// The thread's stack pointer; 0 if the kernel did not tell.
    pub stack: u64,
    /// Whether a page was there, so that the access was refused for its protection:
    /// mostly a copy on write. `None` if the kernel does not tell (before Linux 5.11).
    pub present: Option<bool>,
}

/// A mapping that came to be, grew or changed its protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map<'a> {
    /// When: nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Its process.
    pub process: u32,
    /// First address.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// `PROT_*` bits.
    pub protection: u32,
    /// `MAP_*` bits, of which the kernel reports sharing and huge pages.
    pub flags: u32,
    /// Path of its file; `[heap]`, `[stack]`, `//anon` and the like if it has none.
    pub name: &'a [u8],
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A page fault.
    Fault(Fault),
    /// The last fault of that thread at that address waited for I/O.
    Major {
        /// Its process.
        process: u32,
        /// Its thread.
        thread: u32,
        /// What was accessed.
        address: u64,
        /// When it was served: nanoseconds of `CLOCK_MONOTONIC`.
        at: u64,
    },
    /// A mapping.
    Map(Map<'a>),
    /// A process became a program, or a thread took a name.
    Name {
        /// When.
        at: u64,
        /// Its process.
        process: u32,
        /// Its thread.
        thread: u32,
        /// Whether by becoming a program: then its mappings are gone.
        exec: bool,
        /// At most 15 bytes.
        name: &'a [u8],
    },
    /// A process or a thread began.
    Fork {
        /// When.
        at: u64,
        /// Its process.
        process: u32,
        /// The process that it comes from, its own if it is a thread.
        parent: u32,
        /// Its thread.
        thread: u32,
    },
    /// Events that found no room.
    Lost(u64),
}

/// How the events that fill a ring are told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// Identifiers of the events that only tell that a fault was major.
    pub(super) major: Vec<u64>,
    /// Whether faults tell the size of the page that was there.
    pub(super) page_size: bool,
}

/// What every sample of ours holds.
pub(super) const SAMPLE: u64 = sample::IDENTIFIER
    | sample::INSTRUCTION
    | sample::THREAD
    | sample::TIME
    | sample::ADDRESS
    | sample::USER_REGISTERS;

/// Types of records.
mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const NAME: u32 = 3;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const MAP: u32 = 10;
    pub(super) const LOST_SAMPLES: u32 = 13;
}

/// `PERF_RECORD_MISC_COMM_EXEC`.
const EXEC: u16 = 1 << 13;
/// Bytes behind every record that is no sample: thread, time, identifier.
const TRAILER: usize = 24;
/// Bytes of a record's header.
pub(super) const HEADER: usize = 8;

/// The record that `bytes` hold, header included; `None` if it is of no interest, or not
/// what it should be.
pub(super) fn parse<'a>(bytes: &'a [u8], shape: &Shape) -> Option<Record<'a>> {
    let kind = u32_at(bytes, 0)?;
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER..)?;
    match kind {
        kind::SAMPLE => fault(body, shape),
        kind::MAP => map(body),
        kind::NAME => Some(Record::Name {
            at: time(body)?,
            process: u32_at(body, 0)?,
            thread: u32_at(body, 4)?,
            exec: misc & EXEC != 0,
            name: text(body, 8..body.len().checked_sub(TRAILER)?)?,
        }),
        kind::FORK => Some(Record::Fork {
            at: u64_at(body, 16)?,
            process: u32_at(body, 0)?,
            parent: u32_at(body, 4)?,
            thread: u32_at(body, 8)?,
        }),
        kind::LOST => u64_at(body, 8).map(Record::Lost),
        kind::LOST_SAMPLES => u64_at(body, 0).map(Record::Lost),
        _ => None,
    }
}

/// The record that bytes are, for the fuzz harness (`fuzz/`): those with this identifier
/// tell of major faults.
#[doc(hidden)]
#[must_use]
pub fn read_foreign(bytes: &[u8], major: u64, page_size: bool) -> Option<Record<'_>> {
    let shape = Shape {
        major: vec![major],
        page_size,
    };
    parse(bytes, &shape)
}

fn fault(body: &[u8], shape: &Shape) -> Option<Record<'static>> {
    let identifier = u64_at(body, 0)?;
    let (thread, at, address) = (u32_at(body, 20)?, u64_at(body, 24)?, u64_at(body, 32)?);
    if shape.major.contains(&identifier) {
        return Some(Record::Major {
            process: u32_at(body, 16)?,
            thread,
            address,
            at,
        });
    }
    // Without registers the stack pointer is left out.
    let registers = u64_at(body, 40)? != 0;
    let after = if registers { 56 } else { 48 };
    let present = match shape.page_size {
        true => Some(u64_at(body, after)? != 0),
        false => None,
    };
    Some(Record::Fault(Fault {
        at,
        process: u32_at(body, 16)?,
        thread,
        address,
        instruction: u64_at(body, 8)?,
        stack: if registers { u64_at(body, 48)? } else { 0 },
        present,
    }))
}

fn map(body: &[u8]) -> Option<Record<'_>> {
    Some(Record::Map(Map {
        at: time(body)?,
        process: u32_at(body, 0)?,
        start: u64_at(body, 8)?,
        length: u64_at(body, 16)?,
        offset: u64_at(body, 24)?,
        protection: u32_at(body, 56)?,
        flags: u32_at(body, 60)?,
        name: text(body, 64..body.len().checked_sub(TRAILER)?)?,
    }))
}

/// The time in the trailer.
fn time(body: &[u8]) -> Option<u64> {
    u64_at(body, body.len().checked_sub(TRAILER)?.checked_add(8)?)
}

/// Text up to its null.
fn text(body: &[u8], range: Range<usize>) -> Option<&[u8]> {
    body.get(range)?.split(|byte| *byte == 0).next()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_cut_anywhere_are_no_records() {
        let shape = Shape {
            major: vec![7],
            page_size: true,
        };
        for kind in 0..20_u32 {
            let mut bytes = kind.to_ne_bytes().to_vec();
            bytes.resize(120, 1);
            for length in 0..bytes.len() {
                // Whatever comes out, nothing breaks.
                let _ = parse(&bytes[..length], &shape);
            }
        }
        assert_eq!(parse(&[], &shape), None);
    }

    #[test]
    fn a_fault_without_registers_has_no_stack() {
        let mut bytes = kind::SAMPLE.to_ne_bytes().to_vec();
        bytes.extend([0; 4]);
        for word in [1_u64, 0x10, 5 | (6 << 32), 99, 0x2000, 0, 4096] {
            bytes.extend(word.to_ne_bytes());
        }
        let mut shape = Shape {
            major: vec![7],
            page_size: true,
        };
        let fault = Fault {
            at: 99,
            process: 5,
            thread: 6,
            address: 0x2000,
            instruction: 0x10,
            stack: 0,
            present: Some(true),
        };
        assert_eq!(parse(&bytes, &shape), Some(Record::Fault(fault)));
        shape.major = vec![1];
        assert_eq!(
            parse(&bytes, &shape),
            Some(Record::Major {
                process: 5,
                thread: 6,
                address: 0x2000,
                at: 99
            })
        );
    }
}
