//! Pages of two bytes: so few that all states can be gone through.

use fathomp_protocols::Body;
use fathomp_simulator::{Arriving, Bytes, Leaving};
use fathomp_types::PageId;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Two([u8; 2]);

/// What was written, by place.
type Diff = [Option<u8>; 2];

impl Bytes for Two {
    type Diff = Diff;

    fn zero() -> Self {
        Self([0; 2])
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn changes(&self, twin: &Self) -> Diff {
        std::array::from_fn(|at| (twin.0[at] != self.0[at]).then_some(self.0[at]))
    }

    fn change(&mut self, diff: &Diff) {
        for (byte, value) in self.0.iter_mut().zip(diff) {
            *byte = value.unwrap_or(*byte);
        }
    }
}

/// Content that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Small {
    Page(Two),
    Diff(Diff),
    /// A page of zeros.
    Blank,
}

impl Body for Small {
    fn is_blank(&self) -> bool {
        *self == Self::Blank
    }
}

impl From<Leaving<Two>> for Small {
    fn from(leaving: Leaving<Two>) -> Self {
        match leaving {
            Leaving::Blank => Self::Blank,
            Leaving::Page(page) => Self::Page(page),
            Leaving::Diff(diff) => Self::Diff(diff),
        }
    }
}

impl TryFrom<Small> for Arriving<Two> {
    type Error = String;

    fn try_from(content: Small) -> Result<Self, String> {
        Ok(match content {
            Small::Page(page) => Self::Page(page),
            Small::Blank => Self::Blank,
            Small::Diff(_) => return Err("a page is installed from none".into()),
        })
    }
}

/// A byte of the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) page: u32,
    pub(crate) byte: usize,
}

impl Place {
    pub(crate) fn id(self) -> PageId {
        PageId(self.page)
    }
}
