//! What a recording saw of the values that expressions depend on.

use crate::evaluate::Environment;
use crate::expr::{Expr, Leaf};
use crate::model::LoopId;
use serde::{Deserialize, Serialize};

/// What executions of the bodies of one module were started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The module's file.
    pub module: String,
    /// Its build-id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// One for each body and set of values.
    pub samples: Vec<Sample>,
}

/// Executions of one body that were started with the same values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Address of the body in its file.
    pub body: u64,
    /// Executions.
    pub times: u64,
    /// Threads of the team.
    pub threads: u32,
    /// Values of the words that the body's expressions read (see [`Expr::words`]).
    pub words: Vec<Word>,
    /// Loops whose trips were found by running the code dry, where no expression says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry: Vec<DryLoop>,
    /// Wall time of these executions from fork to join, nanoseconds; 0 if not known.
    #[serde(default)]
    pub wall_ns: u64,
}

/// A word that expressions read, and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// A load.
    pub load: Expr,
    /// Its value, extended to 64 bits as the load says.
    pub value: i64,
}

/// Iterations of a loop in one execution of its body by one thread, found by a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DryLoop {
    /// The loop.
    pub id: LoopId,
    /// Times that the loop was entered.
    pub entries: f64,
    /// Iterations, all entries together.
    pub iterations: f64,
    /// Whether nothing of it was extrapolated.
    pub exact: bool,
}

/// A sample as an environment: words from the sample, threads and iterations as asked.
#[derive(Clone, Copy, Debug)]
pub struct SampleEnvironment<'a> {
    /// The sample.
    pub sample: &'a Sample,
    /// Threads in the team that is asked about.
    pub threads: u32,
    /// The thread that is asked about.
    pub thread: u32,
    /// Iterations of enclosing loops.
    pub iterations: &'a [(LoopId, i64)],
}

impl Environment for SampleEnvironment<'_> {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Threads => Some(i64::from(self.threads)),
            Leaf::Thread => Some(i64::from(self.thread)),
            Leaf::Iteration(id) => self
                .iterations
                .iter()
                .find(|(known, _)| *known == id)
                .map(|(_, value)| *value),
            _ => None,
        }
    }

    fn memory(&self, _: u64, _: u8) -> Option<u64> {
        None
    }

    fn word(&self, load: &Expr) -> Option<i64> {
        self.sample
            .words
            .iter()
            .find(|word| word.load == *load)
            .map(|word| word.value)
    }
}
