//! What events of consistency cost on clusters: published, measured or derived.

mod cluster;
mod derive;
mod events;
mod measured;
mod network;

pub(crate) use cluster::MACHINE_SCHEMA;
pub use cluster::{
    CLUSTER_SCHEMA, CLUSTER_VERSION, Cluster, ClusterError, DiffPrice, HomePrices, HomelessPrices,
    PricesOf, bundled,
};
pub use events::{Counts, Event, Prices, Protocol};
pub use measured::{Crowd, Ends, Measured, Priced, Synchronisation};
pub use network::Network;
