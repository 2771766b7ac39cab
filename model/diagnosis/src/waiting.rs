//! Why threads wait for each other at barriers and for tasks.
//!
//! The analysis says what the thread that was waited for did meanwhile. Where that is
//! computing, it had more work: because work came in few pieces, because one thread
//! works alone, because it took page faults, or simply more of it. Where executions
//! hold no more work than a team costs, none of that matters.

use crate::cause::{Basis, Cause, Kind};
use crate::constructs;
use crate::pace::Unlike;
use crate::region::Seen;
use crate::tasks;
use crate::waited::{FAULT_NS, Waited, too_short};
use fathomp_analysis::{PieceKind, Region, State, ThreadShare, serial_construct};
use fathomp_predict::{ImbalanceEvidence, for_single};
use fathomp_types::text;
use fathomp_types::units::{count, duration, percent, plural, ratio};

/// Waits for `single` constructs are a cause of their own from this part of all at barriers on.
const SINGLES: f64 = 0.2;

pub(crate) fn find(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    let waited = Waited::of(seen);
    // Where threads share processors, or stand in line for a construct, they are late
    // for that.
    let explained = seen.input.crowd().is_some()
        || seen.input.quota().is_some()
        || constructs::bound(seen).is_some();
    if explained {
        causes.extend(few_pieces(seen, &waited).map(|one| one.0));
        return;
    }
    match too_short(seen) {
        Some(Kind::ShortLoops) => causes.push(short_loops(seen, &waited)),
        Some(_) => causes.push(short_regions(seen, &waited)),
        None => {
            if let Some(cause) = tasks::dependent(seen, &waited) {
                causes.push(cause);
                return;
            }
            let (waited, single) = without_singles(seen, waited);
            causes.extend(single);
            let pieces = few_pieces(seen, &waited);
            let left = waited.computing - pieces.as_ref().map_or(0.0, |one| one.1);
            causes.extend(pieces.map(|one| one.0));
            // On nodes a thread that faults more often also spends more time that counts as
            // computing: uneven work is a cause of its own only if it costs more than all else
            // between them.
            let others = seen.mean(State::Communication)
                + waited.communication
                + waited.atomics
                + waited.mutex;
            let of_nodes = seen.region.barrier_wait_causes.is_some() && left < others;
            if left > 0.0 && seen.team > 1 && !of_nodes {
                causes.push(more_work(seen, left));
            }
            // Whoever comes first waits for threads that are started.
            let runtime = waited.runtime - seen.start_ns();
            if runtime > 0.0 {
                causes.push(barriers(seen, runtime));
            }
        }
    }
}

/// Takes what threads wait for `single` constructs out of what they wait for each other, if that is
/// worth a cause of its own.
fn without_singles(seen: &Seen<'_>, mut waited: Waited) -> (Waited, Option<Cause>) {
    let part = for_single(seen.region);
    let together = waited.computing + waited.runtime;
    let ns = (part * together).min(seen.each(seen.region.single_wait_ns as f64));
    if part < SINGLES || seen.team < 2 || ns <= 0.0 {
        return (waited, None);
    }
    let left = 1.0 - ns / together;
    waited.computing *= left;
    waited.runtime *= left;
    let place = seen.place();
    let cause = seen.cause(
        Kind::SerialInRegion,
        Basis::Times,
        ns,
        format!(
            "threads wait {} each at the end of its single constructs, whose blocks one of them runs",
            duration(ns)
        ),
        format!(
            "Shorten what the single constructs of {place} have one thread do, divide it among all, or let the others go on (nowait)."
        ),
    );
    (waited, Some(cause))
}

fn short_loops(seen: &Seen<'_>, waited: &Waited) -> Cause {
    let (executions, barriers) = (seen.executions(), seen.barriers());
    let work = seen.mean(State::Compute);
    let all = (executions * barriers).round() as u64;
    let place = seen.place();
    let lost = waited.computing + waited.runtime + seen.overhead();
    seen.cause(
        Kind::ShortLoops,
        Basis::Counts,
        lost,
        format!(
            "{} of loops or sections in {} of the region, with {} of work on each thread between two; a barrier takes {}{}",
            plural(all, "barrier"),
            plural(seen.region.instances, "execution"),
            duration(work / (executions * barriers)),
            duration(seen.prices.barrier_ns),
            dearer(seen.prices.barrier_ns, lost / (executions * barriers)),
        ),
        format!(
            "Give the loops inside {place} more work between two barriers: nowait where the next loop does not need the result, fused or blocked loops, or fewer threads."
        ),
    )
}

fn short_regions(seen: &Seen<'_>, waited: &Waited) -> Cause {
    let executions = seen.executions();
    let work = seen.mean(State::Compute) / executions;
    let place = seen.place();
    let lost = waited.computing + waited.runtime + seen.overhead();
    seen.cause(
        Kind::ShortRegions,
        Basis::Counts,
        lost,
        format!(
            "{} with {} of work on each thread; a team takes {} to fork and join{}",
            plural(seen.region.instances, "execution"),
            duration(work),
            duration(seen.prices.fork_join_ns),
            dearer(seen.prices.fork_join_ns, lost / executions),
        ),
        format!(
            "Let {place} do more at a time: larger batches, joined with its neighbours, or an outer loop made parallel; or give it fewer threads, down to one (an if clause)."
        ),
    )
}

/// What each of many constructs cost here, if that was much more than its price: threads
/// that had to be woken, or were late.
fn dearer(price_ns: f64, each_ns: f64) -> String {
    match each_ns >= 2.0 * price_ns {
        true => format!(", and cost {} here", duration(each_ns)),
        false => String::new(),
    }
}

/// The pieces that the most work of a region comes in.
pub(crate) struct InPieces {
    pub(crate) number: u64,
    /// "3 chunks", "2 shares of 1,000 and 500 iterations".
    pub(crate) words: String,
    /// What part of the work the largest of unequal pieces is.
    largest: Option<f64>,
    /// What they are called, if they may differ in length and some are timed one by one.
    unlike: Option<PieceKind>,
}

impl InPieces {
    /// Pieces of which none is known to be larger.
    fn equal(number: u64, noun: &str) -> Self {
        Self {
            number,
            words: plural(number, noun),
            largest: None,
            unlike: None,
        }
    }

    /// What they cost `k` threads, as a part of the mean work.
    fn excess(&self, k: u32) -> f64 {
        let largest = self.largest.map_or(0.0, |part| part * f64::from(k) - 1.0);
        excess(self.number, k).max(largest)
    }
}

fn noun_of(kind: PieceKind) -> &'static str {
    match kind {
        PieceKind::Iterations => "iteration",
        PieceKind::Chunks => "chunk",
        PieceKind::Sections => "section",
        PieceKind::Tasks => "task",
    }
}

pub(crate) fn pieces_of(seen: &Seen<'_>) -> Option<InPieces> {
    let rehearsals = seen
        .input
        .analyses
        .iter()
        .filter(|one| one.program.rehearsal);
    let shown = rehearsals.filter_map(|one| one.region(&seen.region.key));
    let regions: Vec<_> = std::iter::once(seen.region).chain(shown).collect();
    for region in &regions {
        let pieces = region.work.pieces.iter();
        if let Some(most) = pieces.max_by(|a, b| a.share.total_cmp(&b.share)) {
            let noun = noun_of(most.kind);
            return Some(InPieces {
                largest: most.longest,
                unlike: Some(most.kind).filter(|kind| *kind != PieceKind::Iterations),
                ..InPieces::equal(most.pieces, noun)
            });
        }
    }
    let idle = regions
        .iter()
        .find(|region| region.work.working > 0 && region.work.working < region.work.team)?;
    Some(shares(idle))
}

/// The shares of a loop that leaves some threads without work.
fn shares(region: &Region) -> InPieces {
    let number = u64::from(region.work.working);
    let threads = region.threads.iter();
    let iterations = threads.filter_map(|thread| region.iterations_of(thread));
    let mut iterations: Vec<u64> = iterations.filter(|count| *count > 0).collect();
    iterations.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let executions = region.instances.max(1);
    let all: u64 = iterations.iter().sum();
    let (&[largest, ..], &[.., smallest]) = (&*iterations, &*iterations) else {
        return InPieces::equal(number, "share");
    };
    if iterations.len() as u64 != number {
        return InPieces::equal(number, "share");
    }
    // Static loops differ by one iteration where they do not divide evenly.
    if largest - smallest <= executions {
        return InPieces::equal(number, "equal share");
    }
    let each: Vec<String> = iterations.iter().map(|n| count(n / executions)).collect();
    let even = iterations.iter().all(|n| n % executions == 0);
    let of = match each.len() {
        _ if !even => String::new(),
        2..=4 => format!(" of {} iterations", text::list(&each)),
        _ => format!(
            " of {} down to {} iterations",
            each[0],
            each[each.len() - 1]
        ),
    };
    InPieces {
        number,
        words: format!("{}{of}", plural(number, "share")),
        largest: Some(largest as f64 / all as f64),
        unlike: None,
    }
}

/// What `n` equal pieces cost `k` threads, as a part of the mean work.
pub(crate) fn excess(n: u64, k: u32) -> f64 {
    let (n, k) = (n.max(1) as f64, f64::from(k.max(1)));
    (n / k).ceil() * k / n - 1.0
}

fn few_pieces(seen: &Seen<'_>, waited: &Waited) -> Option<(Cause, f64)> {
    let shares = pieces_of(seen)?;
    let pieces = shares.number;
    let most = seen
        .input
        .prediction
        .and_then(|one| one.points.last())
        .map_or(seen.team, |point| point.threads.max(seen.team));
    // Many pieces divide evenly enough. What lies inside a piece of a recursive region cannot be
    // divided anew, so unequal ones are part of it.
    let recursive = seen.region.recursive_pieces() == Some(pieces);
    if !recursive && let Some(cause) = unlike_pieces(seen, waited, &shares, most) {
        return Some((cause, waited.computing));
    }
    if shares.excess(most) < 0.1 && shares.excess(seen.team) < 0.1 && !recursive {
        return None;
    }
    let cost = match recursive {
        true => waited.computing,
        false => (seen.mean(State::Compute) * shares.excess(seen.team)).min(waited.computing),
    };
    let place = seen.place();
    let somebody = pieces.div_ceil(u64::from(seen.team.max(1)));
    let evidence = if u64::from(seen.team) > pieces {
        format!(
            "its work comes in {} for {}, so that {} had none",
            shares.words,
            plural(seen.team.into(), "thread"),
            count(u64::from(seen.team) - pieces)
        )
    } else {
        format!(
            "its work comes in {}: with {} one has {} of them, and more than {} cannot help",
            shares.words,
            plural(seen.team.into(), "thread"),
            count(somebody),
            plural(pieces, "thread")
        )
    };
    let (evidence, action) = match seen.region.recursive_pieces() {
        Some(pieces) => (
            format!(
                "it lies in itself, each execution divides its work in {}, and those inside have one thread (nested regions are off): {evidence}",
                count(pieces)
            ),
            format!(
                "Make tasks of the recursion in {place}, begun once from a single construct, or let its inner executions have teams (OMP_MAX_ACTIVE_LEVELS)."
            ),
        ),
        None => (
            evidence,
            format!(
                "Divide the work of {place} into more pieces (smaller chunks, more tasks or sections, a parallel inner loop, collapse), or give it no more than {}.",
                plural(pieces, "thread")
            ),
        ),
    };
    let cause = seen.cause(Kind::FewPieces, Basis::Counts, cost, evidence, action);
    Some((cause, cost))
}

/// Sections, chunks or tasks of which one takes much longer than others, so that it bounds a team of
/// `most` threads: handed out one by one, equal ones would leave threads less to wait for.
fn unlike_pieces(seen: &Seen<'_>, waited: &Waited, shares: &InPieces, most: u32) -> Option<Cause> {
    let kind = shares.unlike?;
    let [longest, mean] = longest_and_mean(seen, |share| share.states[State::Compute] as f64);
    let equal = mean * excess(shares.number, seen.team);
    let late = seen.team > 1 && waited.computing > 1.3 * equal + 0.1 * mean;
    let bounds = shares
        .largest
        .is_some_and(|part| part * f64::from(most) > 1.1);
    // Of sections it is known that the program made them as they are.
    if !(bounds || late && kind == PieceKind::Sections) {
        return None;
    }
    let noun = noun_of(kind);
    let all = mean * seen.region.threads.len() as f64;
    let known = match shares.largest {
        Some(part) => format!(
            "the longest has {} of the work, so that no team is more than about {} times as fast",
            percent(part),
            ratio(1.0 / part)
        ),
        None => format!(
            "one thread has {} of the work, and the others wait for it",
            percent(longest / all.max(1.0))
        ),
    };
    let mut cause = seen.cause(
        Kind::FewPieces,
        Basis::Times,
        waited.computing,
        format!(
            "its {} take unlike times: {known}",
            shares.words
        ),
        format!(
            "Divide the longest {noun} of {} into several, or make tasks or a loop of what it does, and begin it first: no team can be faster than it.",
            seen.place()
        ),
    );
    cause.title = format!("{noun}s of unlike length");
    Some(cause)
}

/// What the threads say about serial work inside the region: of the largest team that
/// leans either way, rehearsals included. Two threads often leave it open.
///
/// Work of one thread alone is followed by a barrier that is not the region's last.
/// Without one, a larger team tells no more: the heavy iterations of a loop may all lie
/// in the first share.
fn evidence_of(seen: &Seen<'_>) -> ImbalanceEvidence {
    if seen.barriers() < 1.5 {
        return ImbalanceEvidence::of_region(seen.region);
    }
    let regions = seen.input.analyses.iter();
    let mut all: Vec<_> = regions
        .filter_map(|one| one.region(&seen.region.key))
        .chain([seen.region])
        .map(|region| (region.team_size_max, ImbalanceEvidence::of_region(region)))
        .filter(|(_, evidence)| *evidence != ImbalanceEvidence::Open)
        .collect();
    all.sort_by_key(|(team, _)| *team);
    all.last()
        .map_or(ImbalanceEvidence::Open, |(_, evidence)| *evidence)
}

/// One thread computes longer than the others.
fn more_work(seen: &Seen<'_>, ns: f64) -> Cause {
    let region = seen.region;
    let place = seen.place();
    if let Some(cause) = tasks::undeferred(seen, ns) {
        return cause;
    }
    let uneven = &region.unevenness;
    if evidence_of(seen) == ImbalanceEvidence::Serial {
        let tasks = match region.tasks_undeferred {
            some if some == 0 || some < region.tasks_run / 10 => String::new(),
            some => format!(
                "; {} of its {} were not deferred (an if clause that is false, or a final clause)",
                count(some),
                plural(region.tasks_run, "task")
            ),
        };
        return seen.cause(
            Kind::SerialInRegion,
            Basis::Times,
            ns,
            format!("one thread computes alone in it while the others, which do alike, wait{tasks}"),
            format!(
                "Shorten what a single thread does inside {place} (single, master, one long task), or let the others go on with nowait."
            ),
        );
    }
    let mean = uneven.longest_ns - uneven.excess_ns;
    let factor = if uneven.executions > 0 && mean > 0.0 {
        uneven.longest_ns / mean
    } else {
        let [longest, mean] = longest_and_mean(seen, |share| share.states[State::Compute] as f64);
        if mean > 0.0 { longest / mean } else { 1.0 }
    };
    let [most, faults] = longest_and_mean(seen, |share| share.counts.minor_faults);
    let [longest, middle] = longest_and_mean(seen, |share| share.states[State::Compute] as f64);
    let by_faults = (most - faults) * FAULT_NS;
    if by_faults >= 0.5 * (longest - middle) && by_faults >= 0.3 * ns {
        return seen.cause(
            Kind::UnequalFaults,
            Basis::Counts,
            ns,
            format!(
                "one thread took {} of {} page faults, about {} each",
                count(most.round() as u64),
                count((faults * region.threads.len() as f64).round() as u64),
                duration(FAULT_NS)
            ),
            format!(
                "Let each thread of {place} touch first the memory that it works on: initialise it in parallel, with the same schedule."
            ),
        );
    }
    let [most, mean] = longest_and_mean(seen, |share| share.iterations as f64);
    let counted = region.iterations > 0 && mean > 0.0;
    let dealt = if counted { most / mean } else { 1.0 };
    if counted && !seen.on_request() && dealt > 1.0 + 0.5 * (factor - 1.0) {
        return seen.cause(
            Kind::UnequalIterations,
            Basis::Counts,
            ns,
            format!(
                "one thread runs {} iterations, {} times the mean",
                count(most as u64),
                ratio(dealt)
            ),
            format!("Give the threads of {place} equal numbers of iterations: smaller chunks."),
        );
    }
    // A thread that computes so little longer may do as much as the others.
    if !seen.on_request()
        && let Some(unlike) = Unlike::explaining(factor, seen.input.main)
    {
        return unlike.cause(seen, ns);
    }
    let (maybe, first) = match seen.barriers() < 1.5 {
        true => Default::default(),
        false => alone(seen),
    };
    let (known, action) = if seen.on_request() {
        (
            "although chunks are handed out on request",
            format!(
                "Divide the work of {place} into smaller pieces: threads still wait for the last."
            ),
        )
    } else {
        (
            "and the others wait for it",
            format!(
                "Divide the work of {place} more evenly: schedule(dynamic) or schedule(guided), smaller chunks, or collapse of nested loops."
            ),
        )
    };
    seen.cause(
        Kind::UnequalWork,
        Basis::Times,
        ns,
        format!(
            "the thread with most work computes {} times as long as the mean, {known}{maybe}",
            ratio(factor)
        ),
        format!("{first}{action}"),
    )
}

fn longest_and_mean(seen: &Seen<'_>, of: impl Fn(&ThreadShare) -> f64) -> [f64; 2] {
    let values = || seen.region.threads.iter().map(&of);
    let longest = values().fold(0.0, f64::max);
    let mean = values().sum::<f64>() / (seen.region.threads.len() as f64).max(1.0);
    [longest, mean]
}

/// What a construct that one thread alone runs may have to do with threads that wait: to be
/// added to what is known, and the mend. Two threads often leave open which of the two it is.
fn alone(seen: &Seen<'_>) -> (String, String) {
    // What is waited for single constructs is known, and is a cause of its own.
    if seen.region.single_wait_ns > 0 {
        return Default::default();
    }
    let lines = seen.region.lines.as_ref();
    let Some(name) = lines.and_then(serial_construct) else {
        return Default::default();
    };
    (
        format!("; that may be what one thread alone does in its {name} construct"),
        format!(
            "Shorten what the {name} construct of {} has one thread do, if that takes long. ",
            seen.place()
        ),
    )
}

/// What barriers cost by themselves, as far as their price explains it.
fn barriers(seen: &Seen<'_>, ns: f64) -> Cause {
    let passed = seen.executions() * seen.barriers();
    let place = seen.place();
    // What barriers take when nobody is late, with room for noise.
    let fair = 3.0 * passed * seen.prices.barrier_ns.max(200.0);
    let disturbed = seen.input.main.program.disturbed();
    // On nodes it is known how long threads computed between barriers: what is left is what the
    // barriers' messages take.
    let of_nodes = seen.region.barrier_wait_causes.is_some();
    if ns > fair && seen.barriers() > 1.5 && !disturbed && !of_nodes {
        let (known, action) = alone(seen);
        return seen.cause(
            Kind::UnequalWork,
            Basis::Times,
            ns,
            format!(
                "at its {} different threads are late, {} each time{known}",
                plural(passed.round() as u64, "barrier"),
                duration(ns / passed.max(1.0))
            ),
            format!(
                "{action}Divide the work between two barriers of {place} more evenly, or drop barriers that are not needed (nowait)."
            ),
        );
    }
    // Other programs keep threads that were woken from going on; that is none of the
    // program's barriers.
    let ns = if disturbed { ns.min(fair) } else { ns };
    seen.cause(
        Kind::Overhead,
        Basis::Counts,
        ns,
        format!(
            "its threads pass {}, which takes {} each time",
            plural(passed.round() as u64, "barrier"),
            duration(ns / passed.max(1.0))
        ),
        match seen.barriers() > 1.0 {
            true => format!("Drop barriers of {place} that are not needed (nowait)."),
            // The one at its end always is.
            false => format!(
                "Let {place} do more at a time, in larger batches or joined with its neighbours, or give it fewer threads: the barrier at its own end cannot be dropped."
            ),
        },
    )
}
