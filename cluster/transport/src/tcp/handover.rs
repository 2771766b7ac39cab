//! What a program and the agent of its host say to each other.
//!
//! A program that a launcher starts on several hosts inherits a socket for packets
//! (`SOCK_SEQPACKET`) whose other end its host's agent has. The agent makes the connections to
//! the nodes of other hosts, proves to their agents that they are of this run, and hands them
//! over as descriptors (`SCM_RIGHTS`): the library in the program knows neither addresses nor
//! keys.
//!
//! ```text
//! program                                agent
//! Hello       ->
//!                     <-  Join           who is who
//!                     <-  Wire, ...      each with a connected stream; or where agents carry
//!                     <-  Pipes          what goes over them: with memory for all,
//!                     <-  Pipe, ...      and each with a socket for its bell
//!                     <-  Complete       or Refuse at any time
//! Report      ->                         if the run fails
//! ```
//!
//! A packet is a byte that says what it is, and its fields in little-endian order.

use crate::Abort;
use fathomp_types::NodeId;

/// The longest packet, in bytes.
pub const PACKET_BYTES_MAX: usize = 64 << 10;
/// The longest sentence in a packet, in bytes.
pub const TEXT_BYTES_MAX: usize = 2_000;

/// A host of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the user calls it.
    pub name: String,
    /// How many nodes run there.
    pub nodes: u16,
}

/// All hosts of a run. Nodes are numbered host by host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    me: u16,
    hosts: Vec<Host>,
}

impl Hosts {
    /// These hosts, of which this is number `me`; none if there is no such number, a host has no
    /// nodes, or there are more than can be numbered.
    #[must_use]
    pub fn new(me: u16, hosts: Vec<Host>) -> Option<Self> {
        let nodes = hosts
            .iter()
            .try_fold(0_u16, |sum, host| sum.checked_add(host.nodes));
        let sound = nodes.is_some()
            && usize::from(me) < hosts.len()
            && hosts.iter().all(|host| host.nodes > 0);
        sound.then_some(Self { me, hosts })
    }

    /// The number of this host.
    #[must_use]
    pub fn me(&self) -> u16 {
        self.me
    }

    /// All of them, in their order.
    #[must_use]
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// How many nodes there are on all hosts.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        self.hosts.iter().map(|host| host.nodes).sum()
    }

    /// The nodes of a host; none at all if there is no such host.
    #[must_use]
    pub fn nodes_of(&self, host: u16) -> std::ops::Range<u16> {
        let before = self.hosts.iter().take(usize::from(host));
        let first = before.map(|host| host.nodes).sum();
        let count = self.hosts.get(usize::from(host)).map_or(0, |h| h.nodes);
        first..first + count
    }

    /// The host of a node.
    #[must_use]
    pub fn host_of(&self, node: NodeId) -> Option<u16> {
        let count = u16::try_from(self.hosts.len()).unwrap_or(u16::MAX);
        (0..count).find(|host| self.nodes_of(*host).contains(&node.0))
    }

    /// How a sentence calls the host of a node.
    #[must_use]
    pub fn name_of(&self, node: NodeId) -> &str {
        let host = self.host_of(node).map(usize::from);
        let host = host.and_then(|host| self.hosts.get(host));
        host.map_or("an unknown host", |host| &host.name)
    }
}

/// What a program says to its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToAgent {
    /// It is about to become nodes, and needs connections.
    Hello {
        /// Its process.
        pid: u32,
    },
    /// The run has failed.
    Report(Abort),
}

/// What an agent says to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// The hosts of the run.
    Join(Hosts),
    /// With this packet comes a stream from a node of this host to one of another.
    Wire {
        /// The node here.
        mine: NodeId,
        /// The node there.
        peer: NodeId,
    },
    /// With this packet comes memory for connections that the agent carries.
    Pipes {
        /// How many there are.
        count: u16,
        /// Processors that the agents and programs beside this one leave to it.
        processors: u16,
    },
    /// With this packet comes the socket of one of them.
    Pipe {
        /// The node here.
        mine: NodeId,
        /// The node there.
        peer: NodeId,
        /// Which one it is in the memory.
        number: u16,
    },
    /// That were all.
    Complete,
    /// There will be no connections.
    Refuse {
        /// Why: a sentence for the user.
        text: String,
    },
}

/// A packet that is none of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet between a program and its host's agent makes no sense")]
pub struct BadPacket;

const HELLO: u8 = 1;
const REPORT: u8 = 2;
const JOIN: u8 = 3;
const WIRE: u8 = 4;
const COMPLETE: u8 = 5;
const REFUSE: u8 = 6;
const PIPES: u8 = 7;
const PIPE: u8 = 8;

impl ToAgent {
    /// As a packet.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Hello { pid } => {
                bytes.push(HELLO);
                bytes.extend(pid.to_le_bytes());
            }
            Self::Report(Abort {
                by,
                node,
                code,
                text,
            }) => {
                bytes.push(REPORT);
                bytes.extend(by.0.to_le_bytes());
                bytes.extend(node.0.to_le_bytes());
                bytes.extend(code.to_le_bytes());
                put_text(&mut bytes, text);
            }
        }
        bytes
    }

    /// What a packet says.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn decode(packet: &[u8]) -> Result<Self, BadPacket> {
        let mut fields = Fields(packet);
        let said = match fields.byte()? {
            HELLO => Self::Hello { pid: fields.u32()? },
            REPORT => Self::Report(Abort {
                by: NodeId(fields.u16()?),
                node: NodeId(fields.u16()?),
                code: fields.u32()?,
                text: fields.text()?,
            }),
            _ => return Err(BadPacket),
        };
        fields.end(said)
    }
}

impl FromAgent {
    /// As a packet.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Join(hosts) => {
                bytes.push(JOIN);
                bytes.extend(hosts.me.to_le_bytes());
                for host in &hosts.hosts {
                    bytes.extend(host.nodes.to_le_bytes());
                    put_text(&mut bytes, &host.name);
                }
            }
            Self::Wire { mine, peer } => {
                bytes.push(WIRE);
                bytes.extend(mine.0.to_le_bytes());
                bytes.extend(peer.0.to_le_bytes());
            }
            Self::Pipes { count, processors } => {
                bytes.push(PIPES);
                bytes.extend(count.to_le_bytes());
                bytes.extend(processors.to_le_bytes());
            }
            Self::Pipe { mine, peer, number } => {
                bytes.push(PIPE);
                for field in [mine.0, peer.0, *number] {
                    bytes.extend(field.to_le_bytes());
                }
            }
            Self::Complete => bytes.push(COMPLETE),
            Self::Refuse { text } => {
                bytes.push(REFUSE);
                put_text(&mut bytes, text);
            }
        }
        bytes
    }

    /// What a packet says.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn decode(packet: &[u8]) -> Result<Self, BadPacket> {
        let mut fields = Fields(packet);
        let said = match fields.byte()? {
            JOIN => {
                let me = fields.u16()?;
                let mut hosts = Vec::new();
                while !fields.0.is_empty() {
                    let nodes = fields.u16()?;
                    let name = fields.text()?;
                    hosts.push(Host { name, nodes });
                }
                Self::Join(Hosts::new(me, hosts).ok_or(BadPacket)?)
            }
            WIRE => Self::Wire {
                mine: NodeId(fields.u16()?),
                peer: NodeId(fields.u16()?),
            },
            PIPES => Self::Pipes {
                count: fields.u16()?,
                processors: fields.u16()?,
            },
            PIPE => Self::Pipe {
                mine: NodeId(fields.u16()?),
                peer: NodeId(fields.u16()?),
                number: fields.u16()?,
            },
            COMPLETE => Self::Complete,
            REFUSE => Self::Refuse {
                text: fields.text()?,
            },
            _ => return Err(BadPacket),
        };
        fields.end(said)
    }
}

/// A length and the text, which is cut where it is too long.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// What is left of a packet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], BadPacket> {
        let (field, rest) = self.0.split_first_chunk().ok_or(BadPacket)?;
        self.0 = rest;
        Ok(*field)
    }

    fn byte(&mut self) -> Result<u8, BadPacket> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, BadPacket> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, BadPacket> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, BadPacket> {
        let length = usize::from(self.u16()?);
        let (text, rest) = self.0.split_at_checked(length).ok_or(BadPacket)?;
        self.0 = rest;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn end<T>(self, said: T) -> Result<T, BadPacket> {
        self.0.is_empty().then_some(said).ok_or(BadPacket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(me: u16, nodes: &[u16]) -> Option<Hosts> {
        let host = |(number, nodes): (usize, &u16)| Host {
            name: format!("h{number}"),
            nodes: *nodes,
        };
        Hosts::new(me, nodes.iter().enumerate().map(host).collect())
    }

    #[test]
    fn nodes_are_numbered_host_by_host() {
        let hosts = hosts(1, &[1, 2, 3]).unwrap();
        assert_eq!(hosts.nodes(), 6);
        assert_eq!(hosts.nodes_of(1), 1..3);
        assert_eq!(hosts.nodes_of(2), 3..6);
        assert!(hosts.nodes_of(3).is_empty());
        assert_eq!(hosts.host_of(NodeId(0)), Some(0));
        assert_eq!(hosts.host_of(NodeId(5)), Some(2));
        assert_eq!(hosts.host_of(NodeId(6)), None);
        assert_eq!(hosts.name_of(NodeId(2)), "h1");
    }

    #[test]
    fn hosts_that_cannot_be_are_refused() {
        assert!(hosts(0, &[]).is_none());
        assert!(hosts(2, &[1, 1]).is_none());
        assert!(hosts(0, &[1, 0]).is_none());
        assert!(hosts(0, &[u16::MAX, 1]).is_none());
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(
            numbers in proptest::array::uniform3(any::<u16>()),
            text in ".{0,100}",
            nodes in proptest::collection::vec(1..9_u16, 1..9),
        ) {
            let [by, node, me] = numbers;
            let report = ToAgent::Report(Abort {
                by: NodeId(by),
                node: NodeId(node),
                code: u32::from(me),
                text: text.clone(),
            });
            let hello = ToAgent::Hello { pid: u32::from(by) };
            for said in [report, hello] {
                prop_assert_eq!(ToAgent::decode(&said.encode()), Ok(said));
            }
            let hosts = hosts(me % nodes.len() as u16, &nodes).unwrap();
            let wire = FromAgent::Wire { mine: NodeId(by), peer: NodeId(node) };
            let pipe = FromAgent::Pipe { mine: NodeId(by), peer: NodeId(node), number: me };
            let pipes = FromAgent::Pipes { count: me, processors: by };
            let refuse = FromAgent::Refuse { text };
            let join = FromAgent::Join(hosts);
            for said in [join, wire, pipes, pipe, FromAgent::Complete, refuse] {
                prop_assert_eq!(FromAgent::decode(&said.encode()), Ok(said));
            }
        }

        #[test]
        fn garbage_is_refused_or_read_as_it_stands(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(said) = ToAgent::decode(&bytes) {
                prop_assert_eq!(ToAgent::decode(&said.encode()), Ok(said));
            }
            if let Ok(said) = FromAgent::decode(&bytes) {
                prop_assert_eq!(FromAgent::decode(&said.encode()), Ok(said));
            }
        }
    }
}
