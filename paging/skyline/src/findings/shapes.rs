//! Early, flat, periodic; and what is not to be said.

use super::About;
use crate::facts::{Axis, Fact, Period, Shape};
use crate::settings::Settings;
use fathomp_types::units;
use std::mem::discriminant;

/// Relative difference up to which two periods are the same.
pub(super) const SAME: f64 = 0.1;

/// Multiples up to which periods are of one thing.
const MULTIPLE_MAX: f64 = 6.5;

pub(super) fn find(about: &About<'_>, settings: &Settings, say: &mut impl FnMut(Fact, String)) {
    let profile = about.profile;
    shape(about, settings, say);
    if let Some((axis, best)) = period(about) {
        let evidence = evidence(&best, axis);
        say(best_fact(about, axis), evidence);
    }
    let skyline = &profile.skyline;
    if about.all.is_none()
        && skyline.is_doubtful()
        && !matches!(
            profile.shape,
            Shape::TooFew | Shape::Unknown | Shape::Flat { .. }
        )
    {
        say(
            Fact::ManyPeaks {
                counter: about.counter,
                states: about.states(),
                peaks: skyline.peaks_found as u64,
                kept: skyline.peaks.len() as u64,
                share: skyline.kept_share,
            },
            format!(
                "Peaks are runs of bins above the mean; {} of {} bins are.",
                skyline.peak_bins, skyline.bins
            ),
        );
    }
    if about.all.is_none() && settings.keep_published && profile.total > 0 {
        say(
            Fact::PublishedSumMisses {
                counter: about.counter,
                states: about.states(),
                error_share: profile.published.error_share,
            },
            "Sum of absolute differences per bin, relative to all counts.".to_owned(),
        );
    }
}

fn shape(about: &About<'_>, settings: &Settings, say: &mut impl FnMut(Fact, String)) {
    let profile = about.profile;
    let (counter, states) = (about.counter, about.states());
    // What all states show needs no saying for each.
    if about
        .all
        .is_some_and(|all| discriminant(&all.shape) == discriminant(&profile.shape))
        || !about.is_worth_saying()
    {
        return;
    }
    let evidence = format!(
        "{} in {} of the record, {} bins of {}.",
        units::count(profile.total),
        units::plural(profile.intervals, "interval"),
        profile.bins.len(),
        units::duration(about.analysis.window.bin_ns as f64)
    );
    match profile.shape {
        Shape::Early {
            share,
            by_ns,
            later_per_second,
            is_over,
        } => say(
            Fact::Early {
                counter,
                states,
                share,
                by_ns,
                later_per_second,
                is_over,
            },
            evidence,
        ),
        // What repeats is constant in the long run, too.
        Shape::Flat {
            per_second,
            variation,
        } if profile.period.is_none() => say(
            Fact::Flat {
                counter,
                states,
                per_second,
                variation,
            },
            evidence,
        ),
        Shape::TooFew if about.all.is_none() && profile.total > 0 => say(
            Fact::TooFew {
                counter,
                total: profile.total,
            },
            evidence,
        ),
        Shape::Unknown if about.all.is_none() => say(
            Fact::TimesUnknown {
                counter,
                total: profile.total,
                share: profile.vague_share,
                sampled: settings.sampled,
            },
            evidence,
        ),
        _ => {}
    }
}

/// The period by the axis on which it repeats better; none where all states have the same.
fn period(about: &About<'_>) -> Option<(Axis, Period)> {
    if !about.is_worth_saying() {
        return None;
    }
    let (wall, phases) = periods(about.profile);
    let best = match (wall, phases) {
        (Some(wall), Some(phases)) if phases.r < wall.r => (Axis::Wall, wall),
        (_, Some(phases)) => (Axis::Phases, phases),
        (Some(wall), None) => (Axis::Wall, wall),
        (None, None) => return None,
    };
    let of_all = about.all.map_or((None, None), periods);
    let same = match best.0 {
        Axis::Wall => of_all.0,
        Axis::Phases => of_all.1,
    };
    let same = same.is_some_and(|other| is_multiple(best.1.steps, other.steps));
    (!same).then_some(best)
}

/// Whether one period is a small multiple of the other, or the same: both are of one thing.
fn is_multiple(one: f64, other: f64) -> bool {
    let ratio = (one / other).max(other / one);
    ratio < MULTIPLE_MAX && (ratio / ratio.round() - 1.0).abs() < SAME / 2.0
}

fn periods(profile: &crate::facts::Profile) -> (Option<Period>, Option<Period>) {
    let phases = profile.phases.as_ref().and_then(|phases| phases.period);
    (profile.period, phases)
}

fn best_fact(about: &About<'_>, axis: Axis) -> Fact {
    let (wall, phases) = periods(about.profile);
    let common = match axis {
        Axis::Wall => wall,
        Axis::Phases => phases,
    };
    let is_same =
        |period: &Period| common.is_some_and(|common| (period.ns / common.ns - 1.0).abs() < SAME);
    // Another period on the other axis is another matter.
    let (wall, phases) = (wall.filter(is_same), phases.filter(is_same));
    let tasks = about.profile.tasks.iter();
    let having = tasks.filter(|task| task.period.as_ref().is_some_and(is_same));
    Fact::Periodic {
        counter: about.counter,
        states: about.states(),
        axis,
        wall,
        phases,
        tasks: having.count() as u64,
        of: about.profile.tasks.len() as u64,
    }
}

fn evidence(period: &Period, axis: Axis) -> String {
    let steps = match axis {
        Axis::Wall => "bins",
        Axis::Phases => "phases",
    };
    format!(
        "Autocorrelation {} at {} {steps}, {} needed; {} periods seen.",
        units::ratio(period.r),
        units::ratio(period.steps),
        units::ratio(period.r_least),
        units::ratio(period.repeats)
    )
}
