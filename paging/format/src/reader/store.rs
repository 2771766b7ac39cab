//! Where the bytes of a stream are: in a file, of which only what is asked for is
//! read, or in memory.

use fathomp_blocks::Source;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Bytes that are read at least, when a file is gone through.
const WINDOW_BYTES: usize = 1 << 20;

/// A stream, not opened.
#[derive(Debug)]
pub(super) struct Store {
    /// As problems call it.
    pub(super) name: String,
    pub(super) place: Place,
}

/// Where its bytes are.
#[derive(Debug)]
pub(super) enum Place {
    File(PathBuf),
    Memory(Vec<u8>),
}

impl Store {
    pub(super) fn open(&self) -> io::Result<Handle<'_>> {
        match &self.place {
            Place::File(path) => File::open(path).map(Handle::File),
            Place::Memory(bytes) => Ok(Handle::Memory(bytes)),
        }
    }
}

/// An opened stream.
#[derive(Debug)]
pub(super) enum Handle<'a> {
    File(File),
    Memory(&'a [u8]),
}

impl Handle<'_> {
    fn total(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Reads up to `bytes` bytes from `at` on, fewer at the end, into `buffer`.
    pub(super) fn read(&self, at: u64, bytes: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Memory(all) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let rest = all.get(from..).unwrap_or(&[]);
                buffer.clear();
                buffer.extend_from_slice(&rest[..bytes.min(rest.len())]);
            }
            Self::File(file) => {
                buffer.resize(bytes, 0);
                let mut filled = 0;
                while filled < bytes {
                    match file.read_at(&mut buffer[filled..], at + filled as u64) {
                        Ok(0) => break,
                        Ok(more) => filled += more,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                buffer.truncate(filled);
            }
        }
        Ok(())
    }
}

/// A window that moves over an opened stream.
#[derive(Debug)]
pub(super) struct Window<'a> {
    handle: Handle<'a>,
    total: u64,
    begin: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(super) fn new(handle: Handle<'a>) -> io::Result<Self> {
        Ok(Self {
            total: handle.total()?,
            handle,
            begin: 0,
            bytes: Vec::new(),
        })
    }
}

impl Source for Window<'_> {
    type Error = io::Error;

    fn total(&self) -> u64 {
        self.total
    }

    fn at(&mut self, position: u64, bytes: usize) -> io::Result<&[u8]> {
        let wanted = (bytes as u64).min(self.total.saturating_sub(position));
        let end = self.begin + self.bytes.len() as u64;
        if position < self.begin || position + wanted > end {
            let more = bytes.max(WINDOW_BYTES) as u64;
            let more = more.min(self.total.saturating_sub(position)) as usize;
            self.handle.read(position, more, &mut self.bytes)?;
            self.begin = position;
        }
        let from = (position - self.begin) as usize;
        Ok(self.bytes.get(from..).unwrap_or(&[]))
    }
}
