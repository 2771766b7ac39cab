//! Barriers, critical sections, `single`, `masked`, `ordered`, `scope`, `flush`, `error`.

use super::types::{CriticalName, Ident, Location};
use crate::entry::{entries, watched};
use crate::error_directive;
use crate::gomp::sync::{enter_ordered, leave_ordered};
use fathomp_omp::cluster::{is_node, process, tell};
use fathomp_omp::observer::{self, Mutex, Wait};
use fathomp_omp::sync::Lock;
use fathomp_omp::worksharing::single;
use fathomp_omp::{barrier, current, query};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{Ordering, fence};

/// Whether the program wrote the barrier there.
///
/// # Safety
/// As of [`Ident::flags`].
#[inline]
pub(super) unsafe fn barrier_kind(location: Location) -> Wait {
    // SAFETY: promised by our caller.
    match unsafe { Ident::flags(location) } & Ident::BARRIER_EXPLICIT {
        0 => Wait::ImplicitBarrier,
        _ => Wait::ExplicitBarrier,
    }
}

/// The calling member is at a `masked` construct, whose block it runs or does not.
fn masked(runs: bool) -> i32 {
    if runs {
        observer::masked_begins(current());
    }
    i32::from(runs)
}

watched! {
    /// `void __kmpc_critical(ident_t *, kmp_int32 gtid, kmp_critical_name *)`: the name is zero at
    /// first, which is a free lock, and used for nothing else.
    fn __kmpc_critical(_location: Location, _gtid: i32, name: *const CriticalName) {
        // SAFETY: this is the argument of the entry point.
        let lock: &Lock = unsafe { &*name };
        lock.take(Mutex::Critical);
    }
    /// `void __kmpc_critical_with_hint(ident_t *, kmp_int32 gtid, kmp_critical_name *, uint32_t
    /// hint)`: the lock adapts by itself.
    fn __kmpc_critical_with_hint(location: Location, gtid: i32, name: *const CriticalName, _hint: u32) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { __kmpc_critical::body(location, gtid, name) };
    }
}

entries! {
    /// `void __kmpc_barrier(ident_t *, kmp_int32 gtid)`
    fn __kmpc_barrier(location: Location, _gtid: i32) {
        // SAFETY: promised by our caller.
        barrier::barrier(current(), unsafe { barrier_kind(location) });
    }
    /// `kmp_int32 __kmpc_barrier_master(ident_t *, kmp_int32 gtid)`: a barrier; the one that gets
    /// 1 runs a block, for whose end the others wait.
    fn __kmpc_barrier_master(location: Location, gtid: i32) -> i32 {
        // SAFETY: these are the arguments of the entry point.
        unsafe { __kmpc_barrier::body(location, gtid) };
        if current().thread_num() == 0 {
            return 1;
        }
        barrier::barrier(current(), Wait::ImplicitBarrier);
        0
    }
    /// `void __kmpc_end_barrier_master(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_barrier_master(_location: Location, _gtid: i32) {
        barrier::barrier(current(), Wait::ImplicitBarrier);
    }
    /// `kmp_int32 __kmpc_barrier_master_nowait(ident_t *, kmp_int32 gtid)`
    fn __kmpc_barrier_master_nowait(location: Location, gtid: i32) -> i32 {
        // SAFETY: these are the arguments of the entry point.
        unsafe {
            __kmpc_barrier::body(location, gtid);
            __kmpc_master::body(location, gtid)
        }
    }
    /// `void __kmpc_end_critical(ident_t *, kmp_int32 gtid, kmp_critical_name *)`
    fn __kmpc_end_critical(_location: Location, _gtid: i32, name: *const CriticalName) {
        // SAFETY: this is the argument of `__kmpc_critical` as well.
        let lock: &Lock = unsafe { &*name };
        lock.give(Mutex::Critical);
    }
    /// `void __kmpc_copyprivate(ident_t *, kmp_int32 gtid, size_t size, void *data,
    /// void (*copy)(void *, void *), kmp_int32 didit)`: all members get what the one has that
    /// has run the `single` block.
    fn __kmpc_copyprivate(_location: Location, _gtid: i32, _bytes: usize, data: *mut c_void,
        copy: extern "C" fn(*mut c_void, *mut c_void), did_it: i32) {
        let member = current();
        let source = single::broadcast(member, (did_it != 0).then(|| data.expose_provenance()));
        if did_it == 0 {
            copy(data, std::ptr::with_exposed_provenance_mut(source));
        }
        // Until all have copied, the data must stay.
        barrier::barrier(member, Wait::ImplicitBarrier);
    }
    /// `void *__kmpc_copyprivate_light(ident_t *, kmp_int32 gtid, void *data)`: the address that
    /// the one has passed that has run the block; the others pass null. The program copies and
    /// then meets a barrier.
    fn __kmpc_copyprivate_light(_location: Location, _gtid: i32, data: *mut c_void) -> *mut c_void {
        let mine = data.expose_provenance();
        let source = single::broadcast(current(), (mine != 0).then_some(mine));
        std::ptr::with_exposed_provenance_mut(source)
    }
    /// `void __kmpc_error(ident_t *, int severity, const char *message)`: 1 is a warning, 2 ends
    /// the program.
    fn __kmpc_error(_location: Location, severity: i32, message: *const c_char) {
        let length = usize::MAX;
        // SAFETY: promised by our caller; the text ends in a NUL.
        unsafe {
            match severity {
                1 => error_directive::warning(message.cast(), length),
                _ => error_directive::error(message.cast(), length),
            }
        }
    }
    /// `kmp_int32 __kmpc_master(ident_t *, kmp_int32 gtid)`: whether the calling thread runs the
    /// block.
    fn __kmpc_master(_location: Location, _gtid: i32) -> i32 {
        masked(query::thread_num() == 0)
    }
    /// `void __kmpc_end_master(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_master(_location: Location, _gtid: i32) {
        observer::masked_ends(current());
    }
    /// `kmp_int32 __kmpc_masked(ident_t *, kmp_int32 gtid, kmp_int32 filter)`
    fn __kmpc_masked(_location: Location, _gtid: i32, filter: i32) -> i32 {
        masked(query::thread_num().cast_signed() == filter)
    }
    /// `void __kmpc_end_masked(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_masked(_location: Location, _gtid: i32) {
        observer::masked_ends(current());
    }
    /// `kmp_int32 __kmpc_single(ident_t *, kmp_int32 gtid)`: whether the calling thread runs the
    /// block.
    fn __kmpc_single(_location: Location, _gtid: i32) -> i32 {
        i32::from(single::start(current()))
    }
    /// `void __kmpc_end_single(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_single(_location: Location, _gtid: i32) {
        observer::end_single(current());
    }
    /// `void __kmpc_scope(ident_t *, kmp_int32 gtid, void *reserved)`
    fn __kmpc_scope(_location: Location, _gtid: i32, _reserved: usize) {
        observer::scope_begins(current());
    }
    /// `void __kmpc_end_scope(ident_t *, kmp_int32 gtid, void *reserved)`
    fn __kmpc_end_scope(_location: Location, _gtid: i32, _reserved: usize) {
        observer::scope_ends(current());
    }
    /// `void __kmpc_ordered(ident_t *, kmp_int32 gtid)`
    fn __kmpc_ordered(_location: Location, _gtid: i32) {
        enter_ordered();
    }
    /// `void __kmpc_end_ordered(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_ordered(_location: Location, _gtid: i32) {
        leave_ordered();
    }
    /// `void __kmpc_flush(ident_t *)`
    fn __kmpc_flush(_location: Location) {
        fence(Ordering::SeqCst);
        if is_node()
            && let Some(process) = process()
        {
            tell(false);
            process.flush();
        }
        observer::flushed();
    }
}
