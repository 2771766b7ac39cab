//! Dividing the machine's cores with other programs, by a board that all of them read and
//! write ([`fathomp_core_arbiter`]).
//!
//! When a parallel region begins, the thread that forms its team looks at the board, works
//! out which cores are this program's, and says so there; when it ends, the cores are given
//! back but for one. A team gets smaller only where the specification lets the runtime
//! choose: `dyn-var` is true and the construct has no `num_threads` clause. Others keep
//! their size, on the cores that are theirs. Members are bound to their cores, the primary
//! thread only in long regions: it is the program's own.
//!
//! While partners are there, threads without work sleep soon: the core on which they would
//! poll may be somebody else's.
//!
//! Inner regions and regions of further threads of the program take no part: they run
//! within what the outer one has.

mod cores;
mod regions;
mod seat;
mod span;

use crate::event_count::SpinPolicy;
use crate::observer::{Encounter, Observer, Region};
use crate::team::{Member, Team};
use cores::CORES;
use fathomp_core_arbiter::Board;
use fathomp_core_arbiter::presence::Owner;
use fathomp_launch::of_this_process;
use fathomp_sys::affinity;
use fathomp_sys::shm::SharedFile;
use fathomp_sys::static_ref::AtomicRef;
use seat::Seat;
use std::sync::atomic::Ordering;

/// This process's seat at the board, if it has one.
static SEAT: AtomicRef<Seat> = AtomicRef::new(None);

/// Takes a seat if the environment names a board. Called when the library is loaded, so
/// that partners know of this program before its first region. Says nothing if that fails:
/// the program runs as without a board.
pub fn join() {
    if SEAT.load(Ordering::Acquire).is_none() {
        let asked = fathomp_launch::Seat::from_env(&of_this_process);
        let seat = asked.ok().flatten().and_then(|seat| find(&seat));
        SEAT.store(seat, Ordering::Release);
    }
}

fn find(asked: &fathomp_launch::Seat) -> Option<&'static Seat> {
    let allowed = affinity::of_this_thread().ok()?;
    let file = SharedFile::open(&asked.board).ok()?.leak();
    let board = Board::open(file.words()).ok()?;
    // Without it, what cores bring is found out.
    let advice = asked
        .advice
        .as_ref()
        .and_then(|path| crate::observer::advice::read(path).ok());
    let seat = Seat::new(
        board,
        usize::try_from(asked.slot).ok()?,
        Owner::this_process()?,
        allowed,
        asked.watch,
        advice,
    )?;
    Some(Box::leak(Box::new(seat)))
}

/// Whether there is a board: then `dyn-var` may be true because the launcher says so, and
/// clauses keep their word.
#[inline]
pub(crate) fn is_at_board() -> bool {
    SEAT.load(Ordering::Relaxed).is_some()
}

/// The process uses OpenMP. A process that does not, such as a shell that started this
/// one, may have the slot: it gives way.
pub(crate) fn start() {
    if let Some(seat) = SEAT.load(Ordering::Acquire) {
        seat.claim_slot();
    }
}

/// The process ends properly.
pub(crate) fn finish() {
    if let Some(seat) = SEAT.load(Ordering::Acquire) {
        seat.leave();
    }
}

/// Runs in a forked child, whose parent keeps the seat.
pub(crate) fn restart_in_child() {
    SEAT.store(None, Ordering::Release);
    CORES.store(u32::MAX, Ordering::Relaxed);
}

/// Has regions get this program's part of the cores.
pub(crate) struct Partition;

impl Observer for Partition {
    type Waiting = ();

    /// Of an outermost region.
    #[inline]
    fn meets(&self, encounter: &mut Encounter<'_>) {
        let Encounter {
            fork,
            outer,
            size,
            met,
            ..
        } = encounter;
        if let Some(seat) = SEAT.load(Ordering::Relaxed)
            && **size > 1
            && outer.team().active_level() == 0
        {
            (**size, met.shared) = seat.begin(fork, outer, **size);
        }
    }

    #[inline]
    fn region_begins(&self, region: &Region<'_>) {
        if region.met.shared
            && let Some(seat) = SEAT.load(Ordering::Relaxed)
        {
            seat.formed(region.team);
        }
    }

    /// The calling thread goes where the team wants it.
    #[inline]
    fn implicit_begins(&self, member: &'static Member, team: &'static Team) {
        if let Some(seat) = SEAT.load(Ordering::Relaxed) {
            seat.place(member, team);
        }
    }

    #[inline]
    fn region_ends(&self, _outer: &'static Member, team: &'static Team, _by_program: bool) {
        if team.at_end.is_shared()
            && let Some(seat) = SEAT.load(Ordering::Relaxed)
        {
            seat.end();
        }
    }
}

/// The calling thread is new and was started by one that may be bound to a core.
pub(crate) fn unbind() {
    if let Some(seat) = SEAT.load(Ordering::Relaxed) {
        seat.unbind();
    }
}

/// Of `processors` that the program may use, those that are its own now.
#[inline]
pub(crate) fn processors(processors: u32) -> u32 {
    processors.min(CORES.load(Ordering::Relaxed))
}

/// How long a thread without work polls that would do so for `patience`.
#[inline]
pub(crate) fn resting(patience: SpinPolicy) -> SpinPolicy {
    const OFFERS: u32 = 100;
    if CORES.load(Ordering::Relaxed) == u32::MAX {
        patience
    } else {
        SpinPolicy::offering(patience.polls().min(OFFERS))
    }
}
