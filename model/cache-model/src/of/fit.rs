//! Values of expressions over the iterations of loops, as straight lines where they are.

use super::{Assume, needs_chunk};
use crate::nest::{TRIPS_MAX, Trips};
use fathomp_regions::{
    Access, Body, ChunkEnd, Environment, Expr, Known, Leaf, LoopId, Schedule, ScheduleKind,
};

/// See the module.
pub(super) struct Fit<'a> {
    body: &'a Body,
    environment: &'a dyn Environment,
    assume: &'a Assume<'a>,
    /// Mean iterations of the loops decided so far.
    means: Vec<f64>,
}

/// The environment, with iterations and chunks.
struct At<'a> {
    outer: &'a dyn Environment,
    iterations: &'a [i64],
    /// First value of the chunk, and its iterations.
    chunk: (i64, i64),
}

impl Environment for At<'_> {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Iteration(LoopId(id)) => self
                .iterations
                .get(id as usize)
                .copied()
                .or_else(|| self.outer.leaf(leaf)),
            Leaf::Chunk(ChunkEnd::Start, _) => self.outer.leaf(leaf).or(Some(self.chunk.0)),
            Leaf::Chunk(ChunkEnd::End, _) => self
                .outer
                .leaf(leaf)
                .or(Some(self.chunk.0.saturating_add(self.chunk.1))),
            _ => self.outer.leaf(leaf),
        }
    }

    fn memory(&self, address: u64, bytes: u8) -> Option<u64> {
        self.outer.memory(address, bytes)
    }

    fn word(&self, load: &Expr) -> Option<i64> {
        self.outer.word(load)
    }
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        body: &'a Body,
        environment: &'a dyn Environment,
        assume: &'a Assume<'a>,
    ) -> Self {
        Self {
            body,
            environment,
            assume,
            means: Vec::new(),
        }
    }

    /// Notes the trips of the next loop.
    pub(super) fn decided(&mut self, index: usize, trips: &Trips) {
        let middles: Vec<f64> = self.means.iter().map(|mean| middle(*mean)).collect();
        debug_assert_eq!(index, self.means.len());
        self.means.push(trips.at(&middles));
    }

    /// Mean iterations of a loop.
    pub(super) fn mean(&self, index: usize) -> f64 {
        self.means.get(index).copied().unwrap_or(1.0)
    }

    /// A value in the first iteration of all loops.
    pub(super) fn value(&self, expr: &Expr) -> Option<f64> {
        self.at(expr, &[], 0)
    }

    fn at(&self, expr: &Expr, iterations: &[(usize, f64)], chunk_start: i64) -> Option<f64> {
        let length = self.chunk_of(self.schedule_around(0)) as i64;
        self.in_chunk(expr, iterations, (chunk_start, length))
    }

    fn in_chunk(&self, expr: &Expr, iterations: &[(usize, f64)], chunk: (i64, i64)) -> Option<f64> {
        let mut all = vec![0_i64; self.body.loops.len()];
        for (over, iteration) in iterations {
            if let Some(place) = all.get_mut(*over) {
                *place = *iteration as i64;
            }
        }
        let at = At {
            outer: self.environment,
            iterations: &all,
            chunk,
        };
        expr.evaluate(&at).ok().map(|value| value as f64)
    }

    /// Trips that are an expression: a straight line over the iterations of loops around,
    /// or the mean where they are none.
    pub(super) fn trips(&self, index: usize, expr: &Expr) -> Option<Trips> {
        if needs_chunk(expr) {
            return self.trips_of_chunks(index, expr);
        }
        let around = self.around(index, expr);
        let first = self.at(expr, &[], 0)?;
        if around.is_empty() {
            return Some(Trips::of(first.clamp(0.0, TRIPS_MAX)));
        }
        // The slope at the beginning, which fits what ends at 0 before the loop does, or the
        // one from the first to the last iteration.
        let begin = self.line(&around, expr, first, |_| 1.0)?;
        let whole = self.line(&around, expr, first, |over| (self.mean(over) - 1.0).floor())?;
        let mut places = vec![0.0; self.means.len()];
        let (mut sum, mut largest) = (0.0, 1.0_f64);
        let mut errors = [0.0_f64; 2];
        for step in 0..STEPS {
            let at = self.spread(&around, step, STEPS);
            at.iter().for_each(|(over, place)| places[*over] = *place);
            let value = self.at(expr, &at, 0)?.max(0.0);
            sum += value;
            largest = largest.max(value);
            for (error, line) in errors.iter_mut().zip([&begin, &whole]) {
                *error = error.max((line.at(&places) - value).abs());
            }
        }
        let (error, line) = if errors[0] <= errors[1] {
            (errors[0], begin)
        } else {
            (errors[1], whole)
        };
        if error <= 0.1 * largest {
            Some(line)
        } else {
            Some(Trips::of((sum / STEPS as f64).clamp(0.0, TRIPS_MAX)))
        }
    }

    /// Trips that depend on the bounds of chunks: those of a loop over a chunk, and of loops
    /// inside that end where the chunk is.
    fn trips_of_chunks(&self, index: usize, expr: &Expr) -> Option<Trips> {
        let first = self.at(expr, &[], 0)?;
        let mut trips = Trips::of(first.clamp(0.0, TRIPS_MAX));
        if let Some((over, step)) = self.chunk_loop(index) {
            let each = self.at(expr, &[], 1)? - first;
            if each != 0.0 {
                trips.slopes.push((over, each * step));
            }
        }
        for over in self.around(index, expr) {
            let slope = self.at(expr, &[(over, 1.0)], 0)? - first;
            if slope != 0.0 && self.mean(over) > 1.0 {
                trips.slopes.push((over, slope));
            }
        }
        Some(trips)
    }

    /// The loop over chunks that a loop is in, and how far a chunk begins from the thread's
    /// last one.
    fn chunk_loop(&self, index: usize) -> Option<(usize, f64)> {
        let mut over = Some(index);
        let mut outermost = None;
        while let Some((at, one)) = over.and_then(|at| Some((at, self.body.loops.get(at)?))) {
            if matches!(&one.trips, Known::Known(expr) if needs_chunk(expr)) {
                outermost = Some(one);
            }
            over = one
                .parent
                .map(|parent| parent.0 as usize)
                .filter(|parent| *parent < at);
        }
        let parent = outermost?.parent?.0 as usize;
        let chunk = self.chunk_of(self.schedule_around(index));
        // Chunks of other threads lie in between.
        let threads = self.environment.leaf(Leaf::Threads).unwrap_or(1).max(1);
        Some((parent, chunk * threads as f64))
    }

    /// A straight line through the first iterations and, for each loop, another one.
    fn line(
        &self,
        around: &[usize],
        expr: &Expr,
        first: f64,
        other: impl Fn(usize) -> f64,
    ) -> Option<Trips> {
        let mut slopes = Vec::new();
        for over in around {
            let place = other(*over);
            if place >= 1.0 {
                let slope = (self.at(expr, &[(*over, place)], 0)? - first) / place;
                if slope != 0.0 {
                    slopes.push((*over, slope));
                }
            }
        }
        Some(Trips {
            constant: first,
            slopes,
        })
    }

    /// Iterations of the loops `around`, evenly spread over all steps, each loop at another
    /// pace.
    fn spread(&self, around: &[usize], step: usize, steps: usize) -> Vec<(usize, f64)> {
        around
            .iter()
            .enumerate()
            .map(|(number, over)| {
                let part = (step * (number * 2 + 1)) % steps;
                let place = (part as f64 + 0.5) / steps as f64 * self.mean(*over);
                (*over, place.floor())
            })
            .collect()
    }

    /// How often a condition holds over the iterations around; always, if nobody knows.
    pub(super) fn share(&self, index: usize, condition: &Expr) -> f64 {
        let around = self.around(index, condition);
        let steps = if around.is_empty() { 1 } else { STEPS };
        let mut held = 0.0;
        for step in 0..steps {
            let at = self.spread(&around, step, steps);
            if self.at(condition, &at, 0).is_none_or(|value| value != 0.0) {
                held += 1.0;
            }
        }
        held / steps as f64
    }

    /// Loops that `expr` depends on, of those before `index`.
    fn around(&self, index: usize, expr: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        expr.walk(&mut |part| {
            if let Expr::Leaf(Leaf::Iteration(LoopId(id))) = part {
                let over = *id as usize;
                if over < index && !found.contains(&over) {
                    found.push(over);
                }
            }
        });
        found
    }

    /// The schedule of the worksharing loop that a loop is, or is in.
    fn schedule_around(&self, index: usize) -> Option<&'a Schedule> {
        let mut over = Some(index);
        while let Some(one) = over.and_then(|over| self.body.loops.get(over)) {
            if let Some(schedule) = &one.worksharing {
                return Some(schedule);
            }
            over = one
                .parent
                .map(|parent| parent.0 as usize)
                .filter(|parent| over.is_some_and(|over| *parent < over));
        }
        self.body
            .loops
            .iter()
            .find_map(|one| one.worksharing.as_ref())
    }

    /// Iterations of one thread.
    fn share_of(&self, schedule: &Schedule) -> Option<f64> {
        // How long chunks are follows from the total, so the total cannot ask for it.
        let total = schedule.total.as_ref();
        let total = total.and_then(|total| self.in_chunk(total, &[], (0, 1)));
        let total = total.or_else(|| {
            let starts = self.body.starts.iter();
            starts
                .filter_map(|start| start.iterations)
                .map(|count| count as f64)
                .next()
        })?;
        let threads = self.environment.leaf(Leaf::Threads).unwrap_or(1).max(1);
        Some((total / threads as f64).clamp(0.0, TRIPS_MAX))
    }

    /// Iterations of a chunk.
    fn chunk_of(&self, schedule: Option<&Schedule>) -> f64 {
        let Some(schedule) = schedule else {
            return self.assume.chunk.clamp(1.0, 1e9);
        };
        let given = schedule.chunk.as_ref();
        let given = given.and_then(|chunk| chunk.evaluate(self.environment).ok());
        let chunk = match schedule.kind {
            ScheduleKind::Guided => {
                // Half of what is left for each thread, again and again: the mean is small
                // beside the first; an eighth of the share stands for it.
                self.share_of(schedule)
                    .map_or(self.assume.chunk, |share| share / 8.0)
            }
            ScheduleKind::Static if given.is_none() => {
                self.share_of(schedule).unwrap_or(self.assume.chunk)
            }
            _ => self.assume.chunk,
        };
        given
            .filter(|given| *given > 0)
            .map_or(chunk, |given| given as f64)
            .max(1.0)
    }

    /// Trips of the loop over chunks, whose number no expression says.
    pub(super) fn chunked(&self, index: usize) -> Option<Trips> {
        if matches!(&self.body.loops.get(index)?.trips, Known::Known(expr) if needs_chunk(expr)) {
            return None;
        }
        let inside = self.body.loops.iter().any(|inner| {
            inner.parent == Some(LoopId(index as u32))
                && matches!(&inner.trips, Known::Known(expr) if needs_chunk(expr))
        });
        if !inside {
            return None;
        }
        let schedule = self.schedule_around(index)?;
        let share = self.share_of(schedule)?;
        Some(Trips::of((share / self.chunk_of(Some(schedule))).max(1.0)))
    }

    /// What loops add to a start that depends on them: the mean step over their iterations,
    /// and that from one chunk to the next.
    pub(super) fn moves(&self, access: &Access, start: &Expr) -> Vec<(usize, f64)> {
        let mut found = Vec::new();
        let Some(first) = self.value(start) else {
            return found;
        };
        for over in self.around(self.body.loops.len(), start) {
            let last = (self.mean(over) - 1.0).floor().max(1.0);
            if let Some(value) = self.at(start, &[(over, last)], 0) {
                found.push((over, (value - first) / last));
            }
        }
        if needs_chunk(start)
            && let Some(inside) = access.inside
            && let Some((over, step)) = self.chunk_loop(inside.0 as usize)
            && let Some(value) = self.at(start, &[], 1)
        {
            found.push((over, (value - first) * step));
        }
        found
    }
}

/// Places at which lines are tried.
const STEPS: usize = 9;

fn middle(trips: f64) -> f64 {
    ((trips - 1.0) / 2.0).max(0.0)
}
