//! Recordings, scans and facts of a program, joined region by region.

use crate::advice::{ModuleNote, Term};
use crate::memory;
use crate::profile::{Modelled, Profile, Seen, Timed};
use crate::target::Target;
use crate::work::work;
use fathomp_analysis::{Analysis, PieceKind, Region as Recorded, SiteKind, State};
use fathomp_predict::{Options, RegionPrediction};
use fathomp_regions::{Body, BodyKind, Facts, Module, Place, Region, Regions, Sample, Word};
use fathomp_score::Weights;
use std::collections::BTreeMap;

/// Value of words that only a run knows, where no run was recorded: as trips of nested
/// loops, more data than caches hold.
const ASSUMED_WORD: i64 = 4_000;

/// Part of a region's time lost to other programs from which a run of it is disturbed.
const DISTURBED: f64 = 0.05;

/// What there is of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// Recordings of it.
    pub analyses: &'a [&'a Analysis],
    /// What its binary and sources contain.
    pub regions: Option<&'a Regions>,
    /// What recordings saw of the values that expressions read.
    pub facts: &'a [Facts],
}

/// A region with all that is known of it.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Name as in reports.
    pub name: String,
    /// Identity in recordings, empty if it was not recorded.
    pub key: String,
    /// Where it stands.
    pub place: Option<Place>,
    /// File that holds its body.
    pub module: Option<ModuleNote>,
    /// Address of its body there.
    pub address: Option<u64>,
    /// What was scanned of it.
    pub scanned: Option<&'a Region>,
    /// Share of the time of all regions.
    pub weight: f64,
    /// The published static score, where the region was scanned.
    pub score: Option<f64>,
    /// Numbers for the model.
    pub profile: Profile,
}

/// Joins all that is known of a program's outermost parallel regions, for predictions at
/// the thread counts `at` on `target`. Those that take the most time come first.
#[must_use]
pub fn subjects<'a>(
    evidence: Evidence<'a>,
    target: &Target,
    at: &[u32],
    weights: &Weights,
) -> Vec<Subject<'a>> {
    let recorded = recorded(evidence.analyses);
    let predictions = predictions(evidence.analyses, target, at);
    let all: f64 = recorded.iter().map(|one| one.wall_ns()).sum();
    let mut subjects = Vec::new();
    let mut joined = vec![false; evidence.regions.map_or(0, |regions| regions.regions.len())];
    for one in &recorded {
        let found = evidence
            .regions
            .and_then(|regions| scanned_of(regions, &one.module, one.address));
        if let Some((index, _)) = found {
            joined[index] = true;
        }
        let scanned = found.map(|(_, region)| region);
        let module = match (scanned.and_then(|region| region.module), evidence.regions) {
            (Some(module), Some(regions)) => regions.modules.get(module).map(note),
            _ => None,
        };
        let weight = crate::choose::ratio(one.wall_ns(), all.max(1.0));
        let predicted = predictions.get(&one.key);
        let profile = profile(Some(one), scanned, predicted, &evidence, target, at);
        subjects.push(Subject {
            score: score(scanned, &profile, target, weights),
            name: one.fewest().name.clone(),
            key: one.key.clone(),
            place: place(one.fewest(), scanned),
            module: Some(module.unwrap_or_else(|| {
                ModuleNote {
                    path: one.module.clone(),
                    build_id: evidence
                        .facts
                        .iter()
                        .find(|facts| facts.module == one.module)
                        .map_or(String::new(), |facts| facts.build_id.clone()),
                }
            })),
            address: Some(one.address).filter(|address| *address != 0),
            scanned,
            weight,
            profile,
        });
    }
    subjects.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    // Regions of code that did not run are not advised about beside those that did.
    if recorded.is_empty()
        && let Some(regions) = evidence.regions
    {
        for (region, joined) in regions.regions.iter().zip(&joined) {
            let parallel = region
                .body
                .as_ref()
                .map_or(region.construct.is_some(), |body| {
                    matches!(
                        body.kind,
                        BodyKind::Parallel | BodyKind::ParallelLoop | BodyKind::ParallelSections
                    )
                });
            if *joined || !parallel {
                continue;
            }
            let profile = profile(None, Some(region), None, &evidence, target, at);
            subjects.push(Subject {
                score: score(Some(region), &profile, target, weights),
                name: scanned_name(region),
                key: String::new(),
                place: region.place.clone(),
                module: region
                    .module
                    .and_then(|module| regions.modules.get(module))
                    .map(note),
                address: region.body.as_ref().map(|body| body.address),
                scanned: Some(region),
                weight: 0.0,
                profile,
            });
        }
    }
    subjects
}

fn score(
    scanned: Option<&Region>,
    profile: &Profile,
    target: &Target,
    weights: &Weights,
) -> Option<f64> {
    let footprint = profile.demand.as_ref().map(|demand| demand.footprint);
    let working_set = footprint.filter(|bytes| profile.facts && *bytes > 0.0);
    memory::score(scanned?, working_set, target, weights)
}

fn note(module: &Module) -> ModuleNote {
    ModuleNote {
        path: module.path.clone(),
        build_id: module.build_id.clone(),
    }
}

/// A region in all recordings that have it.
struct InRecordings<'a> {
    key: String,
    module: String,
    address: u64,
    /// Threads asked for, and the row; fewest threads first.
    rows: Vec<(u32, &'a Recorded)>,
    disturbed: bool,
}

impl<'a> InRecordings<'a> {
    fn fewest(&self) -> &'a Recorded {
        self.rows[0].1
    }

    fn wall_ns(&self) -> f64 {
        self.fewest().outermost_ns as f64
    }
}

fn recorded<'a>(analyses: &[&'a Analysis]) -> Vec<InRecordings<'a>> {
    type Rows<'a> = Vec<(u32, &'a Recorded)>;
    let mut by_key: BTreeMap<&str, (Rows<'_>, bool)> = BTreeMap::new();
    for analysis in analyses.iter().filter(|one| !one.program.rehearsal) {
        for region in &analysis.regions {
            if region.kind == SiteKind::Parallel && region.outermost_ns > 0 {
                let threads = region.team_size_max.max(1);
                let (rows, disturbed) = by_key.entry(&region.key).or_default();
                rows.push((threads, region));
                *disturbed |= is_disturbed(analysis, region);
            }
        }
    }
    by_key
        .into_iter()
        .map(|(key, (mut rows, disturbed))| {
            rows.sort_by_key(|(threads, _)| *threads);
            let (module, address) = module_and_address(key);
            InRecordings {
                key: key.to_owned(),
                module: module.to_owned(),
                address,
                rows,
                disturbed,
            }
        })
        .collect()
}

/// Whether other programs took so much of a region's time that it says little.
#[must_use]
pub fn is_disturbed(analysis: &Analysis, region: &Recorded) -> bool {
    if region.wall_ns == 0 {
        return false;
    }
    let wall = region.wall_ns as f64;
    let team = (region.states.total_ns() as f64 / wall).max(1.0);
    let ready = region.states[State::Ready] as f64 / team;
    let lost = region.disturbance(&analysis.program);
    let lost = ready + lost.hidden_ns + lost.late_ns + lost.waited_ns;
    analysis.program.disturbed() || lost > DISTURBED * wall
}

/// `parallel:/path/to/prog+0x1234` in its parts.
fn module_and_address(key: &str) -> (&str, u64) {
    let rest = key.split_once(':').map_or(key, |(_, rest)| rest);
    match rest.rsplit_once("+0x") {
        Some((module, address)) => (module, u64::from_str_radix(address, 16).unwrap_or(0)),
        None => (rest, 0),
    }
}

/// The address in its module of the region that recordings call `key`, if it says one.
#[must_use]
pub fn address(key: &str) -> Option<u64> {
    Some(module_and_address(key).1).filter(|address| *address != 0)
}

fn scanned_of<'a>(regions: &'a Regions, module: &str, address: u64) -> Option<(usize, &'a Region)> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let fits = |region: &Region| {
        let body = region.body.as_ref()?;
        let own = regions.modules.get(region.module?)?;
        let by_body = body.address == address;
        // Where the runtime is not given the body, its call site says which it is.
        let by_site = body.starts.iter().any(|start| start.returns_to == address);
        ((by_body || by_site) && (own.path == module || name(&own.path) == name(module)))
            .then_some(())
    };
    regions
        .regions
        .iter()
        .enumerate()
        .find(|(_, region)| fits(region).is_some())
}

fn place(recorded: &Recorded, scanned: Option<&Region>) -> Option<Place> {
    scanned.and_then(|region| region.place.clone()).or_else(|| {
        Some(Place {
            file: recorded.place.file.clone()?,
            line: recorded.place.line?,
            column: recorded.place.column.unwrap_or(0),
        })
    })
}

fn scanned_name(region: &Region) -> String {
    match (&region.place, &region.body) {
        (Some(place), _) => {
            let file = place.file.rsplit('/').next().unwrap_or(&place.file);
            format!("{file}:{}", place.line)
        }
        (None, Some(body)) => body
            .symbol
            .clone()
            .unwrap_or_else(|| format!("{:#x}", body.address)),
        (None, None) => "region".to_owned(),
    }
}

/// Models of recordings with several numbers of threads, by region.
fn predictions(
    analyses: &[&Analysis],
    target: &Target,
    at: &[u32],
) -> BTreeMap<String, RegionPrediction> {
    let mut counts: Vec<u32> = analyses
        .iter()
        .filter(|one| !one.program.rehearsal)
        .map(|one| one.program.threads_asked.unwrap_or(one.team_size))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < 2 {
        return BTreeMap::new();
    }
    let options = Options {
        at: at.to_vec(),
        machine: target.measured.then(|| target.machine.clone()),
        cores: Some(target.machine.cores),
        ..Options::default()
    };
    match fathomp_predict::predict(analyses, &options) {
        Ok(prediction) => prediction
            .regions
            .into_iter()
            .map(|region| (region.key.clone(), region))
            .collect(),
        // Nothing to predict from is nothing to add.
        Err(_) => BTreeMap::new(),
    }
}

fn profile(
    recorded: Option<&InRecordings<'_>>,
    scanned: Option<&Region>,
    predicted: Option<&RegionPrediction>,
    evidence: &Evidence<'_>,
    target: &Target,
    at: &[u32],
) -> Profile {
    let body = scanned.and_then(|region| region.body.as_ref());
    let samples = body.map_or(Vec::new(), |body| samples(body, scanned, evidence));
    let facts = !samples.is_empty();
    let main = body.and_then(|body| main_sample(body, &samples));
    let assumed = body.filter(|_| !facts).map(assumed);
    let sample = main.as_ref().map(|main| main.sample).or(assumed.as_ref());
    let mut counts = vec![1];
    counts.extend(at);
    counts.sort_unstable();
    counts.dedup();
    let work = body
        .zip(sample)
        .and_then(|(body, s)| work(body, s, &counts));
    let repeated = memory::Repeated {
        times: recorded.map_or(1.0, |one| one.fewest().instances as f64),
        alone: recorded.is_some_and(|one| one.fewest().share > 0.5),
    };
    let demand = body
        .zip(sample)
        .and_then(|(body, sample)| memory::demand(body, sample, target, repeated));
    // Times are means over executions; the sample may stand for larger ones.
    let larger = main.as_ref().map_or(1.0, |main| main.larger);
    let timed = recorded.map(|one| timed(one, larger));
    let executions = recorded.map_or(1.0, |one| one.fewest().instances.max(1) as f64);
    let bandwidth_bound = demand.is_some();
    let measured_counts = match predicted {
        Some(predicted) => predicted.measured.len() as u32,
        None => u32::from(timed.is_some()),
    };
    let asked = &target.machine.cpu_model;
    Profile {
        timed,
        same_machine: !asked.is_empty()
            && evidence
                .analyses
                .iter()
                .all(|one| one.program.machine.cpu_model == *asked),
        measured_counts,
        seen: recorded.map_or(Seen::default(), |one| seen(one)),
        curve: predicted.map_or(Vec::new(), |predicted| {
            curve(predicted, executions / larger, bandwidth_bound)
        }),
        facts: facts || (work.is_some() && assumed.as_ref().is_some_and(|s| s.words.is_empty())),
        understood: body.map_or(0.0, understood),
        disturbed: recorded.is_some_and(|one| one.disturbed),
        work,
        demand,
    }
}

fn samples<'a>(body: &Body, scanned: Option<&Region>, evidence: &Evidence<'a>) -> Vec<&'a Sample> {
    let module = scanned
        .and_then(|region| region.module)
        .and_then(|module| evidence.regions?.modules.get(module));
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let fits = |facts: &&Facts| {
        module.is_none_or(
            |module| match facts.build_id.is_empty() || module.build_id.is_empty() {
                false => facts.build_id == module.build_id,
                true => name(&facts.module) == name(&module.path),
            },
        )
    };
    evidence
        .facts
        .iter()
        .filter(fits)
        .flat_map(|facts| &facts.samples)
        .filter(|sample| sample.body == body.address)
        .collect()
}

/// The sample that stands for a region.
struct Main<'a> {
    sample: &'a Sample,
    /// Its work relative to the mean of all executions.
    larger: f64,
}

/// The set of words whose executions did the most work together.
fn main_sample<'a>(body: &Body, samples: &[&'a Sample]) -> Option<Main<'a>> {
    let instructions: Vec<f64> = samples
        .iter()
        .map(|sample| crate::work::counts(body, sample, 1, 0).instructions(body))
        .collect();
    let times = |sample: &Sample| sample.times.max(1) as f64;
    let (mut executions, mut all) = (0.0, 0.0);
    for (sample, one) in samples.iter().zip(&instructions) {
        executions += times(sample);
        all += one * times(sample);
    }
    let most = samples.iter().zip(&instructions).max_by(|a, b| {
        let work = |one: &(&&Sample, &f64)| *one.1 * times(one.0);
        work(a).total_cmp(&work(b))
    });
    most.map(|(sample, one)| {
        let mean = all / f64::max(executions, 1.0);
        Main {
            sample,
            larger: crate::choose::ratio(*one, mean).clamp(1e-6, 1e6),
        }
    })
}

/// Words of a run that nobody recorded.
fn assumed(body: &Body) -> Sample {
    let words = fathomp_trips::words(body).into_iter().map(|load| Word {
        load,
        value: ASSUMED_WORD,
    });
    Sample {
        body: body.address,
        times: 1,
        threads: 1,
        words: words.collect(),
        ..Sample::default()
    }
}

fn understood(body: &Body) -> f64 {
    let coverage = &body.coverage;
    let parts = [
        &coverage.innermost_accesses,
        &coverage.outer_accesses,
        &coverage.trips,
    ];
    let all: f64 = parts.iter().map(|share| share.all_weight).sum();
    let known: f64 = parts.iter().map(|share| share.known_weight).sum();
    if all > 0.0 { known / all } else { 1.0 }
}

fn timed(recorded: &InRecordings<'_>, larger: f64) -> Timed {
    let (fewest, _) = recorded.rows[0];
    // Repetitions with as few threads: the quickest is the least disturbed.
    let rows = recorded
        .rows
        .iter()
        .filter(|(threads, _)| *threads == fewest);
    let each = |region: &Recorded| region.outermost_ns as f64 / region.instances.max(1) as f64;
    let quickest = rows
        .clone()
        .map(|(_, region)| *region)
        .min_by(|a, b| each(a).total_cmp(&each(b)))
        .unwrap_or(recorded.fewest());
    let wall = quickest.wall_ns.max(1) as f64;
    let executions = quickest.instances.max(1) as f64;
    let team = (quickest.inclusive.total_ns() as f64 / wall).max(1.0);
    let per = |ns: u64| ns as f64 / executions * larger;
    let scatter = quickest.length.sd_ns / (wall / executions);
    let several: Vec<f64> = rows.map(|(_, region)| each(region)).collect();
    let between = match several.len() {
        0 | 1 => 0.02,
        n => {
            let most = several.iter().copied().fold(0.0, f64::max);
            (most / each(quickest) - 1.0) / (n as f64).sqrt()
        }
    };
    Timed {
        threads: team,
        wall_ns: per(quickest.wall_ns),
        computing_ns: per(quickest.inclusive.useful_ns()),
        blocked_ns: per(quickest.inclusive[State::Blocked] + quickest.inclusive[State::Io]) / team,
        executions: quickest.instances,
        error: (scatter / executions.sqrt()).max(between).clamp(0.002, 0.5),
    }
}

fn seen(recorded: &InRecordings<'_>) -> Seen {
    let region = recorded.fewest();
    let executions = region.instances.max(1) as f64;
    // The most threads show best how work divides.
    let most = recorded.rows.last().map_or(region, |(_, row)| *row);
    let pieces = most.work.pieces.iter().filter(|one| one.share > 0.5);
    let pieces = pieces
        .filter(|one| one.kind != PieceKind::Tasks)
        .map(|one| one.pieces as f64)
        .fold(None, |fewest: Option<f64>, one| {
            Some(fewest.map_or(one, |fewest| fewest.min(one)))
        });
    let uneven = &most.unevenness;
    let mean = uneven.longest_ns - uneven.excess_ns;
    let team = region.team_size_max.max(1);
    let explicit = region.wait_counts.get(&State::ExplicitBarrier).copied();
    Seen {
        pieces,
        uneven: (uneven.executions > 0 && uneven.team_size > 1 && mean > 0.0)
            .then(|| (uneven.team_size, (uneven.longest_ns / mean).max(1.0))),
        mutexes: region.mutexes_taken as f64 / executions,
        barriers: explicit.unwrap_or(0) as f64 / executions / f64::from(team),
        chunks: most.chunks as f64 / most.instances.max(1) as f64,
    }
}

fn curve(predicted: &RegionPrediction, executions: f64, memory: bool) -> Vec<Modelled> {
    predicted
        .points
        .iter()
        .map(|point| {
            let loss = point
                .terms
                .iter()
                .filter(|one| one.term != fathomp_predict::Term::Work)
                .max_by(|a, b| a.time_ns.total_cmp(&b.time_ns));
            let share = loss.map_or(0.0, |one| one.time_ns / point.time_ns.max(1.0));
            let (dominating, share) = match loss {
                Some(one) if share >= 0.02 => (term(one.term, memory), share),
                _ => (Term::Work, 1.0 - share),
            };
            Modelled {
                threads: point.threads,
                time_ns: point.time_ns / executions,
                low_ns: point.low_ns / executions,
                high_ns: point.high_ns / executions,
                beyond: point.extrapolated,
                dominating,
                share,
            }
        })
        .collect()
}

fn term(term: fathomp_predict::Term, memory: bool) -> Term {
    use fathomp_predict::Term as Theirs;
    match term {
        Theirs::Work => Term::Work,
        Theirs::Imbalance => Term::Imbalance,
        Theirs::Pieces => Term::Pieces,
        Theirs::Mutex => Term::Mutex,
        Theirs::Overhead => Term::Overhead,
        Theirs::Saturation if memory => Term::Bandwidth,
        Theirs::Saturation | Theirs::Oversubscription => Term::Growth,
        Theirs::Serial
        | Theirs::SerialInRegion
        | Theirs::Ordered
        | Theirs::Io
        | Theirs::Communication
        | Theirs::Blocked => Term::Serial,
    }
}
