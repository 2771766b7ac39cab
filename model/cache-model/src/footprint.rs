//! Which lines part of a nest touches.

use crate::cache::Piece;
use crate::tree::{Child, Tree};
use std::collections::BTreeMap;

/// Part of a nest between two moments, outer loops being where they are.
#[derive(Clone, Debug)]
pub(crate) enum Window {
    /// So many iterations of a loop, 1 or more.
    Iterations(usize, f64),
    /// Within one iteration of a loop: of each child, so much of a whole.
    Within(usize, Vec<f64>),
}

impl Window {
    pub(crate) fn over(&self) -> usize {
        match self {
            Self::Iterations(over, _) | Self::Within(over, _) => *over,
        }
    }
}

/// Lines in a row, and how often that comes again at which distance.
#[derive(Clone, Debug)]
struct Shape {
    base: u32,
    /// Lowest address.
    low: f64,
    /// Bytes from the lowest to behind the highest.
    span: f64,
    lines: f64,
    /// Bytes in a row.
    run: f64,
    /// Bytes between runs, 0 if there is one.
    stride: f64,
    /// Strides with their iterations, largest stride first.
    dimensions: Vec<(f64, f64)>,
}

/// The lines that `window` touches, each once, by array.
pub(crate) fn touched(tree: &Tree, window: &Window, at: &[f64], line: f64) -> Vec<Piece> {
    let over = window.over();
    let mut shapes: BTreeMap<u32, Vec<Shape>> = BTreeMap::new();
    let mut random: BTreeMap<u32, (f64, Option<f64>)> = BTreeMap::new();
    for index in &tree.loops[over].accesses {
        let access = &tree.accesses[*index];
        let Some(depth) = access.path.iter().position(|one| *one == over) else {
            continue;
        };
        let (iterations, portion) = match window {
            Window::Iterations(_, iterations) => (*iterations, 1.0),
            Window::Within(_, portions) => {
                let portion = portions[tree.child_towards(*index, depth)];
                if portion <= 0.0 {
                    continue;
                }
                (1.0, portion)
            }
        };
        let counts = access.path[depth..]
            .iter()
            .enumerate()
            .map(|(down, inner)| match down {
                0 => iterations,
                1 => (tree.loops[*inner].trips.at(at) * portion).max(portion.min(1.0)),
                _ => tree.loops[*inner].trips.at(at),
            });
        if access.affine {
            let dimensions = access.strides[depth..].iter().copied().zip(counts);
            // The iterations before the current one are part of the window.
            let own = (at[over] - (iterations - 1.0)).max(0.0) * access.strides[depth];
            let outer = access.path[..depth].iter().zip(&access.strides);
            let low = own
                + outer
                    .map(|(outer, stride)| at[*outer] * stride)
                    .sum::<f64>();
            let bytes = access.access.bytes;
            let shape = Shape::of(
                access.access.base,
                access.start + low,
                bytes,
                dimensions.collect(),
                line,
                access.access.probability,
            );
            shapes.entry(shape.base).or_default().push(shape);
        } else {
            let times: f64 = counts.product::<f64>() * access.access.probability;
            let range = match access.access.pattern {
                crate::nest::Pattern::Random(range) => range,
                crate::nest::Pattern::Affine { .. } => None,
            };
            let entry = random.entry(access.access.base).or_insert((0.0, range));
            entry.0 += times;
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for list in shapes.into_values() {
        union(list, line, &mut pieces);
    }
    for (base, (times, range)) in random {
        let lines = match range {
            Some(bytes) => distinct(times, (bytes / line).max(1.0)),
            None => times / 2.0,
        };
        pieces.push(Piece {
            base,
            lines,
            run: 1.0,
            stride: 0.0,
        });
    }
    pieces
}

/// Different ones of `all` after so many draws.
pub(crate) fn distinct(draws: f64, all: f64) -> f64 {
    all * -(-draws / all).exp_m1()
}

impl Shape {
    fn of(
        base: u32,
        start: f64,
        bytes: f64,
        dimensions: Vec<(f64, f64)>,
        line: f64,
        probability: f64,
    ) -> Self {
        let mut low = start;
        let mut sorted: Vec<(f64, f64)> = Vec::new();
        for (stride, count) in dimensions {
            if stride == 0.0 || count <= 1.0 {
                continue;
            }
            if stride < 0.0 {
                low += stride * (count - 1.0);
            }
            sorted.push((stride.abs(), count));
        }
        sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (mut run, mut span, mut copies, mut step) = (bytes, bytes, 1.0, 0.0);
        for (stride, count) in &sorted {
            let reach = stride * (count - 1.0);
            if copies <= 1.0 && *stride <= run.max(line) {
                run += reach;
                span = run;
            } else if copies <= 1.0 {
                (copies, step) = (*count, *stride);
                span += reach;
            } else {
                copies *= if *stride < span {
                    // Part of the copies fall onto earlier ones.
                    1.0 + (count - 1.0) * (stride / span).max(step / span)
                } else {
                    *count
                };
                span += reach;
            }
        }
        sorted.reverse();
        // Copies lie in lines alike if the distances between them are whole lines; otherwise
        // as elements that cross no line do on average.
        let alike = sorted
            .iter()
            .all(|(stride, _)| *stride <= line.min(run) || stride % line == 0.0);
        let of_run = if copies <= 1.0 || alike {
            ((low + run - 1.0) / line).floor() - (low / line).floor() + 1.0
        } else {
            (1.0 + (run - bytes).max(0.0) / line).max(bytes / line)
        };
        let lines = (copies * of_run).min(span / line + 1.0);
        // A line is left out if all accesses to it are.
        let chances = (line / bytes).max(1.0).min(run / bytes);
        let share = 1.0 - (1.0 - probability.min(1.0)).powf(chances);
        Self {
            base,
            low,
            span,
            lines: lines * share,
            run,
            stride: step,
            dimensions: sorted,
        }
    }

    /// The share of this shape's lines that an equal one `distance` bytes away touches.
    fn shared(&self, distance: f64, line: f64) -> f64 {
        let mut rest = distance.abs();
        let mut share = 1.0;
        for (stride, count) in &self.dimensions {
            let steps = (rest / stride).round();
            // A distance that is nearly a whole number of steps, or one that the smaller
            // strides cannot bridge.
            let steps = if (rest - steps * stride).abs() < line {
                steps
            } else {
                (rest / stride).floor()
            };
            share *= (1.0 - steps / count).max(0.0);
            rest = (rest - steps * stride).abs();
        }
        share * (1.0 - rest / line).max(0.0)
    }

    fn same_form(&self, other: &Self) -> bool {
        self.dimensions.len() == other.dimensions.len()
            && self
                .dimensions
                .iter()
                .zip(&other.dimensions)
                .all(|(one, two)| one.0 == two.0 && (one.1 - two.1).abs() <= 0.01 * one.1)
    }
}

/// Shapes of one array without what they share.
fn union(mut shapes: Vec<Shape>, line: f64, pieces: &mut Vec<Piece>) {
    shapes.sort_by(|left, right| {
        right
            .lines
            .total_cmp(&left.lines)
            .then(left.low.total_cmp(&right.low))
    });
    let mut taken: Vec<Shape> = Vec::new();
    for shape in shapes {
        let mut new = 1.0_f64;
        for earlier in taken.iter().take(UNION_MAX) {
            let share = if shape.same_form(earlier) {
                shape.shared(shape.low - earlier.low, line)
            } else {
                covered(&shape, earlier, line)
            };
            new = new.min(1.0 - share.clamp(0.0, 1.0));
        }
        if shape.lines * new > 1e-9 {
            pieces.push(Piece {
                base: shape.base,
                lines: shape.lines * new,
                run: (shape.run / line).max(1.0),
                stride: shape.stride,
            });
        }
        taken.push(shape);
    }
}

/// Shapes of one array that are compared with each further one.
const UNION_MAX: usize = 256;

/// The share of `shape`'s lines in which `earlier` is thought to lie as well: all of the
/// overlap where that is dense, as many as by chance where it has gaps.
fn covered(shape: &Shape, earlier: &Shape, line: f64) -> f64 {
    let low = shape.low.max(earlier.low - line);
    let high = (shape.low + shape.span).min(earlier.low + earlier.span + line);
    if high <= low {
        return 0.0;
    }
    let overlap = ((high - low) / shape.span.max(1.0)).min(1.0);
    let density = (earlier.lines * line / (earlier.span + line)).min(1.0);
    if density > 0.8 {
        overlap
    } else {
        overlap * density
    }
}

/// What lies between two accesses in one iteration of `over`: the children after the
/// first's, those before the second's, and what remains or is over of their own.
pub(crate) fn between(
    tree: &Tree,
    over: usize,
    first: (usize, f64),
    second: (usize, f64),
    wraps: bool,
) -> Vec<f64> {
    let children = &tree.loops[over].children;
    let mut portions = vec![0.0; children.len()];
    for (position, (child, _)) in children.iter().enumerate() {
        let whole = |inside: bool| f64::from(u8::from(inside));
        let after = match position.cmp(&first.0) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => match child {
                Child::Loop(_) => 1.0 - first.1,
                Child::Access(_) => 1.0,
            },
            std::cmp::Ordering::Greater => 1.0,
        };
        let before = match position.cmp(&second.0) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => match child {
                Child::Loop(_) => second.1,
                Child::Access(_) => 1.0,
            },
            std::cmp::Ordering::Greater => 0.0,
        };
        portions[position] = if wraps {
            f64::min(after + before, 1.0)
        } else {
            whole(after > 0.0 && before > 0.0) * f64::min(after, before)
        };
    }
    portions
}
