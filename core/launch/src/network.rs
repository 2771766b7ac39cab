//! A network's two numbers, and how they are written.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A network, the same for all pairs of nodes and both directions. As text:
/// microseconds and 10^6 bytes per second, as in `62.5,103.4`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    latency: Duration,
    mb_per_s: f64,
}

/// The numbers are no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network: give a latency of 0 to 1000000 us and a bandwidth of at least 0.001 MB/s, as in 62.5,103.4"
)]
pub struct NetworkError(String);

impl Network {
    const LATENCY_US: RangeInclusive<f64> = 0.0..=1e6;
    const MB_PER_S_MIN: f64 = 1e-3;

    /// From microseconds and 10^6 bytes per second; infinite if there is no limit.
    /// Latencies are kept in whole nanoseconds.
    ///
    /// # Errors
    /// If these are not numbers of a network.
    pub fn new(latency_us: f64, mb_per_s: f64) -> Result<Self, NetworkError> {
        let is_network = Self::LATENCY_US.contains(&latency_us) && mb_per_s >= Self::MB_PER_S_MIN;
        if !is_network {
            return Err(NetworkError(format!("{latency_us},{mb_per_s}")));
        }
        Ok(Self {
            latency: Duration::from_secs_f64(latency_us * 1e-6),
            mb_per_s,
        })
    }

    /// From the end of sending to the arrival, where nothing queues.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// Latency in microseconds.
    #[must_use]
    pub fn latency_us(&self) -> f64 {
        self.latency.as_nanos() as f64 / 1e3
    }

    /// What a link carries in each direction, in 10^6 bytes per second. Infinite if there
    /// is no limit.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        self.mb_per_s
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.latency_us(), self.mb_per_s)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        text.split_once(',')
            .and_then(|(latency, bandwidth)| Some((number(latency)?, number(bandwidth)?)))
            .and_then(|(latency_us, mb_per_s)| Self::new(latency_us, mb_per_s).ok())
            .ok_or_else(|| NetworkError(text.to_owned()))
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn networks_come_back_from_their_text(
            latency_ns in 0..=1_000_000_000_u64,
            mb_per_s in 1e-3..1e9,
        ) {
            let network = Network::new(latency_ns as f64 * 1e-3, mb_per_s).unwrap();
            prop_assert_eq!(network.latency().as_nanos(), u128::from(latency_ns));
            prop_assert_eq!(network.to_string().parse(), Ok(network));
            let json = serde_json::to_string(&network).unwrap();
            prop_assert_eq!(serde_json::from_str::<Network>(&json).unwrap(), network);
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "", ",", "1", "1,", ",1", "1,0", "-1,1", "NaN,1", "1,NaN", "2e6,1", "inf,1", "1,2,3",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
            assert!(serde_json::from_str::<Network>(&format!("{text:?}")).is_err());
        }
        let unlimited: Network = "0, inf".parse().unwrap();
        assert_eq!(unlimited.mb_per_s(), f64::INFINITY);
        assert_eq!(unlimited.to_string(), "0,inf");
    }
}
