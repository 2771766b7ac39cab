//! Clusters: what events of consistency cost there.
//!
//! A cluster's file is JSON, measured or written by hand. Prices that it does
//! not have are derived from its network and the cost of a fault. Other
//! versions than [`CLUSTER_VERSION`] and unknown fields are refused, because a
//! misread price is worse than none.

use super::derive;
use super::events::{Prices, Protocol};
use super::measured::Measured;
use super::network::Network;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the schema.
pub const CLUSTER_SCHEMA: &str = "fathomp.cluster";
/// The version accepted.
pub const CLUSTER_VERSION: u32 = 1;
/// Name of the schema of a [machine](crate::machine), whose description may hold a cluster's.
pub(crate) const MACHINE_SCHEMA: &str = "fathomp.machine";

/// Numbers of a cluster that can be, in their units; they bound what follows
/// from them.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-9..=1e12;

/// Names and files of the clusters that prices or networks are published of.
const BUNDLED: [(&str, &str); 3] = [
    ("gige_amd", include_str!("clusters/gige_amd.json")),
    (
        "gige_amd_mcbench",
        include_str!("clusters/gige_amd_mcbench.json"),
    ),
    (
        "infiniband_ddr4x",
        include_str!("clusters/infiniband_ddr4x.json"),
    ),
];

/// A cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// [`CLUSTER_SCHEMA`].
    pub schema: String,
    /// [`CLUSTER_VERSION`].
    pub version: u32,
    /// What to call it.
    pub name: String,
    /// What it is, in words.
    #[serde(default)]
    pub about: String,
    /// Where its numbers are from.
    #[serde(default)]
    pub source: String,
    /// How many nodes it has.
    pub nodes: u32,
    /// What is between them.
    pub network: Network,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// A write fault that no other node takes part in: what prices that the
    /// file does not have are derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_us: Option<f64>,
    /// Measured prices of a homeless protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homeless: Option<HomelessPrices>,
    /// Measured prices of a home-based protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<HomePrices>,
    /// How `fathomp calibrate` measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// Prices of a homeless protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomelessPrices {
    /// First write to a valid page, its twin included.
    pub write_fault_us: f64,
    /// Diffs collected for an invalid page.
    pub fetch_fault_us: f64,
}

/// Prices of a home-based protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomePrices {
    /// First write to a page whose home is this node.
    pub local_write_fault_us: f64,
    /// First write to a page whose home is another node, its twin included.
    pub remote_write_fault_us: f64,
    /// A page fetched from its home.
    pub fetch_fault_us: f64,
    /// A half-full diff sent to its home, by size, ascending.
    pub diffs_to_home: Vec<DiffPrice>,
}

/// What a diff of a certain size costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffPrice {
    /// Bytes that the diff stands for.
    pub bytes: u32,
    /// Its price.
    pub us: f64,
}

/// Prices of one protocol on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PricesOf {
    /// The prices.
    #[serde(flatten)]
    pub prices: Prices,
    /// They were derived from the network and a fault's cost, not measured.
    pub derived: bool,
}

/// Why a cluster cannot be predicted for.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// A name nearly like a known one.
    #[error("there is no cluster \"{name}\": did you mean \"{nearest}\"?")]
    Near {
        /// What was asked for.
        name: String,
        /// What there is.
        nearest: String,
    },
    /// A name like no other.
    #[error("there is no cluster \"{name}\": give a file, or one of {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The size of diffs, of a protocol whose prices have none.
    #[error(
        "the homeless protocol sends no diffs to homes: leave --diff-bytes out, or ask for --dsm home"
    )]
    NoDiffs,
    /// The file cannot be read.
    #[error("cannot read {}: {source}; give a cluster's file, or one of {}", path.display(), names())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not one of ours.
    #[error(
        "this is no description of a cluster ({0}); write its fields as the guide to predictions shows them"
    )]
    Parse(#[source] serde_json::Error),
    /// A machine whose calibration did not measure a cluster.
    #[error(
        "this machine description has no prices of a cluster: run `fathomp calibrate --nodes 2 -o FILE` to measure them"
    )]
    Machine,
    /// A JSON file of another kind.
    #[error("this file has schema {0:?} instead of \"{CLUSTER_SCHEMA}\"; give a cluster's file")]
    Schema(String),
    /// From another version of fathomp.
    #[error(
        "this description of a cluster has version {0}, and only version {CLUSTER_VERSION} is understood; write it anew"
    )]
    Version(u64),
    /// A number that cannot be.
    #[error(
        "the description of cluster \"{name}\" says that {what}, which cannot be; mend that field or leave it out"
    )]
    Value {
        /// Which cluster.
        name: String,
        /// What it says.
        what: String,
    },
    /// Nothing to derive prices from.
    #[error(
        "the description of cluster \"{name}\" has neither prices of the {protocol} protocol nor fault_us to derive them from; add either"
    )]
    Unpriced {
        /// Which cluster.
        name: String,
        /// Which protocol.
        protocol: &'static str,
    },
    /// A diff larger or smaller than those measured.
    #[error(
        "cluster \"{name}\" knows the price of diffs of {least} to {most} bytes, not of {asked}; ask for one of these"
    )]
    DiffSize {
        /// Which cluster.
        name: String,
        /// Smallest size.
        least: u32,
        /// Largest size.
        most: u32,
        /// What was asked for.
        asked: u32,
    },
}

/// Names of the clusters that fathomp brings.
pub fn bundled() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _)| *name)
}

fn names() -> String {
    bundled().collect::<Vec<_>>().join(", ")
}

impl Cluster {
    /// The bundled cluster of that name, or else the one a file describes.
    ///
    /// # Errors
    /// If there is neither, or as [`Cluster::from_json`].
    pub fn find(name: &Path) -> Result<Self, ClusterError> {
        if let Some((_, text)) = BUNDLED.iter().find(|(known, _)| name == Path::new(known)) {
            return Self::from_json(text);
        }
        match std::fs::read_to_string(name) {
            Ok(text) => Self::from_json(&text),
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && name.components().count() == 1
                    && name.extension().is_none() =>
            {
                Err(unknown(&name.to_string_lossy()))
            }
            Err(source) => Err(ClusterError::Read {
                path: name.to_owned(),
                source,
            }),
        }
    }

    /// Reads a description, or that inside a machine's.
    ///
    /// # Errors
    /// If it is not JSON, has another schema or version, or holds numbers that
    /// cannot be.
    pub fn from_json(text: &str) -> Result<Self, ClusterError> {
        let mut value: serde_json::Value =
            serde_json::from_str(text).map_err(ClusterError::Parse)?;
        if value.get("schema").and_then(|schema| schema.as_str()) == Some(MACHINE_SCHEMA) {
            let cluster = value.get_mut("cluster").map(serde_json::Value::take);
            value = cluster.ok_or(ClusterError::Machine)?;
        }
        Self::from_value(value)
    }

    /// The same from parsed JSON.
    pub(crate) fn from_value(value: serde_json::Value) -> Result<Self, ClusterError> {
        if let Some(schema) = value.get("schema").and_then(|schema| schema.as_str())
            && schema != CLUSTER_SCHEMA
        {
            return Err(ClusterError::Schema(schema.to_owned()));
        }
        if let Some(version) = value.get("version").and_then(serde_json::Value::as_u64)
            && version != u64::from(CLUSTER_VERSION)
        {
            return Err(ClusterError::Version(version));
        }
        let cluster: Self = serde_json::from_value(value).map_err(ClusterError::Parse)?;
        cluster.check()?;
        Ok(cluster)
    }

    fn check(&self) -> Result<(), ClusterError> {
        let wrong = |what: String| {
            Err(ClusterError::Value {
                name: self.name.clone(),
                what,
            })
        };
        if self.nodes == 0 {
            return wrong("it has no nodes".to_owned());
        }
        if self.page_bytes == 0 {
            return wrong("a page has no bytes".to_owned());
        }
        // An emulated network may take no time.
        let Network {
            latency_us,
            bandwidth_mb_per_s,
        } = self.network;
        let mut numbers = Vec::new();
        if latency_us != 0.0 {
            numbers.push(("network.latency_us", latency_us));
        }
        if bandwidth_mb_per_s != f64::INFINITY {
            numbers.push(("network.bandwidth_mb_per_s", bandwidth_mb_per_s));
        }
        numbers.extend(self.fault_us.map(|us| ("fault_us", us)));
        if let Some(homeless) = &self.homeless {
            numbers.extend([
                ("homeless.write_fault_us", homeless.write_fault_us),
                ("homeless.fetch_fault_us", homeless.fetch_fault_us),
            ]);
        }
        if let Some(home) = &self.home {
            numbers.extend([
                ("home.local_write_fault_us", home.local_write_fault_us),
                ("home.remote_write_fault_us", home.remote_write_fault_us),
                ("home.fetch_fault_us", home.fetch_fault_us),
            ]);
            let diffs = &home.diffs_to_home;
            numbers.extend(diffs.iter().map(|diff| ("home.diffs_to_home.us", diff.us)));
            if diffs.is_empty() {
                return wrong("home.diffs_to_home is empty".to_owned());
            }
            if diffs.windows(2).any(|pair| pair[0].bytes >= pair[1].bytes) {
                return wrong("home.diffs_to_home does not ascend".to_owned());
            }
        }
        numbers.extend(self.measured.iter().flat_map(Measured::numbers));
        match numbers.iter().find(|(_, value)| !POSSIBLE.contains(value)) {
            Some((field, value)) => wrong(format!("{field} is {value}")),
            None => Ok(()),
        }
    }

    /// [`Cluster::prices`] for diffs of a size that somebody asked for, if they have one.
    ///
    /// # Errors
    /// As that, and if the protocol sends no diffs to homes.
    pub fn prices_asked(
        &self,
        protocol: Protocol,
        diff_bytes: Option<u32>,
    ) -> Result<PricesOf, ClusterError> {
        match protocol == Protocol::Homeless && diff_bytes.is_some() {
            true => Err(ClusterError::NoDiffs),
            false => self.prices(protocol, diff_bytes),
        }
    }

    /// What the events of `protocol` cost, with diffs of `diff_bytes` (none: of
    /// a page).
    ///
    /// # Errors
    /// If it has neither the prices nor what they are derived from, or if only
    /// diffs of other sizes were measured.
    pub fn prices(
        &self,
        protocol: Protocol,
        diff_bytes: Option<u32>,
    ) -> Result<PricesOf, ClusterError> {
        let diff_bytes = diff_bytes.unwrap_or(self.page_bytes);
        let measured = match protocol {
            Protocol::Homeless => self.homeless.map(|homeless| Prices {
                local_write_us: homeless.write_fault_us,
                remote_write_us: homeless.write_fault_us,
                fetch_us: homeless.fetch_fault_us,
                diff_to_home_us: 0.0,
            }),
            Protocol::Home => match &self.home {
                Some(home) => Some(Prices {
                    local_write_us: home.local_write_fault_us,
                    remote_write_us: home.remote_write_fault_us,
                    fetch_us: home.fetch_fault_us,
                    diff_to_home_us: self.diff_us(&home.diffs_to_home, diff_bytes)?,
                }),
                None => None,
            },
        };
        if let Some(prices) = measured {
            let derived = false;
            return Ok(PricesOf { prices, derived });
        }
        let fault_us = self.fault_us.ok_or_else(|| ClusterError::Unpriced {
            name: self.name.clone(),
            protocol: match protocol {
                Protocol::Homeless => "homeless",
                Protocol::Home => "home-based",
            },
        })?;
        Ok(PricesOf {
            prices: derive::prices(
                self.network,
                fault_us,
                self.page_bytes,
                diff_bytes,
                protocol,
            ),
            derived: true,
        })
    }

    /// Linear between measured sizes.
    fn diff_us(&self, diffs: &[DiffPrice], bytes: u32) -> Result<f64, ClusterError> {
        if let Some(diff) = diffs.iter().find(|diff| diff.bytes == bytes) {
            return Ok(diff.us);
        }
        diffs
            .windows(2)
            .find(|pair| (pair[0].bytes..pair[1].bytes).contains(&bytes))
            .map(|pair| {
                let along =
                    f64::from(bytes - pair[0].bytes) / f64::from(pair[1].bytes - pair[0].bytes);
                pair[0].us + (pair[1].us - pair[0].us) * along
            })
            .ok_or_else(|| ClusterError::DiffSize {
                name: self.name.clone(),
                least: diffs.first().map_or(0, |diff| diff.bytes),
                most: diffs.last().map_or(0, |diff| diff.bytes),
                asked: bytes,
            })
    }
}

fn unknown(name: &str) -> ClusterError {
    let nearest = fathomp_types::nearest(name, bundled());
    let name = name.to_owned();
    match nearest.map(str::to_owned) {
        Some(nearest) => ClusterError::Near { name, nearest },
        None => ClusterError::Unknown {
            name,
            known: names(),
        },
    }
}
