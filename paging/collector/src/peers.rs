//! Processes that send what they have to say: connections, and messages out of their bytes.
//! Whatever a peer sends, the collector stays whole and says which peer it was.

use fathomp_feed::message::{
    self, BODY_BYTES_MOST, ClockNote, HEADER_BYTES, Header, Hello, Kind, Role, Welcome,
};
use fathomp_sys::clock;
use fathomp_sys::local_listener::{LocalListener, LocalPeer};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Connections at a time; more wait to be accepted.
const PEERS_MAX: usize = 4096;
/// How long a peer may take to introduce itself.
const INTRODUCTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a message on a local socket at most: words, with the header before them.
const LOCAL_BYTES: usize = 256 << 10;
/// Bytes taken from one peer at a time, so that others get their turn.
const TURN_BYTES: usize = 4 << 20;

/// All connections, and where they come from.
#[derive(Debug)]
pub(crate) struct Peers {
    local: Option<LocalListener>,
    network: Option<TcpListener>,
    key: String,
    expected: ExpectedPeers,
    peers: Vec<Peer>,
    next: u64,
    buffer: Vec<u8>,
    /// Nobody could be accepted last time, for want of descriptors say. Those that wait then
    /// are no reason to look at once.
    deaf: bool,
}

/// Which peers may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedPeers {
    /// Processes that are recorded.
    Processes,
    /// Collectors of nodes.
    Nodes,
}

/// A number of a connection, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PeerId(u64);

/// What a peer does.
#[derive(Debug)]
pub(crate) enum Event {
    /// It introduced itself.
    Came(Box<Hello>),
    /// It sent a message.
    Sent(Header, Vec<u8>),
    /// It is gone; why, if that is not as it should be.
    Went(Option<String>),
}

#[derive(Debug)]
struct Peer {
    id: PeerId,
    link: Link,
    /// Bytes that are no whole message yet.
    bytes: Vec<u8>,
    came: Instant,
    known: bool,
    name: String,
}

#[derive(Debug)]
enum Link {
    Local(LocalPeer),
    Network(TcpStream),
}

impl Peers {
    pub(crate) fn new(
        local: Option<LocalListener>,
        network: Option<TcpListener>,
        key: &str,
        expected: ExpectedPeers,
    ) -> Self {
        Self {
            local,
            network,
            key: key.to_owned(),
            expected,
            peers: Vec::new(),
            next: 1,
            buffer: vec![0; LOCAL_BYTES],
            deaf: false,
        }
    }

    /// What to wait for.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all: Vec<_> = self.peers.iter().map(|peer| peer.link.as_fd()).collect();
        if !self.deaf {
            all.extend(self.local.as_ref().map(AsFd::as_fd));
            all.extend(self.network.as_ref().map(AsFd::as_fd));
        }
        all
    }

    /// Sends a short message to a peer; if it does not take it, it is gone soon.
    pub(crate) fn answer(&mut self, id: PeerId, bytes: &[u8]) {
        if let Some(peer) = self.peers.iter_mut().find(|peer| peer.id == id) {
            let _ = answer(&mut peer.link, bytes);
        }
    }

    /// Closes the connection to a peer.
    pub(crate) fn close(&mut self, id: PeerId) {
        self.peers.retain(|peer| peer.id != id);
    }

    /// Takes what has come, without waiting. Gives problems with strangers.
    pub(crate) fn poll(&mut self, mut take: impl FnMut(PeerId, Event)) -> Vec<String> {
        let mut problems = Vec::new();
        self.accept();
        let mut peers = std::mem::take(&mut self.peers);
        peers.retain_mut(|peer| {
            let went = match self.receive(peer, &mut take) {
                Ok(true) => None,
                Ok(false) => Some(None),
                Err(why) => Some(Some(why)),
            };
            let Some(why) = went else {
                return true;
            };
            if peer.known {
                take(peer.id, Event::Went(why));
            } else if let Some(why) = why {
                problems.push(format!("{} was refused: {why}.", peer.name));
            }
            false
        });
        // Those that came first are heard first.
        peers.append(&mut self.peers);
        self.peers = peers;
        problems
    }

    fn accept(&mut self) {
        self.deaf = self.peers.len() >= PEERS_MAX;
        while self.peers.len() < PEERS_MAX {
            let link = match (&self.local, &self.network) {
                (Some(listener), _) => match listener.accept() {
                    Ok(Some(link)) => Ok((Link::Local(link), None)),
                    Ok(None) => return,
                    Err(error) => Err(error),
                },
                (None, Some(listener)) => listener.accept().and_then(|(stream, address)| {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    Ok((Link::Network(stream), Some(address)))
                }),
                (None, None) => return,
            };
            let (link, address) = match link {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.deaf = error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            };
            let name = address.map_or_else(
                || "A process on this host".to_owned(),
                |address| format!("A connection from {address}"),
            );
            self.peers.push(Peer {
                id: PeerId(self.next),
                link,
                bytes: Vec::new(),
                came: Instant::now(),
                known: false,
                name,
            });
            self.next += 1;
        }
    }

    /// Whether the peer is still there.
    fn receive(
        &mut self,
        peer: &mut Peer,
        take: &mut impl FnMut(PeerId, Event),
    ) -> Result<bool, String> {
        let mut taken = 0;
        while taken < TURN_BYTES {
            let got = match &mut peer.link {
                Link::Local(link) => link.receive(&mut self.buffer),
                Link::Network(stream) => stream.read(&mut self.buffer),
            };
            let got = match got {
                Ok(0) if peer.bytes.is_empty() => return Ok(false),
                Ok(0) => return Err("it stopped in the midst of a message".to_owned()),
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let silent = !peer.known && peer.came.elapsed() > INTRODUCTION_TIMEOUT;
                    return match silent {
                        true => Err("it did not introduce itself".to_owned()),
                        false => Ok(true),
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error.to_string()),
            };
            let bytes = self
                .buffer
                .get(..got)
                .ok_or("it sent a message that is too long")?;
            taken += got;
            peer.bytes.extend_from_slice(bytes);
            let used = self.messages(peer, take)?;
            peer.bytes.drain(..used);
        }
        Ok(true)
    }

    /// Whether a peer belongs to the recording.
    fn welcome(&self, link: &mut Link, body: &[u8]) -> Result<Box<Hello>, String> {
        let hello: Result<Hello, _> = serde_json::from_slice(body);
        let refusal = match &hello {
            Err(_) => Some("what it said of itself makes no sense"),
            Ok(hello) if hello.version != message::VERSION => {
                Some("it is of another version of fathomp")
            }
            Ok(hello)
                if hello.key != self.key
                    || (self.key.is_empty() && matches!(link, Link::Network(_))) =>
            {
                Some("its key is not that of this recording")
            }
            Ok(hello) => match (self.expected, &hello.role) {
                (ExpectedPeers::Processes, Role::Node) => Some("it is no process that is recorded"),
                (ExpectedPeers::Nodes, Role::Process { .. }) => {
                    Some("it is no collector of a node")
                }
                _ => None,
            },
        };
        let mut bytes = Vec::new();
        if let Some(why) = refusal {
            message::put(&mut bytes, Header::of(Kind::Refused), why.as_bytes());
            // It may be gone already; it is refused in any case.
            let _ = answer(link, &bytes);
            return Err(why.to_owned());
        }
        let note = Welcome {
            host: message::host(),
            boot: message::boot(),
        };
        if matches!(link, Link::Network(_)) {
            message::put_note(&mut bytes, Kind::Welcome, &note);
            answer(link, &bytes)?;
        }
        hello.map(Box::new).map_err(|error| error.to_string())
    }

    /// Takes whole messages out of a peer's bytes; gives how many bytes that were.
    fn messages(
        &self,
        peer: &mut Peer,
        take: &mut impl FnMut(PeerId, Event),
    ) -> Result<usize, String> {
        let mut at = 0;
        while let Some(head) = peer.bytes.get(at..at + HEADER_BYTES) {
            let header = Header::from_bytes(head).map_err(|error| error.to_string())?;
            let begin = at + HEADER_BYTES;
            debug_assert!(header.bytes <= BODY_BYTES_MOST);
            let Some(body) = peer.bytes.get(begin..begin + header.bytes) else {
                break;
            };
            at = begin + header.bytes;
            match header.kind {
                Kind::Hello if !peer.known => {
                    let hello = self.welcome(&mut peer.link, body)?;
                    peer.known = true;
                    take(peer.id, Event::Came(hello));
                }
                _ if !peer.known => return Err("it did not introduce itself".to_owned()),
                Kind::Ping => {
                    let pong = Header {
                        position: clock::unix_ns(),
                        ..Header::of(Kind::Pong)
                    };
                    answer(&mut peer.link, &pong.to_bytes())?;
                }
                _ => take(peer.id, Event::Sent(header, body.to_vec())),
            }
        }
        Ok(at)
    }
}

/// Answers are short; a peer that does not even read these is given up.
fn answer(link: &mut Link, bytes: &[u8]) -> Result<(), String> {
    match link {
        Link::Local(_) => Ok(()),
        Link::Network(stream) => match stream.write(bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err("it does not read what it is answered".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    }
}

impl Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Local(link) => link.as_fd(),
            Self::Network(stream) => stream.as_fd(),
        }
    }
}

/// The clock note of a message.
pub(crate) fn clock_note(body: &[u8]) -> Option<ClockNote> {
    serde_json::from_slice(body).ok()
}
