//! A thread that is watched: the regions that it is in, what it waits for, the tasks that it
//! runs. A thread becomes known with its first event.

use super::cost::{self, Event};
use super::parts::Part;
use super::process::{lapse, recorder};
use super::region::Region;
use fathomp_sys::own_cell::OwnCell;
use fathomp_sys::process::is_initial_thread;
use fathomp_sys::static_ref::AtomicRef;
use fathomp_sys::thread_slot::ThreadSlot;
use fathomp_trace::foreign_recorder::Lapse;
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::recorder::{ThreadRecorder, asleep};
use fathomp_trace::state::State;
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread that is watched. Only the thread itself uses it; when it has ended, another may.
#[derive(Debug)]
pub(crate) struct Thread {
    recorder: AtomicRef<ThreadRecorder>,
    /// The parts that it is in, the serial one first.
    pub(super) parts: OwnCell<Vec<Part>>,
    waits: OwnCell<Vec<Wait>>,
    tasks: OwnCell<Vec<Task>>,
    /// Ticks in tasks that it ran, those inside others counted once.
    task_ticks: OwnCell<u64>,
    /// When it left its last region; 0 before and inside.
    left: OwnCell<u64>,
    /// When it came to the end of the region that another thread began; 0 before and when it has
    /// gone on. The thread that ends the process ends such parts.
    arrived: AtomicU64,
    pub(super) events: OwnCell<u32>,
}

/// A wait that is not over.
#[derive(Clone, Copy, Debug)]
struct Wait {
    state: State,
    /// Last byte of the call, to name a critical section or lock by.
    call: usize,
    begun: Ticks,
    task_ticks: u64,
}

/// A task that runs.
#[derive(Clone, Copy, Debug)]
struct Task {
    begun: Ticks,
    task_ticks: u64,
    /// The thread had come to the end of its region.
    after_end: bool,
}

/// The calling thread.
static CURRENT: ThreadSlot<Thread> = ThreadSlot::new();

/// All that were ever made.
static ALL: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// Threads that have ended, to be used by others.
static SPARE: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());

/// The calling thread, if it is recorded.
#[inline]
pub(crate) fn thread() -> Option<&'static Thread> {
    match CURRENT.get() {
        Some(thread) => thread.recorder().map(|_| thread),
        None => adopt(),
    }
}

/// Makes a thread known.
#[cold]
fn adopt() -> Option<&'static Thread> {
    let recorder = recorder()?;
    let spare = SPARE.try_lock().ok().and_then(|mut spare| spare.pop());
    let thread = spare.unwrap_or_else(Thread::leak);
    thread.recorder.store(recorder.attach(), Ordering::Relaxed);
    thread.begin();
    CURRENT.set(Some(thread));
    // Its destructor runs when the thread ends; the initial one ends with the process. A thread
    // that comes here from another destructor has none left to run: it stays attached.
    if !is_initial_thread() {
        let _ = LEAVING.try_with(|leaving| leaving.0.set(Some(thread)));
    }
    thread.recorder().map(|_| thread)
}

/// Gives a thread back when it ends.
struct Leaving(Cell<Option<&'static Thread>>);

thread_local! {
    static LEAVING: Leaving = const { Leaving(Cell::new(None)) };
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some(thread) = self.0.take() else { return };
        CURRENT.set(None);
        thread.end();
        if let Ok(mut spare) = SPARE.try_lock() {
            spare.push(thread);
        }
    }
}

/// The process ends: what the calling thread knows of costs is said, and threads that have come to
/// the end of a region have left it.
pub(super) fn finish() {
    if let Some(thread) = CURRENT.get() {
        cost::settle(&thread.events);
    }
    // Nobody is to wait at the end of a process, not even in a forked child.
    let Ok(all) = ALL.try_lock() else { return };
    for thread in all.iter() {
        let arrived = thread.arrived.swap(0, Ordering::Relaxed);
        if let (Some(recorder), true) = (thread.recorder(), arrived != 0) {
            recorder.end_at(Ticks(arrived));
        }
    }
}

/// Runs in a forked child: the calling thread is the only one. If it is in regions, it goes
/// through them alone, and their ends are no events of this process's recorder.
pub(super) fn restart_in_child() {
    if let Some(thread) = CURRENT.get() {
        let attached = recorder().and_then(|recorder| recorder.attach());
        thread.recorder.store(attached, Ordering::Relaxed);
        thread.events.set(0);
        thread.arrived.store(0, Ordering::Relaxed);
    }
}

impl Thread {
    fn leak() -> &'static Self {
        let thread: &'static Self = Box::leak(Box::new(Self {
            recorder: AtomicRef::new(None),
            parts: OwnCell::new(Vec::new()),
            waits: OwnCell::new(Vec::new()),
            tasks: OwnCell::new(Vec::new()),
            task_ticks: OwnCell::new(0),
            left: OwnCell::new(0),
            arrived: AtomicU64::new(0),
            events: OwnCell::new(0),
        }));
        if let Ok(mut all) = ALL.try_lock() {
            all.push(thread);
        }
        thread
    }

    fn begin(&self) {
        self.parts.set(vec![Part::default()]);
        self.left.set(0);
    }

    /// The thread ends: whatever is open ends now.
    fn end(&self) {
        self.finish_left_part();
        while self.parts.with(|parts| parts.len()) > 1 {
            self.part_ends(None);
        }
        cost::settle(&self.events);
        if let (Some(recorder), Some(mine)) =
            (recorder(), self.recorder.swap(None, Ordering::Relaxed))
        {
            recorder.detach(mine);
        }
        self.parts.take();
        self.waits.take();
        self.tasks.take();
        self.parts.disown();
        self.waits.disown();
        self.tasks.disown();
        self.task_ticks.disown();
        self.left.disown();
        self.events.disown();
    }

    #[inline]
    pub(super) fn recorder(&self) -> Option<&'static ThreadRecorder> {
        self.recorder.load(Ordering::Relaxed)
    }

    /// The thread encounters a parallel region: `call` is the last byte of the call that begins
    /// it, `function` the region's code, 0 if that is not known.
    pub(crate) fn forks(&self, call: usize, function: usize) -> Region {
        let _event = Event::of(&self.events);
        let Some(recorder) = recorder() else {
            return Region::default();
        };
        let (parent, level) = self.parts.with(|parts| {
            let parent = parts.last().map_or(InstanceId(0), |part| part.instance);
            (parent, parts.len())
        });
        Region {
            asked: now(),
            site: recorder.site(SiteKind::Parallel, call, function),
            instance: recorder.next_instance(),
            parent,
            level: u32::try_from(level).unwrap_or(u32::MAX),
            ..Region::default()
        }
    }

    /// The thread becomes number `number` of a team of `size` and begins the region's code.
    pub(crate) fn part_begins(&self, region: &Region, number: u32, size: u32) {
        let _event = Event::of(&self.events);
        let Some(recorder) = self.recorder() else {
            return;
        };
        // What the runtime keeps of the region before has nothing to say any more.
        self.finish_left_part();
        let left = self.left.replace(0);
        // The thread that encounters regions computes between them.
        if left != 0 && number != 0 {
            asleep(Ticks(left), now());
        }
        recorder.begin(&region.start(number, size));
        let open = [
            self.waits.with(|waits| waits.len()),
            self.tasks.with(|tasks| tasks.len()),
        ];
        self.parts
            .with(|parts| parts.push(Part::of(region, number, open)));
        if let Some(wanted) = &region.begins_with {
            self.loop_begins_here(wanted);
        }
    }

    /// The thread has come to the end of a region that another thread began. That is the end of its
    /// part, unless it still runs tasks of the region, which shows only when it goes on, or the
    /// process ends.
    pub(crate) fn part_is_left(&self) {
        let _event = Event::of(&self.events);
        if let Some(recorder) = self.recorder() {
            self.arrived
                .store(recorder.wait_begins().0, Ordering::Relaxed);
        }
    }

    /// Ends a part that was left, if the thread is in one.
    pub(crate) fn finish_left_part(&self) {
        let arrived = self.arrived.swap(0, Ordering::Relaxed);
        if arrived != 0 {
            self.part_ends(Some(Ticks(arrived)));
        }
    }

    /// The thread is through with its innermost region, at that time or now.
    pub(crate) fn part_ends(&self, at: Option<Ticks>) {
        let part = self.parts.with(|parts| match parts.len() {
            0 | 1 => None,
            _ => parts.pop(),
        });
        let (Some(part), Some(recorder)) = (part, self.recorder()) else {
            return lapse(Lapse::PartWithoutBegin);
        };
        self.forget_open(&part);
        self.loop_of(part);
        let end = at.unwrap_or_else(now);
        recorder.end_at(end);
        if self.parts.with(|parts| parts.len()) == 1 {
            self.left.set(end.0);
        }
    }

    /// What was begun in a part that is over, and not ended, is over too.
    fn forget_open(&self, part: &Part) {
        let [waits, tasks] = part.open_before;
        while self.waits.with(|open| open.len()) > waits {
            lapse(Lapse::WaitWithoutEnd);
            self.wait_ends();
        }
        self.tasks.with(|open| open.truncate(tasks));
    }

    /// Whether the thread is in a region that another thread began.
    pub(crate) fn is_worker(&self) -> bool {
        self.in_part(|part| part.number != 0)
    }

    /// The thread, which began its region, waits for its team.
    #[inline]
    pub(crate) fn join_begins(&self) {
        self.wait_begins(State::ImplicitBarrier, 0);
    }

    /// Its team has come: the region is over.
    pub(crate) fn join_ends(&self) {
        let end = self.wait_ends();
        self.part_ends(end);
    }

    /// The thread begins to wait, in a construct at `call` if that is to be known.
    #[inline]
    pub(crate) fn wait_begins(&self, state: State, call: usize) {
        let _event = Event::of(&self.events);
        let Some(recorder) = self.recorder() else {
            return;
        };
        let wait = Wait {
            state,
            call,
            begun: recorder.wait_begins(),
            task_ticks: self.task_ticks.get(),
        };
        self.waits.with(|waits| waits.push(wait));
    }

    /// The wait that the thread began last is over. Returns when.
    #[inline]
    pub(crate) fn wait_ends(&self) -> Option<Ticks> {
        let _event = Event::of(&self.events);
        let Some(wait) = self.waits.with(Vec::pop) else {
            lapse(Lapse::WaitWithoutBegin);
            return None;
        };
        let end = now();
        let tasks = self.task_ticks.get().wrapping_sub(wait.task_ticks);
        let site = (wait.call != 0)
            .then(recorder)
            .flatten()
            .map(|recorder| recorder.site(SiteKind::Mutex, wait.call, 0));
        self.waited(site, wait.state, wait.begun + Ticks(tasks), end);
        Some(end)
    }

    /// In what state the thread waits, if it does.
    pub(crate) fn waits_in(&self) -> Option<State> {
        self.waits.with(|waits| waits.last().map(|wait| wait.state))
    }

    fn waited(&self, site: Option<SiteId>, state: State, begin: Ticks, end: Ticks) {
        let Some(recorder) = self.recorder() else {
            return;
        };
        asleep(begin, end);
        recorder.wait_at(site, state, begin, end);
    }

    /// The thread has a critical section or lock for which it waited.
    #[inline]
    pub(crate) fn mutex_taken_after_wait(&self) {
        self.wait_ends();
        self.mutex_taken();
    }

    /// The thread has a critical section or lock.
    #[inline]
    pub(crate) fn mutex_taken(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.mutex_taken();
        }
    }

    /// The thread makes a task.
    #[inline]
    pub(crate) fn task_made(&self) {
        let _event = Event::of(&self.events);
        if let Some(recorder) = self.recorder() {
            recorder.task_created();
        }
    }

    /// The thread begins to run a task.
    pub(crate) fn task_begins(&self) {
        let _event = Event::of(&self.events);
        let Some(recorder) = self.recorder() else {
            return;
        };
        let begun = now();
        let arrived = self.arrived.swap(0, Ordering::Relaxed);
        if arrived != 0 {
            self.waited(None, State::ImplicitBarrier, Ticks(arrived), begun);
        }
        recorder.task_run();
        let task = Task {
            begun,
            task_ticks: self.task_ticks.get(),
            after_end: arrived != 0,
        };
        self.tasks.with(|tasks| tasks.push(task));
    }

    /// The task that the thread began last is over, or goes on elsewhere.
    pub(crate) fn task_ends(&self) {
        let _event = Event::of(&self.events);
        let (Some(task), Some(recorder)) = (self.tasks.with(Vec::pop), self.recorder()) else {
            return;
        };
        let end = recorder.wait_begins();
        // Tasks run inside this one, while it waited, are part of its time.
        let took = end.since(task.begun).0;
        self.task_ticks.set(task.task_ticks.wrapping_add(took));
        if task.after_end {
            self.arrived.store(end.0, Ordering::Relaxed);
        }
    }

    /// The runtime itself works, once measured out of `weight` times.
    #[inline]
    pub(crate) fn overhead(&self, begin: Ticks, end: Ticks, weight: u32) {
        if let Some(recorder) = self.recorder() {
            recorder.overhead(begin, end, weight);
        }
    }

    /// The part that the thread is in now.
    #[inline]
    pub(super) fn in_part<R: Default>(&self, use_it: impl FnOnce(&mut Part) -> R) -> R {
        self.parts
            .with(|parts| parts.last_mut().map(use_it).unwrap_or_default())
    }
}
