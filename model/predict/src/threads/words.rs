//! The findings in words.

use super::outcome::{Dominating, Point};
use super::terms::Term;
use crate::recorded::Group;
use fathomp_analysis::Oversubscription;

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

/// The sentence of a region; `seen` says that it was seen on more than one
/// thread.
pub(crate) fn region(name: &str, best: u32, stops: bool, speedup: f64, seen: bool) -> String {
    if !seen {
        return format!("region {name} was only seen on 1 thread");
    }
    match (best, stops) {
        (1, _) => format!("region {name} does not gain from more than 1 thread"),
        (n, true) => format!("region {name} stops at {}", threads(n)),
        (n, false) => format!(
            "region {name} still gains at {} ({} as with 1)",
            threads(n),
            as_fast(speedup)
        ),
    }
}

/// A ratio of times in words that never round to nothing: "3.1 times as fast", or, of
/// what is slower, "takes 40 times as long".
pub(crate) fn as_fast(speedup: f64) -> String {
    match speedup {
        s if s >= 0.995 => format!("{} times as fast", digits(s)),
        s if s > 0.0 => format!("{} times as slow", digits(1.0 / s)),
        _ => "not comparable in speed".to_owned(),
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
    // What other programs did to them is said elsewhere; a ratio would be about these.
    if fewest.taken().is_some() || most.taken().is_some() {
        let most = (duration(most.typical()), threads(most.threads));
        return format!(
            "{first} and {} with {}, beside other programs.",
            most.0, most.1
        );
    }
    format!(
        "{first} and {} with {}, {}.",
        duration(most.typical()),
        most.threads,
        as_fast(fewest.typical() / most.typical().max(1.0))
    ) + &undisturbed(fewest, most)
}

/// What was measured without what other programs took, where that is much.
fn undisturbed(fewest: &Group<'_>, most: &Group<'_>) -> String {
    let taken = |group: &Group<'_>| group.undisturbed() < 0.9 * group.typical();
    if !taken(fewest) && !taken(most) {
        return String::new();
    }
    let (few, many) = (fewest.undisturbed(), most.undisturbed());
    format!(
        " Without what other programs took of the processors: {} and {}, {}.",
        duration(few),
        duration(many),
        as_fast(few / many.max(1.0))
    )
}

/// What a prediction for more processors than there are rests on.
pub(crate) fn assumption(at: &[u32], present: u32, cores: u32, hosts: bool) -> Option<String> {
    let what = match hosts {
        true => "more hosts like these",
        false => "a machine with as many processors, otherwise like this one",
    };
    at.iter()
        .any(|&count| count > present && count <= cores)
        .then(|| format!("Beyond {} this assumes {what}.", threads(present)))
}

/// What the program will do at `point`.
pub(crate) fn program(point: &Point) -> String {
    let range = if point.speedup_low >= 0.995 {
        format!(
            "{} ({} to {})",
            as_fast(point.speedup),
            digits(point.speedup_low),
            digits(point.speedup_high)
        )
    } else {
        as_fast(point.speedup)
    };
    let mut sentence = format!(
        "With {} the program is predicted to take {} ({} to {}), {range} as with 1",
        threads(point.threads),
        duration(point.time_ns),
        duration(point.low_ns),
        duration(point.high_ns),
    );
    if point.oversubscribed {
        sentence.push_str(
            "; there are more threads than processors, so this is what sharing them would cost",
        );
    }
    sentence.push('.');
    sentence
}

/// Why a program whose own threads share processors is not predicted for more.
pub(crate) fn crowded(crowd: &Oversubscription) -> String {
    format!(
        "Its {} {} {} already, so more threads are taken to change nothing.",
        threads(crowd.threads),
        if crowd.first.is_some() {
            "are bound to"
        } else {
            "share"
        },
        match crowd.processors {
            1 => "1 processor".to_owned(),
            n => format!("{n} processors"),
        }
    )
}

/// Where the program stops gaining; `last` is the largest thread count predicted.
pub(crate) fn stop(best: u32, limit: u32, last: &Point, worthwhile: f64) -> String {
    if best >= limit && limit > 1 {
        return format!("It gains up to {}.", threads(limit));
    }
    // Less than what is worthwhile may be a loss.
    if last.threads > best && last.speedup < 1.0 - worthwhile && best <= 1 {
        return format!("It is fastest with {}.", threads(best));
    }
    format!(
        "Beyond {} it gains less than {} more, if anything.",
        threads(best),
        percent(worthwhile)
    )
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
