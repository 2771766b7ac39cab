//! What waits and marks are called, and the interposer's numbers for that.
//!
//! A name is that of a construct, with the number of a site behind a `#` if the process is
//! recorded: `barrier#3`, `critical#7`. It is the number that the process's own stream in
//! the ordinary recording has in its table of sites: where a construct has a site of its
//! own (critical sections and locks) that one, else that of its parallel region.

use super::found::Interposer;
use crate::wait::Wait;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Called {
    /// A barrier that ends a construct or region.
    ImplicitBarrier,
    /// A barrier that the program wrote.
    Barrier,
    /// The begin of a critical section.
    Critical,
    /// A lock of the program.
    Lock,
    /// An ordered construct or a doacross loop's turn.
    Ordered,
    /// Waiting for tasks.
    TaskWait,
    /// Waiting for a region.
    Idle,
    /// A parallel region.
    Region,
    /// Reading a page that is not here.
    FetchFault,
    /// Writing a page of which the other nodes must learn that; it may have to be fetched.
    WriteFault,
    /// Making writes of this node and of others visible.
    Flush,
    /// A barrier of the nodes for nothing that the program wrote: a region begins.
    NodeBarrier,
    /// A lock of the nodes for nothing that the program wrote.
    NodeLock,
    /// An atomic instruction that is led through the runtime.
    Atomic,
    /// A question to node 0: what of a loop is to be done here, and the like.
    Question,
}

impl Called {
    const COUNT: usize = 15;

    /// As in the interposer's table of names.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ImplicitBarrier => "implicit barrier",
            Self::Barrier => "barrier",
            Self::Critical => "critical",
            Self::Lock => "lock",
            Self::Ordered => "ordered",
            Self::TaskWait => "task wait",
            Self::Idle => "idle",
            Self::Region => "region",
            Self::FetchFault => "fetch fault",
            Self::WriteFault => "write fault",
            Self::Flush => "flush",
            Self::NodeBarrier => "node barrier",
            Self::NodeLock => "node lock",
            Self::Atomic => "atomic",
            Self::Question => "question",
        }
    }

    /// What a thread waits for.
    pub(crate) const fn of(wait: Wait) -> Self {
        match wait {
            Wait::ImplicitBarrier => Self::ImplicitBarrier,
            Wait::ExplicitBarrier => Self::Barrier,
            Wait::Critical => Self::Critical,
            Wait::Lock => Self::Lock,
            Wait::Ordered => Self::Ordered,
            Wait::Tasks => Self::TaskWait,
            Wait::Region => Self::Idle,
        }
    }
}

/// What something is called, and the number of its site, 0 if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) Called, pub(crate) u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 => f.write_str(self.0.text()),
            site => write!(f, "{}#{site}", self.0.text()),
        }
    }
}

/// Sites whose names are kept; a recorder numbers no more.
const SITES: usize = 4096;

/// The interposer's numbers, with the generation in which they were given in the upper half.
static NUMBERS: [[AtomicU64; SITES]; Called::COUNT] =
    [const { [const { AtomicU64::new(0) }; SITES] }; Called::COUNT];

/// Rises when numbers become void.
static GENERATION: AtomicU32 = AtomicU32::new(1);

/// The numbers are void: this process is another one.
pub(super) fn forget() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

impl Name {
    /// The interposer's number for it; 0 if the interposer has no room for more names.
    pub(crate) fn number(self, interposer: &Interposer) -> u32 {
        let Self(called, site) = self;
        let Some(known) = NUMBERS[called as usize].get(site as usize) else {
            return Self(called, 0).number(interposer);
        };
        let generation = u64::from(GENERATION.load(Ordering::Relaxed)) << 32;
        let found = known.load(Ordering::Relaxed);
        if found & !u64::from(u32::MAX) == generation {
            return found as u32;
        }
        let mut text = Text::default();
        // Cut off if it should be too long, which no name is.
        let _ = write!(text, "{self}");
        let number = (interposer.number)(text.as_str());
        // Others may ask for the same meanwhile, and get the same.
        known.store(generation | u64::from(number), Ordering::Relaxed);
        number
    }
}

/// A short text that needs no memory.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        // Whole pieces only are added.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let end = self.length + piece.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(piece.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_number_of_their_site() {
        let text = |name: Name| {
            let mut text = Text::default();
            write!(text, "{name}").unwrap();
            text.as_str().to_owned()
        };
        assert_eq!(text(Name(Called::Barrier, 12)), "barrier#12");
        assert_eq!(text(Name(Called::Idle, 0)), "idle");
        let longest = Name(Called::ImplicitBarrier, u32::MAX);
        assert_eq!(text(longest), "implicit barrier#4294967295");
    }

    #[test]
    fn every_name_has_numbers() {
        assert_eq!(Called::Question as usize + 1, Called::COUNT);
    }
}
