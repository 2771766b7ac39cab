//! Where agents of other hosts connect to.
//!
//! Anybody may connect, so nobody is trusted before a handshake, and none of them can keep
//! others out: each handshake is a thread of its own, and if there are too many at once the
//! oldest is given up.

use super::handshake::{self, Hello, Proof};
use crate::key::Key;
use crate::process::lock;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Handshakes at once, beside those of agents that are expected.
const STRANGERS_MAX: usize = 64;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;
/// Memory of a thread that does a handshake.
const STACK_BYTES: usize = 128 << 10;

/// Which connections are wanted.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Of nodes that were started before those here.
    Nodes {
        /// Nodes here.
        here: Range<u16>,
        /// All nodes.
        nodes: u16,
        /// Whether what follows is encrypted.
        secure: bool,
    },
    /// Of agents of hosts but the first, for the launcher.
    Agents {
        /// All hosts.
        hosts: u16,
    },
}

impl Wanted {
    fn has(&self, hello: Hello) -> bool {
        match self {
            // The lower number connects, so it is of a host before this one.
            Self::Nodes {
                here,
                nodes,
                secure,
            } => {
                hello.generation != Hello::CONTROL
                    && hello.from < here.start
                    && here.contains(&hello.to)
                    && here.end <= *nodes
                    && hello.secure == *secure
            }
            Self::Agents { hosts } => {
                hello == Hello::of_agent(hello.from) && (1..*hosts).contains(&hello.from)
            }
        }
    }

    /// How many there will be.
    fn count(&self) -> usize {
        match self {
            Self::Nodes { here, .. } => usize::from(here.start) * here.len(),
            Self::Agents { hosts } => usize::from(*hosts),
        }
    }
}

/// What is said about a connection that has proved where it is from.
type Deliver = dyn Fn(Hello, Proof, TcpStream) + Send + Sync;

/// Listens until it is dropped.
pub(crate) struct Listener {
    shared: Arc<Shared>,
    port: u16,
}

struct Shared {
    key: Key,
    wanted: Wanted,
    deliver: Box<Deliver>,
    /// Handshakes under way, oldest first.
    open: Mutex<VecDeque<Arc<TcpStream>>>,
    strangers: AtomicU32,
    closed: AtomicBool,
}

impl Listener {
    /// Listens at a port of these, or at any, on IPv4 and IPv6.
    pub(crate) fn start(
        ports: Option<(u16, u16)>,
        key: Key,
        wanted: Wanted,
        deliver: impl Fn(Hello, Proof, TcpStream) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = bind(ports)?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            key,
            wanted,
            deliver: Box::new(deliver),
            open: Mutex::default(),
            strangers: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        });
        let accepts = Arc::clone(&shared);
        thread::Builder::new()
            .name("listens".to_owned())
            .spawn(move || accepts.accept(&listener))?;
        Ok(Self { shared, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many connections were not from agents of the run.
    pub(crate) fn strangers(&self) -> u32 {
        self.shared.strangers.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // It waits for a connection: this is the last one.
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let _ = TcpStream::connect_timeout(&here, Duration::from_secs(1));
    }
}

/// A socket that listens at the first port that is free.
fn bind(ports: Option<(u16, u16)>) -> io::Result<TcpListener> {
    let (first, last) = ports.unwrap_or((0, 0));
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for port in first..=last {
        match bind_one(port) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn bind_one(port: u16) -> io::Result<TcpListener> {
    let listen = |family, address: IpAddr| {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        if family == AddressFamily::INET6 {
            sockopt::set_ipv6_v6only(&socket, false)?;
        }
        // Connections of a run that has just ended keep their port for a minute, and a range may
        // be small. A port at which somebody listens is refused nevertheless.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddr::from((address, port)))?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok::<_, io::Error>(TcpListener::from(socket))
    };
    let all = listen(AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into());
    match all {
        // A kernel without IPv6.
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::ADDRINUSE.raw_os_error()) => {
            listen(AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into())
        }
        all => all,
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let most = STRANGERS_MAX + self.wanted.count();
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => Arc::new(stream),
                // It was closed again before it was accepted, or there are no descriptors
                // left: those of handshakes come back within seconds.
                Err(_) if !self.closed.load(Ordering::Relaxed) => {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Err(_) => return,
            };
            if self.closed.load(Ordering::Relaxed) {
                return;
            }
            let oldest = {
                let mut open = lock(&self.open);
                open.push_back(Arc::clone(&stream));
                (open.len() > most).then(|| open.pop_front()).flatten()
            };
            if let Some(oldest) = oldest {
                handshake::refuse(&oldest);
            }
            let (shared, theirs) = (Arc::clone(self), Arc::clone(&stream));
            let started = thread::Builder::new()
                .name("handshake".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || shared.shake_hands(&theirs));
            if started.is_err() {
                self.turn_away(&stream);
            }
        }
    }

    fn shake_hands(&self, stream: &Arc<TcpStream>) {
        let proved = handshake::respond(stream, &self.key, |hello| self.wanted.has(hello));
        match (proved, stream.try_clone()) {
            (Ok((hello, proof)), Ok(copy)) => {
                self.forget(stream);
                (self.deliver)(hello, proof, copy);
            }
            _ => self.turn_away(stream),
        }
    }

    fn turn_away(&self, stream: &Arc<TcpStream>) {
        self.forget(stream);
        self.strangers.fetch_add(1, Ordering::Relaxed);
        handshake::refuse(stream);
    }

    fn forget(&self, stream: &Arc<TcpStream>) {
        lock(&self.open).retain(|open| !Arc::ptr_eq(open, stream));
    }
}
