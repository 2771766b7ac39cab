//! `machine.json`: what things cost on a machine.
//!
//! Filled by calibration, read by prediction. Other versions than
//! [`VERSION`] are refused, because a misread price is worse than none.

use crate::prices::{self, Cluster, ClusterError};
use fathomp_analysis::EventCosts;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

/// Name of the schema.
pub const SCHEMA: &str = prices::MACHINE_SCHEMA;
/// The version written and accepted.
pub const VERSION: u32 = 1;

/// What things cost on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Host name.
    #[serde(default)]
    pub host: String,
    /// Processor model.
    #[serde(default)]
    pub cpu_model: String,
    /// Processors the calibration was allowed to use.
    pub cores: u32,
    /// Hardware threads per physical core, if known.
    #[serde(default)]
    pub threads_per_core: Option<u32>,
    /// Name and version of the OpenMP runtime that was measured.
    #[serde(default)]
    pub runtime: String,
    /// When, nanoseconds since the Unix epoch.
    #[serde(default)]
    pub measured_unix_ns: u64,
    /// Smallest step of the clock.
    #[serde(default)]
    pub timer_resolution_ns: f64,
    /// Cost of reading the clock.
    #[serde(default)]
    pub timer_cost_ns: f64,
    /// Cost of recording, by kind of event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_costs: Option<EventCosts>,
    /// Prices of constructs by thread count, ascending and without repetition.
    #[serde(default)]
    pub constructs: Vec<ConstructCosts>,
    /// What a cache line costs that several threads write, if that was measured: it takes
    /// two processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Copy bandwidth of main memory by thread count, ascending and without
    /// repetition.
    #[serde(default)]
    pub bandwidth: Vec<Bandwidth>,
    /// Data and unified caches, smallest level first.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// What keeping memory consistent between nodes costs, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

/// Prices of constructs in a team of a certain size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstructCosts {
    /// Threads in the team.
    pub threads: u32,
    /// An empty parallel region, start to end.
    pub fork_join_ns: f64,
    /// A barrier all threads reach together.
    pub barrier_ns: f64,
    /// Handing out one chunk of a dynamic loop, with all threads asking.
    pub dynamic_chunk_ns: f64,
    /// Locking and unlocking, with all threads asking: time between two grants.
    pub lock_ns: f64,
}

/// What an addition to a variable costs more if another thread adds to one in the same
/// cache line than if each has a line of its own. In nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contention {
    /// By a load and a store.
    pub plain_ns: f64,
    /// By an atomic instruction.
    pub atomic_ns: f64,
}

/// Bandwidth with a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Threads copying at the same time.
    pub threads: u32,
    /// Bytes read plus bytes written per second, all threads together.
    pub bytes_per_s: f64,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the nearest.
    pub level: u32,
    /// Size.
    pub bytes: u64,
    /// Line size.
    pub line_bytes: u32,
    /// Hardware threads that share it.
    pub shared_by: u32,
}

/// Why a machine description cannot be used.
#[derive(Debug, Error)]
pub enum MachineError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; run `fathomp calibrate -o machine.json` to make one", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what calibration writes.
    #[error(
        "this is not a machine description ({0}); run `fathomp calibrate -o machine.json` to make one"
    )]
    Parse(#[source] serde_json::Error),
    /// It is a JSON file of another kind.
    #[error(
        "this file has schema {0:?} instead of \"fathomp.machine\"; give the file that `fathomp calibrate` wrote"
    )]
    Schema(String),
    /// It is from another version of fathomp.
    #[error(
        "this machine description has version {0}, and only version {VERSION} is understood; run `fathomp calibrate` again"
    )]
    Version(u64),
    /// A number in it cannot be.
    #[error("the machine description says {what}, which cannot be; run `fathomp calibrate` again")]
    Value {
        /// What it says.
        what: String,
    },
    /// What it says about a cluster cannot be.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl Machine {
    /// Reads a machine description.
    ///
    /// # Errors
    /// If it is not JSON, has another schema or version, or holds numbers that
    /// cannot be.
    pub fn from_json(text: &str) -> Result<Self, MachineError> {
        let mut value: serde_json::Value =
            serde_json::from_str(text).map_err(MachineError::Parse)?;
        if let Some(schema) = value.get("schema").and_then(|schema| schema.as_str())
            && schema != SCHEMA
        {
            return Err(MachineError::Schema(schema.to_owned()));
        }
        if let Some(version) = value.get("version").and_then(serde_json::Value::as_u64)
            && version != u64::from(VERSION)
        {
            return Err(MachineError::Version(version));
        }
        let cluster = value.get_mut("cluster").map(serde_json::Value::take);
        let cluster = cluster.filter(|cluster| !cluster.is_null());
        let mut machine: Self = serde_json::from_value(value).map_err(MachineError::Parse)?;
        machine.cluster = cluster.map(Cluster::from_value).transpose()?;
        machine.check()?;
        Ok(machine)
    }

    /// Reads a machine description from a file.
    ///
    /// # Errors
    /// As [`Machine::from_json`], and if the file cannot be read.
    pub fn read(path: &std::path::Path) -> Result<Self, MachineError> {
        let text = std::fs::read_to_string(path).map_err(|source| MachineError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_json(&text)
    }

    /// The description as indented JSON.
    ///
    /// # Errors
    /// If it holds a number JSON cannot express.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// A description with `cores` and nothing measured.
    #[must_use]
    pub fn unmeasured(cores: u32) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            host: String::new(),
            cpu_model: String::new(),
            cores: cores.max(1),
            threads_per_core: None,
            runtime: String::new(),
            measured_unix_ns: 0,
            timer_resolution_ns: 0.0,
            timer_cost_ns: 0.0,
            event_costs: None,
            constructs: Vec::new(),
            contention: None,
            bandwidth: Vec::new(),
            caches: Vec::new(),
            cluster: None,
        }
    }

    /// Checks that the numbers can be.
    ///
    /// # Errors
    /// [`MachineError::Value`] with the first that cannot.
    pub fn check(&self) -> Result<(), MachineError> {
        let wrong = |what: String| Err(MachineError::Value { what });
        if self.cores == 0 {
            return wrong("it has no cores".to_owned());
        }
        let mut before = 0;
        for row in &self.constructs {
            if row.threads <= before {
                return wrong(format!(
                    "constructs list {} threads out of order",
                    row.threads
                ));
            }
            before = row.threads;
            let costs = [
                row.fork_join_ns,
                row.barrier_ns,
                row.dynamic_chunk_ns,
                row.lock_ns,
            ];
            if let Some(cost) = costs.iter().find(|cost| !cost.is_finite() || **cost < 0.0) {
                return wrong(format!(
                    "a construct costs {cost} ns with {} threads",
                    row.threads
                ));
            }
        }
        if let Some(costs) = &self.event_costs
            && let Some(cost) = costs.impossible()
        {
            return wrong(format!("recording an event costs {cost} ns"));
        }
        let contention = self.contention.map(|all| [all.plain_ns, all.atomic_ns]);
        let mut costs = contention.into_iter().flatten();
        if let Some(cost) = costs.find(|cost| !cost.is_finite() || *cost < 0.0) {
            return wrong(format!("a contended cache line costs {cost} ns"));
        }
        before = 0;
        for row in &self.bandwidth {
            if row.threads <= before {
                return wrong(format!(
                    "bandwidth lists {} threads out of order",
                    row.threads
                ));
            }
            before = row.threads;
            if !row.bytes_per_s.is_finite() || row.bytes_per_s <= 0.0 {
                return wrong(format!(
                    "the bandwidth of {} threads is {} bytes/s",
                    row.threads, row.bytes_per_s
                ));
            }
        }
        Ok(())
    }

    /// Copy bandwidth with `threads` threads in bytes per second: linear
    /// between measured counts, flat beyond the last, proportional below the
    /// first; none if nothing was measured.
    #[must_use]
    pub fn bandwidth_at(&self, threads: f64) -> Option<f64> {
        let points = self
            .bandwidth
            .iter()
            .map(|row| (f64::from(row.threads), row.bytes_per_s));
        interpolate(points, threads, |first, at| first.1 * at / first.0)
    }

    /// Prices of constructs with `threads` threads: linear between measured
    /// counts, flat below the first, growing with the logarithm of the thread
    /// count beyond the last; none if nothing was measured.
    #[must_use]
    pub fn costs_at(&self, threads: u32) -> Option<ConstructCosts> {
        let last = self.constructs.last()?;
        let growth = if threads > last.threads && last.threads > 1 {
            f64::from(threads).ln() / f64::from(last.threads).ln()
        } else {
            1.0
        };
        let price = |of: fn(&ConstructCosts) -> f64| {
            let points = self
                .constructs
                .iter()
                .map(|row| (f64::from(row.threads), of(row)));
            interpolate(points, f64::from(threads), |first, _| first.1)
                .map_or(0.0, |price| price * growth)
        };
        Some(ConstructCosts {
            threads,
            fork_join_ns: price(|row| row.fork_join_ns),
            barrier_ns: price(|row| row.barrier_ns),
            dynamic_chunk_ns: price(|row| row.dynamic_chunk_ns),
            lock_ns: price(|row| row.lock_ns),
        })
    }
}

/// Linear between ascending points, the last value beyond the last point,
/// `below` the first.
fn interpolate(
    points: impl Iterator<Item = (f64, f64)>,
    at: f64,
    below: impl Fn((f64, f64), f64) -> f64,
) -> Option<f64> {
    let mut previous: Option<(f64, f64)> = None;
    for point in points {
        if at <= point.0 {
            return Some(match previous {
                None => below(point, at),
                Some(from) => from.1 + (point.1 - from.1) * (at - from.0) / (point.0 - from.0),
            });
        }
        previous = Some(point);
    }
    previous.map(|last| last.1)
}
