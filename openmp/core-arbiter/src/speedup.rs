//! What more cores bring to a region: a curve in one word.

use crate::cores::CORES_MAX;

/// Numbers of cores at which the curve is kept, beside 1.
pub const KNOTS: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Speedups at [`KNOTS`] cores over one core. Between them the curve is straight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup([f32; 8]);

impl Default for Speedup {
    /// As fast as there are cores: what nothing speaks against.
    fn default() -> Self {
        Self(KNOTS.map(|cores| cores as f32))
    }
}

impl Speedup {
    /// The curve of `speedup(cores)`. What is not a number or beyond one for each core is
    /// taken for one for each core, and what is below 0 for 0.
    pub fn from_fn(mut speedup: impl FnMut(u32) -> f64) -> Self {
        Self(KNOTS.map(|cores| {
            let value = speedup(cores) as f32;
            let most = cores as f32;
            if value.is_nan() {
                most
            } else {
                value.clamp(0.0, most)
            }
        }))
    }

    /// The curve in a word: efficiencies in 255ths, a byte each. No word is no curve; 0 says
    /// nothing and means [`Speedup::default`].
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        if word == 0 {
            return Self::default();
        }
        let mut curve = [0.0; 8];
        for ((value, cores), byte) in curve.iter_mut().zip(KNOTS).zip(word.to_le_bytes()) {
            *value = f32::from(byte) / 255.0 * cores as f32;
        }
        Self(curve)
    }

    /// As a word, to 1/255 of the number of cores.
    #[must_use]
    pub fn word(self) -> u64 {
        let mut bytes = [0; 8];
        for ((byte, value), cores) in bytes.iter_mut().zip(self.0).zip(KNOTS) {
            // In range by construction; `as` saturates.
            *byte = (value / cores as f32 * 255.0).round() as u8;
        }
        u64::from_le_bytes(bytes).max(1)
    }

    /// The speedup on so many cores; 0 on none.
    #[must_use]
    pub fn at(&self, cores: u32) -> f64 {
        let cores = cores.min(CORES_MAX);
        if cores <= 1 {
            return f64::from(cores);
        }
        let (mut below, mut value_below) = (1, 1.0);
        for (knot, value) in KNOTS.into_iter().zip(self.0) {
            let value = f64::from(value);
            if cores <= knot {
                let part = f64::from(cores - below) / f64::from(knot - below);
                return value_below + part * (value - value_below);
            }
            (below, value_below) = (knot, value);
        }
        value_below
    }

    /// The least concave curve that is nowhere below this one, from 1 to `most` cores:
    /// points `(cores, speedup)`, of which the first is `(1, 1)`. Its slopes fall, so that
    /// whoever always gives the next core to the steepest curve gives them in the best way.
    pub(crate) fn hull(&self, most: u32) -> Hull {
        let mut hull = Hull::default();
        hull.push(1, 1.0);
        for knot in KNOTS.into_iter().take_while(|knot| *knot < most) {
            hull.push(knot, self.at(knot));
        }
        if most > 1 {
            hull.push(most, self.at(most));
        }
        hull
    }
}

/// See [`Speedup::hull`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hull {
    points: [(u32, f64); KNOTS.len() + 2],
    len: usize,
}

impl Hull {
    pub(crate) fn points(&self) -> &[(u32, f64)] {
        &self.points[..self.len]
    }

    /// Adds a point to the right, and takes away those that are below the curve then.
    fn push(&mut self, cores: u32, speedup: f64) {
        while self.len >= 2 {
            let (first, last) = (self.points[self.len - 2], self.points[self.len - 1]);
            let slope =
                |from: (u32, f64), to: (u32, f64)| (to.1 - from.1) / f64::from(to.0 - from.0);
            if slope(first, last) > slope(last, (cores, speedup)) {
                break;
            }
            self.len -= 1;
        }
        if let Some(point) = self.points.get_mut(self.len) {
            *point = (cores, speedup);
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn curves_pass_through_words() {
        let amdahl = |cores: u32| 1.0 / (0.2 + 0.8 / f64::from(cores));
        let curve = Speedup::from_word(Speedup::from_fn(amdahl).word());
        for cores in KNOTS {
            let off = (curve.at(cores) - amdahl(cores)).abs();
            assert!(off <= f64::from(cores) / 500.0, "{cores}: {off}");
        }
        assert!((curve.at(3) - (curve.at(2) + curve.at(4)) / 2.0).abs() < 1e-9);
        assert_eq!((curve.at(0), curve.at(1)), (0.0, 1.0));
        assert_eq!(Speedup::from_word(0).at(6), 6.0);
        assert_eq!(Speedup::from_fn(|_| f64::NAN), Speedup::default());
    }

    proptest! {
        #[test]
        fn any_word_is_a_curve_and_its_hull_is_concave(word: u64, most in 1_u32..=CORES_MAX) {
            let curve = Speedup::from_word(word);
            for cores in 0..=CORES_MAX {
                let value = curve.at(cores);
                prop_assert!(value >= 0.0 && value <= f64::from(cores));
            }
            let hull = curve.hull(most);
            let points = hull.points();
            prop_assert_eq!(points.first(), Some(&(1, 1.0)));
            prop_assert_eq!(points.last().map(|point| point.0), Some(most));
            let slopes: Vec<f64> = points
                .windows(2)
                .map(|pair| (pair[1].1 - pair[0].1) / f64::from(pair[1].0 - pair[0].0))
                .collect();
            prop_assert!(slopes.windows(2).all(|pair| pair[0] > pair[1]));
        }
    }
}
