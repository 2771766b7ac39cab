//! Handing connections over to a program.

use super::agent_socket::AgentSocket;
use crate::key::Key;
use crate::mesh::{self, Proof};
use crate::secure;
use fathomp_transport::tcp::handover::{FromAgent, Hosts};
use fathomp_types::NodeId;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A connection for the program.
pub(super) enum Wire {
    /// To the agent of another host, which has proved what it is.
    Proved(Proof, TcpStream),
    /// To this agent, which carries what goes over it: its number, and the socket of its bell.
    Carried(u16, UnixStream),
}

/// What connections that this agent carries have in common.
pub(super) struct Carried {
    pub(super) count: u16,
    pub(super) memory: OwnedFd,
    /// Processors that are left to the program.
    pub(super) processors: u16,
}

/// Says who is who, and hands over the connections; with a key, they are encrypted, and `silent`
/// is told between which two nodes the other host does not answer any more.
pub(super) fn give(
    agent_socket: &AgentSocket,
    key: Option<&Key>,
    hosts: Hosts,
    carried: Option<Carried>,
    wires: Vec<(u16, u16, Wire)>,
    silent: impl Fn(NodeId, NodeId) + Clone + Send + 'static,
) -> io::Result<()> {
    agent_socket.say(&FromAgent::Join(hosts), None)?;
    if let Some(carried) = carried {
        let pipes = FromAgent::Pipes {
            count: carried.count,
            processors: carried.processors,
        };
        agent_socket.say(&pipes, Some(carried.memory.as_fd()))?;
    }
    for (mine, peer, by) in wires {
        let (mine, peer) = (NodeId(mine), NodeId(peer));
        let wire = FromAgent::Wire { mine, peer };
        match (by, key) {
            (Wire::Carried(number, bell), _) => {
                let pipe = FromAgent::Pipe { mine, peer, number };
                agent_socket.say(&pipe, Some(bell.as_fd()))?;
            }
            (Wire::Proved(_, stream), None) => {
                mesh::prepare(&stream)?;
                agent_socket.say(&wire, Some(stream.as_fd()))?;
            }
            (Wire::Proved(proof, stream), Some(key)) => {
                let end = secure::relay(key, &proof, stream, mine < peer, {
                    let silent = silent.clone();
                    move || silent(mine, peer)
                })?;
                agent_socket.say(&wire, Some(end.as_fd()))?;
            }
        }
    }
    agent_socket.say(&FromAgent::Complete, None)
}
