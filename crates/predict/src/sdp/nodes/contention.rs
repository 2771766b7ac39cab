//! What fetches wait for one another.
//!
//! A node has one link in each direction, and one processor for what others want of it.
//! Pages that are fetched from it queue for that and for the link out. Without homes, diffs
//! are what is fetched, often several for one page.

use super::Beside;
use super::fetches::{self, Fetches};
use super::part::Part;
use super::sync::{AtOne, MESSAGE_BYTES, PAGE_BYTES, WHOLE_DIFF_BYTES};
use crate::sdp::counts::{Event, Protocol};
use fathomp_analyse::Dsm;

/// A diff of one changed byte, and one in which every byte changed.
const DIFF_BYTES: [f64; 2] = [17.0, WHOLE_DIFF_BYTES];

/// Bytes of the diffs that a thread's node sent home: what it sent and was no page.
pub(super) fn diff_bytes(part: &Part) -> f64 {
    let dsm = &part.dsm;
    let diffs = part.counts.0[Event::DiffToHome as usize];
    let messages = [
        dsm.fetch_faults,
        dsm.locks,
        dsm.barriers,
        dsm.flushes,
        dsm.pages_served,
    ];
    let messages: f64 = messages.iter().map(|count| *count as f64).sum();
    let other = messages * MESSAGE_BYTES + dsm.pages_served as f64 * PAGE_BYTES;
    let [least, most] = DIFF_BYTES.map(|bytes| bytes * diffs);
    (dsm.bytes_sent as f64 - other).clamp(least, most)
}

/// Queues at the nodes of one region.
#[derive(Debug)]
pub(super) struct Links {
    /// What a fetch waits longer than if it were alone.
    fetch_us: f64,
}

impl Links {
    /// Of threads whose fetches are priced like that, and that do something else for so long,
    /// `between_us` in all, before they meet.
    pub(super) fn new(
        parts: &[Part],
        priced: &Fetches,
        between_us: impl Fn(&Part) -> f64,
        beside: &Beside<'_>,
        served: Option<AtOne>,
        less_us: f64,
    ) -> Self {
        let us_per_byte = 1.0 / beside.cluster.network.bandwidth_mb_per_s;
        let served_us = served.map_or(0.0, |served| (served.fetch_served - less_us).max(0.0));
        let fetches = |part: &Part| part.counts.0[Event::Fetch as usize];
        let all: f64 = parts.iter().map(fetches).sum();
        let asker = parts
            .iter()
            .max_by(|a, b| fetches(a).total_cmp(&fetches(b)));
        let most = asker.map_or(0.0, fetches);
        // Of that one: what it does from one fetch to the next.
        let think_us = asker.map_or(0.0, |asker| between_us(asker) / most.max(1.0));
        let answered = |count: fn(&Dsm) -> u64| -> Vec<f64> {
            parts.iter().map(|part| count(&part.dsm) as f64).collect()
        };
        // What answers a fetch, and which node answers how many.
        let (bytes, by) = match beside.protocol {
            Protocol::Home => {
                let page = PAGE_BYTES + MESSAGE_BYTES;
                (page, answered(|dsm| dsm.pages_served))
            }
            Protocol::Homeless => {
                let sent = parts.iter().map(fetches::answer_bytes).collect();
                (priced.mean_bytes, sent)
            }
        };
        // As many threads as would fetch as much as the one that fetches most, but for the one
        // at the node that is asked.
        let elsewhere = shares(&by).zip(parts);
        let elsewhere = elsewhere.map(|(share, part)| share * (all - fetches(part)));
        let askers = match most > 0.0 {
            true => elsewhere.sum::<f64>() / most,
            false => 1.0,
        };
        let demands: Vec<f64> = shares(&by)
            .map(|share| share * (bytes * us_per_byte + served_us))
            .collect();
        let fetch_us = priced.mean_us();
        let delay_us = (fetch_us - bytes * us_per_byte - served_us).max(0.0);
        let whole_us = response(askers, think_us + delay_us, &demands, Times::Equal);
        let fetch_us = (whole_us - think_us - fetch_us).max(0.0);
        Self { fetch_us }
    }

    /// Time that a thread waits for others' pages.
    pub(super) fn fetches_wait_ns(&self, part: &Part) -> f64 {
        part.counts.0[Event::Fetch as usize] * self.fetch_us * 1e3
    }
}

/// Parts of the sum.
fn shares(values: &[f64]) -> impl Iterator<Item = f64> {
    let sum: f64 = values.iter().sum();
    let known = sum > 0.0;
    values
        .iter()
        .map(move |value| if known { value / sum } else { 0.0 })
}

/// How long those take that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// Equally long, as pages do: whoever finds one being served waits for half of it, as
    /// a mean (Reiser, "A Queueing Network Analysis of Computer Communication Networks with
    /// Window Flow Control", IEEE Trans. Comm. 27, 1979).
    Equal,
    /// Some much longer than others.
    Varying,
}

/// Time from a question to its answer in a closed network of so many askers, a delay
/// without a queue, and stations with one: mean value analysis (Reiser and
/// Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", J. ACM
/// 27, 1980), linear between whole numbers of askers.
pub(super) fn response(askers: f64, delay_us: f64, demands_us: &[f64], times: Times) -> f64 {
    let mut queues = vec![0.0; demands_us.len()];
    let done = match times {
        Times::Equal => 0.5,
        Times::Varying => 0.0,
    };
    let (mut rate, mut before) = (0.0, 0.0);
    for asker in 1..=askers.ceil().max(1.0) as u32 {
        let waits: Vec<f64> = demands_us
            .iter()
            .zip(&queues)
            .map(|(demand, queue)| demand * (1.0 + queue - done * (rate * demand).min(1.0)))
            .collect();
        let whole = delay_us + waits.iter().sum::<f64>();
        rate = f64::from(asker) / whole.max(f64::MIN_POSITIVE);
        queues = waits.iter().map(|time| rate * time).collect();
        if f64::from(asker) >= askers {
            let fraction = askers - (f64::from(asker) - 1.0);
            let before = if asker == 1 { whole } else { before };
            return before + (whole - before) * fraction.clamp(0.0, 1.0);
        }
        before = whole;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_asker_waits_for_nobody() {
        for times in [Times::Equal, Times::Varying] {
            assert_eq!(response(1.0, 160.0, &[40.0], times), 200.0);
            assert_eq!(response(0.5, 160.0, &[30.0, 10.0], times), 200.0);
        }
    }

    #[test]
    fn many_askers_wait_for_the_slowest_station() {
        let many = |times| response(1000.0, 160.0, &[30.0, 10.0], times);
        assert!((many(Times::Varying) - 30_000.0).abs() < 1.0);
        assert!((many(Times::Equal) - 30_000.0).abs() < 30.0);
        // Two askers, one station: the second finds the first there for a fifth of
        // the time, half done if all take equally long.
        let few = |askers, times| response(askers, 160.0, &[40.0], times);
        assert_eq!(few(2.0, Times::Varying), 160.0 + 40.0 * 1.2);
        assert_eq!(few(1.5, Times::Varying), 204.0);
        assert_eq!(few(2.0, Times::Equal), 160.0 + 40.0 * 1.1);
        assert_eq!(few(1.5, Times::Equal), 202.0);
    }
}
