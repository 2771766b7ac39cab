//! The program's side of the [handover](super::handover): the connections that its agent has made.

use super::connection::Connection;
use super::handover::{FromAgent, Hosts, PACKET_BYTES_MAX, ToAgent};
use super::pipe::{Pipes, Side};
use fathomp_sys::packets::Packets;
use fathomp_sys::polling::NonblockingSocket;
use fathomp_types::NodeId;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The agent of this host gives no connections.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It is not heard of.
    #[error("the agent of this host is not heard of: {0}")]
    Lost(#[source] io::Error),
    /// It is gone.
    #[error("the agent of this host has ended")]
    Ended,
    /// It says something else than it should.
    #[error("the agent of this host is of another version of fathomp")]
    Nonsense,
    /// There are no connections.
    #[error("{0}")]
    Refused(String),
}

/// A connection between a node of this host and one of another.
#[derive(Debug)]
pub struct TakenWire {
    /// The node here.
    pub mine: NodeId,
    /// The node there.
    pub peer: NodeId,
    /// The stream.
    pub wire: Connection,
}

/// What the agent has given.
#[derive(Debug)]
pub struct Taken {
    /// The hosts of the run.
    pub hosts: Hosts,
    /// All connections of this host's nodes to those of others.
    pub wires: Vec<TakenWire>,
    /// Processors that are left to this program, where its agent needs one as well.
    pub processors: Option<u16>,
}

/// Asks the agent for the hosts of the run and for connections to them, and waits for all.
///
/// # Errors
/// If there are none.
pub fn take(agent: &Packets) -> Result<Taken, TakeError> {
    let hello = ToAgent::Hello {
        pid: std::process::id(),
    };
    agent.send(&hello.encode()).map_err(TakeError::Lost)?;
    let mut room = vec![0; PACKET_BYTES_MAX];
    let mut sofar = SoFar::default();
    loop {
        let (packet, with) = agent.receive(&mut room).map_err(TakeError::Lost)?;
        if packet.is_empty() {
            return Err(TakeError::Ended);
        }
        match FromAgent::decode(packet) {
            Ok(FromAgent::Complete) => break,
            Ok(FromAgent::Refuse { text }) => return Err(TakeError::Refused(text)),
            Ok(said) => sofar.hear(said, with)?,
            Err(_) => return Err(TakeError::Nonsense),
        }
    }
    Ok(Taken {
        hosts: sofar.hosts.ok_or(TakeError::Nonsense)?,
        wires: sofar.wires,
        processors: sofar.processors,
    })
}

/// What has been taken so far.
#[derive(Default)]
struct SoFar {
    hosts: Option<Hosts>,
    processors: Option<u16>,
    pipes: Option<Pipes>,
    wires: Vec<TakenWire>,
}

impl SoFar {
    fn hear(&mut self, said: FromAgent, with: Option<OwnedFd>) -> Result<(), TakeError> {
        let nonsense = || TakeError::Nonsense;
        let (mine, peer, wire) = match (said, with) {
            (FromAgent::Join(all), None) => {
                self.hosts = Some(all);
                return Ok(());
            }
            (FromAgent::Pipes { count, processors }, Some(memory)) => {
                let nodes = self.hosts.as_ref().ok_or_else(nonsense)?.nodes();
                let pipes = Pipes::of_descriptor(memory.as_fd(), count, nodes);
                self.pipes = Some(pipes.map_err(|_| nonsense())?);
                self.processors = Some(processors);
                return Ok(());
            }
            (FromAgent::Wire { mine, peer }, Some(stream)) => (
                mine,
                peer,
                Connection::Socket(NonblockingSocket::new(stream)),
            ),
            (FromAgent::Pipe { mine, peer, number }, Some(bell)) => {
                let pipes = self.pipes.as_ref().ok_or_else(nonsense)?;
                let pipe = pipes.end(number, Side::Program, bell);
                (mine, peer, Connection::Pipe(pipe.ok_or_else(nonsense)?))
            }
            _ => return Err(nonsense()),
        };
        self.wires.push(TakenWire { mine, peer, wire });
        Ok(())
    }
}
