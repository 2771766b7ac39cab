//! A nest as a tree under one more loop, the executions of the nest one after the other,
//! so that data that stay in the cache from one to the next are no special case.

use crate::nest::{Nest, NestAccess, Trips, bounded};
use std::collections::BTreeMap;

/// The loop over executions.
pub(crate) const ROOT: usize = 0;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) loops: Vec<TreeLoop>,
    pub(crate) accesses: Vec<TreeAccess>,
    /// Iteration of each loop in the middle of its run.
    middle: Vec<f64>,
}

/// A loop.
#[derive(Debug)]
pub(crate) struct TreeLoop {
    pub(crate) trips: Trips,
    /// What one iteration consists of, in order, with its accesses executed.
    pub(crate) children: Vec<(Child, f64)>,
    /// Accesses executed by the children in front of each, and by all of them.
    before: Vec<f64>,
    /// Whether the trips of this loop or of one inside depend on others.
    pub(crate) sloped: bool,
    /// Whether accesses to the same array move by different distances in it, so that what
    /// they share depends on its iteration.
    pub(crate) shifts: bool,
    /// Accesses under it.
    pub(crate) accesses: Vec<usize>,
}

/// Part of a loop's iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Child {
    Loop(usize),
    Access(usize),
}

/// An access.
#[derive(Debug)]
pub(crate) struct TreeAccess {
    pub(crate) access: NestAccess,
    /// Loops around, from [`ROOT`] inwards.
    pub(crate) path: Vec<usize>,
    /// First address; 0 for random ones.
    pub(crate) start: f64,
    /// Bytes that an iteration of each of `path` adds.
    pub(crate) strides: Vec<f64>,
    /// Whether its addresses are known to be affine.
    pub(crate) affine: bool,
    /// At each depth of `path`, which child leads to it.
    places: Vec<usize>,
}

impl Tree {
    pub(crate) fn of(nest: &Nest) -> Self {
        let mut loops = vec![TreeLoop {
            trips: Trips::of(1.0),
            children: Vec::new(),
            before: Vec::new(),
            sloped: false,
            shifts: false,
            accesses: Vec::new(),
        }];
        loops.extend(nest.loops.iter().map(|one| {
            TreeLoop {
                trips: Trips {
                    constant: one.trips.constant,
                    slopes: one
                        .trips
                        .slopes
                        .iter()
                        .map(|(over, slope)| (over.saturating_add(1), *slope))
                        .collect(),
                },
                children: Vec::new(),
                before: Vec::new(),
                sloped: !one.trips.slopes.is_empty(),
                shifts: false,
                accesses: Vec::new(),
            }
        }));
        let accesses: Vec<TreeAccess> = nest
            .accesses
            .iter()
            .map(|access| tree_access(nest, access))
            .collect();
        for (index, access) in accesses.iter().enumerate() {
            for over in &access.path {
                loops[*over].accesses.push(index);
            }
        }
        for (index, one) in loops.iter_mut().enumerate() {
            let mut strides: BTreeMap<u32, f64> = BTreeMap::new();
            for access in one.accesses.iter().map(|access| &accesses[*access]) {
                let depth = access.path.iter().position(|over| *over == index);
                let stride = depth.map_or(0.0, |depth| access.strides[depth]);
                let known = *strides.entry(access.access.base).or_insert(stride);
                one.shifts |= access.affine && known != stride;
            }
        }
        let mut tree = Self {
            middle: vec![0.0; loops.len()],
            loops,
            accesses,
        };
        for index in 1..tree.loops.len() {
            let trips = tree.loops[index].trips.at(&tree.middle);
            tree.middle[index] = ((trips - 1.0) / 2.0).max(0.0);
        }
        tree.order(nest);
        tree.place();
        tree
    }

    /// Fills children, inner loops first.
    fn order(&mut self, nest: &Nest) {
        let mut weights = vec![0.0; self.loops.len()];
        for index in (0..self.loops.len()).rev() {
            let mut children: Vec<(u64, Child, f64)> = Vec::new();
            for (inner, one) in nest.loops.iter().enumerate() {
                let parent = nest.parent_of(inner).map_or(ROOT, |parent| parent + 1);
                if parent == index {
                    let sloped = self.loops[inner + 1].sloped;
                    self.loops[index].sloped |= sloped;
                    let first = self.loops[inner + 1].accesses.iter();
                    let at = first.map(|access| self.accesses[*access].access.at).min();
                    let at = at.map_or(one.at, |first| first.max(one.at));
                    children.push((at, Child::Loop(inner + 1), weights[inner + 1]));
                }
            }
            for access in &self.loops[index].accesses {
                let TreeAccess {
                    access: one, path, ..
                } = &self.accesses[*access];
                if path.last() == Some(&index) {
                    children.push((one.at, Child::Access(*access), one.probability));
                }
            }
            children.sort_by_key(|(at, child, _)| (*at, child_number(*child)));
            let sum: f64 = children.iter().map(|(_, _, weight)| weight).sum();
            weights[index] = sum * self.loops[index].trips.at(&self.middle);
            self.loops[index].children = children
                .into_iter()
                .map(|(_, child, weight)| (child, weight))
                .collect();
        }
    }

    /// All loops in the middle of their runs.
    pub(crate) fn middle(&self) -> Vec<f64> {
        self.middle.clone()
    }

    /// Notes where everything lies among the children of its loop: it is asked for in each
    /// search, and what is inlined of C++ has a thousand children.
    fn place(&mut self) {
        let mut at = BTreeMap::new();
        for one in &mut self.loops {
            let mut before = 0.0;
            one.before = vec![before];
            for (index, (child, weight)) in one.children.iter().enumerate() {
                at.insert(*child, index);
                before += weight;
                one.before.push(before);
            }
        }
        for (access, one) in self.accesses.iter_mut().enumerate() {
            let inner = one.path[1..].iter().map(|inner| Child::Loop(*inner));
            one.places = inner
                .chain([Child::Access(access)])
                .map(|child| at.get(&child).copied().unwrap_or(0))
                .collect();
        }
    }

    /// Index among the children of `path[depth]` of what lies on the way to `access`.
    pub(crate) fn child_towards(&self, access: usize, depth: usize) -> usize {
        self.accesses[access].places[depth]
    }

    /// How much of one iteration of `path[depth]` is over when `access` is reached in the
    /// iterations `at` of the loops inside: 0 to 1.
    pub(crate) fn progress(&self, access: usize, depth: usize, at: &[f64]) -> f64 {
        let TreeLoop {
            children, before, ..
        } = &self.loops[self.accesses[access].path[depth]];
        let sum = before.last().copied().unwrap_or(0.0);
        if sum <= 0.0 {
            return 0.0;
        }
        let position = self.child_towards(access, depth);
        let before = before[position];
        let own = children[position].1 * self.run_over(access, depth + 1, at);
        ((before + own) / sum).clamp(0.0, 1.0)
    }

    /// How much of a run of loop `path[depth]` is over; 0 beyond the innermost.
    pub(crate) fn run_over(&self, access: usize, depth: usize, at: &[f64]) -> f64 {
        let Some(over) = self.accesses[access].path.get(depth) else {
            return 0.0;
        };
        let trips = self.loops[*over].trips.at(at).max(1.0);
        ((at[*over] + self.progress(access, depth, at)) / trips).clamp(0.0, 1.0)
    }
}

fn child_number(child: Child) -> usize {
    match child {
        Child::Loop(number) | Child::Access(number) => number,
    }
}

fn tree_access(nest: &Nest, access: &NestAccess) -> TreeAccess {
    let mut path = Vec::new();
    let mut inside = access.inside.filter(|inside| *inside < nest.loops.len());
    while let Some(index) = inside {
        path.push(index + 1);
        inside = nest.parent_of(index);
    }
    path.push(ROOT);
    path.reverse();
    let mut strides = vec![0.0; path.len()];
    let mut first = 0.0;
    if let Some((start, given)) = access.affine() {
        first = start;
        for (over, bytes) in given {
            if let Some(depth) = path.iter().position(|one| *one == over.saturating_add(1)) {
                strides[depth] = bounded(strides[depth] + bounded(*bytes));
            }
        }
    }
    let mut access = access.clone();
    access.probability = if access.probability.is_nan() {
        1.0
    } else {
        access.probability.clamp(0.0, 1e6)
    };
    access.bytes = bounded(access.bytes).max(1.0);
    TreeAccess {
        affine: access.affine().is_some(),
        access,
        places: Vec::new(),
        path,
        start: first,
        strides,
    }
}
