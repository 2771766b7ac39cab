//! Iterations of loops that threads divide among themselves without asking the runtime
//! (`schedule(static)`): what the program's code and the values that regions were begun with
//! say of them.

use crate::facts::{PieceKind, Pieces, Problem, Region, Severity, ThreadTrips, Trips, either};
use crate::ledger::Ledger;
use crate::sites::Sites;
use crate::symbols::Symbols;
use fathomp_base::{InstanceId, SiteId, Ticks};
use fathomp_regions::{
    Body, Callee, Facts, Regions, Sample, SampleEnvironment, ScheduleKind, Word,
};
use fathomp_trace::model::{Process, Recording};
use fathomp_trace::record::{Instance, Record, WordSet};
use fathomp_trips::{SharedLoop, shared_loops};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Threads of a team whose shares are told apart.
const THREADS_MAX: u32 = 1 << 12;
/// Pieces that leave threads without work.
const FEW: u64 = 64;

/// What an execution's threads had to do.
#[derive(Clone, Debug, Default)]
struct Divided {
    total: u64,
    /// By thread number; empty if only the total is known.
    shares: Vec<u64>,
}

/// A set of values, with the body that it is of.
struct Known<'a> {
    body: &'a Body,
    module: usize,
    sample: Sample,
    loops: Vec<SharedLoop>,
    divided: BTreeMap<u32, Option<Divided>>,
}

/// The sets of a process by number, as far as the scan knows their bodies.
fn known<'a>(process: &Process, regions: &'a Regions) -> HashMap<u64, Known<'a>> {
    let bodies = Bodies::new(regions);
    let found = process.sets.iter().filter_map(|set| {
        let site = process.sites.get(set.site.0 as usize)?;
        let (module, body) = bodies.find(&site.module, site.function)?;
        let known = Known {
            body,
            module,
            sample: sample(body, set),
            loops: divided_by_code(body),
            divided: BTreeMap::new(),
        };
        Some((set.set, known))
    });
    found.collect()
}

/// Loops of a body that threads divide without asking. What clang compiles asks the runtime for
/// its part of every loop, which counts iterations: they would be counted twice, and in rounds
/// where such a loop is unrolled.
fn divided_by_code(body: &Body) -> Vec<SharedLoop> {
    const ASKS: [&str; 2] = ["__kmpc_for_static_init", "__kmpc_dist_for_static_init"];
    let asks = |callee: &Callee| {
        let (Callee::Import(name) | Callee::Local(_, Some(name))) = callee else {
            return false;
        };
        ASKS.iter().any(|asks| name.starts_with(asks))
    };
    if body.calls.iter().any(|call| asks(&call.callee)) {
        return Vec::new();
    }
    let mut loops = shared_loops(body);
    loops.retain(|shared| shared.kind == ScheduleKind::Static);
    loops
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

impl Known<'_> {
    fn divided(&mut self, threads: u32) -> Option<&Divided> {
        let threads = threads.max(1);
        if !self.divided.contains_key(&threads) {
            let divided = divide(&self.loops, &self.sample, threads);
            self.divided.insert(threads, divided);
        }
        self.divided.get(&threads)?.as_ref()
    }
}

/// `None` if there is no such loop, or not everything about one of them is known.
fn divide(loops: &[SharedLoop], sample: &Sample, threads: u32) -> Option<Divided> {
    let environment = |thread| SampleEnvironment {
        sample,
        threads,
        thread,
        iterations: &[],
    };
    let mut divided: Option<Divided> = None;
    for shared in loops {
        let said = shared.total.as_ref();
        let said = said.and_then(|total| total.evaluate(&environment(0)).ok());
        let total = match said {
            Some(total) => u64::try_from(total).ok()?,
            None => dry_iterations(sample, shared)?,
        };
        let share = |thread| {
            let share = shared.share.as_ref()?.evaluate(&environment(thread)).ok()?;
            u64::try_from(share).ok()
        };
        let shares: Option<Vec<u64>> = (threads <= THREADS_MAX)
            .then(|| (0..threads).map(share).collect())
            .flatten();
        let shares = shares.and_then(|shares| in_proportion(shares, total));
        match &mut divided {
            None => {
                divided = Some(Divided {
                    total,
                    shares: shares.unwrap_or_default(),
                });
            }
            Some(divided) => {
                divided.total = divided.total.saturating_add(total);
                match shares {
                    Some(shares) if shares.len() == divided.shares.len() => {
                        let pairs = divided.shares.iter_mut().zip(shares);
                        pairs.for_each(|(sum, more)| *sum = sum.saturating_add(more));
                    }
                    _ => divided.shares.clear(),
                }
            }
        }
    }
    divided
}

/// Iterations that a dry run found where no expression says them.
fn dry_iterations(sample: &Sample, shared: &SharedLoop) -> Option<u64> {
    let found = sample.dry.iter().find(|found| found.id == shared.id)?;
    // What is larger is no count.
    (found.iterations < 1e18).then(|| found.iterations.round() as u64)
}

/// Shares such that they add up to the total: they may be rounds of several iterations.
fn in_proportion(mut shares: Vec<u64>, total: u64) -> Option<Vec<u64>> {
    let sum: u128 = shares.iter().map(|share| u128::from(*share)).sum();
    if sum == u128::from(total) {
        return Some(shares);
    }
    if sum == 0 || sum > u128::from(total) {
        return None;
    }
    for share in &mut shares {
        *share = u64::try_from(u128::from(*share) * u128::from(total) / sum).ok()?;
    }
    Some(shares)
}

/// Gives regions the iterations of their executions; `position` is their index by the
/// ledgers' numbers.
pub(crate) fn attach(
    regions: &mut [Region],
    position: &[Option<usize>],
    ledgers: &[Ledger<'_>],
    recording: &Recording,
) {
    // With the sets, by process and number, and iterations by thread number.
    type Sum = (Trips, BTreeSet<(usize, u64)>, BTreeMap<u32, u64>);
    let Some(scan) = &recording.regions else {
        return;
    };
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    for (process, ledger) in ledgers.iter().enumerate() {
        let mut sets = known(ledger.process, scan);
        let begun = ledger.parts.iter().filter(|part| part.encountered());
        for part in begun.filter(|part| part.record.set != 0) {
            let Some(region) = position.get(part.region).copied().flatten() else {
                continue;
            };
            let set = part.record.set;
            let Some(divided) = sets
                .get_mut(&set)
                .and_then(|known| known.divided(part.record.team_size))
            else {
                continue;
            };
            let (trips, distinct, threads) = sums.entry(region).or_default();
            let times = part.executions();
            trips.fewest = match trips.executions {
                0 => divided.total,
                _ => trips.fewest.min(divided.total),
            };
            trips.most = trips.most.max(divided.total);
            trips.executions += times;
            let all = divided.total.saturating_mul(times);
            trips.iterations = trips.iterations.saturating_add(all);
            distinct.insert((process, set));
            for (number, share) in (0..).zip(&divided.shares) {
                let sum = threads.entry(number).or_default();
                *sum = sum.saturating_add(share.saturating_mul(times));
            }
        }
    }
    for (region, (mut trips, distinct, threads)) in sums {
        trips.sets = distinct.len() as u64;
        let sum = threads
            .values()
            .fold(0_u64, |sum, share| sum.saturating_add(*share));
        // Shares of some executions alone would mislead.
        if sum.abs_diff(trips.iterations) <= trips.iterations / 1000 {
            let one = |(thread_num, iterations)| ThreadTrips {
                thread_num,
                iterations,
            };
            trips.threads = threads.into_iter().map(one).collect();
        }
        if let Some(region) = regions.get_mut(region) {
            region.trips = Some(trips);
            // A team finds no more work than one execution has.
            let few = region.recursive_pieces().filter(|most| *most <= FEW);
            if let Some(pieces) = few.filter(|_| region.work.pieces.is_empty()) {
                region.work.pieces.push(Pieces {
                    kind: PieceKind::Iterations,
                    pieces,
                    times: region.instances,
                    share: 1.0,
                });
            }
        }
    }
}

/// What to say if regions that were scanned were begun, and nothing is known of any.
pub(crate) fn problem(recording: &Recording) -> Option<Problem> {
    // They are not read where a runtime is watched from outside, and the recording says so.
    if recording
        .processes
        .iter()
        .any(|process| process.witness.is_some())
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
    let sites = Sites::new(recording, &mut Symbols::new());
    let nothing = Regions::default();
    let scan = recording.regions.as_ref().unwrap_or(&nothing);
    let mut found = Vec::new();
    for (number, process) in recording.processes.iter().enumerate() {
        let mut sets = known(process, scan);
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
                    Some(one)
                }
                _ => None,
            })
            .collect();
        begun.sort_by_key(|one| (one.fork, one.level));
        for one in begun {
            let threads = one.team_size.max(1);
            let executions = u64::from(one.merged.max(1));
            let divided = sets
                .get_mut(&one.set)
                .and_then(|known| known.divided(threads));
            found.push(Execution {
                region: sites.entries[sites.region(number, one.site)].name.clone(),
                pid: process.pid,
                executions,
                threads,
                iterations: either(
                    dealt.get(&one.instance).copied().unwrap_or(0),
                    divided.map(|divided| divided.total.saturating_mul(executions)),
                ),
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
    let mut samples: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    for process in &recording.processes {
        let sets = known(process, scan);
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
