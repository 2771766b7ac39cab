//! Which place a thread of a team gets (OpenMP 5.1, 2.6.2).

use crate::icv::ProcBind;

/// A run of consecutive places: `place-partition-var`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// Number of the first place.
    pub first: u32,
    /// Number of places, at least 1.
    pub len: u32,
}

impl Partition {
    /// Whether `place` is one of them.
    #[must_use]
    pub const fn contains(self, place: u32) -> bool {
        place >= self.first && place - self.first < self.len
    }
}

/// A thread's place, and the places its own teams may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// Number of the place.
    pub place: u32,
    /// The thread's partition, which contains the place.
    pub partition: Partition,
}

/// How a team is dealt over its parent's partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TeamBinding {
    /// Where the thread that forms the team is.
    pub parent: Assignment,
    /// The policy; [`ProcBind::False`] and [`ProcBind::True`] mean `close`.
    pub policy: ProcBind,
    /// Threads in the team.
    pub team_size: u32,
}

impl TeamBinding {
    /// Assignment of the thread with that number in the team.
    #[must_use]
    pub const fn thread(self, number: u32) -> Assignment {
        let Assignment { place, partition } = self.parent;
        // Distance of the parent's place from the start of the partition.
        let origin = place - partition.first;
        match self.policy {
            ProcBind::Primary => self.parent,
            ProcBind::Spread if self.team_size <= partition.len => {
                self.own_subpartition(origin, number)
            }
            policy => {
                let group = if self.team_size <= partition.len {
                    number
                } else {
                    group_of(number, self.team_size, partition.len)
                };
                let step = (origin as u64 + group as u64) % partition.len as u64;
                let place = partition.first + step as u32;
                Assignment {
                    place,
                    partition: match policy {
                        ProcBind::Spread => Partition {
                            first: place,
                            len: 1,
                        },
                        _ => partition,
                    },
                }
            }
        }
    }

    /// `spread` where no two threads need share a place: the partition is cut
    /// into as many subpartitions as there are threads. The primary thread
    /// stays where it is and owns the subpartition around it; the others take
    /// the first places of the following ones.
    const fn own_subpartition(self, origin: u32, number: u32) -> Assignment {
        let Assignment { place, partition } = self.parent;
        let pieces = self.team_size;
        let home = piece_of(origin, partition.len, pieces);
        let piece = ((home as u64 + number as u64) % pieces as u64) as u32;
        let start = piece_start(piece, partition.len, pieces);
        let end = piece_start(piece + 1, partition.len, pieces);
        let first = partition.first + start;
        Assignment {
            place: if number == 0 { place } else { first },
            partition: Partition {
                first,
                len: end - start,
            },
        }
    }
}

/// Where piece `piece` starts when `len` items are cut into `pieces` pieces
/// whose lengths differ by at most 1, longer ones first.
const fn piece_start(piece: u32, len: u32, pieces: u32) -> u32 {
    let (short, longer) = (len / pieces, len % pieces);
    piece * short + if piece < longer { piece } else { longer }
}

/// The piece that item `item` falls into, cut as by [`piece_start`].
const fn piece_of(item: u32, len: u32, pieces: u32) -> u32 {
    let (short, longer) = (len / pieces, len % pieces);
    let in_longer = longer * (short + 1);
    if item < in_longer {
        item / (short + 1)
    } else {
        longer + (item - in_longer) / short
    }
}

/// The group that thread `number` falls into when a team is dealt over fewer
/// groups than it has threads.
const fn group_of(number: u32, team_size: u32, groups: u32) -> u32 {
    piece_of(number, team_size, groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn deal(policy: ProcBind, len: u32, place: u32, team_size: u32) -> Vec<Assignment> {
        let team = TeamBinding {
            parent: Assignment {
                place,
                partition: Partition { first: 0, len },
            },
            policy,
            team_size,
        };
        (0..team_size).map(|number| team.thread(number)).collect()
    }

    fn places(policy: ProcBind, len: u32, place: u32, team_size: u32) -> Vec<u32> {
        deal(policy, len, place, team_size)
            .iter()
            .map(|thread| thread.place)
            .collect()
    }

    /// Worked examples over eight places, parent on place 5.
    #[test]
    fn worked_examples() {
        assert_eq!(places(ProcBind::Primary, 8, 5, 3), [5, 5, 5]);
        assert_eq!(places(ProcBind::Close, 8, 5, 4), [5, 6, 7, 0]);
        assert_eq!(places(ProcBind::True, 8, 5, 4), [5, 6, 7, 0]);
        assert_eq!(places(ProcBind::Close, 2, 1, 5), [1, 1, 1, 0, 0]);
        assert_eq!(places(ProcBind::Spread, 8, 5, 4), [5, 6, 0, 2]);
        assert_eq!(places(ProcBind::Spread, 8, 0, 3), [0, 3, 6]);
        assert_eq!(places(ProcBind::Spread, 2, 0, 4), [0, 0, 1, 1]);
        let partitions: Vec<_> = deal(ProcBind::Spread, 8, 0, 3)
            .iter()
            .map(|thread| (thread.partition.first, thread.partition.len))
            .collect();
        assert_eq!(partitions, [(0, 3), (3, 3), (6, 2)]);
    }

    proptest! {
        /// What the specification promises for every team and partition.
        #[test]
        fn promises_of_the_specification(
            first in 0_u32..100,
            len in 1_u32..40,
            origin in 0_u32..40,
            team_size in 1_u32..100,
            policy in 1_u32..=4,
        ) {
            let policy = ProcBind::from_number(policy).unwrap_or_default();
            let partition = Partition { first, len };
            let parent = Assignment { place: first + origin % len, partition };
            let team = TeamBinding { parent, policy, team_size };
            let threads: Vec<_> = (0..team_size).map(|number| team.thread(number)).collect();

            prop_assert_eq!(threads[0].place, parent.place);
            for thread in &threads {
                prop_assert!(partition.contains(thread.place));
                prop_assert!(thread.partition.contains(thread.place));
                if policy != ProcBind::Spread {
                    prop_assert_eq!(thread.partition, partition);
                }
            }
            let load = |place| threads.iter().filter(|thread| thread.place == place).count() as u32;
            let loads: Vec<_> = (first..first + len).map(load).collect();
            match policy {
                ProcBind::Primary => prop_assert_eq!(load(parent.place), team_size),
                _ => {
                    let least = loads.iter().min().copied().unwrap_or(0);
                    let most = loads.iter().max().copied().unwrap_or(0);
                    prop_assert!(least >= team_size / len);
                    prop_assert!(most <= team_size.div_ceil(len));
                }
            }
            if policy == ProcBind::Spread {
                let pieces = team_size.min(len);
                for thread in &threads {
                    prop_assert!(thread.partition.len >= len / pieces);
                    prop_assert!(thread.partition.len <= len.div_ceil(pieces));
                }
                // Subpartitions are disjoint and cover the partition.
                let mut parts: Vec<_> =
                    threads.iter().map(|t| (t.partition.first, t.partition.len)).collect();
                parts.sort_unstable();
                parts.dedup();
                let mut next = first;
                for (start, size) in parts {
                    prop_assert_eq!(start, next);
                    next += size;
                }
                prop_assert_eq!(next, first + len);
            }
        }
    }
}
