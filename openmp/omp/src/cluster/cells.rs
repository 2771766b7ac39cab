//! Which cell serves what.
//!
//! Every node counts the constructs that a region meets from the region's
//! beginning, so equal numbers name the same construct. Cells vanish at
//! barriers, so the next region may use the same names again.

use super::interface::Cell;
use crate::team::Member;
use std::sync::atomic::Ordering;

/// What a construct uses a cell for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// Which node is first (`single`); how many units of a loop are claimed.
    Claim,
    /// That a `single` block has been run.
    Done,
    /// The address of what a `copyprivate` clause broadcasts.
    Copy,
    /// The position whose turn it is in an ordered loop.
    Turn,
    /// Which node allocates the memory that the members share.
    Allocator,
    /// Where that memory is, by number.
    Memory(u32),
    /// How far a doacross loop has come in one of its parts.
    Progress(u64),
}

/// Kinds of cells that a construct has several of, in the cell's number.
const MEMORY: u64 = 1 << 30;
const PROGRESS: u64 = 1 << 31;
/// Reductions are numbered by themselves.
const REDUCTIONS: u64 = 1 << 63;

impl Of {
    fn number(self) -> u64 {
        match self {
            Self::Claim => 0,
            Self::Copy => 1,
            Self::Turn => 2,
            Self::Allocator => 3,
            Self::Done => 4,
            Self::Memory(number) => MEMORY | u64::from(number) & (MEMORY - 1),
            // As many parts fit into no memory.
            Self::Progress(part) => PROGRESS | part & (PROGRESS - 1),
        }
    }
}

/// A cell of the construct with that number, which `member` is in.
#[inline]
pub(crate) fn of_construct(member: &Member, construct: u32, of: Of) -> Cell {
    let first = member.team().dock.construct.load(Ordering::Relaxed);
    let number = construct.wrapping_sub(first) & (u32::MAX >> 1);
    Cell(u64::from(number) << 32 | of.number())
}

/// A cell of a region's worksharing construct with task reductions.
pub(crate) fn of_reductions(round: u32, of: Of) -> Cell {
    Cell(REDUCTIONS | u64::from(round & (u32::MAX >> 1)) << 32 | of.number())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_cells_of_a_construct_are_the_same() {
        let single = [Of::Claim, Of::Copy, Of::Turn, Of::Allocator, Of::Done];
        let many = (0..100).flat_map(|n| [Of::Memory(n), Of::Progress(n.into())]);
        let all: Vec<u64> = single.into_iter().chain(many).map(Of::number).collect();
        let distinct: BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|number| *number <= u64::from(u32::MAX)));
    }
}
