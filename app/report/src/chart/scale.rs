//! From values to drawing coordinates.

use super::Tick;

/// Maps values onto a stretch of the drawing, linearly or by powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    logarithmic: bool,
}

impl Scale {
    /// Values `from..=to` onto coordinates `start..=end`.
    pub(crate) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        Self {
            from,
            // An empty range would divide by zero.
            to: if to > from { to } else { from + 1.0 },
            start,
            end,
            logarithmic: false,
        }
    }

    /// Likewise with equal distances for equal factors; values must be positive.
    pub(crate) fn logarithmic(from: f64, to: f64, start: f64, end: f64) -> Self {
        let from = from.max(f64::MIN_POSITIVE);
        Self {
            from,
            to: if to > from { to } else { from * 2.0 },
            start,
            end,
            logarithmic: true,
        }
    }

    /// Where `value` lies; values outside the range lie on its border.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.from) / self.from).log2() / (self.to / self.from).log2()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        super::tidy(self.start + share.clamp(0.0, 1.0) * (self.end - self.start))
    }

    /// The value that lies at a coordinate: the inverse of [`Scale::at`].
    pub(crate) fn value_at(&self, at: f64) -> f64 {
        let share = (at - self.start) / (self.end - self.start);
        if self.logarithmic {
            self.from * (self.to / self.from).powf(share)
        } else {
            self.from + share * (self.to - self.from)
        }
    }

    /// True if equal factors are equally far apart.
    pub(crate) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// The largest value it has a place for.
    pub(crate) fn largest(&self) -> f64 {
        self.to
    }

    /// Ticks at round values, about `wanted` of them; labels are of a value and the step to the next.
    pub(crate) fn ticks(&self, wanted: usize, label: impl Fn(f64, f64) -> String) -> Vec<Tick> {
        let step = round_step((self.to - self.from) / wanted.max(1) as f64);
        let first = (self.from / step).ceil();
        (0..=wanted * 3)
            .map(|index| (first + index as f64) * step)
            .take_while(|value| *value <= self.to + step * 1e-9)
            .map(|value| Tick {
                at: self.at(value),
                label: label(value, step),
            })
            .collect()
    }

    /// Ticks at the given values, leaving out those whose labels would touch
    /// an earlier one (closer than `room`).
    pub(crate) fn ticks_at(
        &self,
        values: impl IntoIterator<Item = f64>,
        room: f64,
        label: impl Fn(f64) -> String,
    ) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for value in values {
            let at = self.at(value);
            if ticks.last().is_none_or(|last| (at - last.at).abs() >= room) {
                ticks.push(Tick {
                    at,
                    label: label(value),
                });
            }
        }
        ticks
    }

    /// The same, and the last value has its tick in any case, if need be in place of the one before.
    pub(crate) fn ticks_to_ends(
        &self,
        values: Vec<f64>,
        room: f64,
        label: impl Fn(f64) -> String,
    ) -> Vec<Tick> {
        let end = values.last().map(|value| Tick {
            at: self.at(*value),
            label: label(*value),
        });
        let mut ticks = self.ticks_at(values, room, label);
        let Some(end) = end.filter(|_| ticks.len() > 1) else {
            return ticks;
        };
        ticks.pop();
        ticks.push(end);
        ticks
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `rough`.
pub(crate) fn round_step(rough: f64) -> f64 {
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    for factor in [1.0, 2.0, 2.5, 5.0] {
        if power * factor >= rough * 0.999_999 {
            return power * factor;
        }
    }
    power * 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.3), 0.5);
        assert_eq!(round_step(1.7), 2.0);
        assert_eq!(round_step(26.0), 50.0);
        assert_eq!(round_step(f64::NAN), 1.0);
    }

    #[test]
    fn an_empty_range_has_a_place_for_every_value() {
        let scale = Scale::linear(3.0, 3.0, 0.0, 100.0);
        assert!(scale.at(3.0).is_finite());
        assert!(scale.at(f64::INFINITY).is_finite());
    }

    #[test]
    fn powers_of_two_are_equally_spaced() {
        let scale = Scale::logarithmic(1.0, 8.0, 0.0, 30.0);
        assert_eq!(scale.at(2.0), 10.0);
        assert_eq!(scale.at(4.0), 20.0);
    }

    #[test]
    fn crowded_ticks_are_thinned() {
        let scale = Scale::linear(0.0, 100.0, 0.0, 100.0);
        let ticks = scale.ticks_at((0..=100).map(f64::from), 25.0, |v| v.to_string());
        assert_eq!(ticks.len(), 5);
    }
}
