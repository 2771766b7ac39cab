//! The whole analysis, step by step.

use crate::constructs;
use crate::costs::{self, EventCosts};
use crate::directive;
use crate::efficiency::Share;
use crate::enclosing;
use crate::facts::{
    Analysis, Counts, Dsm, Efficiency, ProcessRow, ProgramFacts, Region, SCHEMA, ThreadRow, Times,
    VERSION,
};
use crate::mpi;
use crate::oversubscription;
use crate::problems;
use crate::regions;
use crate::sites::Sites;
use crate::spans;
use crate::sums::{relative, saturating_sum};
use crate::symbols::Symbols;
use crate::time_accounting::{self, TimeAccount};
use crate::timeline::{self, TimelineBudget};
use crate::trips;
use fathomp_launch::openmp::{NUM_THREADS, first_of_list};
use fathomp_trace::model::{Pace, Recording, SiteKind};
use fathomp_trace::state::State;
use fathomp_types::Ending;
use std::collections::BTreeMap;

/// How to analyse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How much the timeline may hold.
    pub timeline: TimelineBudget,
    /// What recording costs, for the estimate of intrusion.
    pub event_costs: EventCosts,
}

/// Turns a recording into facts. Never fails: what is missing or doubtful is
/// said in [`Analysis::problems`].
#[must_use]
pub fn analyse(recording: &Recording, options: &Options) -> Analysis {
    let mut symbols = Symbols::of(recording);
    let sites = Sites::new(recording, &mut symbols);
    let accounts: Vec<TimeAccount<'_>> = recording
        .processes
        .iter()
        .enumerate()
        .map(|(index, process)| TimeAccount {
            ..time_accounting::keep(process, &sites, index)
        })
        .collect();
    let offsets = offsets_ns(&accounts);
    let wall_ns = wall_ns(recording, &accounts, &offsets);
    let mut rows = regions::add_up(&accounts, &sites, &offsets, wall_ns);
    enclosing::reach_over_inner(&mut rows.regions);
    trips::attach(&mut rows.regions, &rows.position, &accounts, recording);

    let mut states = Times::default();
    let mut counts = Counts::default();
    let mut dsm: Option<Dsm> = None;
    for thread in &rows.threads {
        states += &thread.states;
        counts.add(&thread.counts);
        if let Some(own) = &thread.dsm {
            *dsm.get_or_insert_default() += own;
        }
    }
    let threads = threads_had(&rows.threads, recording, wall_ns);
    let timeline = timeline::build(
        &accounts,
        &offsets,
        wall_ns,
        &rows.position,
        options.timeline,
    );
    let mut program = program(recording);
    program.sets_threads_at = sites.names_of(SiteKind::Threads);
    let intrusion = costs::intrusion(&rows.regions, &options.event_costs, states.total_ns())
        .with_foreign_recorders(&program.foreign_recorders, states.total_ns());
    let mut analysis = Analysis {
        schema: SCHEMA,
        version: VERSION,
        program,
        wall_ns,
        threads,
        team_size: team_size(&rows.regions),
        states,
        efficiency: whole_program(&rows.regions, &rows.threads, threads, wall_ns),
        parallel_time_fraction: parallel_time(&accounts, &offsets, wall_ns),
        parallel_work_fraction: parallel_work(&rows.regions, &states),
        counts,
        dsm,
        processes: processes(&accounts, &offsets),
        threads_seen: rows.threads,
        regions: rows.regions,
        loops: constructs::loops(&accounts, &sites),
        waits: constructs::waits(&accounts, &sites),
        mpi: mpi::calls(&accounts, &sites),
        crowds: oversubscription::find(&accounts, &offsets, &recording.meta, wall_ns),
        timeline,
        intrusion,
        problems: Vec::new(),
    };
    let directory = recording.meta.directory.clone();
    // A piece whose thread had no processor takes longer, and is none the longer for that.
    let processors = analysis.program.processors();
    for region in &mut analysis.regions {
        directive::resolve(region, &directory);
        if analysis.program.rehearsal || region.team_size_max > processors {
            for pieces in &mut region.work.pieces {
                pieces.longest = None;
            }
        }
    }
    analysis.problems = problems::find(recording, &analysis, &symbols);
    analysis.problems.extend(trips::problem(recording));
    analysis
}

impl Analysis {
    /// The serial part.
    #[must_use]
    pub fn serial(&self) -> Option<&Region> {
        self.regions.first()
    }

    /// The region with this key.
    #[must_use]
    pub fn region(&self, key: &str) -> Option<&Region> {
        self.regions.iter().find(|region| region.key == key)
    }

    /// An analysis of nothing, for tests of what is made of it.
    #[must_use]
    pub fn empty() -> Self {
        analyse(
            &Recording {
                meta: fathomp_trace::model::Meta::default(),
                processes: Vec::new(),
                regions: None,
                problems: Vec::new(),
            },
            &Options::default(),
        )
    }
}

/// See [`ProgramFacts::still_ns`].
fn still_ns(recording: &Recording) -> Option<u64> {
    /// Signs of life come more often than this, or the program is busy with one thing.
    const LEAST_NS: u64 = 2_000_000_000;
    let Some(Ending::Signalled(signal)) = recording.meta.outcome else {
        return None;
    };
    if !Ending::STOPPING.contains(&signal) {
        return None;
    }
    let still = recording.processes.iter().map(|process| {
        let threads = &process.threads;
        let end = threads.iter().map(|thread| thread.end).max()?;
        // What was open ended with the process, which is no sign of life.
        let records = threads.iter().flat_map(|thread| &thread.records);
        let signs = records.map(|record| match record.span() {
            (begin, until) if until >= end => begin,
            (_, until) => until,
        });
        Some(process.clock.span(end.since(signs.max()?)).0)
    });
    let still = still.flatten().min()?;
    (still >= LEAST_NS).then_some(still)
}

/// What shifts each process's time to the start of the first.
fn offsets_ns(accounts: &[TimeAccount<'_>]) -> Vec<u64> {
    let starts: Vec<u64> = accounts
        .iter()
        .map(|account| {
            let clock = &account.process.clock;
            let before_zero = clock.span(clock.zero.since(account.begin)).0;
            let after_zero = clock.at(account.begin).0;
            clock
                .zero_unix_ns
                .saturating_sub(before_zero)
                .saturating_add(after_zero)
        })
        .collect();
    let first = starts.iter().copied().min().unwrap_or(0);
    starts.into_iter().map(|start| start - first).collect()
}

fn wall_ns(recording: &Recording, accounts: &[TimeAccount<'_>], offsets: &[u64]) -> u64 {
    accounts
        .iter()
        .zip(offsets)
        .map(|(account, offset)| {
            relative(&account.process.clock, account.begin, account.end).saturating_add(*offset)
        })
        .max()
        .or(recording.meta.wall_ns)
        .unwrap_or(0)
}

fn team_size(regions: &[Region]) -> u32 {
    regions
        .iter()
        .filter(|region| region.level == 1)
        .map(|region| region.team_size_max)
        .max()
        .unwrap_or(1)
        .max(1)
}

/// Threads the program had: as many as it was given, or more if more lived at
/// the same time for a while. Helpers that flash by do not count, or everything
/// would be measured against them.
fn threads_had(threads: &[ThreadRow], recording: &Recording, wall_ns: u64) -> u32 {
    let mut edges: Vec<(u64, i64)> = threads
        .iter()
        .filter(|thread| thread.end_ns > thread.begin_ns)
        .flat_map(|thread| [(thread.begin_ns, 1), (thread.end_ns, -1)])
        .collect();
    edges.sort_unstable();
    // Time with exactly so many threads, by number.
    let mut lived: BTreeMap<i64, u64> = BTreeMap::new();
    let (mut alive, mut since) = (0, 0);
    for (at, edge) in edges {
        let time = lived.entry(alive).or_default();
        *time = time.saturating_add(at.saturating_sub(since));
        since = at;
        alive += edge;
    }
    let given = threads_given(recording);
    let awhile = if given.is_some() { wall_ns / 20 } else { 0 };
    let mut at_least = 0_u64;
    let mut most = 1;
    for (number, time) in lived.into_iter().rev() {
        at_least = at_least.saturating_add(time);
        if at_least > awhile {
            most = number;
            break;
        }
    }
    let most = u32::try_from(most).unwrap_or(1);
    most.max(given.unwrap_or(1)).max(1)
}

/// Threads the program was given: what the recorder was asked for, or what the
/// environment says.
fn threads_given(recording: &Recording) -> Option<u32> {
    let listed = || {
        let list = recording.meta.environment.get(NUM_THREADS)?;
        first_of_list(list)
    };
    let per_node = recording.meta.threads.filter(|n| *n > 0);
    let all = per_node.map(|threads| threads.saturating_mul(recording.meta.nodes.max(1)));
    all.or_else(listed)
}

fn whole_program(
    regions: &[Region],
    threads: &[ThreadRow],
    most_threads: u32,
    wall_ns: u64,
) -> Efficiency {
    let shares = threads.iter().map(|thread| Share {
        useful: thread.states[State::Compute] as f64,
        overhead: thread.states[State::Overhead] as f64,
    });
    let wall = wall_ns as f64;
    let all = f64::from(most_threads) * wall;
    let mut efficiency = Efficiency::new(shares, f64::from(most_threads), wall);
    if all > 0.0 {
        let lost = |region: &Region| {
            let total = region.states.total_ns() as f64;
            total - region.states.useful_ns() as f64
        };
        let inside: f64 = regions.iter().skip(1).map(lost).sum();
        efficiency.parallel_region = (1.0 - inside / all).clamp(0.0, 1.0);
        // Whatever else is lost is lost outside: idle threads, threads not
        // yet born, waits of the serial part.
        efficiency.serial_region =
            (1.0 + efficiency.parallel - efficiency.parallel_region).clamp(0.0, 1.0);
    }
    efficiency
}

/// Wall time with an outermost region running, as a fraction.
fn parallel_time(accounts: &[TimeAccount<'_>], offsets: &[u64], wall_ns: u64) -> f64 {
    let mut spans = Vec::new();
    let mut merged = 0.0;
    for (account, offset) in accounts.iter().zip(offsets) {
        let clock = &account.process.clock;
        let moment = |at| relative(clock, account.begin, at).saturating_add(*offset);
        let some_merged = account
            .parts
            .iter()
            .any(crate::time_accounting::Part::merged);
        for team in &account.teams {
            // Without its encountering thread's record it is in a sum.
            let elsewhere = some_merged && team.encountering.is_none();
            if team.level <= 1 && !elsewhere {
                spans.push((moment(team.from), moment(team.to)));
            }
        }
        for part in &account.parts {
            if part.merged() && part.encountered() && part.record.level <= 1 {
                merged += clock.span(part.length).0 as f64;
            }
        }
    }
    let covered = spans::covered(spans);
    ((covered as f64 + merged) / (wall_ns as f64).max(1.0)).min(1.0)
}

fn parallel_work(regions: &[Region], states: &Times) -> f64 {
    let inside = saturating_sum(regions.iter().skip(1).map(|r| r.states.useful_ns()));
    match states.useful_ns() {
        0 => 0.0,
        all => (inside as f64 / all as f64).min(1.0),
    }
}

fn processes(accounts: &[TimeAccount<'_>], offsets: &[u64]) -> Vec<ProcessRow> {
    accounts
        .iter()
        .zip(offsets)
        .map(|(account, offset)| {
            let process = account.process;
            let length = relative(&process.clock, account.begin, account.end);
            ProcessRow {
                node: process.node.0,
                pid: process.pid,
                executable: process.executable.to_string_lossy().into_owned(),
                runtime: process.runtime.clone(),
                begin_ns: *offset,
                end_ns: length.saturating_add(*offset),
                ended: process.end.is_some(),
                threads: process.threads.len() as u32,
                hardware_counters: process.hardware_counters,
            }
        })
        .collect()
}

fn program(recording: &Recording) -> ProgramFacts {
    let meta = &recording.meta;
    let path = match meta.command.first() {
        Some(command) => command.clone(),
        None => recording
            .processes
            .first()
            .map(|process| process.executable.to_string_lossy().into_owned())
            .unwrap_or_default(),
    };
    let mut runtimes: Vec<String> = recording
        .processes
        .iter()
        .map(|process| process.runtime.clone())
        .filter(|runtime| !runtime.is_empty())
        .collect();
    runtimes.sort();
    runtimes.dedup();
    ProgramFacts {
        command: meta.command.clone(),
        name: path.rsplit('/').next().unwrap_or(&path).to_owned(),
        directory: meta.directory.to_string_lossy().into_owned(),
        environment: meta.environment.clone(),
        machine: meta.machine.clone(),
        sets_threads_at: Vec::new(),
        still_ns: still_ns(recording),
        runtimes,
        foreign_recorders: crate::facts::foreign_recorders::all(recording),
        recorded_by: meta.fathomp.clone(),
        started_unix_ns: meta.started_unix_ns,
        threads_asked: threads_given(recording),
        nodes: meta.nodes,
        hosts: meta.hosts.clone(),
        sharing: meta.sharing,
        outcome: meta.outcome,
        output: meta.output.clone(),
        stack_overflow: recording
            .processes
            .iter()
            .find_map(|process| process.stack_overflow),
        // Files may say anything.
        others_used: meta.others_used.filter(|part| (0.0..=1.0).contains(part)),
        quota_processors: meta.quota_processors.filter(|quota| *quota > 0.0),
        throttled_ns: meta.throttled_ns,
        processor_ns: meta.processor_ns.filter(|ns| *ns > 0),
        pace: meta.pace.filter(Pace::is_sane),
        rehearsal: meta.rehearsal,
    }
}
