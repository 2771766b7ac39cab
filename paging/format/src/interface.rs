//! How fathomp's own runtime tells the tap what it does.
//!
//! The tap is a library of its own, loaded into every program whose paging is
//! recorded, OpenMP or not. The runtime looks for the symbol
//! [`INTERFACE_SYMBOL`] once, when it starts; where there is none, nothing is
//! told to anybody.

use std::ffi::c_char;
use std::sync::atomic::AtomicU64;

/// Name of the function that the tap exports, an [`InterfaceFunction`].
pub const INTERFACE_SYMBOL: &std::ffi::CStr = c"fathomp_tap_interface";

/// Version of [`Interface`].
pub const INTERFACE_VERSION: u32 = 1;

/// Gives the interface of that version; null if the tap does not record here
/// or knows another version only.
pub type InterfaceFunction = unsafe extern "C" fn(version: u32) -> *const Interface;

/// What the tap does for the runtime. Every function concerns the calling
/// thread, may be called where no memory may be allocated, but not in signal
/// handlers that interrupt the tap itself: those calls are ignored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// The thread enters an activity (`Activity as u32`) for a cause, a number that
    /// `name` gave or 0. Stays nest: the innermost decides.
    pub enter: extern "C" fn(activity: u32, cause: u32),
    /// The thread leaves the activity that it entered last.
    pub leave: extern "C" fn(),
    /// The number of a name (`length` bytes of UTF-8), for `enter` and `mark`; the same
    /// for the same name. 0 if there is no room for more names.
    pub name: unsafe extern "C" fn(text: *const c_char, length: usize) -> u32,
    /// Something happens now: a `MarkKind as u32`, of a name or 0.
    pub mark: extern "C" fn(kind: u32, name: u32),
    /// The thread's further counters: `count` words from `values` on, which only rise;
    /// word `i` is of the counter `first + i` of `paging::Counter`. The words stay where
    /// they are until the thread ends or calls again.
    pub counters: unsafe extern "C" fn(values: *const AtomicU64, count: u32, first: u32),
    /// The thread is number `thread` of the OpenMP threads of node `node`; `u32::MAX` for
    /// what does not apply.
    pub identity: extern "C" fn(node: u32, thread: u32),
    /// The thread serves the runtime, not the program: it is not a task.
    pub ignore: extern "C" fn(),
    /// This process has just been forked by a system call of the runtime's own, which no
    /// hook of `fork` sees (nodes are): the calling thread is its only one. Numbers of
    /// names that were given before are void here. Called before anything else is told.
    pub forked: extern "C" fn(),
}
