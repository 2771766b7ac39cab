//! Sentences on all ranks.

use crate::units::{self, duration, percent, plural};
use crate::view::words;
use fathomp_analysis::{Late, RankWait, Ranks, WaitKind};

/// A rank that others wait for is named if that takes this part of the run.
const WORTH: f64 = 0.03;

/// "4 ranks with 2 threads each".
pub(crate) fn headline(all: &Ranks) -> String {
    let threads = || all.ranks.iter().map(|one| one.threads);
    let each = match (threads().min(), threads().max()) {
        (Some(least), Some(most)) if least == most => {
            format!("{} each", plural(least.into(), "thread"))
        }
        (Some(least), Some(most)) => format!("{least} to {most} threads"),
        _ => "no threads".to_owned(),
    };
    let ranks = all.ranks.len() as u64;
    let started = ranks + all.missing.len() as u64;
    let of = (started > ranks).then(|| format!("{} of ", units::count(ranks)));
    format!(
        "{}{} with {each}",
        of.unwrap_or_default(),
        plural(started, "rank")
    )
}

/// Ranks of which no recording is there: a sentence.
pub(crate) fn missing(all: &Ranks) -> Option<String> {
    /// Numbers that are listed.
    const LISTED_MAX: usize = 8;
    let first = all.missing.first()?;
    let listed = all.missing.iter().take(LISTED_MAX);
    let listed: Vec<_> = listed.map(u32::to_string).collect();
    let more = match all.missing.len() > LISTED_MAX {
        true => ", ...",
        false => "",
    };
    Some(format!(
        "No recordings of {} are here (rank {}{more}): ranks record on the hosts where they run, so copy the directory rank.{first} and so on from there, or record into a directory that all hosts share; efficiencies are not told until then.",
        plural(all.missing.len() as u64, "rank"),
        listed.join(", ")
    ))
}

/// Threads that share processors, if some do: a sentence.
pub(crate) fn crowded(all: &Ranks) -> Option<String> {
    let crowd = all.crowd.as_ref()?;
    let processors = plural(crowd.processors.into(), "processor");
    Some(match crowd.rank {
        Some(rank) => format!(
            "Rank {rank} has {} and may use {processors}: let what starts ranks give each as many processors as it has threads (Open MPI: --bind-to none, or --map-by slot:pe={n}; Slurm: --cpus-per-task={n}).",
            plural(crowd.threads.into(), "thread"),
            n = crowd.threads
        ),
        None => format!(
            "All ranks on {} together have {}, and it has {processors}: start fewer ranks or give them fewer threads; until then all that waits for others waits for processors.",
            words::shorten(&crowd.host, 60),
            plural(crowd.threads.into(), "thread")
        ),
    })
}

/// A sentence that names the rank the others wait for, if the wait costs something and processors
/// do not explain it.
pub(crate) fn waited_for(all: &Ranks) -> Option<String> {
    let late: &Late = all.late.as_ref().filter(|_| all.crowd.is_none())?;
    let (waited, whole) = (late.waited_ns as f64, (all.wall_ns as f64).max(1.0));
    (waited >= WORTH * whole).then(|| {
        format!(
            "Rank {} comes last to {} of {} that need all ranks, and the others wait {} for it on the mean, {} of the run, most of that in {}: give it less work, or more threads.",
            late.rank,
            units::count(late.times),
            plural(late.of, "call"),
            duration(waited),
            percent(waited / whole),
            words::shorten(&late.place, 80)
        )
    })
}

/// What most of the other waits are for, if they cost something and processors do not explain it: a
/// sentence.
pub(crate) fn waits(all: &Ranks) -> Option<String> {
    let other = |one: &&RankWait| one.kind != WaitKind::LastRank;
    let dearest: &RankWait = all.waits.iter().find(other)?;
    let ranks = (all.ranks.len() as f64).max(1.0);
    let mean = dearest.waited_ns as f64 / ranks;
    let whole = (all.wall_ns as f64).max(1.0);
    if all.crowd.is_some() || mean < WORTH * whole {
        return None;
    }
    let (place, other) = (
        words::shorten(&dearest.place, 80),
        words::shorten(&dearest.other, 80),
    );
    let (what, action) = match dearest.kind {
        WaitKind::LateSender => (
            format!("wait in {place} for messages that {other} sends late"),
            "send earlier, or do other work before waiting",
        ),
        WaitKind::LateReceiver => (
            format!("wait in {place} until {other} is ready to receive"),
            "post the receive earlier, or send without blocking",
        ),
        WaitKind::LateRoot => (
            format!("wait in {place} for the root, which comes late"),
            "let the root come earlier, or give its work to others",
        ),
        WaitKind::EarlyRoot | WaitKind::LastRank => (
            format!("wait as the root in {place} for the last rank"),
            "give the last rank less work, or let the root do some meanwhile",
        ),
    };
    Some(format!(
        "Ranks {what}: {} in {} on the mean, {} of the run, longest rank {} for rank {}: {action}.",
        duration(mean),
        plural(dearest.count, "call"),
        percent(mean / whole),
        dearest.rank,
        dearest.for_rank
    ))
}

/// Clocks of several hosts, as far as they are known: a sentence.
pub(crate) fn clocks(all: &Ranks) -> Option<String> {
    if let Some(unknown) = all.clocks.iter().find(|one| one.error_ns.is_none()) {
        return Some(format!(
            "Clocks of {} cannot be compared with the first host's, since no calls of ranks there and here bound them: what these ranks wait for each other is not told.",
            words::shorten(&unknown.host, 60)
        ));
    }
    let worst = all.clocks.iter().filter_map(|one| one.error_ns);
    let worst = worst.fold(None, |most: Option<f64>, one| {
        Some(most.map_or(one, |most| most.max(one)))
    })?;
    Some(format!(
        "Clocks of {} were compared by messages and calls of all ranks, and may be wrong by {}.",
        plural(all.clocks.len() as u64 + 1, "host"),
        duration(worst)
    ))
}

/// Why waits are not known, if so: a sentence.
pub(crate) fn unknown(all: &Ranks) -> Option<String> {
    let why = all.unknown_waits.as_ref()?;
    Some(format!(
        "What ranks wait for each other is not known: {why}."
    ))
}

/// What ranks lose to whom, the dearest of each kind.
pub(crate) fn causes(all: &Ranks) -> impl Iterator<Item = String> {
    let causes = [crowded(all), waited_for(all), waits(all)];
    causes.into_iter().flatten()
}

/// What the summary says of all ranks, before it says what one does.
pub(crate) fn sentences(all: &Ranks, shown: u32) -> Vec<String> {
    let efficiency = all.efficiency.as_ref().map(|one| {
        format!(
            "; parallel efficiency {}: MPI {}, OpenMP inside ranks {}",
            percent(one.parallel),
            percent(one.mpi),
            percent(one.openmp)
        )
    });
    let mut sentences = vec![format!(
        "{} took {} between MPI_Init and MPI_Finalize{}. What follows is of rank {shown}, which is outside MPI longest.",
        headline(all),
        duration(all.wall_ns as f64),
        efficiency.unwrap_or_default()
    )];
    sentences.extend(missing(all));
    sentences.extend(causes(all));
    sentences.iter().map(|text| words::bound(text)).collect()
}
