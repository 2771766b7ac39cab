//! A node's end of the fabric.

use super::fabric::Fabric;
use super::frame::Header;
use super::inbox::Inbox;
use super::outbox::Outbox;
use crate::doorbell::{Role, Sleep, Wake};
use crate::net::Net;
use crate::transport::{Abort, Death, Ready, ReceiveError, SendError, Transport};
use fathomp_sys::clock::monotonic_ns;
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A node's connection to the other nodes of its machine.
#[derive(Debug)]
pub struct LocalTransport {
    fabric: Fabric,
    me: NodeId,
    links: Box<[Link]>,
    /// Links whose outbox has a backlog.
    backlogs: AtomicU32,
    /// Where the next receive begins to look, so that all get their turn.
    turn: AtomicU16,
    /// When an emulated network will have carried off what was sent.
    busy_until_ns: AtomicU64,
    /// Reports of this node must not overlap.
    reporting: Mutex<()>,
}

/// Both ends here of the rings between this node and another.
#[derive(Debug, Default)]
struct Link {
    outbox: Mutex<Outbox>,
    inbox: Mutex<Inbox>,
    /// The incoming ring's head if there is nothing to be done for the inbox;
    /// lets a look pass without locking.
    idle_head: AtomicU64,
    dead: AtomicBool,
}

/// Nothing under these locks is left half done by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LocalTransport {
    pub(super) fn new(fabric: Fabric, me: NodeId) -> Self {
        let nodes = fabric.nodes();
        for peer in (0..nodes).map(NodeId).filter(|peer| *peer != me) {
            fabric.populate(peer, me);
            fabric.populate(me, peer);
        }
        Self {
            fabric,
            me,
            links: (0..nodes).map(|_| Link::default()).collect(),
            backlogs: AtomicU32::new(0),
            turn: AtomicU16::new(0),
            busy_until_ns: AtomicU64::new(0),
            reporting: Mutex::new(()),
        }
    }

    fn peers(&self) -> impl Iterator<Item = (NodeId, &Link)> {
        (0..).map(NodeId).zip(&self.links)
    }

    /// When a message that is sent now may arrive; 0 if at once.
    #[inline]
    fn due_ns(&self, to: NodeId, bytes: usize) -> u64 {
        let net = self.fabric.net().filter(|_| to != self.me);
        net.map_or(0, |net| {
            let inwards = self.fabric.inwards(to);
            let bytes = Header::BYTES + bytes;
            net.arrival_ns(monotonic_ns(), bytes, &self.busy_until_ns, inwards)
        })
    }

    /// Sends as much as there is room for of what had to wait.
    fn flush(&self) {
        if !self.has_backlog() {
            return;
        }
        for (to, link) in self.peers() {
            let mut outbox = lock(&link.outbox);
            if outbox.backlog() == 0 {
                continue;
            }
            let moved = outbox.drain(self.fabric.ring(self.me, to));
            if outbox.backlog() == 0 {
                self.backlogs.fetch_sub(1, Ordering::Relaxed);
            }
            drop(outbox);
            if moved {
                self.fabric.doorbell(to).ring();
            }
        }
    }

    /// The next message of one peer.
    fn receive_from(
        &self,
        from: NodeId,
        link: &Link,
        message: &mut Vec<u8>,
    ) -> Result<bool, ReceiveError> {
        let ring = self.fabric.ring(from, self.me);
        if ring.head() == link.idle_head.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mut inbox = lock(&link.inbox);
        let bytes_max = self.message_bytes_max();
        let taken = inbox.take(ring, bytes_max, monotonic_ns, message);
        link.idle_head.store(inbox.idle_head(), Ordering::Relaxed);
        let fed = inbox.take_fed();
        drop(inbox);
        if fed {
            self.fabric.doorbell(from).ring();
        }
        taken.map_err(|what| ReceiveError { from, what })
    }

    fn push(&self, to: NodeId, parts: &[&[u8]], haste: Haste) -> Result<Wake, SendError> {
        let Some(link) = self.links.get(usize::from(to.0)) else {
            return Err(SendError::Unknown(to));
        };
        let bytes = parts.iter().map(|part| part.len()).sum();
        let bytes_max = self.message_bytes_max();
        let length = u32::try_from(bytes).ok();
        let Some(length) = length.filter(|_| bytes <= bytes_max) else {
            return Err(SendError::TooLong { bytes, bytes_max });
        };
        if link.dead.load(Ordering::Relaxed) {
            return Err(SendError::Lost(to));
        }
        let ring = self.fabric.ring(self.me, to);
        let mut outbox = lock(&link.outbox);
        let backlog = outbox.backlog();
        if backlog > self.fabric.limits().backlog_bytes_max {
            let (node, bytes) = (to, backlog);
            return Err(SendError::Stalled { node, bytes });
        }
        let moved = outbox.push(ring, length, parts, self.due_ns(to, bytes));
        match (backlog, outbox.backlog()) {
            (0, 1..) => self.backlogs.fetch_add(1, Ordering::Relaxed),
            (1.., 0) => self.backlogs.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        // A ring that is full has to be emptied.
        let haste = match outbox.backlog() {
            0 => haste,
            _ => Haste::Now,
        };
        drop(outbox);
        let doorbell = self.fabric.doorbell(to);
        Ok(match (moved, haste) {
            (true, Haste::Now) => doorbell.ring(),
            (true, Haste::Whenever) => doorbell.ring_softly(),
            // What is still queued is told when it moves.
            (false, _) => Wake::Polling,
        })
    }

    /// Whether there are messages that nobody has taken.
    pub(crate) fn has_messages(&self) -> bool {
        self.is_anything_there()
    }

    /// Whether there are messages, or parts of some.
    fn is_anything_there(&self) -> bool {
        self.peers().any(|(from, link)| {
            let idle_head = link.idle_head.load(Ordering::Relaxed);
            self.fabric.ring(from, self.me).head() != idle_head
        })
    }

    /// How long a thread may sleep as far as messages are concerned.
    fn quiet(&self) -> Sleep {
        let quiet = |(from, link): (NodeId, &Link)| {
            lock(&link.inbox).sleep(self.fabric.ring(from, self.me), monotonic_ns)
        };
        self.peers()
            .map(quiet)
            .fold(Sleep::UntilWoken, Sleep::or_sooner)
    }
}

/// Whether a message's receiver has to act upon it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    Now,
    Whenever,
}

impl Transport for LocalTransport {
    fn me(&self) -> NodeId {
        self.me
    }

    fn nodes(&self) -> u16 {
        self.fabric.nodes()
    }

    fn message_bytes_max(&self) -> usize {
        self.fabric.limits().message_bytes_max as usize
    }

    fn send(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError> {
        self.push(to, parts, Haste::Now)
    }

    fn send_unhurried(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError> {
        self.push(to, parts, Haste::Whenever)
    }

    fn answers_after(&self) -> Duration {
        self.fabric.net().map_or(Duration::ZERO, Net::answers_after)
    }

    fn has_backlog(&self) -> bool {
        self.backlogs.load(Ordering::Relaxed) != 0
    }

    fn receive(&self, message: &mut Vec<u8>) -> Result<Option<NodeId>, ReceiveError> {
        self.flush();
        let nodes = self.nodes();
        let turn = self.turn.load(Ordering::Relaxed).min(nodes);
        for number in (turn..nodes).chain(0..turn) {
            let from = NodeId(number);
            if self.receive_from(from, &self.links[usize::from(number)], message)? {
                self.turn.store(number + 1, Ordering::Relaxed);
                return Ok(Some(from));
            }
        }
        let doorbell = self.fabric.doorbell(self.me);
        doorbell.found_nothing(|| self.is_anything_there());
        Ok(None)
    }

    fn enter(&self, _role: Role) {
        self.fabric.doorbell(self.me).enter();
    }

    fn leave(&self, _role: Role) {
        let left_over = || {
            self.flush();
            self.is_anything_there()
        };
        self.fabric.doorbell(self.me).leave(left_over);
    }

    fn sleep(&self, role: Role, timeout: Option<Duration>, ready: &mut dyn FnMut() -> Ready) {
        let limit = timeout.map_or(Sleep::UntilWoken, |timeout| {
            let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            Sleep::Until(monotonic_ns().saturating_add(timeout_ns))
        });
        self.fabric.doorbell(self.me).sleep(role, || {
            // Here and not before: who makes room from now on wakes us.
            self.flush();
            match ready() {
                _ if self.fabric.members().is_reported() => Sleep::Not,
                Ready::Yes => Sleep::Not,
                Ready::IfThereIsAMessage => self.quiet().or_sooner(limit),
                Ready::No => limit,
            }
        });
    }

    fn rouse(&self) {
        self.fabric.doorbell(self.me).rouse(&[Role::Application]);
    }

    fn rouse_service(&self) {
        self.fabric.doorbell(self.me).rouse(&[Role::Service]);
    }

    fn dead(&self) -> Option<Death> {
        let members = self.fabric.members();
        let mut peers = self.peers().filter(|(peer, _)| *peer != self.me);
        let (peer, link) = peers.find(|(peer, _)| members.is_dead(*peer))?;
        link.dead.store(true, Ordering::Relaxed);
        Some(Death {
            node: peer,
            why: None,
        })
    }

    fn abort(&self, node: NodeId, code: u32, text: &str) -> Abort {
        let guard = lock(&self.reporting);
        let members = self.fabric.members();
        members.report(self.me, node, code, text);
        drop(guard);
        for (peer, _) in self.peers() {
            let everybody = [Role::Application, Role::Service];
            self.fabric.doorbell(peer).rouse(&everybody);
        }
        members.reported().unwrap_or_else(|| Abort {
            by: self.me,
            node,
            code,
            text: text.to_owned(),
        })
    }

    fn aborted(&self) -> Option<Abort> {
        self.fabric.members().reported()
    }

    fn note(&self, word: u32) {
        self.fabric.members().note(self.me, word);
    }

    fn noted(&self, node: NodeId) -> Option<u32> {
        self.fabric.members().noted(node)
    }

    fn depart(&self) {
        self.fabric.members().depart(self.me);
    }
}
