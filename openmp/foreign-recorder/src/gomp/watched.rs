//! Which libgomp is behind, and whether its calls are events.

use crate::front;
use crate::seen::{self, Thread};
use fathomp_sys::dlsym_next::{self, Next};
use fathomp_sys::modules;
use fathomp_trace::foreign_recorder::Unseen;
use fathomp_trace::recorder::Watched;
use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing has been asked of the runtime yet.
const UNDECIDED: u8 = 0;
/// Calls pass: nobody wants a recording, or the runtime behind tells its tool itself.
const PASS: u8 = 1;
/// Calls are events.
const WATCH: u8 = 2;

static DECIDED: AtomicU8 = AtomicU8::new(UNDECIDED);

/// The calling thread, if its calls are events.
#[inline]
pub(super) fn watched() -> Option<&'static Thread> {
    match DECIDED.load(Ordering::Relaxed) {
        WATCH => seen::thread(),
        PASS => None,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Option<&'static Thread> {
    let watch = seen::is_asked_for() && !speaks_ompt() && seen::begin(runtime);
    let decided = if watch { WATCH } else { PASS };
    DECIDED.store(decided, Ordering::Relaxed);
    watch.then(seen::thread).flatten()
}

/// Whether the program calls libgomp's functions, as gcc's programs do.
pub(crate) fn is_used() -> bool {
    DECIDED.load(Ordering::Relaxed) != UNDECIDED
}

/// Whether the runtime behind is one that has both interfaces, which are those that speak OMPT.
fn speaks_ompt() -> bool {
    let module = |address: *mut c_void| modules::locate(address.addr()).map(|at| at.module);
    let llvms = Next::new(c"__kmpc_fork_call");
    let mut llvms = llvms.address();
    if llvms.is_null() {
        llvms = dlsym_next::in_any(c"__kmpc_fork_call", front::is_runtime);
    }
    !llvms.is_null() && module(llvms) == module(behind())
}

static PARALLEL: Next = Next::new(c"GOMP_parallel");

/// Where libgomp begins a parallel region.
fn behind() -> *mut c_void {
    front::behind(&PARALLEL)
}

/// The libgomp behind.
fn runtime() -> Watched {
    let library = modules::locate(behind().addr()).map(|at| at.module);
    let release = release();
    Watched {
        name: format!("libgomp ({release})"),
        library: Some(library.unwrap_or_else(|| PathBuf::from("libgomp.so.1"))),
    }
}

/// Which gcc it is of, which it does not say: by what it has.
fn release() -> &'static str {
    /// Functions that came with a release, newest first.
    const CAME: [(&CStr, &str); 6] = [
        (c"omp_target_memset", "of gcc 16 or later"),
        (c"omp_get_interop_int", "of gcc 15 or later"),
        (c"omp_target_is_accessible", "of gcc 13 or later"),
        (c"GOMP_teams4", "of gcc 12"),
        (c"omp_alloc", "of gcc 11"),
        (c"GOMP_teams_reg", "of gcc 9 or 10"),
    ];
    let has = |name: &CStr| {
        let mut symbol = std::ptr::null_mut();
        if let Some(path) = modules::locate(behind().addr()) {
            let wanted = path.module;
            symbol = dlsym_next::in_any(name, |path| path == wanted.as_os_str().as_encoded_bytes());
        }
        !symbol.is_null()
    };
    CAME.into_iter()
        .find(|(name, _)| has(name))
        .map_or("of gcc 8 or earlier", |(_, release)| release)
}

/// Code that is called with a pointer to data: of regions and tasks.
pub(super) type Body = unsafe extern "C" fn(*mut c_void);

/// What no program shows on libgomp, once it has begun a region.
pub(super) fn note_unseen() {
    seen::unseen(Unseen::DividedLoops);
}

/// What is not known of critical sections and locks.
pub(super) fn note_free_mutexes() {
    seen::unseen(Unseen::FreeMutexes);
}
