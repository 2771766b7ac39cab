//! Work that comes in few pieces.
//!
//! `n` equal pieces among `k` threads give somebody `ceil(n / k)` of them, so the
//! busiest thread works `ceil(n / k) k / n` times as long as the mean. A piece that holds the part `l`
//! of the work keeps its thread at it `l k` times as long as the mean.

use fathomp_analysis::Work;

/// Groups of constructs that are told apart.
const GROUPS: usize = 4;

/// Numbers of pieces, the part of a region's work in them, and the part of that in the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ChunkGranularity {
    /// Pieces, the part of the work (without a part, nothing), and the longest.
    groups: [(f64, f64, f64); GROUPS],
}

impl ChunkGranularity {
    /// What is known of a region's work.
    pub(crate) fn of(work: &Work) -> Self {
        let mut pieces: Vec<(f64, f64, f64)> = work
            .pieces
            .iter()
            .map(|one| (one.pieces as f64, one.share, one.longest.unwrap_or(0.0)))
            .collect();
        if pieces.is_empty() && work.working < work.team && work.working > 0 {
            // Nothing says what the pieces are, but some threads found none.
            pieces.push((f64::from(work.working), 1.0, 0.0));
        }
        pieces.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut granularity = Self::default();
        for (group, piece) in granularity.groups.iter_mut().zip(pieces) {
            *group = piece;
        }
        granularity
    }

    /// The same, with the longest pieces as short as either of two runs saw them: what else a
    /// machine does makes some of them longer.
    pub(crate) fn with_shortest_of(mut self, other: &Self) -> Self {
        for (group, before) in self.groups.iter_mut().zip(other.groups) {
            if group.0 == before.0 && before.2 > 0.0 {
                group.2 = group.2.min(before.2);
            }
        }
        self
    }

    /// Nothing is known.
    pub(crate) fn is_unknown(&self) -> bool {
        self.groups.iter().all(|(_, share, _)| *share <= 0.0)
    }

    /// What the busiest of `k` threads has more than the mean, as a fraction of it.
    pub(crate) fn excess(&self, k: f64) -> f64 {
        self.excess_of(k, 1.0)
    }

    /// The same where only the part `waited` of what equal pieces would cost is waited: some are
    /// shorter than others. The longest piece takes its time whatever the others do.
    pub(crate) fn excess_of(&self, k: f64, waited: f64) -> f64 {
        let k = k.round().max(1.0);
        let known = self
            .groups
            .iter()
            .filter(|(n, share, _)| *n >= 1.0 && *share > 0.0);
        known
            .map(|(n, share, longest)| {
                let equal = ((n / k).ceil() * k / n - 1.0).max(0.0);
                share * (waited * equal).max(longest * k - 1.0)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_analysis::{PieceKind, Pieces};

    #[test]
    fn three_pieces_gain_nothing_beyond_three_threads() {
        let work = Work {
            pieces: vec![Pieces {
                kind: PieceKind::Chunks,
                pieces: 3,
                times: 1,
                share: 1.0,
                longest: None,
            }],
            ..Work::default()
        };
        let granularity = ChunkGranularity::of(&work);
        // Time is (1 + excess) / k of the whole: 1, 2/3, 1/3, 1/3, 1/3.
        for (k, time) in [
            (1.0, 1.0),
            (2.0, 2.0 / 3.0),
            (3.0, 1.0 / 3.0),
            (8.0, 1.0 / 3.0),
        ] {
            assert!(
                ((1.0 + granularity.excess(k)) / k - time).abs() < 1e-12,
                "{k}"
            );
        }
    }

    #[test]
    fn the_longest_section_bounds_the_time() {
        let work = Work {
            pieces: vec![Pieces {
                kind: PieceKind::Sections,
                pieces: 3,
                times: 1,
                share: 1.0,
                longest: Some(4.0 / 6.0),
            }],
            ..Work::default()
        };
        let granularity = ChunkGranularity::of(&work);
        for k in [2.0, 3.0, 8.0] {
            let time = (1.0 + granularity.excess(k)) / k;
            assert!((time - 4.0 / 6.0).abs() < 1e-12, "{k}: {time}");
        }
    }

    #[test]
    fn the_longest_piece_bounds_a_team_although_nobody_waits_for_equal_ones() {
        let of = |longest| {
            ChunkGranularity::of(&Work {
                pieces: vec![Pieces {
                    kind: PieceKind::Tasks,
                    pieces: 31,
                    times: 1,
                    share: 1.0,
                    longest: Some(longest),
                }],
                ..Work::default()
            })
        };
        let time = |one: ChunkGranularity, k: f64| (1.0 + one.excess_of(k, 0.0)) / k;
        assert!((time(of(0.4), 8.0) - 0.4).abs() < 1e-12);
        assert!((time(of(0.4), 2.0) - 0.5).abs() < 1e-12);
        // Of two runs, the one in which it was shorter counts.
        let both = of(0.5).with_shortest_of(&of(0.4));
        assert!((time(both, 8.0) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn threads_without_work_tell_the_pieces() {
        let idle = Work {
            team: 8,
            working: 3,
            executions: 1,
            ..Work::default()
        };
        assert_eq!(ChunkGranularity::of(&idle).excess(8.0), 8.0 / 3.0 - 1.0);
        let busy = Work {
            team: 8,
            working: 8,
            executions: 1,
            ..Work::default()
        };
        assert!(ChunkGranularity::of(&busy).is_unknown());
        assert_eq!(ChunkGranularity::of(&busy).excess(16.0), 0.0);
    }
}
