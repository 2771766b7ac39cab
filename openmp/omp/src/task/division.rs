//! How the iterations of a `taskloop` are divided among tasks.

/// How many tasks, or how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// `num_tasks`; 0 if the runtime may choose.
    Tasks(u64),
    /// `grainsize`: at least that many iterations and less than twice as many.
    AtLeast(u64),
    /// `grainsize(strict: ...)`: exactly that many, but for the last task.
    Exactly(u64),
}

/// The first `longer` of `tasks` tasks have one iteration more than `size`;
/// the last has `last` iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    tasks: u64,
    size: u64,
    longer: u64,
    last: u64,
}

impl Grain {
    pub(super) fn divide(self, count: u64, threads: u32) -> Division {
        let tasks = match self {
            Self::Tasks(0) => u64::from(threads),
            Self::Tasks(tasks) => tasks,
            Self::AtLeast(grain) => count / grain.max(1),
            Self::Exactly(grain) => {
                let size = grain.clamp(1, count);
                let tasks = count.div_ceil(size);
                return Division {
                    tasks,
                    size,
                    longer: 0,
                    last: count - (tasks - 1) * size,
                };
            }
        };
        let tasks = tasks.clamp(1, count);
        let size = count / tasks;
        let longer = count % tasks;
        Division {
            tasks,
            size,
            longer,
            last: size,
        }
    }
}

impl Division {
    /// How many tasks there are.
    pub(super) fn tasks(self) -> u64 {
        self.tasks
    }

    /// As words, for [`Self::from_words`].
    pub(super) fn to_words(self) -> [u64; 4] {
        [self.tasks, self.size, self.longer, self.last]
    }

    pub(super) fn from_words([tasks, size, longer, last]: [u64; 4]) -> Self {
        Self {
            tasks,
            size,
            longer,
            last,
        }
    }

    /// What task `number` runs.
    #[inline]
    pub(super) fn piece(self, number: u64) -> Piece {
        let is_last = number + 1 == self.tasks;
        Piece {
            from: number * self.size + number.min(self.longer),
            count: match is_last {
                true => self.last,
                false => self.size + u64::from(number < self.longer),
            },
            is_last,
        }
    }
}

/// What one task of a `taskloop` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of its first iteration.
    pub from: u64,
    /// Number of its iterations.
    pub count: u64,
    /// Whether it is the last one.
    pub is_last: bool,
}

impl Piece {
    /// Its first iteration and where it ends, in a loop from `start` to `end`.
    #[inline]
    pub(super) fn bounds(self, start: u64, step: u64, end: u64) -> (u64, u64) {
        let at = |number: u64| start.wrapping_add(step.wrapping_mul(number));
        // The last one ends where the loop does: one step too far might not be a number any more.
        let to = match self.is_last {
            true => end,
            false => at(self.from + self.count),
        };
        (at(self.from), to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(division: Division) -> Vec<u64> {
        (0..division.tasks)
            .scan(0, |next, number| {
                let piece = division.piece(number);
                assert_eq!(piece.from, *next, "it begins where the one before it ended");
                *next += piece.count;
                Some(piece.count)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn no_iteration_is_lost(count in 1_u64..2000, wish in 0_u64..3000, threads in 1_u32..9) {
            for grain in [Grain::Tasks(wish), Grain::AtLeast(wish), Grain::Exactly(wish)] {
                let sizes = sizes(grain.divide(count, threads));
                prop_assert_eq!(sizes.iter().sum::<u64>(), count);
                prop_assert!(sizes.iter().all(|&size| size > 0));
            }
        }

        #[test]
        fn grain_sizes_are_kept(count in 1_u64..2000, wish in 1_u64..3000) {
            let at_least = sizes(Grain::AtLeast(wish).divide(count, 2));
            if at_least.len() > 1 {
                prop_assert!(at_least.iter().all(|&size| size >= wish && size < 2 * wish));
            }
            let exactly = sizes(Grain::Exactly(wish).divide(count, 2));
            let (last, others) = exactly.split_last().unwrap();
            prop_assert!(*last <= wish && others.iter().all(|&size| size == wish));
        }
    }

    #[test]
    fn the_largest_loop_is_divided() {
        let division = Grain::Tasks(3).divide(u64::MAX, 2);
        assert_eq!((division.tasks, division.size), (3, u64::MAX / 3));
    }
}
