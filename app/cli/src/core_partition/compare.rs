//! The strategies against each other: the same programs under each, and each program alone,
//! in turns.

use super::{Outputs, Session, ShareError, SharedRun};
use crate::args::Strategy;
use crate::launch::{Ended, StopSignalsBlocked};
use fathomp_stats::{Interval, Random, geometric_mean, median, percentile_interval};
use fathomp_types::Ending;
use serde::Serialize;

/// Bootstrap replicates.
const REPLICATES: usize = 2000;
/// Of the orders and of the resampling, so that both can be had again.
const SEED: u64 = 34;

/// What is measured of one run of all programs, or of one alone.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sample {
    /// Number of the repetition.
    pub(crate) repetition: u32,
    /// Strategy; none for a program alone.
    pub(crate) strategy: Option<&'static str>,
    /// From the first start to the last end, s.
    pub(crate) wall_s: f64,
    /// Of each program, s; of a program alone, only its own.
    pub(crate) program_s: Vec<f64>,
    /// Number of the program alone.
    pub(crate) alone: Option<usize>,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    /// 95 %, by the bootstrap over repetitions.
    pub(crate) interval: Interval,
}

/// How a strategy did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StrategyResult {
    pub(crate) strategy: &'static str,
    /// From the first start to the last end, s.
    pub(crate) wall_s: Estimate,
    /// Programs finished per hour.
    pub(crate) per_hour: Estimate,
    /// Geometric mean over programs of time together over time alone.
    pub(crate) slowdown: Estimate,
    /// Sum over programs of time alone over time together (system throughput).
    pub(crate) stp: Estimate,
    /// Throughput over that under plain sharing, paired within repetitions.
    pub(crate) over_plain: Estimate,
    /// System throughput over that under plain sharing, likewise.
    pub(crate) stp_over_plain: Estimate,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) programs: Vec<String>,
    /// Time alone, s.
    pub(crate) alone_s: Vec<Estimate>,
    pub(crate) strategies: Vec<StrategyResult>,
    pub(crate) samples: Vec<Sample>,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompareError {
    #[error(transparent)]
    Share(#[from] ShareError),
    #[error("{program} ended with {how} {when}: only programs that succeed can be compared")]
    Failed {
        program: String,
        how: String,
        when: String,
    },
    #[error("stopped by a signal before all runs were made")]
    Stopped,
}

/// Runs and compares. `session` says what is run and how, but for the strategy; `told` hears
/// of each run that is made.
pub(crate) fn compare(
    session: &Session<'_>,
    repeat: u32,
    hold: &StopSignalsBlocked,
    mut told: impl FnMut(u32, u32),
) -> Result<Comparison, CompareError> {
    let count = session.programs.len();
    let mut jobs: Vec<Job> = Strategy::ALL.map(Job::Together).to_vec();
    jobs.extend((0..count).map(Job::Alone));
    let mut order = Random(SEED);
    let mut samples = Vec::new();
    let all = repeat * jobs.len() as u32;
    for repetition in 0..repeat {
        order.shuffle(&mut jobs);
        for job in &jobs {
            told(samples.len() as u32, all);
            let one = job.run(session, hold)?;
            check(job, session, &one.ended, hold)?;
            samples.push(Sample {
                repetition,
                strategy: job.strategy().map(Strategy::name),
                wall_s: one.wall.as_secs_f64(),
                program_s: one
                    .ended
                    .iter()
                    .map(|ended| ended.wall.as_secs_f64())
                    .collect(),
                alone: job.alone(),
            });
        }
    }
    let programs = (0..count)
        .map(|index| session.programs[index].numbered(index))
        .collect();
    Ok(judge(programs, repeat, samples))
}

#[derive(Clone, Copy, Debug)]
enum Job {
    Together(Strategy),
    Alone(usize),
}

impl Job {
    fn strategy(self) -> Option<Strategy> {
        match self {
            Self::Together(strategy) => Some(strategy),
            Self::Alone(_) => None,
        }
    }

    fn alone(self) -> Option<usize> {
        match self {
            Self::Together(_) => None,
            Self::Alone(index) => Some(index),
        }
    }

    fn run(
        self,
        session: &Session<'_>,
        hold: &StopSignalsBlocked,
    ) -> Result<SharedRun, ShareError> {
        let programs = match self {
            Self::Together(_) => session.programs.clone(),
            Self::Alone(index) => vec![session.programs[index]],
        };
        Session {
            programs,
            strategy: self.strategy().unwrap_or(Strategy::Plain),
            outputs: Outputs::Discarded,
            events: false,
            advice: session.advice.clone(),
            ..*session
        }
        .run(hold)
    }
}

fn check(
    job: &Job,
    session: &Session<'_>,
    ended: &[Ended],
    hold: &StopSignalsBlocked,
) -> Result<(), CompareError> {
    if hold.is_asked_to_stop() || ended.iter().any(|one| one.interrupted.is_some()) {
        return Err(CompareError::Stopped);
    }
    for (index, one) in ended.iter().enumerate() {
        if one.outcome != Ending::Exited(0) {
            let number = job.alone().unwrap_or(index);
            return Err(CompareError::Failed {
                program: session.programs[number].numbered(number),
                how: one.describe(),
                when: match job.strategy() {
                    Some(strategy) => format!("under strategy {}", strategy.name()),
                    None => "when run alone".to_owned(),
                },
            });
        }
    }
    Ok(())
}

/// What one repetition says of a strategy.
#[derive(Clone, Copy, Debug)]
struct Round {
    wall_s: f64,
    slowdown: f64,
    stp: f64,
    plain_wall_s: f64,
    plain_stp: f64,
}

/// From samples to numbers.
fn judge(programs: Vec<String>, repeat: u32, samples: Vec<Sample>) -> Comparison {
    let count = programs.len();
    let alone = |repetition: u32, index: usize| {
        let found = samples
            .iter()
            .find(|one| one.repetition == repetition && one.alone == Some(index));
        found.and_then(|one| one.program_s.first().copied())
    };
    let together = |repetition: u32, strategy: Strategy| {
        samples
            .iter()
            .find(|one| one.repetition == repetition && one.strategy == Some(strategy.name()))
    };
    let stp = |repetition: u32, sample: &Sample| -> Option<f64> {
        let parts = sample.program_s.iter().enumerate();
        parts
            .map(|(index, time)| Some(alone(repetition, index)? / time))
            .sum()
    };
    let round = |repetition: u32, strategy: Strategy| {
        let sample = together(repetition, strategy)?;
        let plain = together(repetition, Strategy::Plain)?;
        let slowdowns: Option<Vec<f64>> = (0..count)
            .map(|index| Some(sample.program_s.get(index)? / alone(repetition, index)?))
            .collect();
        Some(Round {
            wall_s: sample.wall_s,
            slowdown: geometric_mean(&slowdowns?)?,
            stp: stp(repetition, sample)?,
            plain_wall_s: plain.wall_s,
            plain_stp: stp(repetition, plain)?,
        })
    };
    let strategies = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            let rounds: Vec<Round> = (0..repeat).filter_map(|one| round(one, strategy)).collect();
            let of = |value: &dyn Fn(&Round) -> f64| {
                estimate(&rounds.iter().map(value).collect::<Vec<_>>())
            };
            Some(StrategyResult {
                strategy: strategy.name(),
                wall_s: of(&|round| round.wall_s)?,
                per_hour: of(&|round| 3600.0 * count as f64 / round.wall_s)?,
                slowdown: of(&|round| round.slowdown)?,
                stp: of(&|round| round.stp)?,
                over_plain: of(&|round| round.plain_wall_s / round.wall_s)?,
                stp_over_plain: of(&|round| round.stp / round.plain_stp)?,
            })
        })
        .collect();
    let alone_s = (0..count)
        .filter_map(|index| {
            let times: Vec<f64> = (0..repeat).filter_map(|one| alone(one, index)).collect();
            estimate(&times)
        })
        .collect();
    Comparison {
        programs,
        alone_s,
        strategies,
        samples,
    }
}

/// The median and its interval.
fn estimate(values: &[f64]) -> Option<Estimate> {
    let mut resampler = Random(SEED);
    let replicates: Vec<f64> = (0..REPLICATES)
        .filter_map(|_| median(&resampler.draw(values)))
        .collect();
    let value = median(values)?;
    Some(Estimate {
        value,
        interval: percentile_interval(&replicates)?.around(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(
        repetition: u32,
        strategy: Option<Strategy>,
        alone: Option<usize>,
        times: &[f64],
    ) -> Sample {
        Sample {
            repetition,
            strategy: strategy.map(Strategy::name),
            wall_s: times.iter().copied().fold(0.0, f64::max),
            program_s: times.to_vec(),
            alone,
        }
    }

    #[test]
    fn numbers_follow_from_samples() {
        let mut samples = Vec::new();
        for repetition in 0..3 {
            // A machine that is twice as slow in the second repetition.
            let slow = if repetition == 1 { 2.0 } else { 1.0 };
            samples.push(sample(repetition, None, Some(0), &[1.0 * slow]));
            samples.push(sample(repetition, None, Some(1), &[2.0 * slow]));
            for strategy in Strategy::ALL {
                let wall = if strategy == Strategy::Hints {
                    4.0
                } else {
                    5.0
                } * slow;
                samples.push(sample(repetition, Some(strategy), None, &[wall, wall]));
            }
        }
        let found = judge(vec!["a".to_owned(), "b".to_owned()], 3, samples);
        let hints = &found.strategies[0];
        assert_eq!(hints.strategy, "hints");
        assert!((hints.over_plain.value - 1.25).abs() < 1e-9);
        assert!((hints.over_plain.interval.low - 1.25).abs() < 1e-9);
        assert!((hints.stp.value - 0.75).abs() < 1e-9);
        assert!((hints.slowdown.value - 8.0_f64.sqrt()).abs() < 1e-9);
        assert!((hints.per_hour.value - 1800.0).abs() < 1e-9);
        assert_eq!(found.alone_s.len(), 2);
    }
}
