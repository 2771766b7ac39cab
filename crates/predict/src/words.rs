//! The findings in words.

use crate::outcome::{Dominating, Point, RegionPrediction};
use crate::runs::Group;
use crate::terms::Term;

/// A duration with three digits and a fitting unit.
pub(crate) fn duration(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n < 1e3 => (ns, "ns"),
        n if n < 1e6 => (ns / 1e3, "us"),
        n if n < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three digits.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

pub(crate) fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    let round = (percent - percent.round()).abs() < 1e-6;
    if percent.abs() < 9.95 && !round {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

pub(crate) fn threads(count: u32) -> String {
    match count {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
}

fn cause(dominating: Option<Dominating>) -> Option<String> {
    dominating
        .filter(|dominating| dominating.share >= 0.01)
        .map(|dominating| format!("{} {}", dominating.term.words(), percent(dominating.share)))
}

/// The sentence of a region; `seen` says that it was seen on more than one
/// thread.
pub(crate) fn region(
    name: &str,
    best: u32,
    stops: bool,
    speedup: f64,
    dominating: Option<Dominating>,
    seen: bool,
) -> String {
    let cause = cause(dominating);
    if !seen {
        let first = format!("region {name} was only seen on 1 thread");
        return match cause {
            Some(cause) => format!("{first}, at best it gains up to {}: {cause}", threads(best)),
            None => format!("{first}, where it stops is not known"),
        };
    }
    match (best, stops, cause) {
        (1, true, Some(cause)) => {
            format!("region {name} does not gain from more than 1 thread: {cause}")
        }
        (1, _, None) => format!("region {name} does not gain from more than 1 thread"),
        (n, true, Some(cause)) => format!("region {name} stops at {}: {cause}", threads(n)),
        (n, true, None) => format!("region {name} stops at {}", threads(n)),
        (n, false, cause) => {
            let gain = format!(
                "region {name} still gains at {} ({} times as fast as with 1)",
                threads(n),
                digits(speedup)
            );
            match cause {
                Some(cause) => format!("{gain}: {cause}"),
                None => gain,
            }
        }
    }
}

/// What was measured with the fewest and with the most threads.
pub(crate) fn measured(fewest: &Group<'_>, most: &Group<'_>) -> String {
    let first = format!(
        "Measured: {} with {}",
        duration(fewest.typical()),
        threads(fewest.threads)
    );
    if most.threads <= fewest.threads {
        return first + ".";
    }
    format!(
        "{first} and {} with {}, {} times as fast.",
        duration(most.typical()),
        most.threads,
        digits(fewest.typical() / most.typical().max(1.0))
    )
}

/// What a prediction for more processors than there are rests on.
pub(crate) fn assumption(at: &[u32], present: u32, cores: u32) -> Option<String> {
    at.iter()
        .any(|&count| count > present && count <= cores)
        .then(|| {
            format!(
                "Beyond {} this assumes a machine with as many processors, otherwise like this one.",
                threads(present)
            )
        })
}

/// What the program will do at `point`.
pub(crate) fn program(point: &Point, dominating: Option<Dominating>) -> String {
    let mut sentence = format!(
        "With {} the program is predicted to take {} ({} to {}), {} times as fast as with 1 ({} to {})",
        threads(point.threads),
        duration(point.time_ns),
        duration(point.low_ns),
        duration(point.high_ns),
        digits(point.speedup),
        digits(point.speedup_low),
        digits(point.speedup_high)
    );
    if let Some(cause) = cause(dominating) {
        sentence.push_str(&format!("; most is lost to {cause}"));
    }
    if point.oversubscribed {
        sentence.push_str(
            "; there are more threads than processors, so this is what sharing them would cost",
        );
    }
    sentence.push('.');
    sentence
}

/// Where the program stops gaining.
pub(crate) fn stop(best: u32, limit: u32, worthwhile: f64) -> String {
    if best >= limit {
        format!("It gains up to {}.", threads(limit))
    } else {
        format!(
            "Beyond {} it gains less than {} more.",
            threads(best),
            percent(worthwhile)
        )
    }
}

/// The regions worth a sentence: those with 2 % of the time at the largest
/// count, at most five.
pub(crate) fn worst(regions: &[RegionPrediction], total_ns: f64) -> Vec<&str> {
    regions
        .iter()
        .filter(|region| {
            let time = region.points.last().map_or(0.0, |point| point.time_ns);
            time > 0.02 * total_ns
        })
        .take(5)
        .map(|region| region.sentence.as_str())
        .collect()
}

/// The largest loss among `terms`, as a fraction of their sum.
pub(crate) fn dominating(terms: &[f64; Term::COUNT], threads: u32) -> Option<Dominating> {
    let total: f64 = terms.iter().sum();
    if total <= 0.0 {
        return None;
    }
    Term::ALL
        .into_iter()
        .filter(|term| *term != Term::Work && terms[*term as usize] > 0.0)
        .max_by(|a, b| terms[*a as usize].total_cmp(&terms[*b as usize]))
        .map(|term| Dominating {
            term,
            threads,
            share: terms[term as usize] / total,
        })
}
