//! A counter over time: all tasks together, some of them, and the highest peaks.

use super::options::{INDENT, SkylineOptions};
use crate::facts::PagingFacts;
use crate::section::choice::Chosen;
use crate::section::{near, words};
use fathomp_paging::{CounterSet, State, StateSet};
use fathomp_report::text::sparkline;
use fathomp_report::text::{Grid, columns, fit, printable, readable, wrapped};
use fathomp_skyline::{Axis, Peak, Profile, Selection};
use fathomp_types::text::shorten;
use fathomp_types::units::{self, duration, percent};

/// A task that counts less than this part of all has no curve.
const LEAST_PART: u64 = 200;
/// Letters of a task's name beside its curve.
const LABEL_MAX: usize = 22;
/// Letters of a curve at least.
const CURVE_MIN: usize = 22;
/// Letters of the highest rate behind a curve, at least.
const HIGHEST_MIN: usize = 12;
/// Tasks with a curve, unless they were asked for.
const CURVES_MAX: usize = 8;

pub(super) fn show(
    paging: &PagingFacts,
    one: Chosen<'_>,
    places: &[usize],
    options: &SkylineOptions,
) -> String {
    let width = options.width;
    let mut text = wrapped(&title(one), width, "");
    text.push_str(&curves(paging, one, places, options));
    if options.published {
        let line = format!(
            "The sum of the tasks' skylines, as published, misses the true sum by {} of all counts.",
            percent(one.profile.published.error_share)
        );
        text.push_str(INDENT);
        text.push_str(&wrapped(&line, width - INDENT.len(), INDENT));
    }
    text.push_str(&peaks(paging, one, width));
    text
}

fn title(one: Chosen<'_>) -> String {
    let counter = one.facts.counter;
    let name = words::counter(counter);
    let mut title = format!("{}{}", &name[..1].to_uppercase(), &name[1..]);
    if one.profile.states != StateSet::ALL {
        title.push_str(&format!(" in {}", one.profile.title));
    }
    format!("{title}: {}", words::amount(counter, one.profile.total))
}

/// A curve with its name and its highest rate.
struct Curve {
    label: String,
    values: Vec<f64>,
    highest: String,
}

fn curves(
    paging: &PagingFacts,
    one: Chosen<'_>,
    places: &[usize],
    options: &SkylineOptions,
) -> String {
    let profile = one.profile;
    let by_phase = options.axis == Axis::Phases;
    let all = match (&profile.phases, by_phase) {
        (Some(phases), true) => &phases.counts,
        (None, true) => {
            return format!("{INDENT}No barriers were recorded: there is no logical time.\n");
        }
        (_, false) => &profile.bins,
    };
    let bin_ns = paging.analysis.window.bin_ns;
    let curve = |label: String, counts: &[f64]| Curve {
        label,
        highest: highest(one, counts, by_phase, bin_ns),
        values: counts.to_vec(),
    };
    let floats = |counts: &[u64]| counts.iter().map(|count| *count as f64).collect::<Vec<_>>();
    let mut curves = vec![curve("all tasks".to_owned(), &floats(all))];
    if let Some(bins) = profile
        .published
        .bins
        .as_ref()
        .filter(|_| options.published && !by_phase)
    {
        curves.push(curve("as published".to_owned(), bins));
    }
    let selection = Selection {
        counter: one.facts.counter,
        states: profile.states,
    };
    let single = paging.analysis.tasks.len() < 2;
    let most = match options.tasks {
        Some(_) => usize::MAX,
        None if single => 0,
        None => CURVES_MAX,
    };
    if let Some(bins) = &paging.bins {
        // Tasks that hardly count at all have nothing to show, unless they are asked for.
        let least = match options.tasks {
            Some(_) => 1,
            None => (one.profile.total / LEAST_PART).max(1),
        };
        let counted = places.iter().filter(|place| {
            let task = paging.analysis.tasks.get(**place);
            let count = task.and_then(|task| task.totals.get(&one.facts.counter));
            count.is_some_and(|count| *count >= least)
        });
        let counted: Vec<usize> = counted.copied().collect();
        let step = counted.len().div_ceil(most.max(1)).max(1);
        for place in counted.into_iter().step_by(step).take(most) {
            let counts = if by_phase {
                bins.of_task_in_phases(place, selection)
            } else {
                bins.of_task(place, selection)
            };
            let label = printable(&paging.analysis.tasks[place].label);
            curves.push(curve(label, &floats(&counts)));
        }
    }
    draw(paging, &curves, by_phase.then_some(all.len()), options)
}

/// The highest value: a rate in wall time, a count in a phase.
fn highest(one: Chosen<'_>, counts: &[f64], by_phase: bool, bin_ns: u64) -> String {
    let counter = one.facts.counter;
    let most = counts.iter().copied().fold(0.0, f64::max);
    if by_phase {
        format!("{} a phase", words::amount(counter, most as u64))
    } else {
        words::rate(counter, most * 1e9 / bin_ns.max(1) as f64)
    }
}

fn draw(
    paging: &PagingFacts,
    curves: &[Curve],
    phases: Option<usize>,
    options: &SkylineOptions,
) -> String {
    let highest = curves.iter().map(|curve| columns(&curve.highest));
    let highest = highest.max().unwrap_or(0).max(HIGHEST_MIN);
    let labels = curves.iter().map(|curve| columns(&curve.label));
    let room = readable(options.width).saturating_sub(INDENT.len() + highest + 4);
    let label_most = LABEL_MAX.min(room.saturating_sub(CURVE_MIN));
    let label_width = labels.max().unwrap_or(0).min(label_most);
    let steps = room - label_width;
    let mut text = String::new();
    for curve in curves {
        let label = fit(&curve.label, label_width);
        let padding = " ".repeat(label_width.saturating_sub(columns(&label)));
        let line = sparkline(&curve.values, steps, options.glyphs);
        let blank = " ".repeat(steps - line.chars().count());
        text.push_str(&format!(
            "{INDENT}{label}{padding} |{line}{blank}| {}\n",
            curve.highest
        ));
    }
    let window = &paging.analysis.window;
    let (from, to) = match phases {
        Some(phases) => ("phase 1".to_owned(), units::count(phases as u64)),
        None => (
            units::tick(window.from_ns as f64),
            units::tick(window.to_ns as f64),
        ),
    };
    let gap = steps.saturating_sub(from.chars().count() + to.chars().count());
    text.push_str(&format!(
        "{INDENT}{} {from}{}{to}\n",
        " ".repeat(label_width + 1),
        " ".repeat(gap)
    ));
    text
}

/// The highest peaks of all tasks together.
fn peaks(paging: &PagingFacts, one: Chosen<'_>, width: usize) -> String {
    let skyline = &one.profile.skyline;
    if skyline.peaks.is_empty() {
        return String::new();
    }
    if skyline.is_doubtful() {
        let sentence = format!(
            "It has {} alike; the {} highest hold only {} of the counts, so they are not listed.",
            units::plural(skyline.peaks_found as u64, "peak"),
            skyline.peaks.len(),
            percent(skyline.kept_share)
        );
        return INDENT.to_owned() + &wrapped(&sentence, width - INDENT.len(), INDENT);
    }
    let counter = one.facts.counter;
    let mut grid = Grid::new("  Peak at")
        .column("Length", 1)
        .column("Highest", 0)
        .column("Counts", 0)
        .column("Share", 0)
        .words("Mostly in", 2)
        .words("Near", 3);
    for peak in &skyline.peaks {
        let share = peak.mass as f64 / skyline.total.max(1) as f64;
        let near = near::place(paging, peak);
        grid.row(
            format!("{INDENT}{}", duration(peak.from_ns as f64)),
            vec![
                duration(peak.to_ns.saturating_sub(peak.from_ns) as f64),
                words::rate(counter, peak.highest_per_second),
                words::amount(counter, peak.mass),
                percent(share),
                mostly(one, peak).map_or("", words::state).to_owned(),
                printable(&shorten(&near, 30)),
            ],
        );
    }
    let found = skyline.peaks_found as u64;
    let kept = skyline.peaks.len() as u64;
    let mut text = grid.render(width);
    let more = if found > kept {
        format!(
            "{} of {}; the background holds {} at {}.",
            units::plural(kept, "peak"),
            units::count(found),
            percent(1.0 - skyline.kept_share),
            words::rate(counter, skyline.background.per_second)
        )
    } else {
        format!(
            "Between them {} of the counts, at {}.",
            percent(1.0 - skyline.kept_share),
            words::rate(counter, skyline.background.per_second)
        )
    };
    text.push_str(INDENT);
    text.push_str(&wrapped(&more, width - INDENT.len(), INDENT));
    text
}

/// The state that most of a peak's counts were counted in.
fn mostly(one: Chosen<'_>, peak: &Peak) -> Option<State> {
    // What only samplers see has no state.
    if CounterSet::SAMPLED_ONLY.contains(one.facts.counter) {
        return None;
    }
    let range = peak.first_bin..peak.first_bin.saturating_add(peak.bins);
    let of = |profile: &Profile| -> u64 {
        let bins = profile.bins.get(range.clone()).unwrap_or_default();
        bins.iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count))
    };
    let only = |profile: &Profile| {
        let mut states = profile.states.iter();
        let first = states.next()?;
        states.next().is_none().then_some(first)
    };
    // Where all counts of a counter are in one state, there is no profile for it alone.
    let counted = one
        .facts
        .by_state
        .iter()
        .filter(|count| **count > 0)
        .count();
    if counted == 1 {
        let place = one.facts.by_state.iter().position(|count| *count > 0)?;
        return State::from_index(place);
    }
    let states = one.facts.profiles.iter().filter_map(|profile| {
        let state = only(profile)?;
        Some((of(profile), state))
    });
    let (count, state) = states.max_by_key(|(count, _)| *count)?;
    (count > 0).then_some(state)
}
