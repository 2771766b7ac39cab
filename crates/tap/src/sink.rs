//! Where state changes go.

/// The end of a thread's stay in a state, as its sink gets it.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub at: u64,
}

/// Takes the changes of one thread.
pub trait Sink {
    /// Takes one. Neither allocates nor waits for a lock.
    fn put(&mut self, change: &Change);
}
