//! The result of a prediction: plain data for the report and the terminal.
//!
//! Units are last in names; fractions are 0 to 1. Fields are only ever added;
//! a change of meaning raises [`VERSION`].

use super::terms::{Term, Terms};
use fathomp_analysis::Oversubscription;
use serde::Serialize;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.prediction";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// How a program will scale.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Name of the program.
    pub program: String,
    /// Terms of the model that were on.
    pub terms: Terms,
    /// Fraction of outcomes the intervals are meant to hold (0.9).
    pub interval: f64,
    /// Processors of the machine predicted for.
    pub cores: u32,
    /// Processors of the machine measured; more of them are an assumption.
    pub cores_present: u32,
    /// The program's own threads share processors already with as many threads as were
    /// measured; then no more is predicted than that more of them change nothing.
    pub crowd: Option<Oversubscription>,
    /// Measured runs, by thread count.
    pub measured: Vec<Measured>,
    /// The program's time at each thread count asked for, ascending.
    pub points: Vec<Point>,
    /// Program-wide losses at each thread count asked for are in
    /// [`Point::terms`]; this is the term that costs most at the last of them.
    pub dominating: Option<Dominating>,
    /// Thread count, up to the processors, from which more threads save less
    /// than [`Options::worthwhile`](crate::Options::worthwhile) of the
    /// program's time.
    pub best_threads: u32,
    /// Time outside all regions.
    pub serial: RegionPrediction,
    /// Outermost regions, by decreasing predicted time at the largest thread
    /// count asked for.
    pub regions: Vec<RegionPrediction>,
    /// Simple models fitted to the same measurements.
    pub baselines: Vec<Baseline>,
    /// The largest measured thread count predicted from the smaller ones; none
    /// if fewer than two thread counts were measured.
    pub validation: Option<Validation>,
    /// The findings in words, most important first.
    pub sentences: Vec<String>,
    /// What makes the prediction doubtful, in words.
    pub warnings: Vec<String>,
}

impl Prediction {
    /// The regions worth a sentence: those with 2 % of the time at the largest thread
    /// count, at most five.
    pub fn worst_regions(&self) -> impl Iterator<Item = &RegionPrediction> {
        let total_ns = self.points.last().map_or(0.0, |point| point.time_ns);
        let worth = move |region: &&RegionPrediction| {
            let time = region.points.last().map_or(0.0, |point| point.time_ns);
            time > 0.02 * total_ns
        };
        self.regions.iter().filter(worth).take(5)
    }
}

/// All runs measured with one thread count.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Threads.
    pub threads: u32,
    /// Wall time of each run.
    pub runs_ns: Vec<u64>,
    /// Their median.
    pub median_ns: f64,
    /// Time with one thread (measured or, without such a run, predicted) over
    /// the median.
    pub speedup: f64,
    /// Speedup over threads.
    pub efficiency: f64,
    /// POP efficiencies of the run with the median time.
    pub pop: fathomp_analysis::Efficiency,
    /// POP computation scalability: application time of the run with the
    /// fewest threads over this one's. 1 is perfect, less means that threads
    /// hinder each other (memory bandwidth, caches, clock frequency).
    pub computation_scalability: f64,
    /// POP global efficiency: parallel efficiency x computation scalability.
    pub global_efficiency: f64,
    /// Instructions per cycle relative to the run with the fewest threads, if
    /// counted.
    pub ipc_scalability: Option<f64>,
    /// Instructions of the run with the fewest threads over this one's, if
    /// counted.
    pub instruction_scalability: Option<f64>,
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Threads.
    pub threads: u32,
    /// Predicted time.
    pub time_ns: f64,
    /// Lower and upper end of the interval.
    pub low_ns: f64,
    /// See `low_ns`.
    pub high_ns: f64,
    /// Predicted time with one thread over `time_ns`.
    pub speedup: f64,
    /// Lower and upper end of the interval of the speedup.
    pub speedup_low: f64,
    /// See `speedup_low`.
    pub speedup_high: f64,
    /// What the time consists of; adds up to `time_ns`.
    pub terms: Vec<TermTime>,
    /// Measured median at this thread count, if there is one.
    pub measured_ns: Option<f64>,
    /// The same without the time that other programs took from it: what the prediction can
    /// be held against.
    pub undisturbed_ns: Option<f64>,
    /// More threads than were measured.
    pub extrapolated: bool,
    /// More threads than processors.
    pub oversubscribed: bool,
}

/// A term of the model and the time it contributes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TermTime {
    /// Which.
    pub term: Term,
    /// Its contribution.
    pub time_ns: f64,
}

/// A region's (or the serial part's) prediction.
#[derive(Clone, Debug, Serialize)]
pub struct RegionPrediction {
    /// Identity of the region, as in [`fathomp_analysis::Region::key`].
    pub key: String,
    /// Its name in the recording with the most threads.
    pub name: String,
    /// Median of its time at each measured thread count: (threads, ns).
    pub measured: Vec<(u32, f64)>,
    /// Predictions at the thread counts asked for.
    pub points: Vec<Point>,
    /// Thread count from which more threads save less than
    /// [`Options::worthwhile`](crate::Options::worthwhile) of its time.
    pub best_threads: u32,
    /// `best_threads` is below the largest count considered: it stops there.
    pub stops: bool,
    /// The term that costs most where it stops (or at the largest count).
    pub dominating: Option<Dominating>,
    /// "region solver.c:120 stops at 6 threads"; why is said by the diagnosis.
    pub sentence: String,
}

/// The term that costs most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dominating {
    /// Which; never [`Term::Work`].
    pub term: Term,
    /// At this many threads.
    pub threads: u32,
    /// Its fraction of the time there.
    pub share: f64,
}

/// A simple model fitted to the program's wall times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// `amdahl`, `usl`, `mean_speedup` or `linear`.
    pub name: &'static str,
    /// Its parameters by name.
    pub parameters: Vec<(&'static str, f64)>,
    /// (threads, time in ns) at the thread counts asked for.
    pub points: Vec<(u32, f64)>,
    /// Its relative error when the largest measured count is predicted from
    /// the smaller ones; none if that is impossible.
    pub validation_error: Option<f64>,
}

/// The largest measured thread count, predicted from the smaller ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Thread counts predicted from.
    pub from: Vec<u32>,
    /// Thread count predicted.
    pub threads: u32,
    /// Predicted time and interval.
    pub predicted_ns: f64,
    /// See `predicted_ns`.
    pub low_ns: f64,
    /// See `predicted_ns`.
    pub high_ns: f64,
    /// Measured median.
    pub measured_ns: f64,
    /// (predicted - measured) / measured.
    pub relative_error: f64,
    /// The measured time lies inside the interval.
    pub inside: bool,
}
