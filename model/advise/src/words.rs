//! Why, in words.

use crate::advice::Term;
use crate::choose::Choice;
use crate::model::is_refuted;
use crate::profile::Profile;
use crate::target::Target;

impl Term {
    /// What it is called in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Work => "its work divides well",
            Self::Bandwidth => "the bandwidth of memory",
            Self::Latency => "the latency of memory",
            Self::Imbalance => "unequal shares",
            Self::Pieces => "fewer pieces of work than threads can share",
            Self::Overhead => "forks, joins and barriers",
            Self::Serial => "code that every thread executes or waits for",
            Self::Mutex => "critical sections and locks",
            Self::Atomics => "atomic updates of shared variables",
            Self::Growth => "cores that slow each other down",
        }
    }
}

/// Constructs in an execution beside which its fork and join are little.
const MANY: f64 = 50.0;

/// The reason for a choice, as a sentence.
#[must_use]
pub fn reason(choice: &Choice, profile: &Profile, target: &Target) -> String {
    let advised = choice.advised.threads;
    let cores = target.machine.cores;
    let (term, share) = choice.limit;
    let at = choice.limit_threads;
    let percent = share * 100.0;
    let detail = detail(term, profile, target, at);
    let gain = choice.advised.gain;
    if advised == cores && cores > 1 {
        let gain = match choice.beyond {
            Some((_, true)) => format!(
                "{gain:.2} times as fast as one, whose caches are too small for the data; those of {cores} hold them"
            ),
            _ => format!("{gain:.2} times as fast as one"),
        };
        return match term {
            Term::Work => {
                format!("All {cores} threads are worth it: the work divides well ({gain}).")
            }
            term => format!(
                "All {cores} threads are worth it ({gain}); {percent:.0} % of the time goes to {}{detail}.",
                name(term, profile)
            ),
        };
    }
    let threads = |n: u32| match n {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    };
    match term {
        Term::Work => format!("{} are enough.", threads(advised)),
        term => format!(
            "{} {} enough: with {}, {percent:.0} % of the time goes to {}{detail}.",
            threads(advised),
            if advised == 1 { "is" } else { "are" },
            threads(at),
            name(term, profile)
        ),
    }
}

fn many_chunks(profile: &Profile) -> bool {
    let seen = &profile.seen;
    seen.chunks > MANY && seen.chunks > seen.barriers
}

/// What a term is called of a region, as far as is known which constructs it has.
fn name(term: Term, profile: &Profile) -> &'static str {
    let seen = &profile.seen;
    match term {
        Term::Overhead if many_chunks(profile) => "handing out the chunks of its loops",
        Term::Overhead if seen.barriers > MANY => "barriers inside",
        _ => term.words(),
    }
}

fn detail(term: Term, profile: &Profile, target: &Target, threads: u32) -> String {
    let per_s = |bytes: f64| format!("{:.1} GB/s", bytes / 1e9);
    match term {
        Term::Bandwidth | Term::Latency => {
            let bytes = profile.demand.as_ref().map(|d| d.bytes_at(threads));
            let machine = target.machine.bandwidth_at(f64::from(threads));
            match (bytes, profile.timed, machine) {
                (Some(_), Some(timed), _)
                    if timed.threads < 1.5 && is_refuted(profile, target, timed.computing_ns) =>
                {
                    " as far as one can tell: what its code seems to ask for is more than memory \
                     gives, so the caches must hold some of it"
                        .to_owned()
                }
                (Some(bytes), Some(timed), Some(machine)) if timed.threads < 1.5 => format!(
                    ": alone it asks for {} of the {} that {threads} threads get",
                    per_s(bytes / timed.computing_ns.max(1.0) * 1e9),
                    per_s(machine)
                ),
                (None, ..) => " as far as one can tell without its code".to_owned(),
                _ => String::new(),
            }
        }
        Term::Pieces => {
            let scanned = profile.work.as_ref().and_then(|w| w.division(threads));
            let pieces = profile.seen.pieces.or(scanned.map(|one| one.pieces));
            pieces
                .filter(|pieces| pieces.is_finite())
                .map_or(String::new(), |pieces| {
                    format!(" ({pieces:.0} pieces for {threads} threads)")
                })
        }
        Term::Imbalance => {
            let division = profile.work.as_ref().and_then(|w| w.division(threads));
            division.map_or(String::new(), |division| {
                format!(
                    " (the largest share is {:.0} % of the work instead of {:.0} %)",
                    division.largest * 100.0,
                    100.0 / f64::from(threads.max(1))
                )
            })
        }
        Term::Overhead if many_chunks(profile) => {
            format!(" ({:.0} in an execution)", profile.seen.chunks)
        }
        Term::Overhead => profile.timed.map_or(String::new(), |timed| {
            format!(" (an execution takes only {})", duration(timed.wall_ns))
        }),
        _ => String::new(),
    }
}

/// A time for people.
#[must_use]
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        value if value < 10.0 => format!("{value:.2} {unit}"),
        value if value < 100.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.0} {unit}"),
    }
}

/// What makes a choice doubtful, in sentences.
#[must_use]
pub fn doubts(choice: &Choice, profile: &Profile, target: &Target) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some((times, false)) = choice.beyond {
        doubts.push(format!(
            "One thread took {times:.2} times as long as {}, which more threads do not explain: one of the times is not to be trusted; record again on a quiet machine.",
            choice.advised.threads
        ));
    }
    let mut say = |sentence: &str| doubts.push(sentence.to_owned());
    let several = profile.measured_counts > 1;
    if profile.disturbed {
        say("Other programs took part of its time: what was measured is doubtful.");
    }
    match (&profile.timed, &profile.work) {
        (None, _) => {
            say("It was not recorded: times are relative, and its speed in the core is a guess.")
        }
        (Some(timed), _) if timed.executions < 3 => {
            say("It was executed fewer than 3 times: its time is not certain.")
        }
        _ => {}
    }
    if profile.work.is_none() && !several {
        say(
            "Its code was not scanned: how much memory it needs, and how its work divides, is not known.",
        );
    }
    if let Some(work) = &profile.work {
        if !profile.facts {
            say(
                "No execution says how many iterations it has: its loops are taken to have thousands.",
            );
        }
        if work.guessed > 0.2 {
            doubts.push(format!(
                "Trips of loops with {:.0} % of its instructions are a guess.",
                work.guessed * 100.0
            ));
        }
        if profile.understood < 0.8 {
            doubts.push(format!(
                "Only {:.0} % of its accesses and loops are understood.",
                profile.understood * 100.0
            ));
        }
        if work.mutexes >= 1.0 {
            doubts.push(
                "It enters critical sections or locks; how long it stays inside is not in its code."
                    .to_owned(),
            );
        }
    }
    if !target.measured {
        doubts.push("The machine's prices are assumed.".to_owned());
    }
    doubts
}
