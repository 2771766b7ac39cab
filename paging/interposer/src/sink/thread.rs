//! The sink of a thread: its changes into its ring.

use super::choice::Numbers;
use super::facts::{Change, Identity, Mark, ThreadFacts};
use super::process::{Handed, Process};
use fathomp_feed::layout::{ending, header, slot};
use fathomp_feed::record::{self, END_WORDS, Record, WORDS_MOST};
use fathomp_feed::sums::{Sum, Sums};
use fathomp_paging::{Activity, Cause, Counter, Counts, Ending};
use fathomp_ring::{Ring, Word};
use fathomp_sys::clock;
use fathomp_sys::counters::{self, Usage};
use fathomp_sys::process;
use fathomp_types::Ticks;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Words of a ring kept free for what ends a thread.
const RESERVE: u64 = 4 * END_WORDS as u64;
/// Words of a ring that get memory when a thread begins; later, as many as have it already.
const FIRST_WORDS: usize = 2 << 10;
/// Part of a ring that must be free before merged stays go into it, so that a thread faster
/// than its consumer writes a few records often and not two records always.
const ROOM_SHARE: u64 = 4;
/// How long nothing is asked for again that was refused: memory, or to take records.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// How often a full ring waits for the thread of ours that is emptying it.
const YIELDS: usize = 1000;

/// Takes the changes of one thread. Nothing here waits for a lock; nothing but the writers
/// that write themselves calls the kernel (but for memory, until the ring has all of it);
/// `errno` stays as it was.
#[derive(Debug)]
pub struct ThreadSink {
    process: &'static Process,
    slot: &'static [AtomicU64],
    ring: Ring<'static, AtomicU64>,
    merged: Sums<'static>,
    omitted: Sums<'static>,
    index: usize,
    numbers: Numbers,
    /// A change takes the short way if the ring's head is not beyond this position.
    limit: u64,
    /// Stays that ended by then are not recorded; the end of time if the thread is not
    /// selected.
    from: Ticks,
    to: Ticks,
    counters: u32,
    activities: u32,
    /// End of the last stay.
    last: Ticks,
    /// The last stay was not recorded.
    gap: bool,
    /// Last seen position of the consumer.
    seen_tail: u64,
    /// Position up to which the ring has memory; `u64::MAX` once all of it has.
    grown: u64,
    /// When to ask for memory again.
    stunted: Ticks,
    /// Position from which on records are to be handed on, or whoever takes them is to be called.
    due: u64,
    /// When to try again to hand records on.
    refused: Ticks,
    /// Whether it is known if the thread is selected.
    decided: bool,
    selected: bool,
    /// The numbers are known and not in the ring yet.
    identity_due: bool,
}

impl ThreadSink {
    /// In a slot that was claimed; `None` if there is no memory for it, or no room in its
    /// ring.
    pub(super) fn begin(
        process: &'static Process,
        index: usize,
        facts: &ThreadFacts,
        numbers: Numbers,
    ) -> Option<Self> {
        let file = process.file();
        let at = file.geometry().slot(index);
        file.shared().populate(at..at + slot::WORDS).ok()?;
        let slot = file.slot(index)?;
        let ring = file.ring(index)?;
        let mut thread = Self {
            process,
            slot,
            ring,
            merged: file.merged(index)?,
            omitted: file.omitted(index)?,
            index,
            numbers,
            limit: 0,
            from: Ticks(u64::MAX),
            to: process.choice.to,
            counters: process.choice.counters,
            activities: process.choice.activities,
            last: facts.begin,
            gap: false,
            seen_tail: slot[slot::TAIL].acquire(),
            grown: grown(&ring),
            stunted: Ticks(0),
            due: 0,
            refused: Ticks(0),
            decided: false,
            selected: false,
            identity_due: false,
        };
        if !thread.make_room(&mut Counts::default()) {
            return None;
        }
        slot[slot::THREAD].set(u64::from(numbers.thread) | u64::from(facts.os_id) << 32);
        slot[slot::BEGIN].set(facts.begin.0);
        slot[slot::END].set(0);
        slot[slot::LAST].set(facts.begin.0);
        slot[slot::NEXT].set(Activity::Compute as u64);
        thread.put(&Record::Begin {
            at: facts.begin,
            number: numbers.thread,
            os_id: facts.os_id,
        });
        thread.decide();
        let known = numbers.rank.is_some() || numbers.node.is_some();
        if known || !thread.selected {
            thread.put_identity();
        }
        slot[slot::STATE].release(slot::ACTIVE);
        thread.set_limit();
        Some(thread)
    }

    /// Takes a change. What the sink itself made the kernel count for this thread is added to
    /// `own`: pass the counters' last reading, and it is not taken for the program's.
    #[inline]
    pub fn change(&mut self, change: &Change<'_>, own: &mut Counts) {
        let short = self.ring.head() <= self.limit
            && change.at > self.from
            && change.at >= self.last
            && self.last < self.to
            && self.activities >> change.state.activity as u32 & 1 != 0;
        if !short {
            return self.change_with_care(change, own);
        }
        self.ring.prefetch();
        let mut words = self.ring.append();
        record::put_interval(
            &mut words,
            change.at,
            change.state,
            change.cause,
            change.counts,
            self.counters,
        );
        words.commit();
        self.note(change.at, change.next);
    }

    /// The last stay ended then; the thread now does something else.
    #[inline(always)]
    fn note(&mut self, at: Ticks, next: Activity) {
        self.last = at;
        self.slot[slot::LAST].set(at.0);
        self.slot[slot::NEXT].set(next as u64);
    }

    #[cold]
    #[inline(never)]
    fn change_with_care(&mut self, change: &Change<'_>, own: &mut Counts) {
        // Processors may disagree by a few ticks; a stay never ends before it began.
        let at = change.at.max(self.last);
        let change = Change { at, ..*change };
        if !self.decided {
            self.decide();
            self.identity_due = self.decided;
        }
        let recorded = change.at > self.from
            && self.last < self.to
            && self.activities >> change.state.activity as u32 & 1 != 0;
        let sum = Sum {
            state: change.state,
            stays: 1,
            ticks: change.at.since(self.last),
            counts: chosen(change.counts, self.counters),
        };
        if !recorded {
            self.omitted.add(self.last, &sum);
            self.gap = true;
            self.set_limit();
            self.note(change.at, change.next);
            return;
        }
        if self.make_room(own) && self.put_merged(false, own) {
            if self.identity_due {
                self.put_identity();
            }
            if self.gap {
                self.put(&Record::Gap { at: self.last });
                self.gap = false;
            }
            self.put(&Record::Interval {
                at: change.at,
                state: change.state,
                cause: change.cause,
                merged: 1,
                counts: *change.counts,
            });
        } else {
            self.merged.add(self.last, &sum);
        }
        self.note(change.at, change.next);
        self.set_limit();
    }

    /// Takes a mark. If there is no room for it, it is left out and counted.
    pub fn mark(&mut self, mark: &Mark, own: &mut Counts) {
        if !self.decided {
            self.decide();
        }
        if mark.at <= self.from || mark.at >= self.to {
            return;
        }
        if self.make_room(own) {
            self.put(&Record::Mark {
                at: mark.at,
                kind: mark.kind,
                name: mark.name,
            });
            self.set_limit();
        } else {
            let lost = &self.process.file().words()[header::MARKS_LOST];
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The thread's numbers become known.
    pub fn identity(&mut self, identity: &Identity) {
        if let Some(rank) = identity.rank {
            self.process.set_rank(rank);
        }
        if let Some(node) = identity.node {
            self.process.set_node(node);
        }
        self.numbers.openmp_thread = identity.openmp_thread.or(self.numbers.openmp_thread);
        self.decide();
        self.identity_due = true;
        if self.make_room(&mut Counts::default()) {
            self.put_identity();
        }
        self.set_limit();
    }

    fn put_identity(&mut self) {
        self.identity_due = false;
        self.put(&Record::Identity {
            rank: self.numbers.rank,
            node: self.numbers.node,
            openmp_thread: self.numbers.openmp_thread,
            selected: self.decided.then_some(self.selected),
        });
    }

    /// Whether intervals of the thread are recorded; of others only totals are kept.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        self.selected
    }

    /// The thread ends (its last stay has been told by [`change`](Self::change)).
    pub fn end(mut self, at: Ticks, how: Ending) {
        // Nobody reads the counters of a thread that ends.
        let own = &mut Counts::default();
        let room = self.make_room(own) && self.put_merged(true, own) && self.put_omitted();
        if !room {
            // The slot keeps what found no room until the process ends.
            self.slot[slot::ENDING].set(ending::to_word(how));
            self.slot[slot::END].release(at.0.max(1));
            return;
        }
        self.put(&Record::End { at, ending: how });
        self.slot[slot::STATE].release(slot::RETURNED);
        if self.process.outlet().writes_by_itself() {
            self.process.hand_on(self.index);
        }
        self.process.release(self.index);
    }

    /// Whether the thread is selected, if that can be told by now.
    fn decide(&mut self) {
        self.numbers.rank = self.process.rank();
        self.numbers.node = self.process.node();
        let chosen = self.process.choice.chooses(&self.numbers);
        self.decided = chosen.is_some();
        self.selected = chosen.unwrap_or(false);
        self.from = match self.selected {
            true => self.process.choice.from,
            false => Ticks(u64::MAX),
        };
    }

    fn put(&mut self, record: &Record) {
        let mut words = self.ring.append();
        record::put(&mut words, record, self.counters);
        words.commit();
    }

    /// How far the head may get with what is known of the consumer, and of memory.
    fn end_of_room(&self) -> u64 {
        let end = self.seen_tail.wrapping_add(self.ring.capacity());
        end.saturating_sub(RESERVE).min(self.grown)
    }

    /// Whether so many words fit, given what is known of the consumer.
    fn fits(&self, words: usize) -> bool {
        self.ring.head() + words as u64 <= self.end_of_room()
    }

    /// From where on a change takes the long way.
    fn set_limit(&mut self) {
        let usual = self.decided && !self.gap && !self.identity_due && self.merged.is_empty();
        if !usual || !self.fits(WORDS_MOST) {
            // No head is that low: it is past the record that began the thread.
            self.limit = 0;
            return;
        }
        let end = self.end_of_room() - WORDS_MOST as u64;
        self.limit = end.min(self.due);
    }

    /// Sees to it that the longest record fits, with those that may have to come before it.
    /// What that makes the kernel count is added to `own`.
    fn make_room(&mut self, own: &mut Counts) -> bool {
        const WANTED: usize = WORDS_MOST + 4;
        let outlet = self.process.outlet();
        if self.ring.head() >= self.due {
            self.hand_on_a_batch(own);
        }
        if self.fits(WANTED) {
            return true;
        }
        self.seen_tail = self.slot[slot::TAIL].acquire();
        if self.ring.head() + WANTED as u64 > self.grown {
            self.grow(own);
        }
        if !self.fits(WANTED) && outlet.is_handed_on() {
            self.hand_on(own);
        }
        self.fits(WANTED)
    }

    /// Hands records on if there are enough of them.
    fn hand_on_a_batch(&mut self, own: &mut Counts) {
        self.seen_tail = self.slot[slot::TAIL].acquire();
        let outlet = self.process.outlet();
        let (head, batch) = (self.ring.head(), outlet.batch_words(self.ring.capacity()));
        if head.wrapping_sub(self.seen_tail) >= batch {
            match outlet.is_asynchronous() {
                true => self.process.wake_helper(),
                false => self.hand_on(own),
            }
        }
        // What was not taken at once is tried again when some more has come.
        self.due = (self.seen_tail + batch).max(head + batch / 4);
    }

    fn hand_on(&mut self, own: &mut Counts) {
        let now = clock::now();
        if now < self.refused {
            return;
        }
        let before = counters::thread_usage();
        for _ in 0..YIELDS {
            match self.process.hand_on(self.index) {
                Handed::On => break,
                Handed::Busy => process::yield_now(),
                Handed::Refused => {
                    self.refused = now + self.process.ticks(RETRY_INTERVAL);
                    break;
                }
            }
        }
        self.seen_tail = self.slot[slot::TAIL].acquire();
        add_risen(own, &before, &counters::thread_usage());
    }

    /// Gets memory for as much of the ring again as has it already.
    fn grow(&mut self, own: &mut Counts) {
        let now = clock::now();
        let capacity = self.ring.capacity() as usize;
        // In the first round, positions are places.
        let have = usize::try_from(self.grown)
            .unwrap_or(capacity)
            .min(capacity);
        if now < self.stunted || have == capacity {
            return;
        }
        let before = counters::thread_usage();
        let more = have.max(FIRST_WORDS).min(capacity - have);
        let first = self.process.file().geometry().ring(self.index) + have;
        match self.process.file().shared().populate(first..first + more) {
            Ok(()) if have + more >= capacity => self.grown = u64::MAX,
            Ok(()) => self.grown = (have + more) as u64,
            Err(_) => self.stunted = now + self.process.ticks(RETRY_INTERVAL),
        }
        add_risen(own, &before, &counters::thread_usage());
    }

    /// Puts stays that had been merged into the ring, if it has room again (`soon`: if they
    /// fit at all). Whether none are left.
    fn put_merged(&mut self, soon: bool, own: &mut Counts) -> bool {
        if self.merged.is_empty() {
            return true;
        }
        self.seen_tail = self.slot[slot::TAIL].acquire();
        let waiting = self.ring.head().wrapping_sub(self.seen_tail);
        let capacity = self.ring.capacity();
        if !soon && waiting > capacity - capacity / ROOM_SHARE {
            return false;
        }
        // With what may have to come before and after them.
        let wanted = (self.merged.each().count() + 2) * WORDS_MOST;
        if !self.fits(wanted) && self.ring.head() + wanted as u64 > self.grown {
            self.grow(own);
        }
        if !self.fits(wanted) {
            return false;
        }
        let mut words = self.ring.append();
        // Laid end to end: the time of each state is exact, its place is not.
        let mut at = self.merged.begin();
        record::put(&mut words, &Record::Gap { at }, self.counters);
        for sum in self.merged.each() {
            at += sum.ticks;
            let record = Record::Interval {
                at,
                state: sum.state,
                cause: Cause::NONE,
                merged: sum.stays,
                counts: sum.counts,
            };
            record::put(&mut words, &record, self.counters);
        }
        self.merged.moving(words.position());
        words.commit();
        self.merged.clear();
        self.gap = at != self.last;
        true
    }

    /// Puts what was not selected into the ring, for the totals; whether it fits.
    fn put_omitted(&mut self) -> bool {
        let most = self.omitted.each().count() * WORDS_MOST;
        if !self.fits(most + END_WORDS) {
            return false;
        }
        let mut words = self.ring.append();
        for sum in self.omitted.each() {
            let record = Record::Omitted {
                ticks: sum.ticks,
                state: sum.state,
                stays: sum.stays,
                counts: sum.counts,
            };
            record::put(&mut words, &record, self.counters);
        }
        self.omitted.moving(words.position());
        words.commit();
        self.omitted.clear();
        true
    }
}

/// The counters that are recorded; the others are taken for zero.
fn chosen(counts: &Counts, counters: u32) -> Counts {
    let mut chosen = *counts;
    for (number, count) in chosen.0.iter_mut().enumerate() {
        *count *= u64::from(counters >> number & 1);
    }
    chosen
}

/// How far a ring has memory that a thread before this one may have used.
fn grown(ring: &Ring<'_, AtomicU64>) -> u64 {
    match ring.head() >= ring.capacity() {
        true => u64::MAX,
        false => ring.head(),
    }
}

/// Adds what rose between two readings.
fn add_risen(counts: &mut Counts, before: &Usage, after: &Usage) {
    let mut add = |counter: Counter, of: fn(&Usage) -> u64| {
        counts[counter] += of(after).saturating_sub(of(before));
    };
    add(Counter::MinorFaults, |usage| usage.minor_faults);
    add(Counter::MajorFaults, |usage| usage.major_faults);
    add(Counter::PageIns, |usage| usage.blocks_in / 8);
    add(Counter::BlocksOut, |usage| usage.blocks_out);
    add(Counter::VoluntarySwitches, |usage| usage.voluntary_switches);
    add(Counter::InvoluntarySwitches, |usage| {
        usage.involuntary_switches
    });
}
