//! The end of a node's connections to other hosts.

use super::{HostsTransport, Kind};
use crate::doorbell::Role;
use crate::transport::{Ready, Transport};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a node that departs waits until its peers have received all.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(2);

impl HostsTransport {
    /// Tells all nodes of other hosts that this one ends, and waits until they have said the same.
    pub(super) fn take_leave(&self) {
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        for peer in &self.far {
            // One that is lost need not be told.
            let _ = self.push(peer.node, Kind::Depart, &[], false);
        }
        self.enter(Role::Application);
        self.await_far(deadline, || self.backlogs.load(Ordering::Relaxed) == 0);
        for peer in &self.far {
            peer.wire.end();
        }
        // A process that ends with bytes that it has not received takes back what it has sent.
        self.await_far(deadline, || {
            self.far.iter().all(|peer| peer.end.get().is_some())
        });
        self.leave(Role::Application);
    }

    /// Receives what comes, of which nothing is of use any more, until it is `done`. This is woken
    /// by bytes, by room where some is waited for, and by whoever sees a connection end.
    fn await_far(&self, deadline: Instant, done: impl Fn() -> bool) {
        let mut message = Vec::new();
        loop {
            self.flush();
            // A peer that sends what cannot be a message is done with, too.
            while Instant::now() < deadline && !matches!(self.receive_far(&mut message), Ok(None)) {
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if done() || left.is_zero() {
                return;
            }
            let mut ready = || match done() || self.has_received_far() {
                true => Ready::Yes,
                false => Ready::No,
            };
            self.sleep_unless(Role::Application, Some(left), &mut ready);
        }
    }
}
