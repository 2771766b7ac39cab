//! From scores and measured speed-ups to classes.
//!
//! With `k` packages there are `k` classes: class `c` (from 0) are values above `c / k` up
//! to `(c + 1) / k`, so that the one border of two packages is 50 %. A value of class `c`
//! says that `c + 1` packages are worthwhile. The measured value is the *utilisation*: the
//! speed-up of `k` packages over one, divided by `k`. A region that gains nothing from more
//! packages, with speed-up 1, is at `1 / k` and thus of class 0.

/// The class of a score or utilisation; what is beyond 0 or 1 belongs to the outer ones.
#[must_use]
pub fn class(value: f64, packages: u32) -> u32 {
    let packages = packages.max(1);
    if value.is_nan() {
        return 0;
    }
    // Rounding must not lift what is exactly on a border.
    let scaled = value * f64::from(packages);
    let above = (scaled - 1e-9).ceil() - 1.0;
    above.clamp(0.0, f64::from(packages - 1)) as u32
}

/// Packages that are worthwhile by a score or utilisation.
#[must_use]
pub fn worthwhile(value: f64, packages: u32) -> u32 {
    class(value, packages) + 1
}

/// The speed-up of all packages over one as a share of what is possible.
#[must_use]
pub fn utilisation(speedup: f64, packages: u32) -> f64 {
    speedup / f64::from(packages.max(1))
}

/// The published success: score and measured utilisation are of the same class.
#[must_use]
pub fn same_class(score: f64, speedup: f64, packages: u32) -> bool {
    class(score, packages) == class(utilisation(speedup, packages), packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_at_shares_of_the_packages() {
        assert_eq!(
            [0.0, 0.5, 0.51, 1.0].map(|score| class(score, 2)),
            [0, 0, 1, 1]
        );
        assert_eq!(
            [0.2, 0.25, 0.3, 0.5, 0.6, 0.75, 0.8, 7.0].map(|score| class(score, 4)),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(class(0.9, 0), 0);
        assert_eq!(class(f64::NAN, 4), 0);
        assert_eq!(class(f64::NEG_INFINITY, 4), 0);
    }

    #[test]
    fn a_second_package_without_gain_is_not_worthwhile() {
        assert_eq!(worthwhile(utilisation(1.0, 2), 2), 1);
        assert_eq!(worthwhile(utilisation(1.9, 2), 2), 2);
        assert!(same_class(0.7, 1.9, 2) && !same_class(0.3, 1.9, 2));
    }
}
