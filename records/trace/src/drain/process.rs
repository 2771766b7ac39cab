//! From one process's rings to its stream.

use super::budget::Budget;
use super::merge::Sums;
use super::output::Output;
use super::source::Source;
use crate::record::Record;
use crate::stream::{self, Block, Kind, Origin, ProcessNote, SitesNote, ThreadNote};
use crate::wire::{self, Entry};
use fathomp_blocks::{Blocks, Piece};
use fathomp_types::{Clock, ThreadId, Ticks};
use std::io;

/// Words of records per block, so that a damaged block costs little.
const BLOCK_WORDS: usize = 1 << 15;

/// One process being drained.
#[derive(Debug)]
pub(crate) struct Stream {
    source: Source,
    output: Output,
    slots: Vec<Slot>,
    sites_written: usize,
    sums: Sums,
    clock: Clock,
    /// What is added to the header's facts when the stream is complete.
    counts: Counts,
    /// Notes about threads that found the disk full.
    unwritten: Vec<(Origin, ThreadNote)>,
    /// Sets of values that did.
    unwritten_words: Vec<u64>,
    /// Words copied out of a ring; kept to be used again.
    buffer: Vec<u64>,
    last_seen: Ticks,
    /// Why blocks could not be written. From then on executions are only
    /// summed: that takes little room, and the disk may not stay full.
    failure: Option<io::Error>,
    /// The file was cut shorter by somebody; it must not be touched any more.
    cut_off: bool,
}

/// A slot as far as it has been drained.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Words taken out of its ring.
    pub(crate) position: u64,
    /// Its thread.
    pub(crate) thread: Option<ThreadId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    records: u64,
    details_left_out: u64,
    damaged: u64,
}

/// Blocks under construction for one slot.
struct Batch {
    out: Vec<u8>,
    words: Vec<u64>,
    slot: u32,
    thread: ThreadId,
}

impl Batch {
    /// Ends the block of records, which says that everything before `position`
    /// is in the stream.
    fn close(&mut self, position: u64) {
        if !self.words.is_empty() {
            let origin = Origin {
                slot: self.slot,
                thread: self.thread,
                position,
            };
            stream::put_records(&mut self.out, origin, &self.words);
            self.words.clear();
        }
    }
}

impl Stream {
    /// Begins the stream of a process.
    pub(crate) fn begin(source: Source, output: Output) -> io::Result<Self> {
        let mut stream = Self::resume(source, output, Vec::new(), 0);
        let mut out = Vec::new();
        let note = stream.source.process();
        stream::put_note(&mut out, Kind::Process, Origin::default(), &note);
        stream.output.append(&out)?;
        Ok(stream)
    }

    /// Goes on where somebody else left off.
    pub(crate) fn resume(
        source: Source,
        output: Output,
        slots: Vec<Slot>,
        sites_written: usize,
    ) -> Self {
        Self {
            clock: source.process().clock(),
            source,
            output,
            slots,
            sites_written,
            sums: Sums::default(),
            counts: Counts::default(),
            unwritten: Vec::new(),
            unwritten_words: Vec::new(),
            buffer: Vec::new(),
            last_seen: Ticks(0),
            failure: None,
            cut_off: false,
        }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn into_output(self) -> Output {
        self.output
    }

    /// Records taken out of the rings so far.
    pub(crate) fn records(&self) -> u64 {
        self.counts.records
    }

    /// Why the stream could not be written at some time, if that happened.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Notes that the process is alive now.
    pub(crate) fn alive(&mut self) {
        self.last_seen = fathomp_sys::clock::now();
    }

    /// Takes what is worth taking out of the rings; with `all`, everything. Gives bytes written.
    pub(crate) fn drain(&mut self, budget: &mut Budget, all: bool) -> u64 {
        if !self.cut_off && !self.source.is_whole() {
            self.cut_off = true;
            self.counts.damaged += 1;
        }
        if self.cut_off {
            return 0;
        }
        let slots = 0..self.source.slots_used();
        slots.map(|index| self.drain_slot(index, budget, all)).sum()
    }

    /// Gives bytes written.
    fn drain_slot(&mut self, index: usize, budget: &mut Budget, all: bool) -> u64 {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::default);
        }
        let Some(ring) = self.source.ring(index) else {
            return 0;
        };
        let slot = &mut self.slots[index];
        let Some(written) = ring.due(slot.position, all) else {
            return 0;
        };
        let mut words = std::mem::take(&mut self.buffer);
        words.clear();
        if ring.copy(slot.position, written, &mut words).is_err() {
            // Nothing in this ring can be relied on; go on with what comes.
            self.counts.damaged += 1;
        }
        // Sites are published before the records that name them, so all of
        // them are there by now.
        let mut out = Vec::with_capacity(words.len() * 8 + 256);
        let sites = self.put_sites(&mut out);
        self.digest(index, &words, budget, &mut out);
        self.buffer = words;
        let bytes = self.write(&out, budget, Some(sites));
        self.slots[index].position = written;
        // What a reader salvages stays where it is: it may be read again.
        let ring = self.source.ring(index);
        if let (Some(ring), Output::File(..)) = (ring, &self.output) {
            ring.consume(written);
        }
        bytes
    }

    /// Sorts words of a ring into blocks, sums and what is left out.
    fn digest(&mut self, index: usize, words: &[u64], budget: &mut Budget, out: &mut Vec<u8>) {
        let mut batch = Batch {
            out: std::mem::take(out),
            words: Vec::new(),
            slot: index as u32,
            thread: ThreadId(0),
        };
        let begin = self.slots[index].position;
        let mut at = 0;
        while at < words.len() {
            let Ok((entry, length)) = wire::read(&words[at..]) else {
                self.counts.damaged += 1;
                break;
            };
            let raw = &words[at..at + length];
            let before = begin.wrapping_add(at as u64);
            at += length;
            let after = begin.wrapping_add(at as u64);
            match entry {
                Entry::Record(record) => {
                    batch.thread = self.thread_of(index);
                    self.sort(batch.thread, &record, raw, budget, &mut batch.words);
                    if batch.words.len() >= BLOCK_WORDS {
                        batch.close(after);
                    }
                }
                // Without them executions say less, and there are few.
                Entry::Words(_) | Entry::Dry(_) if self.failure.is_none() => {
                    batch.words.extend(raw);
                }
                Entry::Words(_) | Entry::Dry(_) => self.keep_words(raw),
                Entry::ThreadBegin { thread, os_id, at } => {
                    batch.close(before);
                    self.slots[index].thread = Some(thread);
                    let note = ThreadNote {
                        id: thread,
                        os_id,
                        begin: at,
                        end: at,
                        ..ThreadNote::default()
                    };
                    self.put_thread(&mut batch, note, after);
                }
                Entry::ThreadEnd {
                    thread,
                    at,
                    dropped,
                } => {
                    batch.close(before);
                    let note = ThreadNote {
                        id: thread,
                        end: at,
                        dropped,
                        ended: true,
                        ..ThreadNote::default()
                    };
                    self.put_thread(&mut batch, note, after);
                    self.slots[index].thread = None;
                }
                Entry::Unknown => self.counts.damaged += 1,
            }
        }
        batch.close(begin.wrapping_add(words.len() as u64));
        *out = batch.out;
    }

    /// The thread whose records a slot's ring holds now.
    fn thread_of(&mut self, index: usize) -> ThreadId {
        match self.slots[index].thread {
            Some(thread) => thread,
            None => {
                // The mark of its beginning was lost; the slot may know.
                let thread = self.source.unfinished(index).thread;
                let thread = thread.map_or(ThreadId(0), |thread| thread.id);
                self.slots[index].thread = Some(thread);
                thread
            }
        }
    }

    /// Keeps a set of values until there is room for it.
    fn keep_words(&mut self, raw: &[u64]) {
        /// More than any program has but one that never repeats itself.
        const MOST: usize = 1 << 20;
        if self.unwritten_words.len() < MOST {
            self.unwritten_words.extend(raw);
        } else {
            self.counts.details_left_out += 1;
        }
    }

    fn put_thread(&mut self, batch: &mut Batch, note: ThreadNote, position: u64) {
        let origin = Origin {
            slot: batch.slot,
            thread: note.id,
            position,
        };
        if self.failure.is_some() {
            self.unwritten.push((origin, note));
        } else {
            stream::put_note(&mut batch.out, Kind::Thread, origin, &note);
        }
    }

    /// Decides what becomes of a record.
    fn sort(
        &mut self,
        thread: ThreadId,
        record: &Record,
        raw: &[u64],
        budget: &mut Budget,
        out: &mut Vec<u64>,
    ) {
        self.counts.records += 1;
        let bytes = size_of_val(raw);
        let room = self.failure.is_none();
        let length = |begin: Ticks, end: Ticks| self.clock.span(end.since(begin));
        match record {
            Record::Instance(instance) if !room || !budget.allows_executions() => {
                self.sums.add_instance(thread, instance);
            }
            Record::Instance(_) => out.extend(raw),
            Record::Counters(reading) => {
                let joined = self.sums.join_reading(thread, reading);
                if room && budget.take_detail(length(joined.since, joined.at), bytes) {
                    wire::write_counters(out, &joined);
                } else {
                    self.sums.keep_reading(thread, joined);
                }
            }
            Record::Interval(_)
            | Record::Loop(_)
            | Record::Phase(_)
            | Record::Message(_)
            | Record::Transfer(_) => {
                let (begin, end) = record.span();
                if room && budget.take_detail(length(begin, end), bytes) {
                    out.extend(raw);
                } else {
                    self.counts.details_left_out += 1;
                }
            }
        }
    }

    /// Puts the sites that are not in the stream yet; gives their number.
    fn put_sites(&self, out: &mut Vec<u8>) -> usize {
        let count = self.source.site_count();
        if count > self.sites_written {
            let note = SitesNote {
                first: self.sites_written as u32,
                sites: (self.sites_written..count)
                    .map(|index| self.source.site(index))
                    .collect(),
            };
            stream::put_note(out, Kind::Sites, Origin::default(), &note);
        }
        count
    }

    /// Appends blocks to the stream; gives their bytes. If that fails, what can
    /// be summed is summed.
    fn write(&mut self, blocks: &[u8], budget: &mut Budget, sites: Option<usize>) -> u64 {
        if blocks.is_empty() {
            return 0;
        }
        match self.output.append(blocks) {
            Ok(()) => {
                budget.spend(blocks.len());
                self.sites_written = sites.unwrap_or(self.sites_written);
                blocks.len() as u64
            }
            Err(error) => {
                self.failure = Some(error);
                self.take_back(blocks);
                0
            }
        }
    }

    /// Keeps in memory what matters of blocks that could not be written.
    fn take_back(&mut self, blocks: &[u8]) {
        for piece in Blocks::new(blocks) {
            let Piece::Block(block) = piece else { continue };
            let block = Block::from(block);
            let thread = block.origin.thread;
            match block.kind {
                Some(Kind::Thread) => {
                    if let Ok(note) = serde_json::from_slice(block.payload) {
                        self.unwritten.push((block.origin, note));
                    }
                }
                Some(Kind::Records) => {
                    let words: Vec<u64> = stream::words(block.payload).collect();
                    let mut rest = &words[..];
                    while let Ok((entry, length)) = wire::read(rest) {
                        let raw = &rest[..length];
                        rest = &rest[length..];
                        match entry {
                            Entry::Words(_) | Entry::Dry(_) => self.keep_words(raw),
                            Entry::Record(Record::Instance(instance)) => {
                                self.sums.add_instance(thread, &instance);
                            }
                            Entry::Record(Record::Counters(reading)) => {
                                let joined = self.sums.join_reading(thread, &reading);
                                self.sums.keep_reading(thread, joined);
                            }
                            _ => self.counts.details_left_out += 1,
                        }
                    }
                }
                // Written again from the source when there is room.
                Some(Kind::Process | Kind::Sites) | None => {}
            }
        }
    }

    /// Whether there are sums to be written.
    pub(crate) fn has_sums(&self) -> bool {
        !self.sums.is_empty() || !self.unwritten_words.is_empty()
    }

    /// Writes the sums; gives the bytes written.
    pub(crate) fn write_sums(&mut self, budget: &mut Budget) -> u64 {
        let mut out = Vec::new();
        let sites = self.put_sites(&mut out);
        let (merged, lost) = (self.sums.merged, self.sums.lost);
        for (thread, records) in self.sums.take() {
            let mut words = Vec::new();
            for record in &records {
                wire::write_record(&mut words, record);
            }
            let origin = Origin {
                thread,
                ..Origin::default()
            };
            stream::put_records(&mut out, origin, &words);
        }
        for (origin, note) in std::mem::take(&mut self.unwritten) {
            stream::put_note(&mut out, Kind::Thread, origin, &note);
        }
        let words = std::mem::take(&mut self.unwritten_words);
        if !words.is_empty() {
            stream::put_records(&mut out, Origin::default(), &words);
        }
        let bytes = self.write(&out, budget, Some(sites));
        if bytes == 0 {
            // Taken back, which must not count them twice.
            (self.sums.merged, self.sums.lost) = (merged, lost);
        }
        bytes
    }

    /// Takes everything out and ends what the program left open. `running`
    /// says that the process has not ended yet.
    pub(crate) fn close(&mut self, budget: &mut Budget, running: bool) {
        self.drain(budget, true);
        if !self.cut_off {
            let mut out = Vec::new();
            self.close_open(budget, running, &mut out);
            self.write(&out, budget, None);
        }
    }

    /// Completes the stream, after [`close`](Self::close).
    ///
    /// # Errors
    /// If it cannot be written. It can be tried again.
    pub(crate) fn seal(&mut self, budget: &mut Budget, running: bool) -> io::Result<()> {
        self.write_sums(budget);
        let mut out = Vec::new();
        let note = ProcessNote {
            complete: true,
            running,
            last_seen: self.last_seen,
            details_left_out: self.counts.details_left_out,
            executions_merged: self.sums.merged,
            executions_lost: self.sums.lost,
            damaged: self.counts.damaged,
            disk_full: self.failure.is_some(),
            ..self.source.process()
        };
        stream::put_note(&mut out, Kind::Process, Origin::default(), &note);
        self.output.append(&out)
    }

    /// Ends what the process left open at its own end, as far as known.
    fn close_open(&mut self, budget: &mut Budget, running: bool, out: &mut Vec<u8>) {
        let mut open: Vec<_> = (0..self.source.slots_used())
            .map(|index| (index, self.source.unfinished(index)))
            .collect();
        let last_sign = open
            .iter()
            .filter_map(|(_, slot)| Some(slot.thread?.end))
            .max()
            .unwrap_or_default();
        let end = match self.source.process().end {
            Some(end) => end,
            None if running => fathomp_sys::clock::now(),
            None => last_sign.max(self.last_seen),
        };
        for (index, slot) in &mut open {
            let Some(mut thread) = slot.thread else {
                continue;
            };
            let mut words = Vec::new();
            for instance in &mut slot.instances {
                if instance.end == Ticks(0) {
                    instance.end = end.max(instance.begin);
                    instance.busy = instance.end.since(instance.begin);
                }
                let mut raw = Vec::new();
                wire::write_instance(&mut raw, instance);
                let record = Record::from(instance.clone());
                self.sort(thread.id, &record, &raw, budget, &mut words);
            }
            if !words.is_empty() {
                let origin = Origin {
                    slot: *index as u32,
                    thread: thread.id,
                    position: 0,
                };
                stream::put_records(out, origin, &words);
            }
            thread.end = thread.end.max(end);
            let origin = Origin {
                slot: *index as u32,
                thread: thread.id,
                position: 0,
            };
            if self.failure.is_some() {
                self.unwritten.push((origin, thread));
            } else {
                stream::put_note(out, Kind::Thread, origin, &thread);
            }
        }
    }
}
