//! The file in which a process lets another one look: a header that says whose it is, then
//! whatever a kind of file keeps there, with rings among it.
//!
//! It is written by the process and read by another one on the same machine, of the same version
//! of the [`Format`]; it is never kept. Nothing in it is believed by those who read it: the
//! program may have scribbled over it.

use crate::bell::Bell;
use crate::{Ring, Word};
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::peer::{self, PidFd};
use fathomp_sys::shm::{SharedFile, WORD};
use fathomp_types::Ticks;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// The first words of a ring file of any kind. Those in between and behind are its own.
pub mod header {
    /// [`Format::magic`](super::Format::magic), written last.
    pub const MAGIC: usize = 0;
    /// [`Format::version`](super::Format::version).
    pub const VERSION: usize = 1;
    /// Process number (low half); the high half is the kind's own.
    pub const PROCESS: usize = 2;
    /// Tick at which recording began: zero of the process's clock.
    pub const BEGIN: usize = 3;
    /// `CLOCK_MONOTONIC` at `BEGIN`, nanoseconds.
    pub const MONOTONIC: usize = 4;
    /// Wall-clock time at `BEGIN`, nanoseconds since the Unix epoch.
    pub const UNIX: usize = 5;
    /// Bits of the first estimate of nanoseconds per tick (f64).
    pub const NANOS_PER_TICK: usize = 6;
    /// Number of thread slots.
    pub const SLOTS: usize = 7;
    /// Words per ring, a power of two.
    pub const RING_WORDS: usize = 8;
    /// When the kernel says the process started: a later one may have its number.
    pub const START_TIME: usize = 9;
    /// Name space of the process number, as the kernel numbers it.
    pub const PID_NAMESPACE: usize = 10;
    /// 1 if the process was forked by one that was recorded.
    pub const FORKED: usize = 12;
}

/// Descriptors beyond this number are for what is written.
const HELD_MAX: i32 = 512;

/// A kind of ring file.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its first word.
    pub magic: u64,
    /// Version of its layout.
    pub version: u64,
    /// Words of its header.
    pub header_words: usize,
}

/// Why a file is no ring file that can be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The system refused.
    #[error("it cannot be opened: {0}")]
    Open(#[from] io::Error),
    /// It is something else.
    #[error("it is not a ring file")]
    Magic,
    /// It is of this version, and not of that.
    #[error("its version {0} is not {1}: the program was run with the library of another fathomp")]
    Version(u64, u64),
    /// It is damaged.
    #[error("its sizes make no sense")]
    Geometry,
}

/// A ring file.
#[derive(Debug)]
pub struct RingFile {
    file: SharedFile,
    path: PathBuf,
    format: Format,
    pid: u32,
    start_time: u64,
    /// The process number means the same to us as to the process.
    same_namespace: bool,
    /// Consumer: the process, if it can be held.
    process: Option<PidFd>,
    /// Producer: what calls the consumer.
    bell: Option<Bell>,
    began: Pair,
}

/// Name of the ring file of a process whose record begins then, without its extension.
#[must_use]
pub fn stem(pid: u32, begin: Ticks) -> String {
    format!("{pid}-{:x}", begin.0)
}

impl RingFile {
    /// Producer: begins the ring file of this process, of `words` words, whose header has memory
    /// then, and says in it which process this is and when its record begins. It lies under
    /// another name until it is [complete](Self::complete).
    ///
    /// # Errors
    /// If it cannot be made, or there is no room for its header.
    pub fn begin(path: &Path, format: Format, words: usize, begin: &Pair) -> io::Result<Self> {
        let draft = path.with_extension("new");
        let made = SharedFile::create(&draft, words).and_then(|file| {
            file.populate(0..format.header_words)?;
            let put = |at: usize, value: u64| file.words()[at].set(value);
            let pid = std::process::id();
            put(header::VERSION, format.version);
            put(header::PROCESS, pid.into());
            put(header::BEGIN, begin.ticks.0);
            put(header::MONOTONIC, begin.monotonic_ns);
            put(header::START_TIME, peer::start_time(pid).unwrap_or(0));
            put(header::PID_NAMESPACE, peer::pid_namespace());
            let mut made = Self::of(file, path, format);
            made.bell = path.parent().and_then(|live| Bell::open(live).ok());
            Ok(made)
        });
        made.inspect_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = std::fs::remove_file(&draft);
            }
        })
    }

    /// Producer: all of the header is there, and the file appears under its name.
    ///
    /// # Errors
    /// If it cannot get that name.
    pub fn complete(&self) -> io::Result<()> {
        self.words()[header::MAGIC].release(self.format.magic);
        let draft = self.path.with_extension("new");
        std::fs::rename(&draft, &self.path).inspect_err(|_| {
            let _ = std::fs::remove_file(&draft);
        })?;
        self.call();
        Ok(())
    }

    /// Producer: wakes the consumer, which may sleep for long.
    pub fn call(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    /// Consumer: opens the ring file of another process, which has `least` words at least.
    ///
    /// # Errors
    /// If it is none, or cannot be opened.
    pub fn open(path: &Path, format: Format, least: usize) -> Result<Self, SourceError> {
        let file = SharedFile::open(path)?;
        let words = file.words();
        if words.len() < least.max(format.header_words)
            || words[header::MAGIC].acquire() != format.magic
        {
            return Err(SourceError::Magic);
        }
        let version = words[header::VERSION].get();
        if version != format.version {
            return Err(SourceError::Version(version, format.version));
        }
        let mut opened = Self::of(file, path, format);
        let knowable = opened.same_namespace && opened.start_time != 0;
        let process = PidFd::open(opened.pid).ok().filter(|_| knowable);
        let process = process.filter(|process| process.as_fd().as_raw_fd() < HELD_MAX);
        // The number may be another's by now.
        opened.process = process.filter(|_| !opened.number_is_free());
        Ok(opened)
    }

    /// Keeps what tells the process apart, as it is now.
    fn of(file: SharedFile, path: &Path, format: Format) -> Self {
        let read = |at: usize| file.words()[at].get();
        let namespace = read(header::PID_NAMESPACE);
        Self {
            path: path.to_owned(),
            format,
            pid: read(header::PROCESS) as u32,
            start_time: read(header::START_TIME),
            same_namespace: namespace != 0 && namespace == peer::pid_namespace(),
            process: None,
            bell: None,
            began: Pair {
                ticks: Ticks(read(header::BEGIN)),
                monotonic_ns: read(header::MONOTONIC),
            },
            file,
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.file.words()
    }

    /// The file.
    #[must_use]
    pub fn shared(&self) -> &SharedFile {
        &self.file
    }

    /// A word; 0 beyond the end.
    #[must_use]
    pub fn read(&self, at: usize) -> u64 {
        self.words().get(at).map_or(0, Word::get)
    }

    /// A word that says how many there are of something, or how large it is.
    #[must_use]
    pub fn size(&self, at: usize) -> usize {
        usize::try_from(self.read(at)).unwrap_or(usize::MAX)
    }

    /// A string of at most `room` words, its length included.
    #[must_use]
    pub fn string(&self, at: usize, room: usize) -> String {
        let length = self.size(at).min((room - 1) * WORD).min(1 << 16);
        let mut bytes: Vec<u8> = (0..length.div_ceil(WORD))
            .flat_map(|word| self.read(at + 1 + word).to_le_bytes())
            .collect();
        bytes.truncate(length);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether the file still has the size it was mapped with. Reading beyond its end would be
    /// fatal.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let bytes = (self.words().len() * WORD) as u64;
        std::fs::metadata(&self.path).is_ok_and(|facts| facts.len() >= bytes)
    }

    /// A ring from a word on, and where its counters are.
    #[must_use]
    pub fn ring(
        &self,
        at: usize,
        ring_words: usize,
        [head, tail]: [usize; 2],
    ) -> Option<Ring<'_, AtomicU64>> {
        let words = self.words();
        Ring::new(
            words.get(at..at + ring_words)?,
            words.get(head)?,
            words.get(tail)?,
        )
    }

    /// Number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When the kernel says that the process started; 0 if not known. The same as long as the
    /// process lives, whatever programs it becomes.
    #[must_use]
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Whether the process has certainly ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match &self.process {
            Some(process) => process.has_ended(),
            None => self.number_is_free(),
        }
    }

    /// Consumer: the process, if it could be held when the file was opened.
    #[must_use]
    pub fn held(&self) -> Option<&PidFd> {
        self.process.as_ref()
    }

    /// Whether certainly no process has the number that is this one.
    fn number_is_free(&self) -> bool {
        let knowable = self.same_namespace && self.start_time != 0;
        knowable && peer::start_time(self.pid) != Some(self.start_time)
    }

    /// Length of a tick, measured from the beginning of the record to now.
    #[must_use]
    pub fn nanos_per_tick(&self) -> f64 {
        let claimed = f64::from_bits(self.read(header::NANOS_PER_TICK));
        let claimed = (claimed.is_finite() && claimed > 0.0).then_some(claimed);
        let measured = match clock::source() {
            clock::Source::Monotonic => Some(1.0),
            clock::Source::Processor => self.measured(),
        };
        match (measured, claimed) {
            // A measurement far from the claim means that the marks are damaged.
            (Some(measured), Some(claimed)) if (measured / claimed - 1.0).abs() > 0.2 => claimed,
            (measured, claimed) => measured.or(claimed).unwrap_or(1.0),
        }
    }

    /// The length of a tick, if enough time has passed to tell better than the process could
    /// when it began.
    fn measured(&self) -> Option<f64> {
        const ENOUGH_NS: u64 = 2_000_000;
        let now = clock::pair();
        let elapsed = now.monotonic_ns.checked_sub(self.began.monotonic_ns)?;
        (elapsed >= ENOUGH_NS)
            .then(|| self.began.nanos_per_tick(&now))
            .flatten()
    }
}

/// Writes a string as its length in bytes and its bytes, cut to fit.
pub fn put_string(words: &[AtomicU64], bytes: &[u8]) {
    let Some((length, rest)) = words.split_first() else {
        return;
    };
    let bytes = &bytes[..bytes.len().min(rest.len() * WORD)];
    length.set(bytes.len() as u64);
    for (word, chunk) in rest.iter().zip(bytes.chunks(WORD)) {
        let mut padded = [0; WORD];
        padded[..chunk.len()].copy_from_slice(chunk);
        word.set(u64::from_le_bytes(padded));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::LiveDirectory;

    #[test]
    fn a_file_is_read_when_it_is_complete_by_those_of_its_version() {
        let format = |version| Format {
            magic: 77,
            version,
            header_words: 64,
        };
        let live = tempfile::tempdir().unwrap();
        let path = live.path().join("1-a.ring");
        let ours = RingFile::begin(&path, format(3), 128, &clock::pair()).unwrap();
        put_string(&ours.words()[32..36], b"a name that is cut somewhere");
        let mut directory = LiveDirectory::new(live.path(), "ring");
        assert!(directory.arrivals(true).unwrap().is_empty());
        ours.complete().unwrap();
        assert_eq!(directory.arrivals(true).unwrap(), ["1-a.ring"]);
        assert!(directory.arrivals(true).unwrap().is_empty());
        let theirs = RingFile::open(&path, format(3), 128).unwrap();
        assert_eq!(theirs.string(32, 4), "a name that is cut somew");
        assert!(theirs.is_whole() && !theirs.has_ended());
        let refused = |version, least| RingFile::open(&path, format(version), least).unwrap_err();
        assert!(refused(3, 129).to_string().contains("not a ring file"));
        assert!(refused(4, 0).to_string().contains("version 3 is not 4"));
    }
}
