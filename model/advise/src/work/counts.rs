//! How often the loops of a body run, for one thread of a team.

use fathomp_cache_model::{Assume, Nest};
use fathomp_regions::{Body, Known, LoopId, Sample, SampleEnvironment};

/// How often the loops of a body run.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Iterations by loop, all entries together.
    iterations: Vec<f64>,
    /// Whether those are a guess.
    guess: Vec<bool>,
}

impl Counts {
    /// Times that something directly inside this loop runs; outside loops, once.
    #[must_use]
    pub fn of(&self, inside: Option<LoopId>) -> f64 {
        inside.map_or(1.0, |LoopId(id)| {
            self.iterations.get(id as usize).copied().unwrap_or(0.0)
        })
    }

    /// Instructions executed.
    #[must_use]
    pub fn instructions(&self, body: &Body) -> f64 {
        sum(body, |id| self.of(id))
    }

    /// Those in loops whose trips are a guess.
    #[must_use]
    pub fn guessed(&self, body: &Body) -> f64 {
        sum(body, |id| match id {
            Some(LoopId(index)) if self.guess.get(index as usize) == Some(&true) => self.of(id),
            _ => 0.0,
        })
    }

    /// Iterations of innermost loops.
    #[must_use]
    pub fn innermost(&self, body: &Body) -> f64 {
        body.loops
            .iter()
            .zip(&self.iterations)
            .filter(|(one, _)| one.innermost)
            .map(|(_, iterations)| iterations)
            .sum()
    }

    /// Iterations of the worksharing loop that has most; infinite without any.
    #[must_use]
    pub fn pieces(&self, body: &Body) -> f64 {
        body.loops
            .iter()
            .zip(self.iterations.iter().zip(&self.guess))
            .filter(|(one, (_, guess))| one.worksharing.is_some() && !**guess)
            .map(|(_, (iterations, _))| *iterations)
            .fold(None, |most: Option<f64>, one| {
                Some(most.map_or(one, |most| most.max(one)))
            })
            .filter(|most| *most >= 1.0)
            .unwrap_or(f64::INFINITY)
    }
}

fn sum(body: &Body, times: impl Fn(Option<LoopId>) -> f64) -> f64 {
    body.instructions
        .iter()
        .map(|(inside, instructions)| times(*inside) * f64::from(*instructions))
        .sum()
}

/// How often the loops of `body` run for thread number `thread` of `threads`, started with
/// the words of `sample`. Loops whose trips no expression and no dry run says are guessed.
#[must_use]
pub fn counts(body: &Body, sample: &Sample, threads: u32, thread: u32) -> Counts {
    let nest = nest(body, sample, threads, thread);
    let counted = |index: usize| {
        let id = LoopId(index as u32);
        sample.dry.iter().any(|dry| dry.id == id && dry.exact)
    };
    Counts {
        iterations: nest.iterations(),
        guess: body
            .loops
            .iter()
            .enumerate()
            .map(|(index, one)| {
                // What chunks are handed out is known by their total.
                let unknown = matches!(one.trips, Known::Unknown(_));
                unknown && !counted(index) && one.worksharing.is_none()
            })
            .collect(),
    }
}

/// The nest that such a thread executes.
pub(crate) fn nest(body: &Body, sample: &Sample, threads: u32, thread: u32) -> Nest {
    let environment = SampleEnvironment {
        sample,
        threads: threads.max(1),
        thread,
        iterations: &[],
    };
    let assume = Assume {
        dry: &sample.dry,
        ..Assume::default()
    };
    Nest::of(body, &environment, &assume)
}
