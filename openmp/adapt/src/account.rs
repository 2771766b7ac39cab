//! What trials have cost, and what they may.

/// Part of the time since the begin that trials may lose. Well below what is promised of
/// the whole (3 %), for decisions may be wrong, too.
const RATE: f64 = 0.01;

/// Time lost by trying.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    began: u64,
    lost: f64,
}

impl Account {
    /// An account of a program that began then.
    pub fn new(began: u64) -> Self {
        Self { began, lost: 0.0 }
    }

    /// Whether so much may be lost now.
    pub fn affords(&self, now: u64, loss: f64) -> bool {
        self.lost + loss <= RATE * now.saturating_sub(self.began) as f64
    }

    /// So much was lost.
    #[inline]
    pub fn charge(&mut self, loss: f64) {
        self.lost += loss.max(0.0);
    }

    /// All that was lost.
    pub fn lost(&self) -> f64 {
        self.lost
    }
}
