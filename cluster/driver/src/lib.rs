//! The one loop that steps a protocol.
//!
//! A [`Driver`] tells its protocol what happens at a node and carries out what the protocol
//! asks for, on a [`Machine`]: the pages, threads and peers of one node, which may be real,
//! simulated, or only counted. The order in which a protocol hears of things is decided
//! here and nowhere else, so the simulator, the model checker and replays see the same
//! orders as real nodes. Where an effect can go more than one way (see
//! [`fathomp_protocols::Fetch`], [`fathomp_protocols::Serve`], [`fathomp_protocols::Bring`],
//! [`fathomp_protocols::Tell`]) the driver picks it: memory that nodes share
//! ([`fathomp_shm_window::Window`]) if the machine has such memory and it can be done there, a
//! message otherwise.
#![forbid(unsafe_code)]

mod direct;
mod machine;
mod spinning;
mod step;
mod update;

pub use machine::{Answer, Machine};

use fathomp_protocols::{Action, Input, Protocol, SpinReads, Underway, Violation};
use fathomp_types::NodeId;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// Why a step could not be made. The protocol must not be used after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// A peer or the runtime broke the protocol.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// A page is to be changed by an atomic instruction on a machine that cannot do that.
    #[error("the protocol asked for an atomic change of a page where nobody can make one")]
    CannotChange,
    /// The log in shared memory makes no sense.
    #[error("what nodes tell each other in shared memory was overwritten, perhaps by the program")]
    Overwritten,
}

/// A protocol at work. `B` is content as it arrives.
#[derive(Clone, Debug)]
pub struct Driver<P, B> {
    me: NodeId,
    protocol: P,
    /// What was sent by message and must not be overtaken in shared memory.
    underway: Underway,
    /// What has come to pages that threads look at in loops.
    looks: SpinReads,
    /// What follows from what was done in shared memory.
    following: VecDeque<Input<B>>,
    /// Pages that were taken, of which the protocol has to be told next.
    took: VecDeque<Input<B>>,
    /// Room for actions, empty between steps.
    actions: Vec<Action<B>>,
}

impl<P: Protocol<B>, B> Driver<P, B> {
    /// A driver for node `me`, before anything happened.
    pub fn new(me: NodeId, protocol: P) -> Self {
        Self {
            me,
            protocol,
            underway: Underway::default(),
            looks: SpinReads::default(),
            following: VecDeque::new(),
            took: VecDeque::new(),
            actions: Vec::new(),
        }
    }

    /// The protocol, to be looked at.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }
}

/// What tells two states of a node apart: the protocol, and what it has under way. Between two
/// steps nothing else is kept but what [spinning threads](Driver::lacking) have seen, which
/// decides when they ask, not what is right.
impl<P: PartialEq, B> PartialEq for Driver<P, B> {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.underway == other.underway
    }
}

impl<P: Eq, B> Eq for Driver<P, B> {}

impl<P: Hash, B> Hash for Driver<P, B> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.protocol.hash(state);
        self.underway.hash(state);
    }
}
