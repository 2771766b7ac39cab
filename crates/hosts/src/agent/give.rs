//! Handing connections over to a program.

use super::door::Door;
use crate::key::Key;
use crate::mesh::{self, Proof};
use crate::secure;
use fathomp_base::NodeId;
use fathomp_transport::tcp::handover::{FromAgent, Hosts};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;

/// Says who is who, and hands over the connections; with a key, they are encrypted.
pub(super) fn give(
    door: &Door,
    key: Option<&Key>,
    hosts: Hosts,
    wires: Vec<(u16, u16, (Proof, TcpStream))>,
) -> io::Result<()> {
    door.say(&FromAgent::Join(hosts), None)?;
    for (mine, peer, (proof, stream)) in wires {
        let wire = FromAgent::Wire {
            mine: NodeId(mine),
            peer: NodeId(peer),
        };
        match key {
            None => {
                mesh::prepare(&stream)?;
                door.say(&wire, Some(stream.as_fd()))?;
            }
            Some(key) => {
                let end = secure::relay(key, &proof, stream, mine < peer)?;
                door.say(&wire, Some(end.as_fd()))?;
            }
        }
    }
    door.say(&FromAgent::Complete, None)
}
