//! A fitted program asked for times, with intervals.

use super::model::Setting;
use super::options::Options;
use super::outcome::{Point, TermTime};
use super::program::{ProgramModel, Terms1};
use super::terms::{Term, Terms};
use crate::recorded::{Group, Runs};
use fathomp_stats::{Random, quantile};

/// Fraction of outcomes the intervals are meant to hold.
pub(super) const INTERVAL: f64 = 0.9;

/// A central model, and replicates for the intervals.
pub(crate) struct Forecast<'a> {
    pub(super) central: ProgramModel,
    replicates: Vec<ProgramModel>,
    setting: Setting<'a>,
    pub(super) terms: Terms,
    cores: u32,
    largest: u32,
    /// More threads than were measured change nothing: there are too many already.
    crowded: bool,
    /// Nor do fewer than these.
    fewest: u32,
}

impl<'a> Forecast<'a> {
    pub(crate) fn new(
        runs: &Runs<'_>,
        groups: &[Group<'_>],
        setting: Setting<'a>,
        options: &Options,
    ) -> Self {
        let mut random = Random(options.seed);
        let central = ProgramModel::central(runs, groups, &setting);
        Self {
            replicates: (0..options.replicates.max(1))
                .map(|_| ProgramModel::replicate(runs, groups, &setting, &central, &mut random))
                .collect(),
            central,
            setting,
            terms: options.terms,
            cores: setting.cores as u32,
            largest: groups.last().map_or(1, |group| group.threads),
            crowded: false,
            fewest: 1,
        }
    }

    /// The same of a program whose own threads share processors: neither more threads than
    /// were measured change anything, nor fewer than `fewest`.
    pub(super) fn crowded(self, fewest: u32) -> Self {
        Self {
            crowded: true,
            fewest,
            ..self
        }
    }

    /// What was measured with so many threads can be held against the
    /// prediction: it did not lack processors that are assumed.
    fn comparable(&self, threads: u32) -> bool {
        threads <= self.largest || threads > self.cores
    }

    pub(super) fn central_at(&self, threads: u32) -> Terms1 {
        self.at(&self.central, threads)
    }

    fn at(&self, model: &ProgramModel, threads: u32) -> Terms1 {
        let threads = match self.crowded {
            true => threads.min(self.largest).max(self.fewest),
            false => threads,
        };
        model.at(threads, &self.setting, self.terms)
    }

    /// Predictions of what `part` takes from the terms of the program.
    pub(crate) fn points(
        &self,
        at: &[u32],
        runs: &Runs<'_>,
        part: &dyn Fn(&Terms1) -> [f64; Term::COUNT],
    ) -> Vec<Point> {
        let sum = |model: &ProgramModel, threads: u32| {
            let terms = part(&self.at(model, threads));
            terms.iter().sum::<f64>()
        };
        let one = sum(&self.central, 1);
        let ones: Vec<f64> = self.replicates.iter().map(|m| sum(m, 1)).collect();
        at.iter()
            .map(|&threads| {
                let terms = part(&self.central_at(threads));
                let time: f64 = terms.iter().sum();
                let times: Vec<f64> = self.replicates.iter().map(|m| sum(m, threads)).collect();
                let speedups: Vec<f64> = times
                    .iter()
                    .zip(&ones)
                    .map(|(time, one)| ratio(*one, *time))
                    .collect();
                let edge = 0.5 * (1.0 - INTERVAL);
                let speedup = ratio(one, time);
                Point {
                    threads,
                    time_ns: time,
                    low_ns: quantile(&times, edge).unwrap_or_default().min(time),
                    high_ns: quantile(&times, 1.0 - edge).unwrap_or_default().max(time),
                    speedup,
                    speedup_low: quantile(&speedups, edge).unwrap_or_default().min(speedup),
                    speedup_high: quantile(&speedups, 1.0 - edge)
                        .unwrap_or_default()
                        .max(speedup),
                    terms: Term::ALL
                        .into_iter()
                        .filter(|term| terms[*term as usize] > 0.0)
                        .map(|term| TermTime {
                            term,
                            time_ns: terms[term as usize],
                        })
                        .collect(),
                    measured_ns: self
                        .comparable(threads)
                        .then(|| runs.typical(threads))
                        .flatten(),
                    undisturbed_ns: self
                        .comparable(threads)
                        .then(|| runs.undisturbed(threads))
                        .flatten(),
                    extrapolated: threads > self.largest,
                    oversubscribed: threads > self.cores,
                }
            })
            .collect()
    }

    /// The smallest thread count up to `limit` from which more save less than
    /// the fraction `worthwhile`.
    pub(super) fn best(&self, limit: u32, worthwhile: f64, time: &dyn Fn(&Terms1) -> f64) -> u32 {
        let counts = candidates(limit);
        let times: Vec<f64> = counts
            .iter()
            .map(|&threads| time(&self.central_at(threads)))
            .collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let enough = least / (1.0 - worthwhile.clamp(0.0, 0.99));
        counts
            .iter()
            .zip(&times)
            .find(|(_, time)| **time <= enough)
            .map_or(1, |(threads, _)| *threads)
    }
}

/// Thread counts tried when looking for the best: all of the first 64, then
/// ever wider apart.
fn candidates(limit: u32) -> Vec<u32> {
    let mut counts = Vec::new();
    let mut count = 1;
    while count < limit {
        counts.push(count);
        count += (count / 64).max(1);
    }
    counts.push(limit.max(1));
    counts
}

pub(super) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}
