//! Into how many pieces the work of a region comes: iterations, chunks, sections
//! or tasks, as the runtime was asked for them, and how many members of its teams
//! found any work.
//!
//! Fewer pieces than threads leave threads without work, and a few more leave some
//! with twice as much as others.

use crate::facts::{PieceKind, Pieces, Work};
use crate::time_accounting::TimeAccount;
use fathomp_trace::record::{LoopKind, Record};
use fathomp_trace::state::State;
use fathomp_types::InstanceId;
use std::collections::{BTreeMap, HashMap};

/// More pieces than this limit nobody.
const MANY: u64 = 1024;
/// Less than this part of the busiest member's work is no work,
const NO_WORK: f64 = 0.02;
/// and at least this part is a piece. In between, pieces are not what divides it.
const A_PIECE: f64 = 0.3;
/// Executions whose busiest member works less than this are too short to say which
/// had work.
const LONG_NS: f64 = 500_000.0;
/// Loops must hold this part of a region's work before their pieces bound it.
const LOOP_SHARE_MIN: f64 = 0.8;
/// Threads among which so many pieces each were handed out could all have had some.
const PLENTY: u64 = 8;
/// A task more or less is worth this much of the mean, in a region whose work is in its tasks.
const ALIKE: f64 = 0.5;

/// Longer than equal pieces by this factor is a piece of unlike work: what a machine does by the way
/// makes one of equal pieces a third longer now and then.
const UNLIKE: f64 = 1.5;

/// Loops, sections or tasks of as many pieces.
#[derive(Default)]
struct Loops {
    /// Thread time in them; of tasks, in all of their executions.
    ns: f64,
    /// How many there were.
    times: u64,
    /// Time in the longest piece of each, at least, summed; of those in which that is known.
    longest_ns: f64,
}

/// What all executions of a region say.
#[derive(Default)]
struct Sum {
    /// Loops of so many pieces.
    loops: BTreeMap<(PieceKind, u64), Loops>,
    in_loops_ns: f64,
    /// Executions by tasks run, with the work of all threads.
    tasks: BTreeMap<u64, Loops>,
    /// The number of tasks does not tell how work was shared.
    uneven_tasks: bool,
    work_ns: f64,
    /// Of the largest team: its size, the most members that had work, executions.
    working: (u32, u32, u64),
}

/// Work by entry of the site table.
pub(crate) fn find(account: &TimeAccount<'_>) -> HashMap<usize, Work> {
    let mut sums: HashMap<usize, Sum> = HashMap::new();
    add_teams(&mut sums, account);
    add_loops(&mut sums, account);
    sums.into_iter()
        .map(|(region, sum)| (region, sum.finish()))
        .collect()
}

fn add_teams(sums: &mut HashMap<usize, Sum>, account: &TimeAccount<'_>) {
    let nanos = account.process.clock.nanos_per_tick;
    for part in account.parts.iter().filter(|part| part.merged()) {
        let sum = sums.entry(part.region).or_default();
        sum.work_ns += part.states[State::Compute].0 as f64 * nanos;
    }
    for team in &account.teams {
        let sum = sums.entry(team.region).or_default();
        let members: Vec<(f64, u64)> = team
            .members
            .iter()
            .map(|&member| {
                let part = &account.parts[member];
                let work = (part.states[State::Compute] + part.nested).0 as f64 * nanos;
                // Those that are not deferred are part of what their creator does.
                let record = &part.record;
                let tasks = record.tasks_run.saturating_sub(record.tasks_undeferred);
                (work, tasks)
            })
            .collect();
        let all: f64 = members.iter().map(|(work, _)| work).sum();
        sum.work_ns += all;
        if !team.whole {
            continue;
        }
        let tasks = members
            .iter()
            .fold(0_u64, |tasks, (_, run)| tasks.saturating_add(*run));
        let seen = sum.tasks.entry(tasks).or_default();
        seen.times += 1;
        seen.ns += all;
        let timed = team
            .members
            .iter()
            .map(|&member| account.parts[member].record.longest_task.0);
        seen.longest_ns += timed.max().unwrap_or(0) as f64 * nanos;
        let each = all / tasks.max(1) as f64;
        let bound = ALIKE * each.max(all / members.len() as f64);
        let uneven = |(work, run): &(f64, u64)| (work - *run as f64 * each).abs() > bound;
        sum.uneven_tasks |= tasks > 0 && members.iter().any(uneven);
        let longest = members.iter().map(|(work, _)| *work).fold(0.0, f64::max);
        if longest < LONG_NS {
            continue;
        }
        let at_least = |part: f64| {
            let some = members.iter().filter(|(work, _)| *work >= part * longest);
            some.count() as u32
        };
        // Where pieces are asked for one by one and are many, a thread with none came late.
        let asked = team.members.iter().fold(tasks, |sum, &member| {
            sum.saturating_add(account.parts[member].record.chunks)
        });
        let many = asked >= PLENTY * u64::from(team.size);
        let working = match at_least(A_PIECE) {
            // One that works alone is serial code.
            some if some > 1 && some == at_least(NO_WORK) && !many => some,
            _ => team.size,
        };
        let best = &mut sum.working;
        match team.size.cmp(&best.0) {
            std::cmp::Ordering::Greater => *best = (team.size, working, 1),
            std::cmp::Ordering::Equal => {
                (best.1, best.2) = (best.1.max(working), best.2 + 1);
            }
            std::cmp::Ordering::Less => {}
        }
    }
}

/// Loops whose shares were recorded one by one.
fn add_loops(sums: &mut HashMap<usize, Sum>, account: &TimeAccount<'_>) {
    #[derive(Default)]
    struct One {
        pieces: u64,
        ns: f64,
        /// Time in the longest piece, at least.
        longest_ns: f64,
        /// Times the thread with most of them ran a share: more than one loop.
        shares: BTreeMap<usize, u64>,
    }
    let region_of: HashMap<InstanceId, usize> = account
        .parts
        .iter()
        .map(|part| (part.record.instance, part.region))
        .collect();
    let mut loops: HashMap<(InstanceId, fathomp_types::SiteId, LoopKind), One> = HashMap::new();
    let nanos = account.process.clock.nanos_per_tick;
    for (thread, stream) in account.process.threads.iter().enumerate() {
        for record in &stream.records {
            let Record::Loop(share) = record else {
                continue;
            };
            let one = loops
                .entry((share.instance, share.site, share.kind))
                .or_default();
            let pieces = match share.kind {
                // Chunks get smaller until each is one iteration.
                LoopKind::Guided | LoopKind::Static => share.iterations,
                LoopKind::Dynamic | LoopKind::Sections | LoopKind::Taskloop => share.chunks,
                // How much there was to divide is not known.
                LoopKind::Untold => continue,
            };
            one.pieces = one.pieces.saturating_add(pieces);
            let ns = share.end.since(share.begin).0 as f64 * nanos;
            one.ns += ns;
            // Chunks of guided loops are no pieces, and are not timed one by one.
            if pieces > 0 && share.kind != LoopKind::Guided {
                let timed = share.longest.0 as f64 * nanos;
                one.longest_ns = one.longest_ns.max(ns / pieces as f64).max(timed);
            }
            *one.shares.entry(thread).or_default() += 1;
        }
    }
    for ((instance, _, kind), one) in loops {
        let Some(&region) = region_of.get(&instance) else {
            continue;
        };
        let times = one.shares.values().copied().max().unwrap_or(1).max(1);
        let pieces = one.pieces.div_ceil(times).max(1);
        let kind = match kind {
            LoopKind::Sections => PieceKind::Sections,
            LoopKind::Guided | LoopKind::Static => PieceKind::Iterations,
            LoopKind::Dynamic | LoopKind::Taskloop | LoopKind::Untold => PieceKind::Chunks,
        };
        let sum = sums.entry(region).or_default();
        sum.in_loops_ns += one.ns;
        let seen = sum.loops.entry((kind, pieces.min(MANY))).or_default();
        seen.ns += one.ns;
        seen.times = seen.times.saturating_add(times);
        // Of several loops in one execution it is not known which had the longest.
        if times == 1 {
            seen.longest_ns += one.longest_ns;
        }
    }
}

/// The part of the work in the longest piece, if that is more than what equal ones have.
fn longer(all: &Loops, pieces: u64) -> Option<f64> {
    let part = (all.longest_ns / all.ns.max(1.0)).min(1.0);
    (part > UNLIKE / pieces.max(1) as f64 && pieces > 1).then_some(part)
}

impl Sum {
    fn finish(self) -> Work {
        let mut pieces: Vec<Pieces> = Vec::new();
        let work_ns = self.work_ns.max(1.0);
        if self.in_loops_ns >= LOOP_SHARE_MIN * work_ns {
            pieces.extend(self.loops.iter().map(|(&(kind, pieces), loops)| Pieces {
                kind,
                pieces,
                times: loops.times,
                share: (loops.ns / self.in_loops_ns).min(1.0),
                longest: longer(loops, pieces),
            }));
        } else if self.loops.is_empty() {
            let some = self.tasks.iter().filter(|(tasks, _)| **tasks > 0);
            let all = some.map(|(&tasks, one)| Pieces {
                kind: PieceKind::Tasks,
                pieces: tasks.min(MANY),
                times: one.times,
                share: (one.ns / work_ns).min(1.0),
                longest: longer(one, tasks),
            });
            // Of unlike ones only the longest bounds how many threads help.
            pieces.extend(all.filter(|one| !self.uneven_tasks || one.longest.is_some()));
        }
        pieces.retain(|one| one.pieces < MANY && one.share > 0.0);
        let (team, working, executions) = self.working;
        Work {
            pieces,
            team,
            working,
            executions,
        }
    }
}
