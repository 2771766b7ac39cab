//! Sections, which are loops whose iterations are sections.

use super::loops::{ended, ended_without_barrier};
use super::watched::watched;
use crate::front::{front, front_with_call_site};
use crate::seen::Loop;
use fathomp_trace::record::LoopKind;
use std::ffi::{c_uint, c_void};

/// Sections begin by `begin`, which returns the thread's first, or 0.
fn begun(call: usize, begin: impl FnOnce() -> c_uint) -> c_uint {
    if let Some(thread) = watched() {
        thread.loop_begins(&Loop {
            kind: LoopKind::Sections,
            ordered: false,
            chunk: 0,
            step: 1,
            call,
        });
    }
    next_one(begin)
}

/// The next section by `next`, or 0.
fn next_one(next: impl FnOnce() -> c_uint) -> c_uint {
    let Some(thread) = watched() else {
        return next();
    };
    let section = thread.asks_for_iterations(next);
    if section == 0 {
        thread.loop_ends();
    } else {
        thread.chunk(0, 1);
    }
    section
}

front_with_call_site! {
    /// A thread meets sections.
    fn GOMP_sections_start(count: c_uint) -> c_uint |next, call| {
        // SAFETY: promised by our caller.
        begun(call, || unsafe { next(count) })
    }

    /// The same with reductions of tasks, or with memory of their own.
    fn GOMP_sections2_start(
        count: c_uint, reductions: *mut c_void, memory: *mut c_void
    ) -> c_uint |next, call| {
        // SAFETY: promised by our caller.
        begun(call, || unsafe { next(count, reductions, memory) })
    }
}

front! {
    /// A thread wants another section.
    fn GOMP_sections_next() -> c_uint |next| {
        // SAFETY: promised by our caller.
        next_one(|| unsafe { next() })
    }

    /// The end of sections.
    fn GOMP_sections_end() |next| {
        // SAFETY: promised by our caller.
        ended(|| unsafe { next() });
    }

    /// The same where they may be cancelled.
    fn GOMP_sections_end_cancel() -> bool |next| {
        // SAFETY: promised by our caller.
        ended(|| unsafe { next() })
    }

    /// The end of sections with a `nowait` clause.
    fn GOMP_sections_end_nowait() |next| {
        // SAFETY: promised by our caller.
        ended_without_barrier(|| unsafe { next() });
    }
}
