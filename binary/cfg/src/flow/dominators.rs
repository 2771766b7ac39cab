//! Which blocks the program must pass to come to others: K. D. Cooper, T. J. Harvey,
//! K. Kennedy, *A Simple, Fast Dominance Algorithm*, 2001.

use super::{Block, BlockId};

/// A tree of blocks, each below the nearest one that must be passed before it.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    /// Of each block that can be reached; its own for the root.
    nearest: Vec<Option<u32>>,
    /// Reverse postorder.
    order: Vec<BlockId>,
    /// Places in the tree as it is walked: first and last below each block.
    below: Vec<(u32, u32)>,
}

impl Dominators {
    pub(super) fn from_entry(blocks: &[Block], entry: BlockId) -> Self {
        let successors = |at: usize| blocks[at].successors.iter().map(|b| b.index()).collect();
        let predecessors = |at: usize| blocks[at].predecessors.iter().map(|b| b.index()).collect();
        Self::of(blocks.len(), entry.index(), &successors, &predecessors)
    }

    fn of(
        count: usize,
        root: usize,
        successors: &dyn Fn(usize) -> Vec<usize>,
        predecessors: &dyn Fn(usize) -> Vec<usize>,
    ) -> Self {
        let order = reverse_postorder(count, root, successors);
        let mut place = vec![usize::MAX; count];
        for (number, block) in order.iter().enumerate() {
            place[*block] = number;
        }
        // By place.
        let mut nearest = vec![usize::MAX; order.len()];
        if let Some(first) = nearest.first_mut() {
            *first = 0;
        }
        let before: Vec<Vec<usize>> = order
            .iter()
            .map(|block| {
                let known = predecessors(*block).into_iter().map(|p| place[p]);
                known.filter(|p| *p != usize::MAX).collect()
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..order.len() {
                let mut known = before[at].iter().filter(|p| nearest[**p] != usize::MAX);
                let Some(first) = known.next() else {
                    continue;
                };
                let new = known.fold(*first, |one, other| common(&nearest, one, *other));
                if nearest[at] != new {
                    nearest[at] = new;
                    changed = true;
                }
            }
        }
        let mut of = vec![None; count];
        for (at, block) in order.iter().enumerate() {
            of[*block] = (nearest[at] != usize::MAX).then(|| order[nearest[at]] as u32);
        }
        let below = below(&order, &nearest, count);
        Self {
            nearest: of,
            order: order
                .into_iter()
                .map(|block| BlockId(block as u32))
                .collect(),
            below,
        }
    }

    /// Reachable blocks in reverse postorder.
    pub(super) fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// Whether a block has a place in the tree.
    pub(super) fn knows(&self, block: BlockId) -> bool {
        self.nearest.get(block.index()).is_some_and(Option::is_some)
    }

    /// The nearest block that must be passed before this one; none for the first, and for
    /// blocks that cannot be reached.
    #[must_use]
    pub fn nearest(&self, block: BlockId) -> Option<BlockId> {
        let nearest = self.nearest.get(block.index()).copied().flatten()?;
        // Of post-dominators, the root is no block.
        let known = (nearest as usize) < self.nearest.len().min(self.below.len());
        (known && nearest != block.0).then_some(BlockId(nearest))
    }

    /// Whether every way to `block` passes `over`, or they are the same.
    #[must_use]
    pub fn dominates(&self, over: BlockId, block: BlockId) -> bool {
        if !self.knows(over) || !self.knows(block) {
            return false;
        }
        let ((first, last), (at, _)) = (self.below[over.index()], self.below[block.index()]);
        (first..=last).contains(&at)
    }
}

/// Post-dominators: the graph turned round, below a block that stands for all ways out.
pub(super) fn post(blocks: &[Block]) -> Dominators {
    let out = blocks.len();
    let leaves: Vec<usize> = (0..out)
        .filter(|at| blocks[*at].reachable && blocks[*at].leaves.is_some())
        .collect();
    let successors = |at: usize| match blocks.get(at) {
        Some(block) => block.predecessors.iter().map(|b| b.index()).collect(),
        None => leaves.clone(),
    };
    let predecessors = |at: usize| match blocks.get(at) {
        Some(block) => {
            let inside = block.successors.iter().map(|b| b.index());
            inside
                .chain(block.leaves.is_some().then_some(out))
                .collect()
        }
        None => vec![],
    };
    let mut tree = Dominators::of(out + 1, out, &successors, &predecessors);
    // The block that stands for the ways out is none of the function's.
    for nearest in &mut tree.nearest {
        *nearest = nearest.filter(|block| *block as usize <= out);
    }
    tree.order.retain(|block| block.index() < out);
    tree.below.truncate(out);
    tree
}

fn common(nearest: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        while one > other {
            one = nearest[one];
        }
        while other > one {
            other = nearest[other];
        }
    }
    one
}

fn reverse_postorder(
    count: usize,
    root: usize,
    successors: &dyn Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let mut order = vec![];
    if root >= count {
        return order;
    }
    let mut seen = vec![false; count];
    seen[root] = true;
    let mut stack = vec![(root, successors(root))];
    while let Some((at, next)) = stack.last_mut() {
        match next.pop() {
            Some(to) if !std::mem::replace(&mut seen[to], true) => {
                stack.push((to, successors(to)));
            }
            Some(_) => {}
            None => {
                order.push(*at);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// For each block, its place and the last one below it, as the tree is walked.
fn below(order: &[usize], nearest: &[usize], count: usize) -> Vec<(u32, u32)> {
    let mut children = vec![vec![]; order.len()];
    for (at, parent) in nearest.iter().enumerate().skip(1) {
        if *parent != usize::MAX {
            children[*parent].push(at);
        }
    }
    let mut places = vec![(1, 0); count];
    let mut next = 0;
    let mut stack = vec![];
    if !order.is_empty() {
        stack.push((0, 0));
        places[order[0]] = (0, 0);
        next = 1;
    }
    while let Some((at, child)) = stack.last_mut() {
        match children[*at].get(*child) {
            Some(to) => {
                *child += 1;
                places[order[*to]] = (next, next);
                next += 1;
                stack.push((*to, 0));
            }
            None => {
                places[order[*at]].1 = next - 1;
                stack.pop();
            }
        }
    }
    places
}
