//! The executions of regions: what the encountering thread's record says about
//! the others.

use super::parts::Part;
use super::wakeup_delay::WakeupDelay;
use fathomp_trace::state::{PerState, State};
use fathomp_types::Ticks;
use std::collections::BTreeMap;

/// One execution of a region, recorded on its own.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    /// Region.
    pub(crate) region: usize,
    /// Indices of its members' parts.
    pub(crate) members: Vec<usize>,
    /// Thread that encountered it, if that thread's record is there.
    pub(crate) encountering: Option<usize>,
    /// Nesting level.
    pub(crate) level: u32,
    /// Threads it had.
    pub(crate) size: u32,
    /// When its threads were asked for.
    pub(crate) from: Ticks,
    /// When the encountering thread left it.
    pub(crate) to: Ticks,
    /// Longest minus mean application time of its threads.
    pub(crate) imbalance: f64,
    /// Longest application time of its threads.
    pub(crate) longest: f64,
    /// OpenMP number of the thread that has it.
    pub(crate) longest_num: u32,
    /// Longest minus mean of the other threads.
    pub(crate) rest: f64,
    /// Every member left a record.
    pub(crate) whole: bool,
    /// What its members waited for, in ticks.
    pub(crate) lag: WakeupDelay,
}

/// Groups the parts that were recorded one by one into teams.
pub(crate) fn form(parts: &[Part<'_>]) -> Vec<Team> {
    let mut order: Vec<usize> = (0..parts.len())
        .filter(|&index| !parts[index].merged())
        .collect();
    let key = |index: usize| {
        let part = &parts[index];
        (part.record.instance, part.region)
    };
    order.sort_by_key(|&index| (key(index), parts[index].record.thread_num, index));
    order
        .chunk_by(|&a, &b| key(a) == key(b))
        .map(|members| team(parts, members))
        .collect()
}

fn team(parts: &[Part<'_>], members: &[usize]) -> Team {
    let first = &parts[members[0]];
    let encountering = first.encountered().then_some(members[0]);
    let size = members
        .iter()
        .map(|&member| parts[member].record.team_size)
        .max()
        .unwrap_or(1)
        .max(1);
    let asked = |part: &Part<'_>| match part.record.fork {
        Ticks(0) => part.begin(),
        fork => fork.min(part.begin()),
    };
    let (from, to) = match encountering {
        Some(member) => (asked(&parts[member]), parts[member].record.end),
        None => {
            let spans = members.iter().map(|&member| &parts[member]);
            (
                spans.clone().map(asked).min().unwrap_or_default(),
                spans.map(|part| part.record.end).max().unwrap_or_default(),
            )
        }
    };
    Team {
        region: first.region,
        members: members.to_vec(),
        encountering: encountering.map(|member| parts[member].thread),
        level: first.record.level,
        size,
        from,
        to,
        imbalance: 0.0,
        longest: 0.0,
        longest_num: 0,
        rest: 0.0,
        whole: encountering.is_some() && members.len() as u64 >= u64::from(size),
        lag: WakeupDelay::default(),
    }
}

/// Charges every member the whole execution.
pub(crate) fn span(teams: &[Team], parts: &mut [Part<'_>]) {
    for team in teams {
        for &member in &team.members {
            let part = &mut parts[member];
            part.from = team.from.min(part.begin());
            part.to = team.to.max(part.record.end);
        }
    }
}

/// Fills in what a member did not record of its charge: until it began,
/// overhead; after it arrived at the end, the implicit barrier.
pub(crate) fn complete(teams: &mut [Team], parts: &mut [Part<'_>]) {
    for team in teams {
        for &member in &team.members {
            let part = &mut parts[member];
            let before = part.begin().since(part.from);
            let after = part.to.since(part.record.end);
            part.states[State::Overhead] += before;
            part.states[State::ImplicitBarrier] += after;
            part.length = part.to.since(part.from);
        }
    }
}

/// The same for merged parts, where only sums are known: a worker spent as
/// long in each execution as the encountering thread did on average.
pub(crate) fn complete_merged(parts: &mut [Part<'_>]) {
    #[derive(Default)]
    struct Sum {
        busy: u128,
        executions: u128,
    }
    let mut encountering: BTreeMap<usize, Sum> = BTreeMap::new();
    let mut workers: BTreeMap<(usize, usize), Sum> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.merged()) {
        let sum = if part.encountered() {
            encountering.entry(part.region).or_default()
        } else {
            workers.entry((part.region, part.thread)).or_default()
        };
        sum.busy += u128::from(part.length.0);
        sum.executions += u128::from(part.executions());
    }
    for part in parts.iter_mut() {
        if !part.merged() || part.encountered() {
            continue;
        }
        let (Some(primary), Some(worker)) = (
            encountering.get(&part.region),
            workers.get(&(part.region, part.thread)),
        ) else {
            continue;
        };
        if primary.executions == 0 || worker.executions == 0 {
            continue;
        }
        // In 128 bits the products cannot overflow.
        let due = primary.busy * worker.executions / primary.executions;
        let missing = due.saturating_sub(worker.busy);
        let share = missing * u128::from(part.executions()) / worker.executions;
        let share = Ticks(u64::try_from(share).unwrap_or(0));
        part.states[State::ImplicitBarrier] += share;
        part.length += share;
    }
}

/// What a member did, nested regions counted as its application code.
pub(crate) fn times(part: &Part<'_>) -> PerState<f64> {
    let mut times = PerState(part.states.0.map(|ticks| ticks.0 as f64));
    times[State::Compute] += part.nested.0 as f64;
    times
}

/// Computes each team's imbalance and what its members waited for. Nested regions count as work of the thread
/// that encountered them.
pub(crate) fn weigh(teams: &mut [Team], parts: &[Part<'_>]) {
    for team in teams {
        let work = |&member: &usize| {
            let part = &parts[member];
            (part.states[State::Compute] + part.nested).0 as f64
        };
        let (mut longest, mut second) = (0.0, 0.0);
        for member in &team.members {
            let own = work(member);
            if own > longest {
                second = longest;
                longest = own;
                team.longest_num = parts[*member].record.thread_num;
            } else if own > second {
                second = own;
            }
        }
        let sum: f64 = team.members.iter().map(work).sum();
        let others = team.members.len().saturating_sub(1).max(1) as f64;
        team.longest = longest;
        team.rest = (second - (sum - longest) / others).max(0.0);
        let threads = f64::from(team.size).max(team.members.len() as f64);
        let mean = if team.whole {
            sum / threads
        } else {
            sum / team.members.len() as f64
        };
        team.imbalance = (longest - mean).max(0.0);
        let times: Vec<PerState<f64>> = team
            .members
            .iter()
            .map(|&member| times(&parts[member]))
            .collect();
        team.lag = WakeupDelay::of(&times, f64::from(team.size));
    }
}
