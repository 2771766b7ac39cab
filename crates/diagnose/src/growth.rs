//! Computing that takes longer in all the more threads do it.
//!
//! Time without a processor is not in it. What is left: threads share memory
//! bandwidth, they take cache lines from each other, or processors share a core. The
//! machine's bandwidth curve says how much of it bandwidth could explain at most; what
//! is beyond that is shared lines. Only looking at the lines themselves tells the rest.

use crate::cause::{Basis, Cause, Kind, SharedLine};
use crate::constructs;
use crate::region::Seen;
use crate::waiting::too_short;
use fathomp_analyse::State;
use fathomp_base::text;
use fathomp_base::units::{duration, percent, plural, ratio};

/// Growth below this is noise, and what clock frequency does.
const NOTABLE: f64 = 0.15;
/// Executions with less work grow because they are short.
const LONG_NS: f64 = 20_000.0;
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
    let (growth, cost, fewest) = match fewer {
        Some((team, before)) if before > 0.0 => {
            (work / before - 1.0, seen.each(work - before), team)
        }
        _ => (0.0, 0.0, 0),
    };
    let shared = shared_lines(seen);
    let notable = growth >= NOTABLE && work / seen.executions() > LONG_NS;
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
    let looked = seen.input.sharing.is_some();
    let bandwidth = bandwidth_growth(seen, fewest);
    causes.push(unnamed(seen, cost, growth, &grown, bandwidth, looked));
}

/// Lines that were found to be shared in this region, falsely first.
fn shared_lines<'a>(seen: &Seen<'a>) -> Vec<&'a SharedLine> {
    let all = seen.input.sharing.map_or(&[][..], |found| &found.lines);
    let single = {
        let regions = seen.input.main.regions.iter();
        regions.filter(|one| one.level == 1).count() == 1
    };
    let mut lines: Vec<&SharedLine> = all
        .iter()
        .filter(|line| match line.regions.as_slice() {
            [] => single,
            some => some.contains(&seen.region.key),
        })
        .collect();
    lines.sort_by(|a, b| (b.falsely.cmp(&a.falsely)).then(b.cost_ns.total_cmp(&a.cost_ns)));
    lines
}

fn named(seen: &Seen<'_>, lines: &[&SharedLine], grown: Option<(f64, &str)>) -> Cause {
    let falsely = lines[0].falsely;
    let alike = lines.iter().filter(|line| line.falsely == falsely);
    let mut names: Vec<String> = alike.map(|line| text::shorten(&line.name, 60)).collect();
    names.dedup();
    let others = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    if others > 0 {
        names.push(format!("{} more", others));
    }
    let names = text::list(&names);
    let estimated: f64 = lines.iter().map(|line| line.cost_ns).sum();
    let kind = if falsely {
        Kind::FalseSharing
    } else {
        Kind::TrueSharing
    };
    let what = if falsely {
        "threads write different bytes of the same cache lines"
    } else {
        "threads write the same bytes"
    };
    let (cost, evidence) = match grown {
        Some((cost, grown)) => (cost, format!("{what}: {names}; {grown}")),
        None => (
            seen.each(estimated),
            format!(
                "{what}: {names}; that is estimated to cost {}",
                duration(estimated)
            ),
        ),
    };
    let mut cause = seen.cause(kind, Basis::Times, cost, evidence, lines[0].mend.clone());
    cause.title = match falsely {
        true => format!("false sharing of {names}"),
        false => format!("threads share {names}"),
    };
    cause
}

/// By how much memory bandwidth could make computing take longer at most, if the
/// machine's curve is known.
fn bandwidth_growth(seen: &Seen<'_>, fewest: u32) -> Option<f64> {
    let machine = seen.input.machine?;
    let (few, many) = (f64::from(fewest), f64::from(seen.team));
    let per_thread = |k: f64| Some(machine.bandwidth_at(k)? / k);
    Some((per_thread(few)? / per_thread(many)? - 1.0).max(0.0))
}

fn unnamed(
    seen: &Seen<'_>,
    cost: f64,
    growth: f64,
    grown: &str,
    bandwidth: Option<f64>,
    looked: bool,
) -> Cause {
    let place = seen.place();
    let less_memory = format!(
        "Move less memory in {place} (blocking, fusing loops, first touch by the thread that computes)."
    );
    let padding = "give each thread's data lines of its own, or use a reduction";
    let (kind, why, action) = match bandwidth {
        // Twice the room for the error of both measurements.
        Some(most) if growth > 1.5 * most + 2.0 * NOTABLE && !looked => (
            Kind::SharedLines,
            format!(
                ", of which memory bandwidth explains no more than {}",
                percent(most / growth.max(f64::MIN_POSITIVE))
            ),
            format!(
                "Find the cache lines that its threads share (`fathomp sharing` names them) and {padding}."
            ),
        ),
        _ if looked => (
            Kind::Bandwidth,
            ", and its threads share no cache line that they write".to_owned(),
            less_memory,
        ),
        _ => (
            Kind::SharedLinesOrBandwidth,
            String::new(),
            format!(
                "Run `fathomp sharing` to tell which. If lines are shared, {padding}; if not, move less memory in {place} (blocking, fusing loops, first touch)."
            ),
        ),
    };
    seen.cause(kind, Basis::Times, cost, format!("{grown}{why}"), action)
}
