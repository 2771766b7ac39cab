//! The C programs: carried inside this crate, built when needed.

use super::plan::{Config, Plan, Runtime};
use super::trial::{Failure, Samples};
use crate::process::{self, RunError};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Name and text of every source, so that an installed driver needs no
/// repository.
const SOURCES: &[(&str, &str)] = &[
    ("bench.h", include_str!("../../../../suites/common/bench.h")),
    ("case.c", include_str!("../../../../suites/common/case.c")),
    ("case.h", include_str!("../../../../suites/common/case.h")),
    ("clock.c", include_str!("../../../../suites/common/clock.c")),
    ("clock.h", include_str!("../../../../suites/common/clock.h")),
    ("delay.c", include_str!("../../../../suites/common/delay.c")),
    ("delay.h", include_str!("../../../../suites/common/delay.h")),
    ("json.c", include_str!("../../../../suites/common/json.c")),
    ("json.h", include_str!("../../../../suites/common/json.h")),
    ("main.c", include_str!("../../../../suites/common/main.c")),
    (
        "misses.c",
        include_str!("../../../../suites/common/misses.c"),
    ),
    (
        "misses.h",
        include_str!("../../../../suites/common/misses.h"),
    ),
    (
        "sample.c",
        include_str!("../../../../suites/common/sample.c"),
    ),
    (
        "sample.h",
        include_str!("../../../../suites/common/sample.h"),
    ),
    ("epcc.c", include_str!("../../../../suites/epcc/epcc.c")),
    ("epcc.h", include_str!("../../../../suites/epcc/epcc.h")),
    ("sync.c", include_str!("../../../../suites/epcc/sync.c")),
    (
        "atomic_long.c",
        include_str!("../../../../suites/epcc/atomic_long.c"),
    ),
    ("sched.c", include_str!("../../../../suites/epcc/sched.c")),
    ("task.c", include_str!("../../../../suites/epcc/task.c")),
    ("nest.c", include_str!("../../../../suites/epcc/nest.c")),
];

/// Longest build.
const BUILD_LIMIT: Duration = Duration::from_secs(120);
/// Longest life of one measuring process, whatever the plan's limit.
const PROCESS_LIMIT: Duration = Duration::from_secs(60);

/// Why the suite cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Temporary files.
    #[error(
        "the benchmark's sources could not be written to a temporary directory: {0}; free some space or set TMPDIR"
    )]
    Write(#[from] std::io::Error),
    /// No usable compiler.
    #[error(
        "'{compiler}' could not build the benchmark: {reason}; install gcc or name another compiler with --cc"
    )]
    Compile {
        /// The compiler that was asked.
        compiler: String,
        /// Its last words.
        reason: String,
    },
    /// The program that was built does not run.
    #[error("the benchmark that was built does not run: {0}")]
    Broken(String),
    /// A construct that the suite does not have.
    #[error("no construct is called '{name}'; there are: {known}")]
    UnknownConstruct {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The list of constructs to measure is empty.
    #[error("there is nothing to measure: name at least one construct or none to take all")]
    Nothing,
}

/// The suite, built.
#[derive(Debug)]
pub struct Suite {
    // Removed with everything in it when the suite is dropped.
    _directory: tempfile::TempDir,
    program: PathBuf,
    constructs: Vec<String>,
}

impl Suite {
    /// Builds the suite with `compiler` at -O2.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build(compiler: &str) -> Result<Self, BuildError> {
        let directory = tempfile::Builder::new().prefix("fathomp-epcc-").tempdir()?;
        for (name, text) in SOURCES {
            fs::write(directory.path().join(name), text)?;
        }
        let program = directory.path().join("epcc");
        let mut command = Command::new(compiler);
        command
            .current_dir(directory.path())
            .args(["-O2", "-fopenmp", "-o"])
            .arg(&program)
            .args(
                SOURCES
                    .iter()
                    .map(|(name, _)| *name)
                    .filter(|name| name.ends_with(".c")),
            )
            .arg("-ldl");
        let failed = |reason: String| BuildError::Compile {
            compiler: compiler.to_owned(),
            reason,
        };
        let finished =
            process::run(&mut command, BUILD_LIMIT).map_err(|e| failed(e.to_string()))?;
        if !finished.status.success() {
            return Err(failed(last_line(&finished.stderr)));
        }
        let mut suite = Self {
            _directory: directory,
            program,
            constructs: Vec::new(),
        };
        suite.constructs = suite.ask(&["list"])?.lines().map(str::to_owned).collect();
        Ok(suite)
    }

    /// The constructs named in `only`, or all of them, in the suite's order.
    ///
    /// # Errors
    /// If a name is not the suite's.
    pub fn select(&self, only: &[String]) -> Result<Vec<String>, BuildError> {
        if let Some(name) = only
            .iter()
            .find(|name| !self.constructs.iter().any(|c| c.eq_ignore_ascii_case(name)))
        {
            return Err(BuildError::UnknownConstruct {
                name: name.clone(),
                known: self.constructs.join(", "),
            });
        }
        let chosen: Vec<String> = self
            .constructs
            .iter()
            .filter(|c| only.is_empty() || only.iter().any(|name| c.eq_ignore_ascii_case(name)))
            .cloned()
            .collect();
        if chosen.is_empty() {
            return Err(BuildError::Nothing);
        }
        Ok(chosen)
    }

    /// Steps of the delay loop that take `ns` nanoseconds. Done once, so that
    /// every process does the same work.
    ///
    /// # Errors
    /// If the program gives no number.
    pub fn calibrate(&self, ns: f64) -> Result<u64, BuildError> {
        let text = self.ask(&["calibrate", &ns.to_string()])?;
        text.trim()
            .parse()
            .map_err(|_| BuildError::Broken(format!("it answered '{}'", text.trim())))
    }

    fn ask(&self, args: &[&str]) -> Result<String, BuildError> {
        let mut command = Command::new(&self.program);
        command.args(args).env_remove("LD_PRELOAD");
        match process::run(&mut command, PROCESS_LIMIT) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout),
            Ok(finished) => Err(BuildError::Broken(last_line(&finished.stderr))),
            Err(error) => Err(BuildError::Broken(error.to_string())),
        }
    }

    /// Runs one construct under one runtime in a new process.
    ///
    /// # Errors
    /// A [`Failure`] that the row will show.
    pub fn measure(
        &self,
        plan: &Plan,
        config: Config,
        runtime: &Runtime,
        construct: &str,
        delay_steps: u64,
    ) -> Result<Samples, Failure> {
        let mut command = Command::new(&self.program);
        command
            .arg("run")
            .arg(construct)
            .arg(delay_steps.to_string())
            .arg(plan.target_us.to_string())
            .arg(plan.samples.to_string())
            .arg(plan.limit_ms.to_string());
        plan.environment(config, runtime, &mut command);
        let finished = match process::run(&mut command, PROCESS_LIMIT) {
            Ok(finished) => finished,
            Err(RunError::TimedOut(limit)) => return Err(Failure::Hung(limit)),
            Err(error) => return Err(Failure::Crashed(error.to_string())),
        };
        if !finished.status.success() {
            let words = last_line(&finished.stderr);
            return Err(Failure::Crashed(format!("{} {words}", finished.status)));
        }
        Samples::parse(&finished.stdout, config, runtime)
    }
}

fn last_line(text: &str) -> String {
    text.trim_end()
        .lines()
        .next_back()
        .unwrap_or("it said nothing")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_named() {
        let error = Suite::build("/nonexistent/cc").unwrap_err().to_string();
        assert!(
            error.contains("/nonexistent/cc") && error.contains("--cc"),
            "{error}"
        );
    }

    #[test]
    fn a_failing_compiler_is_quoted() {
        let error = Suite::build("false").unwrap_err();
        assert!(matches!(error, BuildError::Compile { .. }));
    }
}
