//! What a node notes of its one thread's accesses, as a file: a header, then
//! records. Numbers are unsigned LEB128, so that a file that was cut off anywhere
//! is whole up to its last complete record.

use std::io::{self, Write};
use std::ops::Range;

/// What a file begins with.
const MAGIC: &[u8; 15] = b"fathomp.sharing";
/// The version that is written and understood.
pub const VERSION: u64 = 2;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;
/// Bytes of an atomic instruction's operand at most.
const ATOMIC_BYTES_MAX: u64 = 64;
/// Frames of a call stack at most.
const FRAMES_MAX: u64 = 64;

/// Who notes, and where the program lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the node.
    pub node: u64,
    /// How many there are.
    pub nodes: u64,
    /// Address of the program in memory less that in its file.
    pub bias: u64,
}

/// A parallel region by the addresses where it lies in memory; zeros for the serial
/// part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// The outlined function.
    pub function: u64,
    /// Last byte of the call that entered it.
    pub call: u64,
}

/// An active function: where it goes on, its frame's address (the DWARF CFA), and at its call
/// its stack pointer and its frame pointer.
pub type Frame = [u64; 4];

/// Something that a node notes. Addresses are those of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A barrier of all nodes ends a phase, which belonged to that region.
    Phase(Region),
    /// Bytes of a page that its thread changed between two synchronisations.
    Wrote {
        /// Address of the page.
        page: u64,
        /// The bytes, ascending and not empty.
        ranges: Vec<Range<u16>>,
        /// A lock was released at the end.
        locked: bool,
    },
    /// Accesses that trapped because they were the first to their page.
    Access {
        /// Whether they wrote.
        write: bool,
        /// The first byte.
        address: u64,
        /// Address of the instruction.
        instruction: u64,
        /// How many.
        times: u64,
    },
    /// Atomic instructions.
    Atomic {
        /// The first byte.
        address: u64,
        /// Bytes that each reads and writes.
        bytes: u64,
        /// Address of the instruction.
        instruction: u64,
        /// How many.
        times: u64,
    },
    /// A block of the heap.
    Block {
        /// Its first byte.
        address: u64,
        /// Its length.
        bytes: u64,
        /// Return addresses, the innermost first.
        frames: Vec<u64>,
    },
    /// Functions of the program that are active where a region begins, the innermost
    /// first.
    Frames(Vec<Frame>),
    /// The node stopped noting before the program's end.
    Stopped(Stop),
    /// The program ended.
    Exit,
}

/// Why a node stopped noting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time was over.
    Time,
    /// The file grew too large.
    Size,
}

/// A file makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The node that was to write it ended before it began.
    #[error("nothing was noted in it")]
    Empty,
    /// It is something else.
    #[error("it does not begin as notes about sharing do")]
    Magic,
    /// It is of another version.
    #[error("it has version {0}, and only version {VERSION} is understood")]
    Version(u64),
    /// It ends within its header.
    #[error("it ends within its first line")]
    Cut,
    /// A record makes no sense.
    #[error("the record at byte {0} makes no sense")]
    Record(usize),
}

fn put(number: u64, to: &mut Vec<u8>) {
    let mut left = number;
    while left >= 0x80 {
        to.push(left as u8 | 0x80);
        left >>= 7;
    }
    to.push(left as u8);
}

/// Writes notes, a record after the other.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    room: Vec<u8>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If the medium fails, as everywhere here.
    pub fn new(out: W, header: Header) -> io::Result<Self> {
        let mut writer = Self {
            out,
            room: MAGIC.to_vec(),
            written: 0,
        };
        for number in [VERSION, header.node, header.nodes, header.bias] {
            put(number, &mut writer.room);
        }
        writer.send()?;
        Ok(writer)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes a record.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn put(&mut self, record: &Record) -> io::Result<()> {
        encode(record, &mut self.room);
        self.send()
    }

    /// Makes sure that everything written is in the file.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn send(&mut self) -> io::Result<()> {
        self.written += self.room.len() as u64;
        let sent = self.out.write_all(&self.room);
        self.room.clear();
        sent
    }
}

fn encode(record: &Record, to: &mut Vec<u8>) {
    let mut all = |tag: u8, numbers: &[u64]| {
        to.push(tag);
        numbers.iter().for_each(|number| put(*number, to));
    };
    match record {
        Record::Phase(Region { function, call }) => all(1, &[*function, *call]),
        Record::Wrote {
            page,
            ranges,
            locked,
        } => {
            all(
                2 + u8::from(*locked),
                &[page / PAGE_BYTES, ranges.len() as u64],
            );
            let mut end = 0;
            for range in ranges {
                put(u64::from(range.start - end), to);
                put(u64::from(range.end - range.start), to);
                end = range.end;
            }
        }
        Record::Access {
            write,
            address,
            instruction,
            times,
        } => all(4 + u8::from(*write), &[*address, *instruction, *times]),
        Record::Atomic {
            address,
            bytes,
            instruction,
            times,
        } => all(6, &[*address, *bytes, *instruction, *times]),
        Record::Block {
            address,
            bytes,
            frames,
        } => {
            all(7, &[*address, *bytes, frames.len() as u64]);
            frames.iter().for_each(|frame| put(*frame, to));
        }
        Record::Frames(frames) => {
            all(11, &[frames.len() as u64]);
            for number in frames.iter().flatten() {
                put(*number, to);
            }
        }
        Record::Stopped(Stop::Time) => all(8, &[]),
        Record::Stopped(Stop::Size) => all(9, &[]),
        Record::Exit => all(10, &[]),
    }
}

/// Reads notes. Ends before a record that was cut off.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What is left ends within a record, or a record makes no sense.
enum RecordError {
    Cut,
    Bad,
}

impl<'a> Reader<'a> {
    /// Begins to read.
    ///
    /// # Errors
    /// If it is no file of notes that is understood.
    pub fn new(bytes: &'a [u8]) -> Result<(Header, Self), LogError> {
        if bytes.iter().take(MAGIC.len()).all(|&byte| byte == 0) {
            return Err(LogError::Empty);
        }
        if !bytes.starts_with(MAGIC) {
            return Err(LogError::Magic);
        }
        let mut reader = Self {
            bytes,
            at: MAGIC.len(),
        };
        let mut next = || reader.number().map_err(|_| LogError::Cut);
        let version = next()?;
        if version != VERSION {
            return Err(LogError::Version(version));
        }
        let header = Header {
            node: next()?,
            nodes: next()?,
            bias: next()?,
        };
        Ok((header, reader))
    }

    fn byte(&mut self) -> Result<u8, RecordError> {
        let byte = self.bytes.get(self.at).copied().ok_or(RecordError::Cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, RecordError> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift > 63 || (bits << shift) >> shift != bits {
                return Err(RecordError::Bad);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    fn page(&mut self) -> Result<u64, RecordError> {
        let page = self
            .number()?
            .checked_mul(PAGE_BYTES)
            .ok_or(RecordError::Bad)?;
        // Its end is an address as well.
        page.checked_add(PAGE_BYTES).ok_or(RecordError::Bad)?;
        Ok(page)
    }

    fn ranges(&mut self) -> Result<Vec<Range<u16>>, RecordError> {
        let count = self.number()?;
        let mut end = 0;
        let mut ranges = Vec::new();
        for _ in 0..count {
            let start = self.number()?.checked_add(end).ok_or(RecordError::Bad)?;
            let length = self.number()?;
            end = start.checked_add(length).ok_or(RecordError::Bad)?;
            if length == 0 || end > PAGE_BYTES {
                return Err(RecordError::Bad);
            }
            // Inside a page.
            ranges.push(start as u16..end as u16);
        }
        Ok(ranges)
    }

    fn record(&mut self) -> Result<Record, RecordError> {
        Ok(match self.byte()? {
            1 => Record::Phase(Region {
                function: self.number()?,
                call: self.number()?,
            }),
            tag @ (2 | 3) => Record::Wrote {
                page: self.page()?,
                ranges: self.ranges()?,
                locked: tag == 3,
            },
            tag @ (4 | 5) => Record::Access {
                write: tag == 5,
                address: self.number()?,
                instruction: self.number()?,
                times: self.number()?,
            },
            6 => Record::Atomic {
                address: self.number()?,
                bytes: match self.number()? {
                    bytes @ 0..=ATOMIC_BYTES_MAX => bytes,
                    _ => return Err(RecordError::Bad),
                },
                instruction: self.number()?,
                times: self.number()?,
            },
            7 => {
                let (address, bytes, count) = (self.number()?, self.number()?, self.number()?);
                if count > FRAMES_MAX {
                    return Err(RecordError::Bad);
                }
                let frames = (0..count).map(|_| self.number());
                Record::Block {
                    address,
                    bytes,
                    frames: frames.collect::<Result<_, _>>()?,
                }
            }
            8 => Record::Stopped(Stop::Time),
            9 => Record::Stopped(Stop::Size),
            10 => Record::Exit,
            11 => {
                let count = self.number()?;
                if count > FRAMES_MAX {
                    return Err(RecordError::Bad);
                }
                let mut number = || self.number();
                let frames = (0..count).map(|_| Ok([number()?, number()?, number()?, number()?]));
                Record::Frames(frames.collect::<Result<_, _>>()?)
            }
            _ => return Err(RecordError::Bad),
        })
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Record, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let begins = self.at;
        match self.record() {
            Ok(record) => Some(Ok(record)),
            Err(RecordError::Cut) => {
                self.at = self.bytes.len();
                None
            }
            Err(RecordError::Bad) => {
                self.at = self.bytes.len();
                Some(Err(LogError::Record(begins)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: Header = Header {
        node: 3,
        nodes: 4,
        bias: 0x5555_5555_4000,
    };

    fn written(records: &[Record]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, HEADER).unwrap();
        for record in records {
            writer.put(record).unwrap();
        }
        let length = writer.written();
        assert_eq!(length, bytes.len() as u64);
        bytes
    }

    fn records() -> Vec<Record> {
        vec![
            Record::Block {
                address: 1 << 46,
                bytes: 4096,
                frames: vec![0x1234, 0x99],
            },
            Record::Access {
                write: false,
                address: 7,
                instruction: u64::MAX,
                times: 1,
            },
            Record::Wrote {
                page: 0x7000,
                ranges: vec![0..8, 9..10, 4000..4096],
                locked: true,
            },
            Record::Atomic {
                address: 64,
                bytes: 8,
                instruction: 5,
                times: 1_000_000,
            },
            Record::Phase(Region {
                function: 9,
                call: 10,
            }),
            Record::Frames(vec![[1, 2, 3, 4], [3, 0, 0, u64::MAX]]),
            Record::Stopped(Stop::Time),
            Record::Stopped(Stop::Size),
            Record::Exit,
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written(&records());
        let (header, reader) = Reader::new(&bytes).unwrap();
        assert_eq!(header, HEADER);
        let read: Result<Vec<_>, _> = reader.collect();
        assert_eq!(read.unwrap(), records());
    }

    #[test]
    fn what_is_cut_off_is_whole_up_to_there() {
        let bytes = written(&records());
        for length in 0..bytes.len() {
            match Reader::new(&bytes[..length]) {
                Err(error) => assert!(matches!(
                    error,
                    LogError::Empty | LogError::Magic | LogError::Cut
                )),
                Ok((_, reader)) => {
                    let read: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
                    assert!(records().starts_with(&read), "{length}");
                }
            }
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(Reader::new(b"{}").unwrap_err(), LogError::Magic);
        assert_eq!(Reader::new(b"").unwrap_err(), LogError::Empty);
        assert_eq!(Reader::new(&[0; 64]).unwrap_err(), LogError::Empty);
        let mut bytes = written(&[]);
        bytes[MAGIC.len()] = 3;
        assert_eq!(Reader::new(&bytes).unwrap_err(), LogError::Version(3));
        let mut bytes = written(&[]);
        let at = bytes.len();
        bytes.push(77);
        let (_, mut reader) = Reader::new(&bytes).unwrap();
        assert_eq!(reader.next(), Some(Err(LogError::Record(at))));
        assert_eq!(reader.next(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(rest in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = written(&[]);
            bytes.extend(rest);
            let (_, reader) = Reader::new(&bytes).unwrap();
            for record in reader.flatten() {
                if let Record::Wrote { ranges, .. } = record {
                    prop_assert!(ranges.iter().all(|r| r.start < r.end && r.end <= 4096));
                }
            }
        }
    }
}
