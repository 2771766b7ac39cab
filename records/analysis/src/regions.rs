//! Regions: the accounts of all processes added up by place in the source.

use crate::counters;
use crate::critical;
use crate::efficiency::Share;
use crate::facts::{
    Confidence, Counts, Decided, Dsm, Efficiency, Region, RegionDsm, ThreadRow, ThreadShare, Times,
    Unevenness, Work,
};
use crate::phases;
use crate::sites::Sites;
use crate::spans::{covered, overlapping, spread};
use crate::sums::{relative, to_times};
use crate::time_accounting::pieces;
use crate::time_accounting::{Part, Team, TimeAccount, WakeupDelay, member_times};
use crate::waits;
use crate::work;
use crate::work_counts::WorkCounts;
use fathomp_trace::dsm::DsmCounts;
use fathomp_trace::model::Process;
use fathomp_trace::record::Decider;
use fathomp_trace::state::{PerState, State};
use fathomp_types::{Clock, InstanceId, Ticks};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Sums of one region.
#[derive(Default)]
struct Sum {
    threads: BTreeMap<(usize, usize), ThreadSum>,
    /// Time by process and OpenMP thread number.
    places: BTreeMap<(usize, u32), Share>,
    /// Lengths of executions: sum of so many.
    lengths: Vec<(u64, u64)>,
    /// Outermost executions alone.
    outermost_ns: u64,
    /// Encountering threads and when they were at it.
    spans: Vec<(u64, u64, (usize, usize))>,
    encountering: BTreeSet<(usize, usize)>,
    parents: BTreeSet<usize>,
    inclusive: Times,
    imbalance_ns: f64,
    uneven: UnevenSum,
    /// In nanoseconds.
    lag: WakeupDelay,
    work: Work,
    level: Option<u32>,
    team_size: Option<(u32, u32)>,
    deciders: BTreeMap<Decider, Decided>,
    waits: BTreeMap<State, u64>,
    mutexes_taken: u64,
    merged: bool,
    incomplete: bool,
    total_ns: f64,
    /// Along the critical path.
    dsm: Dsm,
    /// From barrier to barrier, by process and thread.
    phases: Vec<phases::Shares>,
    wait_causes: waits::Known,
}

/// What [`Unevenness`] is made of.
#[derive(Default)]
struct UnevenSum {
    executions: u64,
    team_size: u32,
    longest: f64,
    excess: f64,
    excess_squares: f64,
    rest: f64,
    /// Excess by the number of the thread that computed longest.
    by_number: BTreeMap<u32, f64>,
}

impl UnevenSum {
    fn add(&mut self, team: &Team, nanos_per_tick: f64) {
        if team.size < 2 || !team.whole {
            return;
        }
        let excess = team.imbalance * nanos_per_tick;
        self.executions += 1;
        self.team_size = self.team_size.max(team.size);
        self.longest += team.longest * nanos_per_tick;
        self.excess += excess;
        self.excess_squares += excess * excess;
        self.rest += team.rest * nanos_per_tick;
        *self.by_number.entry(team.longest_num).or_default() += excess;
    }

    fn finish(&self) -> Unevenness {
        let n = self.executions.max(1) as f64;
        let mean = self.excess / n;
        Unevenness {
            executions: self.executions,
            team_size: self.team_size,
            longest_ns: self.longest,
            excess_ns: self.excess,
            excess_sd_ns: (self.excess_squares / n - mean * mean).max(0.0).sqrt(),
            first_ns: self.by_number.get(&0).copied().unwrap_or(0.0),
            most_ns: self.by_number.values().copied().fold(0.0, f64::max),
            rest_ns: self.rest,
        }
    }
}

/// Sums of one thread in one region.
#[derive(Default)]
struct ThreadSum {
    states: PerState<Ticks>,
    instances: u64,
    thread_num: Option<Option<u32>>,
    /// Executions by floating-point environment.
    floats: BTreeMap<u8, u64>,
    work: WorkCounts,
    counts: Counts,
    dsm: DsmCounts,
}

/// Regions and threads of a recording.
pub(crate) struct Rows {
    /// Serial part first, then by decreasing time.
    pub(crate) regions: Vec<Region>,
    /// Index into `regions` by entry of the site table.
    pub(crate) position: Vec<Option<usize>>,
    /// Threads by process and number.
    pub(crate) threads: Vec<ThreadRow>,
}

/// Adds up `accounts`; `offsets_ns` shifts each process to common time, and
/// `wall_ns` is what shares refer to.
pub(crate) fn add_up(
    accounts: &[TimeAccount<'_>],
    sites: &Sites,
    offsets_ns: &[u64],
    wall_ns: u64,
) -> Rows {
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    sums.entry(0).or_default();
    let mut threads = Vec::new();
    for (process, account) in accounts.iter().enumerate() {
        let clock = &account.process.clock;
        add_parts(&mut sums, account, process);
        add_executions(&mut sums, account, process);
        add_inclusive(&mut sums, account, clock);
        for (region, work) in work::find(account) {
            let sum = sums.entry(region).or_default();
            // Of several processes the first that says something.
            if sum.work == Work::default() {
                sum.work = work;
            }
        }
        add_gaps(&mut sums, account, process);
        for (region, counts) in critical::critical(account) {
            sums.entry(region).or_default().dsm += &Dsm::new(&counts, clock);
        }
        for (region, phases) in phases::find(account, process, sites) {
            sums.entry(region).or_default().phases.extend(phases);
        }
        for (region, causes) in waits::Known::of_executions(account) {
            sums.entry(region).or_default().wait_causes.add(causes);
        }
        threads.extend(add_threads(
            &mut sums,
            account,
            sites,
            process,
            offsets_ns[process],
        ));
    }
    let mut regions: Vec<(usize, Region)> = sums
        .into_iter()
        .map(|(entry, sum)| (entry, finish(entry, sum, accounts, sites, wall_ns)))
        .collect();
    regions.sort_by(|(a_entry, a), (b_entry, b)| {
        (*a_entry != 0, std::cmp::Reverse(a.wall_ns), &a.key).cmp(&(
            *b_entry != 0,
            std::cmp::Reverse(b.wall_ns),
            &b.key,
        ))
    });
    let mut position = vec![None; sites.entries.len()];
    for (index, (entry, _)) in regions.iter().enumerate() {
        position[*entry] = Some(index);
    }
    Rows {
        regions: regions.into_iter().map(|(_, region)| region).collect(),
        position,
        threads,
    }
}

fn add_parts(sums: &mut BTreeMap<usize, Sum>, account: &TimeAccount<'_>, process: usize) {
    let clock = &account.process.clock;
    for part in &account.parts {
        let sum = sums.entry(part.region).or_default();
        let record = part.record;
        let level = record.level.max(1);
        sum.level = Some(sum.level.map_or(level, |old| old.min(level)));
        let size = record.team_size.max(1);
        sum.team_size = Some(
            sum.team_size
                .map_or((size, size), |(min, max)| (min.min(size), max.max(size))),
        );
        sum.merged |= part.merged();
        if part.encountered() {
            sum.encountering.insert((process, part.thread));
        }
        for state in State::ALL {
            let count = u64::from(record.waits[state]);
            if count > 0 {
                *sum.waits.entry(state).or_default() += count;
            }
        }
        sum.mutexes_taken = sum.mutexes_taken.saturating_add(record.mutexes);
        let place = sum.places.entry((process, record.thread_num)).or_default();
        place.useful += clock.span(part.states[State::Compute]).0 as f64;
        place.overhead += clock.span(part.states[State::Overhead]).0 as f64;
        sum.total_ns += clock.span(crate::time_accounting::total(&part.states)).0 as f64;

        let thread = sum.threads.entry((process, part.thread)).or_default();
        add_states(&mut thread.states, &part.states);
        thread.instances += part.executions();
        thread.thread_num = Some(match thread.thread_num {
            None => Some(record.thread_num),
            Some(old) => old.filter(|old| *old == record.thread_num),
        });
        *thread.floats.entry(record.floats).or_default() += part.executions();
        if record.decider != Decider::Untold {
            let decided = sum.deciders.entry(record.decider).or_default();
            decided.executions += part.executions();
            decided.wall_ns = decided.wall_ns.saturating_add(clock.span(part.length).0);
            decided.team_size_max = decided.team_size_max.max(size);
        }
        thread
            .work
            .add(&WorkCounts::of(record, clock.nanos_per_tick));
        thread.dsm += &record.dsm_counts();
    }
}

/// Executions: those recorded one by one, then sums of several.
fn add_executions(sums: &mut BTreeMap<usize, Sum>, account: &TimeAccount<'_>, process: usize) {
    let clock = &account.process.clock;
    for team in &account.teams {
        let Some(sum) = sums.get_mut(&team.region) else {
            continue;
        };
        sum.imbalance_ns += team.imbalance * clock.nanos_per_tick;
        sum.uneven.add(team, clock.nanos_per_tick);
        sum.lag.add(&team.lag, clock.nanos_per_tick);
        // Where records were merged, the rest of this team is in a sum.
        if team.encountering.is_none() && sum.merged {
            continue;
        }
        sum.incomplete |= !team.whole;
        let length = clock.span(team.to.since(team.from)).0;
        sum.lengths.push((length, 1));
        if team.level <= 1 {
            sum.outermost_ns = sum.outermost_ns.saturating_add(length);
        }
        if let Some(thread) = team.encountering {
            let (from, to) = (clock.at(team.from).0, clock.at(team.to).0);
            sum.spans.push((from, to, (process, thread)));
        }
    }
    let mut workers: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for part in account.parts.iter().filter(|part| part.merged()) {
        let length = clock.span(part.length).0;
        let executions = part.executions();
        if part.encountered() {
            if let Some(sum) = sums.get_mut(&part.region) {
                sum.lengths.push((length, executions));
                if part.record.level <= 1 {
                    sum.outermost_ns = sum.outermost_ns.saturating_add(length);
                }
            }
        } else {
            let seen = workers.entry((part.region, part.thread)).or_default();
            seen.0 = seen.0.saturating_add(executions);
            seen.1 = seen.1.saturating_add(length);
        }
    }
    add_merged_imbalance(sums, account);
    // No encountering thread left a record: the busiest worker stands for it.
    let mut busiest: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for ((region, _), seen) in workers {
        let best = busiest.entry(region).or_default();
        *best = (*best).max(seen);
    }
    for (region, (executions, length)) in busiest {
        if let Some(sum) = sums.get_mut(&region)
            && sum.lengths.is_empty()
        {
            sum.lengths.push((length, executions));
            sum.incomplete = true;
        }
    }
}

/// Of merged executions only sums per thread are known, so imbalance that
/// moves from thread to thread is not seen.
fn add_merged_imbalance(sums: &mut BTreeMap<usize, Sum>, account: &TimeAccount<'_>) {
    let mut places: BTreeMap<usize, BTreeMap<u32, PerState<f64>>> = BTreeMap::new();
    let mut sizes: BTreeMap<usize, u32> = BTreeMap::new();
    let clock = &account.process.clock;
    for part in account.parts.iter().filter(|part| part.merged()) {
        let region = places.entry(part.region).or_default();
        let place = region.entry(part.record.thread_num).or_default();
        let more = member_times(part);
        for state in State::ALL {
            place[state] += more[state] * clock.nanos_per_tick;
        }
        let size = sizes.entry(part.region).or_default();
        *size = (*size).max(part.record.team_size);
    }
    for (region, places) in places {
        let threads = f64::from(sizes[&region]).max(places.len() as f64);
        let work = || places.values().map(|times| times[State::Compute]);
        let longest = work().fold(0.0, f64::max);
        let mean = work().sum::<f64>() / threads.max(1.0);
        if let Some(sum) = sums.get_mut(&region) {
            sum.imbalance_ns += (longest - mean).max(0.0);
            let members: Vec<PerState<f64>> = places.into_values().collect();
            sum.lag.add(&WakeupDelay::of(&members, threads), 1.0);
        }
    }
}

/// Adds every part to the regions it is nested in, on whatever thread.
fn add_inclusive(sums: &mut BTreeMap<usize, Sum>, account: &TimeAccount<'_>, clock: &Clock) {
    let nested = account.parts.iter().any(|part| part.record.parent.0 != 0);
    let mut origin: HashMap<InstanceId, (usize, InstanceId)> = HashMap::new();
    if nested {
        for part in &account.parts {
            origin.insert(part.record.instance, (part.region, part.record.parent));
        }
    }
    let mut ancestors: Vec<usize> = Vec::new();
    for part in &account.parts {
        ancestors.clear();
        ancestors.push(part.region);
        let mut parent = part.record.parent;
        // Real programs nest a few levels deep; a damaged recording may claim
        // a circle.
        for depth in 0..64 {
            let Some(&(region, next)) = origin.get(&parent) else {
                break;
            };
            if depth == 0
                && let Some(sum) = sums.get_mut(&part.region)
            {
                sum.parents.insert(region);
            }
            if !ancestors.contains(&region) {
                ancestors.push(region);
            }
            parent = next;
        }
        let times = to_times(&part.states, clock);
        for region in &ancestors {
            if let Some(sum) = sums.get_mut(region) {
                sum.inclusive += &times;
            }
        }
    }
}

fn add_gaps(sums: &mut BTreeMap<usize, Sum>, account: &TimeAccount<'_>, process: usize) {
    let clock = &account.process.clock;
    let sum = sums.entry(0).or_default();
    for (index, gap) in account.gaps.iter().enumerate() {
        let life = &account.lives[index];
        let thread = sum.threads.entry((process, index)).or_default();
        add_states(&mut thread.states, &gap.states);
        thread.instances = gap.stretches.len() as u64;
        thread.work.add(&WorkCounts {
            tasks_created: gap.tasks_created,
            tasks_run: gap.tasks_run,
            ..WorkCounts::default()
        });
        thread.dsm += &gap.dsm;
        let times = to_times(&gap.states, clock);
        sum.inclusive += &times;
        sum.total_ns += times.total_ns() as f64;
        if !life.first {
            continue;
        }
        let merged = account.of_thread(index).iter().any(Part::merged);
        sum.merged |= merged;
        if merged {
            sum.lengths.push((clock.span(gap.length).0, 1));
        } else {
            let stretches = gap.stretches.iter();
            sum.lengths
                .extend(stretches.map(|(from, to)| (clock.span(to.since(*from)).0, 1)));
        }
    }
}

fn add_threads(
    sums: &mut BTreeMap<usize, Sum>,
    account: &TimeAccount<'_>,
    sites: &Sites,
    process: usize,
    offset_ns: u64,
) -> Vec<ThreadRow> {
    let clock = &account.process.clock;
    let mut rows = Vec::with_capacity(account.lives.len());
    for (index, stream) in account.process.threads.iter().enumerate() {
        let life = &account.lives[index];
        let pieces = pieces::cut(account, index);
        let counted = counters::attribute(account, index, &pieces, |reading| {
            sites.region(process, reading.site)
        });
        let mut counts = Counts::default();
        for (region, part) in counted {
            counts.add(&part);
            let sum = sums.entry(region).or_default();
            let thread = sum.threads.entry((process, index)).or_default();
            thread.counts.add(&part);
        }
        let mut states = account.gaps[index].states;
        let mut dsm = account.gaps[index].dsm;
        for part in account.of_thread(index) {
            add_states(&mut states, &part.states);
            dsm += &part.record.dsm_counts();
        }
        rows.push(ThreadRow {
            process,
            thread: stream.id.0,
            os_id: stream.os_id,
            encountering: life.encountering,
            begin_ns: relative(clock, account.begin, life.begin).saturating_add(offset_ns),
            end_ns: relative(clock, account.begin, life.end).saturating_add(offset_ns),
            states: to_times(&states, clock),
            counts,
            node: stream.node.0,
            dsm: in_cluster(account.process).then(|| Dsm::new(&dsm, clock)),
            dropped: stream.dropped,
        });
    }
    rows
}

/// Whether a process stands for the nodes of a cluster.
fn in_cluster(process: &Process) -> bool {
    process.cluster != 0
}

fn add_states(sum: &mut PerState<Ticks>, more: &PerState<Ticks>) {
    for state in State::ALL {
        sum[state] += more[state];
    }
}

fn finish(
    entry: usize,
    sum: Sum,
    accounts: &[TimeAccount<'_>],
    sites: &Sites,
    wall_ns: u64,
) -> Region {
    let spread = spread(&sum.lengths);
    let concurrent = overlapping(&sum.spans);
    let site = &sites.entries[entry];
    let mut states = Times::default();
    let mut counts = Counts::default();
    let mut shared: Option<RegionDsm> = None;
    let mut threads = Vec::with_capacity(sum.threads.len());
    let phases = phases::of_threads(&sum.phases, sum.threads.keys());
    let mut work = WorkCounts::default();
    for ((process, index), thread) in sum.threads {
        let source = &accounts[process].process;
        let times = to_times(&thread.states, &source.clock);
        states += &times;
        counts.add(&thread.counts);
        work.add(&thread.work);
        let node = source.threads[index].node.0;
        let own = in_cluster(source).then(|| Dsm::new(&thread.dsm, &source.clock));
        if let Some(own) = &own {
            let shared = shared.get_or_insert_default();
            shared.all += own;
            *shared.nodes.entry(node).or_default() += own;
        }
        threads.push(ThreadShare {
            process,
            thread: source.threads[index].id.0,
            thread_num: thread.thread_num.flatten(),
            instances: thread.instances,
            states: times,
            loops: thread.work.loops,
            chunks: thread.work.chunks,
            iterations: thread.work.iterations,
            tasks_created: thread.work.tasks_created,
            tasks_run: thread.work.tasks_run,
            counts: thread.counts,
            floats: thread
                .floats
                .into_iter()
                .max_by_key(|(_, executions)| *executions)
                .map_or(0, |(floats, _)| floats),
            node,
            dsm: own,
        });
    }
    if let Some(shared) = &mut shared {
        shared.critical = sum.dsm;
        shared.phases = phases;
    }
    let wait_causes = shared
        .as_ref()
        .and_then(|_| sum.wait_causes.finish(&sum.phases, &threads));
    let wall = spread.sum_ns;
    let covered = if concurrent && !sum.merged {
        covered(sum.spans.iter().map(|&(from, to, _)| (from, to)).collect())
    } else {
        wall
    };
    let efficiency = if entry == 0 {
        Efficiency::PERFECT
    } else {
        // Teams may differ in size: the mean, weighted by time.
        let mean_team = sum.total_ns / (wall as f64).max(1.0);
        Efficiency::new(sum.places.into_values(), mean_team, wall as f64)
    };
    let (team_size_min, team_size_max) = sum.team_size.unwrap_or((1, 1));
    Region {
        key: site.key.clone(),
        name: site.name.clone(),
        place: site.place.clone(),
        lines: site.lines.clone(),
        kind: site.kind,
        level: sum.level.unwrap_or(0),
        parents: sum
            .parents
            .iter()
            .map(|&parent| sites.entries[parent].key.clone())
            .collect(),
        instances: spread.count,
        team_size_min,
        team_size_max,
        deciders: sum.deciders,
        encountering_threads: if entry == 0 {
            accounts.len() as u32
        } else {
            sum.encountering.len() as u32
        },
        concurrent,
        wall_ns: wall,
        outermost_ns: sum.outermost_ns,
        share: (covered as f64 / (wall_ns as f64).max(1.0)).min(1.0),
        length: spread,
        states,
        inclusive: sum.inclusive,
        imbalance_ns: sum.imbalance_ns.round() as u64,
        waited_for: Times(PerState(sum.lag.waited_for.0.map(|ns| ns.round() as u64))),
        waited_together_ns: sum.lag.together.round() as u64,
        work: sum.work,
        unevenness: sum.uneven.finish(),
        efficiency,
        loops: work.loops,
        chunks: work.chunks,
        iterations: work.iterations,
        trips: None,
        unknown_iterations: None,
        tasks_created: work.tasks_created,
        tasks_run: work.tasks_run,
        tasks_undeferred: work.tasks_undeferred,
        tasks_dependent: work.tasks_dependent,
        single_wait_ns: work.single_wait_ns.round() as u64,
        mutexes_taken: sum.mutexes_taken,
        wait_counts: sum.waits,
        counts,
        dsm: shared,
        barrier_wait_causes: wait_causes,
        confidence: match (sum.merged, sum.incomplete) {
            (true, _) => Confidence::Merged,
            (false, true) => Confidence::Incomplete,
            (false, false) => Confidence::Complete,
        },
        threads,
    }
}
