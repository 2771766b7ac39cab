//! What became of the causes of lost time, which each side's report would give.

use super::matching::{Known, Matched};
use super::model::{CauseRow, Change, Concluded};
use fathomp_diagnosis::{Cause, Kind, WORTH_SAYING};
use fathomp_stats::median;

/// Of single runs, a smaller difference of what a cause costs may be chance.
const SINGLE: f64 = 0.1;

/// All causes that are worth a word on a side, those first whose cost changed most. A cause is the
/// same on two sides if it is of the same kind and in the same region.
pub(super) fn rows(
    concluded: &[Concluded],
    known: &[Vec<Known>],
    matched: &[Matched],
) -> Vec<CauseRow> {
    let mut rows: Vec<(Place, CauseRow)> = Vec::new();
    for (side, one) in concluded.iter().enumerate() {
        let own = one
            .causes
            .iter()
            .filter(|cause| !cause.kind.is_circumstance());
        for cause in own {
            let place = Place::of(cause, side, known, matched);
            let same = rows
                .iter_mut()
                .find(|(at, row)| *at == place && row.kind == cause.kind);
            let row = match same {
                Some((_, row)) => row,
                None => {
                    rows.push((place, empty(cause, concluded)));
                    // It was just put there.
                    let Some((_, row)) = rows.last_mut() else {
                        continue;
                    };
                    row
                }
            };
            if let Some(share) = row.shares.get_mut(side) {
                let sum = share.unwrap_or(0.0) + cause.measured.share;
                *share = Some(sum.min(1.0));
            }
            // Where lines moved, the latest are those to look at.
            cause.place.clone_into(&mut row.place);
        }
    }
    for (place, row) in &mut rows {
        row.ranges = vec![None; concluded.len()];
        for (side, one) in concluded.iter().enumerate() {
            let share = |causes: &Vec<Cause>| -> f64 {
                let same = |cause: &&Cause| {
                    cause.kind == row.kind && Place::of(cause, side, known, matched) == *place
                };
                let shares = causes.iter().filter(same).map(|cause| cause.measured.share);
                shares.fold(0.0_f64, |sum, share| sum + share).min(1.0)
            };
            let shares: Vec<f64> = one.run_by_run.iter().map(share).collect();
            if let Some(middle) = median(&shares) {
                row.shares[side] = Some(middle);
                let least = shares.iter().copied().fold(1.0, f64::min);
                row.ranges[side] = Some((least, shares.iter().copied().fold(0.0, f64::max)));
            }
        }
    }
    let mut rows: Vec<CauseRow> = rows.into_iter().map(|(_, row)| row).collect();
    rows.retain(|row| {
        row.shares
            .iter()
            .flatten()
            .any(|share| *share >= WORTH_SAYING)
    });
    for row in &mut rows {
        let first = row.shares.first().copied().flatten();
        let changes = row.shares.iter().enumerate().map(|(side, own)| {
            let own = own.filter(|_| side > 0)?;
            let (first, one) = (first?, [row.ranges[0], row.ranges[side]]);
            let overlap = match one {
                [Some(before), Some(after)] => before.0 <= after.1 && after.0 <= before.1,
                _ => false,
            };
            let single = |side: usize| concluded[side].run_by_run.len() < 2;
            let little = (single(0) || single(side)) && (own - first).abs() < SINGLE;
            Some(match change(first, own) {
                Change::Same => Change::Same,
                _ if overlap || little => Change::Unclear,
                change => change,
            })
        });
        row.changes = changes.collect();
    }
    let moved = |row: &CauseRow| {
        let first = row.shares.first().copied().flatten().unwrap_or(0.0);
        let all = row.shares.iter().flatten();
        all.map(|share| (share - first).abs()).fold(0.0, f64::max)
    };
    rows.sort_by(|one, other| moved(other).total_cmp(&moved(one)));
    rows
}

/// Where a cause is: in a row of regions, in a region that no side is compared of, or in the program.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Row(usize),
    Alone(usize, String),
    Program,
}

impl Place {
    fn of(cause: &Cause, side: usize, known: &[Vec<Known>], matched: &[Matched]) -> Self {
        let Some(key) = &cause.region else {
            return Self::Program;
        };
        let is_in = |row: &Matched| {
            let regions = row.regions.get(side).into_iter().flatten();
            let keys = regions.map(|region| &known[side][*region].key);
            keys.into_iter().any(|own| own == key)
        };
        match matched.iter().position(is_in) {
            Some(row) => Self::Row(row),
            None => Self::Alone(side, key.clone()),
        }
    }
}

fn empty(cause: &Cause, concluded: &[Concluded]) -> CauseRow {
    // Where all runs were disturbed, what is not found may be there all the same.
    let told = |one: &Concluded| one.broken.is_none() && !one.run_by_run.is_empty();
    let looked = |one: &Concluded| told(one).then_some(0.0);
    CauseRow {
        kind: cause.kind,
        title: match cause.kind {
            // Its title names what differs from side to side.
            Kind::Library => cause.kind.title().to_owned(),
            _ => cause.title.clone(),
        },
        place: String::new(),
        shares: concluded.iter().map(looked).collect(),
        ranges: Vec::new(),
        changes: Vec::new(),
    }
}

/// A cause whose cost passes the least that is worth saying by a small change is not new or gone.
fn change(before: f64, after: f64) -> Change {
    let said = |share: f64| share >= WORTH_SAYING;
    match after - before {
        more if more.abs() < WORTH_SAYING => Change::Same,
        _ if !said(before) => Change::New,
        _ if !said(after) => Change::Gone,
        more if more > 0.0 => Change::More,
        _ => Change::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_same_has_not_come_or_gone() {
        assert_eq!(change(0.20, 0.00), Change::Gone);
        assert_eq!(change(0.00, 0.20), Change::New);
        assert_eq!(change(0.031, 0.029), Change::Same);
        assert_eq!(change(0.04, 0.02), Change::Same);
        assert_eq!(change(0.10, 0.20), Change::More);
        assert_eq!(change(0.20, 0.10), Change::Less);
    }
}
