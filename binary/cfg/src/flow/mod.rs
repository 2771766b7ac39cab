//! How control flows in a function.

mod blocks;
mod build;
mod cycles;
mod dominators;
mod noreturn;
mod table;
#[cfg(test)]
mod tests;

pub use cycles::{Cycle, CycleId};
pub use dominators::Dominators;
pub use noreturn::may_return;

use crate::image::{FunctionId, Image, Target};
use iced_x86::Instruction;
use std::ops::Range;

/// Number of a block of a [`Flow`], in the order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// As an index into [`Flow::blocks`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Instructions that are executed one after the other. Calls that return do not end one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Address of its first instruction.
    pub start: u64,
    /// Its instructions: indices into [`Flow::instructions`].
    pub instructions: Range<usize>,
    /// Where the program goes on in this function, each once.
    pub successors: Vec<BlockId>,
    /// From where it comes, each once; to reachable blocks only reachable ones.
    pub predecessors: Vec<BlockId>,
    /// Where the conditional branch at its end goes if it is taken; none if there is none, or if
    /// that is not in this function.
    pub taken: Option<BlockId>,
    /// What follows if the branch is not taken.
    pub passed: Option<BlockId>,
    /// How the program may leave the function at its end.
    pub leaves: Option<Leave>,
    /// Whether there is a way to it from the function's beginning. What only the unwinder
    /// enters (handlers of exceptions) is not reachable, nor are filling bytes.
    pub reachable: bool,
}

/// How the program leaves a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It returns.
    Return,
    /// By a jump to another function, which returns in its place. [`Target::Unknown`]: to one
    /// that a pointer names.
    Tail(Target),
    /// By a call that does not return.
    NeverReturns,
    /// It ends there (`ud2`, `hlt`).
    Stops,
    /// By a jump whose targets are not known.
    Unknown,
    /// Into bytes that are no instructions, or out of the code.
    Nothing,
}

/// Something in a function that is not as compilers make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where.
    pub at: u64,
    /// What.
    pub kind: FlawKind,
}

/// Kinds of flaws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlawKind {
    /// Bytes that are no instruction.
    Undecodable,
    /// A jump into the middle of an instruction, or to where no code is.
    JumpAstray,
    /// A jump whose targets are not known.
    IndirectJump,
    /// More parts than are joined.
    Parts,
    /// Loops nested deeper than is looked at.
    Depth,
}

/// Why a function has no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// There are no bytes at its addresses.
    #[error("the function at {0:#x} lies outside the file's code; the file is cut off or damaged")]
    NoCode(u64),
    /// It is larger than any function that a compiler makes.
    #[error(
        "the function at {0:#x} has more than {max} MiB of code; functions so large are left out",
        max = Flow::BYTES_MAX >> 20
    )]
    TooLarge(u64),
}

/// The graph of a function, the parts of it that lie elsewhere joined.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The function.
    pub function: FunctionId,
    /// All instructions, by address.
    pub instructions: Vec<Instruction>,
    /// All blocks, by address.
    pub blocks: Vec<Block>,
    /// Where it begins.
    pub entry: BlockId,
    /// Addresses of all its parts, the function itself first.
    pub parts: Vec<Range<u64>>,
    /// Its loops: each stands behind the one that encloses it.
    pub cycles: Vec<Cycle>,
    /// What is not as it should be.
    pub flaws: Vec<Flaw>,
    /// The innermost cycle of each block.
    innermost: Vec<Option<CycleId>>,
    dominators: Dominators,
}

impl Flow {
    /// The largest function that is looked at, parts included, bytes.
    pub const BYTES_MAX: u64 = 16 << 20;

    /// The graph of a function. Functions that never return are known by their names.
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn of(image: &Image, function: FunctionId) -> Result<Self, FlowError> {
        Self::with(image, function, |target| may_return(image, target))
    }

    /// The graph of a function, if `returns` says of functions whether they ever return.
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn with(
        image: &Image,
        function: FunctionId,
        returns: impl Fn(&Target) -> bool,
    ) -> Result<Self, FlowError> {
        build::flow(image, function, &returns)
    }

    /// A block.
    ///
    /// # Panics
    /// If the number is another graph's.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// All blocks' numbers.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// A block's instructions.
    #[must_use]
    pub fn code(&self, id: BlockId) -> &[Instruction] {
        let range = self.blocks.get(id.index()).map(|b| b.instructions.clone());
        range
            .and_then(|r| self.instructions.get(r))
            .unwrap_or_default()
    }

    /// Index of the instruction at an address.
    #[must_use]
    pub fn instruction_at(&self, address: u64) -> Option<usize> {
        let found = self
            .instructions
            .binary_search_by_key(&address, Instruction::ip);
        found.ok()
    }

    /// The block that contains the instruction at an address.
    #[must_use]
    pub fn block_at(&self, address: u64) -> Option<BlockId> {
        let index = self.instruction_at(address)?;
        let behind = self
            .blocks
            .partition_point(|b| b.instructions.start <= index);
        let block = behind.checked_sub(1)?;
        let inside = self.blocks[block].instructions.contains(&index);
        inside.then_some(BlockId(block as u32))
    }

    /// Reachable blocks, each before those that can only be reached through it (reverse
    /// postorder).
    #[must_use]
    pub fn order(&self) -> &[BlockId] {
        self.dominators.order()
    }

    /// Which blocks the program must pass to come to others.
    #[must_use]
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// Which blocks the program must pass before it leaves the function. Blocks from which it
    /// never leaves have none.
    #[must_use]
    pub fn post_dominators(&self) -> Dominators {
        dominators::post(&self.blocks)
    }

    /// The innermost cycle around a block.
    #[must_use]
    pub fn cycle_of(&self, id: BlockId) -> Option<CycleId> {
        self.innermost.get(id.index()).copied().flatten()
    }

    /// A cycle.
    ///
    /// # Panics
    /// If the number is another graph's.
    #[must_use]
    pub fn cycle(&self, id: CycleId) -> &Cycle {
        &self.cycles[id.index()]
    }

    /// Whether a cycle lies inside another one, or is it.
    #[must_use]
    pub fn is_within(&self, inner: CycleId, outer: CycleId) -> bool {
        let mut at = Some(inner);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.cycle(id).parent;
        }
        false
    }
}
