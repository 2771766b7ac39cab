//! How much a recording may still grow.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a recording may have until its intervals are merged.
///
/// May be shared by threads. It does not keep anything from being written: a
/// writer that finds it [spent](Self::is_spent) has its packers merge, and what
/// they write afterwards stays small.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub const fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        }
    }

    /// Notes that `bytes` were written; says whether there is still room.
    pub fn spend(&self, bytes: u64) -> bool {
        let before = self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) < self.limit_bytes
    }

    /// Whether nothing is left: time to merge.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.used_bytes() >= self.limit_bytes
    }

    /// Bytes written so far.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_spent_when_the_limit_is_reached() {
        let budget = Budget::new(100);
        assert!(budget.spend(99));
        assert!(!budget.is_spent());
        assert!(!budget.spend(1));
        assert!(budget.is_spent());
        assert_eq!(budget.used_bytes(), 100);
    }
}
