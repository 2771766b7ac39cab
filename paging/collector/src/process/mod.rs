//! One process being recorded: its rings, or what it sends, into its stream.

mod rest;

use crate::store::{NotWritten, Output, Store};
use fathomp_feed::facts::{End, Facts};
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::slot;
use fathomp_feed::message::ClockNote;
use fathomp_feed::names;
use fathomp_feed::notes;
use fathomp_feed::scribe::{Scribe, Taken};
use fathomp_paging::Ending;
use fathomp_paging::setup::{Handover, Setup};
use fathomp_paging::stream::{self, file_name};
use fathomp_ring::Word;
use fathomp_types::Ticks;
use std::io;

/// How wide bins are at first, once intervals are merged.
const BIN_NS: f64 = 1e6;
/// Channels that make sense; more are not taken from a peer.
const CHANNELS_MOST: usize = 1 << 14;
/// Names that make sense, as many as a ring file has room for.
const NAMES_MOST: usize = fathomp_feed::layout::names::MOST;
/// Part of a process's streams in which the collector completes what the process wrote.
const REST: u32 = u32::MAX;

/// Where a process that sends messages is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whereabouts {
    pub(crate) host: String,
    /// It is on another host than the recording's clock.
    pub(crate) far: bool,
    pub(crate) clock: ClockNote,
}

/// What all processes have in common.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) store: &'a mut Store,
    /// Length of a tick on this host, as well as it is known; none if processes know better.
    pub(crate) nanos_per_tick: Option<f64>,
}

impl Common<'_> {
    /// How wide bins are, if the limit is reached.
    fn merging(&self) -> Option<Ticks> {
        let nanos_per_tick = self.nanos_per_tick.unwrap_or(1.0).max(1e-3);
        let reached = self.store.bytes >= self.setup.limit_bytes;
        reached.then_some(Ticks((BIN_NS / nanos_per_tick) as u64))
    }
}

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) file: Option<RingFile>,
    /// What it said of itself by message.
    pub(crate) told: Option<Facts>,
    pub(crate) place: Whereabouts,
    /// Its connection is open.
    pub(crate) connected: bool,
    /// It became another program, whose file is there.
    pub(crate) replaced: bool,
    /// It was seen to have ended.
    pub(crate) gone: bool,
    handover: Handover,
    channels: Vec<Channel>,
    names_told: Vec<String>,
    names_written: usize,
    output: Option<Output>,
    /// Blocks that are not written yet.
    pending: Vec<u8>,
    /// Why blocks could not be written at some time.
    failure: Option<io::Error>,
    last_seen: Ticks,
    /// The file was cut shorter by somebody; it must not be touched any more.
    cut_off: bool,
    /// Words that were sent and never came.
    missing: u64,
}

/// A thread's channel, as far as it has been taken.
#[derive(Debug, Default)]
struct Channel {
    scribe: Scribe,
    /// Words taken.
    position: u64,
}

impl Process {
    pub(crate) fn new(file: Option<RingFile>, handover: Handover) -> Self {
        Self {
            file,
            told: None,
            place: Whereabouts::default(),
            connected: false,
            replaced: false,
            gone: false,
            handover,
            channels: Vec::new(),
            names_told: vec![String::new()],
            names_written: 1,
            output: None,
            pending: Vec::new(),
            failure: None,
            last_seen: Ticks(0),
            cut_off: false,
            missing: 0,
        }
    }

    /// What the process says of itself.
    pub(crate) fn facts(&self, common: &Common<'_>) -> Facts {
        let mut facts = match (&self.file, &self.told) {
            (Some(file), _) if !self.cut_off => file.facts(),
            (_, Some(told)) => told.clone(),
            _ => Facts::default(),
        };
        if let Some(nanos_per_tick) = common.nanos_per_tick
            && !self.place.far
        {
            facts.nanos_per_tick = nanos_per_tick;
        }
        facts
    }

    /// Number of the process.
    pub(crate) fn pid(&self) -> u32 {
        let file = self.file.as_ref().map(|file| file.pid());
        file.or(self.told.as_ref().map(|told| told.pid))
            .unwrap_or(0)
    }

    /// What was taken of all its channels.
    pub(crate) fn taken(&self) -> Taken {
        let mut sum = Taken::default();
        for channel in &self.channels {
            let taken = channel.scribe.taken();
            sum.records += taken.records;
            sum.merged = sum.merged.saturating_add(taken.merged);
            sum.damaged += taken.damaged;
        }
        sum
    }

    /// Why the stream could not be written at some time, if that happened.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Times that something was lost: words that were no records, or never came.
    pub(crate) fn damage(&self) -> u64 {
        self.taken().damaged + self.missing + u64::from(self.cut_off)
    }

    /// Notes that the process is alive now.
    pub(crate) fn alive(&mut self) {
        let now = self.file.as_ref().map(|_| fathomp_sys::clock::now());
        self.last_seen = now.unwrap_or(self.last_seen);
    }

    /// Whether it has certainly ended, or is another program by now.
    pub(crate) fn has_ended(&self) -> bool {
        match &self.file {
            Some(file) => self.replaced || file.has_ended(),
            None => !self.connected,
        }
    }

    fn channel(&mut self, index: usize) -> &mut Channel {
        if self.channels.len() <= index {
            self.channels.resize_with(index + 1, Channel::default);
        }
        &mut self.channels[index]
    }

    /// Takes what is worth taking out of the rings; with `all`, everything.
    pub(crate) fn drain(&mut self, all: bool, common: &mut Common<'_>) {
        let Some(file) = self.file.take() else {
            return;
        };
        if !self.cut_off && !file.is_whole() {
            self.cut_off = true;
        }
        if self.handover == Handover::Rings && !self.cut_off {
            for index in 0..file.slots_used() {
                self.drain_slot(&file, index, all, common);
            }
        }
        self.file = Some(file);
        if self.pending.len() >= 32 << 10 {
            self.write(common);
        }
    }

    fn drain_slot(&mut self, file: &RingFile, index: usize, all: bool, common: &Common<'_>) {
        let Some(ring) = file.ring(index) else {
            return;
        };
        let channel = self.channel(index);
        let Some(written) = ring.due(channel.position, all) else {
            return;
        };
        let mut words = Vec::new();
        if ring.copy(channel.position, written, &mut words).is_err() {
            // Nothing in this ring can be relied on; go on with what comes.
            channel.scribe.damage();
        }
        channel.position = written;
        ring.consume(written);
        self.take(index, &words, common);
    }

    /// Takes words of a channel.
    fn take(&mut self, index: usize, words: &[u64], common: &Common<'_>) {
        let mut out = std::mem::take(&mut self.pending);
        let merging = common
            .merging()
            .or(self.failure.as_ref().map(|_| Ticks(1 << 20)));
        let channel = self.channel(index);
        if let Some(width) = merging {
            channel.scribe.merge(width);
        }
        channel.scribe.take(words, &mut out);
        self.pending = out;
    }

    /// Takes words that the process sent.
    pub(crate) fn words(
        &mut self,
        index: usize,
        position: u64,
        words: &[u64],
        common: &mut Common<'_>,
    ) {
        if index >= CHANNELS_MOST || self.handover != Handover::Messages {
            self.missing += 1;
            return;
        }
        let channel = self.channel(index);
        let have = channel.position;
        let end = position.saturating_add(words.len() as u64);
        // What was sent again after a connection broke comes twice.
        let again = usize::try_from(have.saturating_sub(position)).unwrap_or(words.len());
        let Some(fresh) = words
            .get(again.min(words.len())..)
            .filter(|fresh| !fresh.is_empty())
        else {
            return;
        };
        if position > have {
            channel.scribe.damage();
        }
        channel.position = end;
        self.take(index, fresh, common);
        if self.pending.len() >= 32 << 10 {
            self.write(common);
        }
    }

    /// Takes names that the process sent, numbered on from `first`.
    pub(crate) fn names(&mut self, first: u64, body: &[u8]) {
        let first = usize::try_from(first).unwrap_or(NAMES_MOST);
        let body = body.strip_suffix(&[0]).unwrap_or(body);
        let all = body.split(|&byte| byte == 0);
        for (number, name) in (first..NAMES_MOST).zip(all) {
            if self.names_told.len() <= number {
                self.names_told.resize(number + 1, String::new());
            }
            self.names_told[number] = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// Puts the names that are not in the stream yet.
    fn put_names(&mut self, out: &mut Vec<u8>) {
        let first = self.names_written;
        let new: Vec<String> = match &self.file {
            Some(file) if !self.cut_off => names::since(file.words(), first),
            _ => self.names_told.get(first..).unwrap_or_default().to_vec(),
        };
        if !new.is_empty() {
            self.names_written += new.len();
            notes::put_names(out, first, new);
        }
    }

    /// The blocks that a stream begins with, or goes on with in another file.
    fn introduce(&mut self, common: &Common<'_>, out: &mut Vec<u8>) {
        out.extend(stream::start());
        notes::put_process(out, &self.note(common, self.facts(common)));
        self.names_written = 1;
        self.put_names(out);
        for channel in &self.channels {
            channel.scribe.introduce(out);
        }
    }

    fn note(&self, common: &Common<'_>, facts: Facts) -> stream::ProcessNote {
        let host = match self.place.host.is_empty() {
            true => fathomp_feed::message::host(),
            false => self.place.host.clone(),
        };
        let mut note = notes::process(&facts, &host, common.setup);
        if let Some(zero) = common.setup.clock {
            let remote = common.store.remote.as_ref();
            if self.place.far {
                // By the time of day, as the hosts agreed on it.
                let apart = i128::from(facts.zero_unix_ns) - i128::from(zero.zero_unix_ns)
                    + i128::from(self.place.clock.offset_ns);
                note.offset_ns = i64::try_from(apart).ok();
                note.offset_error_ns = Some(self.place.clock.uncertainty_ns);
            } else if let Some(remote) = remote {
                // By ticks, which both count; the recording's clock moves with its host.
                let ticks = i128::from(facts.zero.0) - i128::from(zero.zero.0);
                note.offset_ns = Some((ticks as f64 * zero.nanos_per_tick).round() as i64);
                note.offset_error_ns = Some(remote.clock().uncertainty_ns);
            }
        }
        note
    }

    /// Writes what is packed; if that fails, it is kept, and intervals are merged from now on.
    fn write(&mut self, common: &mut Common<'_>) {
        if self.output.is_none() {
            let facts = self.facts(common);
            let part = (self.handover == Handover::Files).then_some(REST);
            let name = file_name(facts.pid, facts.zero, part);
            let mut out = Vec::new();
            self.introduce(common, &mut out);
            out.append(&mut self.pending);
            self.pending = out;
            self.output = Some(common.store.place(&name));
        }
        let mut out = std::mem::take(&mut self.pending);
        self.put_names(&mut out);
        let Some(output) = &self.output else { return };
        let mut written = common.store.append(output, &out);
        if let Err(NotWritten::GoOnHere) = written {
            let facts = self.facts(common);
            let name = file_name(facts.pid, facts.zero, Some(REST - 1));
            let mut whole = Vec::new();
            self.introduce(common, &mut whole);
            whole.append(&mut out);
            out = whole;
            let here = common.store.place_here(&name);
            written = common.store.append(&here, &out);
            self.output = Some(here);
        }
        match written {
            Ok(()) => {}
            Err(NotWritten::Disk(error)) => {
                self.failure.get_or_insert(error);
                self.pending = out;
            }
            // Only streams elsewhere go on here.
            Err(NotWritten::GoOnHere) => self.pending = out,
        }
    }

    /// Writes what is packed so far; with `sums`, those of merged intervals, too.
    pub(crate) fn flush(&mut self, sums: bool, common: &mut Common<'_>) {
        if self.failure.is_some() && !self.pending.is_empty() {
            self.write(common);
            if !self.pending.is_empty() {
                return;
            }
        }
        for channel in &mut self.channels {
            channel.scribe.flush(sums, &mut self.pending);
        }
        if !self.pending.is_empty() {
            self.write(common);
        }
    }

    /// Takes everything that is left and completes the stream. `running` says that the
    /// process has not ended yet. False if it could not all be written: then it may be tried
    /// [again](Self::retry).
    pub(crate) fn complete(&mut self, running: bool, common: &mut Common<'_>) -> bool {
        if self.told.is_none() && self.file.is_none() {
            return true;
        }
        self.drain(true, common);
        let mut facts = self.facts(common);
        let end = self.end(&facts, running);
        if let Some(file) = self.file.take() {
            if !self.cut_off {
                for index in 0..file.slots_used() {
                    self.close_slot(&file, index, &end, common);
                }
            }
            self.file = Some(file);
        }
        for channel in &mut self.channels {
            channel.scribe.end(end.at, end.ending, &mut self.pending);
        }
        // A process that wrote and ended as it should has said all this itself.
        let said =
            self.handover == Handover::Files && facts.end.is_some() && self.pending.is_empty();
        if said {
            return true;
        }
        facts.end = Some(end);
        let mut out = std::mem::take(&mut self.pending);
        let mut note = self.note(common, facts.clone());
        if end.ending != Ending::Exit && end.ending != Ending::Exec {
            // Nobody counted.
            (note.io_calls_seen, note.io_calls_made) = (None, None);
        }
        let missing = self.damage();
        if missing > 0 {
            note.problems.push(format!(
                "What process {pid} handed on was damaged or incomplete {missing} times; some \
                 of its changes of state are missing.",
                pid = facts.pid
            ));
        }
        if self.output.is_none() {
            self.write(common);
        }
        self.put_names(&mut out);
        notes::put_process(&mut out, &note);
        notes::put_end(&mut out, &facts, self.failure.is_some());
        self.pending.append(&mut out);
        self.write(common);
        self.pending.is_empty()
    }

    /// Tries again to write what is packed.
    pub(crate) fn retry(&mut self, common: &mut Common<'_>) -> bool {
        self.write(common);
        self.pending.is_empty()
    }

    /// When and how the process ended.
    fn end(&self, facts: &Facts, running: bool) -> End {
        let lasts = self.file.iter().filter(|_| !self.cut_off).flat_map(|file| {
            let used = (0..file.slots_used()).filter_map(|index| file.slot(index));
            used.map(|words| Ticks(words[slot::LAST].get()))
        });
        let last_sign = lasts.max().unwrap_or_default();
        let packed = self.channels.iter().filter_map(|one| one.scribe.position());
        let last_sign = packed.map(|(_, at)| at).fold(last_sign, Ticks::max);
        let now = self.file.as_ref().map(|_| fathomp_sys::clock::now());
        match facts.end {
            Some(end) => End {
                at: end.at.max(last_sign),
                ..end
            },
            None => End {
                at: match running {
                    true => now.unwrap_or(last_sign).max(last_sign),
                    false => last_sign.max(self.last_seen),
                },
                ending: match running {
                    true => Ending::Running,
                    false => Ending::Lost,
                },
                io_calls_seen: 0,
                io_calls_made: None,
                environment_cleared: false,
            },
        }
    }
}
