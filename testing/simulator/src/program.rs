//! Programs for a simulated cluster.

use fathomp_protocols::LockId;
use fathomp_types::{PAGE_BYTES, PageId};

/// A byte of the shared range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u32);

impl Address {
    /// Byte `offset` of page `page`.
    #[must_use]
    pub fn at(page: u32, offset: u32) -> Self {
        Self(page * PAGE_BYTES as u32 + offset % PAGE_BYTES as u32)
    }

    pub(crate) fn page(self) -> PageId {
        PageId(self.0 / PAGE_BYTES as u32)
    }

    pub(crate) fn offset(self) -> usize {
        self.0 as usize % PAGE_BYTES
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Writes a byte.
    Write(Address, u8),
    /// Reads a byte, which must be what was last written.
    Read(Address),
    /// Reads a byte that others may be writing, and remembers it.
    Observe(Address),
    /// Reads a byte until it has this value, with a flush between two looks.
    Await(Address, u8),
    /// Reads a byte until it has this value, and does nothing else.
    Spin(Address, u8),
    /// Reads a byte until it has this value, in a loop that tells by its branches how it goes on,
    /// and sees what was written before.
    Wait(Address, u8),
    /// All threads of all nodes meet.
    Barrier,
    /// See [`fathomp_protocols::Operation::Flush`].
    Flush,
    /// Takes a lock.
    Acquire(LockId),
    /// Takes a lock if it is free; otherwise leaves out so many steps.
    TryAcquire(LockId, usize),
    /// Gives it back.
    Release(LockId),
    /// Adds to a byte, in one atomic step.
    Update(Address, u8),
    /// The same, and never looks at what was there. Nobody else looks at it before the threads
    /// have met, but for the one thread that adds to it.
    Add(Address, u8),
    /// Adds nothing to a byte, in atomic steps, until it has this value.
    Poll(Address, u8),
    /// Exchanges a byte for 1, in atomic steps, until it was 0.
    Take(Address),
}

/// The steps of each thread of each node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// Pages in the shared range.
    pub pages: u32,
    /// By node, then by thread of the node.
    pub threads: Vec<Vec<Vec<Step>>>,
}

impl Program {
    /// How many nodes it is for.
    ///
    /// # Panics
    /// If there are more nodes than can be numbered.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        u16::try_from(self.threads.len()).expect("nodes are numbered by 16 bits")
    }

    /// Whether a thread updates bytes.
    #[must_use]
    pub fn updates(&self) -> bool {
        let mut steps = self.threads.iter().flatten().flatten();
        steps.any(|step| {
            matches!(
                step,
                Step::Update(..) | Step::Add(..) | Step::Poll(..) | Step::Take(_)
            )
        })
    }

    /// Whether a thread waits for a byte in a loop of its own.
    #[must_use]
    pub fn waits(&self) -> bool {
        let mut steps = self.threads.iter().flatten().flatten();
        steps.any(|step| matches!(step, Step::Wait(..)))
    }

    /// Whether a thread tries to take a lock that others may have.
    #[must_use]
    pub fn tries_locks(&self) -> bool {
        let mut steps = self.threads.iter().flatten().flatten();
        steps.any(|step| matches!(step, Step::TryAcquire(..)))
    }

    /// Whether a thread waits for what it reads, and does not flush before it goes
    /// on.
    #[must_use]
    pub fn relies_on_loads(&self) -> bool {
        let mut steps = self.threads.iter().flatten().flatten();
        steps.any(|step| matches!(step, Step::Await(..) | Step::Spin(..)))
    }
}
