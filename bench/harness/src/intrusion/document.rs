//! The result: every run, and what they say.

use super::published::{PublishedRow, published};
use crate::machine::{Machine, processors};
use fathomp_stats::{Interval, Random, median, percentile_interval};
use serde::{Deserialize, Serialize};

/// Name of the format.
pub const SCHEMA: &str = "fathomp.intrusion";
/// It grows when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// Bootstrap replicates.
const REPLICATES: usize = 2000;
/// Load of a processor by others from which on times are in doubt.
const DISTURBING: f64 = 0.3;
/// Intervals from fewer pairs than this are narrower than they should be.
const PAIRS_MIN: usize = 5;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Where.
    pub machine: Machine,
    /// Of which program.
    pub subject: Subject,
    /// Seed of the order of the runs within their rounds.
    pub seed: u64,
    /// All runs, in rounds.
    pub rounds: Vec<Round>,
    /// What they say, a row for each writer.
    pub rows: Vec<Row>,
    /// The published table, to compare with.
    pub published: Vec<PublishedRow>,
    /// What could not be measured, and why.
    pub skipped: Vec<String>,
    /// What makes it doubtful.
    pub warnings: Vec<String>,
}

/// The program whose recording was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name.
    pub benchmark: String,
    /// Its arguments.
    pub class: String,
    /// Options of the recording, as they were given.
    pub options: Vec<String>,
}

/// One run without recording and one with each writer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// In the order in which they were made.
    pub runs: Vec<Run>,
}

impl Round {
    /// The run without recording, if it was as it should be.
    fn without(&self) -> Option<&Run> {
        let mut sound = self.runs.iter().filter(|run| run.problem.is_none());
        sound.find(|run| run.recorded.is_none())
    }

    /// The run with that writer, if it was as it should be.
    fn with<'a>(&'a self, writer: &str) -> Option<(&'a Run, &'a Recorded)> {
        let mut sound = self.runs.iter().filter(|run| run.problem.is_none());
        sound.find_map(|run| {
            let recorded = run.recorded.as_ref()?;
            (recorded.writer == writer).then_some((run, recorded))
        })
    }
}

/// A run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// From its start to its end, in nanoseconds.
    pub wall_ns: u64,
    /// Time that its processes ran in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Time that its processes ran in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Why the run does not count, if so.
    pub problem: Option<String>,
    /// What was recorded of it; nothing in a run without recording.
    pub recorded: Option<Recorded>,
}

/// What was recorded of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// How records got to the disk.
    pub writer: String,
    /// What is counted as a node.
    pub counted: Counted,
    /// Nodes that ran the program.
    pub nodes: u64,
    /// Nodes of them that were recorded.
    pub nodes_profiled: u64,
    /// Bytes of the recording.
    pub trace_bytes: u64,
    /// Changes of state that were recorded.
    pub state_changes: u64,
    /// Changes of state that were added to others, so that only their sum is known.
    pub merged: u64,
    /// Changes of state that are missing.
    pub lost: u64,
}

/// What corresponds to the Paragon's nodes, each of which ran one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The nodes of a program that runs on several.
    Nodes,
    /// The ranks of an MPI program.
    Ranks,
    /// The threads of all processes.
    #[default]
    Tasks,
}

/// What recording with one writer cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// How records got to the disk.
    pub writer: String,
    /// The program's name.
    pub benchmark: String,
    /// The program's arguments.
    pub class: String,
    /// What is counted as a node.
    pub counted: Counted,
    /// Nodes that ran the program.
    pub nodes: u64,
    /// Nodes of them that were recorded.
    pub nodes_profiled: u64,
    /// Median time without recording, in seconds.
    pub seconds_without: f64,
    /// Median time with recording, in seconds.
    pub seconds_with: f64,
    /// Bytes of the recording for each node that was recorded.
    pub trace_bytes_per_node: u64,
    /// How much longer it took with recording.
    pub intrusion: Percent,
    /// Median processor time in user mode without recording, in seconds.
    pub user_seconds_without: f64,
    /// Median processor time in user mode with recording, in seconds.
    pub user_seconds_with: f64,
    /// How much more processor time in user mode it took with recording; nothing if it took
    /// too little to be measured.
    pub user_intrusion: Option<Percent>,
    /// Changes of state in a run, the median.
    pub state_changes: u64,
    /// Changes of state that were added to others, the most in any run.
    pub merged: u64,
    /// Changes of state that are missing, the most in any run.
    pub lost: u64,
    /// Rounds in which both runs count.
    pub pairs: usize,
}

/// A median of paired ratios, as a change in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percent {
    /// The change.
    pub value: f64,
    /// Its 95 % bootstrap interval over the pairs; nothing if there is only one.
    pub interval: Option<Interval>,
}

impl Percent {
    /// How much `with` is more than `without`. Pairs stay together, because what disturbs a
    /// round disturbs all of its runs. `None` without pairs, or if nothing was measured in one.
    fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.iter().any(|(without, _)| *without <= 0.0) {
            return None;
        }
        let ratios: Vec<f64> = pairs.iter().map(|(without, with)| with / without).collect();
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let interval = (ratios.len() > 1)
            .then(|| {
                let mut resampler = Random(REPLICATES as u64);
                let replicates: Vec<f64> = (0..REPLICATES)
                    .filter_map(|_| median(&resampler.draw(&ratios)))
                    .collect();
                percentile_interval(&replicates)
            })
            .flatten();
        let middle = median(&ratios)?;
        Some(Self {
            value: percent(middle),
            interval: interval
                .map(|one| one.around(middle))
                .map(|interval| Interval {
                    low: percent(interval.low),
                    high: percent(interval.high),
                }),
        })
    }

    /// Whether the change may as well be none.
    #[must_use]
    pub fn may_be_none(&self) -> bool {
        self.interval.is_none_or(|interval| interval.contains(0.0))
    }
}

impl Document {
    /// What the runs of these rounds say, for the writers that were used.
    #[must_use]
    pub fn new(
        machine: Machine,
        subject: Subject,
        seed: u64,
        rounds: Vec<Round>,
        writers: &[String],
    ) -> Self {
        let mut skipped = Vec::new();
        let mut rows = Vec::new();
        for writer in writers {
            match row(&subject, &rounds, writer) {
                Some(row) => rows.push(row),
                None => skipped.push(without_pairs(&rounds, writer)),
            }
        }
        let mut warnings = Vec::new();
        if let Some(load) = machine.load_one_minute
            && load > DISTURBING * machine.processors as f64
        {
            warnings.push(format!(
                "Other programs were using the processors when this began (load {load:.1} on {}): measure again when the machine is quiet.",
                processors(machine.processors)
            ));
        }
        if rows.iter().any(|row| row.pairs < PAIRS_MIN) {
            warnings.push(format!(
                "Intervals of fewer than {PAIRS_MIN} rounds are too narrow: measure more by --measure-intrusion=ROUNDS."
            ));
        }
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            machine,
            subject,
            seed,
            rounds,
            rows,
            published: published(),
            skipped,
            warnings,
        }
    }
}

/// Why there is no row of a writer.
fn without_pairs(rounds: &[Round], writer: &str) -> String {
    let runs = rounds.iter().flat_map(|round| &round.runs);
    let of_writer = |run: &&Run| {
        let recorded = run.recorded.as_ref();
        recorded.is_some_and(|recorded| recorded.writer == writer)
    };
    let why = runs
        .filter(of_writer)
        .find_map(|run| run.problem.as_deref());
    match why {
        Some(why) => format!("{writer}: {why}"),
        None => format!("{writer}: no round has both a run with recording and one without"),
    }
}

fn row(subject: &Subject, rounds: &[Round], writer: &str) -> Option<Row> {
    let pairs: Vec<(&Run, &Run, &Recorded)> = rounds
        .iter()
        .filter_map(|round| {
            let (with, recorded) = round.with(writer)?;
            Some((round.without()?, with, recorded))
        })
        .collect();
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let paired = |of: fn(&Run) -> u64| -> Vec<(f64, f64)> {
        pairs
            .iter()
            .map(|(without, with, _)| (seconds(of(without)), seconds(of(with))))
            .collect()
    };
    let medians = |pairs: &[(f64, f64)]| {
        let (without, with): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Some((median(&without)?, median(&with)?))
    };
    let (wall, user) = (paired(|run| run.wall_ns), paired(|run| run.user_ns));
    let (seconds_without, seconds_with) = medians(&wall)?;
    let (user_seconds_without, user_seconds_with) = medians(&user)?;
    let middle = |of: fn(&Recorded) -> u64| {
        let values: Vec<f64> = pairs.iter().map(|(_, _, one)| of(one) as f64).collect();
        median(&values).map(|value| value.round() as u64)
    };
    let most = |of: fn(&Recorded) -> u64| pairs.iter().map(|(_, _, one)| of(one)).max();
    Some(Row {
        writer: writer.to_owned(),
        benchmark: subject.benchmark.clone(),
        class: subject.class.clone(),
        counted: pairs.first()?.2.counted,
        nodes: middle(|one| one.nodes)?,
        nodes_profiled: middle(|one| one.nodes_profiled)?,
        seconds_without,
        seconds_with,
        trace_bytes_per_node: middle(|one| one.trace_bytes / one.nodes_profiled.max(1))?,
        intrusion: Percent::of(&wall)?,
        user_seconds_without,
        user_seconds_with,
        user_intrusion: Percent::of(&user),
        state_changes: middle(|one| one.state_changes)?,
        merged: most(|one| one.merged)?,
        lost: most(|one| one.lost)?,
        pairs: pairs.len(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use fathomp_stats::quantile;

    fn run(wall_ms: u64, writer: Option<&str>) -> Run {
        Run {
            wall_ns: wall_ms * 1_000_000,
            user_ns: wall_ms * 500_000,
            system_ns: 1,
            problem: None,
            recorded: writer.map(|writer| Recorded {
                writer: writer.to_owned(),
                counted: Counted::Tasks,
                nodes: 4,
                nodes_profiled: 2,
                trace_bytes: 3000,
                state_changes: 700,
                merged: 0,
                lost: wall_ms % 2,
            }),
        }
    }

    /// Rounds whose machine gets slower by turns; recording costs a tenth.
    pub(crate) fn rounds() -> Vec<Round> {
        (0..6)
            .map(|round| {
                let base = 1000 + 300 * round;
                let mut runs = vec![run(base, None), run(base * 11 / 10, Some("shared"))];
                if round % 2 == 1 {
                    runs.reverse();
                }
                Round { runs }
            })
            .collect()
    }

    pub(crate) fn document(rounds: Vec<Round>, writers: &[&str]) -> Document {
        let machine = Machine {
            host: "h".into(),
            processor: "x".into(),
            processors: 2,
            governor: None,
            kernel: "6".into(),
            load_one_minute: None,
            cache: None,
            simulated: false,
        };
        let subject = Subject {
            benchmark: "prog".into(),
            class: "--size 7".into(),
            options: Vec::new(),
        };
        let writers: Vec<String> = writers.iter().map(|&name| name.to_owned()).collect();
        Document::new(machine, subject, 1, rounds, &writers)
    }

    #[test]
    fn pairs_cancel_what_disturbs_a_whole_round() {
        let document = document(rounds(), &["shared"]);
        let [row] = &document.rows[..] else {
            panic!("{document:?}");
        };
        let interval = row.intrusion.interval.unwrap();
        assert!((row.intrusion.value - 10.0).abs() < 1e-9, "{row:?}");
        assert!(interval.high - interval.low < 1e-6, "{interval:?}");
        assert!(!row.intrusion.may_be_none());
        assert_eq!((row.pairs, row.nodes, row.nodes_profiled), (6, 4, 2));
        assert_eq!(row.trace_bytes_per_node, 1500);
        assert_eq!((row.state_changes, row.merged), (700, 0));
        assert!((row.user_intrusion.unwrap().value - 10.0).abs() < 1e-9);
        assert!(document.skipped.is_empty() && document.warnings.is_empty());
    }

    #[test]
    fn what_is_lost_once_is_shown() {
        let mut rounds = rounds();
        let lost = rounds[3].runs[0].recorded.as_mut().unwrap();
        lost.lost = 77;
        assert_eq!(document(rounds, &["shared"]).rows[0].lost, 77);
    }

    #[test]
    fn an_interval_covers_the_true_median_of_noisy_pairs() {
        // Ratios 0.9 to 1.3, as a busy machine gives them.
        let pairs: Vec<(f64, f64)> = (0..9_u32)
            .map(|pair| (1.0, 0.9 + f64::from(pair * 7 % 9) * 0.05))
            .collect();
        let percent = Percent::of(&pairs).unwrap();
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        let middle = (quantile(&ratios, 0.5).unwrap() - 1.0) * 100.0;
        assert!((percent.value - middle).abs() < 1e-9);
        let interval = percent.interval.unwrap();
        assert!(interval.low < middle && middle < interval.high);
        assert!(percent.may_be_none(), "{interval:?}");
    }

    #[test]
    fn runs_that_failed_do_not_count_and_say_why() {
        let mut broken = rounds();
        for round in &mut broken[..5] {
            for run in round.runs.iter_mut().filter(|run| run.recorded.is_some()) {
                run.problem = Some("it ended with signal 9".into());
            }
        }
        let found = document(broken.clone(), &["shared", "task"]);
        assert_eq!(found.rows[0].pairs, 1);
        assert_eq!(found.rows[0].intrusion.interval, None);
        assert!(found.rows[0].intrusion.may_be_none());
        assert_eq!(found.skipped.len(), 1, "{:?}", found.skipped);
        assert!(found.warnings.iter().any(|one| one.contains("narrow")));
        for run in &mut broken[5].runs {
            run.problem = Some("it ended with signal 9".into());
        }
        let found = document(broken, &["shared"]);
        assert!(found.rows.is_empty());
        assert_eq!(found.skipped, ["shared: it ended with signal 9"]);
    }

    #[test]
    fn nothing_measured_is_no_row() {
        let nothing = document(Vec::new(), &["shared"]);
        assert!(nothing.rows.is_empty() && nothing.skipped.len() == 1);
        assert_eq!(Percent::of(&[]), None);
        assert_eq!(Percent::of(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn a_document_is_read_as_written() {
        let written = document(rounds(), &["shared"]);
        let text = serde_json::to_string(&written).unwrap();
        let read: Document = serde_json::from_str(&text).unwrap();
        assert_eq!(read, written);
    }
}
