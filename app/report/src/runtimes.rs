//! One program on several OpenMP runtimes: its regions side by side, for a page.

pub use crate::side_by_side::{Column, Difference, Parts, Ratio, Row};

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
