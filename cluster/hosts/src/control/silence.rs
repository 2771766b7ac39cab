//! Whether the other side of a link has been silent for too long.

use std::time::Duration;

/// How often to look.
pub const TICK: Duration = Duration::from_millis(250);
/// So many looks in a row without a sign of life mean death: 3 s.
const TICKS_MAX: u32 = 12;

/// Counts looks, not time: if this process was kept from running for a while, it was as silent
/// itself, and the other side's signs wait to be read. Nor does it count before the first sign:
/// to log in may take long, and the start of an agent has a limit of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    heard: u64,
    ticks: u32,
}

impl Silence {
    /// A look: `heard` is how many signs have come in all. Whether the other side is dead.
    pub fn look(&mut self, heard: u64) -> bool {
        match heard == self.heard {
            true if heard == 0 => {}
            true => self.ticks += 1,
            false => *self = Self { heard, ticks: 0 },
        }
        self.ticks >= TICKS_MAX
    }

    /// Silence up to now does not count.
    pub fn forgive(&mut self) {
        self.ticks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_looks_in_a_row_without_a_sign_mean_death() {
        let mut silence = Silence::default();
        for heard in [1, 1, 1, 2] {
            assert!(!silence.look(heard));
        }
        let looks = (0..TICKS_MAX).map(|_| silence.look(2));
        assert_eq!(looks.filter(|dead| *dead).count(), 1);
        silence.forgive();
        assert!(!silence.look(2));
    }

    #[test]
    fn the_first_sign_may_take_long() {
        let mut silence = Silence::default();
        assert!(!(0..100 * TICKS_MAX).any(|_| silence.look(0)));
        assert!(!silence.look(1));
        assert!((0..TICKS_MAX).any(|_| silence.look(1)));
    }
}
