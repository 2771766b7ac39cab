//! Figures as drawings.

use super::{Colour, Comparison, colour};
use crate::chart::{Area, Chart, Dot, Mark, Path, Plot, Scale, Tick, plot, short};
use crate::units;
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Figure, Quantity, Summary};
use serde::Serialize;

/// More rows than this do not fit a drawing that can be read.
const ROWS_MAX: usize = 120;

/// A figure, drawn.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn {
    id: String,
    title: String,
    fixed: String,
    /// Of a family, whose curves are no columns.
    legend: Vec<Colour>,
    chart: Chart,
}

/// Draws a figure; what its axes mean is said in words too.
pub(super) fn draw(summary: &Summary, figure: &Figure) -> Drawn {
    let unit = figure.y_unit.as_str();
    let axis = |name: &str, unit: &str| {
        if unit.is_empty() {
            name.to_owned()
        } else {
            format!("{name} ({unit})")
        }
    };
    let curves = figure.series.iter().map(|series| {
        let marks = series.points.iter().map(|[x, value, low, high]| Mark {
            x: *x,
            y: *value,
            low: *low,
            high: *high,
            title: format!(
                "{}, {} {}: {} {unit} ({} to {})",
                series.name,
                figure.x,
                short(*x),
                short(*value),
                short(*low),
                short(*high)
            ),
        });
        (colour(series.colour), marks.collect())
    });
    let in_bytes = figure.x_unit == "bytes";
    let clock = figure
        .series
        .first()
        .and_then(|one| summary.columns[one.column].cycles_of);
    Drawn {
        id: figure.id.clone(),
        title: figure.title.clone(),
        fixed: figure.fixed.clone(),
        legend: legend(figure),
        chart: plot(&Plot {
            label: format!("{} of {} over {}", figure.y, figure.title, figure.x),
            x_title: axis(&figure.x, if in_bytes { "" } else { &figure.x_unit }),
            y_title: axis(&figure.y, unit),
            y_logarithmic: figure.y_logarithmic,
            x_label: if in_bytes { size } else { short },
            right: figure
                .cycles_per_unit
                .map(|rate| (cycles_title(figure.quantity, clock), rate)),
            curves: curves.collect(),
            uprights: &figure.marks,
        }),
    }
}

fn legend(figure: &Figure) -> Vec<Colour> {
    let all = figure.series.iter().filter(|_| figure.family);
    all.map(|series| Colour {
        class: colour(series.colour),
        name: series.name.clone(),
    })
    .collect()
}

fn cycles_title(quantity: Quantity, clock: Option<&str>) -> String {
    let per = if quantity == Quantity::OverheadNsPerMb {
        " per MB"
    } else {
        ""
    };
    match clock {
        Some(clock) if clock.starts_with("time stamp") => format!("time stamp cycles{per}"),
        _ => format!("core clock cycles{per}"),
    }
}

/// A size on an axis, without digits that say nothing.
fn size(bytes: f64) -> String {
    let text = units::bytes(bytes as u64);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// The subject's overhead over that of the best other column, a line per case,
/// at the largest team that had a processor for each thread.
pub(super) fn comparison(summary: &Summary, suite: SuiteName) -> Option<Comparison> {
    let subject = &summary.columns[summary.subject?];
    let of_suite = || {
        let points = summary.points.iter();
        points.filter(|point| point.suite == suite && point.quantity.is_overhead())
    };
    let fits = |threads: &u32| subject.has_room(*threads);
    let threads = of_suite()
        .map(|point| point.threads)
        .filter(fits)
        .max()
        .or_else(|| of_suite().map(|point| point.threads).min())?;
    let rows: Vec<_> = of_suite()
        .filter(|point| point.threads == threads)
        .filter_map(|point| Some((point, point.against_best()?)))
        .take(ROWS_MAX)
        .collect();
    if rows.is_empty() {
        return None;
    }
    const ROW: f64 = 15.0;
    let plot = Area {
        x: 230.0,
        y: 18.0,
        w: 420.0,
        h: ROW * rows.len() as f64,
    };
    let bound = |value: f64| value.clamp(1.0 / 64.0, 64.0);
    let ends = rows
        .iter()
        .flat_map(|(_, ratio)| [ratio.interval.low, ratio.interval.high, ratio.value]);
    let (least, most) = ends
        .filter(|value| value.is_finite())
        .map(bound)
        .fold((0.5, 2.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
    let x = Scale::logarithmic(least / 1.1, most * 1.1, plot.x, plot.x + plot.w);
    let powers = (-6..=6).map(|power| 2f64.powi(power));
    let powers = powers.filter(|value| (least / 1.1..=most * 1.1).contains(value));
    let mut chart = Chart {
        label: format!(
            "Ratio of {} to the best of the others, case by case",
            subject.name
        ),
        width: 680.0,
        height: plot.y + plot.h + 46.0,
        plot,
        x_ticks: x.ticks_at(powers, 30.0, short),
        right_ticks: Vec::new(),
        right_title: String::new(),
        y_ticks: Vec::new(),
        x_title: "ratio to the best other; left of the line is better".to_owned(),
        y_title: String::new(),
        paths: Vec::new(),
        bars: Vec::new(),
        dots: Vec::new(),
        words: Vec::new(),
    };
    let one = x.at(1.0);
    chart.paths.push(Path {
        class: "line ideal".to_owned(),
        d: format!("M{one} {}L{one} {}", plot.y, plot.y + plot.h),
    });
    for (index, (point, ratio)) in rows.iter().enumerate() {
        let at = plot.y + ROW * (index as f64 + 0.5);
        chart.y_ticks.push(Tick {
            at,
            label: point.name(),
        });
        let class = colour(ratio.against);
        let (low, high) = (
            x.at(bound(ratio.interval.low)),
            x.at(bound(ratio.interval.high)),
        );
        chart.paths.push(Path {
            class: format!("line whisker {class}"),
            d: format!("M{low} {at}L{high} {at}"),
        });
        chart.dots.push(Dot {
            class: class.to_owned(),
            x: x.at(bound(ratio.value)),
            y: at,
            r: 4.0,
            title: format!(
                "{}: {} of {} ({} to {}){}",
                point.name(),
                units::ratio(ratio.value),
                summary.columns[ratio.against].name,
                units::ratio(ratio.interval.low),
                units::ratio(ratio.interval.high),
                if ratio.at_floor {
                    ", both too small to see"
                } else {
                    ""
                }
            ),
        });
    }
    Some(Comparison {
        chart,
        caption: format!(
            "{} over the best of the others with {}: medians with 95 % intervals. The colour says which other column was best. Where both overheads are too small to be seen, the ratio is 1.",
            subject.name,
            units::plural(threads.into(), "thread")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_on_an_axis_have_no_needless_digits() {
        assert_eq!(size(4096.0), "4 KiB");
        assert_eq!(size(1.5 * 1024.0 * 1024.0), "1.5 MiB");
        assert_eq!(size(64.0), "64 B");
    }
}
