//! What sharing memory between nodes cost along the critical path.

use crate::time_accounting::{Part, Team, TimeAccount};
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use std::collections::BTreeMap;

/// Events on the critical path, and what each weighs: what it costs on the one
/// cluster whose prices are published (20.9, 40.5, 295.3 and 120 us), in first
/// writes to own pages. Counts are to mean the same wherever they were recorded,
/// so times measured here do not decide.
const WEIGHTS: [(DsmCount, u64); 4] = [
    (DsmCount::WriteFaultsLocal, 1),
    (DsmCount::WriteFaultsRemote, 2),
    (DsmCount::FetchFaults, 14),
    (DsmCount::DiffsSent, 6),
];

/// What a thread's counts weigh on the critical path.
fn weight(counts: &DsmCounts) -> (u64, u64) {
    let events = WEIGHTS.iter().fold(0_u64, |sum, (count, each)| {
        sum.saturating_add(counts[*count].saturating_mul(*each))
    });
    (events, counts.fault_time().0)
}

/// Counts along the critical path, by region.
pub(crate) fn critical(account: &TimeAccount<'_>) -> BTreeMap<usize, DsmCounts> {
    let mut sums: BTreeMap<usize, DsmCounts> = BTreeMap::new();
    if account.parts.iter().all(|part| part.record.dsm.is_none())
        && account.gaps.iter().all(|gap| gap.dsm.is_zero())
    {
        return sums;
    }
    let heaviest = |team: &Team| {
        let members = team.members.iter().map(|member| &account.parts[*member]);
        members
            .map(|part| part.record.dsm_counts())
            .max_by_key(weight)
    };
    for team in &account.teams {
        if let Some(counts) = heaviest(team) {
            *sums.entry(team.region).or_default() += &counts;
        }
    }
    let mut merged: BTreeMap<(usize, usize), DsmCounts> = BTreeMap::new();
    for part in account.parts.iter().filter(|part| Part::merged(part)) {
        *merged.entry((part.region, part.thread)).or_default() += &part.record.dsm_counts();
    }
    let mut most: BTreeMap<usize, DsmCounts> = BTreeMap::new();
    for ((region, _), counts) in merged {
        let best = most.entry(region).or_default();
        if weight(&counts) > weight(best) {
            *best = counts;
        }
    }
    for (region, counts) in most {
        *sums.entry(region).or_default() += &counts;
    }
    for (life, gap) in account.lives.iter().zip(&account.gaps) {
        if life.first {
            *sums.entry(0).or_default() += &gap.dsm;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_fetches_weigh_more_than_many_first_writes() {
        let with = |count: DsmCount, number: u64| {
            let mut counts = DsmCounts::default();
            counts[count] = number;
            counts
        };
        let fetches = with(DsmCount::FetchFaults, 10);
        let writes = with(DsmCount::WriteFaultsLocal, 100);
        assert!(weight(&fetches) > weight(&writes));
        let endless = with(DsmCount::DiffsSent, u64::MAX);
        assert_eq!(weight(&endless).0, u64::MAX);
    }
}
