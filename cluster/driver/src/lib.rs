//! The one loop that steps a protocol.
//!
//! A [`Driver`] tells its protocol what happens at a node and carries out what the protocol
//! asks for, on a [`Machine`]: the pages, threads and peers of one node, which may be real,
//! simulated, or only counted. The order in which a protocol hears of things is decided
//! here and nowhere else, so the simulator, the model checker and replays see the same
//! orders as real nodes.
#![forbid(unsafe_code)]

mod machine;
mod spinning;
mod step;

pub use machine::{Answer, Machine};

use fathomp_protocols::{Action, Protocol, SpinReads, Violation};
use fathomp_types::NodeId;
use std::hash::{Hash, Hasher};

/// Why a step could not be made. The protocol must not be used after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// A peer or the runtime broke the protocol.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// What this node is about to send makes no sense.
    #[error("the protocol is about to send node {to} a message that {what}")]
    Message {
        /// To whom.
        to: NodeId,
        /// What it does.
        what: &'static str,
    },
    /// A page is to be changed by an atomic instruction on a machine that cannot do that.
    #[error("the protocol asked for an atomic change of a page where nobody can make one")]
    CannotChange,
}

/// A protocol at work. `B` is content as it arrives.
#[derive(Clone, Debug)]
pub struct Driver<P, B> {
    me: NodeId,
    protocol: P,
    /// What has come to pages that threads look at in loops.
    looks: SpinReads,
    /// Room for actions, empty between steps.
    actions: Vec<Action<B>>,
}

impl<P: Protocol<B>, B> Driver<P, B> {
    /// A driver for node `me`, before anything happened.
    pub fn new(me: NodeId, protocol: P) -> Self {
        Self {
            me,
            protocol,
            looks: SpinReads::default(),
            actions: Vec::new(),
        }
    }

    /// The protocol, to be looked at.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }
}

/// What tells two states of a node apart: the protocol. Between two steps nothing else is kept
/// but what [spinning threads](Driver::lacking) have seen, which decides when they ask, not what
/// is right.
impl<P: PartialEq, B> PartialEq for Driver<P, B> {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol
    }
}

impl<P: Eq, B> Eq for Driver<P, B> {}

impl<P: Hash, B> Hash for Driver<P, B> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.protocol.hash(state);
    }
}
