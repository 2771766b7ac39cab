//! Joins a task's intervals with its samples.
//!
//! Intervals say exactly what rose in them, samples say when. An interval is split
//! at the samples in it. A counter's exact count `c` is shared out over the pieces
//! by the cumulative proportion of the samples, `Q_k = floor(c W_k / W)`, the last
//! piece getting the rest: totals stay exact whatever was sampled. What samples
//! say of a time is shared out by time where a piece begins or ends within it;
//! parts of the interval that no sample covers are taken to be like those that are.
//! If the samples show nothing, `Q_k = floor(c (t_k - a) / (b - a))`.
//!
//! Counters that only samples know are handed out as sampled, cut at intervals' ends
//! in the same way.
//!
//! Where a part of the run was to be recorded, an interval across its edge is cut there, and what
//! lies outside is left out.

use super::assemble::Content;
use super::gather::BlockAt;
use super::visit::BlockReader;
use super::{Recording, View, VisitError};
use crate::pack::{RawSample, Samples};
use crate::{Activity, Cause, Counter, CounterSet, Counts, Interval, State};
use std::sync::Arc;

/// Weights have so many bits below the point.
const FRACTION_BITS: u32 = 16;
/// Bits that the sum of weights is brought down to, so that it can be multiplied
/// with a count.
const WEIGHT_BITS: u32 = 60;
/// If samples cover less than one part in so many of an interval, they say nothing
/// of it.
const COVER_MIN: u64 = 16;

/// Joins intervals, which are given in order, with samples.
pub(super) struct Joiner<'a, F> {
    each: F,
    view: View,
    exact: CounterSet,
    cursor: Cursor<'a>,
    /// Where the last interval ended.
    at: u64,
    /// Sampled counts of times without intervals, for the next one.
    carried: Counts,
    has_carried: bool,
    is_first: bool,
}

/// What samples say of a span of time.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// Rises of the counters that intervals count exactly, with
    /// [`FRACTION_BITS`].
    weights: Weights,
    /// Rises of the others.
    sampled: Counts,
    /// Nanoseconds that samples cover.
    covered: u64,
}

/// Whether weights are asked for, which cost divisions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weigh {
    Yes,
    No,
}

#[derive(Clone, Copy, Default)]
struct Weights([u128; Counter::COUNT]);

impl<'a, F: FnMut(&Interval)> Joiner<'a, F> {
    pub(super) fn new(recording: &'a Recording, content: &'a Content, view: View, each: F) -> Self {
        Self {
            each,
            view,
            exact: content.exact,
            cursor: Cursor::new(recording, content),
            at: 0,
            carried: Counts::ZERO,
            has_carried: false,
            is_first: true,
        }
    }

    /// The next interval.
    pub(super) fn interval(&mut self, interval: &Interval, is_bin: bool) -> Result<(), VisitError> {
        let (begin, end) = (interval.begin, interval.end);
        let (from, to) = self.cursor.content.window;
        let is_cut = !is_bin && (begin < from && from < end || begin < to && to < end);
        if !is_cut && self.cursor.says_nothing(begin, end) && !self.has_carried {
            self.at = end;
            self.cursor.at = end;
            self.is_first = false;
            (self.each)(interval);
            return Ok(());
        }
        if self.view.from > 0 {
            self.cursor.begin(begin)?;
        }
        let between = self.cursor.advance(begin, self.exact, Weigh::No)?.sampled;
        // Before the first interval of a part, samples are of intervals that are not
        // shown.
        if !self.is_first || self.view.from == 0 {
            self.carry(&between);
        }
        self.is_first = false;
        let is_split = is_cut || !is_bin && self.cursor.next_at().is_some_and(|at| at < end);
        if is_split {
            self.split(interval)?;
        } else {
            let shown = self.cursor.advance(end, self.exact, Weigh::No)?;
            self.hand_out(interval, &shown.sampled);
        }
        self.at = end;
        Ok(())
    }

    /// Splits an interval at the samples in it.
    fn split(&mut self, interval: &Interval) -> Result<(), VisitError> {
        let (begin, end) = (interval.begin, interval.end);
        let whole = self.cursor.clone().advance(end, self.exact, Weigh::Yes)?;
        let shares = Shares::new(interval, &whole);
        let mut piece = *interval;
        let mut so_far = Shown::default();
        let mut given = Counts::ZERO;
        loop {
            let (from, to) = self.cursor.content.window;
            let cuts = [self.cursor.next_at(), Some(from), Some(to)]
                .into_iter()
                .flatten();
            let cuts = cuts.filter(|at| *at > piece.begin && *at < end);
            let cut = cuts.min().unwrap_or(end);
            let shown = self.cursor.advance(cut, self.exact, Weigh::Yes)?;
            so_far.covered += shown.covered;
            for (sum, weight) in so_far.weights.0.iter_mut().zip(shown.weights.0) {
                *sum = sum.saturating_add(weight);
            }
            let up_to = if cut == end {
                interval.counts
            } else {
                shares.up_to(cut - begin, &so_far)
            };
            for (number, count) in piece.counts.0.iter_mut().enumerate() {
                *count = up_to.0[number].saturating_sub(given.0[number]);
                given.0[number] += *count;
            }
            piece.end = cut;
            let is_inside = piece.begin >= from && cut <= to;
            if is_inside && self.view.shows(&piece) {
                self.hand_out(&piece, &shown.sampled);
            }
            if cut == end {
                return Ok(());
            }
            piece.begin = cut;
        }
    }

    /// Keeps sampled counts for the next interval.
    fn carry(&mut self, sampled: &Counts) {
        self.carried += sampled;
        self.has_carried |= !sampled.is_zero();
    }

    /// Hands out an interval with what was sampled in it.
    fn hand_out(&mut self, interval: &Interval, sampled: &Counts) {
        self.has_carried = false;
        let mut interval = *interval;
        for counts in [sampled, &std::mem::take(&mut self.carried)] {
            for (counter, count) in counts.nonzero() {
                if self.view.counters.contains(counter) {
                    let sum = &mut interval.counts[counter];
                    *sum = sum.saturating_add(count);
                }
            }
        }
        (self.each)(&interval);
    }

    /// No interval follows: what is left of the samples is handed out as
    /// intervals of their own. Gives the number of blocks that made no sense.
    pub(super) fn finish(mut self) -> Result<u64, VisitError> {
        let content = self.cursor.content;
        let mut blocks = content.intervals.iter().chain(&content.bins);
        let last = blocks
            .next_back()
            .map(|block| content.timeline.at(block.head.end));
        self.at = self.at.max(last.unwrap_or(0));
        let left = self.cursor.advance(self.at, self.exact, Weigh::No)?.sampled;
        // Of intervals that are not shown, or of none.
        let (from, to) = content.window;
        if (self.view.from, self.view.to, from, to) == (0, u64::MAX, 0, u64::MAX) {
            self.carry(&left);
        }
        // A task that was killed, or never told anything, did more than its
        // intervals say.
        let told = content.totals.is_some_and(|totals| totals.stays > 0);
        let all = content.outlived || last.is_none() && !told;
        // Samples are of this task up to here.
        let until = content.sampled.1.min(to);
        if self.at < from {
            self.cursor.advance(from, self.exact, Weigh::No)?;
            self.at = from;
        }
        while let Some(sample) = self.cursor.next
            && self.at.max(sample.since) < until
        {
            let is_untold = all && sample.since >= self.at;
            let exact = if is_untold {
                CounterSet::NONE
            } else {
                self.exact
            };
            let begin = sample.since.max(self.at);
            let end = sample.at.min(until).max(begin);
            let shown = self.cursor.advance(end, exact, Weigh::No)?;
            let says_something = all || !shown.sampled.is_zero() || self.has_carried;
            let interval = rest(begin, end, 1);
            if says_something && self.view.shows(&interval) {
                self.hand_out(&interval, &shown.sampled);
            }
            // Either the sample is used up or the end is reached.
            self.at = end;
        }
        if self.has_carried {
            let interval = rest(self.at, self.at, 0);
            self.hand_out(&interval, &Counts::ZERO);
        }
        Ok(self.cursor.malformed)
    }
}

/// An interval of which only samples are known.
fn rest(begin: u64, end: u64, merged: u64) -> Interval {
    Interval {
        begin,
        end,
        state: State::active(Activity::Compute),
        cause: Cause::UNSEEN,
        counts: Counts::ZERO,
        merged,
    }
}

/// How the counts of an interval are shared out.
struct Shares {
    counts: Counts,
    span: u64,
    whole: Weights,
    /// Bits that weights are brought down by, per counter.
    shifts: [u32; Counter::COUNT],
    /// Nanoseconds that samples cover, and do not.
    covered: u64,
    uncovered: u64,
}

impl Shares {
    fn new(interval: &Interval, whole: &Shown) -> Self {
        let span = interval.end - interval.begin;
        let bits = |weight: u128| u128::BITS - weight.leading_zeros();
        let shifts = whole
            .weights
            .0
            .map(|weight| bits(weight).saturating_sub(WEIGHT_BITS));
        let mut weights = whole.weights;
        for (weight, shift) in weights.0.iter_mut().zip(shifts) {
            *weight >>= shift;
            if whole.covered < span / COVER_MIN {
                *weight = 0;
            }
        }
        Self {
            counts: interval.counts,
            span,
            whole: weights,
            shifts,
            covered: whole.covered,
            uncovered: span.saturating_sub(whole.covered),
        }
    }

    /// What of the counts came within `elapsed` nanoseconds, if the samples show
    /// `so_far` of them.
    fn up_to(&self, elapsed: u64, so_far: &Shown) -> Counts {
        let mut counts = Counts::ZERO;
        for (counter, count) in self.counts.nonzero() {
            let number = counter.index();
            let whole = self.whole.0[number];
            let share = if whole == 0 || self.covered == 0 {
                u128::from(count) * u128::from(elapsed) / u128::from(self.span.max(1))
            } else {
                let shown = (so_far.weights.0[number] >> self.shifts[number]).min(whole);
                let dark = elapsed.saturating_sub(so_far.covered).min(self.uncovered);
                let like = |ns: u64| whole * u128::from(ns) / u128::from(self.covered);
                let all = whole + like(self.uncovered);
                // Below 62 bits times 65 at most.
                u128::from(count) * ((shown + like(dark)).min(all)) / all
            };
            counts.0[number] = share as u64;
        }
        counts
    }
}

/// Goes through the samples of a task; can be copied to look ahead.
#[derive(Clone)]
struct Cursor<'a> {
    recording: &'a Recording,
    content: &'a Content,
    blocks: &'a [BlockAt],
    payload: Arc<Vec<u8>>,
    samples: Samples,
    /// The first that ends after `at`, in nanoseconds.
    next: Option<Sample>,
    /// Up to where samples are used up.
    at: u64,
    malformed: u64,
    is_begun: bool,
}

/// A sample, in nanoseconds of the recording's clock.
#[derive(Clone, Copy)]
struct Sample {
    since: u64,
    at: u64,
    rise: Counts,
    /// It has nothing but what intervals count exactly.
    is_plain: bool,
}

impl<'a> Cursor<'a> {
    fn new(recording: &'a Recording, content: &'a Content) -> Self {
        Self {
            recording,
            content,
            blocks: &content.samples,
            payload: Arc::default(),
            samples: Samples::default(),
            next: None,
            at: content.sampled.0,
            malformed: 0,
            is_begun: false,
        }
    }

    /// Leaves blocks out that end before `from`, if nothing was read yet.
    fn begin(&mut self, from: u64) -> Result<(), VisitError> {
        if !self.is_begun {
            self.is_begun = true;
            let is_before = |block: &&BlockAt| self.content.timeline.at(block.head.end) < from;
            let before = self.blocks.iter().take_while(is_before).count();
            self.blocks = &self.blocks[before..];
            self.next = self.fetch(0)?;
        }
        Ok(())
    }

    /// Whether an interval that begins where the last one ended, or later, lies within
    /// one sample that has nothing but what intervals count exactly: the usual case.
    #[inline]
    fn says_nothing(&self, begin: u64, end: u64) -> bool {
        match &self.next {
            Some(sample) => sample.is_plain && sample.since <= begin && end <= sample.at,
            None => self.is_begun,
        }
    }

    /// When the next sample was taken that is not used up.
    fn next_at(&self) -> Option<u64> {
        self.next.map(|sample| sample.at)
    }

    /// Uses up samples to `to`: what they show of the time since the last call.
    fn advance(&mut self, to: u64, exact: CounterSet, weigh: Weigh) -> Result<Shown, VisitError> {
        let mut shown = Shown::default();
        self.begin(0)?;
        while let Some(sample) = self.next {
            if sample.since >= to && sample.at > to {
                break;
            }
            let from = sample.since.max(self.at);
            let until = sample.at.min(to);
            let span = sample.at - sample.since;
            for (counter, rise) in sample.rise.nonzero() {
                if weigh == Weigh::No && exact.contains(counter) {
                    continue;
                }
                let scaled = u128::from(rise) << FRACTION_BITS;
                // Differences of floors: parts add up to the whole.
                let part = |amount: u128| {
                    if span == 0 {
                        // One where this task's time begins is of the task before.
                        let begin = self.content.sampled.0;
                        let is_ours = sample.at > begin || begin == 0;
                        return if is_ours { amount } else { 0 };
                    }
                    let share = |at: u64| {
                        amount * u128::from(at.saturating_sub(sample.since)) / u128::from(span)
                    };
                    share(until).saturating_sub(share(from))
                };
                let number = counter.index();
                if exact.contains(counter) {
                    let sum = &mut shown.weights.0[number];
                    *sum = sum.saturating_add(part(scaled));
                } else {
                    let sum = &mut shown.sampled.0[number];
                    *sum = sum.saturating_add(part(rise.into()) as u64);
                }
            }
            shown.covered += until.saturating_sub(from);
            if sample.at > to {
                break;
            }
            self.at = self.at.max(sample.at);
            self.next = self.fetch(sample.at)?;
        }
        self.at = self.at.max(to);
        Ok(shown)
    }

    /// The next sample of all blocks, none of whose time is before `after`.
    fn fetch(&mut self, after: u64) -> Result<Option<Sample>, VisitError> {
        loop {
            match self.samples.next(&self.payload) {
                Ok(Some(raw)) => return Ok(Some(self.in_ns(&raw, after))),
                Ok(None) => {}
                Err(_) => self.malformed += 1,
            }
            let Some((block, rest)) = self.blocks.split_first() else {
                return Ok(None);
            };
            self.blocks = rest;
            let mut buffer = Vec::new();
            let mut reader = BlockReader::new(&self.recording.streams);
            let payload = reader.read(block, &mut buffer)?.to_vec();
            match Samples::new(&payload) {
                Some(samples) => self.samples = samples,
                None => self.malformed += 1,
            }
            self.payload = Arc::new(payload);
        }
    }

    fn in_ns(&self, raw: &RawSample, after: u64) -> Sample {
        let time = |tick| self.content.timeline.at(tick);
        let since = time(raw.since).max(after);
        let mut rise = raw.rise;
        for count in &mut rise.0 {
            if *count > Counts::MOST {
                *count = 0;
            }
        }
        Sample {
            since,
            at: time(raw.at).max(since),
            is_plain: rise
                .nonzero()
                .all(|(counter, _)| self.content.exact.contains(counter)),
            rise,
        }
    }
}
