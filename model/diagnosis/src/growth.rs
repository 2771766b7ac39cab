//! Computing that takes longer in all the more threads do it.
//!
//! Time without a processor is not in it. What is left: processors compute slower, which
//! is measured beside the runs ([`Slower`]); threads share memory bandwidth; or they take
//! cache lines from each other. Bandwidth could explain no more than that all threads share
//! what one gets; what is far beyond that is shared lines. Only looking at the lines
//! themselves tells the rest.

use crate::cause::{Basis, Cause, Kind};
use crate::constructs;
use crate::library;
use crate::pace::Slower;
use crate::region::Seen;
use crate::teams;
use crate::waited::too_short;
use fathomp_analysis::{Region, State};
use fathomp_shared_lines::{self as sharing, SharedLine};
use fathomp_types::text;
use fathomp_types::units::{duration, percent, plural, ratio};

/// Growth below this is noise, and what clock frequency does.
const NOTABLE: f64 = 0.15;
/// Executions with less work grow because they are short.
const LONG_NS: f64 = 20_000.0;
/// What an access to a line costs at least that another processor has just written.
const CONTENDED_NS: f64 = 30.0;
/// What it costs at most, between sockets.
const DEAR_NS: f64 = 200.0;
/// Elements of a line.
const ELEMENTS: f64 = 8.0;
/// A line that every thread is seen to access so often in each phase is one that it
/// accesses all the time.
const HOT: f64 = 5.0;
/// A line that every thread is seen to access more often than once in each phase is accessed
/// several times in it: where nothing else explains growth, that does.
const AGAIN: f64 = 1.5;
/// Lines whose accesses cost less than this part of the region's time are not worth a word where
/// computing did not take longer.
const WORTH: f64 = 0.01;
/// Lines must be able to explain this part of the growth to be its cause.
const EXPLAINED: f64 = 0.3;
/// Code of a region is all there is to it if its threads are in it this part of the time.
const OWN: f64 = 0.8;
/// A loop that asks for less than this part of what one thread gets is not bound by memory.
const LITTLE: f64 = 0.1;
/// Regions of one thread inside another one that take this part of its time.
const INNER: f64 = 0.2;
/// Lines that cost less than this part of what the dearest of a region costs are not named.
const LESSER: f64 = 0.05;
/// Lines named in one cause.
const NAMES: usize = 3;

pub(crate) fn find(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    // What a construct bounds grows by it.
    if seen.team < 2 || too_short(seen).is_some() || constructs::bound(seen).is_some() {
        return;
    }
    let work = seen.region.states[State::Compute] as f64;
    let fewer = seen.fewest().map(|(fewest, _)| {
        let before = fewest.states[State::Compute] as f64;
        (fewest.team_size_max.max(1), before)
    });
    let (growth, all, fewest) = match fewer {
        Some((team, before)) if before > 0.0 => {
            (work / before - 1.0, seen.each(work - before), team)
        }
        _ => (0.0, 0.0, 0),
    };
    let long = work / seen.executions() > LONG_NS;
    let slower = Slower::of(seen);
    let by_processors = match growth > 0.0 && long && slower.notable() {
        true => (slower.typical / growth).min(1.0) * all,
        false => 0.0,
    };
    // What slower processors may explain is not the program's.
    let notable = long && (1.0 + growth) / (1.0 + slower.most) - 1.0 >= NOTABLE;
    let cost = all - by_processors;
    if growth >= NOTABLE && by_processors > 0.0 {
        let cost = if notable { by_processors } else { all };
        causes.push(slower.cause(seen, cost));
    }
    if let Some(cause) = in_library(seen, slower, by_processors) {
        causes.push(cause);
        return;
    }
    let grown_ns = if notable {
        cost * f64::from(seen.team)
    } else {
        0.0
    };
    let reduced = constructs::reduced(seen).unwrap_or_default();
    let mut all_shared = shared_lines(seen);
    // Copies that threads add up are written by all of them, one after another.
    all_shared.retain(|line| {
        !reduced
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&line.name))
    });
    let mut shared = all_shared.clone();
    shared.retain(|line| {
        explains(line, grown_ns)
            && (notable || seen.each(cost_ns(line)) >= WORTH * seen.mean(State::Compute))
    });
    let beyond = match notable {
        true => beyond_memory(seen, growth, fewest, slower),
        false => None,
    };
    let is_own = library::own(seen).is_some_and(|own| own >= OWN);
    if shared.is_empty() && beyond.is_some() && is_own {
        shared = all_shared;
        shared.retain(|line| seen_by_each(line) >= AGAIN);
    }
    if !notable && shared.is_empty() {
        return;
    }
    let grown = format!(
        "computing takes {} times as long in all with {} as with {fewest}",
        ratio(growth + 1.0),
        plural(seen.team.into(), "thread")
    );
    if !shared.is_empty() {
        causes.push(named(
            seen,
            &shared,
            notable.then_some((cost, grown.as_str())),
        ));
        return;
    }
    let of_reduction = notable && add_to_reduction(seen, &reduced, cost, causes);
    if !of_reduction && !is_of_inner_regions(seen) {
        causes.push(unnamed(seen, cost, &grown, beyond));
    }
}

/// Where threads wait for each other to add up arrays, that each clears a copy and adds it is what
/// grows. Whether that is so.
fn add_to_reduction(seen: &Seen<'_>, names: &[String], cost: f64, causes: &mut [Cause]) -> bool {
    let more = constructs::reduction(seen, names, cost, 0.0);
    let known = |one: &&mut Cause| one.kind == Kind::Reduction && one.region == more.region;
    let Some(known) = causes.iter_mut().find(known) else {
        return false;
    };
    known.measured.ns += more.measured.ns;
    known.measured.share = (known.measured.share + more.measured.share).min(1.0);
    true
}

/// Whether regions of one thread inside this one take so much of it that to begin and end them, and
/// to record that, may be what takes longer: they are a cause of their own.
pub(crate) fn is_of_inner_regions(seen: &Seen<'_>) -> bool {
    let inner = seen.input.main.regions.iter();
    let inner = inner.filter(|region| region.level > seen.region.level && teams::is_inner(region));
    let taken: u64 = inner.map(|region| region.states.total_ns()).sum();
    taken as f64 >= INNER * seen.region.states.total_ns() as f64
}

/// The functions of libraries in which time grew: sleep in their locks is part of it.
fn in_library(seen: &Seen<'_>, slower: Slower, by_processors: f64) -> Option<Cause> {
    let (longer, grown) = time_grown(seen)?;
    let notable = longer / (1.0 + slower.most) - 1.0 >= NOTABLE;
    let long = grown.many_ns / seen.executions() > LONG_NS;
    let cost = grown.cost - by_processors;
    let words = format!(
        "computing and sleeping take {} times as long in all with {} as with {}",
        ratio(longer),
        plural(seen.team.into(), "thread"),
        seen.fewest().map_or(1, |(few, _)| few.team_size_max.max(1))
    );
    (notable && long).then(|| library::find(seen, &library::Grown { cost, ..grown }, &words))?
}

/// The same where only the model knows that it will cost something.
pub(crate) fn predicted_in_library(seen: &Seen<'_>) -> Option<Cause> {
    let (_, grown) = time_grown(seen)?;
    let words = "computing took longer in all with more threads";
    library::find(seen, &library::Grown { cost: 0.0, ..grown }, words)
}

/// By how much computing and sleeping took longer in all.
fn time_grown(seen: &Seen<'_>) -> Option<(f64, library::Grown)> {
    let (fewest, _) = seen.fewest()?;
    let time = |region: &Region| {
        let states = [State::Compute, State::Blocked, State::Io];
        states
            .iter()
            .map(|state| region.states[*state] as f64)
            .sum()
    };
    let (many_ns, few_ns): (f64, f64) = (time(seen.region), time(fewest));
    let grown = library::Grown {
        many_ns,
        few_ns,
        cost: seen.each(many_ns - few_ns),
    };
    (few_ns > 0.0).then(|| (many_ns / few_ns, grown))
}

/// Lines that were found to be shared in this region and are worth mending, falsely
/// shared ones first, each by what it costs.
fn shared_lines<'a>(seen: &Seen<'a>) -> Vec<&'a SharedLine> {
    let Some(found) = seen.input.sharing else {
        return Vec::new();
    };
    let outermost = seen.input.main.regions.iter().filter(|one| one.level == 1);
    let single = outermost.count() == 1;
    let here = |line: &&SharedLine| match line.regions.as_slice() {
        [] => single,
        some => some.iter().any(|site| is_site(seen.region, site)),
    };
    let mut lines: Vec<&SharedLine> = found
        .false_sharing()
        .chain(found.of(sharing::Kind::True).filter(|line| !line.handed_on))
        .filter(here)
        .collect();
    // What a line costs in a phase or two is nothing beside what others cost all the time.
    let dearest = lines.iter().map(|line| cost_ns(line)).fold(0.0, f64::max);
    lines.retain(|line| cost_ns(line) >= LESSER * dearest);
    lines.sort_by(|a, b| {
        let falsely = |line: &SharedLine| line.kind == sharing::Kind::False;
        (falsely(b).cmp(&falsely(a))).then(cost_ns(b).total_cmp(&cost_ns(a)))
    });
    lines
}

/// Whether accesses to a line may have made computing take `grown_ns` longer in all. What a
/// thread writes again and again is seen again and again, since pages are looked at anew
/// every few milliseconds; what it passes once costs once.
fn explains(line: &SharedLine, grown_ns: f64) -> bool {
    let hot = seen_by_each(line) >= HOT;
    // A line has room for so many elements that are written one by one.
    let at_most = (line.accesses as f64) * ELEMENTS * DEAR_NS;
    hot || at_most >= EXPLAINED * grown_ns
}

/// How often each thread was seen to access a line in each phase.
fn seen_by_each(line: &SharedLine) -> f64 {
    let accessed_by = (line.writers.len() + line.readers.len()).max(1) as f64;
    let places = line.lines.max(1) as f64 * line.phases.max(1) as f64 * accessed_by;
    line.accesses as f64 / places
}

/// Whether a place in the program is this region.
fn is_site(region: &Region, site: &sharing::Site) -> bool {
    let place = &region.place;
    match (&site.file, site.line) {
        (Some(file), Some(line)) => place.file.as_ref() == Some(file) && place.line == Some(line),
        _ => site.address != 0 && site.address == place.address,
    }
}

/// What the accesses to a line that were seen cost at least.
fn cost_ns(line: &SharedLine) -> f64 {
    let usual = line.accesses as f64 * CONTENDED_NS;
    line.est_cost_ns.map_or(usual, |ns| ns.max(usual))
}

fn named(seen: &Seen<'_>, lines: &[&SharedLine], grown: Option<(f64, &str)>) -> Cause {
    let falsely = lines[0].kind == sharing::Kind::False;
    let alike = || lines.iter().filter(|line| line.kind == lines[0].kind);
    let mut names: Vec<String> = alike().map(|line| text::shorten(&line.name, 60)).collect();
    names.dedup();
    let others = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    if others > 0 {
        names.push(format!("{others} more"));
    }
    let names = text::list(&names);
    // Prices of single accesses are of another program: what the region loses is known.
    let most = seen.lost().unwrap_or_else(|| seen.mean(State::Compute));
    let estimated: f64 = alike().map(|line| cost_ns(line)).sum();
    let estimated = estimated.min(most * f64::from(seen.team));
    let (kind, what) = match falsely {
        true => (
            Kind::FalseSharing,
            "threads write different bytes of the same cache lines",
        ),
        false => (Kind::TrueSharing, "threads write the same bytes"),
    };
    let parts = lines[0].parts.iter().take(2).cloned().collect::<Vec<_>>();
    let parts = match parts.as_slice() {
        [] => names.clone(),
        some => text::list(some),
    };
    let site = lines[0].accesses_at.iter().find(|site| site.line.is_some());
    let at = site.map_or(String::new(), |site| {
        format!(", at {}", text::shorten(&site.label, 60))
    });
    let (cost, evidence) = match grown {
        Some((cost, grown)) => (cost.min(most), format!("{what} ({parts}{at}); {grown}")),
        None => (
            seen.each(estimated).min(most),
            format!(
                "{what} ({parts}{at}); the accesses that were seen cost about {}",
                duration(estimated)
            ),
        ),
    };
    let mut cause = seen.cause(kind, Basis::Counts, cost, evidence, lines[0].mend.clone());
    cause.title = match falsely {
        true => format!("false sharing of {names}"),
        false => format!("threads share {names}"),
    };
    cause
}

/// By how much memory bandwidth could make computing take longer at most, if the
/// machine's curve is known: by as much as that says, and as if all threads shared the
/// bandwidth of the fewest. A curve is of another time, and what several threads get of
/// memory depends on what else the machine, or the host of a virtual one, does meanwhile.
fn bandwidth_growth(seen: &Seen<'_>, fewest: u32) -> Option<f64> {
    let machine = seen.input.machine?;
    let (few, many) = (f64::from(fewest), f64::from(seen.team));
    let per_thread = |k: f64| Some(machine.bandwidth_at(k)? / k);
    let measured = per_thread(few)? / per_thread(many)? - 1.0;
    Some(measured.max(many / few - 1.0).max(0.0))
}

/// Why memory bandwidth cannot explain growth, in words, if it cannot.
fn beyond_memory(seen: &Seen<'_>, growth: f64, fewest: u32, slower: Slower) -> Option<String> {
    let most = bandwidth_growth(seen, fewest)?;
    let most = (1.0 + most) * (1.0 + slower.most) - 1.0;
    // Twice the room for the error of both measurements.
    if growth > 1.5 * most + 2.0 * NOTABLE {
        let part = most / growth.max(f64::MIN_POSITIVE);
        return Some(format!(
            ", of which memory bandwidth explains no more than {}",
            percent(part)
        ));
    }
    let mut known = seen.input.asks.iter();
    let (_, asks) = known.find(|(name, _)| *name == seen.region.name)?;
    let alone = seen.input.machine?.bandwidth_at(1.0)?;
    let all = asks * f64::from(seen.team);
    // Only where threads are in code that was scanned.
    let scanned = library::own(seen).is_none_or(|own| own >= OWN);
    let per_s = |bytes: f64| format!("{:.1} GB/s", bytes / 1e9);
    (scanned && all < LITTLE * alone).then(|| {
        format!(
            ", and its loops ask for {} of memory, of which one thread gets {}",
            per_s(all),
            per_s(alone)
        )
    })
}

fn unnamed(seen: &Seen<'_>, cost: f64, grown: &str, beyond: Option<String>) -> Cause {
    let place = seen.place();
    let looked = seen.input.sharing.is_some();
    let less_memory = format!(
        "Move less memory in {place} (blocking, fusing loops, first touch by the thread that computes)."
    );
    let padding = "give each thread's data lines of its own, or use a reduction";
    let (kind, why, action) = match (beyond, looked, library::own(seen)) {
        // No library is in sight, and no line.
        (Some(beyond), true, Some(own)) if own >= OWN => (
            Kind::Unexplained,
            format!(
                "{beyond}; no cache line that its threads share was seen, and they are in no library"
            ),
            format!(
                "Measure {place} again on processors of their own: what its threads share may have escaped the look, or processors differ."
            ),
        ),
        (Some(beyond), true, _) => (
            Kind::Library,
            format!(
                "{beyond}; no cache line that its threads share was seen, but what libraries share was not looked at"
            ),
            format!(
                "Look at the library functions that {place} calls: one may take a lock, or write what all threads share (rand, malloc, streams, locales, time zones)."
            ),
        ),
        (Some(beyond), false, _) => (
            Kind::SharedLines,
            beyond,
            format!(
                "Find the cache lines that its threads share{} and {padding}.",
                if seen.can_look() {
                    " (`fathomp sharing` names them)"
                } else {
                    ""
                }
            ),
        ),
        (None, true, _) => (
            Kind::Bandwidth,
            ", and no cache line that its threads share is written often enough to explain it"
                .to_owned(),
            less_memory,
        ),
        (None, false, _) => (
            Kind::SharedLinesOrBandwidth,
            String::new(),
            format!(
                "Tell shared cache lines from memory bandwidth in {place}{}: if lines are shared, {padding}; if not, move less memory (blocking, fusing loops, first touch).",
                if seen.can_look() {
                    " with `fathomp sharing`"
                } else {
                    ""
                }
            ),
        ),
    };
    seen.cause(kind, Basis::Times, cost, format!("{grown}{why}"), action)
}
