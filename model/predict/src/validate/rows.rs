//! Predicted speedups beside observed ones.

use crate::prices::Protocol;
use serde::Serialize;

/// Who predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// p threads are p times as fast.
    Ideal,
    /// Amdahl's law, fitted to the other numbers of threads.
    Amdahl,
    /// The universal scalability law, fitted likewise.
    Usl,
    /// Our model, fitted likewise.
    Fathomp,
    /// The critical-path model.
    Critical,
    /// The aggregate model if all faults overlap.
    #[serde(rename = "aggregate_f0")]
    AggregateF0,
    /// The aggregate model if no faults overlap.
    #[serde(rename = "aggregate_f1")]
    AggregateF1,
    /// The aggregate model with the f that fits the other numbers of threads.
    AggregateFit,
}

/// A number of threads of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The program.
    pub program: String,
    /// Threads of all nodes together.
    pub threads: u32,
    /// What shared memory between nodes; none for threads of one process.
    pub protocol: Option<Protocol>,
    /// Recordings with so many; 0 if counts come from elsewhere.
    pub runs: u32,
    /// Threads that shared processors: their time is also waiting for these.
    pub oversubscribed: bool,
    /// Part of the processors' time that the program itself took, with all its threads
    /// and those that serve other nodes; none if that was not recorded.
    pub processors_used: Option<f64>,
    /// Median time with one thread over the median with so many.
    pub speedup_observed: f64,
    /// In the order of [`Predictor`]; those who cannot say are left out.
    pub predictions: Vec<Cell>,
}

impl Row {
    /// Speedups from elsewhere.
    pub(crate) fn of_speedups(
        program: &str,
        threads: u32,
        protocol: Option<Protocol>,
        speedup_observed: f64,
        predictions: Vec<Cell>,
    ) -> Self {
        Self {
            program: program.to_owned(),
            threads,
            protocol,
            runs: 0,
            oversubscribed: false,
            processors_used: None,
            speedup_observed,
            predictions,
        }
    }
}

/// A predicted speedup.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Who predicts.
    pub predictor: Predictor,
    /// What.
    pub speedup: f64,
    /// (predicted - observed) / observed.
    pub relative_error: f64,
    /// Whether what was observed lies in the interval, if there is one.
    pub inside: Option<bool>,
}
