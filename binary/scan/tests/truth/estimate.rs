//! How often the loops of a region run, from the expressions of its scan and what it was begun
//! with.

use fathomp_callgrind::{Beginnings, Begun};
use fathomp_regions::{
    Body, ChunkEnd, Environment, Expr, Known, Leaf, Loop, LoopId, LoopRole, Schedule, ScheduleKind,
};

/// Iterations of an enclosing loop that are looked at, if what is inside depends on them.
const SAMPLES: i64 = 17;
/// Evaluations for one beginning of a region.
const EVALUATIONS_MAX: usize = 200_000;

/// Of all loops of a region, in all its executions.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    pub(crate) iterations: Vec<Option<f64>>,
    /// Why they are not known.
    pub(crate) reasons: Vec<String>,
}

/// Estimates a region that was executed so many times.
pub(crate) fn estimate(body: &Body, times: u64, beginnings: &Beginnings) -> Estimate {
    let mut sum = Estimate {
        iterations: vec![Some(0.0); body.loops.len()],
        reasons: vec![String::new(); body.loops.len()],
    };
    let noted: Vec<&Begun> = beginnings
        .begun
        .iter()
        .filter(|begun| begun.function == body.address)
        .collect();
    // Those that were not noted are taken to be as those that were.
    let each = times as f64 / noted.len().max(1) as f64;
    for begun in noted {
        let mut walk = Walk {
            body,
            begun,
            iterations: vec![],
            chunks: vec![],
            sum: &mut sum,
            evaluations: 0,
        };
        walk.inside(None, each);
    }
    sum
}

struct Walk<'a> {
    body: &'a Body,
    begun: &'a Begun,
    iterations: Vec<(LoopId, i64)>,
    /// Bounds of the chunks that enclosing loops work on.
    chunks: Vec<(i64, i64)>,
    sum: &'a mut Estimate,
    evaluations: usize,
}

impl Environment for Walk<'_> {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Iteration(id) => {
                let known = self.iterations.iter().find(|(known, _)| *known == id);
                known.map(|(_, at)| *at)
            }
            Leaf::Chunk(end, _) => self.chunks.last().map(|chunk| match end {
                ChunkEnd::Start => chunk.0,
                ChunkEnd::End => chunk.1,
            }),
            leaf => self.begun.leaf(leaf),
        }
    }

    fn memory(&self, address: u64, bytes: u8) -> Option<u64> {
        self.begun.memory(address, bytes)
    }
}

impl Walk<'_> {
    fn evaluate(&mut self, expr: &Expr) -> Result<i64, String> {
        self.evaluations += 1;
        expr.evaluate(self).map_err(|error| error.to_string())
    }

    /// All loops directly inside another one, `weight` times.
    fn inside(&mut self, parent: Option<LoopId>, weight: f64) {
        for (number, looped) in (0..).zip(&self.body.loops) {
            if looped.parent == parent {
                self.run(LoopId(number), looped, weight);
            }
        }
    }

    fn fail(&mut self, id: LoopId, why: String) {
        let index = id.0 as usize;
        self.sum.iterations[index] = None;
        if self.sum.reasons[index].is_empty() {
            self.sum.reasons[index] = why;
        }
        for (number, looped) in (0..).zip(&self.body.loops) {
            if looped.parent == Some(id) {
                self.fail(LoopId(number), "that of the loop around it".to_owned());
            }
        }
    }

    fn run(&mut self, id: LoopId, looped: &Loop, weight: f64) {
        if let Some(Known::Known(condition)) = &looped.entered_if {
            match self.evaluate(condition) {
                Ok(0) => return,
                Ok(_) => {}
                Err(why) => return self.fail(id, format!("whether it is entered: {why}")),
            }
        }
        // What is left over, or kept for the case that data overlap, is seldom entered.
        let left_over = looped.role == LoopRole::Remainder;
        if left_over && matches!(looped.entered_if, Some(Known::Unknown(_))) {
            return;
        }
        let shared = looped.worksharing.as_ref();
        let shared = shared.filter(|schedule| schedule.kind != ScheduleKind::Static);
        let trips = match (&looped.trips, shared) {
            // One thread alone gets all chunks.
            (_, Some(schedule)) => self.chunks_of(schedule),
            (Known::Known(trips), None) => self.evaluate(trips),
            (Known::Unknown(reason), None) => Err(format!("{:?}: {}", reason.kind, reason.detail)),
        };
        let trips = match trips {
            Ok(trips) => trips.max(0),
            Err(why) => return self.fail(id, why),
        };
        if let Some(sum) = &mut self.sum.iterations[id.0 as usize] {
            *sum += weight * trips as f64;
        }
        if trips == 0 || looped.innermost {
            return;
        }
        let exhausted = self.evaluations > EVALUATIONS_MAX;
        let chunked = shared.is_some();
        if exhausted || !(chunked || self.varies(id)) {
            return self.inside(Some(id), weight * trips as f64);
        }
        for (at, share) in samples(trips) {
            self.iterations.push((id, at));
            if let Some(schedule) = shared {
                let chunk = self.chunk(schedule);
                let end = self.total(schedule).unwrap_or(i64::MAX);
                let start = at.saturating_mul(chunk);
                self.chunks
                    .push((start, start.saturating_add(chunk).min(end)));
            }
            self.inside(Some(id), weight * share);
            if chunked {
                self.chunks.pop();
            }
            self.iterations.pop();
        }
    }

    fn chunk(&mut self, schedule: &Schedule) -> i64 {
        let chunk = schedule.chunk.as_ref();
        chunk
            .map_or(1, |chunk| self.evaluate(chunk).unwrap_or(1))
            .max(1)
    }

    fn total(&mut self, schedule: &Schedule) -> Result<i64, String> {
        match &schedule.total {
            Some(total) => self.evaluate(total),
            None => Err("how much is shared is not known".to_owned()),
        }
    }

    fn chunks_of(&mut self, schedule: &Schedule) -> Result<i64, String> {
        let (total, chunk) = (self.total(schedule)?, self.chunk(schedule));
        Ok(total.max(0) / chunk + i64::from(total.max(0) % chunk != 0))
    }

    /// Whether anything inside a loop depends on which of its iterations it is.
    fn varies(&self, id: LoopId) -> bool {
        let leaf = Expr::Leaf(Leaf::Iteration(id));
        let depends = |expr: &Expr| {
            let mut depends = false;
            expr.walk(&mut |part| depends |= *part == leaf);
            depends
        };
        self.body.loops.iter().any(|looped| {
            let condition = looped.entered_if.as_ref().and_then(Known::known);
            looped.trips.known().is_some_and(depends) || condition.is_some_and(depends)
        })
    }
}

/// Some iterations, and for how many each stands: the sum is exact for what changes evenly.
fn samples(trips: i64) -> Vec<(i64, f64)> {
    if trips <= SAMPLES {
        return (0..trips).map(|at| (at, 1.0)).collect();
    }
    let at = |number: i64| number * (trips - 1) / (SAMPLES - 1);
    let mut samples: Vec<(i64, f64)> = (0..SAMPLES).map(|number| (at(number), 0.0)).collect();
    for number in 1..samples.len() {
        let width = (samples[number].0 - samples[number - 1].0) as f64;
        samples[number - 1].1 += width / 2.0;
        samples[number].1 += width / 2.0;
    }
    for end in [0, samples.len() - 1] {
        samples[end].1 += 0.5;
    }
    samples
}
