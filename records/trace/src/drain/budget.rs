//! How much of a recording may go to what.

use fathomp_types::Nanos;

/// How large a recording may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes after which executions of the same region are summed instead of
    /// written one by one. The sums then add up to an eighth of it.
    pub limit_bytes: u64,
}

impl Default for Limits {
    /// 128 MiB: some one and a half million executions of a region by a
    /// thread, half a gigabyte once read into memory.
    fn default() -> Self {
        Self {
            limit_bytes: 128 << 20,
        }
    }
}

/// What has been spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limits: Limits,
    bytes: u64,
    detail_bytes: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            bytes: 0,
            detail_bytes: 0,
        }
    }

    /// A block of so many bytes was written.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Whether each execution may be written by itself.
    pub(crate) fn allows_executions(&self) -> bool {
        self.bytes < self.limits.limit_bytes
    }

    /// Whether a detail about so much time may be written; if so it is
    /// accounted for.
    ///
    /// Details get a quarter of the recording. As that is used up, only ever
    /// longer ones are kept, so that a long run has a timeline to its end.
    pub(crate) fn take_detail(&mut self, length: Nanos, bytes: usize) -> bool {
        let share = self.limits.limit_bytes / 4;
        let shortest = match self.detail_bytes.saturating_mul(8) / share.max(1) {
            0..4 => 0,
            4..5 => 10_000,
            5..6 => 100_000,
            6..7 => 1_000_000,
            7..8 => 10_000_000,
            _ => u64::MAX,
        };
        let taken = length.0 >= shortest && self.allows_executions();
        if taken {
            self.detail_bytes += bytes as u64;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_leave_most_of_the_room_to_executions() {
        let mut budget = Budget::new(Limits { limit_bytes: 8000 });
        let mut taken = 0;
        while budget.take_detail(Nanos(20_000_000), 10) {
            budget.spend(10);
            taken += 10;
        }
        assert_eq!(taken, 2000);
        assert!(budget.allows_executions());
        budget.spend(6000);
        assert!(!budget.allows_executions());
    }

    #[test]
    fn short_details_go_first() {
        let mut budget = Budget::new(Limits { limit_bytes: 8000 });
        assert!(budget.take_detail(Nanos(1), 1000));
        assert!(!budget.take_detail(Nanos(1), 10));
        assert!(budget.take_detail(Nanos(20_000), 10));
    }

    #[test]
    fn a_limit_of_nothing_allows_nothing() {
        let mut budget = Budget::new(Limits { limit_bytes: 0 });
        assert!(!budget.allows_executions());
        assert!(!budget.take_detail(Nanos(u64::MAX), 1));
    }
}
