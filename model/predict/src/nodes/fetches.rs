//! What a fetch costs if nobody is in its way.
//!
//! With homes it brings a page. Without, diffs of all who wrote the page, or a page: the price
//! is of a diff of half a page, another, if it was measured, of a diff of a word, and in
//! between it is taken to go with the bytes. These are what nodes sent and was no message of
//! another kind: pages as many as came, and diffs, each as long as all of them as a mean.

use super::beside::Beside;
use super::messages::{HALF_DIFF_BYTES, MESSAGE_BYTES, PAGE_BYTES, WORD_DIFF_BYTES};
use super::part::Part;
use super::serving;
use super::sync::AtOne;
use crate::prices::{Event, Protocol};
use fathomp_analysis::Dsm;

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
}

/// Without homes, bytes of a thread's node's answers to fetches.
pub(super) fn answer_bytes(part: &Part) -> f64 {
    let dsm = &part.dsm;
    let messages = [dsm.fetch_faults, dsm.locks, dsm.barriers, dsm.flushes];
    let messages: f64 = messages.iter().map(|count| *count as f64).sum();
    (dsm.bytes_sent as f64 - messages * MESSAGE_BYTES).max(0.0)
}

/// Without homes, fetches that took two questions, one after the other: pages that came whole, of
/// which diffs were missing then. It is not counted; it is taken that every other fetch brought a diff at
/// least, and that further ones are spread over all.
pub(super) fn asked_again(dsm: &Dsm) -> f64 {
    let whole = dsm.pages_fetched.min(dsm.fetch_faults) as f64;
    let others = dsm.fetch_faults as f64 - whole;
    let more = (dsm.diffs_applied as f64 - others).max(0.0);
    let of_whole = more * whole / (dsm.fetch_faults as f64).max(1.0);
    of_whole.min(whole)
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
        };
        let (Protocol::Homeless, Some(served)) = (beside.protocol, served) else {
            return equal;
        };
        let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
        let sent = sum(answer_bytes);
        let pages = sum(|part| part.dsm.pages_fetched as f64);
        let diffs = sum(|part| part.dsm.diffs_applied as f64);
        let price_us = served.fetch.min(half_us);
        Self {
            price_us,
            priced_bytes: WORD_DIFF_BYTES,
            us_per_byte: (half_us - price_us) / (HALF_DIFF_BYTES - WORD_DIFF_BYTES),
            diff_bytes: Some((sent - pages * PAGE_MESSAGE_BYTES).max(0.0) / diffs.max(1.0)),
        }
    }

    fn of_bytes_us(&self, bytes: f64) -> f64 {
        self.price_us + (bytes - self.priced_bytes).max(0.0) * self.us_per_byte
    }

    /// Bytes that answer a fetch of a thread, as a mean.
    pub(super) fn bytes(&self, part: &Part) -> f64 {
        let Some(diff_bytes) = self.diff_bytes else {
            return PAGE_MESSAGE_BYTES;
        };
        let fetches = part.counts.0[Event::Fetch as usize];
        let pages = part.dsm.pages_fetched as f64 * PAGE_MESSAGE_BYTES;
        let diffs = part.dsm.diffs_applied as f64 * diff_bytes;
        (pages + diffs) / fetches.max(1.0)
    }

    /// What the bytes of a fetch keep the processor of who answers, as a mean of a thread.
    pub(super) fn served_us(&self, part: &Part, link_us_per_byte: f64) -> f64 {
        let more_bytes = self.bytes(part) - MESSAGE_BYTES - self.priced_bytes;
        serving::bytes_served_us(more_bytes, self.us_per_byte, link_us_per_byte)
    }

    /// What a diff keeps the link, as a mean.
    pub(super) fn diff_link_us(&self, link_us_per_byte: f64) -> f64 {
        self.diff_bytes.unwrap_or(0.0) * link_us_per_byte
    }

    /// All of a thread.
    pub(super) fn of_thread_us(&self, part: &Part) -> f64 {
        let fetches = part.counts.0[Event::Fetch as usize];
        if self.diff_bytes.is_none() {
            return fetches * self.price_us;
        }
        fetches * self.of_bytes_us(self.bytes(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Counts;

    #[test]
    fn pages_that_came_whole_are_asked_for_again_if_diffs_are_missing() {
        let again = |fetch_faults, pages_fetched, diffs_applied| {
            asked_again(&Dsm {
                fetch_faults,
                pages_fetched,
                diffs_applied,
                ..Dsm::default()
            })
        };
        // Nothing but pages, or a diff of each other.
        assert_eq!([again(9, 9, 0), again(9, 4, 5), again(0, 0, 7)], [0.0; 3]);
        assert_eq!(again(9, 9, 5), 5.0);
        assert_eq!(again(9, 9, 40), 9.0);
        // Four diffs more, of half of them.
        assert_eq!(again(8, 4, 8), 2.0);
        // Fetched in advance.
        assert_eq!(again(3, 20, 2), 2.0);
    }

    #[test]
    fn fetches_cost_what_they_bring() {
        let fetches = Fetches {
            price_us: 100.0,
            priced_bytes: 24.0,
            us_per_byte: 0.01,
            diff_bytes: Some(1024.0),
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
        assert_eq!(fetches.bytes(&part(0, 20)), 2048.0);
        assert_eq!(fetches.served_us(&part(0, 20), 0.006), 0.5 * 1960.0 * 0.004);
        assert_eq!(fetches.of_thread_us(&part(0, 10)), 10.0 * 110.0);
        // Two diffs of each page.
        assert!((fetches.of_thread_us(&part(0, 20)) - 10.0 * 120.24).abs() < 1e-9);
        assert!((fetches.of_thread_us(&part(10, 0)) - 10.0 * 141.36).abs() < 1e-9);
        assert_eq!(fetches.of_thread_us(&Part::default()), 0.0);
        let equal = Fetches {
            diff_bytes: None,
            ..fetches
        };
        assert_eq!(equal.of_thread_us(&part(10, 0)), 1000.0);
    }
}
