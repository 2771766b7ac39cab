//! The ring file of a process, from both sides.
//!
//! Nothing in it is believed by those who read it: the program may have scribbled over it.

use crate::facts::{End, Facts};
use crate::layout::{self, Geometry, ending, header, names, slot};
use crate::sums::Sums;
use fathomp_ring::{Ring, Word};
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::peer;
use fathomp_sys::shm::{SharedFile, WORD};
use fathomp_types::Ticks;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// A ring file.
#[derive(Debug)]
pub struct RingFile {
    file: SharedFile,
    path: PathBuf,
    geometry: Geometry,
}

/// What a process knows of itself when its record begins.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Number of its parent.
    pub parent: u32,
    /// When its record begins.
    pub begin: Pair,
    /// Wall-clock time then, nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// First estimate of the length of a tick.
    pub nanos_per_tick: f64,
    /// Name of the program.
    pub program: String,
    /// A process that was recorded forked it.
    pub forked: bool,
    /// Its number in the order in which processes began, if they are counted.
    pub order: Option<u32>,
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
    /// It is of another version.
    #[error(
        "its version {0} is not {version}: the program was run with the library of another fathomp",
        version = layout::VERSION
    )]
    Version(u64),
    /// It is damaged.
    #[error("its sizes make no sense")]
    Geometry,
}

/// Name of the ring file of a process whose record begins then, without its extension.
#[must_use]
pub fn stem(pid: u32, begin: Ticks) -> String {
    format!("{pid}-{:x}", begin.0)
}

impl RingFile {
    /// Producer: makes the ring file of this process. It appears under `path` only when it is
    /// complete.
    ///
    /// # Errors
    /// If it cannot be made, or there is no room for its first pages.
    pub fn create(path: &Path, geometry: Geometry, opening: &Opening) -> io::Result<Self> {
        let draft = path.with_extension("new");
        let made = SharedFile::create(&draft, geometry.words()).and_then(|file| {
            file.populate(0..header::WORDS)?;
            Ok(file)
        });
        let file = made.inspect_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = std::fs::remove_file(&draft);
            }
        })?;
        let made = Self {
            file,
            path: path.to_owned(),
            geometry,
        };
        made.put_opening(opening);
        made.words()[header::MAGIC].release(layout::MAGIC);
        std::fs::rename(&draft, path).inspect_err(|_| {
            let _ = std::fs::remove_file(&draft);
        })?;
        Ok(made)
    }

    fn put_opening(&self, opening: &Opening) {
        let put = |at: usize, value: u64| self.words()[at].set(value);
        let pid = std::process::id();
        put(header::VERSION, layout::VERSION);
        put(
            header::PROCESS,
            u64::from(pid) | u64::from(opening.parent) << 32,
        );
        put(header::BEGIN, opening.begin.ticks.0);
        put(header::MONOTONIC, opening.begin.monotonic_ns);
        put(header::UNIX, opening.unix_ns);
        put(header::NANOS_PER_TICK, opening.nanos_per_tick.to_bits());
        put(header::SLOTS, self.geometry.slots as u64);
        put(header::RING_WORDS, self.geometry.ring_words as u64);
        put(header::START_TIME, peer::start_time(pid).unwrap_or(0));
        put(header::PID_NAMESPACE, peer::pid_namespace());
        put(header::FORKED, u64::from(opening.forked));
        put(
            header::ORDER,
            opening.order.map_or(0, |order| u64::from(order) + 1),
        );
        let room = (header::PROGRAM_WORDS - 1) * WORD;
        let program = opening.program.as_bytes();
        let program = &program[..program.len().min(room)];
        put(header::PROGRAM, program.len() as u64);
        for (place, bytes) in program.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            put(header::PROGRAM + 1 + place, u64::from_le_bytes(word));
        }
    }

    /// Producer: the process ends like that.
    pub fn put_end(&self, end: &End) {
        let put = |at: usize, value: u64| self.words()[at].set(value);
        put(header::END, end.at.0);
        put(header::IO_SEEN, end.io_calls_seen);
        put(
            header::IO_MADE,
            end.io_calls_made.map_or(0, |calls| calls.saturating_add(1)),
        );
        put(
            header::ENVIRONMENT_CLEARED,
            u64::from(end.environment_cleared),
        );
        self.words()[header::ENDING].release(ending::to_word(end.ending));
    }

    /// Producer: the process does not end after all.
    pub fn take_end_back(&self) {
        self.words()[header::ENDING].release(0);
    }

    /// Consumer: opens the ring file of another process.
    ///
    /// # Errors
    /// If it is none, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let file = SharedFile::open(path)?;
        let words = file.words();
        if words.len() < names::BEGIN + names::WORDS
            || words[header::MAGIC].acquire() != layout::MAGIC
        {
            return Err(SourceError::Magic);
        }
        let version = words[header::VERSION].get();
        if version != layout::VERSION {
            return Err(SourceError::Version(version));
        }
        let size = |at: usize| usize::try_from(words[at].get()).unwrap_or(usize::MAX);
        let geometry = Geometry {
            slots: size(header::SLOTS),
            ring_words: size(header::RING_WORDS),
        };
        let geometry = geometry.checked(words.len()).ok_or(SourceError::Geometry)?;
        Ok(Self {
            path: path.to_owned(),
            geometry,
            file,
        })
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
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

    /// Whether the file still has the size it was mapped with. Reading beyond its end would
    /// be fatal.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        std::fs::metadata(&self.path)
            .is_ok_and(|facts| facts.len() >= (self.geometry.words() * WORD) as u64)
    }

    /// The words of a slot.
    #[must_use]
    pub fn slot(&self, index: usize) -> Option<&[AtomicU64]> {
        let at = self.geometry.slot(index);
        (index < self.geometry.slots).then(|| self.words().get(at..at + slot::WORDS))?
    }

    /// The ring of a slot.
    #[must_use]
    pub fn ring(&self, index: usize) -> Option<Ring<'_, AtomicU64>> {
        let slot = self.slot(index)?;
        let at = self.geometry.ring(index);
        Ring::new(
            self.words().get(at..at + self.geometry.ring_words)?,
            &slot[slot::HEAD],
            &slot[slot::TAIL],
        )
    }

    /// The stays of a slot that found its ring full.
    #[must_use]
    pub fn merged(&self, index: usize) -> Option<Sums<'_>> {
        Sums::new(self.slot(index)?.get(slot::MERGED..)?)
    }

    /// The stays of a slot that were not selected.
    #[must_use]
    pub fn omitted(&self, index: usize) -> Option<Sums<'_>> {
        Sums::new(self.slot(index)?.get(slot::OMITTED..)?)
    }

    /// Slots that have ever been used.
    #[must_use]
    pub fn slots_used(&self) -> usize {
        usize::try_from(self.words()[header::SLOTS_USED].acquire())
            .unwrap_or(usize::MAX)
            .min(self.geometry.slots)
    }

    /// Number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.words()[header::PROCESS].get() as u32
    }

    /// When the kernel says that the process started; 0 if not known. The same as long as the
    /// process lives, whatever programs it becomes.
    #[must_use]
    pub fn start_time(&self) -> u64 {
        self.words()[header::START_TIME].get()
    }

    /// Whether the process has certainly ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let namespace = self.words()[header::PID_NAMESPACE].get();
        let knowable =
            namespace != 0 && namespace == peer::pid_namespace() && self.start_time() != 0;
        knowable && peer::start_time(self.pid()) != Some(self.start_time())
    }

    /// What the process says of itself, with the clock measured from the beginning to now.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let read = |at: usize| self.words()[at].get();
        let process = read(header::PROCESS);
        let number = |at: usize| {
            let number = read(at).checked_sub(1);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let end = ending::from_word(self.words()[header::ENDING].acquire()).map(|ending| End {
            at: Ticks(read(header::END)),
            ending,
            io_calls_seen: read(header::IO_SEEN),
            io_calls_made: read(header::IO_MADE).checked_sub(1),
            environment_cleared: read(header::ENVIRONMENT_CLEARED) == 1,
        });
        Facts {
            pid: process as u32,
            parent: (process >> 32) as u32,
            program: self.program(),
            zero: Ticks(read(header::BEGIN)),
            zero_unix_ns: read(header::UNIX),
            nanos_per_tick: self.nanos_per_tick(),
            forked: read(header::FORKED) == 1,
            order: number(header::ORDER),
            rank: number(header::RANK),
            node: number(header::NODE),
            threads: read(header::THREADS),
            threads_lost: read(header::THREADS_LOST),
            names_lost: read(header::NAMES_LOST),
            marks_lost: read(header::MARKS_LOST),
            refused: read(header::REFUSED),
            end,
        }
    }

    fn program(&self) -> String {
        let room = (header::PROGRAM_WORDS - 1) * WORD;
        let length = usize::try_from(self.words()[header::PROGRAM].get()).unwrap_or(room);
        let mut bytes: Vec<u8> = (1..header::PROGRAM_WORDS)
            .flat_map(|place| self.words()[header::PROGRAM + place].get().to_le_bytes())
            .collect();
        bytes.truncate(length.min(room));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn nanos_per_tick(&self) -> f64 {
        let claimed = f64::from_bits(self.words()[header::NANOS_PER_TICK].get());
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
        let began = Pair {
            ticks: Ticks(self.words()[header::BEGIN].get()),
            monotonic_ns: self.words()[header::MONOTONIC].get(),
        };
        let now = clock::pair();
        let elapsed = now.monotonic_ns.checked_sub(began.monotonic_ns)?;
        (elapsed >= ENOUGH_NS)
            .then(|| began.nanos_per_tick(&now))
            .flatten()
    }
}
