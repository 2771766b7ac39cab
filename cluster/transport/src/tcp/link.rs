//! A node's end of all connections.

mod depart;
mod loss;
mod report;

use super::connection::Connection;
use super::handover::Hosts;
use super::joint::Joint;
use super::stream::{Inbox, Kind, Outbox, Received, StreamError};
use super::waiting::Waiting;
use crate::doorbell::{Role, Wake};
use crate::local::{Fabric, Limits, LocalTransport};
use crate::transport::{Abort, Death, Ready, ReceiveError, SendError, Transport};
use fathomp_types::NodeId;
pub use loss::SILENT;
use report::{abort_head, read_abort};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// So few connections are all looked at each time: asking the kernel which have something
/// takes as long as three looks.
const ALL_LOOKED_AT_MAX: usize = 3;

/// A node's connection to the nodes of its own host and of others.
#[derive(Debug)]
pub struct HostsTransport {
    me: NodeId,
    hosts: Hosts,
    /// The first node of this host, and the connection to all of this host.
    first: u16,
    near: LocalTransport,
    near_nodes: u16,
    far: Box<[Peer]>,
    limits: Limits,
    waiting: Waiting,
    /// Connections with something to send.
    backlogs: AtomicU32,
    /// Messages are held back, to be sent together.
    holds: AtomicBool,
    /// Where the next receive begins to look, so that all get their turn.
    turn: AtomicU16,
    /// The first report of a failure that this node knows.
    report: OnceLock<Abort>,
}

/// A node of another host.
#[derive(Debug)]
struct Peer {
    node: NodeId,
    wire: Connection,
    outbox: Mutex<Outbox>,
    inbox: Mutex<Inbox>,
    /// Its process takes nothing more, as the kernel says. What that means is known once all is
    /// received that it has sent: it may have departed.
    is_shut: AtomicBool,
    /// Why the connection ended, once it has.
    end: OnceLock<End>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// The peer has said that it will end.
    Departed,
    /// It has not: what the system says of it.
    Lost(String),
}

/// Nothing under these locks is left half done by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostsTransport {
    /// Node `me` of these hosts, joined to the nodes of its own host by `fabric` and to the
    /// others by `joints`. Joints of other nodes are closed here.
    ///
    /// # Errors
    /// If a connection is missing, the fabric is of another number of nodes, or the system
    /// refuses.
    pub fn new(hosts: Hosts, me: NodeId, fabric: &Fabric, joints: Vec<Joint>) -> io::Result<Self> {
        let invalid = |what: &'static str| io::Error::new(ErrorKind::InvalidInput, what);
        let here = hosts.nodes_of(hosts.me());
        if !here.contains(&me.0) || fabric.nodes() != here.end - here.start {
            return Err(invalid("the node is none of this host"));
        }
        let mut far: Vec<Peer> = joints
            .into_iter()
            .filter(|joint| joint.mine == me)
            .map(|joint| Peer {
                node: joint.peer,
                wire: joint.wire,
                outbox: Mutex::new(joint.outbox),
                inbox: Mutex::new(joint.inbox),
                is_shut: AtomicBool::new(false),
                end: OnceLock::new(),
            })
            .collect();
        far.sort_by_key(|peer| peer.node);
        let others = (0..hosts.nodes()).filter(|node| !here.contains(node));
        if !far.iter().map(|peer| peer.node.0).eq(others) {
            return Err(invalid("a connection to another host's node is missing"));
        }
        let waiting = Waiting::new()?;
        for (key, peer) in (0..).zip(&far) {
            waiting.add(peer.wire.socket(), key)?;
            peer.wire.rest();
        }
        Ok(Self {
            me,
            first: here.start,
            near: fabric.join(NodeId(me.0 - here.start))?,
            near_nodes: here.end - here.start,
            limits: Limits::for_nodes(hosts.nodes()),
            hosts,
            far: far.into(),
            waiting,
            backlogs: AtomicU32::new(0),
            holds: AtomicBool::new(false),
            turn: AtomicU16::new(0),
            report: OnceLock::new(),
        })
    }

    /// Wakes the node's threads when nodes of its own host send to it; never returns. For a
    /// thread of its own on hosts with [several nodes](Self::has_neighbours).
    pub fn forward_bell(&self) -> ! {
        self.near.enter(Role::Service);
        loop {
            let mut ready = || {
                if self.near.has_messages() {
                    self.waiting.call();
                }
                Ready::No
            };
            self.near.sleep(Role::Service, None, &mut ready);
        }
    }

    /// Whether other nodes run on this host.
    #[must_use]
    pub fn has_neighbours(&self) -> bool {
        self.near_nodes > 1
    }

    /// The place of a node of this host among its nodes.
    fn near(&self, node: NodeId) -> Option<NodeId> {
        let number = node.0.checked_sub(self.first)?;
        (number < self.near_nodes).then_some(NodeId(number))
    }

    /// The node at that place among those of this host.
    fn of_near(&self, place: NodeId) -> NodeId {
        NodeId(place.0.saturating_add(self.first))
    }

    fn far(&self, node: NodeId) -> Option<(u16, &Peer)> {
        let key = self
            .far
            .binary_search_by_key(&node, |peer| peer.node)
            .ok()?;
        Some((u16::try_from(key).ok()?, &self.far[key]))
    }

    /// Keeps count of connections that have something to send, and waits for room on them.
    fn note_backlog(&self, key: u16, peer: &Peer, before: usize, now: usize) {
        match (before, now) {
            (0, 1..) => {
                self.backlogs.fetch_add(1, Ordering::Relaxed);
                let interest = peer.wire.interest(true);
                self.waiting.set(peer.wire.socket(), interest, key);
            }
            (1.., 0) => {
                self.backlogs.fetch_sub(1, Ordering::Relaxed);
                let interest = peer.wire.interest(false);
                self.waiting.set(peer.wire.socket(), interest, key);
            }
            _ => {}
        }
    }

    /// Sends as much as there is room for of what had to wait.
    fn flush(&self) {
        if self.backlogs.load(Ordering::Relaxed) != 0 {
            self.flush_all(|outbox| outbox.backlog() > 0);
        }
    }

    /// Sends as much as there is room for of what was kept, where that is `due`.
    fn flush_all(&self, due: impl Fn(&Outbox) -> bool) {
        for (key, peer) in (0..).zip(&self.far) {
            let mut outbox = lock(&peer.outbox);
            if !due(&outbox) {
                continue;
            }
            let before = outbox.backlog();
            let is_lost = matches!(peer.end.get(), Some(End::Lost(_))) || peer.is_shut();
            let flushed = match is_lost {
                false => outbox.flush(&peer.wire),
                true => Ok(()),
            };
            if is_lost || flushed.is_err() {
                *outbox = Outbox::default();
            }
            self.note_backlog(key, peer, before, outbox.backlog());
            drop(outbox);
            if let Err(error) = flushed {
                // A node that needs the peer finds out when it is lost.
                let _ = self.unsent(peer, &error);
            }
        }
    }

    /// Sends a message, or holds it back if it `may_wait` for the next one.
    fn push(
        &self,
        to: NodeId,
        kind: Kind,
        parts: &[&[u8]],
        may_wait: bool,
    ) -> Result<(), SendError> {
        let Some((key, peer)) = self.far(to) else {
            return Err(SendError::Unknown(to));
        };
        let bytes = parts.iter().map(|part| part.len()).sum();
        let bytes_max = self.message_bytes_max();
        if bytes > bytes_max {
            return Err(SendError::TooLong { bytes, bytes_max });
        }
        let mut outbox = lock(&peer.outbox);
        match peer.end.get() {
            None => {}
            // It waits for this, so as not to take its peer for dead.
            Some(End::Departed) if kind == Kind::Depart => {}
            // The program is over. Who has not heard of that yet may still tell it something.
            Some(End::Departed) => return Ok(()),
            Some(End::Lost(_)) => return Err(SendError::Lost(to)),
        }
        if peer.is_shut() {
            return Ok(());
        }
        let before = outbox.backlog();
        if before > self.limits.backlog_bytes_max {
            return Err(SendError::Stalled {
                node: to,
                bytes: before,
            });
        }
        if may_wait && outbox.hold(kind, parts) {
            self.holds.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let pushed = outbox.push(&peer.wire, kind, parts);
        if pushed.is_err() {
            *outbox = Outbox::default();
        }
        self.note_backlog(key, peer, before, outbox.backlog());
        drop(outbox);
        pushed.or_else(|error| self.unsent(peer, &error))
    }

    fn push_message(&self, to: NodeId, parts: &[&[u8]], may_wait: bool) -> Result<Wake, SendError> {
        let pushed = self.push(to, Kind::Message, parts, may_wait);
        pushed.map(|()| Wake::Polling)
    }

    /// The next message of one peer.
    fn receive_from(&self, peer: &Peer, message: &mut Vec<u8>) -> Result<bool, ReceiveError> {
        let mut inbox = lock(&peer.inbox);
        while peer.end.get().is_none() {
            match inbox.take(&peer.wire, self.message_bytes_max(), message) {
                Ok(Received::Frame(Kind::Message)) => return Ok(true),
                Ok(Received::Frame(Kind::Abort)) => match read_abort(peer.node, message) {
                    Some(abort) if abort.node.0 < self.nodes() => self.hear(abort),
                    _ => return Err(self.lies(peer, "a report of a node that there is none of")),
                },
                Ok(Received::Frame(Kind::Depart)) if message.is_empty() => {
                    self.ended(peer, End::Departed);
                }
                Ok(Received::Frame(Kind::Depart)) => {
                    return Err(self.lies(peer, "a farewell with something in it"));
                }
                Ok(Received::Nothing) => return Ok(false),
                Ok(Received::End) => {
                    let how = "the connection was closed".to_owned();
                    self.ended(peer, End::Lost(how));
                }
                Err(StreamError::Lost(error)) => self.lost(peer, &error),
                Err(StreamError::Garbage(what)) => return Err(self.lies(peer, what)),
            }
        }
        Ok(false)
    }

    /// A peer tells that the run has failed.
    fn hear(&self, abort: Abort) {
        let _ = self.report.set(abort);
        self.waiting.rouse_all();
        self.near.rouse();
    }

    /// Whether there are messages that nobody has taken and of which the kernel does not know.
    fn has_received(&self) -> bool {
        self.has_received_far() || self.has_neighbours() && self.near.has_messages()
    }

    fn has_received_far(&self) -> bool {
        let something = |peer: &Peer| {
            lock(&peer.inbox).has_frame() || peer.end.get().is_none() && peer.wire.has_something()
        };
        self.far.iter().any(something)
    }

    /// Nobody looks at the connections from now on.
    fn rest(&self) {
        self.far.iter().for_each(|peer| peer.wire.rest());
    }

    /// Somebody does again.
    fn work(&self, slept: bool) {
        self.far.iter().for_each(|peer| peer.wire.work(slept));
    }

    fn receive_far(&self, message: &mut Vec<u8>) -> Result<Option<NodeId>, ReceiveError> {
        let count = u16::try_from(self.far.len()).unwrap_or(u16::MAX);
        let turn = self.turn.load(Ordering::Relaxed).min(count);
        if self.far.len() <= ALL_LOOKED_AT_MAX {
            for key in (turn..count).chain(0..turn) {
                let peer = &self.far[usize::from(key)];
                if self.receive_from(peer, message)? {
                    self.turn.store(key + 1, Ordering::Relaxed);
                    return Ok(Some(peer.node));
                }
            }
            return Ok(None);
        }
        let mut waits = vec![false; self.far.len()];
        self.waiting.ready(|key| {
            if let Some(waits) = waits.get_mut(usize::from(key)) {
                *waits = true;
            }
        });
        for key in (turn..count).chain(0..turn) {
            let peer = &self.far[usize::from(key)];
            let there = waits[usize::from(key)]
                || peer.wire.has_something()
                || lock(&peer.inbox).has_frame();
            if there && self.receive_from(peer, message)? {
                self.turn.store(key + 1, Ordering::Relaxed);
                return Ok(Some(peer.node));
            }
        }
        Ok(None)
    }
}

impl Transport for HostsTransport {
    fn me(&self) -> NodeId {
        self.me
    }

    fn nodes(&self) -> u16 {
        self.hosts.nodes()
    }

    fn message_bytes_max(&self) -> usize {
        self.limits.message_bytes_max as usize
    }

    fn send(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError> {
        match self.near(to) {
            Some(near) => self.near.send(near, parts).map_err(|e| self.renamed(e)),
            None => self.push_message(to, parts, false),
        }
    }

    fn send_unhurried(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError> {
        match self.near(to) {
            Some(near) => {
                let sent = self.near.send_unhurried(near, parts);
                sent.map_err(|error| self.renamed(error))
            }
            None => self.send(to, parts),
        }
    }

    fn send_in_step(
        &self,
        to: NodeId,
        parts: &[&[u8]],
        unhurried: bool,
    ) -> Result<Wake, SendError> {
        match self.near(to) {
            Some(_) if unhurried => self.send_unhurried(to, parts),
            Some(_) => self.send(to, parts),
            None => self.push_message(to, parts, true),
        }
    }

    fn end_step(&self) {
        if self.holds.load(Ordering::Relaxed) && self.holds.swap(false, Ordering::Relaxed) {
            self.flush_all(|outbox| outbox.holds());
        }
    }

    fn answers_after(&self) -> Duration {
        Duration::ZERO
    }

    fn has_backlog(&self) -> bool {
        self.backlogs.load(Ordering::Relaxed) != 0 || self.near.has_backlog()
    }

    fn receive(&self, message: &mut Vec<u8>) -> Result<Option<NodeId>, ReceiveError> {
        self.flush();
        if self.has_neighbours() {
            let received = self.near.receive(message);
            let received = received.map_err(|error| ReceiveError {
                from: self.of_near(error.from),
                ..error
            })?;
            if let Some(from) = received {
                return Ok(Some(self.of_near(from)));
            }
        }
        let received = self.receive_far(message)?;
        if received.is_none() {
            self.end_step();
        }
        Ok(received)
    }

    fn enter(&self, role: Role) {
        if role == Role::Application {
            self.waiting.look(|| self.work(false));
            if self.has_neighbours() {
                self.near.enter(role);
            }
        }
    }

    fn leave(&self, role: Role) {
        if role == Role::Application {
            if self.has_neighbours() {
                self.near.leave(role);
            }
            self.flush();
            self.end_step();
            self.waiting
                .look_away(|| self.rest(), || self.has_received());
        }
    }

    fn sleep(&self, role: Role, timeout: Option<Duration>, ready: &mut dyn FnMut() -> Ready) {
        let mut ready = || match self.aborted() {
            Some(_) => Ready::Yes,
            None => ready(),
        };
        self.sleep_unless(role, timeout, &mut ready);
    }

    fn rouse(&self) {
        self.near.rouse();
        self.waiting.rouse();
    }

    fn rouse_service(&self) {
        self.near.rouse_service();
        self.waiting.rouse_service();
    }

    fn dead(&self) -> Option<Death> {
        self.listen();
        let lost = |peer: &Peer| match peer.end.get() {
            Some(End::Lost(why)) => Some(Death {
                node: peer.node,
                why: Some(why.clone()),
            }),
            _ => None,
        };
        self.far.iter().find_map(lost).or_else(|| {
            let Death { node, why } = self.near.dead()?;
            let node = self.of_near(node);
            Some(Death { node, why })
        })
    }

    fn abort(&self, node: NodeId, code: u32, text: &str) -> Abort {
        debug_assert!(node.0 < self.nodes(), "a report of {node:?}");
        let text = &text[..text.floor_char_boundary(Abort::TEXT_BYTES_MAX)];
        let mine = Abort {
            by: self.me,
            node,
            code,
            text: text.to_owned(),
        };
        let first = self.aborted().unwrap_or_else(|| mine.clone());
        let abort = self.report.get_or_init(|| first).clone();
        if abort == mine {
            let _ = self.near.abort(node, code, text);
            for peer in &self.far {
                // One that is lost cannot be told.
                let head = abort_head(&abort);
                let _ = self.push(peer.node, Kind::Abort, &[&head, text.as_bytes()], false);
            }
        }
        self.waiting.rouse_all();
        self.near.rouse();
        abort
    }

    fn aborted(&self) -> Option<Abort> {
        self.report.get().cloned().or_else(|| {
            let abort = self.near.aborted()?;
            let by = self.of_near(abort.by);
            Some(Abort { by, ..abort })
        })
    }

    fn note(&self, word: u32) {
        self.near.note(word);
    }

    fn noted(&self, node: NodeId) -> Option<u32> {
        self.near.noted(self.near(node)?)
    }

    fn depart(&self) {
        self.take_leave();
        self.near.depart();
    }
}

impl HostsTransport {
    /// [Sleeps](Transport::sleep), also if the run has failed.
    fn sleep_unless(
        &self,
        role: Role,
        timeout: Option<Duration>,
        ready: &mut dyn FnMut() -> Ready,
    ) {
        let may_sleep = || {
            self.flush();
            self.end_step();
            match ready() {
                Ready::Yes => false,
                // What has been received is for threads of the program, if they look.
                Ready::IfThereIsAMessage if role == Role::Service => {
                    self.waiting.is_looked_at() || !self.has_received()
                }
                Ready::IfThereIsAMessage => !self.has_received(),
                Ready::No => true,
            }
        };
        if role == Role::Service {
            let work = || self.work(true);
            return self.waiting.serve(timeout, || self.rest(), may_sleep, work);
        }
        if self.has_neighbours() {
            self.near.leave(role);
        }
        let work = |slept| self.work(slept);
        let slept = self.waiting.sleep(timeout, || self.rest(), may_sleep, work);
        if self.has_neighbours() {
            self.near.enter(role);
        }
        if slept {
            return;
        }
        // Another thread looks at the connections meanwhile; it rouses this one.
        self.waiting
            .look_away(|| self.rest(), || self.has_received());
        if !self.has_neighbours() {
            self.near.enter(role);
        }
        self.near.sleep(role, timeout, ready);
        if !self.has_neighbours() {
            self.near.leave(role);
        }
        self.waiting.look(|| self.work(false));
    }

    /// An error of the nodes of this host, with their own numbers.
    fn renamed(&self, error: SendError) -> SendError {
        match error {
            SendError::Unknown(node) => SendError::Unknown(self.of_near(node)),
            SendError::Lost(node) => SendError::Lost(self.of_near(node)),
            SendError::Stalled { node, bytes } => SendError::Stalled {
                node: self.of_near(node),
                bytes,
            },
            long @ SendError::TooLong { .. } => long,
        }
    }
}
