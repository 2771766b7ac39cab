//! A network to emulate between nodes: its numbers, or whose they are.

use fathomp_launch::{Network, NetworkError};
use fathomp_predict::prices;
use std::path::Path;
use std::str::FromStr;

/// A network's latency and bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Net(pub(crate) Network);

/// The text names no network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetError {
    #[error(transparent)]
    Numbers(#[from] NetworkError),
    #[error(transparent)]
    Cluster(#[from] prices::ClusterError),
}

impl FromStr for Net {
    type Err = NetError;

    /// `LAT_US,MB_PER_S`, or a cluster's name or file.
    fn from_str(text: &str) -> Result<Self, NetError> {
        if text.contains(',') {
            return Ok(Self(text.parse()?));
        }
        let network = prices::Cluster::find(Path::new(text))?.network;
        let network = Network::new(network.latency_us, network.bandwidth_mb_per_s)?;
        Ok(Self(network))
    }
}

impl Net {
    /// As columns of tables call it: the name of a published cluster with that network, or its
    /// numbers.
    pub(crate) fn name(self) -> String {
        let known =
            prices::bundled().filter_map(|name| prices::Cluster::find(Path::new(name)).ok());
        let mut same = known.filter(|cluster| {
            let network = cluster.network;
            Network::new(network.latency_us, network.bandwidth_mb_per_s) == Ok(self.0)
        });
        let numbers = || format!("{}us,{}MB/s", self.0.latency_us(), self.0.mb_per_s());
        same.next().map_or_else(numbers, |cluster| cluster.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_numbers_or_clusters() {
        let net = |text: &str| text.parse::<Net>().map(|net| net.0.to_string());
        assert_eq!(net("62.5,103.4").unwrap(), "62.5,103.4");
        assert_eq!(net("gige_amd").unwrap(), "62.5,103.4");
        let name = |text: &str| text.parse::<Net>().unwrap().name();
        assert_eq!(name("3,1221"), "infiniband_ddr4x");
        assert_eq!(name("5,1000"), "5us,1000MB/s");
        for (text, said) in [
            ("gige_amt", "did you mean \"gige_amd\"?"),
            ("62.5", "give a cluster's file, or one of gige_amd"),
            ("62.5,", "is no network"),
            ("62.5,0", "is no network"),
            ("/no/such.json", "cannot read"),
        ] {
            let error = net(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
