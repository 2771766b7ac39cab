//! Messages between the processes of two hosts before nodes are made, and what can go wrong.

use fathomp_launch::names::HOST;
use fathomp_transport::tcp::{Joint, JointError, TakeError};
use std::ffi::OsString;
use std::io;
use std::time::Duration;

/// How long the processes of all hosts may take to compare what they have.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The processes of all hosts did not come together.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// The variable holds no descriptor.
    #[error("{HOST} is {0:?}, not the number of a descriptor: leave it to `fathomp run --hosts`")]
    Descriptor(OsString),
    /// There is no agent.
    #[error(
        "{HOST} names no socket to an agent of this host ({0}): whatever starts the program must \
         leave its descriptors open"
    )]
    NoAgent(#[source] io::Error),
    /// It gives no connections.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// A network is emulated.
    #[error("a network is emulated between nodes of one machine only: leave out --net or --hosts")]
    Emulated,
    /// The numbers of nodes differ.
    #[error(
        "the program is to have {asked} nodes, and its hosts have {here}: give one of --nodes and --hosts"
    )]
    Nodes {
        /// What its environment says.
        asked: u16,
        /// What the agent says.
        here: u16,
    },
    /// Another host's process is not heard of.
    #[error("the program on host {host} is not heard of: {source}")]
    Unheard {
        /// The host.
        host: String,
        /// Why.
        source: JointError,
    },
    /// Another host's process says what makes no sense.
    #[error(
        "the program on host {0} says what makes no sense: it may be of another version of fathomp"
    )]
    Nonsense(String),
    /// The hosts differ.
    #[error("{0}")]
    Differ(String),
    /// Which pages there are is not known.
    #[error("cannot look at the program's memory: {0}")]
    Pages(#[source] io::Error),
}

/// What two hosts' processes say to each other.
pub(super) struct Talk<'a> {
    pub(super) name: &'a str,
    pub(super) joint: &'a mut Joint,
}

impl Talk<'_> {
    /// Longest message, in bytes.
    const BYTES_MAX: usize = 16 << 20;

    pub(super) fn say(&mut self, message: &[u8]) -> Result<(), MeetError> {
        let said = self.joint.send(message, ANSWER_TIMEOUT);
        said.map_err(|source| self.unheard(source))
    }

    pub(super) fn hear(&mut self) -> Result<Vec<u8>, MeetError> {
        let heard = self.joint.receive(Self::BYTES_MAX, ANSWER_TIMEOUT);
        heard.map_err(|source| self.unheard(source))
    }

    fn unheard(&self, source: JointError) -> MeetError {
        let host = self.name.to_owned();
        MeetError::Unheard { host, source }
    }

    pub(super) fn nonsense(&self) -> MeetError {
        MeetError::Nonsense(self.name.to_owned())
    }
}
