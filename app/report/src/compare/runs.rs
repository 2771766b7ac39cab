//! Which runs of a side are compared, and what single runs cannot tell.

use super::model::{Noise, RanksRun, Setting, Side};
use crate::units;
use fathomp_analysis::Analysis;
use fathomp_stats::median;
use fathomp_types::Ending;
use std::collections::BTreeSet;

/// From so many runs in peace on, those that other programs disturbed are left out.
const IN_PEACE_MIN: usize = 3;
/// Single runs of a quiet machine are taken to differ by this part of their time.
const QUIET: f64 = 0.05;

/// Paces of processors that differ by less are the same.
const PACE: f64 = 0.05;

/// A run that is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) side: usize,
    pub(super) wall_ns: u64,
    /// None of a run of several ranks.
    pub(super) analysis: Option<&'a Analysis>,
}

/// The runs of a side with one setting.
#[derive(Clone, Debug)]
pub(super) struct Runs<'a> {
    /// Those that are compared.
    pub(super) used: Vec<Run<'a>>,
    /// Left out because other programs disturbed them,
    pub(super) disturbed: usize,
    /// or because they failed while others did not.
    pub(super) failed: usize,
    /// No run came to a good end: their times are no times of the whole program.
    pub(super) cut_short: bool,
}

/// The settings that the first side and another have; first that which says most: of most sides,
/// with a processor for each thread, with most threads.
pub(super) fn settings(sides: &[Side]) -> Vec<Setting> {
    let of = |side: &Side| -> BTreeSet<Setting> {
        let alone = measured(side).map(Setting::of);
        alone
            .chain(side.ranks.iter().map(|run| run.setting))
            .collect()
    };
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let others: Vec<BTreeSet<Setting>> = others.iter().map(of).collect();
    let having = |setting: &Setting| others.iter().filter(|one| one.contains(setting)).count();
    let crowded = |setting: &Setting| {
        let mut runs = measured(first).filter(|one| Setting::of(one) == *setting);
        runs.any(|one| one.program.crowded(one.team_size).is_some())
    };
    let mut common: Vec<Setting> = of(first)
        .into_iter()
        .filter(|one| having(one) > 0)
        .collect();
    common.sort_by_cached_key(|one| {
        std::cmp::Reverse((
            having(one),
            !crowded(one),
            one.ranks,
            one.nodes,
            one.threads,
        ))
    });
    common
}

/// The recordings whose times say something.
fn measured(side: &Side) -> impl Iterator<Item = &Analysis> {
    side.analyses.iter().filter(|one| !one.program.rehearsal)
}

fn ended_well(analysis: &Analysis) -> bool {
    match analysis.program.outcome {
        Some(Ending::Exited(code)) => code == 0,
        Some(Ending::Signalled(_)) => false,
        None => analysis.processes.iter().all(|process| process.ended),
    }
}

/// Whether other programs took so much that times say less.
pub(super) fn is_disturbed(analysis: &Analysis) -> bool {
    analysis.program.disturbed() || analysis.taken().is_some()
}

impl<'a> Runs<'a> {
    pub(super) fn of((number, side): (usize, &'a Side), setting: Setting) -> Self {
        let own: Vec<&Analysis> = measured(side)
            .filter(|one| Setting::of(one) == setting)
            .collect();
        let sound: Vec<&Analysis> = own.iter().copied().filter(|one| ended_well(one)).collect();
        let peace = sound.iter().copied().filter(|one| !is_disturbed(one));
        let peace: Vec<&Analysis> = peace.collect();
        let (failed, cut_short) = match sound.is_empty() {
            true => (0, !own.is_empty()),
            false => (own.len() - sound.len(), false),
        };
        let (chosen, disturbed) = match (cut_short, peace.len() >= IN_PEACE_MIN) {
            (true, _) => (own, 0),
            (false, true) => (peace.clone(), sound.len() - peace.len()),
            (false, false) => (sound, 0),
        };
        let alone = chosen.into_iter().map(|analysis| Run {
            side: number,
            wall_ns: analysis.wall_ns,
            analysis: Some(analysis),
        });
        let ranks = side.ranks.iter().filter(|run| run.setting == setting);
        let ranks = ranks.map(|run: &RanksRun| Run {
            side: number,
            wall_ns: run.wall_ns,
            analysis: None,
        });
        Self {
            used: alone.chain(ranks).collect(),
            disturbed,
            failed,
            cut_short,
        }
    }

    pub(super) fn left_out(&self) -> usize {
        self.disturbed + self.failed
    }

    pub(super) fn analyses(&self) -> impl Iterator<Item = &'a Analysis> {
        self.used.iter().filter_map(|run| run.analysis)
    }

    /// Whether a cause that is not found is not there: other programs hide some of them.
    pub(super) fn tells_causes(&self) -> bool {
        self.analyses().any(|one| !is_disturbed(one)) || self.used.is_empty()
    }

    /// How many times as long other programs may have made the runs that are compared, if these were
    /// disturbed: they took a part of the processors.
    pub(super) fn lengthened(&self) -> f64 {
        let disturbed = self.analyses().filter(|one| is_disturbed(one));
        let used = disturbed.filter_map(|one| one.program.others_used);
        let used: Vec<f64> = used.collect();
        // Half of the runs decide where the median is.
        match 2 * used.len() >= self.used.len() {
            true => 1.0 / (1.0 - median(&used).unwrap_or(0.0).clamp(0.0, 0.9)),
            false => 1.0,
        }
    }

    /// Processor times of the same pieces of computing just before and after each run.
    fn paces(&self) -> Vec<f64> {
        let paces = self.analyses().filter_map(|one| one.program.pace);
        paces
            .flat_map(|pace| [pace.before.usual_ns, pace.after.usual_ns])
            .collect()
    }
}

/// How many times as long the processors themselves took for the same computing around the runs of
/// a side as around those of the first, if that is known and differs.
pub(super) fn pace(first: &Runs<'_>, own: &Runs<'_>) -> Option<f64> {
    let ratio = median(&own.paces())? / median(&first.paces())?;
    let same = (1.0 / (1.0 + PACE)..=1.0 + PACE).contains(&ratio);
    (ratio.is_finite() && ratio > 0.0 && !same).then_some(ratio)
}

/// What single runs cannot tell from chance, if two sides have no more.
pub(super) fn noise(runs: &[Runs<'_>]) -> Option<Noise> {
    let single = runs.iter().filter(|side| side.used.len() == 1);
    if single.count() < 2 || runs[0].used.len() != 1 {
        return None;
    }
    let all = || runs.iter().flat_map(Runs::analyses);
    let others = all().filter_map(|one| one.program.others_used);
    let others = others.fold(0.0, f64::max);
    // All of the work runs on the part of the processors that other programs leave.
    let longer = 1.0 / (1.0 - others.clamp(0.0, 0.9)) - 1.0;
    let paces: Vec<f64> = runs.iter().flat_map(Runs::paces).collect();
    let (least, most) = paces.iter().fold((f64::INFINITY, 0.0_f64), |ends, ns| {
        (ends.0.min(*ns), ends.1.max(*ns))
    });
    let pace = if most > 0.0 { most / least - 1.0 } else { 0.0 };
    let found = [
        (
            QUIET,
            "single runs of a quiet machine are taken to differ by so much".to_owned(),
        ),
        (
            longer,
            format!(
                "other programs used {} of the processors",
                units::percent(others)
            ),
        ),
        (
            pace,
            format!(
                "processors took up to {} longer for the same computing at one time than at another",
                units::percent(pace)
            ),
        ),
    ];
    let most = found
        .into_iter()
        .max_by(|one, other| one.0.total_cmp(&other.0));
    most.map(|(share, because)| Noise { share, because })
}
