//! What the runtime chose, for people and programs.

use fathomp_analysis::symbols::Symbols;
use fathomp_teams::{Choice, Choices};
use fathomp_types::units::plural;
use serde::Serialize;
use std::path::Path;

/// The teams that regions got.
#[derive(Debug, Serialize)]
pub(crate) struct Chosen {
    regions: Vec<Row>,
}

/// One region.
#[derive(Debug, Serialize)]
struct Row {
    /// Its place in the source, as in reports.
    region: String,
    /// Why it has the team that it has.
    why: &'static str,
    /// Threads that it could have.
    all: u32,
    /// Threads that it had at the end.
    threads: u32,
    executions: u64,
}

impl Chosen {
    pub(super) fn new(choices: &Choices) -> Self {
        let mut symbols = Symbols::new();
        let mut regions: Vec<_> = choices
            .regions
            .iter()
            .map(|choice| row(choice, &mut symbols))
            .collect();
        regions.sort_by(|one, other| one.region.cmp(&other.region));
        Self { regions }
    }

    /// All in one sentence.
    pub(super) fn sentence(&self) -> String {
        if self.regions.is_empty() {
            return "no region's team was decided: the program ran none whose size it leaves open, or ended without saying so".to_owned();
        }
        let smaller = self
            .regions
            .iter()
            .filter(|row| row.threads < row.all)
            .count();
        let all = self.regions.len();
        format!("{smaller} of {all} regions got smaller teams; --verbose tells which")
    }

    /// A line for each region.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.regions.iter().map(Row::line).collect();
        if lines.is_empty() {
            lines.push(self.sentence());
        }
        lines
    }
}

impl Row {
    fn line(&self) -> String {
        format!(
            "{}: {} of {} threads, because {}; {}",
            self.region,
            self.threads,
            self.all,
            reason(self.why),
            plural(self.executions, "execution")
        )
    }
}

fn reason(why: &str) -> &'static str {
    match why {
        "advice" => "of the advice",
        "program" => "the program says so",
        "asked" => {
            "the program asks for omp_get_max_threads just before (OMP_DYNAMIC=true says that fewer will do)"
        }
        "counts" => "it asks how many threads it has (OMP_DYNAMIC=true says that fewer will do)",
        _ => "the program keeps data of each thread (OMP_DYNAMIC=true says that fewer will do)",
    }
}

fn row(choice: &Choice, symbols: &mut Symbols) -> Row {
    let place = symbols.place(Path::new(&choice.module), choice.call, choice.function);
    Row {
        region: place.label,
        why: choice.why.word(),
        all: choice.all,
        threads: choice.threads,
        executions: choice.executions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_teams::Why;

    #[test]
    fn every_reason_has_words() {
        for why in [
            Why::Advice,
            Why::Program,
            Why::Asked,
            Why::Counts,
            Why::ThreadData,
        ] {
            assert!(!reason(why.word()).is_empty());
        }
    }
}
