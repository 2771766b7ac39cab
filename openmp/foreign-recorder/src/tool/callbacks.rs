//! What the runtime tells: each callback says which event of [`crate::seen`] it is.
//!
//! What libomp is known to do differently from what OMPT says is met here:
//!
//! * the barrier at the end of a region is told as that of a construct (libomp 14), without a
//!   code pointer on all threads but the first;
//! * that barrier, and with it a thread's implicit task, ends only when the thread is wanted for
//!   another region, or never if the process ends: so a thread that comes there has left;
//! * of gcc's programs all barriers are the implementation's own.

use crate::forked;
use crate::gomp;
use crate::seen::{self, Loop, Region, Thread, thread};
use fathomp_ompt::{
    Data, Dispatch, DispatchChunk, Event, Frame, Mutex, ParallelFlags, ScopeEndpoint, SyncRegion,
    TaskFlags, TaskStatus, WaitId, Work, callback,
};
use fathomp_trace::foreign_recorder::{Lapse, Unseen};
use fathomp_trace::record::LoopKind;
use fathomp_trace::state::State;
use std::ffi::{c_int, c_void};

/// What we keep in an implicit task's data: the thread is in its part, ...
const IN_PART: u64 = 1;
/// ... or has come to the end of it.
const LEFT: u64 = 2;
/// What we keep in an explicit task's data: it was made, ...
const MADE: u64 = 3;
/// ... or has begun to run.
const RUNS: u64 = 4;

/// Sets the callbacks by `set`, which returns whether the runtime will call one. Returns whether
/// it tells which iterations a thread gets.
pub(super) fn set(set: impl Fn(Event, callback::Any) -> bool) -> bool {
    /// A function with the signature of its event as one with any.
    macro_rules! set {
        ($event:ident: $type:ident, $function:path) => {{
            let function: callback::$type = $function;
            // SAFETY: OMPT has all callbacks passed as this type; the runtime calls each with the
            // arguments of its event, which are those of `function`.
            set(Event::$event, unsafe { any(function) })
        }};
    }
    set!(PARALLEL_BEGIN: ParallelBegin, parallel_begin);
    set!(PARALLEL_END: ParallelEnd, parallel_end);
    set!(IMPLICIT_TASK: ImplicitTask, implicit_task);
    set!(WORK: Work, work);
    set!(SYNC_REGION_WAIT: SyncRegion, sync_region_wait);
    set!(TASK_CREATE: TaskCreate, task_create);
    set!(TASK_SCHEDULE: TaskSchedule, task_schedule);
    set!(MUTEX_ACQUIRE: MutexAcquire, mutex_acquire);
    set!(MUTEX_ACQUIRED: Mutex, mutex_acquired);
    set!(DISPATCH: Dispatch, dispatch)
}

/// A callback as one whose signature depends on its event.
///
/// # Safety
/// `F` is a function type, and the function is set for the event with that signature alone.
unsafe fn any<F>(function: F) -> callback::Any {
    const { assert!(size_of::<F>() == size_of::<callback::Any>()) };
    // SAFETY: promised by our caller; both are addresses of functions.
    unsafe { std::mem::transmute_copy(&function) }
}

/// What the tool keeps of a region, parallel or task; 0 if the runtime has no place for it.
fn kept(data: *const Data) -> u64 {
    // SAFETY: the runtime passes the address of a word that it keeps for us, or null.
    unsafe { data.as_ref().map_or(0, |data| data.value) }
}

/// Keeps something.
fn keep(data: *mut Data, value: u64) {
    // SAFETY: as above; nobody else has the word while the event lasts.
    if let Some(data) = unsafe { data.as_mut() } {
        data.value = value;
    }
}

/// Last byte of the call that will return to `code`; 0, which is counted, if that is not told.
fn call_before(code: *const c_void, otherwise: Lapse) -> usize {
    if code.is_null() {
        seen::lapse(otherwise);
    }
    code.addr().saturating_sub(1)
}

extern "C" fn parallel_begin(
    _encountering: *mut Data,
    _frame: *const Frame,
    parallel: *mut Data,
    _requested: u32,
    flags: ParallelFlags,
    code: *const c_void,
) {
    // Teams of a league are no threads.
    let is_team = !flags.contains(ParallelFlags::LEAGUE);
    let function = forked::forked();
    let Some(thread) = thread().filter(|_| is_team) else {
        return keep(parallel, 0);
    };
    if function == 0 {
        seen::unseen(Unseen::Bodies);
    }
    let call = call_before(code, Lapse::NoCallOfRegion);
    let region = Box::new(thread.forks(call, function));
    keep(parallel, Box::into_raw(region).expose_provenance() as u64);
}

extern "C" fn parallel_end(
    parallel: *mut Data,
    _encountering: *mut Data,
    _flags: ParallelFlags,
    _code: *const c_void,
) {
    let region = kept(parallel);
    if region != 0 {
        keep(parallel, 0);
        // SAFETY: `parallel_begin` has put it there, and now it is gone from there; all threads
        // of the team have begun and left their parts.
        drop(unsafe { Box::from_raw(region_at(region)) });
    }
}

fn region_at(kept: u64) -> *mut Region {
    std::ptr::with_exposed_provenance_mut(kept as usize)
}

extern "C" fn implicit_task(
    endpoint: ScopeEndpoint,
    parallel: *mut Data,
    task: *mut Data,
    size: u32,
    number: u32,
    flags: TaskFlags,
) {
    if flags.contains(TaskFlags::INITIAL) {
        return;
    }
    let Some(thread) = thread() else { return };
    if endpoint == ScopeEndpoint::BEGIN {
        let region = kept(parallel);
        if region == 0 {
            return seen::lapse(Lapse::RegionUnknown);
        }
        // SAFETY: `parallel_begin` has put it there, and `parallel_end` has not been told yet.
        let region = unsafe { &*region_at(region) };
        thread.part_begins(region, number, size);
        keep(task, IN_PART);
    } else {
        match kept(task) {
            IN_PART => thread.part_ends(None),
            LEFT => thread.finish_left_part(),
            _ => {}
        }
        keep(task, 0);
    }
}

extern "C" fn work(
    kind: Work,
    endpoint: ScopeEndpoint,
    _parallel: *mut Data,
    _task: *mut Data,
    _count: u64,
    code: *const c_void,
) {
    let kind = match kind {
        Work::LOOP | Work::LOOP_OTHER => LoopKind::Untold,
        Work::LOOP_STATIC => LoopKind::Static,
        Work::LOOP_DYNAMIC => LoopKind::Dynamic,
        Work::LOOP_GUIDED => LoopKind::Guided,
        Work::SECTIONS => LoopKind::Sections,
        _ => return,
    };
    let Some(thread) = thread() else { return };
    if endpoint == ScopeEndpoint::BEGIN {
        thread.loop_begins(&Loop {
            kind,
            ordered: false,
            chunk: 0,
            step: 1,
            call: call_before(code, Lapse::NoCall),
        });
    } else {
        thread.loop_ends();
    }
}

extern "C" fn dispatch(_parallel: *mut Data, _task: *mut Data, kind: Dispatch, what: Data) {
    let Some(thread) = thread() else { return };
    match kind {
        Dispatch::WS_LOOP_CHUNK if what.value != 0 => {
            let chunk: *const DispatchChunk =
                std::ptr::with_exposed_provenance(what.value as usize);
            // SAFETY: with this kind the runtime passes the address of a chunk.
            let chunk = unsafe { *chunk };
            thread.chunk(0, chunk.iterations.cast_signed());
        }
        Dispatch::ITERATION | Dispatch::SECTION => thread.chunk(0, 1),
        _ => {}
    }
}

/// What a thread does that waits there, if that is known.
fn state_of(kind: SyncRegion, code: *const c_void) -> Option<State> {
    Some(match kind {
        SyncRegion::BARRIER_EXPLICIT => State::ExplicitBarrier,
        // As gcc's programs call it; loops of theirs have no code pointer.
        SyncRegion::BARRIER_IMPLEMENTATION | SyncRegion::BARRIER
            if gomp::is_used() && !code.is_null() =>
        {
            State::ExplicitBarrier
        }
        SyncRegion::BARRIER
        | SyncRegion::BARRIER_IMPLICIT
        | SyncRegion::BARRIER_IMPLEMENTATION
        | SyncRegion::BARRIER_IMPLICIT_WORKSHARE
        | SyncRegion::BARRIER_IMPLICIT_PARALLEL
        | SyncRegion::BARRIER_TEAMS => State::ImplicitBarrier,
        SyncRegion::TASKWAIT | SyncRegion::TASKGROUP => State::TaskWait,
        _ => return None,
    })
}

/// Whether a thread comes to the end of its region there, where it stays.
fn is_end(thread: &Thread, kind: SyncRegion, code: *const c_void) -> bool {
    let may_be = match kind {
        SyncRegion::BARRIER_IMPLICIT_PARALLEL | SyncRegion::BARRIER_TEAMS => true,
        SyncRegion::BARRIER_IMPLICIT => code.is_null(),
        _ => false,
    };
    may_be && thread.is_worker()
}

extern "C" fn sync_region_wait(
    kind: SyncRegion,
    endpoint: ScopeEndpoint,
    _parallel: *mut Data,
    task: *mut Data,
    code: *const c_void,
) {
    let (Some(state), Some(thread)) = (state_of(kind, code), thread()) else {
        return;
    };
    if endpoint == ScopeEndpoint::BEGIN {
        if kept(task) == IN_PART && is_end(thread, kind, code) {
            thread.part_is_left();
            keep(task, LEFT);
        } else {
            thread.wait_begins(state, 0);
        }
    } else if kept(task) != LEFT {
        thread.wait_ends();
    }
}

extern "C" fn task_create(
    _encountering: *mut Data,
    _frame: *const Frame,
    task: *mut Data,
    flags: TaskFlags,
    _has_dependences: c_int,
    _code: *const c_void,
) {
    if let Some(thread) = thread().filter(|_| flags.contains(TaskFlags::EXPLICIT)) {
        thread.task_made();
        keep(task, MADE);
    }
}

extern "C" fn task_schedule(left: *mut Data, status: TaskStatus, entered: *mut Data) {
    let Some(thread) = thread() else { return };
    let is_over = status != TaskStatus::SWITCH
        && status != TaskStatus::YIELD
        && status != TaskStatus::EARLY_FULFILL;
    if is_over && kept(left) == RUNS {
        thread.task_ends();
        keep(left, 0);
    }
    if kept(entered) == MADE {
        thread.task_begins();
        keep(entered, RUNS);
    }
}

/// What a thread does that waits for such a thing.
fn state_of_mutex(kind: Mutex) -> Option<State> {
    match kind {
        Mutex::LOCK | Mutex::NEST_LOCK => Some(State::Lock),
        Mutex::CRITICAL | Mutex::ATOMIC => Some(State::Critical),
        Mutex::ORDERED => Some(State::Ordered),
        _ => None,
    }
}

extern "C" fn mutex_acquire(
    kind: Mutex,
    _hint: u32,
    _implementation: u32,
    _what: WaitId,
    code: *const c_void,
) {
    // One that is only tried is not waited for.
    let (Some(state), Some(thread)) = (state_of_mutex(kind), thread()) else {
        return;
    };
    seen::unseen(Unseen::FreeMutexes);
    let call = match state {
        State::Ordered => 0,
        _ => call_before(code, Lapse::NoCall),
    };
    thread.wait_begins(state, call);
}

extern "C" fn mutex_acquired(kind: Mutex, _what: WaitId, _code: *const c_void) {
    let Some(thread) = thread() else { return };
    let waited = state_of_mutex(kind);
    if waited.is_some() && thread.waits_in() == waited {
        thread.wait_ends();
    }
    if kind != Mutex::ORDERED {
        thread.mutex_taken();
    }
}
