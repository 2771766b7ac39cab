//! The process writes its streams itself: each thread a file, whenever its ring is half full,
//! or all of them over several directories in turn.

use super::Batch;
use crate::sink::process::OpenError;
use fathomp_feed::append::{Appended, append};
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
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Packed bytes that may wait for a disk that is full.
const WAITING_BYTES: usize = 1 << 20;
/// How wide bins are at first, once intervals are merged.
const BIN_NS: f64 = 1e6;

/// The files of a process.
#[derive(Debug)]
pub(in crate::sink) struct Files {
    setup: Setup,
    host: String,
    /// What tells of the process as a whole.
    base: PathBuf,
    names_written: Mutex<usize>,
    slots: Box<[Mutex<Slot>]>,
    /// Files that all threads share; none if each has its own.
    stripes: Vec<Stripe>,
    next_stripe: AtomicUsize,
    own: Own,
    budget: Budget,
    bin: Ticks,
}

/// Names of threads' own files.
#[derive(Debug)]
struct Own {
    pid: u32,
    begin: Ticks,
}

#[derive(Debug)]
struct Stripe {
    path: PathBuf,
    /// Where readers of the recording find it.
    link: PathBuf,
    /// Whether it is there. Held while it is written to.
    begun: Mutex<bool>,
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
        directories: &[PathBuf],
        file: &RingFile,
    ) -> Result<Self, OpenError> {
        let facts = file.facts();
        let own = Own {
            pid: facts.pid,
            begin: facts.zero,
        };
        let host = message::host();
        let base = setup.streams.join(file_name(own.pid, own.begin, None));
        let mut out = stream::start().to_vec();
        notes::put_process(&mut out, &notes::process(&facts, &host, setup));
        append(&base, &out).map_err(|source| OpenError::File {
            path: base.clone(),
            source,
        })?;
        let stripes = directories.iter().enumerate().map(|(part, directory)| {
            let name = file_name(own.pid, own.begin, Some(part as u32));
            Stripe {
                path: directory.join(&name),
                link: setup.streams.join(name),
                begun: Mutex::new(false),
            }
        });
        Ok(Self {
            setup: setup.clone(),
            host,
            base,
            names_written: Mutex::new(1),
            slots: (0..file.geometry().slots)
                .map(|_| Mutex::default())
                .collect(),
            stripes: stripes.collect(),
            next_stripe: AtomicUsize::new(0),
            own,
            budget: Budget::new(setup.limit_bytes),
            bin: Ticks((BIN_NS / facts.nanos_per_tick.max(1e-3)) as u64),
        })
    }

    pub(super) fn is_striped(&self) -> bool {
        !self.stripes.is_empty()
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
        let appended = if self.stripes.is_empty() {
            let part = Some(index as u32);
            let name = file_name(self.own.pid, self.own.begin, part);
            let path = self.setup.streams.join(name);
            let begin = !path.exists();
            if begin {
                slot.out.splice(..0, stream::start());
            }
            append(&path, &slot.out).inspect_err(|_| {
                if begin {
                    slot.out.drain(..stream::start().len());
                }
            })?
        } else {
            let turn = self.next_stripe.fetch_add(1, Ordering::Relaxed);
            self.stripes[turn % self.stripes.len()].append(&slot.out)?
        };
        self.budget.spend(slot.out.len() as u64);
        slot.out.clear();
        Ok(appended.calls)
    }

    fn write_names(&self, file: &RingFile) -> io::Result<u64> {
        let mut written = held(&self.names_written);
        let count = names::count(file.words());
        if count <= *written {
            return Ok(0);
        }
        let mut out = Vec::new();
        let all = (*written..count).map(|number| names::name(file.words(), number));
        notes::put_names(&mut out, *written, all.collect());
        let calls = append(&self.base, &out)?.calls;
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
        Ok(calls + append(&self.base, &out)?.calls)
    }
}

impl Stripe {
    fn append(&self, blocks: &[u8]) -> io::Result<Appended> {
        let mut begun = held(&self.begun);
        if !*begun {
            append(&self.path, &stream::start())?;
            symlink(&self.path, &self.link)?;
            *begun = true;
        }
        append(&self.path, blocks)
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
