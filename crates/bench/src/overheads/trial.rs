//! The raw samples, and what is said where there are none.

use super::plan::{Config, Runtime};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What one process measured: nanoseconds per repetition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Samples {
    runtime: String,
    threads: usize,
    wrong: u64,
    /// The work without the construct.
    pub reference_ns: Vec<f64>,
    /// The work with it.
    pub construct_ns: Vec<f64>,
}

/// Why a construct has no samples under a runtime.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    /// Ran into the time limit.
    #[error("did not end within {0:?}")]
    Hung(Duration),
    /// Died, or could not be started.
    #[error("failed: {0}")]
    Crashed(String),
    /// The construct did not do what it should.
    #[error("gave {0} wrong result(s)")]
    Wrong(u64),
    /// Another library answered the calls.
    #[error("the calls were answered by {0}, not by the runtime asked for")]
    OtherRuntime(String),
    /// The runtime formed another team than asked for.
    #[error("ran with {0} thread(s)")]
    OtherThreads(usize),
    /// No samples could be read.
    #[error("printed no samples: {0}")]
    Unreadable(String),
}

impl Samples {
    /// Reads a process's line and checks that it measured what was asked.
    pub(super) fn parse(line: &str, config: Config, runtime: &Runtime) -> Result<Self, Failure> {
        let samples: Self =
            serde_json::from_str(line.trim()).map_err(|e| Failure::Unreadable(e.to_string()))?;
        let usable = |values: &[f64]| {
            !values.is_empty() && values.iter().all(|v| v.is_finite() && *v >= 0.0)
        };
        if !usable(&samples.reference_ns) || !usable(&samples.construct_ns) {
            return Err(Failure::Unreadable("a sample is not a time".to_owned()));
        }
        if samples.wrong > 0 {
            return Err(Failure::Wrong(samples.wrong));
        }
        if samples.threads != config.threads {
            return Err(Failure::OtherThreads(samples.threads));
        }
        match (&runtime.library, Path::new(&samples.runtime).canonicalize()) {
            (Some(wanted), Ok(answered)) if *wanted == answered => Ok(samples),
            (None, _) => Ok(samples),
            (Some(_), _) => Err(Failure::OtherRuntime(samples.runtime)),
        }
    }
}

/// All processes of one configuration.
#[derive(Debug, Default)]
pub struct Trials {
    constructs: Vec<String>,
    runtimes: Vec<String>,
    cells: BTreeMap<(String, String), Cell>,
}

#[derive(Debug, Default)]
struct Cell {
    processes: Vec<Samples>,
    failures: Vec<Failure>,
}

impl Trials {
    pub(super) fn new(constructs: &[String], runtimes: &[Runtime]) -> Self {
        Self {
            constructs: constructs.to_vec(),
            runtimes: runtimes.iter().map(|r| r.name.clone()).collect(),
            cells: BTreeMap::new(),
        }
    }

    /// Names of the constructs in the table's order.
    #[must_use]
    pub fn constructs(&self) -> &[String] {
        &self.constructs
    }

    /// Names of the runtimes in the table's order.
    #[must_use]
    pub fn runtimes(&self) -> &[String] {
        &self.runtimes
    }

    /// False once a construct hung: waiting for it again would only take time.
    pub(super) fn worth_trying(&self, construct: &str, runtime: &str) -> bool {
        !self
            .cell(construct, runtime)
            .is_some_and(|cell| cell.failures.iter().any(|f| matches!(f, Failure::Hung(_))))
    }

    pub(super) fn add(&mut self, construct: &str, runtime: &str, result: Result<Samples, Failure>) {
        let key = (construct.to_owned(), runtime.to_owned());
        let cell = self.cells.entry(key).or_default();
        match result {
            Ok(samples) => cell.processes.push(samples),
            Err(failure) => cell.failures.push(failure),
        }
    }

    fn cell(&self, construct: &str, runtime: &str) -> Option<&Cell> {
        self.cells.get(&(construct.to_owned(), runtime.to_owned()))
    }

    /// The processes that gave samples.
    #[must_use]
    pub fn processes(&self, construct: &str, runtime: &str) -> &[Samples] {
        self.cell(construct, runtime)
            .map_or(&[], |cell| &cell.processes)
    }

    /// The first failure, if any process failed: one is enough to distrust a
    /// runtime.
    #[must_use]
    pub fn failure(&self, construct: &str, runtime: &str) -> Option<&Failure> {
        self.cell(construct, runtime)?.failures.first()
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Policy;
    use super::*;

    const CONFIG: Config = Config {
        threads: 2,
        policy: Policy::Active,
    };

    fn line(runtime: &str, threads: usize, wrong: u64, sample: &str) -> String {
        format!(
            "{{\"test\":\"FOR\",\"runtime\":\"{runtime}\",\"threads\":{threads},\"reps\":8,\
             \"wrong\":{wrong},\"reference_ns\":[1.0],\"construct_ns\":[{sample}]}}\n"
        )
    }

    fn linked() -> Runtime {
        Runtime {
            name: "libgomp".into(),
            library: None,
        }
    }

    #[test]
    fn a_good_line_is_read() {
        let samples = Samples::parse(&line("/x", 2, 0, "2.5,3"), CONFIG, &linked()).unwrap();
        assert_eq!(samples.construct_ns, [2.5, 3.0]);
    }

    #[test]
    fn what_was_not_asked_for_is_refused() {
        let parse = |text: &str, runtime: &Runtime| Samples::parse(text, CONFIG, runtime);
        assert_eq!(
            parse(&line("/x", 2, 7, "1"), &linked()),
            Err(Failure::Wrong(7))
        );
        assert_eq!(
            parse(&line("/x", 1, 0, "1"), &linked()),
            Err(Failure::OtherThreads(1))
        );
        let other = Runtime {
            name: "mine".into(),
            library: Some("/mine.so".into()),
        };
        assert_eq!(
            parse(&line("/x", 2, 0, "1"), &other),
            Err(Failure::OtherRuntime("/x".into()))
        );
        for bad in [
            "",
            "nonsense",
            "{}",
            &line("/x", 2, 0, ""),
            &line("/x", 2, 0, "-1"),
        ] {
            assert!(
                matches!(parse(bad, &linked()), Err(Failure::Unreadable(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_construct_that_hung_is_not_tried_again() {
        let mut trials = Trials::new(&["FOR".into()], &[linked()]);
        assert!(trials.worth_trying("FOR", "libgomp"));
        trials.add("FOR", "libgomp", Err(Failure::Hung(Duration::from_secs(1))));
        assert!(!trials.worth_trying("FOR", "libgomp"));
        assert!(trials.failure("FOR", "libgomp").is_some());
        assert!(trials.processes("FOR", "libgomp").is_empty());
    }
}
