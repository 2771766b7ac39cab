//! How a node's connections to other hosts are lost.

use super::{End, HostsTransport, Peer};
use crate::transport::{ReceiveError, SendError, Transport};
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is said of a node whose host does not answer.
pub const SILENT: &str = "it does not answer any more";
/// A host that answers nothing for so long is gone, or the link to it is down. The kernel itself
/// gives a connection up much later, since it counts the time for which a program reads nothing.
const SILENCE_MAX: Duration = Duration::from_secs(3);

impl Peer {
    /// Whether nothing can be sent to it any more, and all that it has sent is not received yet.
    pub(super) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }
}

impl HostsTransport {
    /// Something could not be sent. A peer that departs waits for others, but not for ever, and
    /// a node that comes late finds its process gone: then the kernel refuses to send before it gives
    /// what has come. So the end of what comes says whether the peer is lost.
    pub(super) fn unsent(&self, peer: &Peer, error: &io::Error) -> Result<(), SendError> {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                peer.is_shut.store(true, Ordering::Relaxed);
                Ok(())
            }
            _ => {
                self.lost(peer, error);
                Err(SendError::Lost(peer.node))
            }
        }
    }

    /// Notes that a connection has ended, and how; the first to say so is heard.
    pub(super) fn ended(&self, peer: &Peer, how: End) {
        if peer.end.set(how).is_ok() {
            self.waiting.remove(peer.wire.socket());
            // Others may wait for this node: they look who is dead when they are woken.
            self.waiting.rouse_all();
            self.near.rouse();
        }
    }

    /// A peer sends what no node does: it is listened to no more.
    pub(super) fn lies(&self, peer: &Peer, what: &'static str) -> ReceiveError {
        self.ended(peer, End::Lost("it sent garbage".to_owned()));
        let from = peer.node;
        ReceiveError { from, what }
    }

    pub(super) fn lost(&self, peer: &Peer, error: &io::Error) {
        let why = match error.kind() {
            ErrorKind::TimedOut => SILENT.to_owned(),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                "the connection was closed".to_owned()
            }
            _ => format!("the connection failed: {error}"),
        };
        self.ended(peer, End::Lost(why));
    }

    /// Gives up connections to hosts that have not answered for too long.
    pub(super) fn listen(&self) {
        for peer in self.far.iter().filter(|peer| peer.end.get().is_none()) {
            if peer.wire.silence().is_some_and(|time| time > SILENCE_MAX) {
                self.ended(peer, End::Lost(SILENT.to_owned()));
            }
        }
    }
}
