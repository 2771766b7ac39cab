//! How far the parts of a doacross loop have come.

use super::iterations::share;
use super::wanted::Dealing;
use crate::event_count::EventCount;
use crate::team::Member;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// A loop of a nest whose iterations are known by the values of its variable.
#[derive(Clone, Copy, Debug)]
pub struct Nested {
    /// The first value.
    pub first: i64,
    /// What lies between two values.
    pub step: i64,
    /// Number of iterations.
    pub count: u64,
}

impl Nested {
    /// Number of the iteration with that value; none if there is no such iteration.
    pub(super) fn number(self, value: i64) -> Option<u64> {
        let distance = i128::from(value) - i128::from(self.first);
        let step = i128::from(self.step);
        if step == 0 || distance % step != 0 {
            return None;
        }
        let number = u64::try_from(distance / step).ok()?;
        (number < self.count).then_some(number)
    }
}

const BELLS: usize = 8;

/// Numbers allocated together, when first needed.
const BLOCK: u64 = 1024;

/// Progress of a doacross loop.
#[derive(Debug)]
pub(crate) struct Doacross {
    /// Trip counts of the loops inside the outermost one.
    inner: Box<[u64]>,
    pub(super) layout: Layout,
    blocks: Box<[OnceLock<Block>]>,
    bells: [EventCount; BELLS],
}

type Block = Box<[Progress]>;

/// Number of the next iteration not posted. Neighbours are written by
/// different threads.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Progress(AtomicU64);

/// Which number belongs to an outermost iteration.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// Per thread, equal shares of `count` iterations.
    Shares { count: u64, size: u64 },
    /// Per thread, chunks dealt round-robin.
    RoundRobin { chunk: u64, size: u64 },
    /// Per chunk.
    Chunks { chunk: u64 },
}

impl Layout {
    fn entry(self, outermost: u64) -> u64 {
        match self {
            Self::Shares { count, size } => owner(outermost, count, size),
            Self::RoundRobin { chunk, size } => outermost / chunk % size,
            Self::Chunks { chunk } => outermost / chunk,
        }
    }

    /// The only thread that posts to the entry, if that is known.
    pub(super) fn poster(self, entry: u64) -> Option<u32> {
        match self {
            Self::Shares { .. } | Self::RoundRobin { .. } => u32::try_from(entry).ok(),
            Self::Chunks { .. } => None,
        }
    }

    /// Whether only threads of this node post to the entry, as far as is known.
    pub(super) fn is_here(self, entry: u64, member: &'static Member) -> bool {
        let first = member.thread_num() - member.index();
        let here = first..first + member.team().local_size();
        self.poster(entry)
            .is_some_and(|thread_num| here.contains(&thread_num))
    }
}

/// The member that [`share`] gives an iteration to.
fn owner(iteration: u64, count: u64, size: u64) -> u64 {
    let each = count / size;
    let larger = count % size;
    let in_larger = larger * (each + 1);
    let who = if iteration < in_larger {
        iteration / (each + 1)
    } else {
        // `each` is not 0 here: with shares of 0 all iterations are in larger ones.
        larger + (iteration - in_larger) / each.max(1)
    };
    debug_assert!({
        let (first, end) = share(count, who, size);
        (first..end).contains(&iteration)
    });
    who
}

impl Doacross {
    /// For loops with these trip counts, outermost first, dealt so to `size`
    /// members.
    pub(crate) fn new(counts: &[u64], dealing: Dealing, size: u32) -> Self {
        let (outermost, inner) = counts.split_first().map_or((0, &[][..]), |(o, i)| (*o, i));
        let size = u64::from(size);
        let (layout, entries) = match dealing {
            Dealing::Static { chunk: 0 } => (
                Layout::Shares {
                    count: outermost,
                    size,
                },
                size,
            ),
            Dealing::Static { chunk } => (Layout::RoundRobin { chunk, size }, size),
            Dealing::Dynamic { chunk, .. } => {
                let chunk = chunk.max(1);
                (Layout::Chunks { chunk }, outermost.div_ceil(chunk))
            }
            Dealing::Guided { .. } | Dealing::GuidedWhole { .. } | Dealing::Trapezoidal { .. } => {
                (Layout::Chunks { chunk: 1 }, outermost)
            }
        };
        Self {
            inner: inner.into(),
            layout,
            blocks: (0..entries.div_ceil(BLOCK))
                .map(|_| OnceLock::new())
                .collect(),
            bells: std::array::from_fn(|_| EventCount::new()),
        }
    }

    /// How many loops are in the nest.
    pub(super) fn depth(&self) -> usize {
        1 + self.inner.len()
    }

    /// Number of an iteration in the whole space, and the entry it belongs
    /// to. `index` yields the vector, outermost first.
    pub(super) fn locate(&self, mut index: impl FnMut(usize) -> u64) -> (u64, u64) {
        let outermost = index(0);
        let mut number = outermost;
        for (depth, count) in self.inner.iter().enumerate() {
            number = number.wrapping_mul(*count).wrapping_add(index(depth + 1));
        }
        (number, self.layout.entry(outermost))
    }

    /// `None` for an iteration outside the loop, which nothing posts.
    pub(super) fn progress(&self, entry: u64) -> Option<&AtomicU64> {
        let block = self.blocks.get(usize::try_from(entry / BLOCK).ok()?)?;
        let block = block.get_or_init(|| (0..BLOCK).map(|_| Progress::default()).collect());
        Some(&block[(entry % BLOCK) as usize].0)
    }

    /// Wakes everybody who waits, to look at what has changed.
    pub(crate) fn ring_all(&self) {
        self.bells.iter().for_each(EventCount::ring);
    }

    /// Where members wait for that entry.
    pub(super) fn bell(&self, entry: u64) -> &EventCount {
        &self.bells[entry as usize % BELLS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn owners_agree_with_shares(count in 1u64..10_000, size in 1u64..40, pick: u64) {
            let iteration = pick % count;
            let who = owner(iteration, count, size);
            let (first, end) = share(count, who, size);
            prop_assert!((first..end).contains(&iteration));
        }

        #[test]
        fn numbers_follow_the_order_of_execution(
            counts in proptest::collection::vec(1u64..5, 1..4), chunk in 0u64..4,
        ) {
            let doacross = Doacross::new(&counts, Dealing::Static { chunk }, 3);
            let total: u64 = counts.iter().product();
            for number in 0..total {
                let mut rest = number;
                let mut index: Vec<u64> = counts.iter().rev().map(|count| {
                    let digit = rest % count;
                    rest /= count;
                    digit
                }).collect();
                index.reverse();
                prop_assert_eq!(doacross.locate(|i| index[i]).0, number);
            }
        }
    }
}
