//! From instructions to blocks.

use super::{Block, BlockId, Flaw, FlawKind, Leave};
use crate::image::{Image, Target};
use crate::instruction::{is_call, jump_target};
use iced_x86::{FlowControl, Instruction, Mnemonic};
use std::collections::BTreeMap;
use std::ops::Range;

/// Instructions of a way to a jump, at most.
const WAY_MAX: usize = 192;

/// What a function's bytes are.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// By address.
    pub(super) instructions: Vec<Instruction>,
    /// Its parts, the function itself first.
    pub(super) parts: Vec<Range<u64>>,
    /// Where something begins that is no instruction.
    pub(super) damaged: Vec<u64>,
}

impl Code {
    fn at(&self, address: u64) -> Option<usize> {
        let found = self
            .instructions
            .binary_search_by_key(&address, Instruction::ip);
        found.ok()
    }

    /// Whether an instruction of the function may begin at an address.
    pub(super) fn may_go_to(&self, image: &Image, address: u64) -> bool {
        if self.parts.iter().any(|part| part.contains(&address)) {
            return self.at(address).is_some();
        }
        let other = image.function_at(address);
        other.is_some_and(|id| image.function(id).is_part)
    }

    /// Jumps to where a register or memory says, but for jumps to other modules.
    pub(super) fn indirect_jumps(&self, image: &Image) -> Vec<usize> {
        let all = self.instructions.iter().enumerate();
        all.filter(|(_, i)| i.flow_control() == FlowControl::IndirectBranch)
            .filter(|(_, i)| image.target(i) == Some(Target::Unknown))
            .map(|(index, _)| index)
            .collect()
    }
}

/// The blocks of a function.
pub(super) struct Graph {
    pub(super) blocks: Vec<Block>,
}

/// A step on a way: an instruction, and for a conditional branch whether it is taken.
pub(super) type Step = (usize, Option<bool>);

impl Graph {
    pub(super) fn block_from(&self, code: &Code, address: u64) -> Option<BlockId> {
        let index = code.at(address)?;
        let found = self
            .blocks
            .binary_search_by_key(&index, |block| block.instructions.start);
        found.ok().map(|block| BlockId(block as u32))
    }

    /// Index of the block that contains an instruction.
    pub(super) fn block_of(&self, instruction: usize) -> usize {
        let behind = self
            .blocks
            .partition_point(|block| block.instructions.start <= instruction);
        behind.saturating_sub(1)
    }

    /// Blocks from which a block is entered.
    pub(super) fn before(&self, block: usize) -> Vec<usize> {
        let before = self.blocks.get(block).map(|block| &block.predecessors[..]);
        before
            .unwrap_or_default()
            .iter()
            .map(|b| b.index())
            .collect()
    }

    /// The last instructions on every way to one, in the order of execution: back to where ways
    /// meet.
    pub(super) fn way_to(&self, code: &Code, instruction: usize) -> Vec<Step> {
        let mut at = self.block_of(instruction);
        let mut way = vec![];
        let mut end = instruction + 1;
        let mut came_from: Option<usize> = None;
        loop {
            let block = &self.blocks[at];
            for index in (block.instructions.start..end).rev() {
                let is_branch =
                    code.instructions[index].flow_control() == FlowControl::ConditionalBranch;
                let to = came_from.filter(|_| is_branch).map(|to| BlockId(to as u32));
                let taken = to
                    .filter(|_| block.taken != block.passed)
                    .map(|to| block.taken == Some(to));
                way.push((index, taken));
            }
            let [before] = block.predecessors[..] else {
                break;
            };
            if way.len() >= WAY_MAX || before.index() == at {
                break;
            }
            came_from = Some(at);
            at = before.index();
            end = self.blocks[at].instructions.end;
        }
        way.reverse();
        way
    }
}

/// Divides code into blocks and joins them. `tables` has the targets of indirect jumps.
pub(super) fn graph(
    image: &Image,
    code: &Code,
    tables: &BTreeMap<u64, Vec<u64>>,
    returns: &dyn Fn(&Target) -> bool,
    flaws: &mut Vec<Flaw>,
) -> Graph {
    let instructions = &code.instructions;
    let ends: Vec<bool> = (0..instructions.len())
        .map(|index| ends(image, instructions, index, returns))
        .collect();
    let mut starts = vec![false; instructions.len()];
    if let Some(first) = starts.first_mut() {
        *first = true;
    }
    for (index, instruction) in instructions.iter().enumerate() {
        if ends[index] && index + 1 < starts.len() {
            starts[index + 1] = true;
        }
        if let Some(to) = jump_target(instruction).and_then(|to| code.at(to)) {
            starts[to] = true;
        }
    }
    for to in tables.values().flatten().filter_map(|to| code.at(*to)) {
        starts[to] = true;
    }
    let mut blocks: Vec<Block> = vec![];
    let mut of = vec![BlockId(0); instructions.len()];
    for (index, instruction) in instructions.iter().enumerate() {
        if starts[index] {
            blocks.push(Block {
                start: instruction.ip(),
                instructions: index..index,
                ..Block::default()
            });
        }
        if let Some(block) = blocks.last_mut() {
            block.instructions.end = index + 1;
        }
        of[index] = BlockId(blocks.len().saturating_sub(1) as u32);
    }
    let mut joiner = Joiner {
        image,
        code,
        of: &of,
        flaws,
    };
    for block in &mut blocks {
        let last = block.instructions.end - 1;
        let table = tables.get(&instructions[last].ip());
        joiner.end(block, last, ends[last], table);
    }
    let entry = code.parts.first().and_then(|part| code.at(part.start));
    reach(&mut blocks, entry.map(|entry| of[entry]));
    for index in 0..blocks.len() {
        let reachable = blocks[index].reachable;
        for to in blocks[index].successors.clone() {
            // Filling bytes in front of a block are no way to it.
            if reachable || !blocks[to.index()].reachable {
                blocks[to.index()].predecessors.push(BlockId(index as u32));
            }
        }
    }
    Graph { blocks }
}

/// Notes which blocks are reachable.
fn reach(blocks: &mut [Block], entry: Option<BlockId>) {
    let mut work: Vec<BlockId> = entry.into_iter().collect();
    while let Some(at) = work.pop() {
        let block = &mut blocks[at.index()];
        if !std::mem::replace(&mut block.reachable, true) {
            work.extend(&block.successors);
        }
    }
}

/// Whether nothing follows an instruction, or not only what stands behind it.
fn ends(
    image: &Image,
    instructions: &[Instruction],
    index: usize,
    returns: &dyn Fn(&Target) -> bool,
) -> bool {
    let instruction = &instructions[index];
    let next = instructions.get(index + 1);
    if next.is_none_or(|next| next.ip() != instruction.next_ip()) {
        return true;
    }
    match instruction.flow_control() {
        FlowControl::Next => instruction.mnemonic() == Mnemonic::Hlt,
        FlowControl::Call | FlowControl::IndirectCall => {
            // Of what is not known it is believed that it returns.
            !image
                .target(instruction)
                .is_none_or(|target| returns(&target))
        }
        FlowControl::XbeginXabortXend => false,
        FlowControl::Interrupt => matches!(instruction.mnemonic(), Mnemonic::Int3),
        _ => true,
    }
}

/// Finds out where blocks lead.
struct Joiner<'a> {
    image: &'a Image,
    code: &'a Code,
    of: &'a [BlockId],
    flaws: &'a mut Vec<Flaw>,
}

impl Joiner<'_> {
    /// Notes what follows a block with this last instruction.
    fn end(&mut self, block: &mut Block, last: usize, ends: bool, table: Option<&Vec<u64>>) {
        let instruction = self.code.instructions[last];
        let flow = instruction.flow_control();
        match flow {
            FlowControl::Return => block.leaves = Some(Leave::Return),
            FlowControl::UnconditionalBranch => {
                let to = instruction.near_branch_target();
                self.jump(block, instruction.ip(), to);
            }
            FlowControl::ConditionalBranch => {
                block.taken = self.jump(block, instruction.ip(), instruction.near_branch_target());
                block.passed = self.next(block, last);
            }
            FlowControl::IndirectBranch => match table {
                Some(targets) => {
                    for to in targets {
                        self.jump(block, instruction.ip(), *to);
                    }
                }
                None => {
                    let target = self.image.target(&instruction);
                    let target = target.unwrap_or(Target::Unknown);
                    if target == Target::Unknown {
                        self.flaw(instruction.ip(), FlawKind::IndirectJump);
                        block.leaves = Some(Leave::Unknown);
                    } else {
                        block.leaves = Some(Leave::Tail(target));
                    }
                }
            },
            _ if is_call(&instruction) && ends => block.leaves = Some(Leave::NeverReturns),
            FlowControl::Exception => block.leaves = Some(Leave::Stops),
            FlowControl::Interrupt | FlowControl::Next if ends && stops(&instruction) => {
                block.leaves = Some(Leave::Stops);
            }
            _ => {
                self.next(block, last);
            }
        }
    }

    /// The block behind an instruction.
    fn next(&mut self, block: &mut Block, last: usize) -> Option<BlockId> {
        let instruction = &self.code.instructions[last];
        let next = instruction.next_ip();
        match self.code.instructions.get(last + 1) {
            Some(behind) if behind.ip() == next => {
                let to = self.of[last + 1];
                add(&mut block.successors, to);
                Some(to)
            }
            // An entry of its own in assembly.
            _ if self.image.function_from(next).is_some() => {
                block.leaves = Some(Leave::Tail(Target::Local(next)));
                None
            }
            _ => {
                block.leaves = Some(Leave::Nothing);
                None
            }
        }
    }

    /// A direct jump, or one entry of a table.
    fn jump(&mut self, block: &mut Block, at: u64, to: u64) -> Option<BlockId> {
        if let Some(index) = self.code.at(to) {
            let to = self.of[index];
            add(&mut block.successors, to);
            return Some(to);
        }
        let target = self.image.resolve(to);
        block.leaves = Some(match target {
            Target::Local(address) if self.image.function_from(address).is_none() => {
                self.flaw(at, FlawKind::JumpAstray);
                Leave::Nothing
            }
            Target::Unknown => {
                self.flaw(at, FlawKind::IndirectJump);
                Leave::Unknown
            }
            target => Leave::Tail(target),
        });
        None
    }

    fn flaw(&mut self, at: u64, kind: FlawKind) {
        self.flaws.push(Flaw { at, kind });
    }
}

fn stops(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Int3 | Mnemonic::Hlt)
}

fn add(successors: &mut Vec<BlockId>, to: BlockId) {
    if !successors.contains(&to) {
        successors.push(to);
    }
}
