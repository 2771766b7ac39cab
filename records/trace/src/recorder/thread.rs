//! What one thread says.

mod room;
mod tasks;

pub use tasks::TaskBegin;

use super::Recorder;
use super::asleep;
use super::carry;
use super::cells::OwnLine;
use super::frames::{clear, head_of, is_quiet, words};
use super::phases::OpenPhase;
use super::sampler::{Asleep, Sampler};
use super::start::Start;
use crate::dsm::{DsmCount, DsmCounts};
use crate::layout::{frame, slot};
use crate::record::{CounterReading, Interval, LoopShare, Message, Transfer};
use crate::state::State;
use crate::wire::{self, InstanceHead};
use fathomp_regions::DryLoop;
use fathomp_ring::Word;
use fathomp_ring::{Cursor, Ring};
use fathomp_sys::clock::now;
use fathomp_sys::{counters, float};
use fathomp_types::mpi;
use fathomp_types::{SiteId, ThreadId, Ticks};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters are read when this much time has passed since the last reading: the
/// system calls then cost half a per cent.
const SAMPLE_EVERY_US: f64 = 100.0;

/// The recorder of one thread. Only the thread that attached it may call it;
/// if another does, the thread's recording is wrong, but nothing worse.
#[derive(Debug)]
pub struct ThreadRecorder {
    slot: &'static [AtomicU64; slot::WORDS],
    ring: Ring<'static, AtomicU64>,
    /// First word of the ring in the shared file.
    ring_at: usize,
    /// Words that must stay free of details.
    detail_margin: u64,
    recorder: &'static Recorder,
    index: usize,
    own: OwnLine<Private>,
}

/// What only the thread itself needs to know.
#[derive(Debug, Default)]
struct Private {
    /// Last seen position of the drainer.
    seen_tail: AtomicU64,
    /// Position up to which the ring has memory; `u64::MAX` once all of it has.
    grown: AtomicU64,
    /// Position up to which records can be written without a look at `grown` and at whether
    /// the drainer has to be called.
    limit: AtomicU64,
    /// When the ring last failed to grow, in ticks.
    stunted: AtomicU64,
    /// When the thread met a `single` construct whose block another one runs; 0 after the next
    /// barrier.
    single_lost: AtomicU64,
    /// Shortest wait that gets a record, in ticks.
    interval_min: AtomicU64,
    /// Time between counter readings, in ticks.
    sample_every: AtomicU64,
    /// Time of the last reading, in ticks.
    sampled: AtomicU64,
    phase: OpenPhase,
    /// Never held while something is recorded.
    sampler: Mutex<Sampler>,
}

impl ThreadRecorder {
    pub(super) fn new(recorder: &'static Recorder, index: usize) -> Option<Self> {
        let geometry = &recorder.geometry;
        let (slot_at, ring_at) = (geometry.slot(index), geometry.ring(index));
        let slot_range = slot_at..slot_at + slot::WORDS;
        recorder.file.populate(slot_range.clone()).ok()?;
        let slot: &'static [AtomicU64; slot::WORDS] =
            recorder.words.get(slot_range)?.try_into().ok()?;
        let ring = recorder.words.get(ring_at..ring_at + geometry.ring_words)?;
        let ring = Ring::new(ring, &slot[slot::HEAD], &slot[slot::TAIL])?;
        Some(Self {
            slot,
            ring,
            ring_at,
            detail_margin: ring.capacity() / 4,
            recorder,
            index,
            own: OwnLine::default(),
        })
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// A new thread takes the slot, and a number if there is room for it.
    pub(super) fn begin_thread(&self, number: impl FnOnce() -> ThreadId) -> bool {
        if !self.fits(wire::THREAD_BEGIN_WORDS) {
            return false;
        }
        let since_start = self.recorder.begin_of_thread();
        let at = since_start.unwrap_or_else(now);
        let (thread, os_id) = (number(), counters::os_thread_id());
        self.slot[slot::THREAD].set(u64::from(thread.0) | u64::from(os_id) << 32);
        self.slot[slot::BEGIN].set(at.0);
        self.slot[slot::LAST].set(at.0);
        for cleared in [slot::DROPPED, slot::DEPTH, slot::CARRIED] {
            self.slot[cleared].set(0);
        }
        self.open_frame(0, &Start::default(), at);
        self.own.phase.reset();
        let mut record = self.ring.append();
        wire::write_thread_begin(&mut record, thread, os_id, at);
        record.commit();
        self.slot[slot::STATE].store(slot::ACTIVE, Ordering::Release);
        let settings = &self.recorder.settings;
        let interval_us = settings.interval_ns as f64 / 1000.0;
        self.own
            .interval_min
            .set(self.recorder.ticks(interval_us).max(1));
        self.own
            .sample_every
            .set(self.recorder.ticks(SAMPLE_EVERY_US).max(1));
        self.begin_counting(at, since_start.is_some());
        true
    }

    /// The thread ends: whatever is open ends now.
    pub(super) fn end_thread(&self) {
        self.read_counters();
        while self.slot[slot::DEPTH].get() > 0 {
            self.end();
        }
        let at = now();
        self.close_serial(at);
        carry::flush(self);
        let lost = self.slot[slot::CARRIED].get();
        if lost > 0 {
            self.slot[slot::DROPPED].add(carry::executions(self));
            self.slot[slot::CARRIED].set(0);
        }
        self.sampler().end();
        let thread = ThreadId(self.slot[slot::THREAD].get() as u32);
        self.slot[slot::LAST].set(at.0);
        // Every other record leaves room for this one.
        let mut record = self.ring.append();
        wire::write_thread_end(&mut record, thread, at, self.slot[slot::DROPPED].get());
        record.commit();
        self.slot[slot::STATE].store(slot::RETURNED, Ordering::Release);
    }

    /// The thread begins the code of a parallel region. Every call needs an
    /// [`end`](Self::end). Regions nested deeper than eight levels are counted
    /// instead of recorded; their waits go to the deepest recorded one.
    #[inline]
    pub fn begin(&self, start: &Start) {
        let depth = self.slot[slot::DEPTH].get();
        let at = self.sampled_now();
        if depth == 0 {
            self.close_serial(at);
        }
        let depth = depth + 1;
        if depth < slot::FRAME_COUNT as u64 {
            self.open_frame(depth as usize, start, at);
        } else {
            self.recorder.count_too_deep();
        }
        // Whoever finds the slot after a crash sees a frame only when it is
        // complete.
        self.slot[slot::DEPTH].store(depth, Ordering::Release);
    }

    /// The thread is through with the innermost region.
    #[inline]
    pub fn end(&self) {
        let at = self.sampled_now();
        self.finish_region(at);
    }

    /// Like [`end`](Self::end), for a caller that has taken the time: the end
    /// of the barrier, or the moment before it told the others that it is
    /// through, so that nobody waits for the recorder.
    #[inline]
    pub fn end_at(&self, at: Ticks) {
        self.slot[slot::LAST].set(at.0);
        self.sample_counters();
        self.finish_region(at);
    }

    #[inline(always)]
    fn finish_region(&self, at: Ticks) {
        let depth = self.slot[slot::DEPTH].get();
        if depth == 0 {
            return;
        }
        if depth < slot::FRAME_COUNT as u64 {
            self.write_instance(self.frame(depth as usize), at);
        }
        self.slot[slot::DEPTH].store(depth - 1, Ordering::Release);
        if depth == 1 {
            self.frame(0)[frame::BEGIN].set(at.0);
        }
    }

    /// The present moment, at which a wait begins that is to be told to
    /// [`wait`](Self::wait). Counters are read if that is due, so that no reading
    /// covers much of both computing and waiting.
    #[inline]
    pub fn wait_begins(&self) -> Ticks {
        self.sampled_now()
    }

    /// The thread waited in `state` from `begin` to `end`. Outside any region
    /// this is recorded as part of the serial part, except for
    /// [`State::Idle`], which only shows in the timeline.
    #[inline]
    pub fn wait(&self, state: State, begin: Ticks, end: Ticks) {
        self.wait_at(None, state, begin, end);
    }

    /// As [`wait`](Self::wait), for a construct at `site`; else it is put down to the region.
    #[inline]
    pub fn wait_at(&self, site: Option<SiteId>, state: State, begin: Ticks, end: Ticks) {
        let ticks = end.since(begin).0;
        let frame = self.innermost();
        self.accumulate(frame, state, ticks, 1);
        if matches!(state, State::ExplicitBarrier | State::ImplicitBarrier) {
            self.wait_for_single(frame, begin, ticks);
        }
        self.slot[slot::LAST].set(end.0);
        if ticks >= self.own.interval_min.get() {
            let interval = Interval {
                state,
                begin,
                end,
                site: site.unwrap_or(SiteId(frame[frame::SITE].get() as u32)),
            };
            self.detail(wire::INTERVAL_WORDS, |record| {
                wire::write_interval(record, &interval);
            });
        }
        self.sample_counters();
    }

    /// The thread called MPI.
    pub fn message(&self, message: &Message) {
        let (site, begin, end) = (message.site, message.begin, message.end);
        self.wait_at(Some(site), State::Communication, begin, end);
        self.detail(wire::MESSAGE_WORDS, |record| {
            wire::write_message(record, message);
        });
    }

    /// A message of a call of MPI, whose record follows.
    pub fn transfer(&self, what: &mpi::Transfer) {
        let transfer = Transfer {
            at: now(),
            what: *what,
        };
        self.detail(wire::TRANSFER_WORDS, |record| {
            wire::write_transfer(record, &transfer);
        });
    }

    /// Another thread runs the block of a `single` construct that this one met.
    #[inline]
    pub fn single_lost(&self) {
        self.own.single_lost.set(now().0);
    }

    /// A barrier to which the thread came straight from a `single` construct is that construct's
    /// own, and what it waits there for is the thread that runs the block.
    #[inline]
    fn wait_for_single(&self, frame: &[AtomicU64; frame::WORDS], begin: Ticks, ticks: u64) {
        /// A thread that does anything in between takes longer.
        const STRAIGHT_US: f64 = 2.0;
        let lost = self.own.single_lost.get();
        if lost != 0 {
            self.own.single_lost.set(0);
            if begin.since(Ticks(lost)).0 <= self.recorder.ticks(STRAIGHT_US) {
                frame[frame::SINGLE_WAIT].add(ticks);
            }
        }
    }

    /// The runtime itself worked from `begin` to `end`; counted `weight` times
    /// because only one in `weight` such spans is measured.
    #[inline]
    pub fn overhead(&self, begin: Ticks, end: Ticks, weight: u32) {
        /// A thread that takes longer has lost its processor meanwhile: that stands for itself.
        const LONGEST_US: f64 = 10.0;
        let span = end.since(begin).0;
        let times = match span > self.recorder.ticks(LONGEST_US) {
            true => 1,
            false => u64::from(weight),
        };
        let ticks = span.saturating_mul(times);
        self.accumulate(self.innermost(), State::Overhead, ticks, u64::from(weight));
    }

    /// The thread was dealt that many chunks, of so many loop iterations together.
    #[inline]
    pub fn chunks(&self, chunks: u64, iterations: u64) {
        let frame = self.innermost();
        frame[frame::CHUNKS].add(chunks);
        frame[frame::ITERATIONS].add(iterations);
    }

    /// The thread entered a critical section or took a lock.
    #[inline]
    pub fn mutex_taken(&self) {
        self.innermost()[frame::MUTEXES].add(1);
    }

    /// Sharing memory between nodes has cost the thread this until `at`. Time in faults and in
    /// atomic instructions is time it communicates; other locks and barriers are part of
    /// waits that are told by themselves, and flushes of what the program does.
    pub fn dsm(&self, counts: &DsmCounts, at: Ticks) {
        self.slot[slot::LAST].set(at.0);
        let frame = self.innermost();
        let (have, mut more) = (frame[frame::DSM_MASK].get(), counts.mask());
        frame[frame::DSM_MASK].set(have | more);
        while more != 0 {
            let number = more.trailing_zeros() as usize;
            let word = &frame[frame::DSM + number];
            if have >> number & 1 != 0 {
                word.add(counts.0[number]);
            } else {
                word.set(counts.0[number]);
            }
            more &= more - 1;
        }
        let (ticks, number) = counts.communication();
        if ticks != Ticks(0) {
            self.accumulate(frame, State::Communication, ticks.0, number.max(1));
        }
        self.own.phase.add(counts);
        if counts[DsmCount::Barriers] != 0
            && let Some(phase) = self.own.phase.end(frame, at)
        {
            self.detail(wire::PHASE_WORDS, |record| {
                wire::write_phase(record, &phase);
            });
        }
    }

    /// The thread has no more iterations of a worksharing loop. The region's
    /// sums of chunks and iterations come from [`chunks`](Self::chunks) alone,
    /// the loop's own from `share`.
    #[inline]
    pub fn loop_done(&self, share: &LoopShare) {
        self.innermost()[frame::LOOPS].add(1);
        self.detail(wire::LOOP_WORDS, |record| wire::write_loop(record, share));
    }

    /// Notes the values that a region at `site` is begun with, as the set of that number.
    /// `known` has a bit for each of `values` that is known. Of more than 64 values the rest
    /// is left out. False if there is no room now: say it again with the next execution.
    #[cold]
    #[must_use]
    pub fn words(&self, site: SiteId, set: u64, known: u64, values: &[i64]) -> bool {
        let fits = self.fits(wire::SET_WORDS);
        if fits {
            let mut record = self.ring.append();
            wire::write_words(&mut record, site, set, known, values);
            record.commit();
        }
        fits
    }

    /// Notes what a dry run with the values of a set found of a loop. False if there is no
    /// room now.
    #[cold]
    #[must_use]
    pub fn dry(&self, set: u64, found: &DryLoop) -> bool {
        let fits = self.fits(wire::DRY_WORDS);
        if fits {
            let mut record = self.ring.append();
            wire::write_dry(&mut record, set, found);
            record.commit();
        }
        fits
    }

    /// Reads the thread's counters if the last reading is some time ago. What
    /// was counted is put down to the innermost region. [`begin`](Self::begin)
    /// and [`end`](Self::end) do so themselves; more calls make long regions
    /// finer.
    #[inline]
    pub fn sample_counters(&self) {
        // The latest sign of life stands in for the time, which would cost
        // more than all the rest of this call.
        let elapsed = self.slot[slot::LAST]
            .get()
            .saturating_sub(self.own.sampled.get());
        if elapsed >= self.own.sample_every.get() {
            self.read_counters();
        }
    }

    /// The present moment, which is a sign of life, after the counters were
    /// read if that was due.
    #[inline(always)]
    fn sampled_now(&self) -> Ticks {
        let at = now();
        self.slot[slot::LAST].set(at.0);
        let due = self.own.sample_every.get();
        if at.0.saturating_sub(self.own.sampled.get()) < due {
            return at;
        }
        self.read_counters();
        now()
    }

    #[inline(always)]
    fn frame(&self, depth: usize) -> &[AtomicU64; frame::WORDS] {
        let depth = depth.min(slot::FRAME_COUNT - 1);
        words(self.slot, slot::FRAMES + depth * frame::WORDS)
    }

    #[inline(always)]
    fn innermost(&self) -> &[AtomicU64; frame::WORDS] {
        self.frame(self.slot[slot::DEPTH].get() as usize)
    }

    pub(super) fn slot(&self) -> &[AtomicU64; slot::WORDS] {
        self.slot
    }

    #[inline(always)]
    fn open_frame(&self, depth: usize, start: &Start, at: Ticks) {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let frame = self.frame(depth);
        let ways = wire::ways(start.level, start.decider, float::marks());
        frame[frame::SITE].set(pair(start.site.0, ways));
        frame[frame::INSTANCE].set(start.instance.0);
        frame[frame::PARENT].set(start.parent.0);
        frame[frame::TEAM].set(pair(start.thread_num, start.team_size));
        frame[frame::FORK].set(start.fork.0);
        frame[frame::BEGIN].set(at.0);
        frame[frame::SET].set(start.set);
        clear(frame);
    }

    #[inline(always)]
    fn accumulate(&self, frame: &[AtomicU64; frame::WORDS], state: State, ticks: u64, waits: u64) {
        let (mask, bit) = (frame[frame::MASK].get(), 1 << state as u64);
        let (sum, count) = (
            &frame[frame::TICKS + state as usize],
            &frame[frame::WAITS + state as usize],
        );
        if mask & bit == 0 {
            sum.set(ticks);
            count.set(waits);
            frame[frame::MASK].set(mask | bit);
        } else {
            sum.add(ticks);
            count.add(waits);
        }
    }

    /// Writes what was accumulated outside all regions, if anything but
    /// waiting for work.
    #[inline]
    fn close_serial(&self, at: Ticks) {
        let frame = self.frame(0);
        if is_quiet(frame) {
            frame[frame::MASK].set(0);
            return;
        }
        frame[frame::FORK].set(frame[frame::BEGIN].get());
        frame[frame::TEAM].set(1 << 32);
        self.write_instance(frame, at);
        frame[frame::BEGIN].set(at.0);
        clear(frame);
    }

    /// Writes an execution of a region; if it does not fit, carries it until
    /// it does.
    #[inline]
    fn write_instance(&self, frame: &[AtomicU64; frame::WORDS], end: Ticks) {
        if self.slot[slot::CARRIED].get() != 0 {
            carry::flush(self);
        }
        let head = head_of(frame, end, None);
        if self.fits(head.words()) {
            self.put_instance(&head, frame);
        } else if !carry::add(self, frame, end) {
            self.slot[slot::DROPPED].add(1);
        }
    }

    #[inline(always)]
    pub(super) fn put_instance(&self, head: &InstanceHead, frame: &[AtomicU64; frame::WORDS]) {
        let mut record = self.ring.append();
        let state = |state: usize| {
            let state = state.min(State::RECORDED - 1);
            (
                frame[frame::TICKS + state].get(),
                frame[frame::WAITS + state].get(),
            )
        };
        let dsm = |count: usize| frame[frame::DSM + count.min(DsmCount::COUNT - 1)].get();
        head.write(&mut record, state, dsm);
        record.commit();
        self.ring.prefetch();
    }

    /// Writes a record that is dispensable if there is ample room for it.
    #[inline]
    fn detail(&self, words: usize, write: impl FnOnce(&mut Cursor<'static, AtomicU64>)) {
        if self.room(words as u64, self.detail_margin) {
            let mut record = self.ring.append();
            write(&mut record);
            record.commit();
        } else {
            self.slot[slot::DROPPED].add(1);
        }
    }

    fn sampler(&self) -> std::sync::MutexGuard<'_, Sampler> {
        self.own
            .sampler
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts from now on, or from the thread's start.
    fn begin_counting(&self, at: Ticks, from_start: bool) {
        self.sampler().begin(self.recorder, from_start);
        self.own.sampled.set(at.0);
        asleep::reset();
    }

    #[cold]
    fn read_counters(&self) {
        let reading = self.reading();
        self.own.sampled.set(reading.at.0);
        self.slot[slot::LAST].set(reading.at.0);
        self.detail(wire::COUNTERS_WORDS, |record| {
            wire::write_counters(record, &reading);
        });
    }

    /// What was counted since the last reading.
    fn reading(&self) -> CounterReading {
        let mut sampler = self.sampler();
        let (since, at) = (Ticks(self.own.sampled.get()), now());
        let nanos = |ticks: u64| (ticks as f64 / self.recorder.ticks_per_microsecond * 1e3) as u64;
        let asleep = match self.recorder.sleep_is_unknown() {
            false => Asleep::Ns(nanos(asleep::reset())),
            true => Asleep::AtMostNs(nanos(asleep::reset())),
        };
        CounterReading {
            since,
            at,
            site: SiteId(self.innermost()[frame::SITE].get() as u32),
            counts: sampler.read(nanos(at.since(since).0), asleep),
        }
    }
}
