//! How a thread updates a byte: by one atomic instruction, in the memory of its page's home
//! where it can, and otherwise in a copy, under a lock.

use fathomp_driver::{Driver, Machine};
use fathomp_protocols::{LockId, Operation, Protocol};
use fathomp_shm_window::UpdateStart;
use fathomp_types::{NodeId, PageId};

/// The lock of threads that cannot update a page in its home's memory.
const UPDATES: LockId = LockId::ATOMICS;

/// How far a thread is with an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Update {
    /// It has yet to begin.
    #[default]
    Begins,
    /// It has flushed, and takes the lock where nodes do not reach each other's memory, or has
    /// the update carried home.
    Flushed,
    /// It was carried home, and what was there is known.
    Carried,
    /// It has the lock there, and works on its node's copy.
    Alone,
    /// That is done.
    Done,
    /// All is known that the copy showed.
    Known,
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
    /// It is done at home or in a copy, perhaps with the lock.
    Updated {
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
    /// It has the update carried home.
    Carries,
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
    /// offered any more when the answer comes. A thread `flushes` now and then that updates copies
    /// only: others do not see otherwise what was written right before a barrier. `update`
    /// updates the byte in its home's memory.
    ///
    /// # Errors
    /// If it cannot be, or is to be updated at home and in a copy.
    pub fn next<P: Protocol<M::Body>, M: Machine>(
        self,
        driver: &Driver<P, M::Body>,
        machine: &mut M,
        page: PageId,
        tries_max: u8,
        flushes: bool,
        update: impl FnOnce(&mut M, NodeId) -> Result<(), String>,
    ) -> Result<(Self, Next), String> {
        let flush = Next::Operation(Operation::Flush);
        let ask = Next::Operation(Operation::Update(page));
        let lock = Next::Operation(Operation::Acquire(UPDATES));
        let release = Next::Operation(Operation::Release(UPDATES));
        let carries = driver.protocol().carries(page);
        Ok(match self {
            Self::Begins if carries && !flushes => (Self::Carried, Next::Carries),
            Self::Flushed if carries => (Self::Carried, Next::Carries),
            Self::Carried if driver.protocol().shows_what_is_unknown(page) => {
                (Self::Learned, Next::Operation(Operation::Learn(page)))
            }
            Self::Carried => (Self::Learned, Next::GoesOn),
            Self::Begins => match driver.owes_before_update(machine, page) {
                Some(true) => (Self::Told, flush),
                Some(false) => (Self::Told, Next::GoesOn),
                None if flushes => (Self::Flushed, flush),
                None => (Self::Alone, lock),
            },
            Self::Flushed => (Self::Alone, lock),
            Self::Alone => (Self::Done, Next::UpdatesCopy),
            Self::Done if driver.protocol().shows_what_is_unknown(page) => {
                (Self::Known, Next::Operation(Operation::Learn(page)))
            }
            Self::Done | Self::Known => (Self::Learned, release),
            Self::Told | Self::Locked(_) => match (driver.begin_update(machine, page), self) {
                ((UpdateStart::Begun, home), _) => {
                    let updated = update(machine, home);
                    end(machine, home);
                    let locked = self != Self::Told;
                    updated.map(|()| (Self::Updated { locked }, Next::Updated))?
                }
                (_, Self::Told) => (Self::Locked(0), lock),
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
            Self::Shown => (Self::Updated { locked: true }, Next::GoesOn),
            // A thread that has the lock has it since before.
            Self::Updated { locked: true } => (Self::Updated { locked: false }, release),
            Self::Updated { locked: false } => match driver.lacks_news_after_update(machine) {
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
