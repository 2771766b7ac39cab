//! Iterations of loops that threads divide among themselves without asking the runtime
//! (`schedule(static)`): what the program's code and the values that regions were begun with
//! say of them.

use crate::facts::{
    PieceKind, Pieces, Problem, Region, Severity, ThreadTrips, Trips, UnknownIterations, either,
};
use crate::sites::Sites;
use crate::symbols::Symbols;
use crate::time_accounting::TimeAccount;
use fathomp_regions::{
    Body, Callee, Divided, Expr, Facts, Reason, Regions, Sample, SampleEnvironment, Word,
};
use fathomp_trace::model::{Process, Recording};
use fathomp_trace::record::{Instance, Record, WordSet};
use fathomp_types::{InstanceId, SiteId, Ticks};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Threads of a team whose shares are told apart.
const THREADS_MAX: u32 = 1 << 12;
/// Pieces that leave threads without work.
const FEW: u64 = 64;

/// Larger numbers are no iterations of a loop: what was computed overflowed.
const ITERATIONS_MAX: u64 = 1 << 50;

/// What an execution's threads had to do.
#[derive(Clone, Debug, Default)]
struct Work {
    total: u64,
    /// By thread number; empty if only the total is known.
    shares: Vec<u64>,
}

/// What is known of the loops that threads divide by the code.
#[derive(Clone, Debug)]
enum Divide<'a> {
    /// There are none.
    Nothing,
    /// Of one of them it is not known, for this reason; none if its values are not.
    Unknown(Option<&'a Reason>),
    Known(Work),
}

/// A set of values, with the body that it is of.
struct Known<'a> {
    body: &'a Body,
    module: usize,
    sample: Sample,
    divided: BTreeMap<u32, Divide<'a>>,
}

/// The sets of a process by number, as far as the scan knows their bodies.
fn known<'a>(process: &Process, bodies: &Bodies<'a>) -> HashMap<u64, Known<'a>> {
    let found = process.sets.iter().filter_map(|set| {
        let site = process.sites.get(set.site.0 as usize)?;
        let (module, body) = bodies.find(&site.module, site.function)?;
        let known = Known {
            body,
            module,
            sample: sample(body, set),
            divided: BTreeMap::new(),
        };
        Some((set.set, known))
    });
    found.collect()
}

/// Loops of a body that threads divide without asking. What clang compiles asks the runtime for
/// its part of every loop, which counts iterations: they would be counted twice.
fn divided_by_code(body: &Body) -> &[Divided] {
    const ASKS: [&str; 2] = ["__kmpc_for_static_init", "__kmpc_dist_for_static_init"];
    let asks = |callee: &Callee| {
        let (Callee::Import(name) | Callee::Local(_, Some(name))) = callee else {
            return false;
        };
        ASKS.iter().any(|asks| name.starts_with(asks))
    };
    match body.calls.iter().any(|call| asks(&call.callee)) {
        true => &[],
        false => &body.divided,
    }
}

/// Bodies by address.
struct Bodies<'a> {
    regions: &'a Regions,
    by_address: HashMap<u64, Vec<(usize, &'a Body)>>,
}

impl<'a> Bodies<'a> {
    fn new(regions: &'a Regions) -> Self {
        let mut by_address: HashMap<u64, Vec<_>> = HashMap::new();
        for region in &regions.regions {
            if let (Some(module), Some(body)) = (region.module, &region.body) {
                by_address
                    .entry(body.address)
                    .or_default()
                    .push((module, body));
            }
        }
        Self {
            regions,
            by_address,
        }
    }

    /// The body of a function, by the module's path, or where that has another name by the
    /// name of its file.
    fn find(&self, module: &Path, function: u64) -> Option<(usize, &'a Body)> {
        let candidates = self.by_address.get(&function)?;
        let path = |index: usize| {
            self.regions
                .modules
                .get(index)
                .map(|one| Path::new(&one.path))
        };
        let same = |(index, _): &&(usize, &'a Body)| path(*index) == Some(module);
        let alike = |(index, _): &&(usize, &'a Body)| {
            path(*index).is_some_and(|path| path.file_name() == module.file_name())
        };
        let mut alone = candidates.iter().filter(alike);
        let by_name = alone.next().filter(|_| alone.next().is_none());
        candidates.iter().find(same).or(by_name).copied()
    }
}

fn sample(body: &Body, set: &WordSet) -> Sample {
    let words = body.words.iter().zip(&set.values);
    Sample {
        body: body.address,
        dry: set.dry.clone(),
        words: words
            .filter_map(|(load, value)| {
                Some(Word {
                    load: load.clone(),
                    value: (*value)?,
                })
            })
            .collect(),
        ..Sample::default()
    }
}

impl<'a> Known<'a> {
    fn divided(&mut self, threads: u32) -> &Divide<'a> {
        let threads = threads.max(1);
        let (body, sample) = (self.body, &self.sample);
        let divide = || divide(divided_by_code(body), sample, threads);
        self.divided.entry(threads).or_insert_with(divide)
    }
}

fn divide<'a>(loops: &'a [Divided], sample: &Sample, threads: u32) -> Divide<'a> {
    if loops.is_empty() {
        return Divide::Nothing;
    }
    let value = |expr: &Expr| {
        let environment = SampleEnvironment {
            sample,
            threads,
            thread: 0,
            iterations: &[],
        };
        let value = expr.evaluate(&environment).ok();
        let value = value.and_then(|value| u64::try_from(value).ok());
        value.filter(|value| *value < ITERATIONS_MAX)
    };
    let mut work = Work::default();
    let mut shares = (threads <= THREADS_MAX).then(|| vec![0_u64; threads as usize]);
    for divided in loops {
        let Some(total) = divided.total.known().and_then(value) else {
            return Divide::Unknown(divided.total.reason());
        };
        work.total = work.total.saturating_add(total);
        let each = divided.each.as_ref().and_then(value);
        let chunk = divided.chunk.as_ref().map(value);
        // Once for each time that the loop is come to.
        let times = match (total, each) {
            (0, _) => Some(0),
            (_, Some(each @ 1..)) => Some(total / each),
            _ => None,
        };
        shares = shares
            .filter(|_| chunk != Some(None))
            .and_then(|mut shares| {
                let (times, each) = (times?, each.unwrap_or(0));
                for (thread, sum) in (0..).zip(&mut shares) {
                    let share = fathomp_trips::share(each, chunk.flatten(), threads, thread);
                    *sum = sum.saturating_add(share.saturating_mul(times));
                }
                Some(shares)
            });
    }
    work.shares = shares.unwrap_or_default();
    Divide::Known(work)
}

/// Gives regions the iterations of their executions; `position` is their index by the
/// accounts' numbers.
pub(crate) fn attach(
    regions: &mut [Region],
    position: &[Option<usize>],
    accounts: &[TimeAccount<'_>],
    recording: &Recording,
) {
    let Some(scan) = &recording.regions else {
        return;
    };
    let bodies = Bodies::new(scan);
    let mut sums: BTreeMap<usize, Sum<'_>> = BTreeMap::new();
    for (process, account) in accounts.iter().enumerate() {
        let mut sets = known(account.process, &bodies);
        for part in account.parts.iter().filter(|part| part.encountered()) {
            let Some(region) = position.get(part.region).copied().flatten() else {
                continue;
            };
            let times = part.executions();
            let divide = match sets.get_mut(&part.record.set) {
                Some(known) => known.divided(part.record.team_size),
                None => not_followed(account.process, part.record.site, &bodies),
            };
            match divide {
                Divide::Nothing => {}
                Divide::Unknown(why) => {
                    let sum = sums.entry(region).or_default();
                    sum.unknown.get_or_insert((0, *why)).0 += times;
                }
                Divide::Known(work) => {
                    let sum = sums.entry(region).or_default();
                    sum.add(work, times);
                    sum.sets.insert((process, part.record.set));
                }
            }
        }
    }
    for (region, sum) in sums {
        if let Some(region) = regions.get_mut(region) {
            (region.trips, region.unknown_iterations) = sum.finish();
            // A team finds no more work than one execution has.
            let few = region.recursive_pieces().filter(|most| *most <= FEW);
            if let Some(pieces) = few.filter(|_| region.work.pieces.is_empty()) {
                region.work.pieces.push(Pieces {
                    kind: PieceKind::Iterations,
                    pieces,
                    times: region.instances,
                    share: 1.0,
                    longest: None,
                });
            }
        }
    }
}

/// Of a region.
#[derive(Default)]
struct Sum<'a> {
    trips: Trips,
    /// By process and number.
    sets: BTreeSet<(usize, u64)>,
    threads: BTreeMap<u32, u64>,
    /// Executions of which it is not known, and why of the first.
    unknown: Option<(u64, Option<&'a Reason>)>,
}

impl Sum<'_> {
    fn add(&mut self, work: &Work, times: u64) {
        let trips = &mut self.trips;
        trips.fewest = match trips.executions {
            0 => work.total,
            _ => trips.fewest.min(work.total),
        };
        trips.most = trips.most.max(work.total);
        trips.executions += times;
        let all = work.total.saturating_mul(times);
        trips.iterations = trips.iterations.saturating_add(all);
        for (number, share) in (0..).zip(&work.shares) {
            let sum = self.threads.entry(number).or_default();
            *sum = sum.saturating_add(share.saturating_mul(times));
        }
    }

    fn finish(self) -> (Option<Trips>, Option<UnknownIterations>) {
        let mut trips = self.trips;
        trips.sets = self.sets.len() as u64;
        let sum = self.threads.values();
        let sum = sum.fold(0_u64, |sum, share| sum.saturating_add(*share));
        // Shares of some executions alone would mislead.
        if sum == trips.iterations {
            let one = |(thread_num, iterations)| ThreadTrips {
                thread_num,
                iterations,
            };
            trips.threads = self.threads.into_iter().map(one).collect();
        }
        let unknown = self.unknown.map(|(executions, why)| UnknownIterations {
            executions,
            reason: match why {
                Some(reason) if !reason.detail.is_empty() => reason.detail.clone(),
                Some(_) => "an expression that grew too large".to_owned(),
                None => "what they depend on is not known".to_owned(),
            },
        });
        ((trips.executions > 0).then_some(trips), unknown)
    }
}

/// Of an execution whose values were not noted.
fn not_followed<'a>(process: &Process, site: SiteId, bodies: &Bodies<'a>) -> &'a Divide<'a> {
    let site = process.sites.get(site.0 as usize);
    let body = site.and_then(|site| bodies.find(&site.module, site.function));
    match body {
        Some((_, body)) if !divided_by_code(body).is_empty() => &Divide::Unknown(None),
        _ => &Divide::Nothing,
    }
}

/// What to say if regions that were scanned were begun, and nothing is known of any.
pub(crate) fn problem(recording: &Recording) -> Option<Problem> {
    // They are not read where a runtime is watched from outside, and the recording says so.
    if recording
        .processes
        .iter()
        .any(|process| process.foreign_recorder.is_some())
    {
        return None;
    }
    let bodies = Bodies::new(recording.regions.as_ref()?);
    let instances = |process: &Process, wanted: &dyn Fn(&Instance) -> bool| {
        let mut records = process.threads.iter().flat_map(|thread| &thread.records);
        records.any(|record| matches!(record, Record::Instance(one) if wanted(one)))
    };
    let planned = |process: &Process| {
        let planned: Vec<bool> = process
            .sites
            .iter()
            .map(|site| {
                let body = bodies.find(&site.module, site.function);
                body.is_some_and(|(_, body)| fathomp_trips::compile(body).is_some())
            })
            .collect();
        instances(process, &|one| {
            planned.get(one.site.0 as usize) == Some(&true)
        })
    };
    let processes = &recording.processes;
    let known = |process: &Process| instances(process, &|one| one.set != 0);
    (processes.iter().any(planned) && !processes.iter().any(known)).then(|| Problem {
        severity: Severity::Note,
        sentence: "Iterations of static loops are unknown: the code that ran is not the code that was scanned, as when a program is built anew meanwhile, or what they depend on could not be read.".to_owned(),
    })
}

/// An execution of a region, or several that were summed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Execution {
    /// The region's name, as in tables.
    pub region: String,
    /// Operating-system process number.
    pub pid: u32,
    /// Executions, 1 unless they were summed.
    pub executions: u64,
    /// Threads of the team.
    pub threads: u32,
    /// Iterations of worksharing loops, all threads together, both those that the runtime
    /// dealt and those that threads divided by the code; none if none are known.
    pub iterations: Option<u64>,
    /// When the threads were asked for, from the process's begin.
    pub begin_ns: u64,
    /// From the fork to the join, of several together.
    pub wall_ns: u64,
}

/// The executions of a recording's regions, process by process in the order of their begin.
#[must_use]
pub fn executions(recording: &Recording) -> Vec<Execution> {
    let sites = Sites::new(recording, &mut Symbols::of(recording));
    let nothing = Regions::default();
    let scan = recording.regions.as_ref().unwrap_or(&nothing);
    let bodies = Bodies::new(scan);
    let mut found = Vec::new();
    for (number, process) in recording.processes.iter().enumerate() {
        let mut sets = known(process, &bodies);
        let records = || process.threads.iter().flat_map(|thread| &thread.records);
        let mut dealt: HashMap<InstanceId, u64> = HashMap::new();
        for record in records() {
            if let Record::Instance(one) = record
                && one.iterations != 0
                && one.merged <= 1
            {
                *dealt.entry(one.instance).or_default() += one.iterations;
            }
        }
        let mut begun: Vec<&Instance> = records()
            .filter_map(|record| match record {
                Record::Instance(one) if one.site != SiteId::SERIAL && one.thread_num == 0 => {
                    Some(&**one)
                }
                _ => None,
            })
            .collect();
        begun.sort_by_key(|one| (one.fork, one.level));
        for one in begun {
            let threads = one.team_size.max(1);
            let executions = u64::from(one.merged.max(1));
            let divide = match sets.get_mut(&one.set) {
                Some(known) => known.divided(threads),
                None => not_followed(process, one.site, &bodies),
            };
            let dealt = dealt.get(&one.instance).copied().unwrap_or(0);
            found.push(Execution {
                region: sites.entries[sites.region(number, one.site)].name.clone(),
                pid: process.pid,
                executions,
                threads,
                iterations: match divide {
                    Divide::Unknown(_) => None,
                    Divide::Nothing => either(dealt, None),
                    Divide::Known(work) => {
                        either(dealt, Some(work.total.saturating_mul(executions)))
                    }
                },
                begin_ns: process.clock.span(one.fork.since(process.begin)).0,
                wall_ns: wall_ns(process, one),
            });
        }
    }
    found
}

/// From the fork to the join.
fn wall_ns(process: &Process, instance: &Instance) -> u64 {
    let forking = match instance.merged {
        0 | 1 => instance.begin.since(instance.fork),
        // Only that of the first is known.
        _ => Ticks(0),
    };
    process.clock.span(instance.busy + forking).0
}

/// What a recording saw of the values that regions were begun with, module by module.
#[must_use]
pub fn facts(recording: &Recording) -> Vec<Facts> {
    let Some(scan) = &recording.regions else {
        return Vec::new();
    };
    let bodies = Bodies::new(scan);
    let mut samples: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    for process in &recording.processes {
        let sets = known(process, &bodies);
        // By set and size of the team.
        let mut seen: BTreeMap<(u64, u32), (u64, u64)> = BTreeMap::new();
        for record in process.threads.iter().flat_map(|thread| &thread.records) {
            let Record::Instance(instance) = record else {
                continue;
            };
            if instance.set == 0 || instance.thread_num != 0 {
                continue;
            }
            let (times, wall) = seen.entry((instance.set, instance.team_size)).or_default();
            *times += u64::from(instance.merged.max(1));
            *wall = wall.saturating_add(wall_ns(process, instance));
        }
        for ((set, threads), (times, wall)) in seen {
            let Some(known) = sets.get(&set) else {
                continue;
            };
            let of_module = samples.entry(known.module).or_default();
            // Processes number their sets by themselves.
            let same = of_module.iter_mut().find(|sample| {
                sample.body == known.body.address
                    && sample.threads == threads
                    && sample.words == known.sample.words
            });
            match same {
                Some(sample) => {
                    sample.times += times;
                    sample.wall_ns = sample.wall_ns.saturating_add(wall);
                }
                None => of_module.push(Sample {
                    times,
                    threads,
                    wall_ns: wall,
                    ..known.sample.clone()
                }),
            }
        }
    }
    let facts = samples.into_iter().filter_map(|(module, samples)| {
        let module = scan.modules.get(module)?;
        Some(Facts {
            module: module.path.clone(),
            build_id: module.build_id.clone(),
            samples,
        })
    });
    facts.collect()
}

#[cfg(test)]
mod tests;
