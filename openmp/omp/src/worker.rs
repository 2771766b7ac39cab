//! An OS thread as the runtime knows it.

use crate::icv::Icvs;
use crate::observer;
use crate::observer::recording::OfThread;
use crate::observer::tool::{self, ThreadWords};
use crate::own::Own;
use crate::runtime::{Runtime, runtime};
use crate::team::{Group, Member, Team};
use fathomp_sys::own_cell::OwnCell;
use fathomp_sys::stack_overflow::{self, Owner};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_sys::thread_slot::ThreadSlot;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// An OS thread that runs OpenMP code: one of the program's own, or one the
/// runtime started.
#[repr(align(128))]
pub struct Worker {
    pub(crate) recording: OfThread,
    /// Hash of the affinity line shown last; 0 if none.
    pub(crate) shown_affinity: Own,
    /// Whether the interposer knows which of the OpenMP threads this is.
    pub(crate) introduced: Own,
    /// Number + 1 of the place this OS thread was bound to last; 0 if none.
    pub(crate) bound: Own,
    /// Where it was bound last for programs that share the machine (see
    /// [`crate::observer::core_partition`]); 0 if it is not bound.
    pub(crate) shared: Own,
    /// Regions this thread has forked and not yet joined.
    pub(crate) depth: Own,
    /// Teams this thread has used as primary, by depth, kept for the next fork.
    pub(crate) teams: OwnCell<Vec<&'static Team>>,
    /// Regions begun by the legacy `GOMP_parallel_start`, innermost last.
    pub(crate) open: OwnCell<Vec<crate::parallel::Frame>>,
    /// Regions whose teams are decided, if any are.
    pub(crate) regions: OwnCell<Option<Box<crate::observer::advice::Regions>>>,
    /// Whether `omp_get_max_threads` was called since the last region; kept only if teams
    /// are decided.
    pub(crate) asked_for_most: Own,
    /// What this thread has asked of its team's size in the present region; see
    /// [`crate::observer::advice::Counting`].
    pub(crate) counting: crate::observer::advice::Counting,
    /// The implicit task of this thread outside all regions, if the thread is
    /// the program's own.
    home: AtomicRef<Member>,
    pub(crate) tool: ThreadWords,
}

/// What the calling thread does now.
static CURRENT: ThreadSlot<Member> = ThreadSlot::new();

/// The calling thread's place in its innermost team. A thread that is new to
/// the runtime gets a team of its own.
#[inline]
pub fn current() -> &'static Member {
    match CURRENT.get() {
        Some(member) => member,
        None => adopt(),
    }
}

/// The calling thread's place in its innermost team, if the thread is known.
pub(crate) fn known() -> Option<&'static Member> {
    CURRENT.get()
}

/// The calling thread plays `member` from now on.
#[inline]
pub(crate) fn set_current(member: &'static Member) {
    CURRENT.set(Some(member));
}

/// Makes a thread of the program known.
#[cold]
fn adopt() -> &'static Member {
    let runtime = runtime();
    tool::await_begin();
    if let Some(member) = CURRENT.get() {
        // A tool that has just begun has made the thread known.
        return member;
    }
    let worker = runtime.pool.guest();
    let home = worker.home(runtime.initial_icvs());
    set_current(home);
    worker.start_recording();
    observer::adopts(home);
    let is_first = fathomp_sys::process::is_initial_thread();
    if is_first {
        observer::introduce(home, 0);
    }
    // Its destructor runs when the thread ends. A thread that comes here from
    // another destructor has none left to run: its worker is lost, not harmed.
    // The initial thread ends with the process; nobody needs its workers then.
    if !is_first {
        let _ = GUEST.try_with(|guest| guest.0.set(Some(worker)));
        stack_overflow::cover(Owner::Program);
    }
    home
}

/// Gives a thread of the program back when it ends: its workers serve others.
struct ReturnedAtExit(Cell<Option<&'static Worker>>);

thread_local! {
    static GUEST: ReturnedAtExit = const { ReturnedAtExit(Cell::new(None)) };
}

impl Drop for ReturnedAtExit {
    fn drop(&mut self) {
        let Some(worker) = self.0.take() else { return };
        stack_overflow::uncover();
        // A thread that ends inside a region it forked leaves its team behind;
        // the others may still use it.
        if worker.depth.get() != 0 {
            return;
        }
        for team in worker.teams.take() {
            runtime().pool.retire(team);
        }
        crate::observer::advice::finish(worker);
        observer::leaves_program(CURRENT.get());
        worker.stop_recording();
        CURRENT.set(None);
        worker.vacate();
        runtime().pool.return_guest(worker);
    }
}

impl Worker {
    pub(crate) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            recording: OfThread::none(),
            shown_affinity: Own::new(0),
            introduced: Own::new(0),
            bound: Own::new(0),
            shared: Own::new(0),
            depth: Own::new(0),
            teams: OwnCell::new(Vec::new()),
            open: OwnCell::new(Vec::new()),
            regions: OwnCell::new(None),
            asked_for_most: Own::new(0),
            counting: crate::observer::advice::Counting::new(),
            home: AtomicRef::new(None),
            tool: ThreadWords::new(),
        }))
    }

    /// The team of one that stands for an initial thread outside all regions.
    fn home(&'static self, icvs: Icvs) -> &'static Member {
        let member = self.home.load(Ordering::Relaxed).unwrap_or_else(|| {
            let group: &'static Group = Box::leak(Box::default());
            let member = Team::leak(1, Some(group)).member(0);
            self.home.store(Some(member), Ordering::Relaxed);
            member
        });
        member.seat(self);
        member.set_icvs(icvs);
        member
    }

    /// Lets another OS thread become this worker.
    pub(crate) fn vacate(&self) {
        self.bound.set(0);
        self.shared.set(0);
        self.shown_affinity.set(0);
        self.introduced.set(0);
        self.teams.disown();
        self.open.disown();
        self.regions.disown();
        if let Some(home) = self.home.load(Ordering::Relaxed) {
            home.vacate();
        }
    }
}

/// The calling thread keeps no teams any more.
pub(crate) fn retire_teams(runtime: &'static Runtime) {
    if let Some(worker) = CURRENT.get().map(Member::worker)
        && worker.depth.get() == 0
    {
        for team in worker.teams.take() {
            runtime.pool.retire(team);
        }
    }
}

/// The calling thread is recorded by the present runtime, if it is known to it.
pub(crate) fn record_anew() {
    if let Some(worker) = CURRENT.get().map(Member::worker) {
        worker.start_recording();
    }
}

/// Runs in a forked child: of all threads only the calling one is left, so the
/// teams it kept have no workers any more. If it forked inside regions, it goes
/// through them alone.
pub(crate) fn restart_in_child() {
    if let Some(member) = CURRENT.get() {
        let worker = member.worker();
        let depth = worker.depth.get() as usize;
        worker.teams.with(|teams| teams.truncate(depth));
        let mut inside = Some(member);
        while let Some(member) = inside {
            let team = member.team();
            team.forget_workers();
            inside = team.parent();
        }
        worker.introduced.set(0);
        worker.start_recording();
    }
}
