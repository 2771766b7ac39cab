//! Memory of tasks that is used again.
//!
//! Often another thread frees a task's memory than the one that asked for it. The C library's
//! allocator has both wait for each other then, for longer than a short task runs. So threads keep
//! some, and those that have too much pass it on to those that have none, many at a time.

use std::cell::RefCell;
use std::sync::Mutex;

/// Bytes of what is kept; tasks that need more are rare.
pub(super) const BYTES: usize = 512;
/// How aligned it is.
pub(super) const ALIGN: usize = 64;

/// How many pieces a thread keeps, and how many it gets and gives at a time.
const KEPT: usize = 128;
const BATCH: usize = KEPT / 2;
/// How many are kept for all threads: 2 MiB.
const SPARE: usize = 4096;

/// Addresses of pieces that nobody uses.
static STOCK: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Those of one thread.
struct Own(Vec<usize>);

impl Own {
    /// Leaves `count` of them, or as many as may be kept, to other threads.
    fn pass_on(&mut self, count: usize) {
        let rest = self.0.len().saturating_sub(count);
        // Nobody waits here: a process that was forked has a copy of a lock whose holder it has
        // not.
        if let Ok(mut stock) = STOCK.try_lock() {
            let room = SPARE.saturating_sub(stock.len()).min(count);
            let first = self.0.len().saturating_sub(room);
            stock.extend(self.0.drain(first..));
        }
        for address in self.0.drain(rest.min(self.0.len())..) {
            give_back(address);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.pass_on(self.0.len());
    }
}

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own(Vec::new())) };
}

/// A piece of [`BYTES`] bytes, aligned to [`ALIGN`]; 0 if there is no memory.
pub(super) fn take() -> usize {
    let kept = OWN.try_with(|own| {
        let own = &mut own.try_borrow_mut().ok()?.0;
        if own.is_empty()
            && let Ok(mut stock) = STOCK.try_lock()
        {
            let rest = stock.len().saturating_sub(BATCH);
            own.extend(stock.drain(rest..));
        }
        own.pop()
    });
    match kept {
        Ok(Some(address)) => address,
        // SAFETY: plain C allocation, which our caller checks.
        _ => unsafe { libc::aligned_alloc(ALIGN, BYTES) }.expose_provenance(),
    }
}

/// Nobody uses a piece any more that [`take`] returned.
pub(super) fn give(address: usize) {
    let kept = OWN.try_with(|own| {
        let Ok(mut own) = own.try_borrow_mut() else {
            return false;
        };
        if own.0.len() >= KEPT {
            own.pass_on(BATCH);
        }
        own.0.push(address);
        true
    });
    if kept != Ok(true) {
        give_back(address);
    }
}

fn give_back(address: usize) {
    // SAFETY: it came from `aligned_alloc` in `take`, and nobody uses it any more.
    unsafe { libc::free(std::ptr::with_exposed_provenance_mut(address)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_and_all_different() {
        let pieces: Vec<_> = (0..3 * KEPT).map(|_| take()).collect();
        assert!(
            pieces
                .iter()
                .all(|piece| *piece != 0 && piece.is_multiple_of(ALIGN))
        );
        let mut sorted = pieces.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), pieces.len());
        pieces.into_iter().for_each(give);
    }

    #[test]
    fn threads_that_only_free_supply_those_that_only_take() {
        let given: Vec<_> = (0..KEPT).map(|_| take()).collect();
        let passed_on = given.clone();
        std::thread::spawn(move || passed_on.into_iter().for_each(give))
            .join()
            .unwrap();
        // The thread has left its pieces, or they were returned if another test had the stock.
        let taken: Vec<_> = (0..KEPT).map(|_| take()).collect();
        taken.into_iter().for_each(give);
    }
}
