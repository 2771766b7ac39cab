//! One program before and after a change: whether that made it faster, which regions became faster
//! or slower, which causes of lost time went and came, and what else is different.
//!
//! | Module | Says |
//! |---|---|
//! | `model` | what a comparison holds |
//! | `matching` | which region of one build is which of another |
//! | `runs` | which runs of a side are compared |
//! | `causes` | what became of the causes of lost time |
//! | `facts` | what differs in program, machine and environment |
//! | `words` | all of it in sentences |

mod causes;
mod facts;
mod matching;
mod model;
mod runs;
mod words;

pub use model::{
    CauseRow, Change, Comparison, Concluded, FactRow, How, Judged, Noise, RanksRun, Setting, Side,
    Table, Verdict,
};

use crate::side_by_side::{Column, Ratio, Row, Sample};
use fathomp_analysis::Analysis;
use matching::{Known, Matched, follow};
use runs::{Runs, settings};
use std::collections::BTreeSet;

/// A difference below this fraction of the program's time does not matter to it.
pub const MATTERS: f64 = 0.01;

/// Why two or more sides cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CompareError {
    /// No number of threads is on two sides.
    #[error(
        "no runs are to be compared: {0}; record both with the same number of threads, such as `fathomp study --threads 2 --repeat 5`"
    )]
    NothingInCommon(String),
    /// Nothing suggests that it is one program.
    #[error(
        "{0}, and none of their parallel regions match: name recordings of one program before and after a change"
    )]
    OtherPrograms(String),
}

/// The recordings of each side from which causes are to be concluded: those that are compared.
#[must_use]
pub fn compared(sides: &[Side]) -> Vec<Vec<Analysis>> {
    let settings = settings(sides);
    let of = |side: (usize, &Side)| {
        let runs = settings.iter().map(|setting| Runs::of(side, *setting));
        let runs: Vec<Runs<'_>> = runs.collect();
        runs.iter().flat_map(Runs::analyses).cloned().collect()
    };
    sides.iter().enumerate().map(of).collect()
}

/// The same as if each run with this setting, which a report shows, had been the only one with it:
/// what these conclude tells how much a cause differs from run to run.
#[must_use]
pub fn run_by_run(analyses: &[Analysis], setting: Setting) -> Vec<Vec<Analysis>> {
    let (shown, others): (Vec<&Analysis>, Vec<&Analysis>) =
        analyses.iter().partition(|one| Setting::of(one) == setting);
    let with = |one: &Analysis| others.iter().copied().chain([one]).cloned().collect();
    let measured = shown.into_iter().filter(|one| !one.program.rehearsal);
    let in_peace = measured.filter(|one| !runs::is_disturbed(one));
    in_peace.map(with).collect()
}

/// Compares sides with the first; `concluded` is what reports say of each.
///
/// # Errors
/// If they have nothing in common.
pub fn compare(sides: &[Side], concluded: &[Concluded]) -> Result<Comparison, CompareError> {
    let settings = settings(sides);
    if settings.is_empty() {
        return Err(CompareError::NothingInCommon(words::settings_of(sides)));
    }
    let runs: Vec<Vec<Runs<'_>>> = settings
        .iter()
        .map(|setting| {
            let all = sides.iter().enumerate();
            all.map(|side| Runs::of(side, *setting)).collect()
        })
        .collect();
    let known: Vec<Vec<Known>> = sides.iter().map(known).collect();
    let matched = follow(&known);
    other_programs(sides, &known, &matched)?;
    let tables: Vec<Table> = settings
        .iter()
        .zip(&runs)
        .map(|(setting, runs)| table(*setting, runs, &known, &matched))
        .collect();
    Ok(Comparison {
        sides: sides.iter().map(|side| side.name.clone()).collect(),
        summary: words::summary(sides, &tables),
        doubts: words::doubts(sides, &runs, concluded),
        causes: causes::rows(concluded, &known, &matched),
        causes_known: concluded.iter().all(|one| one.broken.is_none())
            && runs[0].iter().all(Runs::tells_causes),
        facts: facts::rows(sides, &runs[0]),
        tables,
    })
}

/// The regions of all recordings of a side, those of the longest runs' first.
fn known(side: &Side) -> Vec<Known> {
    let mut seen = BTreeSet::new();
    let regions = side.analyses.iter().flat_map(|one| &one.regions);
    let once = regions.filter(|region| seen.insert(&region.key));
    once.map(|region| Known::new(region, side.build_of(region)))
        .collect()
}

/// Programs of other names are compared if they have a region in common.
fn other_programs(
    sides: &[Side],
    known: &[Vec<Known>],
    matched: &[Matched],
) -> Result<(), CompareError> {
    let name = |side: usize| {
        let first = sides[side].analyses.first();
        first.map(|one| one.program.name.as_str())
    };
    for side in 1..sides.len() {
        let (Some(one), Some(other)) = (name(0), name(side)) else {
            continue;
        };
        // Beside what is outside all regions.
        let some = |side: usize| known[side].len() > 1;
        let both = |row: &&Matched| !row.regions[0].is_empty() && !row.regions[side].is_empty();
        if one != other && some(0) && some(side) && matched.iter().filter(both).count() <= 1 {
            return Err(CompareError::OtherPrograms(format!(
                "{} is of {one} and {} of {other}",
                sides[0].name, sides[side].name
            )));
        }
    }
    Ok(())
}

fn table(setting: Setting, runs: &[Runs<'_>], known: &[Vec<Known>], matched: &[Matched]) -> Table {
    let program = judged("the program", runs, None, |run| {
        let mut whole = Sample::default();
        for region in run.analysis.iter().flat_map(|one| &one.regions) {
            whole += Sample::of(region);
        }
        Some(Sample {
            ns: run.wall_ns,
            executions: 1,
            ..whole
        })
    });
    let whole_ns = program.row.columns.iter().flatten().next();
    let whole_ns = whole_ns.map_or(0.0, |column| column.time_ns);
    let mut regions: Vec<Judged> = matched
        .iter()
        .filter_map(|one| {
            let keys = |side: usize| {
                let regions = one.regions[side].iter();
                regions.map(move |region| &known[side][*region])
            };
            let latest = (0..one.regions.len())
                .rev()
                .find(|side| keys(*side).next().is_some())?;
            let name = match one.how.contains(&Some(How::Together)) {
                true => keys(latest).next()?.neighbourhood(),
                false => words::name_of(keys(latest).map(|known| known.name.as_str())),
            };
            let mut judged = judged(&name, runs, Some(whole_ns), |run| {
                let mut sum: Option<Sample> = None;
                for key in keys(run.side) {
                    if let Some(region) = run.analysis.and_then(|one| one.region(&key.key)) {
                        *sum.get_or_insert_default() += Sample::of(region);
                    }
                }
                sum
            });
            judged.names = (0..one.regions.len())
                .map(|side| keys(side).map(|known| known.name.clone()).collect())
                .collect();
            judged.matched.clone_from(&one.how);
            judged
                .row
                .columns
                .iter()
                .any(Option::is_some)
                .then_some(judged)
        })
        .collect();
    let effect = |one: &Judged| {
        let all = one.longer_ns.iter().flatten().map(|ns| ns.abs());
        let time = one
            .row
            .columns
            .iter()
            .flatten()
            .map(|column| column.time_ns);
        (all.fold(0.0, f64::max), time.fold(0.0, f64::max))
    };
    regions.sort_by(|one, other| {
        let (one, other) = (effect(one), effect(other));
        other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    Table {
        setting,
        program,
        regions,
        runs: runs.iter().map(|side| side.used.len()).collect(),
        left_out: runs.iter().map(Runs::left_out).collect(),
        noise: runs::noise(runs),
    }
}

/// A row with its verdicts; `whole_ns` is the program's time on the first side, of a region.
fn judged(
    name: &str,
    runs: &[Runs<'_>],
    whole_ns: Option<f64>,
    sample: impl Fn(&runs::Run<'_>) -> Option<Sample>,
) -> Judged {
    let samples: Vec<Vec<Option<Sample>>> = runs
        .iter()
        .map(|side| side.used.iter().map(&sample).collect())
        .collect();
    let mut row = Row::of(name, &samples, |first, own| {
        let times = |runs: &[Option<Sample>]| -> Vec<f64> {
            runs.iter().flatten().map(|run| run.ns as f64).collect()
        };
        Ratio::of_medians(&times(first), &times(own))
    });
    for (column, side) in row.columns.iter_mut().zip(runs) {
        let Some(column) = column else {
            continue;
        };
        if side.cut_short || runs[0].cut_short {
            column.ratio = None;
        }
        if let Some(ratio) = &mut column.ratio {
            reach(ratio, &runs[0], side);
        }
        let differs = column.ratio.is_some_and(|ratio| ratio.differs());
        column.difference = column.difference.take().filter(|_| differs);
    }
    let first = row.columns.first().cloned().flatten();
    let whole_ns = whole_ns.or(first.as_ref().map(|column| column.time_ns));
    let verdicts = row
        .columns
        .iter()
        .zip(runs)
        .enumerate()
        .map(|(side, (column, own))| {
            let known = side > 0 && !own.used.is_empty() && !runs[0].used.is_empty();
            let known = known && !own.cut_short && !runs[0].cut_short;
            known.then(|| verdict(first.as_ref(), column.as_ref(), whole_ns.unwrap_or(0.0)))
        });
    let verdicts: Vec<Option<Verdict>> = verdicts.map(Option::flatten).collect();
    let longer = row.columns.iter().zip(&verdicts).map(|(column, verdict)| {
        (*verdict)?;
        let ns = |column: Option<&Column>| column.map_or(0.0, |column| column.time_ns);
        Some(ns(column.as_ref()) - ns(first.as_ref()))
    });
    Judged {
        longer_ns: longer.collect(),
        names: vec![Vec::new(); runs.len()],
        matched: vec![None; runs.len()],
        verdicts,
        row,
    }
}

/// Has the interval reach to where the ratio would be if processors had computed as fast on both
/// sides, and if other programs had taken as much of them: nobody knows how much of that a program
/// feels.
fn reach(ratio: &mut Ratio, first: &Runs<'_>, own: &Runs<'_>) {
    let Some(interval) = &mut ratio.interval else {
        return;
    };
    let pace = runs::pace(first, own).unwrap_or(1.0);
    for explained in [pace, own.lengthened() / first.lengthened()] {
        interval.low /= explained.max(1.0);
        interval.high /= explained.min(1.0);
    }
}

fn verdict(first: Option<&Column>, own: Option<&Column>, whole_ns: f64) -> Option<Verdict> {
    let (first, own) = match (first, own) {
        (None, None) => return None,
        (None, Some(_)) => return Some(Verdict::New),
        (Some(_), None) => return Some(Verdict::Gone),
        (Some(first), Some(own)) => (first, own),
    };
    let ratio = own.ratio?;
    Some(match ratio.interval {
        None => Verdict::SingleRuns,
        Some(_) if !ratio.differs() => Verdict::Same,
        Some(_) if (own.time_ns - first.time_ns).abs() < MATTERS * whole_ns => Verdict::Little,
        Some(_) if ratio.value > 1.0 => Verdict::Slower,
        Some(_) => Verdict::Faster,
    })
}

impl Comparison {
    /// What became slower by more than `part` of its time for certain: the program, or a region by
    /// so much that the program's time grows by more than that; with the numbers, each as a clause.
    #[must_use]
    pub fn slower_by(&self, part: f64) -> Vec<String> {
        let mut found = Vec::new();
        for table in &self.tables {
            let whole = table.program.row.columns.first().and_then(Option::as_ref);
            let least_ns = part * whole.map_or(f64::INFINITY, |column| column.time_ns);
            let program = [(&table.program, 0.0)].into_iter();
            for (judged, least_ns) in program.chain(table.regions.iter().map(|one| (one, least_ns)))
            {
                found.extend(words::slower(self, table, judged, part, least_ns));
            }
        }
        found
    }

    /// Whether any times have an interval, so that a difference could be seen.
    #[must_use]
    pub fn can_tell(&self) -> bool {
        let columns = self
            .tables
            .iter()
            .flat_map(|table| &table.program.row.columns);
        let mut ratios = columns.flatten().filter_map(|column| column.ratio);
        ratios.any(|ratio| ratio.interval.is_some())
    }
}

#[cfg(test)]
mod tests;
