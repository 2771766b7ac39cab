//! Packs the samples of one task: what rose since the sample before.

use super::bins::read_counts;
use super::buffer::Buffer;
use super::{BlockHead, varint};
use crate::stream::{EndNote, Kind};
use crate::{Counter, Counts};
use fathomp_types::Ticks;

/// Packs the samples of one task into blocks.
///
/// Give it either what rose since the last sample ([`sample`](Self::sample)) or
/// readings of counters that only rise ([`reading`](Self::reading)).
#[derive(Debug)]
pub struct SamplePacker {
    buffer: Buffer,
    /// What rose since the last sample that was packed.
    pending: Counts,
    /// Samples in it.
    joined: u64,
    /// The last reading.
    totals: Option<Counts>,
    /// Samples closer to each other are joined.
    spacing: u64,
    end: EndNote,
}

impl SamplePacker {
    /// A packer of the task with number `task` in the numbering of `source`
    /// ([`BY_INTERPOSER`](crate::stream::BY_INTERPOSER) or
    /// [`BY_SAMPLER`](crate::stream::BY_SAMPLER)); `begin` is when the span of the
    /// first sample begins.
    #[must_use]
    pub fn new(source: u32, task: u32, begin: Ticks) -> Self {
        Self {
            buffer: Buffer::new(Kind::Samples, source, task, begin),
            pending: Counts::ZERO,
            joined: 0,
            totals: None,
            spacing: 0,
            end: EndNote::default(),
        }
    }

    /// At `at`, `rise` had risen since the last sample. A time before that of the
    /// last sample is taken for it, and counted.
    pub fn sample(&mut self, at: Ticks, rise: &Counts) {
        let before = self.buffer.head.end;
        if at < before {
            self.end.clock_went_back += 1;
        }
        let at = at.max(before);
        self.pending += rise;
        self.joined += 1;
        if at.since(before).0 >= self.spacing {
            self.pack(at);
        }
    }

    /// At `at`, the counters stood at `totals`; the first reading is only where
    /// the others start from. A counter that went back or wrapped is taken to
    /// have risen by nothing, and that is counted.
    pub fn reading(&mut self, at: Ticks, totals: &Counts) {
        let Some(before) = self.totals.replace(*totals) else {
            // Nothing is known of the time before.
            if self.joined == 0 && self.buffer.is_empty() && at > self.buffer.head.end {
                self.buffer.begin_at(at);
            }
            return;
        };
        let mut rise = Counts::ZERO;
        for counter in Counter::ALL {
            match totals[counter].checked_sub(before[counter]) {
                Some(by) => rise[counter] = by,
                None => self.end.counters_went_back += 1,
            }
        }
        self.sample(at, &rise);
    }

    /// From now on samples closer than `spacing` to the last one are added to
    /// the next, to save room.
    pub fn space(&mut self, spacing: Ticks) {
        self.spacing = spacing.0;
    }

    /// Whether it is time to [`seal`](Self::seal) and write the block.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.buffer.is_full()
    }

    /// Completes the block under construction, if there is anything in it.
    pub fn seal(&mut self) -> Option<&[u8]> {
        self.buffer.seal()
    }

    /// Packs what was kept back for the next sample: no more will come after
    /// `at`. To be called before the last [`seal`](Self::seal).
    pub fn finish(&mut self, at: Ticks) {
        if self.joined > 0 {
            self.pack(at.max(self.buffer.head.end));
        }
    }

    /// What was packed so far.
    #[must_use]
    pub fn end_note(&self) -> EndNote {
        self.end
    }

    fn pack(&mut self, at: Ticks) {
        let ticks = at.since(self.buffer.head.end).0;
        if !self.buffer.make_room() {
            // Blocks are not taken away: it stays pending.
            return;
        }
        self.end.samples += 1;
        self.end.samples_joined += self.joined.saturating_sub(1);
        self.joined = 0;
        let rise = std::mem::take(&mut self.pending);
        self.buffer.put_number(ticks);
        let mask = rise
            .nonzero()
            .fold(0, |mask, (one, _)| mask | 1 << one.index());
        self.buffer.put_number(mask);
        for (_, count) in rise.nonzero() {
            self.buffer.put_number(count);
        }
        self.buffer.end_entry(at);
    }
}

/// A sample, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawSample {
    /// When the sample before was taken.
    pub(crate) since: Ticks,
    /// When this one was.
    pub(crate) at: Ticks,
    /// What rose between.
    pub(crate) rise: Counts,
}

/// The samples of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    /// Byte of the payload after its head.
    at: usize,
    since: Ticks,
}

impl Samples {
    /// The samples of a block's payload; `None` if it has no head.
    pub(crate) fn new(payload: &[u8]) -> Option<Self> {
        let (head, _) = BlockHead::split(payload)?;
        Some(Self {
            at: 0,
            since: head.begin,
        })
    }

    /// The next sample of the same payload.
    ///
    /// # Errors
    /// If what follows is none.
    pub(crate) fn next(&mut self, payload: &[u8]) -> Result<Option<RawSample>, super::Malformed> {
        let packed = payload.get(super::HEAD_BYTES..).unwrap_or(&[]);
        if self.at >= packed.len() {
            return Ok(None);
        }
        let mut read = || {
            let ticks = varint::read(packed, &mut self.at)?;
            let rise = read_counts(packed, &mut self.at)?;
            let since = self.since;
            self.since = since + Ticks(ticks);
            Some(RawSample {
                since,
                at: self.since,
                rise,
            })
        };
        let sample = read();
        if sample.is_none() {
            self.at = usize::MAX;
        }
        sample.map(Some).ok_or(super::Malformed)
    }
}
