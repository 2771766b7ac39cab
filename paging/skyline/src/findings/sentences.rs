//! Facts in words.

use crate::facts::{Analysis, Axis, Fact, Load, Period, Resource};
use crate::words;
use fathomp_paging::TaskId;
use fathomp_types::{text, units};

/// The sentence of a fact.
pub(super) fn sentence(fact: &Fact, analysis: &Analysis) -> String {
    let label = |task: &TaskId| {
        let known = analysis.tasks.iter().find(|one| one.id == *task);
        known.map_or_else(|| format!("task {}", task.0), |task| task.label.clone())
    };
    text::sentence(&match fact {
        Fact::Early {
            counter,
            states,
            share,
            by_ns,
            later_per_second,
            is_over,
        } => {
            let what = format!("{}{}", words::noun(*counter), words::within(*states));
            let by = words::ns(*by_ns);
            if *share >= 1.0 || *later_per_second <= 0.0 {
                format!("all {what} come before {by}, none after that")
            } else {
                let later = words::per_second(*later_per_second);
                let rest = match is_over {
                    true => format!("after that there are next to none, {later}"),
                    false => format!("after that there are {later}"),
                };
                format!(
                    "{} of {what} come before {by}; {rest}",
                    words::share(*share)
                )
            }
        }
        Fact::Flat {
            counter,
            states,
            per_second,
            ..
        } => format!(
            "{}{} come at a constant rate, {}",
            words::noun(*counter),
            words::within(*states),
            words::per_second(*per_second)
        ),
        Fact::Periodic {
            counter,
            states,
            axis,
            wall,
            phases,
            tasks,
            of,
        } => format!(
            "{}{} repeat {}{}",
            words::noun(*counter),
            words::within(*states),
            periods(*axis, wall.as_ref(), phases.as_ref()),
            match (*tasks, *of) {
                (tasks, of) if of > 1 && tasks == of =>
                    format!(", each of {of} tasks by itself, too"),
                _ => String::new(),
            }
        ),
        Fact::PeaksBesideEachOther {
            counter,
            states,
            period_ns,
            tasks,
            lag_ns,
            at_lag,
            at_once,
        } => format!(
            "{tasks} tasks have peaks of {}{} every {}, near each other but not at the same \
             times: two tasks agree best {} apart (correlation {}, against {} at once)",
            words::noun(*counter),
            words::within(*states),
            units::duration(*period_ns),
            units::duration(*lag_ns),
            words::correlation(*at_lag),
            words::correlation(*at_once)
        ),
        Fact::ActivityDominates {
            counter,
            activity,
            share,
            time_share,
        } => format!(
            "most {} ({}) come in {}, which takes {} of the time",
            words::noun(*counter),
            words::share(*share),
            words::activity(*activity),
            units::percent(*time_share)
        ),
        Fact::Suspended {
            share,
            activity,
            activity_share,
        } => format!(
            "tasks spend {} of their time in stays in which they give their processors up, {} \
             of that in {}",
            units::percent(*share),
            words::share(*activity_share),
            words::activity(*activity)
        ),
        Fact::TasksAlike {
            counter,
            states,
            axis,
            mean,
            by_chance,
            groups,
            largest,
            of,
            ..
        } => format!(
            "{of} tasks have {}{} {}: they agree to {}, where chance gives {}{}",
            words::noun(*counter),
            words::within(*states),
            match axis {
                Axis::Wall => "at the same times",
                Axis::Phases => "in the same phases between barriers",
            },
            words::correlation(*mean),
            words::correlation(*by_chance),
            match (*groups, *largest) {
                (0, _) => String::new(),
                (1, largest) if largest == *of => String::new(),
                (groups, largest) => format!(
                    "; they form {}, the largest of {}",
                    units::plural(groups, "group"),
                    words::tasks(largest)
                ),
            }
        ),
        Fact::TaskUnlike {
            counter,
            states,
            task,
            similarity,
            others,
        } => format!(
            "{} has {}{} at other times than the others: it agrees with them to {}, they among \
             themselves to {}",
            label(task),
            words::noun(*counter),
            words::within(*states),
            words::correlation(*similarity),
            words::correlation(*others)
        ),
        Fact::TaskAmount {
            counter,
            task,
            count,
            others,
        } => format!(
            "{} has {} {}, the others about {} each",
            label(task),
            words::count(*count),
            words::noun(*counter),
            words::count(*others)
        ),
        Fact::Synchronised {
            counter,
            states,
            points,
            by_chance,
            at_barriers,
            barrier,
        } => format!(
            "at {points} moments most tasks are in a peak of {}{} at once (chance gives {}){}",
            words::noun(*counter),
            words::within(*states),
            units::ratio(*by_chance),
            match (*at_barriers, barrier) {
                (0, _) => String::new(),
                (near, None) => format!(", {near} of them at barriers"),
                (near, Some(name)) => format!(", {near} of them at barriers, most at {name}"),
            }
        ),
        Fact::PeakLoad { load } => peak_load(load),
        Fact::TooFew { counter, total } => format!(
            "no picture is drawn of {} {}: too few",
            words::count(*total),
            words::noun(*counter)
        ),
        Fact::TimesUnknown {
            counter,
            total,
            share,
            sampled,
        } => format!(
            "when {} {} came is not known: {} of them lie in intervals longer than a thirtieth of \
             the run, or without length{}",
            words::count(*total),
            words::noun(*counter),
            units::percent(*share),
            match *sampled {
                true => "",
                false => "; record with --sample 1ms to learn it",
            }
        ),
        Fact::ManyPeaks {
            counter,
            states,
            peaks,
            kept,
            share,
        } => format!(
            "the {kept} highest of {} peaks of {}{} hold {} of them, so the filtered skyline is \
             no picture of the run",
            words::count(*peaks),
            words::noun(*counter),
            words::within(*states),
            units::percent(*share)
        ),
        Fact::PublishedSumMisses {
            counter,
            states,
            error_share,
        } => format!(
            "the sum of skylines, the published cumulative profile, differs from the true sum \
             of {}{} by {}",
            words::noun(*counter),
            words::within(*states),
            units::percent(*error_share)
        ),
    })
}

fn periods(axis: Axis, wall: Option<&Period>, phases: Option<&Period>) -> String {
    let every_phases = |phases: &Period| {
        let steps = phases.steps;
        let steps = match (steps - steps.round()).abs() < 0.1 {
            true => format!("{:.0}", steps.round()),
            false => units::ratio(steps),
        };
        format!("every {steps} phases between barriers")
    };
    match (axis, wall, phases) {
        (Axis::Phases, _, Some(phases)) => format!(
            "{} (about {}), with a correlation of {}",
            every_phases(phases),
            units::duration(phases.ns),
            words::correlation(phases.r)
        ),
        (_, Some(wall), phases) => format!(
            "every {}{}, with a correlation of {}",
            units::duration(wall.ns),
            phases.map_or(String::new(), |phases| format!(
                " ({})",
                every_phases(phases)
            )),
            words::correlation(wall.r)
        ),
        // Not made: the axis is that of a period that was found.
        (_, None, _) => "regularly".to_owned(),
    }
}

fn peak_load(load: &Load) -> String {
    let pages = units::count(load.pages_per_second.round().clamp(0.0, 1e18) as u64);
    let bytes = units::bytes(load.bytes_per_second.clamp(0.0, 1e18) as u64);
    let what = match load.resource {
        // A fault may bring many pages.
        Resource::Memory => {
            format!(
                "at most {pages} {} come in a second",
                words::noun(load.counter)
            )
        }
        Resource::DiskWrites => format!(
            "at most {pages} pages of files ({bytes}) are made dirty in a second; when they reach \
             a disk is not known"
        ),
        _ => format!(
            "the highest load on {} is {pages} pages a second ({bytes}/s)",
            load.resource.title()
        ),
    };
    format!(
        "{what}, at {} for {}",
        words::ns(load.from_ns),
        words::ns(load.to_ns - load.from_ns)
    )
}
