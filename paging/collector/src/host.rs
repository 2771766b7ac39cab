//! A recording host: keeps what the collectors of nodes forward (`fathomp collect --listen`).
//!
//! It understands nothing of what it keeps: files by name, appended to. Whatever a node sends
//! or stops to send, what came until then stays.

use crate::peers::{self, Event, ExpectedPeers, PeerId, Peers};
use fathomp_feed::append::append;
use fathomp_feed::message::{self, ClockNote, Header, Kind};
use fathomp_sys::polling::readable;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a node may be silent; it gives a sign of life every few seconds.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Files of one node.
const FILES_MOST: usize = 1 << 20;
/// Bytes of a file's name.
const NAME_BYTES_MOST: usize = 100;

/// A recording host.
#[derive(Debug)]
pub struct Host {
    directory: PathBuf,
    limit_bytes: u64,
    peers: Peers,
    address: SocketAddr,
    nodes: HashMap<PeerId, Node>,
    summary: HostSummary,
}

/// Why a recording host cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The directory cannot be made.
    #[error("cannot make {path}: {source}; check the space and the permissions there")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is something in it.
    #[error("{0} is not empty; choose another directory")]
    Occupied(PathBuf),
    /// Nobody could connect.
    #[error("cannot listen at {address}: {source}; choose another address")]
    Listen {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Anybody could connect.
    #[error("a recording host needs a key, which nodes have to know; give it one")]
    NoKey,
}

/// What a recording host came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSummary {
    /// Nodes that connected.
    pub nodes: u64,
    /// Of these, nodes that said that nothing more would come.
    pub complete: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// What went wrong, each as one sentence for the user.
    pub problems: Vec<String>,
}

#[derive(Debug)]
struct Node {
    host: String,
    clock: ClockNote,
    files: Vec<(PathBuf, u64)>,
    bytes: u64,
    heard: Instant,
    done: bool,
}

impl Host {
    /// Listens at `address` (`host:port`; port 0 for any) for nodes that know the key, and
    /// keeps what they send in `directory`, up to `limit_bytes`.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn listen(
        address: &str,
        directory: &Path,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Self, HostError> {
        if key.is_empty() {
            return Err(HostError::NoKey);
        }
        let error = |source| HostError::Directory {
            path: directory.to_owned(),
            source,
        };
        std::fs::create_dir_all(directory).map_err(error)?;
        if std::fs::read_dir(directory)
            .map_err(error)?
            .next()
            .is_some()
        {
            return Err(HostError::Occupied(directory.to_owned()));
        }
        let error = |source| HostError::Listen {
            address: address.to_owned(),
            source,
        };
        let listener = TcpListener::bind(address).map_err(error)?;
        listener.set_nonblocking(true).map_err(error)?;
        Ok(Self {
            directory: directory.to_owned(),
            limit_bytes,
            address: listener.local_addr().map_err(error)?,
            peers: Peers::new(None, Some(listener), key, ExpectedPeers::Nodes),
            nodes: HashMap::new(),
            summary: HostSummary::default(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keeps what comes until all nodes that came are gone, and at least one came; or until
    /// `stop`, which is asked several times a second.
    #[must_use]
    pub fn run(mut self, stop: impl Fn() -> bool) -> HostSummary {
        let all_went = |host: &Self| host.summary.nodes > 0 && host.nodes.is_empty();
        while !(stop() || all_went(&self)) {
            self.wait(Duration::from_millis(100));
            self.poll();
        }
        for (_, node) in std::mem::take(&mut self.nodes) {
            self.went(&node, Some("this host was told to stop".to_owned()));
        }
        self.summary
    }

    fn wait(&self, longest: Duration) {
        let _anything = readable(&self.peers.descriptors(), longest);
    }

    /// Takes what has come.
    fn poll(&mut self) {
        let mut events = Vec::new();
        let problems = self.peers.poll(|peer, event| events.push((peer, event)));
        self.summary.problems.extend(problems);
        for (peer, event) in events {
            match event {
                Event::Came(hello) => {
                    self.summary.nodes += 1;
                    let node = Node {
                        host: hello.host.chars().take(64).collect(),
                        clock: ClockNote::default(),
                        files: Vec::new(),
                        bytes: 0,
                        heard: Instant::now(),
                        done: false,
                    };
                    self.nodes.insert(peer, node);
                }
                Event::Sent(header, body) => self.sent(peer, header, &body),
                Event::Went(why) => {
                    if let Some(node) = self.nodes.remove(&peer) {
                        self.went(&node, why);
                    }
                }
            }
        }
        let silent = |node: &Node| node.heard.elapsed() > SILENCE_MAX;
        let silent: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| silent(node))
            .map(|(&peer, _)| peer)
            .collect();
        for peer in silent {
            self.refuse(peer, "nothing came from it for too long");
        }
    }

    fn sent(&mut self, peer: PeerId, header: Header, body: &[u8]) {
        let Some(node) = self.nodes.get_mut(&peer) else {
            return;
        };
        node.heard = Instant::now();
        let taken = match header.kind {
            Kind::Clock => {
                node.clock = peers::clock_note(body).unwrap_or(node.clock);
                Ok(())
            }
            Kind::Open => node.open(&self.directory, header.channel, body),
            Kind::Data if self.summary.bytes + body.len() as u64 > self.limit_bytes => {
                Err("it sent more than this host keeps".to_owned())
            }
            Kind::Data => node.data(header, body).inspect(|()| {
                self.summary.bytes += body.len() as u64;
            }),
            Kind::Done => {
                node.done = true;
                let kept = Header {
                    position: node.bytes,
                    ..Header::of(Kind::Kept)
                };
                self.peers.answer(peer, &kept.to_bytes());
                Ok(())
            }
            _ => Err("it sent what no node sends".to_owned()),
        };
        if let Err(why) = taken {
            self.refuse(peer, &why);
        }
    }

    fn refuse(&mut self, peer: PeerId, why: &str) {
        let mut bytes = Vec::new();
        message::put(&mut bytes, Header::of(Kind::Refused), why.as_bytes());
        self.peers.answer(peer, &bytes);
        self.peers.close(peer);
        if let Some(node) = self.nodes.remove(&peer) {
            self.went(&node, Some(why.to_owned()));
        }
    }

    fn went(&mut self, node: &Node, why: Option<String>) {
        if node.done {
            self.summary.complete += 1;
            return;
        }
        let why = why.unwrap_or_else(|| "its connection ended".to_owned());
        self.summary.problems.push(format!(
            "The recording of {} is incomplete: {why}; the {} bytes that came before are kept.",
            node.host, node.bytes
        ));
    }
}

impl Node {
    /// Begins a file. Its name comes from the network, so it may be nothing but a name.
    fn open(&mut self, directory: &Path, channel: u32, name: &[u8]) -> Result<(), String> {
        let proper = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let name = std::str::from_utf8(name)
            .ok()
            .filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MOST)
            .filter(|name| !name.starts_with('.') && name.as_bytes().iter().all(proper))
            .ok_or("it named a file as no recording does")?;
        if channel as usize != self.files.len() || self.files.len() >= FILES_MOST {
            return Err("it numbers its files wrongly".to_owned());
        }
        let path = directory.join(name);
        let made = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path);
        match made {
            Ok(_) => {
                self.files.push((path, 0));
                Ok(())
            }
            Err(error) => Err(format!("{name} could not be made ({error})")),
        }
    }

    fn data(&mut self, header: Header, body: &[u8]) -> Result<(), String> {
        let file = self.files.get_mut(header.channel as usize);
        let (path, length) = file.ok_or("it wrote to a file that it did not begin")?;
        if header.position != *length {
            return Err("it left out a part of a file".to_owned());
        }
        append(path, body).map_err(|error| format!("it could not be written ({error})"))?;
        *length += body.len() as u64;
        self.bytes += body.len() as u64;
        Ok(())
    }
}
