//! Would huge pages help, and would it help if the threads that use memory touched it
//! first?

use fathomp_types::units;
use serde::Serialize;

/// Bytes of a page and of a huge page.
pub const PAGE_BYTES: u64 = 4_096;
/// Bytes of a huge page.
pub const HUGE_BYTES: u64 = 2 << 20;
/// Gains below this part of the run are not worth a word.
pub const WORTH_SAYING: f64 = 0.01;
/// One thread takes at least this part of a mapping's faults, where it is said to take them
/// all.
const THREAD_SHARE_MIN: f64 = 0.8;

/// Faults on a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingFaults {
    /// Its name: "heap", "data of solver".
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Faults of each thread of the process that touched pages for the first time.
    pub first_touches: Vec<u64>,
    /// Whether its pages can be huge: anonymous memory, not of a file.
    pub is_anonymous: bool,
    /// Whether the program or the system asked for huge pages there already.
    pub is_huge: bool,
}

/// What faults cost, as measured on the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultCosts {
    /// A first touch of a page, cleared.
    pub small_ns: f64,
    /// A first touch of a huge page, cleared.
    pub huge_ns: f64,
}

/// One thing to do about a mapping.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Advice {
    /// Ask for huge pages.
    HugePages {
        /// Which mapping.
        mapping: String,
        /// Faults as it is.
        faults: u64,
        /// Faults with huge pages.
        faults_then: u64,
        /// Time of threads that this saves.
        saved_ns: f64,
        /// The same as a part of the run's wall time.
        share: f64,
        /// In words.
        sentence: String,
    },
    /// Touch it first in parallel.
    FirstTouchByWorkers {
        /// Which mapping.
        mapping: String,
        /// Faults of the thread that takes most.
        faults: u64,
        /// Part of the mapping's faults that it takes.
        part: f64,
        /// The thread's number.
        thread: u64,
        /// Threads that could share them.
        threads: u64,
        /// Wall time that this saves.
        saved_ns: f64,
        /// The same as a part of the run's wall time.
        share: f64,
        /// In words.
        sentence: String,
    },
}

impl Advice {
    /// Time saved, as a part of the wall time.
    #[must_use]
    pub const fn share(&self) -> f64 {
        match self {
            Self::HugePages { share, .. } | Self::FirstTouchByWorkers { share, .. } => *share,
        }
    }

    /// In words.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            Self::HugePages { sentence, .. } | Self::FirstTouchByWorkers { sentence, .. } => {
                sentence
            }
        }
    }
}

/// What would help, the most first: gains from 1 % of the wall time on.
#[must_use]
pub fn advise(mappings: &[MappingFaults], costs: &FaultCosts, wall_ns: u64) -> Vec<Advice> {
    let both = |mapping| {
        [
            huge_pages(mapping, costs, wall_ns),
            by_workers(mapping, costs, wall_ns),
        ]
    };
    let mut advice: Vec<Advice> = mappings
        .iter()
        .flat_map(both)
        .flatten()
        .filter(|advice| advice.share() >= WORTH_SAYING)
        .collect();
    advice.sort_by(|one, other| other.share().total_cmp(&one.share()));
    advice
}

/// Each fault touched at least one page of 4 KiB; as many huge pages are needed as hold
/// these, if they lie side by side.
fn huge_pages(mapping: &MappingFaults, costs: &FaultCosts, wall_ns: u64) -> Option<Advice> {
    let faults = mapping
        .first_touches
        .iter()
        .fold(0, |sum: u64, faults| sum.saturating_add(*faults));
    if !mapping.is_anonymous || mapping.is_huge || mapping.bytes < HUGE_BYTES {
        return None;
    }
    let touched = faults.saturating_mul(PAGE_BYTES).min(mapping.bytes);
    let faults_then = touched.div_ceil(HUGE_BYTES);
    if faults_then >= faults {
        return None;
    }
    // Threads that fault at the same time save it at the same time.
    let threads = mapping
        .first_touches
        .iter()
        .filter(|faults| **faults > 0)
        .count()
        .max(1);
    let saved_ns = faults as f64 * costs.small_ns - faults_then as f64 * costs.huge_ns;
    let share = part_of(saved_ns / threads as f64, wall_ns)?;
    Some(Advice::HugePages {
        mapping: mapping.name.clone(),
        faults,
        faults_then,
        saved_ns,
        share,
        sentence: format!(
            "The {} takes {} page faults of 4 KiB, {} each here; with huge pages it would take {} of \
             2 MiB, {} each, and threads {} less: madvise(MADV_HUGEPAGE) asks for them.",
            mapping.name,
            units::count(faults),
            units::duration(costs.small_ns),
            units::count(faults_then),
            units::duration(costs.huge_ns),
            units::duration(saved_ns)
        ),
    })
}

/// One thread's faults shared by all. That holds if faults of threads do not hinder each
/// other, which on one mapping is nearly so.
fn by_workers(mapping: &MappingFaults, costs: &FaultCosts, wall_ns: u64) -> Option<Advice> {
    let threads = mapping.first_touches.len() as u64;
    let all = mapping
        .first_touches
        .iter()
        .fold(0, |sum: u64, faults| sum.saturating_add(*faults));
    let (thread, &faults) = mapping
        .first_touches
        .iter()
        .enumerate()
        .max_by_key(|(_, faults)| **faults)?;
    if threads < 2 || all == 0 || (faults as f64) < THREAD_SHARE_MIN * all as f64 {
        return None;
    }
    let cost = if mapping.is_huge {
        costs.huge_ns
    } else {
        costs.small_ns
    };
    let saved_ns = (faults as f64 - all as f64 / threads as f64) * cost;
    let part = faults as f64 / all as f64;
    let share = part_of(saved_ns, wall_ns)?;
    Some(Advice::FirstTouchByWorkers {
        mapping: mapping.name.clone(),
        faults,
        part,
        thread: thread as u64,
        threads,
        saved_ns,
        share,
        sentence: format!(
            "Thread {thread} takes {} of {} page faults on the {}; if all {threads} threads \
             initialised the parts that they use, this would take {} less, and pages would lie \
             near the threads.",
            units::count(faults),
            units::count(all),
            mapping.name,
            units::duration(saved_ns)
        ),
    })
}

/// A gain as a part of the wall time; none if it is none.
fn part_of(saved_ns: f64, wall_ns: u64) -> Option<f64> {
    let share = saved_ns / wall_ns as f64;
    (saved_ns > 0.0 && share.is_finite()).then(|| share.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: FaultCosts = FaultCosts {
        small_ns: 1_000.0,
        huge_ns: 100_000.0,
    };

    fn mapping(first_touches: &[u64]) -> MappingFaults {
        MappingFaults {
            name: "[heap]".to_owned(),
            bytes: 1 << 30,
            first_touches: first_touches.to_vec(),
            is_anonymous: true,
            is_huge: false,
        }
    }

    #[test]
    fn huge_pages_save_what_they_save() {
        let found = advise(&[mapping(&[131_072, 131_072])], &COSTS, 1_000_000_000);
        let [
            Advice::HugePages {
                faults,
                faults_then,
                saved_ns,
                share,
                ..
            },
        ] = &found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((*faults, *faults_then), (262_144, 512));
        assert!((saved_ns - (262_144e3 - 512.0 * 100e3)).abs() < 1.0);
        // Both threads save at the same time.
        assert!((share - saved_ns / 2e9).abs() < 1e-12);
    }

    #[test]
    fn one_thread_that_touches_all_is_named() {
        let found = advise(&[mapping(&[10, 99_990, 0, 0])], &COSTS, 1_000_000_000);
        let by_workers = found.iter().find_map(|advice| match advice {
            Advice::FirstTouchByWorkers {
                thread,
                threads,
                saved_ns,
                ..
            } => Some((*thread, *threads, *saved_ns)),
            Advice::HugePages { .. } => None,
        });
        let (thread, threads, saved_ns) = by_workers.unwrap();
        assert_eq!((thread, threads), (1, 4));
        assert!((saved_ns - (99_990e3 - 25_000e3)).abs() < 1.0);
    }

    #[test]
    fn no_advice_without_gain() {
        let nothing = |mapping: MappingFaults| advise(&[mapping], &COSTS, 1_000_000_000).is_empty();
        assert!(nothing(mapping(&[])));
        assert!(nothing(mapping(&[0, 0])));
        assert!(nothing(mapping(&[1_000, 1_000])));
        let of_file = MappingFaults {
            is_anonymous: false,
            ..mapping(&[100_000, 100_000])
        };
        assert!(nothing(of_file));
        let huge = MappingFaults {
            is_huge: true,
            ..mapping(&[100, 100])
        };
        assert!(nothing(huge));
        // Scattered touches: a huge page for each would cost more.
        let dear = FaultCosts {
            huge_ns: 1e6,
            ..COSTS
        };
        assert!(advise(&[mapping(&[100_000, 100_000])], &dear, 1_000_000_000).is_empty());
        assert!(advise(&[mapping(&[100_000])], &COSTS, 0).is_empty());
    }
}
