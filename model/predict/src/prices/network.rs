//! The network between the nodes of a cluster.

use serde::{Deserialize, Serialize};

/// A network between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Time of a small message, one way.
    pub latency_us: f64,
    /// 10^6 bytes per second, one way; infinite if nothing limits it, in JSON `"inf"`, as on the
    /// command line.
    #[serde(with = "unlimited")]
    pub bandwidth_mb_per_s: f64,
}

/// Numbers of which one is infinite, for which JSON has none.
mod unlimited {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const UNLIMITED: &str = "inf";

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Rate {
        Number(f64),
        Word(String),
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(rate: &f64, to: S) -> Result<S::Ok, S::Error> {
        match rate.is_infinite() {
            true => Rate::Word(UNLIMITED.to_owned()),
            false => Rate::Number(*rate),
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        match Rate::deserialize(from) {
            Ok(Rate::Number(rate)) => Ok(rate),
            Ok(Rate::Word(word)) if word == UNLIMITED => Ok(f64::INFINITY),
            _ => Err(D::Error::custom(
                "bandwidth_mb_per_s is a number, or \"inf\" if nothing limits it",
            )),
        }
    }
}
