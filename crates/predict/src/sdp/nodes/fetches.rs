//! What a fetch costs if nobody is in its way.
//!
//! With homes it brings a page. Without, diffs of all who wrote the page, or a page: the price
//! is of a diff of half a page, another, if it was measured, of a diff of a word, and in
//! between it is taken to go with the bytes. These are what nodes sent and was no message of
//! another kind: pages as many as came, and diffs, each as long as all of them as a mean.

use super::part::Part;
use super::sync::{AtOne, MESSAGE_BYTES, PAGE_BYTES, WORD_DIFF_BYTES};
use super::{Beside, HALF_DIFF_BYTES};
use crate::sdp::counts::{Event, Protocol};

/// Bytes of a page and the message that it comes in.
const PAGE_MESSAGE_BYTES: f64 = PAGE_BYTES + MESSAGE_BYTES;

/// Prices of the fetches of one phase.
#[derive(Debug)]
pub(super) struct Fetches {
    /// Of the bytes that the price is of.
    price_us: f64,
    priced_bytes: f64,
    us_per_byte: f64,
    /// What a diff brings, as a mean; none if all fetches cost the same.
    diff_bytes: Option<f64>,
    /// What a fetch brings, as a mean of all threads.
    pub(super) mean_bytes: f64,
}

/// Without homes, bytes of a thread's node's answers to fetches.
pub(super) fn answer_bytes(part: &Part) -> f64 {
    let dsm = &part.dsm;
    let messages = [dsm.fetch_faults, dsm.locks, dsm.barriers, dsm.flushes];
    let messages: f64 = messages.iter().map(|count| *count as f64).sum();
    (dsm.bytes_sent as f64 - messages * MESSAGE_BYTES).max(0.0)
}

impl Fetches {
    /// `less_us` is what the price is more than for pages of this program, as a mean.
    pub(super) fn new(
        parts: &[Part],
        beside: &Beside<'_>,
        served: Option<AtOne>,
        less_us: f64,
    ) -> Self {
        let half_us = (beside.prices.fetch_us - less_us).max(0.0);
        let equal = Self {
            price_us: half_us,
            priced_bytes: 0.0,
            us_per_byte: 0.0,
            diff_bytes: None,
            mean_bytes: HALF_DIFF_BYTES,
        };
        let (Protocol::Homeless, Some(served)) = (beside.protocol, served) else {
            return equal;
        };
        let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
        let sent = sum(answer_bytes);
        let pages = sum(|part| part.dsm.pages_fetched as f64);
        let diffs = sum(|part| part.dsm.diffs_applied as f64);
        let fetches = sum(|part| part.counts.0[Event::Fetch as usize]);
        let price_us = served.fetch.min(half_us);
        Self {
            price_us,
            priced_bytes: WORD_DIFF_BYTES,
            us_per_byte: (half_us - price_us) / (HALF_DIFF_BYTES - WORD_DIFF_BYTES),
            diff_bytes: Some((sent - pages * PAGE_MESSAGE_BYTES).max(0.0) / diffs.max(1.0)),
            mean_bytes: sent / fetches.max(1.0),
        }
    }

    fn of_bytes_us(&self, bytes: f64) -> f64 {
        self.price_us + (bytes - self.priced_bytes).max(0.0) * self.us_per_byte
    }

    /// One, as a mean of all threads.
    pub(super) fn mean_us(&self) -> f64 {
        self.of_bytes_us(self.mean_bytes)
    }

    /// What a thread's fetches cost more while its node answers others', `exchange_us` for one
    /// of what is priced: what is asked waits for what is answered, on the link, as long as
    /// that has bytes. Of two unequal numbers of fetches, the smaller.
    pub(super) fn of_exchange_us(&self, part: &Part, exchange_us: f64) -> f64 {
        let fetches = part.counts.0[Event::Fetch as usize];
        match self.diff_bytes {
            None => fetches.min(part.dsm.pages_served as f64) * exchange_us,
            Some(_) => {
                let answered = answer_bytes(part) / self.mean_bytes.max(1.0);
                let priced = self.mean_bytes / HALF_DIFF_BYTES;
                fetches.min(answered) * exchange_us * priced
            }
        }
    }

    /// All of a thread.
    pub(super) fn of_thread_us(&self, part: &Part) -> f64 {
        let fetches = part.counts.0[Event::Fetch as usize];
        let Some(diff_bytes) = self.diff_bytes.filter(|_| fetches > 0.0) else {
            return fetches * self.price_us;
        };
        let dsm = &part.dsm;
        let pages = dsm.pages_fetched as f64 * PAGE_MESSAGE_BYTES;
        let bytes = pages + dsm.diffs_applied as f64 * diff_bytes;
        fetches * self.of_bytes_us(bytes / fetches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdp::counts::Counts;
    use fathomp_analyse::Dsm;

    #[test]
    fn fetches_cost_what_they_bring() {
        let fetches = Fetches {
            price_us: 100.0,
            priced_bytes: 24.0,
            us_per_byte: 0.01,
            diff_bytes: Some(1024.0),
            mean_bytes: 2024.0,
        };
        let part = |pages_fetched, diffs_applied| Part {
            counts: Counts::homeless(0.0, 10.0),
            dsm: Dsm {
                pages_fetched,
                diffs_applied,
                ..Dsm::default()
            },
            ..Part::default()
        };
        assert_eq!(fetches.mean_us(), 120.0);
        assert_eq!(fetches.of_thread_us(&part(0, 10)), 10.0 * 110.0);
        // Two diffs of each page.
        assert!((fetches.of_thread_us(&part(0, 20)) - 10.0 * 120.24).abs() < 1e-9);
        assert!((fetches.of_thread_us(&part(10, 0)) - 10.0 * 141.36).abs() < 1e-9);
        assert_eq!(fetches.of_thread_us(&Part::default()), 0.0);
        // It fetches ten times, and answers five times as much as a fetch brings.
        let mut busy = part(0, 10);
        busy.dsm.bytes_sent = 5 * 2024;
        let of_half = 2024.0 / HALF_DIFF_BYTES;
        let exchange_us = fetches.of_exchange_us(&busy, 50.0);
        assert!(
            (exchange_us - 5.0 * 50.0 * of_half).abs() < 1e-9,
            "{exchange_us}"
        );
        let equal = Fetches {
            diff_bytes: None,
            ..fetches
        };
        assert_eq!(equal.of_thread_us(&part(10, 0)), 1000.0);
        busy.dsm.pages_served = 7;
        assert_eq!(equal.of_exchange_us(&busy, 50.0), 7.0 * 50.0);
    }
}
