//! Output that libraries hold back: units of Fortran, and streams of C++ that are not kept
//! in step with C's. It is written out at barriers, so that lines come in the order that
//! barriers give, and nothing is left when nodes other than 0 end.

use super::real;
use fathomp_node::{start, world};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

type Done = unsafe extern "C" fn(*mut c_void);
type FlushUnits = unsafe extern "C" fn(*const i32);
type FlushStream = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// A unit of Fortran may hold something back.
static FORTRAN: AtomicBool = AtomicBool::new(false);
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
pub unsafe extern "C" fn fathomp_st_write_done(parameters: *mut c_void) {
    if let Some(next) = real!(c"_gfortran_st_write_done" as Done) {
        // SAFETY: promised by our caller.
        unsafe { next(parameters) };
    }
    if start::node().is_some() && !FORTRAN.load(Ordering::Relaxed) {
        FORTRAN.store(true, Ordering::Relaxed);
        world::hold();
    }
}

/// Writes out what is held back.
pub(super) fn flush() {
    if FORTRAN.swap(false, Ordering::Relaxed)
        && let Some(flush) = real!(c"_gfortran_flush_i4" as FlushUnits)
    {
        // SAFETY: null means all units.
        unsafe { flush(std::ptr::null()) };
    }
    if CXX.load(Ordering::Relaxed) {
        flush_cxx();
        // Nobody tells when they hold something again.
        world::hold();
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
