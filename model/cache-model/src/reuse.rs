//! When a line was touched last.

use crate::footprint::{Window, between};
use crate::tree::{ROOT, Tree};

/// The last touch of a line before an access.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    /// What was executed since.
    pub(crate) since: Window,
    /// Whether it was in an earlier execution of the nest.
    pub(crate) earlier_execution: bool,
}

/// Iterations back that are tried where a line may have been touched in several.
const LAGS_MAX: usize = 6;
/// Iterations of an inner loop that are tried.
const INNER_MAX: usize = 4;

/// Found so far: the depth of the loop that both are in, iterations of it in between, and
/// how much of such an iteration was over at that touch.
#[derive(Clone, Copy, Debug)]
struct Best {
    depth: usize,
    lag: f64,
    progress: f64,
    source: usize,
}

/// Which accesses count as touching a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    All,
    Writes,
}

/// The last touch of the line at address `line_low` before access `own` in the iterations
/// `at`; `None` if there was none. Iterations of [`ROOT`] before the current one count as
/// existing.
pub(crate) fn last_touch(
    tree: &Tree,
    own: usize,
    at: &[f64],
    (line_low, line): (f64, f64),
    sources: Sources,
    candidates: &[usize],
) -> Option<Touch> {
    let path = &tree.accesses[own].path;
    let mut best: Option<Best> = None;
    let mut scratch = at.to_vec();
    for source in candidates {
        let other = &tree.accesses[*source];
        if sources == Sources::Writes && !writes(other.access.direction) {
            continue;
        }
        if other.access.probability <= 0.0 {
            continue;
        }
        let common = path
            .iter()
            .zip(&other.path)
            .take_while(|(one, two)| one == two)
            .count();
        for depth in (0..common).rev() {
            if best.is_some_and(|best| best.depth > depth) {
                break;
            }
            let same_iteration = depth + 1 == common
                && *source != own
                && tree.child_towards(*source, depth) < tree.child_towards(own, depth);
            let search = Search {
                tree,
                source: *source,
                depth,
                low: line_low - other.access.bytes + 1.0,
                high: line_low + line - 1.0,
            };
            scratch.copy_from_slice(at);
            let found = search.lag(at, &mut scratch, if same_iteration { 0.0 } else { 1.0 });
            if let Some(lag) = found {
                let progress = tree.progress(*source, depth, &scratch);
                let better = best.is_none_or(|best| {
                    depth > best.depth
                        || lag < best.lag
                        || (lag == best.lag && progress > best.progress)
                });
                if better {
                    best = Some(Best {
                        depth,
                        lag,
                        progress,
                        source: *source,
                    });
                    // Where inside it was, for what lies in between.
                }
                break;
            }
        }
    }
    best.map(|best| touch(tree, own, at, best, (line_low, line)))
}

fn writes(direction: fathomp_regions::Direction) -> bool {
    direction != fathomp_regions::Direction::Read
}

/// From the last touch to what was executed since.
fn touch(tree: &Tree, own: usize, at: &[f64], best: Best, line: (f64, f64)) -> Touch {
    let over = tree.accesses[own].path[best.depth];
    let here = tree.progress(own, best.depth, at);
    let apart = best.lag + here - best.progress;
    let since = if best.lag >= 1.0 && apart >= 1.0 {
        Window::Iterations(over, apart)
    } else {
        // The source's own place, found once more for the one that was last.
        let other = &tree.accesses[best.source];
        let mut there = at.to_vec();
        let search = Search {
            tree,
            source: best.source,
            depth: best.depth,
            low: line.0 - other.access.bytes + 1.0,
            high: line.0 + line.1 - 1.0,
        };
        let _ = search.lag(at, &mut there, best.lag);
        let first = (
            tree.child_towards(best.source, best.depth),
            tree.run_over(best.source, best.depth + 1, &there),
        );
        let second = (
            tree.child_towards(own, best.depth),
            tree.run_over(own, best.depth + 1, at),
        );
        let wraps = best.lag >= 1.0;
        Window::Within(over, between(tree, over, first, second, wraps))
    };
    Touch {
        since,
        earlier_execution: over == ROOT,
    }
}

/// The search for a touch by one access, `depth` loops in.
struct Search<'a> {
    tree: &'a Tree,
    source: usize,
    depth: usize,
    /// Addresses at which the access touches the line: lowest, highest.
    low: f64,
    high: f64,
}

impl Search<'_> {
    /// The fewest iterations, `least` or more, of the loop at `depth` ago that the source
    /// touched the line; leaves the iterations of the loops inside in `there`.
    fn lag(&self, at: &[f64], there: &mut [f64], least: f64) -> Option<f64> {
        let access = &self.tree.accesses[self.source];
        if !access.affine {
            return None;
        }
        let over = access.path[self.depth];
        let most = if over == ROOT { 1.0 } else { at[over].floor() };
        if least > most {
            return None;
        }
        let outer: f64 = access.path[..self.depth]
            .iter()
            .zip(&access.strides)
            .map(|(outer, stride)| at[*outer] * stride)
            .sum();
        let stride = access.strides[self.depth];
        let from = access.start + outer + if over == ROOT { 0.0 } else { stride * at[over] };
        // What the loops inside have to add.
        let (low, high) = (self.low - from, self.high - from);
        let inner = self.inner(least, there, over, at);
        let (reach_low, reach_high) = reach(&inner);
        if stride == 0.0 || least == 0.0 {
            // Any iteration is like any other; in the same one nothing is added.
            return self.inside(low, high, &inner, there).then_some(least);
        }
        // low <= inside - stride * lag <= high
        let (one, two) = ((reach_low - high) / stride, (reach_high - low) / stride);
        let first = one.min(two).ceil().max(least);
        let last = one.max(two).floor().min(most);
        let mut lag = first;
        for _ in 0..LAGS_MAX {
            if lag > last {
                return None;
            }
            let moved = stride * lag;
            let inner = self.inner(lag, there, over, at);
            if self.inside(low + moved, high + moved, &inner, there) {
                return Some(lag);
            }
            lag += 1.0;
        }
        None
    }

    /// Loops inside `depth`: which, stride, trips as they were `lag` iterations ago.
    fn inner(
        &self,
        lag: f64,
        there: &mut [f64],
        over: usize,
        at: &[f64],
    ) -> Vec<(usize, f64, f64)> {
        let access = &self.tree.accesses[self.source];
        there[over] = (at[over] - lag).max(0.0);
        let inside = &access.path[self.depth + 1..];
        let strides = &access.strides[self.depth + 1..];
        let mut loops: Vec<(usize, f64, f64)> = inside
            .iter()
            .zip(strides)
            .map(|(inner, stride)| (*inner, *stride, self.tree.loops[*inner].trips.at(there)))
            .collect();
        loops.sort_by(|one, two| two.1.abs().total_cmp(&one.1.abs()));
        loops
    }

    /// Whether iterations of `inner` add something from `low` to `high`.
    fn inside(&self, low: f64, high: f64, inner: &[(usize, f64, f64)], there: &mut [f64]) -> bool {
        let Some(((over, stride, trips), rest)) = inner.split_first() else {
            return low <= 0.0 && 0.0 <= high;
        };
        if *trips < 1.0 {
            return false;
        }
        if *stride == 0.0 {
            there[*over] = trips.floor() - 1.0;
            return self.inside(low, high, rest, there);
        }
        let (reach_low, reach_high) = reach(rest);
        let (one, two) = ((low - reach_high) / stride, (high - reach_low) / stride);
        let first = one.min(two).ceil().max(0.0);
        let last = one.max(two).floor().min(trips.floor() - 1.0);
        if first > last {
            return false;
        }
        // The latest touch is wanted: from the last iteration backwards.
        let mut iteration = last;
        for _ in 0..INNER_MAX {
            if iteration < first {
                return false;
            }
            let added = stride * iteration;
            if self.inside(low - added, high - added, rest, there) {
                there[*over] = iteration;
                return true;
            }
            iteration -= 1.0;
        }
        false
    }
}

/// What loops may add: lowest, highest.
fn reach(loops: &[(usize, f64, f64)]) -> (f64, f64) {
    loops
        .iter()
        .fold((0.0, 0.0), |(low, high), (_, stride, trips)| {
            let most = stride * (trips.floor() - 1.0).max(0.0);
            (low + most.min(0.0), high + most.max(0.0))
        })
}
