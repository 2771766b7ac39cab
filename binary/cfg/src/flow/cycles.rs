//! Loops, and loops in loops.
//!
//! A loop is a strongly connected part of the graph. Without the ways back to its header,
//! what is still strongly connected is a loop inside (P. Havlak, *Nesting of Reducible and
//! Irreducible Loops*, 1997; for reducible graphs these are the natural loops, those with one
//! header taken together).

use super::dominators::Dominators;
use super::{Block, BlockId};

/// Loops in loops that are looked at.
const DEPTH_MAX: u32 = 64;

/// Entries of one loop among which its header is looked for.
const ENTRIES_MAX: usize = 8;

/// Number of a cycle of a [`super::Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CycleId(pub u32);

impl CycleId {
    /// As an index into [`super::Flow::cycles`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The loop around it.
    pub parent: Option<CycleId>,
    /// Loops around it.
    pub depth: u32,
    /// Where it begins; of several entries one that is passed each time round if there is such.
    pub header: BlockId,
    /// Blocks by which it is entered, the header first. Several: it is irreducible.
    pub entries: Vec<BlockId>,
    /// Its blocks, those of loops inside as well, by number.
    pub blocks: Vec<BlockId>,
    /// Blocks from which it goes back to the header.
    pub latches: Vec<BlockId>,
    /// Ways out of it within the function: from a block inside to one outside.
    pub exits: Vec<(BlockId, BlockId)>,
    /// Whether no loop is inside.
    pub innermost: bool,
}

impl Cycle {
    /// Whether a block is part of it.
    #[must_use]
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    /// Whether it has several entries.
    #[must_use]
    pub fn is_irreducible(&self) -> bool {
        self.entries.len() > 1
    }
}

type Found = (Vec<Cycle>, Vec<Option<CycleId>>, Option<u64>);

/// All loops, outer ones before inner ones; the innermost one of each block; and where one begins
/// that is nested too deep.
pub(super) fn find(blocks: &[Block], dominators: &Dominators) -> Found {
    let mut place = vec![u32::MAX; blocks.len()];
    for (number, block) in dominators.order().iter().enumerate() {
        place[block.index()] = number as u32;
    }
    let mut search = Search {
        blocks,
        place,
        // 0: not looked at, as it cannot be reached.
        set: vec![0; blocks.len()],
        sets: 1,
    };
    let mut cycles: Vec<Cycle> = vec![];
    let mut innermost = vec![None; blocks.len()];
    let mut too_deep = None;
    let all: Vec<usize> = dominators.order().iter().map(|b| b.index()).collect();
    let mut work = vec![(all, None::<CycleId>)];
    while let Some((nodes, parent)) = work.pop() {
        let depth = parent.map_or(0, |p| cycles[p.index()].depth + 1);
        for part in search.connected(&nodes) {
            if depth >= DEPTH_MAX {
                too_deep = too_deep.or(part.first().map(|at| blocks[*at].start));
                continue;
            }
            let id = CycleId(cycles.len() as u32);
            let cycle = search.cycle(&part, parent, depth);
            for at in &part {
                innermost[*at] = Some(id);
            }
            if let Some(parent) = parent {
                cycles[parent.index()].innermost = false;
            }
            let header = cycle.header.index();
            cycles.push(cycle);
            let inside = part.into_iter().filter(|at| *at != header).collect();
            work.push((inside, Some(id)));
        }
    }
    (cycles, innermost, too_deep)
}

struct Search<'a> {
    blocks: &'a [Block],
    /// In reverse postorder.
    place: Vec<u32>,
    /// The set that a block is in at the moment.
    set: Vec<u32>,
    sets: u32,
}

impl Search<'_> {
    fn next(&self, at: usize) -> impl Iterator<Item = usize> {
        self.blocks[at].successors.iter().map(|to| to.index())
    }

    fn cycle(&mut self, part: &[usize], parent: Option<CycleId>, depth: u32) -> Cycle {
        let mut blocks: Vec<BlockId> = part.iter().map(|at| BlockId(*at as u32)).collect();
        blocks.sort_unstable();
        let inside = |block: &BlockId| blocks.binary_search(block).is_ok();
        let outside = |block: &BlockId| {
            let from = &self.blocks[block.index()].predecessors;
            // The function's own beginning is entered from nowhere.
            self.place[block.index()] == 0 || from.iter().any(|b| !inside(b))
        };
        let mut entries: Vec<BlockId> = blocks.iter().copied().filter(outside).collect();
        entries.sort_by_key(|block| self.place[block.index()]);
        let header = self.header(part, &entries);
        entries.sort_by_key(|block| (*block != header, self.place[block.index()]));
        let all = self.blocks;
        let to = |block: &BlockId| all[block.index()].successors.iter();
        Cycle {
            parent,
            depth,
            header,
            latches: blocks
                .iter()
                .filter(|block| to(block).any(|to| *to == header))
                .copied()
                .collect(),
            exits: blocks
                .iter()
                .flat_map(|from| to(from).filter(|to| !inside(to)).map(|to| (*from, *to)))
                .collect(),
            entries,
            blocks,
            innermost: true,
        }
    }

    /// The entry that most ways round pass: gcc lets loops begin behind their first test, which is
    /// made once before as well, so that they have two entries of which one is passed always.
    fn header(&mut self, part: &[usize], entries: &[BlockId]) -> BlockId {
        let first = entries.first().copied();
        let first = first.unwrap_or_else(|| BlockId(part.first().map_or(0, |at| *at as u32)));
        if entries.len() < 2 {
            return first;
        }
        let chosen = entries.iter().take(ENTRIES_MAX).min_by_key(|entry| {
            let without: Vec<usize> = part
                .iter()
                .copied()
                .filter(|at| *at != entry.index())
                .collect();
            // What is left may not look at the entry as one of its own.
            self.set[entry.index()] = 0;
            self.connected(&without).iter().map(Vec::len).sum::<usize>()
        });
        chosen.copied().unwrap_or(first)
    }

    /// The strongly connected parts among some blocks that have a way round (R. Tarjan 1972,
    /// without recursion).
    fn connected(&mut self, nodes: &[usize]) -> Vec<Vec<usize>> {
        self.sets += 1;
        let here = self.sets;
        for at in nodes {
            self.set[*at] = here;
        }
        let mut found = vec![];
        let mut numbers: std::collections::HashMap<usize, (u32, u32)> =
            std::collections::HashMap::with_capacity(nodes.len());
        let mut open: Vec<usize> = vec![];
        let mut is_open = std::collections::HashSet::new();
        let mut count = 0;
        for root in nodes {
            if numbers.contains_key(root) {
                continue;
            }
            let mut stack: Vec<(usize, usize)> = vec![(*root, 0)];
            while let Some((at, child)) = stack.last_mut() {
                let at = *at;
                if *child == 0 && !numbers.contains_key(&at) {
                    numbers.insert(at, (count, count));
                    count += 1;
                    open.push(at);
                    is_open.insert(at);
                }
                let next = self.blocks[at].successors.get(*child).map(|b| b.index());
                *child += 1;
                match next {
                    Some(to) if self.set[to] != here => {}
                    Some(to) => match numbers.get(&to).copied() {
                        None => stack.push((to, 0)),
                        Some((number, _)) if is_open.contains(&to) => {
                            if let Some(own) = numbers.get_mut(&at) {
                                own.1 = own.1.min(number);
                            }
                        }
                        Some(_) => {}
                    },
                    None => {
                        stack.pop();
                        let (number, low) = numbers[&at];
                        if let Some((before, _)) = stack.last()
                            && let Some(own) = numbers.get_mut(before)
                        {
                            own.1 = own.1.min(low);
                        }
                        if number == low {
                            let mut part = vec![];
                            while let Some(top) = open.pop() {
                                is_open.remove(&top);
                                part.push(top);
                                if top == at {
                                    break;
                                }
                            }
                            if part.len() > 1 || self.next(at).any(|to| to == at) {
                                found.push(part);
                            }
                        }
                    }
                }
            }
        }
        found
    }
}
