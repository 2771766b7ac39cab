//! What the runtime chose, for people and programs.

use fathomp_adapt::{Choice, Choices};
use fathomp_analysis::symbols::Symbols;
use fathomp_report::text::duration;
use serde::Serialize;
use std::path::Path;

/// The teams that regions got.
#[derive(Debug, Serialize)]
pub(crate) struct Chosen {
    /// Whether teams were tried.
    adapt: bool,
    /// Time lost by trying smaller teams, in nanoseconds, all threads that begin regions
    /// together.
    lost_ns: f64,
    regions: Vec<Row>,
}

/// One region, for one size of its work.
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
    /// Teams that were tried, and how often one was better than the one before.
    trials: u32,
    changes: u32,
    /// Fewest trips of these executions, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_trips: Option<u64>,
}

impl Chosen {
    pub(super) fn new(choices: Choices, adapt: bool) -> Self {
        let mut symbols = Symbols::new();
        let mut regions: Vec<_> = choices
            .regions
            .iter()
            .map(|choice| row(choice, &mut symbols))
            .collect();
        regions.sort_by(|one, other| {
            (&one.region, one.from_trips).cmp(&(&other.region, other.from_trips))
        });
        Self {
            adapt,
            lost_ns: choices.lost_ns,
            regions,
        }
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
        let cost = match self.adapt {
            true => format!("; trying cost {}", duration(self.lost_ns)),
            false => String::new(),
        };
        format!("{smaller} of {all} regions got smaller teams{cost}; --verbose tells which")
    }

    /// A line for each region.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.regions.iter().map(Row::line).collect();
        if lines.is_empty() {
            lines.push(self.sentence());
        }
        if self.adapt {
            lines.push(format!("trying teams cost {}", duration(self.lost_ns)));
        }
        lines
    }
}

impl Row {
    fn line(&self) -> String {
        let trips = self.from_trips.map_or_else(String::new, |from| {
            format!(
                ", {from} to {} trips",
                from.saturating_mul(2).saturating_sub(1).max(from)
            )
        });
        let executions = match self.executions {
            1 => "1 execution".to_owned(),
            executions => format!("{executions} executions"),
        };
        let trials = match (self.trials, self.changes) {
            (0, _) => String::new(),
            (trials, changes) => format!(", {trials} trials, {changes} of them successful"),
        };
        format!(
            "{}{trips}: {} of {} threads, because {}; {executions}{trials}",
            self.region,
            self.threads,
            self.all,
            reason(self.why, self.trials)
        )
    }
}

fn reason(why: &str, trials: u32) -> &'static str {
    match why {
        "advice" => "of the advice",
        "trial" if trials == 0 => "there was no time to try others",
        "trial" => "that was best",
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
        trials: choice.trials,
        changes: choice.changes,
        from_trips: choice.class.map(|class| match class {
            0 => 0,
            class => 1_u64.checked_shl(u32::from(class) - 1).unwrap_or(u64::MAX),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_adapt::Why;

    #[test]
    fn every_reason_has_words() {
        for why in [
            Why::Advice,
            Why::Trial,
            Why::Program,
            Why::Asked,
            Why::Counts,
            Why::ThreadData,
        ] {
            assert!(!reason(why.word(), 1).is_empty());
        }
        assert_ne!(reason("trial", 0), reason("trial", 1));
    }
}
