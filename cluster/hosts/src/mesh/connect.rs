//! Connecting to nodes of other hosts.

use super::handshake::{self, Hello, Proof};
use crate::key::Key;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How long one address may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Threads that connect at the same time.
const THREADS_MAX: usize = 16;
/// Memory of each.
const STACK_BYTES: usize = 256 << 10;

/// A connection to make.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) hello: Hello,
    /// A name by which the other host can be reached, if any.
    pub(crate) name: Option<String>,
    /// Its port.
    pub(crate) port: u16,
    /// Its addresses.
    pub(crate) addresses: Vec<IpAddr>,
}

/// What came of a goal: the connection, or why there is none.
type Deliver = dyn Fn(&Goal, Result<(Proof, TcpStream), String>) + Send + Sync;

/// Connections under way.
pub(crate) struct Connector {
    key: Key,
    goals: Vec<Goal>,
    next: AtomicUsize,
    deliver: Box<Deliver>,
}

impl Connector {
    /// Begins to connect; each goal is told of by `deliver`.
    pub(crate) fn start(
        key: Key,
        goals: Vec<Goal>,
        deliver: impl Fn(&Goal, Result<(Proof, TcpStream), String>) + Send + Sync + 'static,
    ) -> std::io::Result<()> {
        let threads = goals.len().min(THREADS_MAX);
        let connector = Arc::new(Self {
            key,
            goals,
            next: AtomicUsize::new(0),
            deliver: Box::new(deliver),
        });
        for _ in 0..threads {
            let connector = Arc::clone(&connector);
            thread::Builder::new()
                .name("connects".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || connector.work())?;
        }
        Ok(())
    }

    fn work(&self) {
        while let Some(goal) = self.goals.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            (self.deliver)(goal, reach(goal, &self.key));
        }
    }
}

/// Connects by the first address that leads to the right agent. Other hosts may have the same
/// address as this one or a third (those of virtual bridges), so that is found out by
/// shaking hands.
pub(crate) fn reach(goal: &Goal, key: &Key) -> Result<(Proof, TcpStream), String> {
    let mut reasons: Vec<String> = Vec::new();
    let mut tried: Vec<SocketAddr> = Vec::new();
    let mut try_one = |address: SocketAddr, reasons: &mut Vec<String>| {
        if tried.contains(&address) {
            return None;
        }
        tried.push(address);
        let connected = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
        let shaken =
            connected.map_err(|error| error.to_string()).and_then(
                |stream| match handshake::initiate(&stream, key, goal.hello) {
                    Ok(proof) => Ok((proof, stream)),
                    Err(error) => Err(error.to_string()),
                },
            );
        shaken
            .map_err(|why| reasons.push(format!("{address}: {why}")))
            .ok()
    };
    if let Some(name) = &goal.name {
        // A login name is part of how the user calls the host.
        let name = name.rsplit('@').next().unwrap_or(name);
        match (name, goal.port).to_socket_addrs() {
            Ok(found) => {
                for address in found {
                    if let Some(done) = try_one(address, &mut reasons) {
                        return Ok(done);
                    }
                }
            }
            Err(error) => reasons.push(format!("{name}: {error}")),
        }
    }
    for address in &goal.addresses {
        if let Some(done) = try_one((*address, goal.port).into(), &mut reasons) {
            return Ok(done);
        }
    }
    match reasons.is_empty() {
        true => Err("it has no address".to_owned()),
        false => Err(reasons.join(", ")),
    }
}
