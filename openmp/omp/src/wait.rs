//! What threads wait for, and what excludes them from each other.

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A region: it is a worker between regions, or a node.
    Region,
    /// The others, at a barrier that ends a construct or region.
    ImplicitBarrier,
    /// The others, at a barrier that the program wrote.
    ExplicitBarrier,
    /// Tasks, in a `taskwait` or `taskgroup` construct.
    Tasks,
    /// A critical section, or an atomic update that takes a lock.
    Critical,
    /// A lock of the program.
    Lock,
    /// Its turn in an ordered construct or a doacross loop.
    Ordered,
}

/// What one thread has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutex {
    /// A lock of the program.
    Lock,
    /// A lock that its owner may take again.
    NestLock,
    /// A critical section.
    Critical,
    /// An atomic update that the processor has no instruction for.
    Atomic,
    /// An ordered construct.
    Ordered,
}

impl Mutex {
    /// What a thread waits for that cannot have it.
    #[must_use]
    pub const fn wait(self) -> Wait {
        match self {
            Self::Lock | Self::NestLock => Wait::Lock,
            Self::Critical | Self::Atomic => Wait::Critical,
            Self::Ordered => Wait::Ordered,
        }
    }
}
