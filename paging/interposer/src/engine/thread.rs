//! What is known of a thread.

use super::blocks;
use super::kernel_calls;
use super::meter::Meter;
use super::pace::Pace;
use super::process;
use super::stays::{Stays, Token, Top};
use super::turn::Turn;
use crate::sink::{Change, Identity, Mark, ThreadFacts, ThreadSink};
use fathomp_paging::{Activity, Cause, Counter, Ending, MarkKind, State};
use fathomp_sys::thread_slot::ThreadSlot;
use fathomp_sys::{clock, counters};
use fathomp_types::Ticks;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The process was forked, and the thread has not come by since; also a fresh block.
const WIPED: u32 = 0;
/// The thread is recorded.
const RECORDED: u32 = 1;
/// The thread's calls pass straight through.
const PASSING: u32 = 2;
/// The same, while a child of `vfork` runs in its place.
const PAUSED: u32 = 3;

/// The calling thread's block, if it has one.
pub(super) static SLOT: ThreadSlot<Thread> = ThreadSlot::new();

/// A thread, in a block of [`blocks`]. A block of zeroes is valid.
#[repr(C, align(64))]
pub(crate) struct Thread {
    mode: AtomicU32,
    /// How often the thread's end was put off.
    rounds: AtomicU32,
    /// Stack pointer of the interposer's code that runs for the thread; 0 if none does.
    pub(super) busy: AtomicUsize,
    /// Calls that the interposer saw and that the kernel counts as reading or writing.
    seen: AtomicU64,
    /// Such calls in the kernel's count that are not the program's: from before the thread was
    /// recorded, our own looks at that count, and what fathomp's runtime reads and writes.
    not_counted: AtomicU64,
    os_id: AtomicU32,
    /// What a thread that is being created is to run, and with what.
    routine: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
    pub(super) next_free: AtomicPtr<Thread>,
    own: UnsafeCell<MaybeUninit<Own>>,
}

// SAFETY: all but `own` are atomic. `own` is reached through `Turn` alone, which only the
// block's thread can take, and only once at a time; or by the thread that has just taken the
// block and not yet published it.
unsafe impl Sync for Thread {}

impl Thread {
    /// Whether the thread is recorded; if its process is the child of a fork, it is made
    /// ready first.
    #[inline]
    pub(super) fn is_recorded(&'static self) -> bool {
        match self.mode.load(Ordering::Relaxed) {
            RECORDED => true,
            WIPED => self.wake(),
            _ => false,
        }
    }

    #[cold]
    fn wake(&'static self) -> bool {
        // What is called from here on behalf of the sink passes through.
        self.silence();
        process::after_fork();
        let recorded = self.begin(clock::now());
        if recorded {
            self.forget_calls();
        }
        recorded
    }

    /// Calls that the kernel has counted so far are not the recording's.
    fn forget_calls(&self) {
        let calls = kernel_calls::of(self.os_id.load(Ordering::Relaxed));
        // One more is the look at it.
        let before = calls.map_or(0, |calls| calls + 1);
        self.not_counted.store(before, Ordering::Relaxed);
    }

    /// The calling thread is recorded in this block from `begin` on.
    fn begin(&'static self, begin: Ticks) -> bool {
        let Some(process) = process::sink() else {
            return false;
        };
        let facts = ThreadFacts {
            os_id: counters::os_thread_id(),
            begin,
        };
        let Some(sink) = process.thread(&facts) else {
            return false;
        };
        let own = Own {
            stays: Stays::NONE,
            meter: Meter::new(),
            pace: Pace::from(begin),
            since: begin,
            held: None,
            rank_told: 0,
            sink,
        };
        // SAFETY: nobody else uses the block: its mode says so, and it is this thread's.
        let own = unsafe { (*self.own.get()).write(own) };
        if process::reads() {
            own.meter.begin();
        }
        self.seen.store(0, Ordering::Relaxed);
        self.not_counted.store(0, Ordering::Relaxed);
        self.os_id.store(facts.os_id, Ordering::Relaxed);
        self.rounds.store(0, Ordering::Relaxed);
        self.busy.store(0, Ordering::Relaxed);
        self.mode.store(RECORDED, Ordering::Release);
        true
    }

    /// The thread's own part.
    ///
    /// # Safety
    /// The caller is the block's thread, holds its turn, and the thread is recorded.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the turn is what makes it exclusive")]
    pub(super) unsafe fn own(&self) -> &mut Own {
        // SAFETY: as promised; `begin` wrote it before the mode said so.
        unsafe { (*self.own.get()).assume_init_mut() }
    }

    /// Whether the block stands for a thread that is recorded, or for the
    /// [process](Self::mark_process), in this process.
    pub(super) fn is_marked(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == RECORDED
    }

    /// Calls that the kernel counts were made.
    #[inline]
    pub(super) fn saw(&self, calls: u64) {
        let seen = self.seen.load(Ordering::Relaxed);
        self.seen.store(seen + calls, Ordering::Relaxed);
    }

    /// Calls that the kernel counts were made, and not by the program.
    #[cold]
    pub(super) fn leave_out(&self, calls: u64) {
        self.not_counted.fetch_add(calls, Ordering::Relaxed);
    }

    /// Those calls that the interposer saw.
    pub(super) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Such calls of the program as the kernel counted them for the thread, if it is recorded;
    /// `None` if the kernel does not say.
    pub(super) fn made(&self) -> Option<u64> {
        let os_id = self.os_id.load(Ordering::Relaxed);
        if !self.is_marked() || os_id == 0 {
            return Some(0);
        }
        let calls = process::may_ask().then(|| kernel_calls::of(os_id))??;
        let made = calls.saturating_sub(self.not_counted.load(Ordering::Relaxed));
        if os_id == counters::os_thread_id() {
            self.not_counted.fetch_add(1, Ordering::Relaxed);
        }
        Some(made)
    }

    /// The thread's calls pass through until [`resume`](Self::resume).
    pub(crate) fn pause(&self) {
        self.mode.store(PAUSED, Ordering::Relaxed);
    }

    /// After [`pause`](Self::pause); nothing, if there was none.
    pub(crate) fn resume(&self) {
        if self.mode.load(Ordering::Relaxed) == PAUSED {
            self.mode.store(RECORDED, Ordering::Relaxed);
        }
    }

    /// The thread's calls pass through from now on.
    pub(crate) fn silence(&self) {
        self.mode.store(PASSING, Ordering::Relaxed);
    }

    /// The block stands for no thread but for the process.
    pub(super) fn mark_process(&self) {
        self.mode.store(RECORDED, Ordering::Relaxed);
    }

    /// What its block is to run once it is a thread.
    pub(crate) fn prepare(&self, routine: *mut c_void, argument: *mut c_void) {
        self.silence();
        self.routine.store(routine, Ordering::Relaxed);
        self.argument.store(argument, Ordering::Relaxed);
    }

    /// What [`prepare`](Self::prepare) was told.
    pub(crate) fn prepared(&self) -> (*mut c_void, *mut c_void) {
        (
            self.routine.load(Ordering::Relaxed),
            self.argument.load(Ordering::Relaxed),
        )
    }

    /// How often its end was put off before; counts one more.
    pub(super) fn put_off(&self) -> u32 {
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }
}

/// The calling thread is `block` from now on, and recorded.
pub(crate) fn begin(block: &'static Thread) {
    if block.begin(clock::now()) {
        SLOT.set(Some(block));
        process::expect_end(block);
    } else {
        give_up(block);
    }
}

/// The same for a thread that was there before: what it did is not the recording's.
pub(crate) fn begin_late(block: &'static Thread) {
    begin(block);
    block.forget_calls();
}

/// No thread runs in the block.
pub(crate) fn give_up(block: &'static Thread) {
    block.silence();
    block.seen.store(0, Ordering::Relaxed);
    blocks::give_back(block);
}

/// The calling thread's record ends here.
pub(crate) fn end(mut turn: Turn, ending: Ending) {
    turn.own().finish(ending);
    let block = turn.thread();
    process::add_calls(block.seen(), block.made());
    block.silence();
    SLOT.set(None);
    drop(turn);
    give_up(block);
}

/// The calling thread serves the sink: it is no task, and its calls pass through.
pub(crate) fn helper_begins() {
    SLOT.set(None);
}

/// The end of a stay that may turn out not to have been one.
#[derive(Clone, Copy, Debug)]
struct PendingEnd {
    at: Ticks,
    ended: Top,
    next: Activity,
}

/// What only the thread itself touches.
#[derive(Debug)]
pub(crate) struct Own {
    stays: Stays,
    meter: Meter,
    pace: Pace,
    /// When the present stay began.
    since: Ticks,
    held: Option<PendingEnd>,
    /// The process's rank as the sink knows it, and 1; 0 for none.
    rank_told: u32,
    sink: ThreadSink,
}

impl Own {
    /// What the thread does.
    #[inline]
    pub(crate) fn top(&self) -> Top {
        self.stays.top()
    }

    /// A call begins. With `perhaps`, [`take_back`](Self::take_back) can undo that.
    #[inline]
    pub(crate) fn enter(&mut self, call: Top, frame: usize, perhaps: bool) -> Option<Token> {
        if self.stays.is_stale(frame) {
            self.overtake(frame);
        }
        self.settle();
        let top = self.stays.top();
        let next = if top.sealed || top.activity == call.activity {
            Top {
                sealed: top.sealed || call.sealed,
                ..top
            }
        } else {
            call
        };
        let token = self.stays.push_call(next, frame)?;
        if next.activity != top.activity {
            let at = self.read_before();
            if perhaps {
                self.held = Some(PendingEnd {
                    at,
                    ended: top,
                    next: next.activity,
                });
            } else {
                self.tell(top, at, next.activity);
            }
        }
        Some(token)
    }

    /// A call ends.
    #[inline]
    pub(crate) fn leave(&mut self, token: Token) {
        self.settle();
        let top = self.stays.top();
        if self.stays.pop_call(token) {
            self.changed_from(top);
        }
    }

    /// A call ends that did nothing.
    pub(crate) fn take_back(&mut self, token: Token) {
        if self.held.take().is_some() {
            self.stays.pop_call(token);
        } else {
            self.leave(token);
        }
    }

    /// A call ends that began at `begin`, and only now it shows that it did something, which
    /// `count` counts.
    pub(crate) fn was_in(&mut self, call: Top, begin: Ticks, count: impl FnOnce(&mut Self)) {
        self.settle();
        let top = self.stays.top();
        if top.activity == call.activity {
            return count(self);
        }
        if top.sealed || begin <= self.since {
            return;
        }
        if process::reads() {
            self.meter.read_kernel();
        }
        self.tell(top, begin, call.activity);
        count(self);
        self.tell(call, clock::now(), top.activity);
    }

    /// A construct begins whose end will be told.
    pub(crate) fn enter_told(&mut self, activity: Activity, cause: Cause) {
        self.settle();
        let top = self.stays.top();
        if self.stays.push_told(activity, cause) && activity != top.activity {
            let at = self.read_before();
            self.tell(top, at, activity);
        }
    }

    /// The innermost such construct ends.
    pub(crate) fn leave_told(&mut self) {
        self.settle();
        let top = self.stays.top();
        if self.stays.pop_told() {
            self.changed_from(top);
        }
    }

    /// Something was counted.
    #[inline]
    pub(crate) fn add(&mut self, counter: Counter, amount: u64) {
        self.settle();
        self.meter.add(counter, amount);
    }

    /// The counters that the runtime keeps for the thread.
    pub(crate) fn further(&mut self, words: &'static [AtomicU64], first: usize) {
        self.meter.further(words, first);
    }

    /// Something happens now.
    pub(crate) fn mark(&mut self, kind: MarkKind, name: u32) {
        let at = clock::now();
        let (_, last) = self.meter.risen();
        self.sink.mark(&Mark { at, kind, name }, last);
    }

    /// The thread's numbers become known.
    pub(crate) fn identity(&mut self, identity: &Identity) {
        self.sink.identity(identity);
    }

    /// Tells what was not told so far, however little, and goes on in the same state.
    pub(crate) fn flush(&mut self) {
        self.settle();
        let top = self.stays.top();
        if process::reads() {
            self.meter.read_kernel();
        }
        self.tell(top, clock::now(), top.activity);
    }

    fn finish(&mut self, ending: Ending) {
        self.flush();
        // SAFETY: the record ends: the mode that admits to `own` is taken back by our caller
        // before the turn ends, so the sink is not used again.
        let sink = unsafe { ptr::read(&raw const self.sink) };
        sink.end(self.since, ending);
    }

    #[cold]
    fn overtake(&mut self, frame: usize) {
        self.settle();
        let top = self.stays.top();
        self.stays.drop_stale(frame);
        self.changed_from(top);
    }

    #[inline]
    fn changed_from(&mut self, top: Top) {
        let next = self.stays.top().activity;
        if next != top.activity {
            let at = clock::now();
            if process::reads() && self.pace.reads_after_call(self.since, at) {
                self.meter.read_kernel();
            }
            self.tell(top, at, next);
        }
    }

    /// Reads the counters at the end of a stay, which takes part of it: what is about to be
    /// entered is not to be charged for it.
    #[inline]
    fn read_before(&mut self) -> Ticks {
        let at = clock::now();
        if process::reads() && self.pace.reads_before_call(self.since, at) {
            self.meter.read_kernel();
            return clock::now();
        }
        at
    }

    #[inline]
    fn settle(&mut self) {
        if let Some(held) = self.held.take() {
            self.tell(held.ended, held.at, held.next);
        }
    }

    #[inline]
    fn tell(&mut self, ended: Top, at: Ticks, next: Activity) {
        self.meter.read_further();
        let rank = process::rank_word();
        if rank != self.rank_told {
            self.tell_rank(rank);
        }
        let (counts, last) = self.meter.risen();
        let change = Change {
            at,
            state: State {
                activity: ended.activity,
                suspended: counts[Counter::VoluntarySwitches] > 0,
            },
            cause: ended.cause,
            counts,
            next,
        };
        self.sink.change(&change, last);
        self.meter.told();
        self.since = at;
    }

    #[cold]
    fn tell_rank(&mut self, word: u32) {
        self.rank_told = word;
        self.sink.identity(&Identity {
            rank: word.checked_sub(1),
            ..Identity::default()
        });
    }
}
