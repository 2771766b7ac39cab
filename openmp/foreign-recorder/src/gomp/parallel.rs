//! Parallel regions: their code is called by ours, which tells that a thread begins its part and
//! has come to the end of it.

use super::loops::of_run_time;
use super::watched::{Body, note_unseen, watched};
use crate::forked;
use crate::front::{front, front_with_call_site, real};
use crate::seen::{self, Loop, Region};
use fathomp_trace::foreign_recorder::Unseen;
use fathomp_trace::record::LoopKind;
use std::ffi::{c_long, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// A region that begins: what libgomp passes to all of its team instead of the program's data.
#[repr(C)]
struct Begun {
    /// The first word of the program's data, where libgomp looks for reductions.
    first: usize,
    body: Body,
    data: *mut c_void,
    region: Region,
    /// The thread that began the region waits for its team.
    joins: AtomicBool,
}

/// Whether libgomp looks into a region's data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Opaque,
    Reductions,
}

/// Begins a region by `fork`, which is to call libgomp with the body and data that it is given.
///
/// # Safety
/// `data` fits `body`, and begins with a word if it is for reductions.
unsafe fn forked<R>(
    (body, data): (Body, *mut c_void),
    kind: Data,
    call: usize,
    begins_with: Option<Loop>,
    fork: impl FnOnce(Body, *mut c_void) -> R,
) -> R {
    let Some(thread) = watched() else {
        forked::forks(body as usize);
        return fork(body, data);
    };
    note_unseen();
    let mut region = thread.forks(call, body as usize);
    region.begins_with = begins_with;
    let first = match kind {
        Data::Opaque => 0,
        // SAFETY: promised by our caller.
        Data::Reductions => unsafe { data.cast::<usize>().read() },
    };
    let mut begun = Begun {
        first,
        body,
        data,
        region,
        joins: AtomicBool::new(false),
    };
    let result = fork(part, (&raw mut begun).cast());
    if begun.joins.load(Ordering::Relaxed) {
        thread.join_ends();
    }
    result
}

/// A thread's part in a region.
///
/// # Safety
/// `begun` is a [`Begun`], whose region is not over before the function has returned.
unsafe extern "C" fn part(begun: *mut c_void) {
    // SAFETY: `forked` has passed it, and returns when libgomp does, which is when all threads
    // have returned from here.
    let begun = unsafe { &*begun.cast::<Begun>() };
    let run = || {
        // SAFETY: promised by the caller of `forked`.
        unsafe { (begun.body)(begun.data) };
    };
    let Some(thread) = seen::thread() else {
        return run();
    };
    let number = real!(omp_get_thread_num: unsafe extern "C" fn() -> c_uint);
    let size = real!(omp_get_num_threads: unsafe extern "C" fn() -> c_uint);
    // SAFETY: these take nothing, and say who the calling thread is in its team.
    let (number, size) = unsafe { (number(), size()) };
    thread.part_begins(&begun.region, number, size);
    run();
    match (number, size) {
        (_, 1) => thread.part_ends(None),
        (0, _) => {
            thread.join_begins();
            begun.joins.store(true, Ordering::Relaxed);
        }
        _ => thread.part_is_left(),
    }
}

/// The loop of a combined construct.
fn combined(kind: LoopKind, chunk: c_long, step: c_long, call: usize) -> Option<Loop> {
    Some(Loop {
        kind,
        ordered: false,
        chunk: u64::try_from(chunk).unwrap_or(0),
        step,
        call,
    })
}

front_with_call_site! {
    /// `#pragma omp parallel`.
    fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint)
    |next, call| {
        // SAFETY: promised by our caller.
        unsafe {
            forked((body, data), Data::Opaque, call, None, |body, data| {
                next(body, data, threads, flags);
            });
        }
    }

    /// The same with reductions of tasks.
    fn GOMP_parallel_reductions(
        body: Body, data: *mut c_void, threads: c_uint, flags: c_uint
    ) -> c_uint |next, call| {
        // SAFETY: promised by our caller; the data begin with the address of the reductions.
        unsafe {
            forked((body, data), Data::Reductions, call, None, |body, data| {
                next(body, data, threads, flags)
            })
        }
    }

    /// `#pragma omp parallel sections`.
    fn GOMP_parallel_sections(
        body: Body, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint
    ) |next, call| {
        let wanted = combined(LoopKind::Sections, 0, 1, call);
        // SAFETY: promised by our caller.
        unsafe {
            forked((body, data), Data::Opaque, call, wanted, |body, data| {
                next(body, data, threads, count, flags);
            });
        }
    }
}

/// `parallel` and a loop with a chunk size in one.
macro_rules! with_loop {
    ($($name:ident: $kind:ident;)+) => {
        front_with_call_site! { $(
            /// A region and its loop in one.
            fn $name(
                body: Body, data: *mut c_void, threads: c_uint,
                from: c_long, to: c_long, step: c_long, chunk: c_long, flags: c_uint
            ) |next, call| {
                let wanted = combined(LoopKind::$kind, chunk, step, call);
                // SAFETY: promised by our caller.
                unsafe {
                    forked((body, data), Data::Opaque, call, wanted, |body, data| {
                        next(body, data, threads, from, to, step, chunk, flags);
                    });
                }
            }
        )+ }
    };
}

with_loop! {
    GOMP_parallel_loop_static: Static;
    GOMP_parallel_loop_dynamic: Dynamic;
    GOMP_parallel_loop_guided: Guided;
    GOMP_parallel_loop_nonmonotonic_dynamic: Dynamic;
    GOMP_parallel_loop_nonmonotonic_guided: Guided;
}

/// `parallel` and a loop whose schedule the environment says.
macro_rules! with_loop_of_run_time {
    ($($name:ident;)+) => {
        front_with_call_site! { $(
            /// A region and its loop in one.
            fn $name(
                body: Body, data: *mut c_void, threads: c_uint,
                from: c_long, to: c_long, step: c_long, flags: c_uint
            ) |next, call| {
                let (kind, chunk) = of_run_time();
                let wanted = combined(kind, chunk, step, call);
                // SAFETY: promised by our caller.
                unsafe {
                    forked((body, data), Data::Opaque, call, wanted, |body, data| {
                        next(body, data, threads, from, to, step, flags);
                    });
                }
            }
        )+ }
    };
}

with_loop_of_run_time! {
    GOMP_parallel_loop_runtime;
    GOMP_parallel_loop_nonmonotonic_runtime;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime;
}

front! {
    /// `parallel` as gcc called it before 4.9.
    fn GOMP_parallel_start(body: Body, data: *mut c_void, threads: c_uint) |next| {
        if watched().is_some() {
            seen::unseen(Unseen::OldRegions);
        }
        // SAFETY: promised by our caller.
        unsafe { next(body, data, threads) };
    }
}
