//! Output that libraries hold back: units of Fortran, and streams of C++ that are not kept
//! in step with C's. It is written out at barriers, so that lines come in the order that
//! barriers give. When a node other than 0 ends, Fortran's library closes its units as at the
//! end of any process.

use fathomp_node::world;
use fathomp_sys::terminators;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

type Done = unsafe extern "C" fn(*mut Transfer);
type FlushUnits = unsafe extern "C" fn(*const i32);
type FlushStream = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What Fortran's library is told of a statement, as far as it is known here: the begin of its
/// `st_parameter_dt`, which all of gcc's versions have.
#[repr(C)]
pub struct Transfer {
    flags: c_int,
    unit: c_int,
}

impl Transfer {
    /// The statement writes into a variable (gcc/fortran/ioparm.def).
    const INTO_A_VARIABLE: c_int = 1 << 14;
}

/// A unit of Fortran may hold something back.
static FORTRAN: AtomicBool = AtomicBool::new(false);
/// Units with negative numbers, which `NEWUNIT` gives, that may: to flush all units leaves
/// them out.
static NEW_UNITS: Mutex<BTreeSet<c_int>> = Mutex::new(BTreeSet::new());
/// Streams of C++ may at any time.
static CXX: AtomicBool = AtomicBool::new(false);

/// Streams of C++ have buffers of their own from now on, or not.
pub(super) fn expect_cxx(buffered: bool) {
    CXX.store(buffered, Ordering::Relaxed);
    if buffered {
        world::hold();
    }
}

/// The end of a Fortran statement that writes.
///
/// # Safety
/// As of the library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_st_write_done(transfer: *mut Transfer) {
    // SAFETY: promised by our caller.
    let Transfer { flags, unit } = unsafe { transfer.read() };
    if let Some(next) = real!(c"_gfortran_st_write_done" as Done) {
        // SAFETY: promised by our caller.
        unsafe { next(transfer) };
    }
    if flags & Transfer::INTO_A_VARIABLE != 0 {
        return;
    }
    if unit < 0 {
        new_units().insert(unit);
    }
    if !FORTRAN.load(Ordering::Relaxed) {
        FORTRAN.store(true, Ordering::Relaxed);
        world::hold();
    }
}

fn new_units() -> MutexGuard<'static, BTreeSet<c_int>> {
    NEW_UNITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes out what is held back.
pub(super) fn flush() {
    if FORTRAN.swap(false, Ordering::Relaxed) {
        flush_fortran();
    }
    if CXX.load(Ordering::Relaxed) {
        flush_cxx();
        // Nobody tells when they hold something again.
        world::hold();
    }
}

/// Writes out what is held back, for the last time in this process: it leaves without the
/// library's end.
pub(super) fn close() {
    static CLOSED: Once = Once::new();
    CLOSED.call_once(|| {
        if let Some(flush) = real!(c"_gfortran_flush_i4" as FlushUnits) {
            // SAFETY: Fortran's library, which nobody calls the end of but the end of the
            // process, which does not come; it closes units, as it does while other threads
            // run, too.
            unsafe { terminators::run(flush as *const c_void) };
        }
        // Others hold nothing back, and were perhaps never made.
        if CXX.load(Ordering::Relaxed) {
            flush_cxx();
        }
    });
}

fn flush_fortran() {
    let units = std::mem::take(&mut *new_units());
    if let Some(flush) = real!(c"_gfortran_flush_i4" as FlushUnits) {
        // SAFETY: null means all units, but for those.
        unsafe { flush(std::ptr::null()) };
        for unit in units {
            // SAFETY: a unit's number; one that has been closed is left alone.
            unsafe { flush(&raw const unit) };
        }
    }
}

fn flush_cxx() {
    if let Some(flush) = real!(c"_ZNSo5flushEv" as FlushStream) {
        flush_stream(c"_ZSt4cout", flush);
        flush_stream(c"_ZSt4clog", flush);
    }
    if let Some(flush) = real!(c"_ZNSt13basic_ostreamIwSt11char_traitsIwEE5flushEv" as FlushStream)
    {
        flush_stream(c"_ZSt5wcout", flush);
    }
}

fn flush_stream(name: &CStr, flush: FlushStream) {
    // SAFETY: a C string; where a program has a copy of the stream, this finds the program's.
    let stream = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !stream.is_null() {
        // SAFETY: the stream of that name. Flushing throws nothing that is not asked for.
        unsafe { flush(stream) };
    }
}
