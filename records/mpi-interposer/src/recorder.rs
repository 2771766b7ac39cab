//! The recorder of this process, which the runtime or the foreign recorder gives.

use fathomp_sys::private_heap;
use fathomp_types::mpi::{Done, Function, Recorder, SYMBOLS, Transfer, VERSION};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::OnceLock;

thread_local! {
    /// The thread is inside a function of MPI.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static RECORDER: OnceLock<Option<&'static Recorder>> = OnceLock::new();

/// The loader calls it: what records may be loaded after this library, so it is looked for at the
/// first call.
#[unsafe(no_mangle)]
extern "C" fn fathomp_mpi_load() {
    private_heap::use_always();
}

/// The loader calls it at the process's end.
#[unsafe(no_mangle)]
extern "C" fn fathomp_mpi_finish() {}

fn recorder() -> Option<&'static Recorder> {
    *RECORDER.get_or_init(find)
}

#[cold]
fn find() -> Option<&'static Recorder> {
    SYMBOLS.iter().find_map(|name| {
        // SAFETY: a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: what has one of these names is a function of this type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(found) };
        // SAFETY: any version may be asked for, and what is given lies in a preloaded library,
        // which stays.
        unsafe { function(VERSION).as_ref() }
    })
}

/// A call that is told of when it is over.
pub(crate) struct Call {
    recorder: &'static Recorder,
    done: Done,
}

/// The thread calls MPI: `describe` says what. Nothing if it is in MPI already, or not recorded.
#[inline]
pub(crate) fn begins(describe: impl FnOnce() -> Done) -> Option<Call> {
    if INSIDE.get() {
        return None;
    }
    let recorder = recorder()?;
    // What is asked of MPI to describe the call is no call of the program's.
    INSIDE.set(true);
    let mut done = describe();
    done.begin = (recorder.begin)();
    if done.begin == 0 {
        INSIDE.set(false);
        return None;
    }
    Some(Call { recorder, done })
}

impl Call {
    /// The bytes that it has to do with; [`fathomp_types::mpi::NO_BYTES`] if that is not known.
    pub(crate) fn bytes(&self) -> u64 {
        self.done.bytes
    }

    /// One of its messages.
    pub(crate) fn transfer(&self, transfer: &Transfer) {
        // SAFETY: the recorder reads it during the call.
        unsafe { (self.recorder.transfer)(transfer) };
    }

    /// It is over.
    #[inline]
    pub(crate) fn ends(self) {
        INSIDE.set(false);
        // SAFETY: the recorder reads it during the call.
        unsafe { (self.recorder.end)(&raw const self.done) };
    }
}
