//! How many threads regions get.

use clap::Args;
use std::path::PathBuf;

/// Options that decide the teams of regions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Teams {
    /// Give each region the threads that this file advises, written by `fathomp advise -o`.
    /// Regions that say how many they need keep them.
    #[arg(long, value_name = "FILE")]
    pub(crate) advice: Option<PathBuf>,
    /// Say at the end, on standard error, which team each region got and why.
    #[arg(long)]
    pub(crate) verbose: bool,
}

impl Teams {
    /// Whether anything is to be decided.
    pub(crate) fn is_something(&self) -> bool {
        self.advice.is_some()
    }

    /// What does not go together.
    pub(crate) fn contradiction(&self, nodes: u16) -> Option<&'static str> {
        if self.is_something() && nodes > 1 {
            Some("--advice decides the teams of one process: leave --nodes out")
        } else if self.verbose && !self.is_something() {
            Some("--verbose tells how teams were decided: give --advice FILE with it")
        } else {
            None
        }
    }
}
