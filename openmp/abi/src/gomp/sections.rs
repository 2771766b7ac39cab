//! `sections`, `single`, `scope` and `ordered`.

use super::loops::{Parts, meet};
use super::sync::{enter_ordered, leave_ordered};
use crate::entry::{entries, entry};
use fathomp_omp::current;
use fathomp_omp::worksharing::{self, Loop, single};
use fathomp_sys::call_site::call_site;
use std::ffi::{c_uint, c_void};

entry! {
    /// `unsigned GOMP_sections_start(unsigned count)`: number of the member's
    /// first section, from 1; 0 if there is none.
    GOMP_sections_start => sections_start;
    /// `unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **mem)`
    GOMP_sections2_start => sections2_start;
}

extern "C" fn sections_start(count: c_uint) -> c_uint {
    let member = current();
    worksharing::start(member, &Loop::sections(count, call_site()));
    worksharing::next_section(member)
}

extern "C" fn sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> c_uint {
    let member = current();
    let wanted = Loop::sections(count, call_site());
    // SAFETY: these are the arguments of the entry point.
    unsafe { meet(member, &wanted, Parts { reductions, memory }) };
    worksharing::next_section(member)
}

entries! {
    /// `unsigned GOMP_sections_next(void)`
    fn GOMP_sections_next() -> c_uint {
        worksharing::next_section(current())
    }
    /// `void GOMP_sections_end(void)`
    fn GOMP_sections_end() {
        worksharing::end(current());
    }
    /// `void GOMP_sections_end_nowait(void)`
    fn GOMP_sections_end_nowait() {
        worksharing::end_nowait(current());
    }
    /// `bool GOMP_sections_end_cancel(void)`: whether the region has been cancelled.
    fn GOMP_sections_end_cancel() -> bool {
        worksharing::end_cancel(current())
    }
    /// `bool GOMP_single_start(void)`: whether this thread runs the block.
    fn GOMP_single_start() -> bool {
        single::start(current())
    }
    /// `void *GOMP_single_copy_start(void)`: null in the thread that runs the
    /// block, else the data it broadcasts.
    fn GOMP_single_copy_start() -> *mut c_void {
        single::start_copy(current())
            .map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut)
    }
    /// `void GOMP_single_copy_end(void *data)`
    fn GOMP_single_copy_end(data: *mut c_void) {
        single::finish_copy(current(), data.expose_provenance());
    }
}

/// `void GOMP_scope_start(uintptr_t *reductions)`
///
/// # Safety
/// `reductions` is a table of task reductions that lives until it is
/// unregistered, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_scope_start(reductions: *mut usize) {
    if !reductions.is_null() {
        // SAFETY: promised by our caller.
        unsafe { super::reductions::begin_workshare(current(), reductions) };
    }
}

entries! {
    /// `void GOMP_ordered_start(void)`
    fn GOMP_ordered_start() {
        enter_ordered();
    }
    /// `void GOMP_ordered_end(void)`
    fn GOMP_ordered_end() {
        leave_ordered();
    }
}
