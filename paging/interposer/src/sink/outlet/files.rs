//! The process writes its streams itself: each thread a file, whenever its ring is half full,
//! or all of them over several directories in turn.

use super::Batch;
use crate::sink::process::OpenError;
use fathomp_feed::append::append;
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::slot;
use fathomp_feed::message;
use fathomp_feed::names;
use fathomp_feed::notes;
use fathomp_feed::scribe::Scribe;
use fathomp_paging::pack::Budget;
use fathomp_paging::setup::Setup;
use fathomp_paging::stream::{self, file_name};
use fathomp_ring::Word;
use fathomp_sys::clock;
use fathomp_sys::errno;
use fathomp_types::Ticks;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Packed bytes that may wait for a disk that is full.
const WAITING_BYTES: usize = 1 << 20;
/// How wide bins are at first, once intervals are merged.
const BIN_NS: f64 = 1e6;

/// The files of a process: one for what tells of it as a whole, and parts with the tasks'
/// blocks.
#[derive(Debug)]
pub(in crate::sink) struct Files {
    setup: Setup,
    host: String,
    pid: u32,
    zero: Ticks,
    names_written: Mutex<usize>,
    slots: Box<[Mutex<Slot>]>,
    /// Where the parts lie that all threads write in turn; none if each slot has its own.
    stripes: Vec<PathBuf>,
    turn: AtomicUsize,
    /// Which parts are there. Held while one is written to.
    begun: Box<[Mutex<bool>]>,
    budget: Budget,
    bin: Ticks,
}

/// What is being packed of a slot.
#[derive(Debug, Default)]
struct Slot {
    scribe: Scribe,
    /// Blocks that are not in a file yet.
    out: Vec<u8>,
    /// When sums are due again.
    sums_due: Ticks,
    merging_since: Option<Ticks>,
}

impl Files {
    pub(super) fn open(
        setup: &Setup,
        stripes: &[PathBuf],
        file: &RingFile,
    ) -> Result<Self, OpenError> {
        let facts = file.facts();
        let slots = file.geometry().slots;
        let parts = if stripes.is_empty() {
            slots
        } else {
            stripes.len()
        };
        let files = Self {
            setup: setup.clone(),
            host: message::host(),
            pid: facts.pid,
            zero: facts.zero,
            names_written: Mutex::new(1),
            slots: (0..slots).map(|_| Mutex::default()).collect(),
            stripes: stripes.to_vec(),
            turn: AtomicUsize::new(0),
            begun: (0..parts).map(|_| Mutex::default()).collect(),
            budget: Budget::new(setup.limit_bytes),
            bin: Ticks((BIN_NS / facts.nanos_per_tick.max(1e-3)) as u64),
        };
        let mut out = stream::start().to_vec();
        notes::put_process(&mut out, &notes::process(&facts, &files.host, setup));
        let path = files.listed(None);
        append(&path, &out).map_err(|source| OpenError::File { path, source })?;
        Ok(files)
    }

    pub(super) fn is_striped(&self) -> bool {
        !self.stripes.is_empty()
    }

    /// Where readers of the recording find a part, or what tells of the process as a whole.
    fn listed(&self, part: Option<u32>) -> PathBuf {
        let name = file_name(self.pid, self.zero, part);
        self.setup.streams.join(name)
    }

    /// Packs and writes what is in a slot's ring; gives the write calls it took.
    pub(super) fn hand_on(&self, file: &RingFile, index: usize) -> io::Result<u64> {
        let _errno = errno::Saved::new();
        let mut slot = held(self.slots.get(index).ok_or(io::ErrorKind::NotFound)?);
        let mut calls = 0;
        if slot.out.len() > WAITING_BYTES {
            calls += self.write(&mut slot, index)?;
        }
        let Some(batch) = Batch::take(file, index) else {
            return Ok(calls);
        };
        if self.budget.is_spent() {
            slot.scribe.merge(self.bin);
            slot.merging_since.get_or_insert_with(clock::now);
        }
        let slot = &mut *slot;
        slot.scribe.take(&batch.words, &mut slot.out);
        let sums = slot.sums_are_due();
        slot.scribe.flush(sums, &mut slot.out);
        let written = self
            .write_names(file)
            .and_then(|more| Ok(more + self.write(slot, index)?));
        let thread = slot.scribe.position().map_or(0, |(number, _)| number + 1);
        if let Some(words) = file.slot(index) {
            words[slot::TAIL_THREAD].set(thread.into());
        }
        batch.give_back(file, index);
        written.map(|more| calls + more)
    }

    fn write(&self, slot: &mut Slot, index: usize) -> io::Result<u64> {
        if slot.out.is_empty() {
            return Ok(0);
        }
        let part = match self.is_striped() {
            true => self.turn.fetch_add(1, Ordering::Relaxed) % self.stripes.len(),
            false => index,
        };
        let calls = self.append(part, &slot.out)?;
        self.budget.spend(slot.out.len() as u64);
        slot.out.clear();
        Ok(calls)
    }

    /// Appends blocks to a part, which begins with the first of them; gives the write calls.
    fn append(&self, part: usize, blocks: &[u8]) -> io::Result<u64> {
        let mut begun = held(self.begun.get(part).ok_or(io::ErrorKind::NotFound)?);
        let listed = self.listed(Some(part as u32));
        let stripe = self.stripes.get(part).zip(listed.file_name());
        let path = stripe.map(|(directory, name)| directory.join(name));
        let path = path.as_ref().unwrap_or(&listed);
        if !*begun && *path == listed {
            let calls = append(path, &[&stream::start(), blocks].concat())?.calls;
            *begun = true;
            return Ok(calls);
        }
        if !*begun {
            // A write of its own: it needs less room than the start and the blocks together.
            append(path, &stream::start())?;
            symlink(path, &listed).inspect_err(|_| {
                let _ = fs::remove_file(path);
            })?;
            *begun = true;
        }
        Ok(append(path, blocks)?.calls)
    }

    fn write_names(&self, file: &RingFile) -> io::Result<u64> {
        let mut written = held(&self.names_written);
        let count = names::count(file.words());
        if count <= *written {
            return Ok(0);
        }
        let mut out = Vec::new();
        notes::put_names(&mut out, *written, names::since(file.words(), *written));
        let calls = append(&self.listed(None), &out)?.calls;
        *written = count;
        Ok(calls)
    }

    /// Writes how the process ends, as far as that is known.
    pub(super) fn end(&self, file: &RingFile) -> io::Result<u64> {
        let _errno = errno::Saved::new();
        let calls = self.write_names(file)?;
        let facts = file.facts();
        let mut out = Vec::new();
        notes::put_process(&mut out, &notes::process(&facts, &self.host, &self.setup));
        notes::put_end(&mut out, &facts, false);
        let _held = held(&self.names_written);
        Ok(calls + append(&self.listed(None), &out)?.calls)
    }
}

impl Slot {
    /// Sums are written when an eighth of the time has passed since merging began, so that
    /// their bytes grow with the logarithm of it.
    fn sums_are_due(&mut self) -> bool {
        let Some(since) = self.merging_since else {
            return false;
        };
        let now = clock::now();
        let due = now >= self.sums_due;
        if due {
            self.sums_due = now + Ticks(now.since(since).0 / 8);
        }
        due
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
