//! How something is measured: team sizes, sample sizes, environment.

use crate::runtime::OnNodes;
use fathomp_launch::{Cluster, Inherit, OpenMp, Plan};
use fathomp_process::Limits;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How threads wait: the value of `OMP_WAIT_POLICY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitPolicy {
    /// The variable is not set: what users get.
    Default,
    /// Spin.
    Active,
    /// Sleep.
    Passive,
}

impl WaitPolicy {
    /// The name on the command line and in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Active => "active",
            Self::Passive => "passive",
        }
    }
}

/// Where threads run: the values of `OMP_PROC_BIND` and `OMP_PLACES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Affinity {
    /// The variables are not set.
    None,
    /// Next to each other, one per core.
    Close,
    /// As far apart as possible.
    Spread,
}

impl Affinity {
    /// The name on the command line and in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Close => "close",
            Self::Spread => "spread",
        }
    }
}

/// Everything that can be set about a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Team sizes, ascending.
    pub threads: Vec<u32>,
    /// Processes per case, column and team size.
    pub runs: u32,
    /// Samples per process.
    pub samples: u32,
    /// Time that one sample should fill, microseconds.
    pub target_us: f64,
    /// Work of one repetition in the EPCC rows, nanoseconds.
    pub delay_ns: f64,
    /// Time after which a process takes no further sample, milliseconds.
    pub limit_ms: f64,
    /// Time that a process may take beyond ten times that before it counts as
    /// hung, seconds.
    pub patience_s: u32,
    /// `OMP_PROC_BIND`.
    pub affinity: Affinity,
    /// `OMP_WAIT_POLICY`.
    pub wait_policy: WaitPolicy,
    /// The programs' short lists of parameter values.
    pub quick: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: vec![1, 2],
            runs: 3,
            samples: 20,
            target_us: 200.0,
            delay_ns: 100.0,
            limit_ms: 250.0,
            patience_s: 60,
            affinity: Affinity::Close,
            wait_policy: WaitPolicy::Default,
            quick: false,
        }
    }
}

/// How a program comes to use another runtime than its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preload {
    /// The runtime's library.
    pub(crate) library: PathBuf,
    /// A directory in which it has the name that the program asks for.
    pub(crate) stand_in: PathBuf,
    /// Threads are nodes.
    pub(crate) nodes: Option<OnNodes>,
}

impl Settings {
    /// What a measuring process may use.
    pub(crate) fn limits(&self) -> Limits {
        let own = Duration::from_secs_f64(self.limit_ms.clamp(0.0, 1e7) * 1e-3);
        Limits {
            time: Duration::from_secs(self.patience_s.into()) + 10 * own,
            bytes: 4 << 20,
        }
    }

    /// The environment of a measuring process. Everything that would steer a
    /// runtime from outside is taken away.
    pub(crate) fn environment(
        &self,
        threads: u32,
        preload: Option<&Preload>,
        command: &mut Command,
    ) {
        let on_nodes = preload.and_then(|preload| preload.nodes.as_ref());
        let in_front = on_nodes.is_some_and(|nodes| nodes.in_front.contains_key(&threads));
        let mut plan = Plan {
            openmp: OpenMp {
                threads: Some(threads).filter(|_| !in_front),
                ..OpenMp::default()
            },
            ..Plan::default()
        };
        if self.wait_policy != WaitPolicy::Default {
            plan.openmp.wait_policy = Some(self.wait_policy.name().into());
        }
        if in_front {
            plan.apply(command, Inherit::NothingThatSteers);
            return;
        }
        if let Some(nodes) = on_nodes.filter(|_| threads > 1) {
            // The runtime refuses a number of nodes that is too large.
            let count = u16::try_from(threads).unwrap_or(u16::MAX);
            plan.cluster = Some(Cluster {
                protocol: nodes.protocol,
                plain: nodes.plain,
                network: nodes.network,
                ..Cluster::of(count)
            });
        }
        // Each node would bind its only thread to the first place.
        if self.affinity != Affinity::None && on_nodes.is_none() {
            plan.openmp.proc_bind = Some(self.affinity.name().into());
            plan.openmp.places = Some("cores".into());
        }
        if let Some(preload) = preload {
            plan.preload.push(preload.library.clone());
            plan.library_path.push(preload.stand_in.clone());
        }
        plan.apply(command, Inherit::NothingThatSteers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_launch::Protocol;

    #[test]
    fn the_environment_names_only_what_is_set() {
        let value = |command: &Command, name: &str| {
            command
                .get_envs()
                .find(|(n, _)| *n == name)
                .and_then(|(_, v)| v.map(|v| v.to_string_lossy().into_owned()))
        };
        let mut command = Command::new("true");
        let preload = Preload {
            library: "/lib/x.so".into(),
            stand_in: "/x".into(),
            nodes: None,
        };
        Settings::default().environment(3, Some(&preload), &mut command);
        assert_eq!(value(&command, "OMP_NUM_THREADS").as_deref(), Some("3"));
        assert_eq!(value(&command, "LD_PRELOAD").as_deref(), Some("/lib/x.so"));
        let paths = value(&command, "LD_LIBRARY_PATH").unwrap();
        assert_eq!(paths.split(':').next(), Some("/x"));
        assert_eq!(value(&command, "OMP_WAIT_POLICY"), None);
        assert_eq!(value(&command, "OMP_PROC_BIND").as_deref(), Some("close"));
        let free = Settings {
            affinity: Affinity::None,
            ..Settings::default()
        };
        let mut command = Command::new("true");
        free.environment(3, None, &mut command);
        assert_eq!(value(&command, "OMP_PROC_BIND"), None);
        let bound = Settings {
            affinity: Affinity::Spread,
            wait_policy: WaitPolicy::Passive,
            ..Settings::default()
        };
        let mut command = Command::new("true");
        bound.environment(2, None, &mut command);
        assert_eq!(value(&command, "OMP_PROC_BIND").as_deref(), Some("spread"));
        assert_eq!(
            value(&command, "OMP_WAIT_POLICY").as_deref(),
            Some("passive")
        );
        assert_eq!(value(&command, "LD_PRELOAD"), None);
        let nodes = Preload {
            nodes: Some(OnNodes::here(Protocol::Home)),
            ..preload
        };
        let mut command = Command::new("true");
        Settings::default().environment(3, Some(&nodes), &mut command);
        assert_eq!(value(&command, "FATHOMP_NODES").as_deref(), Some("3"));
        assert_eq!(value(&command, "FATHOMP_DSM").as_deref(), Some("home"));
        assert_eq!(value(&command, "LD_BIND_NOW").as_deref(), Some("1"));
        assert_eq!(value(&command, "OMP_PROC_BIND"), None);
        let mut on_net = nodes;
        if let Some(on) = &mut on_net.nodes {
            on.network = Some("62.5,103.4".parse().unwrap());
            on.plain = true;
            on.in_front.insert(4, vec!["fathomp".into()]);
        }
        let mut command = Command::new("true");
        Settings::default().environment(3, Some(&on_net), &mut command);
        for (name, expected) in [
            ("FATHOMP_DSM_NET", "62.5,103.4"),
            ("FATHOMP_DSM_PLAIN", "1"),
        ] {
            assert_eq!(value(&command, name).as_deref(), Some(expected));
        }
        // What stands in front sets everything.
        let mut command = Command::new("true");
        Settings::default().environment(4, Some(&on_net), &mut command);
        assert_eq!(value(&command, "LD_PRELOAD"), None);
        assert_eq!(value(&command, "OMP_NUM_THREADS"), None);
    }
}
