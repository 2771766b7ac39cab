//! When a decision counts as right.

use serde::{Deserialize, Serialize};

/// How measured speed-up becomes a share of what is possible, which the published text
/// leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Utilisation {
    /// The part of what further units could add: (S - 1) / (k - 1). A second core is
    /// worthwhile if it adds half of a core.
    #[default]
    Added,
    /// The part of all units: S / k. A second core is worthwhile if it adds anything.
    Share,
}

impl Utilisation {
    /// The utilisation of `units` by a speed-up over one of them.
    #[must_use]
    pub fn of(self, speedup: f64, units: u32) -> f64 {
        match self {
            Self::Added if units > 1 => (speedup - 1.0) / f64::from(units - 1),
            Self::Added => 1.0,
            Self::Share => fathomp_score::utilisation(speedup, units),
        }
    }

    /// The speed-up that has this utilisation.
    #[must_use]
    pub fn speedup(self, utilisation: f64, units: u32) -> f64 {
        match self {
            Self::Added => 1.0 + utilisation * f64::from(units.saturating_sub(1)),
            Self::Share => utilisation * f64::from(units),
        }
    }

    /// The class of a speed-up: units that are worthwhile, less one.
    #[must_use]
    pub fn class(self, speedup: f64, units: u32) -> u32 {
        fathomp_score::class(self.of(speedup, units), units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_lie_where_they_are_said_to() {
        let class = |how: Utilisation, speedup| how.class(speedup, 2);
        assert_eq!(class(Utilisation::Added, 1.45), 0);
        assert_eq!(class(Utilisation::Added, 1.55), 1);
        assert_eq!(class(Utilisation::Share, 0.99), 0);
        assert_eq!(class(Utilisation::Share, 1.05), 1);
        for how in [Utilisation::Added, Utilisation::Share] {
            assert!((how.of(how.speedup(0.3, 4), 4) - 0.3).abs() < 1e-12);
        }
    }
}
