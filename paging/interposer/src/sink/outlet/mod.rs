//! What becomes of the records in a thread's ring: another process takes them out, or the
//! process itself hands them on in batches, by messages or into files.

mod files;
mod messages;

use super::process::OpenError;
use fathomp_feed::file::RingFile;
use fathomp_paging::setup::{Handover, Setup, Writer};
use files::Files;
use messages::{Address, Messages};
use std::io;
use std::path::Path;

/// Words of a ring after which they are sent: 32 KiB, which fits into a message.
const MESSAGE_WORDS: u64 = 4 << 10;
/// Words of a ring after which they are packed and written: they make a block of a usual size.
const FILE_WORDS: u64 = 8 << 10;
/// Largest ring of threads that hand their records on themselves: a larger one would only
/// push the program's data out of the caches.
const OWN_RING_WORDS: usize = 16 << 10;

/// The way out of a process.
#[derive(Debug)]
pub(super) enum Outlet {
    /// The collector's process takes records out of shared memory.
    Shared,
    /// Threads send them.
    Messages(Messages),
    /// Threads write them, each into a file of its own, or a thread of ours into all.
    Files(Box<Files>),
}

impl Outlet {
    /// Words of a thread's ring.
    pub(super) fn ring_words(setup: &Setup) -> usize {
        match (setup.writer.handover(), &setup.writer) {
            // What empties these in the background takes its time.
            (Handover::Rings, _) | (_, Writer::Striped(_)) => setup.ring_words(),
            _ => setup.ring_words().min(OWN_RING_WORDS),
        }
    }

    /// Opens the way out.
    pub(super) fn open(
        live: &Path,
        setup: &Setup,
        file: &'static RingFile,
        stem: &str,
    ) -> Result<Self, OpenError> {
        let messages = |to| Messages::open(to, setup, file, stem).map(Self::Messages);
        let files = |stripes| {
            let files = Files::open(setup, stripes, file)?;
            Ok(Self::Files(Box::new(files)))
        };
        match &setup.writer {
            Writer::Shared | Writer::Remote(_) => Ok(Self::Shared),
            Writer::Message => messages(Address::Local(live.to_owned())),
            Writer::Collector(address) => messages(Address::Host(address.clone())),
            Writer::Task => files(&[]),
            Writer::Striped(stripes) => files(stripes),
        }
    }

    /// Whether the process hands records on itself, by whichever of its threads.
    pub(super) fn is_handed_on(&self) -> bool {
        !matches!(self, Self::Shared)
    }

    /// Whether threads write files, which they complete before they end.
    pub(super) fn writes_by_itself(&self) -> bool {
        matches!(self, Self::Files(_))
    }

    /// Whether a thread of ours hands on what others have in their rings.
    pub(super) fn is_asynchronous(&self) -> bool {
        matches!(self, Self::Files(files) if files.is_striped())
    }

    /// Words in a ring of that capacity after which they are to be handed on.
    pub(super) fn batch_words(&self, capacity: u64) -> u64 {
        match self {
            // The collector is to be awake before the rest is full.
            Self::Shared => capacity / 2,
            Self::Messages(_) => MESSAGE_WORDS,
            Self::Files(_) => FILE_WORDS,
        }
    }

    /// Hands on what is in a slot's ring, or calls who takes it; gives the calls that the kernel
    /// counts as I/O. Only one thread at a time may be at a slot. `errno` stays as it was.
    pub(super) fn hand_on(&self, file: &RingFile, index: usize) -> io::Result<u64> {
        match self {
            Self::Shared => {
                file.call();
                Ok(0)
            }
            Self::Messages(messages) => messages.hand_on(file, index).map(|()| 0),
            Self::Files(files) => files.hand_on(file, index),
        }
    }

    /// The process ends; gives the calls that the kernel counts as I/O. What cannot be told
    /// now is found in the ring file.
    pub(super) fn end(&self, file: &RingFile) -> u64 {
        match self {
            Self::Shared => 0,
            Self::Messages(messages) => {
                messages.tell_facts(file);
                0
            }
            Self::Files(files) => files.end(file).unwrap_or(0),
        }
    }

    /// The process does not end after all.
    pub(super) fn goes_on(&self, file: &RingFile) {
        match self {
            // A later note on the process's end takes the place of the one written.
            Self::Shared | Self::Files(_) => {}
            Self::Messages(messages) => messages.tell_facts(file),
        }
    }

    /// In the child of a fork: what the child shares with its parent is the parent's.
    pub(super) fn leave_to_parent(&self) {
        match self {
            Self::Shared | Self::Files(_) => {}
            Self::Messages(messages) => messages.leave_to_parent(),
        }
    }
}

/// What waits in a slot's ring.
#[derive(Debug)]
struct Batch {
    /// Position of the first word.
    from: u64,
    /// Position after the last.
    to: u64,
    words: Vec<u64>,
}

impl Batch {
    /// Copies what waits, if anything does.
    fn take(file: &RingFile, index: usize) -> Option<Self> {
        let ring = file.ring(index)?;
        let (from, to) = (ring.consumed(), ring.written());
        let mut words = Vec::new();
        (from != to && ring.copy(from, to, &mut words).is_ok()).then_some(Self { from, to, words })
    }

    /// Gives the place back to the thread.
    fn give_back(&self, file: &RingFile, index: usize) {
        if let Some(ring) = file.ring(index) {
            ring.consume(self.to);
        }
    }
}
