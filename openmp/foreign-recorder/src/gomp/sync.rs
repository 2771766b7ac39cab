//! Calls that wait: barriers, critical sections, locks, turns, tasks.

use super::watched::{note_free_mutexes, watched};
use crate::front::{front, front_with_call_site};
use fathomp_trace::state::State;
use std::ffi::{c_int, c_void};

/// A wait by `wait`.
fn waited<R>(state: State, wait: impl FnOnce() -> R) -> R {
    let Some(thread) = watched() else {
        return wait();
    };
    thread.wait_begins(state, 0);
    let result = wait();
    thread.wait_ends();
    result
}

/// A wait by `wait` for a critical section or lock, at `call`.
fn taken(state: State, call: usize, wait: impl FnOnce()) {
    let Some(thread) = watched() else {
        return wait();
    };
    note_free_mutexes();
    thread.wait_begins(state, call);
    wait();
    thread.mutex_taken_after_wait();
}

/// A lock that is taken by `attempt` if it is free, which returns what is not 0 then.
fn tried(attempt: impl FnOnce() -> c_int) -> c_int {
    let result = attempt();
    if let Some(thread) = watched().filter(|_| result != 0) {
        thread.mutex_taken();
    }
    result
}

front! {
    /// `#pragma omp barrier`, and the barrier of constructs for which there is no other call.
    fn GOMP_barrier() |next| {
        // SAFETY: promised by our caller.
        waited(State::ExplicitBarrier, || unsafe { next() });
    }

    /// The same where the region may be cancelled.
    fn GOMP_barrier_cancel() -> bool |next| {
        // SAFETY: promised by our caller.
        waited(State::ExplicitBarrier, || unsafe { next() })
    }

    /// `#pragma omp single copyprivate`: all but one wait for its data.
    fn GOMP_single_copy_start() -> *mut c_void |next| {
        // SAFETY: promised by our caller.
        waited(State::ImplicitBarrier, || unsafe { next() })
    }

    /// That one has the data.
    fn GOMP_single_copy_end(data: *mut c_void) |next| {
        // SAFETY: promised by our caller.
        waited(State::ImplicitBarrier, || unsafe { next(data) });
    }

    /// `#pragma omp ordered`.
    fn GOMP_ordered_start() |next| {
        // SAFETY: promised by our caller.
        waited(State::Ordered, || unsafe { next() });
    }

    /// `#pragma omp taskwait`.
    fn GOMP_taskwait() |next| {
        // SAFETY: promised by our caller.
        waited(State::TaskWait, || unsafe { next() });
    }

    /// The same with a `depend` clause.
    fn GOMP_taskwait_depend(dependences: *mut *mut c_void) |next| {
        // SAFETY: promised by our caller.
        waited(State::TaskWait, || unsafe { next(dependences) });
    }

    /// The end of `#pragma omp taskgroup`.
    fn GOMP_taskgroup_end() |next| {
        // SAFETY: promised by our caller.
        waited(State::TaskWait, || unsafe { next() });
    }
}

front_with_call_site! {
    /// `#pragma omp critical`.
    fn GOMP_critical_start() |next, call| {
        // SAFETY: promised by our caller.
        taken(State::Critical, call, || unsafe { next() });
    }

    /// The same with a name.
    fn GOMP_critical_name_start(name: *mut *mut c_void) |next, call| {
        // SAFETY: promised by our caller.
        taken(State::Critical, call, || unsafe { next(name) });
    }

    /// `#pragma omp atomic` of what no instruction does.
    fn GOMP_atomic_start() |next, call| {
        // SAFETY: promised by our caller.
        taken(State::Critical, call, || unsafe { next() });
    }
}

macro_rules! set_lock {
    ($($name:ident)+) => {
        front_with_call_site! { $(
            /// Takes a lock.
            fn $name(lock: *mut c_void) |next, call| {
                // SAFETY: promised by our caller.
                taken(State::Lock, call, || unsafe { next(lock) });
            }
        )+ }
    };
}

set_lock! { omp_set_lock omp_set_nest_lock omp_set_lock_ omp_set_nest_lock_ }

macro_rules! test_lock {
    ($($name:ident)+) => {
        front! { $(
            /// Takes a lock if it is free.
            fn $name(lock: *mut c_void) -> c_int |next| {
                // SAFETY: promised by our caller.
                tried(|| unsafe { next(lock) })
            }
        )+ }
    };
}

test_lock! { omp_test_lock omp_test_nest_lock omp_test_lock_ omp_test_nest_lock_ }
