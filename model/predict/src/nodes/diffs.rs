//! What diffs cost: who makes and sends them, the link, and the home that writes them.
//!
//! It is measured of pages of which a word changed, all, and all but a byte of each word. A home is
//! kept by the slower of two: its link, which takes bytes, and its processor, which takes bytes and,
//! one after the other, runs of changed bytes. Of numbers whose highest byte stays what it was, a
//! page has eight times as many runs as if all of it changed, and over a fast network the processor
//! takes longer than the link.

use super::messages::{HALF_DIFF_BYTES, WHOLE_DIFF_BYTES, WORD_DIFF_BYTES};
use super::tree::levels;
use crate::prices::Crowd;

/// Runs of changed bytes in a diff of a whole page: one in each block.
const WHOLE_DIFF_RUNS: f64 = 64.0;
/// Bytes and runs of a diff of all but one byte of each word.
const RAGGED_DIFF_BYTES: f64 = 4104.0;
const RAGGED_DIFF_RUNS: f64 = 512.0;

/// Diffs of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Diffs {
    pub(super) number: f64,
    pub(super) bytes: f64,
    /// Runs of changed bytes; 0 if they were not counted.
    pub(super) runs: f64,
}

impl Diffs {
    /// Bytes beyond those of words.
    fn more_bytes(&self) -> f64 {
        (self.bytes - self.number * WORD_DIFF_BYTES).max(0.0)
    }

    /// Runs beyond one each.
    fn more_runs(&self) -> f64 {
        (self.runs - self.number).max(0.0)
    }
}

/// Prices, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DiffPrices {
    /// Of a diff of a word until it is in its home's memory, and of each further byte and run.
    pub(super) each: f64,
    pub(super) byte: f64,
    pub(super) run: f64,
    /// What of that keeps who sends it; there is nothing to do for runs.
    pub(super) sent: f64,
    pub(super) byte_sent: f64,
    /// What keeps the home from the next: of a diff; of a byte, what of it comes in; and what is
    /// written, beside what is written for each run.
    pub(super) served: f64,
    pub(super) byte_in: f64,
    pub(super) byte_written: f64,
}

impl DiffPrices {
    /// By numbers of nodes that send diffs: the fewest say what one costs, and the most what it keeps
    /// its home. `half_us` is the price of a diff of half a page, if nothing was measured of large
    /// ones here.
    pub(super) fn new(crowds: &[(f64, Crowd)], us_per_byte: f64, half_us: f64) -> Self {
        let by_senders = |a: &&(f64, Crowd), b: &&(f64, Crowd)| a.0.total_cmp(&b.0);
        let fewest = crowds.iter().min_by(by_senders);
        let Some((&(few, least), &(many, most))) = fewest.zip(crowds.iter().max_by(by_senders))
        else {
            return Self::default();
        };
        let each = least.diff_us.median.max(0.0);
        let longer = |of: f64, many: f64| (of / (many - few).max(1.0)).max(0.0);
        let served = longer(most.diff_us.median - least.diff_us.median, many).min(each);
        // Best without gaps.
        let large = |crowd: &Crowd| {
            let whole = crowd.whole_diff_us.map(|us| (WHOLE_DIFF_BYTES, us));
            let half = crowd.half_diff_us.map(|us| (HALF_DIFF_BYTES, us));
            whole.or(half).map(|(bytes, us)| (bytes, us.median))
        };
        let (bytes_of, us_of) = large(&least).unwrap_or((HALF_DIFF_BYTES, half_us));
        let more_bytes = bytes_of - WORD_DIFF_BYTES;
        let byte = ((us_of - each) / more_bytes).max(0.0);
        // Where a node passes on what others tell node 0 at a barrier, that waits on the link behind
        // its own diffs.
        let same_levels = |senders: f64| levels(senders as u32 + 1) == levels(few as u32 + 1);
        let alike = crowds.iter().filter(|(senders, _)| same_levels(*senders));
        let served_of = alike.max_by(by_senders).map_or(0.0, |(many, most)| {
            longer(large(most).map_or(0.0, |(_, us)| us - us_of), *many)
        });
        let byte_in = ((served_of - served) / more_bytes)
            .max(us_per_byte)
            .min(byte);
        let prices = Self {
            each,
            byte,
            run: 0.0,
            // What is not on the link, the one does as much of as the other.
            sent: each - served,
            byte_sent: 0.5 * (byte - us_per_byte).max(0.0),
            served,
            byte_in,
            byte_written: 0.0,
        };
        let prices = prices.with_sent(&least, us_per_byte);
        let ragged = most.ragged_diff_us.zip(least.ragged_diff_us);
        let ragged_served = ragged.map_or(0.0, |(most, least)| {
            longer(most.median - least.median, many) - served
        });
        prices.with_runs(&least, ragged_served, us_per_byte)
    }

    /// With what was measured of who sends diffs, if it was.
    fn with_sent(mut self, least: &Crowd, us_per_byte: f64) -> Self {
        if let Some((word, whole)) = least.diff_sent_us.zip(least.whole_sent_us) {
            let more_bytes = WHOLE_DIFF_BYTES - WORD_DIFF_BYTES;
            let byte_sent = (whole.median - word.median) / more_bytes;
            self.sent = word.median.clamp(0.0, self.each);
            self.byte_sent = byte_sent.clamp(0.0, (self.byte - us_per_byte).max(0.0));
        }
        self
    }

    /// With what runs cost, if diffs of many keep their home longer, by `ragged_served` beyond what
    /// those of a word do, than as many bytes of whole pages: else it is the link that they wait for,
    /// and what is beside bytes in its messages. Nobody else goes through them: what they take
    /// until they are there differs from whole pages by bytes of sender, link and home, and by runs.
    fn with_runs(mut self, least: &Crowd, ragged_served: f64, us_per_byte: f64) -> Self {
        let Some((ragged, whole)) = least.ragged_diff_us.zip(least.whole_diff_us) else {
            return self;
        };
        let [bytes, whole_bytes] =
            [RAGGED_DIFF_BYTES, WHOLE_DIFF_BYTES].map(|bytes| bytes - WORD_DIFF_BYTES);
        let [runs, whole_runs] = [RAGGED_DIFF_RUNS, WHOLE_DIFF_RUNS].map(|runs| runs - 1.0);
        if ragged_served <= bytes * self.byte_in {
            return self;
        }
        let (more_bytes, fewer_runs) = (whole_bytes - bytes, runs - whole_runs);
        let elsewhere = more_bytes * (self.byte_sent + us_per_byte);
        let longer_at_home = ragged.median - (whole.median - elsewhere);
        // bytes b + runs r = ragged_served; fewer_runs r - more_bytes b = longer_at_home
        let scale = bytes * fewer_runs + more_bytes * runs;
        let byte = (ragged_served * fewer_runs - longer_at_home * runs) / scale;
        let run = (ragged_served * more_bytes + longer_at_home * bytes) / scale;
        if byte > 0.0 && run > 0.0 {
            let bytes_us = whole.median - self.each - whole_runs * run;
            (self.byte_written, self.run) = (byte, run);
            self.byte = (bytes_us / whole_bytes).max(self.byte_sent + us_per_byte);
        }
        self
    }

    /// What it takes until diffs are in their home's memory.
    pub(super) fn all_us(&self, diffs: &Diffs) -> f64 {
        let more_us = diffs.more_bytes() * self.byte + diffs.more_runs() * self.run;
        diffs.number * self.each + more_us
    }

    /// What of that they keep their home from others.
    pub(super) fn served_us(&self, diffs: &Diffs) -> f64 {
        let in_us = diffs.more_bytes() * self.byte_in;
        let written_us = diffs.more_bytes() * self.byte_written + diffs.more_runs() * self.run;
        diffs.number * self.served + in_us.max(written_us)
    }

    /// What of it they keep who makes and sends them.
    pub(super) fn sent_us(&self, diffs: &Diffs) -> f64 {
        diffs.number * self.sent + diffs.more_bytes() * self.byte_sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Priced;

    fn priced(median: f64) -> Priced {
        Priced {
            median,
            interval: [median; 2],
        }
    }

    /// What is measured if a sender takes 2 us and 0.5 ns a byte, the link 1 ns a byte and the home
    /// 0.7 ns a byte and 5 ns a run, which is more than the link's for many of these.
    fn crowd(senders: f64) -> Crowd {
        let home = |bytes: f64, runs: f64| 0.0007 * bytes + 0.005 * runs;
        let takes = |bytes: f64, runs: f64| {
            let last = 0.0005 * bytes + 0.001 * bytes + home(bytes, runs);
            let kept = home(bytes, runs).max(0.001 * bytes);
            Some(priced(2.5 + last + (senders - 1.0) * kept))
        };
        Crowd {
            update_us: priced(1.0),
            lone_update_us: priced(1.0),
            lone_flush_us: None,
            lone_flush_diff_us: None,
            fetch_us: priced(1.0),
            same_us: None,
            at_work_us: None,
            first_diff_us: None,
            diff_us: priced(2.5),
            half_diff_us: takes(2544.0, 255.0),
            whole_diff_us: takes(4592.0, 63.0),
            ragged_diff_us: takes(4080.0, 511.0),
            diff_sent_us: Some(priced(2.0)),
            whole_sent_us: Some(priced(2.0 + 0.0005 * 4592.0)),
            notice_us: priced(1.0),
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn what_was_measured_of_whole_and_ragged_pages_tells_runs_from_bytes() {
        let prices = DiffPrices::new(&[(1.0, crowd(1.0)), (7.0, crowd(7.0))], 0.001, 0.0);
        assert!(near(prices.run, 0.005), "{prices:?}");
        assert!(near(prices.byte_written, 0.0007), "{prices:?}");
        assert!(near(prices.byte, 0.0022), "{prices:?}");
        assert!(near(prices.byte_sent, 0.0005), "{prices:?}");
        // Numbers of which all bytes but the first changed.
        let ragged = Diffs {
            number: 10.0,
            bytes: 41_040.0,
            runs: 5_120.0,
        };
        let bytes = 41_040.0 - 240.0;
        let written_us = 0.0007 * bytes + 0.005 * 5_110.0;
        assert!(near(prices.served_us(&ragged), written_us));
        assert!(near(prices.sent_us(&ragged), 20.0 + 0.0005 * bytes));
        let all_us = 25.0 + 0.0022 * bytes + 0.005 * 5_110.0;
        assert!(near(prices.all_us(&ragged), all_us));
        // Without gaps, or without a count, the link is slower.
        for runs in [0.0, 640.0] {
            let whole = Diffs { runs, ..ragged };
            assert!(near(prices.served_us(&whole), 0.001 * bytes));
        }
    }

    #[test]
    fn runs_cost_nothing_where_the_link_hides_them_or_they_were_not_measured() {
        let of = |crowds: [Crowd; 2], us_per_byte| {
            let [few, many] = crowds;
            DiffPrices::new(&[(1.0, few), (7.0, many)], us_per_byte, 0.0)
        };
        let both = [crowd(1.0), crowd(7.0)];
        assert_eq!(of(both, 0.002).run, 0.0);
        // A link that takes three times as long as the home, and 3 % longer than its bytes.
        let link = |senders: f64| {
            let takes = |bytes: f64| {
                Some(priced(
                    2.5 + 0.0055 * bytes + (senders - 1.0) * 0.00412 * bytes,
                ))
            };
            Crowd {
                whole_diff_us: takes(4592.0),
                ragged_diff_us: takes(4080.0),
                ..crowd(senders)
            }
        };
        let slow = [(1.0, link(1.0)), (3.0, link(3.0)), (7.0, link(7.0))];
        let prices = DiffPrices::new(&slow, 0.004, 0.0);
        assert_eq!((prices.run, prices.byte_written), (0.0, 0.0));
        assert!(near(prices.byte_in, 0.00412), "{prices:?}");
        let without = both.map(|crowd| Crowd {
            ragged_diff_us: None,
            diff_sent_us: None,
            ..crowd
        });
        let prices = of(without, 0.001);
        assert_eq!((prices.run, prices.byte_written), (0.0, 0.0));
        // Sender and home do as much each of what is not on the link.
        assert!(near(prices.byte_sent, 0.5 * (prices.byte - 0.001)));
        assert!(near(prices.sent, prices.each - prices.served));
        assert_eq!(DiffPrices::new(&[], 0.001, 9.0), DiffPrices::default());
    }

    #[test]
    fn diffs_cost_their_writer_and_their_home() {
        let prices = DiffPrices {
            each: 2.0,
            byte: 0.5,
            sent: 1.5,
            byte_sent: 0.25,
            served: 0.5,
            byte_in: 0.125,
            ..DiffPrices::default()
        };
        let diffs = |number, bytes| Diffs {
            number,
            bytes,
            runs: 0.0,
        };
        assert_eq!(prices.all_us(&Diffs::default()), 0.0);
        assert_eq!(prices.all_us(&diffs(10.0, 340.0)), 20.0 + 50.0);
        assert_eq!(prices.served_us(&diffs(10.0, 340.0)), 5.0 + 12.5);
        assert_eq!(prices.sent_us(&diffs(10.0, 340.0)), 15.0 + 25.0);
    }
}
