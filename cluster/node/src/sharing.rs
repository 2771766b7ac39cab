//! Which protocol shares memory, and how, as the environment says.

use crate::engine::{Engine, Host, NodeError};
use crate::layout::Shared;
use crate::observer::watch;
use crate::waits::Waits;
use fathomp_launch::{Cluster, Protocol};
use fathomp_protocols::AreaError;
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_types::NodeId;

/// How memory is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sharing {
    cluster: Cluster,
}

/// A protocol cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    /// There is more than pages can be numbered.
    #[error("cannot share so much memory among so many nodes: {0}")]
    Areas(#[from] AreaError),
    /// The protocol cannot start.
    #[error("cannot start sharing: {0}")]
    Protocol(#[from] NodeError),
}

impl Sharing {
    pub(crate) fn new(cluster: Cluster) -> Self {
        Self { cluster }
    }

    /// Whether to look for races.
    pub(crate) fn looks_for_races(self) -> bool {
        self.cluster.races
    }

    /// Whether ordinary loads have to acquire in a program that waits so.
    pub(crate) fn loads_acquire(self, waits: Waits) -> bool {
        waits.loads_acquire(self.cluster.loads)
    }

    /// Starts the protocol at node `me`.
    ///
    /// # Errors
    /// If the areas cannot be, or the system refuses.
    pub(crate) fn start(
        self,
        me: NodeId,
        shared: Shared,
        host: &Host,
    ) -> Result<Engine, SharingError> {
        let Cluster {
            protocol,
            diff_memory_mib: mib,
            plain,
            races,
            ..
        } = self.cluster;
        let watch = watch(me, &shared).map_err(NodeError::from)?;
        let Shared {
            nodes,
            areas,
            loads_acquire,
            remembers_unseen,
            carries,
            tries_locks,
        } = shared;
        Ok(match protocol {
            Protocol::Home => {
                let usual = home::Config::usual(nodes, areas, plain, loads_acquire);
                // A page that is opened ahead says nothing of when it was written.
                let left_out = match races {
                    true => PredictorSet::OF_WRITES,
                    false => PredictorSet::default(),
                };
                let config = home::Config {
                    heuristics: usual.heuristics.without(left_out),
                    remembers_unseen,
                    // What is watched or counted as published is sections under a lock.
                    carries: carries && watch.is_none() && !plain,
                    keeps_locks: !tries_locks && watch.is_none() && !plain && !races,
                    ..usual
                };
                let home = Home::new(me, config)?;
                let home = if races { home.watching_all() } else { home };
                Engine::start(Box::new(home), host, watch)?
            }
            Protocol::Homeless => {
                let usual = homeless::Config::usual(nodes, areas, mib, plain, loads_acquire);
                let config = homeless::Config {
                    remembers_unseen,
                    // What is watched is sections under a lock.
                    postpones: carries && watch.is_none() && !plain,
                    ..usual
                };
                let homeless = Homeless::new(me, config)?;
                Engine::start(Box::new(homeless), host, watch)?
            }
        })
    }
}
