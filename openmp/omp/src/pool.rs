//! Threads and teams between two uses.

use crate::cluster;
use crate::event_count::{EventCount, SpinPolicy};
use crate::message;
use crate::observer;
use crate::observer::core_partition;
use crate::parallel;
use crate::runtime::runtime;
use crate::team::{Member, Order, Team};
use crate::worker::Worker;
use fathomp_sys::process;
use fathomp_sys::stack_overflow::{self, Owner};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Idle threads and teams of the process.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Vec<&'static Bench>>,
    guests: Mutex<Vec<&'static Worker>>,
    teams: Mutex<Vec<&'static Team>>,
    started: AtomicU32,
    warned: AtomicBool,
}

/// Workers that have been sent away and do not rest yet, and where somebody waits for that.
struct Leaving {
    workers: AtomicU32,
    left: EventCount,
}

static LEAVING: LazyLock<Leaving> = LazyLock::new(|| Leaving {
    workers: AtomicU32::new(0),
    left: EventCount::new(),
});

/// So many workers are about to be sent away.
pub(crate) fn send_away(workers: u32) {
    LEAVING.workers.fetch_add(workers, Ordering::SeqCst);
}

/// Runs in a forked child: those who were leaving do not exist there.
pub(crate) fn restart_in_child() {
    LEAVING.workers.store(0, Ordering::SeqCst);
}

/// Where a thread of the pool waits for a team.
pub(crate) struct Bench {
    worker: &'static Worker,
    seat: Mutex<Option<Seat>>,
    called: AtomicBool,
    /// The thread is to tell the tool that it ends, and then this.
    ends: AtomicBool,
    bell: EventCount,
}

/// A place in a team, and the last order given before it was taken.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub(crate) member: &'static Member,
    pub(crate) seen: Order,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// State for a thread of the program that is new to the runtime.
    pub(crate) fn guest(&self) -> &'static Worker {
        lock(&self.guests).pop().unwrap_or_else(Worker::leak)
    }

    pub(crate) fn return_guest(&self, worker: &'static Worker) {
        lock(&self.guests).push(worker);
    }

    /// A team for at least `capacity` members, without workers.
    pub(crate) fn team(&self, capacity: u32) -> &'static Team {
        let mut teams = lock(&self.teams);
        let fits =
            |team: &&'static Team| team.capacity() >= capacity && team.capacity() / 4 <= capacity;
        match teams.iter().position(fits) {
            Some(found) => teams.swap_remove(found),
            None => Team::leak(capacity.next_power_of_two(), None),
        }
    }

    /// Sends a team's workers away and keeps the team for another use. Called
    /// by its primary thread, outside the region.
    pub(crate) fn retire(&self, team: &'static Team) {
        parallel::dismiss(team);
        team.member(0).vacate();
        lock(&self.teams).push(team);
    }

    /// Fills the team's seats up to `size` members and returns how many
    /// members it has now: fewer if the system refuses more threads.
    pub(crate) fn fill(&'static self, team: &'static Team, size: u32) -> u32 {
        let seen = team.order();
        while team.seats.get() + 1 < size {
            let seat = Seat {
                member: team.member(team.seats.get() + 1),
                seen,
            };
            if !self.employ(seat) {
                break;
            }
            team.seats.set(team.seats.get() + 1);
        }
        size.min(team.seats.get() + 1)
    }

    fn employ(&'static self, seat: Seat) -> bool {
        if let Some(bench) = lock(&self.idle).pop() {
            *lock(&bench.seat) = Some(seat);
            bench.called.store(true, Ordering::SeqCst);
            bench.bell.ring();
            return true;
        }
        self.start(seat)
    }

    fn start(&'static self, seat: Seat) -> bool {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let settings = &runtime().settings;
        let stack = settings
            .stack_size
            .unwrap_or_else(process::default_thread_stack_bytes);
        let live = move || {
            core_partition::unbind();
            match cluster::installed() {
                Some(_) => stack_overflow::note(Owner::Runtime),
                None => stack_overflow::cover(Owner::Runtime),
            }
            let worker = Worker::leak();
            worker.start_recording();
            let bench: &'static Bench = Box::leak(Box::new(Bench {
                worker,
                seat: Mutex::new(None),
                called: AtomicBool::new(false),
                ends: AtomicBool::new(false),
                bell: EventCount::new(),
            }));
            self.work(bench, seat);
        };
        let name = format!("omp-{number}");
        let started = match cluster::installed() {
            Some(nodes) => nodes.cluster.spawn(name, stack, Box::new(live)),
            None => std::thread::Builder::new()
                .name(name)
                .stack_size(stack)
                .spawn(live)
                .map(drop),
        };
        if let Err(problem) = &started
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            message::warn(format_args!(
                "cannot start another thread ({problem}); teams will be smaller than asked for: lower OMP_NUM_THREADS or raise the limit (ulimit -u)"
            ));
        }
        started.is_ok()
    }

    /// Waits until all threads rest, which are about to: they have no work. Those whom
    /// resting threads keep for regions inside of regions are not waited for any longer.
    pub(crate) fn await_rest(&self) {
        const LOOKS: u32 = 1000;
        for _ in 0..LOOKS {
            if lock(&self.idle).len() >= self.started.load(Ordering::Relaxed) as usize {
                return;
            }
            process::yield_now();
        }
    }

    /// All threads that rest tell the tool that they end, and so do those that have been sent
    /// away, who have nothing else to do. Returns when they have.
    pub(crate) fn end_idle(&self) {
        Self::await_left();
        while let Some(bench) = self.idle_and_told_of() {
            bench.ends.store(true, Ordering::SeqCst);
            bench.bell.ring();
            // A thread that rests does nothing else, so it does this at once.
            bench.bell.wait(SpinPolicy::polling(1), || {
                !bench.ends.load(Ordering::SeqCst)
            });
            // It has let go of those that it kept for regions inside of regions.
            Self::await_left();
        }
    }

    fn await_left() {
        let Leaving { workers, left } = &*LEAVING;
        left.wait(SpinPolicy::polling(1), || {
            workers.load(Ordering::SeqCst) == 0
        });
    }

    /// A thread that rests and that the tool knows.
    fn idle_and_told_of(&self) -> Option<&'static Bench> {
        let idle = lock(&self.idle);
        idle.iter().copied().find(|bench| bench.worker.is_told_of())
    }

    /// Life of a thread of the pool. It ends with the process.
    fn work(&self, bench: &'static Bench, first: Seat) {
        let mut seat = first;
        loop {
            parallel::serve(bench.worker, seat);
            lock(&self.idle).push(bench);
            if LEAVING.workers.fetch_sub(1, Ordering::SeqCst) == 1 {
                LEAVING.left.ring();
            }
            seat = bench.wait();
        }
    }
}

impl Bench {
    fn wait(&self) -> Seat {
        loop {
            observer::idles(|| {
                self.bell.wait(SpinPolicy::polling(1), || {
                    self.called.load(Ordering::SeqCst) || self.ends.load(Ordering::SeqCst)
                });
            });
            if self.ends.load(Ordering::SeqCst) {
                for team in self.worker.teams.take() {
                    runtime().pool.retire(team);
                }
                observer::worker_ends(self.worker);
                self.ends.store(false, Ordering::SeqCst);
                self.bell.ring();
                continue;
            }
            self.called.store(false, Ordering::SeqCst);
            if let Some(seat) = lock(&self.seat).take() {
                return seat;
            }
        }
    }
}
