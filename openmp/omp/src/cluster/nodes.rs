//! This node's side of the cluster.

use super::interface::{Cell, Cluster};
use crate::parallel::LARGEST_TEAM;
use crate::sync::Names;
use crate::task::Remote;
use fathomp_sys::outlined::Outlined;
use fathomp_sys::static_ref::AtomicRef;
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// This node's side of the cluster.
pub(crate) struct Nodes {
    pub(crate) cluster: &'static dyn Cluster,
    /// A region is spread at the moment; there can be one at a time.
    pub(super) busy: AtomicBool,
    /// Regions that were spread until now, the present one included.
    pub(super) regions: AtomicU64,
    /// Locks that threads of this node hold or wait for.
    pub(crate) locks: Names,
    pub(super) lent: ConstructMemory,
    pub(super) blocks: Blocks,
    /// How tasks come and go; none if they stay.
    pub(crate) remote: Option<Remote>,
    /// Functions that regions have run.
    pub(super) code: Mutex<HashMap<usize, Outlined>>,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Nodes({} of {})",
            self.cluster.node(),
            self.cluster.nodes()
        )
    }
}

impl Nodes {
    /// Threads that the user wants on all nodes together.
    pub(crate) fn all_threads(&self) -> u32 {
        self.cluster
            .nodes()
            .saturating_mul(self.cluster.threads_per_node())
            .min(LARGEST_TEAM)
    }

    /// Ends the program because of `reason`.
    pub(crate) fn fail(&self, reason: fmt::Arguments) -> ! {
        self.cluster.fail(&reason.to_string())
    }

    /// The system has refused threads that other nodes count on.
    #[cold]
    pub(crate) fn lack_threads(&self, missing: u32) -> ! {
        self.fail(format_args!(
            "the system refuses {missing} of the threads that a region needs on node {}: \
             ask for fewer threads or raise the limit (ulimit -u)",
            self.cluster.node()
        ))
    }
}

/// Blocks since the last barrier.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// There are any.
    pub(super) some: AtomicBool,
    /// Those that threads of this node run or have run, and have not told of.
    pub(super) here: Mutex<Vec<(usize, Cell)>>,
    /// Those that other nodes run or have run, and nobody here has waited for.
    pub(super) elsewhere: Mutex<Vec<Cell>>,
}

/// Addresses to be given back, by how many barriers ago they were needed: a
/// construct's memory may be read until its members have passed the barrier
/// after its own.
#[derive(Debug, Default)]
pub(super) struct ConstructMemory(pub(super) Mutex<[Vec<usize>; 2]>);

/// On a line of its own, since every lock looks at it.
#[repr(align(128))]
pub(super) struct OwnLine(pub(super) AtomicRef<Nodes>);

pub(super) static INSTALLED: OwnLine = OwnLine(AtomicRef::new(None));

/// The cluster, if this process is a node of one.
#[inline]
pub(crate) fn installed() -> Option<&'static Nodes> {
    INSTALLED.0.load(Ordering::Acquire)
}
