//! Sentences on all ranks.

use crate::units::{self, duration, percent, plural};
use crate::view::words;
use fathomp_analysis::Ranks;
use fathomp_diagnosis::diagnose_ranks;

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

/// What ranks lose to whom, the dearest first: a sentence each.
pub(crate) fn causes(all: &Ranks) -> impl Iterator<Item = String> {
    diagnose_ranks(all)
        .into_iter()
        .map(|cause| cause.sentence())
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
