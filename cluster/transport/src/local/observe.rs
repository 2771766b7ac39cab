//! What two nodes see of the network between them, emulated or not, by sending
//! messages to and fro.

use super::{Fabric, Limits, LocalTransport};
use crate::Net;
use crate::doorbell::Role;
use crate::spin::Spin;
use crate::transport::{Polling, Transport};
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::process::sleep_to_the_moment;
use fathomp_types::NodeId;
use std::io;
use std::time::Duration;

/// Bytes of a message whose time is all latency.
const SMALL_BYTES: usize = 8;
/// Bytes of a message whose time is mostly bandwidth.
const LARGE_BYTES: std::ops::RangeInclusive<usize> = (4 << 10)..=(1 << 20);
/// Time for a large message on a slow network, where that is possible.
const LARGE_S: f64 = 10e-3;
/// Round trips of each kind, and the time after which some fewer do.
const TRIPS: usize = 400;
const TRIPS_MIN: usize = 5;
const OBSERVATION_MAX: Duration = Duration::from_secs(1);
/// How long to look for a message before sleeping, as nodes do.
const SPIN: Duration = Duration::from_micros(50);

/// Halves of round trips, in microseconds.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Of messages that hold almost nothing: latencies.
    pub small_us: Vec<f64>,
    /// Of messages of [`large_bytes`](Self::large_bytes).
    pub large_us: Vec<f64>,
    /// What those are longer than small ones by.
    pub large_bytes: usize,
}

/// Sends messages to and fro between two threads as two nodes.
///
/// # Errors
/// If there is no memory for them.
pub fn observe(net: Option<Net>) -> io::Result<Observed> {
    let fabric = Fabric::new(2, Limits::for_nodes(2), net)?;
    let (near, far) = (fabric.join(NodeId(0))?, fabric.join(NodeId(1))?);
    let wanted = net.map_or(f64::INFINITY, |net| net.mb_per_s() * 1e6 * LARGE_S);
    let large_bytes = (wanted as usize).clamp(*LARGE_BYTES.start(), *LARGE_BYTES.end());
    std::thread::scope(|scope| {
        scope.spawn(|| echo(&far));
        sleep_to_the_moment();
        let small_us = trips(&near, SMALL_BYTES);
        let large_us = trips(&near, SMALL_BYTES + large_bytes);
        // Nothing at all: enough.
        let _ = near.send(far.me(), &[]);
        deliver(&near);
        Ok(Observed {
            small_us,
            large_us,
            large_bytes,
        })
    })
}

/// Times of messages to the other side and back, halved.
fn trips(node: &LocalTransport, bytes: usize) -> Vec<f64> {
    let (question, mut answer) = (vec![1; bytes], Vec::new());
    let began_ns = monotonic_ns();
    let patience_ns = OBSERVATION_MAX.as_nanos() as u64;
    let mut halves_us = Vec::new();
    while halves_us.len() < TRIPS {
        let sent_ns = monotonic_ns();
        if sent_ns - began_ns > patience_ns && halves_us.len() >= TRIPS_MIN {
            break;
        }
        if node.send(NodeId(1), &[&question]).is_err() || !receive(node, &mut answer) {
            break;
        }
        halves_us.push((monotonic_ns() - sent_ns) as f64 * 0.5e-3);
    }
    halves_us
}

/// Sends everything back until nothing comes.
fn echo(node: &LocalTransport) {
    sleep_to_the_moment();
    let mut message = Vec::new();
    while receive(node, &mut message) && !message.is_empty() {
        if node.send(NodeId(0), &[&message]).is_err() {
            break;
        }
    }
    deliver(node);
}

fn receive(node: &LocalTransport, message: &mut Vec<u8>) -> bool {
    let polling = Polling::new(node, Role::Application);
    let mut spin = Spin::new(SPIN, false);
    loop {
        match node.receive(message) {
            Ok(Some(_)) => return true,
            Ok(None) if spin.again() => {}
            Ok(None) => {
                polling.sleep(None, || false);
                spin.reset();
            }
            Err(_) => return false,
        }
    }
}

/// Lets everything leave that has been sent.
fn deliver(node: &LocalTransport) {
    let polling = Polling::new(node, Role::Application);
    while node.has_backlog() {
        if node.receive(&mut Vec::new()).is_err() {
            return;
        }
        polling.sleep(None, || !node.has_backlog());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_earlier_than_asked() {
        let net = Net::new(500.0, 20.0).unwrap();
        let observed = observe(Some(net)).unwrap();
        assert!(observed.small_us.len() >= TRIPS_MIN && observed.large_us.len() >= TRIPS_MIN);
        assert!(observed.small_us.iter().all(|half_us| *half_us >= 500.0));
        let least_us = 500.0 + observed.large_bytes as f64 / 20.0;
        assert!(observed.large_us.iter().all(|half_us| *half_us >= least_us));
    }
}
