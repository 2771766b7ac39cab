//! The program's heap, as `malloc` and its relatives need it. Addresses stand
//! for pointers: what lies there is not looked at here.

use crate::blocks;
use crate::memory::{self, memory};
use crate::start;
use fathomp_sys::cluster::deferral::{self, Inside};
use fathomp_sys::thread_slot::thread_token;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Alignment that `malloc` promises.
pub const ALIGNMENT: usize = 16;

/// A block for code at address `caller`; `None` if that code gets private
/// memory, or this process is no node.
#[inline]
#[must_use]
pub fn allocate(bytes: usize, align: usize, caller: usize) -> Option<Block> {
    let memory = memory()?;
    if memory.is_private(caller) || allocates_privately() {
        return None;
    }
    Some(match memory.allocate(bytes.max(1), align.max(ALIGNMENT)) {
        Some(address) => {
            if let Some(end) = memory.outgrown(address, bytes)
                && let Some(node) = start::node()
            {
                node.open_own_heap(end);
            }
            blocks::note(address, bytes, caller);
            Block::At(address)
        }
        None => Block::Exhausted,
    })
}

/// The thread that allocates privately; 0 if none does.
static PRIVATE_THREAD: AtomicUsize = AtomicUsize::new(0);

#[inline]
fn allocates_privately() -> bool {
    let thread = PRIVATE_THREAD.load(Ordering::Relaxed);
    thread != 0 && thread == thread_token()
}

/// Gives private memory to all that the calling thread asks for meanwhile: for what a library
/// keeps in variables of its own, which each node has to itself.
pub fn privately<R>(use_it: impl FnOnce() -> R) -> R {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let alone = ONE_AT_A_TIME.lock();
    let _alone = alone.unwrap_or_else(PoisonError::into_inner);
    PRIVATE_THREAD.store(thread_token(), Ordering::Relaxed);
    let result = use_it();
    PRIVATE_THREAD.store(0, Ordering::Relaxed);
    result
}

/// Keeps the program's signal handlers away while the calling thread is in the
/// C library's own heap, if this process is or will be a node: serving a page
/// for a handler may need a block of it.
#[inline]
#[must_use]
pub fn undisturbed() -> Option<Inside> {
    memory().map(|_| deferral::enter())
}

/// Whether code at address `caller` is the C library's, ours or the interposer's.
#[must_use]
pub fn is_private(caller: usize) -> bool {
    memory().is_none_or(|memory| memory.is_private(caller))
}

/// Whether code at address `caller` is that of the interposer, which passes calls of others on as well
/// as making its own.
#[must_use]
pub fn is_of_interposer(caller: usize) -> bool {
    memory().is_some_and(|memory| memory.is_of_interposer(caller))
}

/// What became of a wish for a shared block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// It lies there.
    At(usize),
    /// There is no room for it.
    Exhausted,
}

/// Whether a block is shared, so that the functions below are to be used.
#[inline]
#[must_use]
pub fn is_shared(address: usize) -> bool {
    memory().is_some_and(|memory| memory.contains(address))
}

/// Gives a shared block back.
pub fn free(address: usize) {
    match start::node() {
        Some(node) => node.free(address),
        None => {
            if let Some(memory) = memory() {
                memory.release(address);
            }
        }
    }
}

/// Bytes in a shared block.
#[must_use]
pub fn size_of(address: usize) -> usize {
    match start::node() {
        Some(node) => node.size_of(address),
        None => memory::memory()
            .and_then(|memory| memory.size_of(address).ok().flatten())
            .unwrap_or(0),
    }
}
