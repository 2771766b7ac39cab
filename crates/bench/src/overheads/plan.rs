//! What to measure: runtimes, thread counts, wait policies, sample sizes.

use crate::machine::Machine;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An OpenMP runtime that exports the `GOMP_*` entry points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Runtime {
    /// The name in tables.
    pub name: String,
    /// The shared library to preload; `None` for the one the binary links.
    pub library: Option<PathBuf>,
}

impl Runtime {
    /// Reads `NAME=PATH`, or one of the names that need no path: `libgomp`
    /// (what the binary links) and `libomp` (searched where LLVM installs it).
    ///
    /// # Errors
    /// A sentence that says what is wrong with `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, library) = match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                let path = Path::new(path);
                let full = path
                    .canonicalize()
                    .map_err(|e| format!("the library '{}' cannot be used: {e}", path.display()))?;
                (name, Some(full))
            }
            None if text == "libgomp" => (text, None),
            None if text == "libomp" => (
                text,
                Some(find_libomp().ok_or(
                    "libomp was not found; install libomp5 or give its path as libomp=PATH",
                )?),
            ),
            _ => {
                return Err(format!(
                    "'{text}' names no runtime; give NAME=PATH, libgomp or libomp"
                ));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            library,
        })
    }
}

/// LLVM's OpenMP runtime of the highest version installed.
#[must_use]
pub fn find_libomp() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib")
        .ok()?
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let version = entry
                .file_name()
                .to_str()?
                .strip_prefix("llvm-")?
                .parse()
                .ok()?;
            let library = entry.path().join("lib/libomp.so.5").canonicalize().ok()?;
            Some((version, library))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, library)| library).or_else(|| {
        [
            "/usr/lib/x86_64-linux-gnu/libomp.so.5",
            "/usr/lib64/libomp.so",
        ]
        .iter()
        .find_map(|path| Path::new(path).canonicalize().ok())
    })
}

/// How threads wait: the value of `OMP_WAIT_POLICY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Spin.
    Active,
    /// Sleep.
    Passive,
    /// The variable is not set: what users get.
    Default,
}

impl Policy {
    /// The name on the command line and in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Passive => "passive",
            Self::Default => "default",
        }
    }
}

/// One thread count with one wait policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    /// `OMP_NUM_THREADS`.
    pub threads: usize,
    /// `OMP_WAIT_POLICY`.
    pub policy: Policy,
}

/// The whole measurement.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The C compiler that builds the suite.
    pub compiler: String,
    /// Runtimes in the order of the table.
    pub runtimes: Vec<Runtime>,
    /// The runtime that is compared with the best of the others, if any.
    pub subject: Option<String>,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Wait policies.
    pub policies: Vec<Policy>,
    /// Constructs by name; empty means all.
    pub only: Vec<String>,
    /// Processes per construct and runtime.
    pub rounds: usize,
    /// Samples per process.
    pub samples: usize,
    /// Time that one sample should fill, in microseconds.
    pub target_us: f64,
    /// Work of one repetition in nanoseconds.
    pub delay_ns: f64,
    /// Time after which a process takes no further sample, in milliseconds.
    pub limit_ms: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            compiler: "gcc".to_owned(),
            runtimes: Vec::new(),
            subject: None,
            threads: vec![2],
            policies: vec![Policy::Active, Policy::Passive],
            only: Vec::new(),
            rounds: 5,
            samples: 100,
            target_us: 200.0,
            delay_ns: 100.0,
            limit_ms: 1000.0,
        }
    }
}

impl Plan {
    /// Every thread count with every policy.
    #[must_use]
    pub fn configs(&self) -> Vec<Config> {
        self.threads
            .iter()
            .flat_map(|&threads| {
                self.policies
                    .iter()
                    .map(move |&policy| Config { threads, policy })
            })
            .collect()
    }

    /// Sentences about a plan that gives weak numbers.
    pub(super) fn warnings(&self, machine: &Machine) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.rounds < 3 {
            warnings.push(format!(
                "Only {} round(s) were run, so the intervals miss the differences between \
                 processes; use --rounds 5 or more.",
                self.rounds
            ));
        }
        for threads in self.threads.iter().filter(|t| **t > machine.processors) {
            warnings.push(format!(
                "{threads} threads shared {} processors: these rows show how a runtime copes \
                 with that, not what its constructs cost.",
                machine.processors
            ));
        }
        warnings
    }

    /// The environment of one process. Everything that would steer a runtime
    /// from outside the plan is taken away.
    pub(super) fn environment(&self, config: Config, runtime: &Runtime, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let steers = name.to_str().is_some_and(|n| {
                ["OMP_", "GOMP_", "KMP_", "FATHOMP_"]
                    .iter()
                    .any(|p| n.starts_with(p))
            });
            if steers {
                command.env_remove(name);
            }
        }
        command.env("OMP_NUM_THREADS", config.threads.to_string());
        match config.policy {
            Policy::Default => {}
            policy => {
                command.env("OMP_WAIT_POLICY", policy.name());
            }
        }
        command.env_remove("LD_PRELOAD");
        if let Some(library) = &runtime.library {
            command.env("LD_PRELOAD", library);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_read_or_refused_in_words() {
        assert_eq!(
            Runtime::parse("libgomp"),
            Ok(Runtime {
                name: "libgomp".into(),
                library: None
            })
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("mine={}", file.path().display());
        let parsed = Runtime::parse(&text).unwrap();
        assert_eq!(parsed.name, "mine");
        assert!(parsed.library.is_some());
        for bad in ["", "mine", "mine=", "=path", "mine=/nonexistent/lib.so"] {
            assert!(Runtime::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn configs_are_the_product_of_threads_and_policies() {
        let plan = Plan {
            threads: vec![1, 8],
            ..Plan::default()
        };
        let configs = plan.configs();
        assert_eq!(configs.len(), 4);
        assert_eq!(
            configs[0],
            Config {
                threads: 1,
                policy: Policy::Active
            }
        );
        assert_eq!(
            configs[3],
            Config {
                threads: 8,
                policy: Policy::Passive
            }
        );
    }

    #[test]
    fn the_environment_names_only_what_the_plan_names() {
        let mut command = Command::new("true");
        let runtime = Runtime {
            name: "x".into(),
            library: Some("/lib/x.so".into()),
        };
        let config = Config {
            threads: 3,
            policy: Policy::Default,
        };
        Plan::default().environment(config, &runtime, &mut command);
        let env: Vec<_> = command.get_envs().collect();
        let value = |name: &str| env.iter().find(|(n, _)| *n == name).and_then(|(_, v)| *v);
        assert_eq!(value("OMP_NUM_THREADS"), Some("3".as_ref()));
        assert_eq!(value("OMP_WAIT_POLICY"), None);
        assert_eq!(value("LD_PRELOAD"), Some("/lib/x.so".as_ref()));
    }
}
