//! How a thread updates a byte: by one atomic instruction, in the memory of its page's home
//! where it can, and otherwise in a copy, under a lock.

use fathomp_base::{NodeId, PageId};
use fathomp_driver::{Driver, Machine};
use fathomp_dsm::{LockId, Operation, Protocol};
use fathomp_shared::UpdateStart;

/// The lock of threads that cannot update a page in its home's memory.
const UPDATES: LockId = LockId(u64::MAX - 1);

/// How far a thread is with an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Update {
    /// It has yet to begin.
    #[default]
    Begins,
    /// What its node wrote before is known.
    Told,
    /// It has the lock, and has asked so often that the page be offered.
    Locked(u8),
    /// It has the lock, and the page's home offers nothing.
    Refused,
    /// It has the lock, and works on a copy.
    Copy,
    /// The copy is written.
    Written,
    /// What was written is home.
    Home,
    /// The page's home has said what it may have shown.
    Shown,
    /// It is done, perhaps with the lock.
    Done {
        /// It has the lock.
        locked: bool,
    },
    /// What is news is known.
    Learned,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It asks for an operation.
    Operation(Operation),
    /// The byte was updated at home.
    Updated,
    /// It updates the byte in the copy here, perhaps after a fault. The stage is reached then.
    UpdatesCopy,
    /// It goes on at once.
    GoesOn,
    /// It has ended.
    Ends,
}

impl Update {
    /// The page's home offers nothing.
    #[must_use]
    pub fn refused(self) -> Self {
        match self {
            Self::Shown => self,
            _ => Self::Refused,
        }
    }

    /// The next stage, and what is to be done for it. A page is asked for so often that is not
    /// offered any more when the answer comes; `update` updates the byte in its home's memory.
    ///
    /// # Errors
    /// If it cannot be, or is to be updated at home and in a copy.
    pub fn next<P: Protocol<M::Body>, M: Machine>(
        self,
        driver: &Driver<P, M::Body>,
        machine: &mut M,
        page: PageId,
        tries_max: u8,
        update: impl FnOnce(&mut M, NodeId) -> Result<(), String>,
    ) -> Result<(Self, Next), String> {
        let flush = Next::Operation(Operation::Flush);
        let ask = Next::Operation(Operation::Update(page));
        Ok(match self {
            Self::Begins => match driver.owes_before_update(machine, page) {
                Some(true) => (Self::Told, flush),
                _ => (Self::Told, Next::GoesOn),
            },
            Self::Told | Self::Locked(_) => match (driver.begin_update(machine, page), self) {
                ((UpdateStart::Begun, home), _) => {
                    let updated = update(machine, home);
                    end(machine, home);
                    let locked = self != Self::Told;
                    updated.map(|()| (Self::Done { locked }, Next::Updated))?
                }
                (_, Self::Told) => {
                    let lock = Operation::Acquire(UPDATES);
                    (Self::Locked(0), Next::Operation(lock))
                }
                ((UpdateStart::Incomplete, _), Self::Locked(tries)) if tries > 0 => (self, ask),
                (_, Self::Locked(tries)) if tries < tries_max => (Self::Locked(tries + 1), ask),
                // Others may have updated it at home since this one has the lock.
                _ => (Self::Copy, flush),
            },
            Self::Refused => (Self::Copy, flush),
            Self::Copy => {
                let (start, home) = driver.begin_update(machine, page);
                if start == UpdateStart::Begun {
                    end(machine, home);
                    return Err(format!("page {page} is updated in a copy and at its home"));
                }
                (Self::Written, Next::UpdatesCopy)
            }
            Self::Written => (Self::Home, flush),
            Self::Home => (Self::Shown, ask),
            Self::Shown if driver.protocol().lacks_what_is_shown() => (Self::Shown, flush),
            Self::Shown => (Self::Done { locked: true }, Next::GoesOn),
            Self::Done { locked: true } => {
                // A thread that has the lock has it since before.
                let release = Operation::Release(UPDATES);
                (Self::Done { locked: false }, Next::Operation(release))
            }
            Self::Done { locked: false } => match driver.lacks_news_after_update(machine) {
                true => (Self::Learned, flush),
                false => (Self::Learned, Next::GoesOn),
            },
            Self::Learned => (Self::Begins, Next::Ends),
        })
    }
}

fn end(machine: &impl Machine, home: NodeId) {
    if let Some(window) = machine.window() {
        window.end_update(home);
    }
}
