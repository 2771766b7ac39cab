//! How a runtime tells a library in front of the C library's functions, an interposer, what its
//! threads do that no function of the C library shows.
//!
//! The two are libraries of their own, and neither links the other. The runtime looks for the
//! symbol [`SYMBOL`] once, when it starts; where there is none, nothing is told to anybody.

use std::ffi::{CStr, c_char};
use std::sync::atomic::AtomicU64;

/// Name of the function that the interposer exports, a [`Function`].
pub const SYMBOL: &CStr = c"fathomp_paging_interface";

/// Version of [`Interface`].
pub const VERSION: u32 = 2;

/// Gives the interface of that version; null if the interposer does not record here
/// or knows another version only.
pub type Function = unsafe extern "C" fn(version: u32) -> *const Interface;

/// A point in time that all threads of a team share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mark {
    /// A barrier was passed.
    Barrier,
    /// A parallel region begins.
    RegionBegin,
    /// A parallel region ends.
    RegionEnd,
}

impl Mark {
    /// The mark with that number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Barrier),
            1 => Some(Self::RegionBegin),
            2 => Some(Self::RegionEnd),
            _ => None,
        }
    }
}

/// What is counted of memory that processes without a common one share: the number of the word
/// among those that [`Interface::counters`] gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedCount {
    /// Writes that had to be noticed.
    WriteFaults,
    /// Accesses to pages that had to be fetched.
    FetchFaults,
    /// Pages that came.
    PagesIn,
    /// Pages that went.
    PagesOut,
    /// Bytes of messages that came.
    BytesIn,
    /// Bytes of messages that went.
    BytesOut,
}

impl SharedCount {
    /// How many there are.
    pub const COUNT: usize = 6;
}

/// What the interposer does for the runtime. Every function concerns the calling
/// thread, may be called where no memory may be allocated, but not in signal
/// handlers that interrupt the interposer itself: those calls are ignored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// The thread begins to wait for others or to exchange data with them, for a cause: a
    /// number that `name` gave, or 0. Stays nest: the innermost decides.
    pub enter: extern "C" fn(cause: u32),
    /// The thread has done what it entered last.
    pub leave: extern "C" fn(),
    /// The number of a name (`length` bytes of UTF-8), for `enter` and `mark`; the same
    /// for the same name. 0 if there is no room for more names.
    pub name: unsafe extern "C" fn(text: *const c_char, length: usize) -> u32,
    /// Something happens now: a [`Mark`] as a number, of a name or 0.
    pub mark: extern "C" fn(mark: u32, name: u32),
    /// What is counted for the thread: [`SharedCount::COUNT`] words, which only rise. They stay
    /// where they are until the thread ends or calls again.
    pub counters: unsafe extern "C" fn(values: *const AtomicU64),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_counts_have_their_numbers() {
        for mark in [Mark::Barrier, Mark::RegionBegin, Mark::RegionEnd] {
            assert_eq!(Mark::from_number(mark as u32), Some(mark));
        }
        assert_eq!(Mark::from_number(3), None);
        assert_eq!(SharedCount::BytesOut as usize + 1, SharedCount::COUNT);
    }
}
