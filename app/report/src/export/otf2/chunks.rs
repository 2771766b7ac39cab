//! OTF2's binary files: chunks of records.
//!
//! A chunk begins with [`BEGIN`], the order of bytes, and the numbers of its first and last event;
//! zeros fill it up, unless it is the last, which ends with [`END`]. A record is its kind, the
//! length of the rest, and the rest. Times stand before events as records of their own where they
//! differ from the time before.

use std::io::{self, Write};

/// Bytes of a chunk of events; readers learn it from the anchor file.
pub(super) const EVENTS_CHUNK: usize = 1 << 20;
/// Bytes of a chunk of definitions.
pub(super) const DEFINITIONS_CHUNK: usize = 4 << 20;

/// The mark of a chunk and that of little-endian numbers.
const BEGIN: [u8; 2] = [0x03, 0x42];
/// The marks of the end of a file and of a chunk.
pub(super) const END: [u8; 2] = [0x02, 0x01];
/// Where the number of a chunk's last event stands.
const LAST_EVENT: std::ops::Range<usize> = 10..18;
const TIME: u8 = 0x05;

/// A part of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Byte(u8),
    /// Without its leading zero bytes, behind the number of the others; also a reference.
    Number(u64),
    /// A reference to nothing.
    Nothing,
    /// A zero byte ends it.
    Text(&'a str),
}

/// One record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    kind: u8,
    body: Vec<u8>,
    has_length: bool,
}

impl Record {
    pub(super) fn new(kind: u8, fields: &[Field<'_>]) -> Self {
        let mut record = Self {
            kind,
            body: Vec::new(),
            has_length: true,
        };
        for field in fields {
            record.push(*field);
        }
        record
    }

    /// Of the kinds, as old as the format, whose one number says by itself how long it is.
    pub(super) fn of_one_number(kind: u8, number: u64) -> Self {
        Self {
            has_length: false,
            ..Self::new(kind, &[Field::Number(number)])
        }
    }

    pub(super) fn push(&mut self, field: Field<'_>) {
        match field {
            Field::Byte(byte) => self.body.push(byte),
            Field::Nothing => self.body.push(u8::MAX),
            Field::Number(number) => {
                let bytes = (u64::BITS - number.leading_zeros()).div_ceil(8) as usize;
                self.body.push(bytes as u8);
                self.body.extend_from_slice(&number.to_le_bytes()[..bytes]);
            }
            Field::Text(text) => {
                self.body.extend(text.bytes().filter(|byte| *byte != 0));
                self.body.push(0);
            }
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.push(self.kind);
        match u8::try_from(self.body.len()) {
            _ if !self.has_length => {}
            Ok(length) if length < u8::MAX => to.push(length),
            _ => {
                to.push(u8::MAX);
                to.extend_from_slice(&(self.body.len() as u64).to_le_bytes());
            }
        }
        to.extend_from_slice(&self.body);
    }
}

/// Writes a file of chunks.
pub(super) struct Chunks<W> {
    out: W,
    size: usize,
    chunk: Vec<u8>,
    record: Vec<u8>,
    events: u64,
    time: Option<u64>,
}

impl<W: Write> Chunks<W> {
    pub(super) fn new(out: W, size: usize) -> Self {
        let mut chunks = Self {
            out,
            size,
            chunk: Vec::new(),
            record: Vec::new(),
            events: 0,
            time: None,
        };
        chunks.begin();
        chunks
    }

    fn begin(&mut self) {
        self.chunk.clear();
        self.chunk.extend_from_slice(&BEGIN);
        self.chunk
            .extend_from_slice(&(self.events + 1).to_le_bytes());
        self.chunk.extend_from_slice(&0_u64.to_le_bytes());
        self.time = None;
    }

    fn end(&mut self) -> io::Result<()> {
        self.chunk[LAST_EVENT].copy_from_slice(&self.events.to_le_bytes());
        self.out.write_all(&self.chunk)
    }

    /// Adds a definition.
    pub(super) fn define(&mut self, record: &Record) -> io::Result<()> {
        self.add(record, None)
    }

    /// Adds an event.
    pub(super) fn event(&mut self, at: u64, record: &Record) -> io::Result<()> {
        self.add(record, Some(at))?;
        self.events += 1;
        Ok(())
    }

    fn add(&mut self, record: &Record, at: Option<u64>) -> io::Result<()> {
        const TIME_BYTES: usize = 9;
        self.record.clear();
        record.write(&mut self.record);
        if self.chunk.len() + TIME_BYTES + self.record.len() + END.len() > self.size {
            self.chunk.resize(self.size, 0);
            self.end()?;
            self.begin();
        }
        if let Some(at) = at.filter(|at| self.time != Some(*at)) {
            self.chunk.push(TIME);
            self.chunk.extend_from_slice(&at.to_le_bytes());
            self.time = Some(at);
        }
        self.chunk.extend_from_slice(&self.record);
        Ok(())
    }

    /// Ends the file; how many events are in it.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.chunk.extend_from_slice(&END);
        self.end()?;
        self.out.flush()?;
        Ok(self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        bytes
    }

    /// As libotf2 3.0.2 writes them.
    #[test]
    fn records_are_those_of_the_library() {
        assert_eq!(bytes(&Record::of_one_number(12, 0)), [12, 0]);
        assert_eq!(bytes(&Record::of_one_number(12, 1)), [12, 1, 1]);
        let text = Record::new(10, &[Field::Number(1), Field::Text("main")]);
        assert_eq!(bytes(&text), *b"\x0a\x07\x01\x01main\0");
        let fields = [Field::Byte(11), Field::Nothing, Field::Number(900)];
        let end = Record::new(0x17, &fields);
        assert_eq!(bytes(&end), [0x17, 5, 11, 0xff, 2, 0x84, 3]);
        let long = bytes(&Record::new(
            10,
            &[Field::Number(0x12f), Field::Text(&"d".repeat(251))],
        ));
        assert_eq!(long[..13], [10, 255, 255, 0, 0, 0, 0, 0, 0, 0, 2, 0x2f, 1]);
        let most = Record::of_one_number(16, u64::MAX);
        assert_eq!(
            bytes(&most)[1..],
            [8, 255, 255, 255, 255, 255, 255, 255, 255]
        );
    }

    #[test]
    fn a_chunk_ends_before_an_event_that_does_not_fit() {
        let mut file = Vec::new();
        let mut chunks = Chunks::new(&mut file, 43);
        for at in [5, 5, 6] {
            let event = Record::of_one_number(12, 0);
            chunks.event(at, &event).expect("memory takes it");
        }
        assert_eq!(chunks.finish().expect("memory takes it"), 3);
        let first = [
            &b"\x03\x42"[..],
            &1_u64.to_le_bytes(),
            &2_u64.to_le_bytes(),
            b"\x05\x05\0\0\0\0\0\0\0\x0c\0\x0c\0",
        ]
        .concat();
        assert_eq!(file[..31], first);
        assert_eq!(file[31..43], [0; 12], "the rest of the chunk");
        let second = [
            &b"\x03\x42"[..],
            &3_u64.to_le_bytes(),
            &3_u64.to_le_bytes(),
            b"\x05\x06\0\0\0\0\0\0\0\x0c\0\x02\x01",
        ]
        .concat();
        assert_eq!(file[43..], second);
    }
}
