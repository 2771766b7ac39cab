//! Dividing the iterations of a `taskloop` among tasks.

use super::spawn::{Clauses, Work, create};
use crate::team::Member;
use fathomp_sys::outlined::Outlined;
use fathomp_sys::task_arguments::Arguments;

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

/// What a `taskloop` construct asks for. Iteration variables are 64 bits wide
/// and wrap, so that signed and unsigned loops are the same.
#[derive(Debug)]
pub struct TaskLoop {
    /// Code of each task.
    pub function: Outlined,
    /// The first two words of each task's copy are its first iteration and
    /// where it ends.
    pub arguments: Arguments,
    /// First value of the iteration variable.
    pub start: u64,
    /// Where the loop ends, as the program gave it.
    pub end: u64,
    /// Difference of two values that follow each other.
    pub step: u64,
    /// Number of iterations, above 0.
    pub count: u64,
    /// How to divide them.
    pub grain: Grain,
    /// Clauses of each task.
    pub clauses: Clauses,
}

/// The first `longer` of `tasks` tasks have one iteration more than `size`;
/// the last has `last` iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division {
    tasks: u64,
    size: u64,
    longer: u64,
    last: u64,
}

impl Grain {
    fn divide(self, count: u64, threads: u32) -> Division {
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

/// Creates the tasks of a `taskloop` construct, without its taskgroup.
pub fn taskloop(member: &'static Member, asked: &TaskLoop) {
    let team = member.team();
    let threads = match team.remote() {
        Some(_) => team.size(),
        None => team.local_size(),
    };
    let division = asked.grain.divide(asked.count, threads);
    let mut from = asked.start;
    for number in 0..division.tasks {
        let last = number + 1 == division.tasks;
        let size = division.size + u64::from(number < division.longer);
        // The last task ends where the loop does: one step too far might not
        // be a number any more.
        let to = if last {
            asked.end
        } else {
            from.wrapping_add(asked.step.wrapping_mul(size))
        };
        create(
            member,
            &Work {
                function: asked.function,
                arguments: asked.arguments,
                head: &[from, to],
            },
            asked.clauses,
        );
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(division: Division) -> Vec<u64> {
        (0..division.tasks)
            .map(|number| match number + 1 == division.tasks {
                true => division.last,
                false => division.size + u64::from(number < division.longer),
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
