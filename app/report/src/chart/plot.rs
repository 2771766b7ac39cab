//! Several curves with intervals over a parameter, with a second scale at the
//! right.

use super::{Area, Chart, Dot, Path, Scale, Tick, Word, tidy};
use std::fmt::Write as _;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 320.0;
const PLOT: Area = Area {
    x: 62.0,
    y: 20.0,
    w: 396.0,
    h: 248.0,
};
/// Half the width of a whisker's end.
const WHISKER: f64 = 3.0;

/// What to draw.
#[derive(Debug)]
pub struct Plot<'a> {
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// Titles of the axes.
    pub x_title: String,
    /// See `x_title`.
    pub y_title: String,
    /// The vertical axis is logarithmic.
    pub y_logarithmic: bool,
    /// How positions are written.
    pub x_label: fn(f64) -> String,
    /// Title of the right axis, and how many of its units one of the left are.
    pub right: Option<(String, f64)>,
    /// CSS class and points: position, value, lower and upper end, words.
    pub curves: Vec<(&'static str, Vec<Mark>)>,
    /// Upright lines with words.
    pub uprights: &'a [(f64, String)],
}

/// A measured point.
#[derive(Debug)]
pub struct Mark {
    /// Where it is on the horizontal axis.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Words on hovering.
    pub title: String,
}

/// The drawing; positions are on a scale of powers of two.
#[must_use]
pub fn plot(plot: &Plot<'_>) -> Chart {
    let marks = || plot.curves.iter().flat_map(|(_, marks)| marks);
    let mut positions: Vec<f64> = marks()
        .map(|mark| mark.x)
        .filter(|x| x.is_finite())
        .collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    let (right, bottom) = (PLOT.x + PLOT.w, PLOT.y + PLOT.h);
    let first = positions.first().copied().unwrap_or(1.0);
    let last = positions.last().copied().unwrap_or(2.0);
    let x = Scale::logarithmic(first, last, PLOT.x + 8.0, right - 8.0);
    let values = || marks().map(|mark| mark.y).filter(|y| y.is_finite());
    let most = values().fold(0.0, f64::max);
    let least = values().fold(f64::INFINITY, f64::min).min(most);
    let (y, y_ticks) = if plot.y_logarithmic && least > 0.0 {
        let y = Scale::logarithmic(least / 1.3, most * 1.3, bottom, PLOT.y);
        let ticks = y.ticks_at(decades(least / 1.3, most * 1.3), 16.0, short);
        (y, ticks)
    } else {
        let room = 0.06 * (most - least.min(0.0)).max(f64::MIN_POSITIVE);
        let y = Scale::linear(least.min(0.0), most + room, bottom, PLOT.y);
        let ticks = y.ticks(5, short_at);
        (y, ticks)
    };
    let mut chart = Chart {
        label: plot.label.clone(),
        width: WIDTH,
        height: HEIGHT,
        plot: PLOT,
        x_ticks: x.ticks_to_ends(positions, 44.0, plot.x_label),
        right_ticks: plot
            .right
            .as_ref()
            .map_or_else(Vec::new, |(_, rate)| right_ticks(&y, &y_ticks, *rate)),
        right_title: plot
            .right
            .as_ref()
            .map_or_else(String::new, |(title, _)| title.clone()),
        y_ticks,
        x_title: plot.x_title.clone(),
        y_title: plot.y_title.clone(),
        paths: Vec::new(),
        bars: Vec::new(),
        dots: Vec::new(),
        words: Vec::new(),
    };
    for (at, words) in plot.uprights {
        upright(&mut chart, x.at(*at), words);
    }
    for (class, marks) in &plot.curves {
        curve(&mut chart, class, marks, &x, &y);
    }
    chart
}

/// The left axis's ticks in the right axis's unit: at the same heights, so that
/// the grid serves both.
fn right_ticks(y: &Scale, left: &[Tick], rate: f64) -> Vec<Tick> {
    left.iter()
        .map(|tick| {
            let value = y.value_at(tick.at) * rate;
            // Places are rounded; zero is to be zero all the same.
            let none = value.abs() < 1e-3 * (y.largest() * rate).abs() && !y.is_logarithmic();
            Tick {
                at: tick.at,
                label: short(if none { 0.0 } else { value }),
            }
        })
        .collect()
}

fn upright(chart: &mut Chart, at: f64, words: &str) {
    chart.paths.push(Path {
        class: "line ideal".to_owned(),
        d: format!("M{at} {}L{at} {}", PLOT.y, PLOT.y + PLOT.h),
    });
    chart.words.push(Word {
        class: String::new(),
        x: at - 4.0,
        y: PLOT.y + 10.0,
        anchor: "end",
        text: words.to_owned(),
    });
}

fn curve(chart: &mut Chart, class: &str, marks: &[Mark], x: &Scale, y: &Scale) {
    let mut line = String::new();
    let mut whiskers = String::new();
    for mark in marks {
        let (at, height) = (x.at(mark.x), y.at(mark.y));
        let letter = if line.is_empty() { 'M' } else { 'L' };
        let (low, high) = (y.at(mark.low), y.at(mark.high));
        // Writing to a string cannot fail.
        let _ = write!(line, "{letter}{at} {height}");
        if low - high > 2.0 {
            let (left, right) = (tidy(at - WHISKER), tidy(at + WHISKER));
            let _ = write!(
                whiskers,
                "M{at} {low}L{at} {high}M{left} {low}L{right} {low}M{left} {high}L{right} {high}"
            );
        }
        chart.dots.push(Dot {
            class: class.to_owned(),
            x: at,
            y: height,
            r: 3.5,
            title: mark.title.clone(),
        });
    }
    chart.paths.push(Path {
        class: format!("line {class}"),
        d: line,
    });
    if !whiskers.is_empty() {
        chart.paths.push(Path {
            class: format!("line whisker {class}"),
            d: whiskers,
        });
    }
}

/// 1, 2, 5 times powers of ten within a range; only powers where it is wide.
fn decades(from: f64, to: f64) -> Vec<f64> {
    let wide = to > from * 1e3;
    let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    (first..=last)
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|value| (from..=to).contains(value))
        .collect()
}

/// A number on an axis, with k and M for thousands and millions.
pub(crate) fn short(value: f64) -> String {
    let (scale, unit) = scale_of(value);
    let scaled = value / scale;
    let text = if scaled.abs() >= 99.95 {
        format!("{scaled:.0}")
    } else if scaled.abs() >= 9.995 {
        format!("{scaled:.1}")
    } else if scaled.abs() >= 0.0995 || scaled == 0.0 {
        format!("{scaled:.2}")
    } else {
        // Two digits that say something, of what is no zero.
        let zeros = (-scaled.abs().log10().floor()).clamp(1.0, 9.0) as usize;
        format!("{scaled:.decimals$}", decimals = zeros + 1)
    };
    trimmed(&text) + unit
}

/// A tick's value, as short as that, with the digits that steps of this size need.
pub(crate) fn short_at(value: f64, step: f64) -> String {
    let (scale, unit) = scale_of(value);
    let step = step / scale;
    let is_enough = |decimals: &i32| {
        let moved = step * 10f64.powi(*decimals);
        (moved - moved.round()).abs() < 1e-6 * moved
    };
    let decimals = (0..12).find(is_enough).unwrap_or(12);
    let text = format!("{:.*}", decimals.unsigned_abs() as usize, value / scale);
    trimmed(&text) + unit
}

/// What a value is divided by, and the letter for that.
fn scale_of(value: f64) -> (f64, &'static str) {
    match value.abs() {
        size if size >= 999_950.0 => (1e6, "M"),
        size if size >= 9_999.5 => (1e3, "k"),
        _ => (1.0, ""),
    }
}

/// Without zeros that say nothing.
fn trimmed(text: &str) -> String {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_say_where_they_are() {
        let value = |label: &str| -> f64 {
            let (number, unit) = match label.split_at(label.len() - 1) {
                (number, "k") => (number, 1e3),
                (number, "M") => (number, 1e6),
                _ => (label, 1.0),
            };
            number.parse::<f64>().unwrap() * unit
        };
        let tops = (0..9).flat_map(|power| (1..100).map(move |top| (power, f64::from(top) * 0.13)));
        for (power, top) in tops {
            let top = top * 10f64.powi(power - 3);
            for wanted in [3, 5, 6] {
                let scale = Scale::linear(0.0, top, 0.0, 1e9);
                let ticks = scale.ticks(wanted, short_at);
                let values: Vec<f64> = ticks.iter().map(|tick| value(&tick.label)).collect();
                for (tick, value) in ticks.iter().zip(&values) {
                    let place = scale.value_at(tick.at);
                    assert!(
                        (place - value).abs() < 1e-6 * top,
                        "{place}: {}",
                        tick.label
                    );
                }
            }
        }
    }

    fn mark(x: f64, y: f64) -> Mark {
        Mark {
            x,
            y,
            low: y * 0.8,
            high: y * 1.2,
            title: String::new(),
        }
    }

    fn chart(y_logarithmic: bool, marks: Vec<Mark>) -> Chart {
        plot(&Plot {
            label: String::new(),
            x_title: String::new(),
            y_title: String::new(),
            y_logarithmic,
            x_label: short,
            right: Some(("cycles".to_owned(), 3.0)),
            curves: vec![("s0", marks)],
            uprights: &[],
        })
    }

    #[test]
    fn the_right_axis_is_the_left_one_in_another_unit() {
        let drawn = chart(false, vec![mark(1.0, 0.0), mark(2.0, 100.0)]);
        let find = |ticks: &[Tick], label: &str| {
            ticks
                .iter()
                .find(|tick| tick.label == label)
                .map(|tick| tick.at)
        };
        assert!(find(&drawn.y_ticks, "100").is_some());
        assert_eq!(find(&drawn.y_ticks, "100"), find(&drawn.right_ticks, "300"));
    }

    #[test]
    fn decades_are_marked_on_a_logarithmic_axis() {
        let drawn = chart(true, vec![mark(4.0, 1.0), mark(4096.0, 1e5)]);
        let labels: Vec<&str> = drawn
            .y_ticks
            .iter()
            .map(|tick| tick.label.as_str())
            .collect();
        assert_eq!(labels, ["1", "10", "100", "1000", "10k", "100k"]);
    }

    #[test]
    fn nonsense_leaves_no_nan() {
        let drawn = chart(true, vec![mark(f64::NAN, f64::NAN), mark(1.0, -5.0)]);
        assert!(drawn.paths.iter().all(|path| !path.d.contains("NaN")));
        assert!(chart(true, Vec::new()).dots.is_empty());
    }

    #[test]
    fn axis_numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (2.5, "2.5"),
            (0.25, "0.25"),
            (0.001, "0.001"),
            (-0.0426, "-0.043"),
            (40.0, "40"),
            (12_345.0, "12.3k"),
            (2e6, "2M"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
