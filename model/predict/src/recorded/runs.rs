//! Recordings of one program, sorted by thread count and reduced to what the
//! model needs.

use super::chunk_granularity::ChunkGranularity;
use super::error::PredictError;
use super::imbalance_evidence::ImbalanceEvidence;
use super::observed::Observed;
use fathomp_analysis::{
    Analysis, Decider, Disturbance, Oversubscription, Region, State, Taken, Times,
};
use std::collections::{BTreeMap, BTreeSet};

/// Relative standard deviation of a single run's time on a steady machine.
const STEADY: f64 = 0.02;
/// Regions modelled one by one; those with less time are taken together.
const MOST_REGIONS: usize = 64;
/// Key of the regions taken together.
pub(crate) const OTHERS: &str = "others";

/// One recording.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) analysis: &'a Analysis,
    /// Wall time.
    pub(crate) wall: f64,
    /// Time outside all regions in which the program computed, or all of it if it is not
    /// known what it did.
    pub(crate) serial: f64,
    /// Time outside all regions in which it was blocked.
    pub(crate) serial_blocked: f64,
    /// Its own threads shared processors.
    pub(crate) crowd: Option<Oversubscription>,
    /// Outermost regions by key.
    pub(crate) regions: BTreeMap<String, Observed>,
}

/// All recordings with one thread count.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) threads: u32,
    /// By wall time.
    pub(crate) runs: Vec<Run<'a>>,
    /// Relative standard deviation of the wall time.
    pub(crate) noise: f64,
}

impl<'a> Group<'a> {
    /// The run that stands for all: the one in the middle, the faster of two.
    pub(crate) fn typical_run(&self) -> &Run<'a> {
        &self.runs[(self.runs.len() - 1) / 2]
    }

    /// The time of the run that stands for all, without what other programs took from it.
    pub(crate) fn undisturbed(&self) -> f64 {
        let run = self.typical_run();
        let regions: f64 = run.regions.values().map(|region| region.time).sum();
        run.serial + run.serial_blocked + regions
    }

    /// What other programs took from the runs, if that is so much that they say nothing about
    /// threads that run at the same time.
    pub(crate) fn taken(&self) -> Option<Taken> {
        self.typical_run().analysis.taken()
    }

    /// The wall time that stands for all: the median.
    pub(crate) fn typical(&self) -> f64 {
        let walls: Vec<f64> = self.runs.iter().map(|run| run.wall).collect();
        fathomp_stats::quantile(&walls, 0.5).unwrap_or_default()
    }
}

/// All recordings.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'a> {
    pub(crate) program: String,
    /// By thread count, ascending.
    pub(crate) groups: Vec<Group<'a>>,
    /// Names of regions by key, from the recording with the most threads.
    pub(crate) names: BTreeMap<String, String>,
    /// Doubts, in words.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Runs<'a> {
    /// Sorts and checks recordings.
    pub(crate) fn new(analyses: &[&'a Analysis]) -> Result<Self, PredictError> {
        let (rehearsals, measured): (Vec<&'a Analysis>, Vec<&'a Analysis>) =
            analyses.iter().partition(|one| one.program.rehearsal);
        let analyses = if measured.is_empty() {
            &rehearsals
        } else {
            &measured
        };
        let Some(first) = analyses.first() else {
            return Err(PredictError::Nothing);
        };
        let program = first.program.name.clone();
        let mut warnings = Vec::new();
        for other in &analyses[1..] {
            if other.program.name != program {
                return Err(PredictError::Programs {
                    first: program,
                    other: other.program.name.clone(),
                });
            }
            if other.program.command != first.program.command {
                push(
                    &mut warnings,
                    "The recordings were made with different arguments; if those change the amount of work, the prediction means nothing.",
                );
            }
            let (a, b) = (&first.program.machine, &other.program.machine);
            if a.host != b.host || a.cpu_model != b.cpu_model {
                push(
                    &mut warnings,
                    "The recordings were made on different machines; differences between these are taken for effects of the thread count.",
                );
            }
        }
        if let Some(empty) = analyses.iter().find(|analysis| analysis.wall_ns == 0) {
            return Err(PredictError::Empty {
                program: empty.program.name.clone(),
            });
        }
        let mut groups: BTreeMap<u32, Vec<Run<'a>>> = BTreeMap::new();
        let shapes = shapes(&rehearsals, &program);
        for analysis in analyses {
            let mut run = Run::new(analysis, &mut warnings);
            for (key, observed) in &mut run.regions {
                if observed.granularity.is_unknown()
                    && let Some(granularity) = shapes.get(key)
                {
                    observed.granularity = *granularity;
                }
            }
            groups.entry(threads_of(analysis)).or_default().push(run);
        }
        let mut groups: Vec<Group<'a>> = groups
            .into_iter()
            .map(|(threads, mut runs)| {
                leave_out_disturbed(&mut runs, &mut warnings);
                runs.sort_by(|a, b| a.wall.total_cmp(&b.wall));
                let noise = noise(&runs);
                Group {
                    threads,
                    runs,
                    noise,
                }
            })
            .collect();
        if no_region_in_common(&groups) {
            return Err(PredictError::Builds { program });
        }
        let names = gather_small(&mut groups);
        check_work(&groups, &names, &mut warnings);
        for group in &mut groups {
            let noise = group.noise;
            for region in group
                .runs
                .iter_mut()
                .flat_map(|run| run.regions.values_mut())
            {
                region.noise = region.noise.hypot(noise).min(0.5);
            }
        }
        Ok(Self {
            program,
            groups,
            names,
            warnings,
        })
    }

    /// Processors that recordings had, on all hosts of the one with most; 0 if none says so.
    pub(crate) fn processors(&self) -> u32 {
        let runs = self.groups.iter().flat_map(|group| &group.runs);
        let known = runs.map(|run| run.analysis.program.processors());
        known.max().unwrap_or(0)
    }

    /// Whether the program ran on several hosts.
    pub(crate) fn on_hosts(&self) -> bool {
        let mut runs = self.groups.iter().flat_map(|group| &group.runs);
        runs.any(|run| !run.analysis.program.hosts.is_empty())
    }

    /// [Typical](Group::typical) wall time with so many threads, if that was measured.
    pub(crate) fn typical(&self, threads: u32) -> Option<f64> {
        let mut groups = self.groups.iter();
        groups
            .find(|one| one.threads == threads)
            .map(Group::typical)
    }

    /// The same without what other programs took.
    pub(crate) fn undisturbed(&self, threads: u32) -> Option<f64> {
        let mut groups = self.groups.iter();
        groups
            .find(|one| one.threads == threads)
            .map(Group::undisturbed)
    }

    /// Keys of all regions.
    pub(crate) fn keys(&self) -> BTreeSet<&str> {
        self.groups
            .iter()
            .flat_map(|group| &group.runs)
            .flat_map(|run| run.regions.keys().map(String::as_str))
            .collect()
    }
}

/// How much more of the processors others may have used during a run than during the
/// quietest with as many threads.
const MORE_DISTURBED: f64 = 0.1;

/// Where some runs were disturbed by other programs more than others were, these say
/// nothing that the others do not say better.
fn leave_out_disturbed(runs: &mut Vec<Run<'_>>, warnings: &mut Vec<String>) {
    let all = runs.len();
    if runs.iter().any(|run| run.analysis.taken().is_none()) {
        runs.retain(|run| run.analysis.taken().is_none());
    }
    let used = |run: &Run<'_>| run.analysis.program.others_used.unwrap_or(0.0);
    let least = runs.iter().map(used).fold(f64::INFINITY, f64::min);
    runs.retain(|run| used(run) <= least + MORE_DISTURBED);
    if runs.len() < all {
        push(
            warnings,
            "Recordings that other programs disturbed more than others with as many threads were left out.",
        );
    }
}

/// Threads a recording stands for: those the program was given, which some of
/// its regions may not follow; if unknown, the largest team.
pub(crate) fn threads_of(analysis: &Analysis) -> u32 {
    analysis
        .program
        .threads_asked
        .unwrap_or(analysis.team_size)
        .max(1)
}

/// Relative standard deviation of one run's wall time; of a single run, what
/// quiet machines do or, if it is more, what its processors did.
fn noise(runs: &[Run<'_>]) -> f64 {
    if let [alone] = runs {
        return STEADY.max(unsteady(alone.analysis));
    }
    let logs: Vec<f64> = runs.iter().map(|run| run.wall.max(1.0).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt().clamp(0.002, 0.5)
}

/// How unsteady processors were around a run, whatever the program did: half of what a fixed
/// piece of computing took longer or shorter after it than before. That run may have been
/// the one like its begin and another like its end.
fn unsteady(analysis: &Analysis) -> f64 {
    let Some(pace) = analysis.program.pace else {
        return 0.0;
    };
    let ends = pace.before.both().into_iter().zip(pace.after.both());
    let differences = ends.map(|(before, after)| 0.5 * (after / before).ln().abs());
    let most = differences.fold(0.0, f64::max);
    if most.is_finite() { most.min(0.5) } else { 0.0 }
}

impl<'a> Run<'a> {
    fn new(analysis: &'a Analysis, warnings: &mut Vec<String>) -> Self {
        let crowd = crowd_of(analysis);
        let wall = analysis.wall_ns as f64;
        let parallel = wall * analysis.parallel_time_fraction.clamp(0.0, 1.0);
        let regions: Vec<(&Region, Observed)> = analysis
            .regions
            .iter()
            .skip(1)
            .filter(|region| region.outermost_ns > 0)
            .map(|region| (region, observe(analysis, region, crowd.is_some())))
            .collect();
        // Regions of several threads at once share the wall time. What lack of a
        // processor took was taken out of the regions, not of the program.
        let whole: f64 = regions
            .iter()
            .map(|(region, _)| region.outermost_ns as f64)
            .sum();
        let factor = match parallel / whole.max(1.0) {
            factor if (factor - 1.0).abs() < 0.02 || whole <= 0.0 => 1.0,
            factor if !factor.is_finite() => 1.0,
            factor => {
                if factor < 1.0 {
                    push(
                        warnings,
                        "Several threads execute regions at the same time: each region is charged its share of the time they overlap, and predictions assume that they overlap likewise with other thread counts.",
                    );
                }
                factor
            }
        };
        let regions: BTreeMap<String, Observed> = regions
            .into_iter()
            .map(|(region, observed)| (region.key.clone(), observed.scaled(factor)))
            .collect();
        let outside = (wall - whole * factor).max(0.0);
        let (blocked, ready) = outside_without_processor(analysis);
        let ready = if crowd.is_some() { 0.0 } else { ready };
        let serial_blocked = outside * blocked;
        Self {
            analysis,
            wall,
            serial: (outside * (1.0 - blocked - ready)).max(0.0),
            serial_blocked,
            crowd,
            regions,
        }
    }
}

/// Pieces of work by region, as far as rehearsals show them.
fn shapes(rehearsals: &[&Analysis], program: &str) -> BTreeMap<String, ChunkGranularity> {
    let same = rehearsals.iter().filter(|one| one.program.name == program);
    let regions = same.flat_map(|one| &one.regions);
    regions
        .map(|region| (region.key.clone(), ChunkGranularity::of(&region.work)))
        .filter(|(_, granularity)| !granularity.is_unknown())
        .collect()
}

/// The crowd that a program's own threads made although it was given no more of them
/// than there are processors: application threads that encounter regions at the same
/// time, nested teams, or threads bound to fewer processors; or a quota that held them
/// back.
fn crowd_of(analysis: &Analysis) -> Option<Oversubscription> {
    let throttled = analysis.program.throttled_ns.unwrap_or(0) as f64;
    if let Some(quota) = analysis.program.quota_processors
        && throttled >= 0.02 * analysis.wall_ns as f64
    {
        return Some(Oversubscription {
            processors: quota.ceil().clamp(1.0, f64::from(u32::MAX)) as u32,
            first: None,
            threads: threads_of(analysis),
            members: threads_of(analysis),
            ready_ns: throttled as u64,
            processor_ns: 0,
        });
    }
    let on_purpose = analysis.program.crowded(threads_of(analysis)).is_some();
    let mut crowds = analysis.crowds.iter();
    crowds
        .find(|crowd| crowd.first.is_some() || !on_purpose)
        .copied()
}

/// Of the time outside regions, the parts in which the threads that encounter them were
/// blocked and without a processor.
fn outside_without_processor(analysis: &Analysis) -> (f64, f64) {
    let Some(serial) = analysis.serial() else {
        return (0.0, 0.0);
    };
    let times = &serial.states;
    let [computing, blocked, ready] =
        [State::Compute, State::Blocked, State::Ready].map(|state| times[state] as f64);
    let all = (computing + blocked + ready).max(1.0);
    (blocked / all, ready / all)
}

/// What a region's row says, reduced to its outermost executions. Time without a
/// processor is left out unless the program's own threads, as a `crowd`, took it from each
/// other: what other programs take says nothing of this one.
fn observe(analysis: &Analysis, region: &Region, crowd: bool) -> Observed {
    let time = region.outermost_ns as f64;
    // Of a recursive region, times of executions inside are counted with the outermost.
    let wall = match region.is_recursive() {
        true => time,
        false => region.wall_ns as f64,
    };
    let outermost = time / wall.max(1.0);
    let all: &Times = &region.inclusive;
    // One thread waits for nobody: a rounding error above 1 is no second one.
    let team = match all.total_ns() as f64 / wall.max(1.0) {
        team if team < 1.01 => 1.0,
        team => team,
    };
    let mean = |states: &[State]| {
        let ns: f64 = states.iter().map(|state| all[*state] as f64).sum();
        ns / team * outermost
    };
    let alone = region.deciders.get(&Decider::Levels);
    let executions = match (region.is_recursive(), alone) {
        (true, Some(alone)) => region.instances.saturating_sub(alone.executions).max(1) as f64,
        _ => region.instances as f64 * outermost,
    };
    let explicit = region
        .wait_counts
        .get(&State::ExplicitBarrier)
        .copied()
        .unwrap_or(0) as f64;
    let scatter = if region.length.count > 1 && region.length.sum_ns > 0 {
        let mean = region.length.sum_ns as f64 / region.length.count as f64;
        region.length.sd_ns / mean / (region.length.count as f64).sqrt()
    } else {
        0.02
    };
    let waited = |state: State| region.waited_for[state] as f64 * outermost;
    let (waited_ready, waited_blocked) = (waited(State::Ready), waited(State::Blocked));
    let waiting = mean(&[
        State::ImplicitBarrier,
        State::ExplicitBarrier,
        State::TaskWait,
        State::Idle,
    ]);
    let ready = mean(&[State::Ready]) + waited_ready;
    // A disturbed run says less.
    let others = match crowd {
        true => Disturbance::default(),
        false => region.disturbance(&analysis.program),
    };
    let [hidden, late, waited_late] =
        [others.hidden_ns, others.late_ns, others.waited_ns].map(|ns| ns * outermost);
    let disturbed = if crowd { 0.0 } else { ready } + late + waited_late;
    let scatter = scatter.hypot(0.3 * disturbed / time.max(1.0));
    let waiting = (waiting - waited_ready - waited_blocked - waited_late).max(0.0) + hidden;
    Observed {
        team,
        time: (time - disturbed + hidden).max(1.0),
        work: mean(&[State::Compute]),
        waiting,
        mutex: mean(&[State::Critical, State::Lock]),
        ordered: mean(&[State::Ordered]),
        overhead: (mean(&[State::Overhead]) - late).max(0.0),
        io: mean(&[State::Io]),
        communication: mean(&[State::Communication]),
        blocked: mean(&[State::Blocked]) + waited_blocked,
        ready: if crowd { ready } else { 0.0 },
        executions,
        barriers: executions + explicit / team,
        chunks: region.chunks as f64,
        noise: scatter.clamp(0.002, 0.2),
        evidence: ImbalanceEvidence::of_region(region),
        granularity: ChunkGranularity::of(&region.work),
    }
}

/// Recordings with regions that share none with any other.
fn no_region_in_common(groups: &[Group<'_>]) -> bool {
    let sets: Vec<BTreeSet<&String>> = groups
        .iter()
        .flat_map(|group| &group.runs)
        .map(|run| run.regions.keys().collect())
        .filter(|keys: &BTreeSet<&String>| !keys.is_empty())
        .collect();
    let Some((first, rest)) = sets.split_first() else {
        return false;
    };
    rest.iter().any(|keys| keys.is_disjoint(first))
}

/// Joins the regions with least time, beyond the first [`MOST_REGIONS`], and
/// returns names by key.
fn gather_small(groups: &mut [Group<'_>]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let mut weight: BTreeMap<String, f64> = BTreeMap::new();
    for group in groups.iter() {
        for run in &group.runs {
            for region in &run.analysis.regions {
                names.insert(region.key.clone(), region.name.clone());
            }
            for (key, observed) in &run.regions {
                let most = weight.entry(key.clone()).or_default();
                *most = most.max(observed.time);
            }
        }
    }
    let mut order: Vec<(f64, String)> = weight.into_iter().map(|(key, w)| (w, key)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    if order.len() > MOST_REGIONS {
        let small: BTreeSet<String> = order.drain(MOST_REGIONS..).map(|(_, key)| key).collect();
        names.insert(OTHERS.to_owned(), format!("{} other regions", small.len()));
        for run in groups.iter_mut().flat_map(|group| &mut group.runs) {
            let mut others: Option<Observed> = None;
            run.regions.retain(|key, observed| {
                if !small.contains(key) {
                    return true;
                }
                others = Some(others.map_or(*observed, |sum| sum.joined(observed)));
                false
            });
            if let Some(others) = others {
                run.regions.insert(OTHERS.to_owned(), others);
            }
        }
    }
    names
}

/// Warns of regions whose executions differ from run to run.
fn check_work(groups: &[Group<'_>], names: &BTreeMap<String, String>, warnings: &mut Vec<String>) {
    let mut range: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    let mut total: f64 = 0.0;
    for run in groups.iter().flat_map(|group| &group.runs) {
        total = total.max(run.wall);
        for (key, observed) in &run.regions {
            let seen = range.entry(key).or_insert((f64::MAX, 0.0, 0.0));
            seen.0 = seen.0.min(observed.executions);
            seen.1 = seen.1.max(observed.executions);
            seen.2 = seen.2.max(observed.time);
        }
    }
    let differing: Vec<&str> = range
        .into_iter()
        .filter(|(_, (least, most, time))| *most > 1.02 * least + 1.0 && *time > 0.02 * total)
        .map(|(key, _)| names.get(key).map_or(key, String::as_str))
        .collect();
    if let Some(name) = differing.first() {
        let more = match differing.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        push(
            warnings,
            &format!(
                "Region {name}{more} was executed more often in some runs than in others, so the amount of work may depend on the thread count."
            ),
        );
    }
}

fn push(warnings: &mut Vec<String>, sentence: &str) {
    if !warnings.iter().any(|known| known == sentence) {
        warnings.push(sentence.to_owned());
    }
}
