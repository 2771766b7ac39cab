//! What fetches wait for one another.
//!
//! Pages [queue](queues) for the processor of the node that they are fetched from, and for its
//! links. Without homes, diffs are what is fetched, often several for one page.

use super::beside::Beside;
use super::fetches::{self, Fetches};
use super::left::Left;
use super::messages::{LOOKS_NS, MESSAGE_BYTES};
use super::part::Part;
use super::queues::{self, Asker, Costs};
use super::sync::AtOne;
use crate::prices::{Event, Protocol};

/// Where fetches wait.
pub(super) struct Contention<'a> {
    pub(super) beside: &'a Beside<'a>,
    pub(super) crowd: Option<AtOne>,
    /// What who answers has less to do, as a mean, for pages that were fetched before.
    pub(super) less_us: f64,
    /// Threads pass on by flags, and are at work when they wait.
    pub(super) flags: bool,
}

impl Contention<'_> {
    /// What each thread's fetches wait for others', and for homes that are still at what the last
    /// barrier has `left` them, in nanoseconds; of threads that begin then, and do something else
    /// for so long before all meet again.
    pub(super) fn waits_ns(
        &self,
        parts: &[Part],
        priced: &Fetches,
        left: &Left,
        between_ns: impl Fn(&Part) -> f64,
        begins_ns: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let network = &self.beside.cluster.network;
        let us_per_byte = 1.0 / network.bandwidth_mb_per_s;
        let of_crowd = |of: fn(&AtOne) -> f64| self.crowd.as_ref().map_or(0.0, of);
        let served_us = (of_crowd(|crowd| crowd.fetch_served) - self.less_us).max(0.0);
        // What was counted over several barriers, of one of them.
        let barriers = left.barriers();
        let asker = |(thread, part): (usize, &Part)| {
            let fetches = part.counts.0[Event::Fetch as usize];
            Asker {
                fetches: fetches / barriers,
                begins_ns: begins_ns(thread) / barriers,
                busy_until_ns: left.done_ns(thread) / barriers,
                between_ns: between_ns(part) / barriers,
                fetch_ns: priced.of_thread_us(part) * 1e3 / fetches.max(1.0),
                served_ns: (served_us + priced.served_us(part, us_per_byte)) * 1e3,
                bytes: priced.bytes(part),
                answers: match self.beside.protocol {
                    Protocol::Home => part.dsm.pages_served as f64,
                    Protocol::Homeless => fetches::answer_bytes(part),
                },
                asks: None,
            }
        };
        let askers: Vec<Asker> = parts.iter().enumerate().map(asker).collect();
        let costs = Costs {
            latency_ns: network.latency_us * 1e3,
            ns_per_byte: us_per_byte * 1e3,
            ask_bytes: MESSAGE_BYTES,
            wake_ns: of_crowd(|crowd| crowd.wakes) * 1e3,
            looks_ns: LOOKS_NS,
            ends_in_waiting: !self.flags,
        };
        let waits_ns = queues::wait_ns(&askers, &costs);
        waits_ns.iter().map(|ns| ns * barriers).collect()
    }
}
