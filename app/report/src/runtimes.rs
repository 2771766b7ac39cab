//! One program on several OpenMP runtimes: its regions side by side, for a page.

use fathomp_stats::Interval;
use serde::Serialize;

/// Regions on several runtimes, with so many threads.
#[derive(Clone, Debug, Serialize)]
pub struct Versus {
    /// How many.
    pub threads: u32,
    /// The runtimes, as the user named them; the others are compared with the first.
    pub runtimes: Vec<String>,
    /// The whole program.
    pub program: Row,
    /// Its regions, the longest first.
    pub regions: Vec<Row>,
}

/// A region, or the program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What to call it.
    pub name: String,
    /// By runtime; none where it was not executed.
    pub columns: Vec<Option<Column>>,
}

/// A region on one runtime.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Executions in a run.
    pub executions: u64,
    /// Median over the runs.
    pub time_ns: f64,
    /// Of each run.
    pub samples_ns: Vec<u64>,
    /// Over the first runtime's time in the same round; none for the first itself.
    pub ratio: Option<Ratio>,
    /// Time of its threads in a run by what they did, median over the runs.
    pub parts: Parts,
    /// Which of these differs most from the first runtime's, if the times differ.
    pub difference: Option<Difference>,
}

/// Times of two runtimes, of the same rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratio {
    /// The median of the rounds.
    pub value: f64,
    /// 95 %; none of a single round.
    pub interval: Option<Interval>,
}

/// What threads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The program's own work.
    pub work_ns: f64,
    /// Waiting at barriers.
    pub barrier_ns: f64,
    /// Beginning regions, dealing iterations.
    pub scheduling_ns: f64,
    /// Critical sections, locks, turns of ordered loops.
    pub exclusion_ns: f64,
    /// Waiting for tasks.
    pub tasks_ns: f64,
    /// Without a processor, asleep, or all else.
    pub other_ns: f64,
}

/// Where the time of two runtimes differs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// In which of the [`Parts`].
    pub part: &'static str,
    /// How much longer its threads were in it, all together.
    pub longer_ns: f64,
}

impl Parts {
    /// Each with its name.
    #[must_use]
    pub fn each(&self) -> [(&'static str, f64); 6] {
        [
            ("work", self.work_ns),
            ("barrier", self.barrier_ns),
            ("scheduling", self.scheduling_ns),
            ("critical sections and locks", self.exclusion_ns),
            ("waiting for tasks", self.tasks_ns),
            ("other", self.other_ns),
        ]
    }
}

impl Versus {
    /// A runtime's name, without its path.
    #[must_use]
    pub fn name(&self, runtime: usize) -> &str {
        let name = self.runtimes.get(runtime).map_or("?", String::as_str);
        name.split('=').next().unwrap_or(name)
    }
}

/// What the page is about.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Program and arguments.
    pub command: &'a [String],
    /// Runs on each runtime.
    pub rounds: u32,
    /// By number of threads.
    pub tables: &'a [Versus],
    /// What makes the numbers doubtful, each as a sentence.
    pub notes: &'a [String],
}
