//! Curves over the number of threads.

use super::{Area, Chart, Dot, Path, Scale, Word, short_at, tidy};
use crate::units;
use std::fmt::Write as _;

/// One curve.
pub(crate) struct Series {
    /// Name beside the curve; empty for none.
    pub(crate) name: String,
    /// CSS class.
    pub(crate) class: &'static str,
    /// Threads and value.
    pub(crate) points: Vec<(f64, f64)>,
    /// Threads, lower and upper end of the interval.
    pub(crate) band: Vec<(f64, f64, f64)>,
    /// Points are drawn, joined by a line only if they are computed values.
    pub(crate) measured: bool,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const PLOT: Area = Area {
    x: 52.0,
    y: 16.0,
    w: 470.0,
    h: 326.0,
};
/// Lines of labels at the end of curves are this far apart.
const LINE: f64 = 15.0;

/// Curves of speedup over thread counts from 1; `y_title` names the value.
pub(crate) fn line_chart(label: String, y_title: &str, series: &[Series]) -> Chart {
    let threads_max = all_x(series).fold(2.0, f64::max);
    let value_max = most(series).max(1.0);
    let y_top = (value_max * 1.15).min(threads_max * 1.15).max(1.25);
    draw_all(label, y_title, series, y_top)
}

/// Curves over thread counts from 1, as high as they reach.
pub(crate) fn curves_chart(label: String, y_title: &str, series: &[Series]) -> Chart {
    let highest = most(series);
    let y_top = if highest > 0.0 { highest * 1.15 } else { 1.0 };
    draw_all(label, y_title, series, y_top)
}

/// The highest point, that of the ideal apart.
fn most(series: &[Series]) -> f64 {
    // Leave out the bands: one wild upper end would flatten all curves.
    let points = series.iter().filter(|one| one.class != "ideal");
    let values = points.flat_map(|one| one.points.iter().map(|(_, y)| *y));
    values.filter(|y| y.is_finite()).fold(0.0, f64::max)
}

fn draw_all(label: String, y_title: &str, series: &[Series], y_top: f64) -> Chart {
    let threads_max = all_x(series).fold(2.0, f64::max);
    let right = PLOT.x + PLOT.w;
    let bottom = PLOT.y + PLOT.h;
    let x = if threads_max > 16.0 {
        Scale::logarithmic(1.0, threads_max, PLOT.x, right)
    } else {
        Scale::linear(1.0, threads_max, PLOT.x, right)
    };
    let y = Scale::linear(0.0, y_top, bottom, PLOT.y);
    let x_values: Vec<f64> = if threads_max > 16.0 {
        (0..12)
            .map(|power| f64::from(1 << power))
            .filter(|value| *value <= threads_max)
            .collect()
    } else {
        (1..=threads_max as u32).map(f64::from).collect()
    };

    let mut chart = Chart {
        label,
        width: WIDTH,
        height: HEIGHT,
        plot: PLOT,
        x_ticks: x.ticks_at(x_values, 24.0, |value| format!("{value:.0}")),
        y_ticks: y.ticks(6, short_at),
        right_ticks: Vec::new(),
        right_title: String::new(),
        x_title: "threads".to_owned(),
        y_title: y_title.to_owned(),
        paths: Vec::new(),
        bars: Vec::new(),
        dots: Vec::new(),
        words: Vec::new(),
    };
    for one in series {
        draw(&mut chart, one, &x, &y);
    }
    spread_words(&mut chart.words);
    chart
}

fn all_x(series: &[Series]) -> impl Iterator<Item = f64> {
    series
        .iter()
        .flat_map(|one| one.points.iter().map(|(x, _)| *x))
        .filter(|x| x.is_finite())
}

fn draw(chart: &mut Chart, one: &Series, x: &Scale, y: &Scale) {
    if !one.band.is_empty() {
        let upper = one.band.iter().map(|(p, _, high)| (x.at(*p), y.at(*high)));
        let lower = one
            .band
            .iter()
            .rev()
            .map(|(p, low, _)| (x.at(*p), y.at(*low)));
        chart.paths.push(Path {
            class: format!("band {}", one.class),
            d: path(upper.chain(lower)) + "Z",
        });
    }
    if one.measured {
        for (p, value) in &one.points {
            chart.dots.push(Dot {
                class: one.class.to_owned(),
                x: x.at(*p),
                y: y.at(*value),
                r: if one.class == "measured" { 5.0 } else { 3.0 },
                title: format!(
                    "{}: {} with {}",
                    one.name,
                    units::ratio(*value),
                    units::plural(*p as u64, "thread")
                ),
            });
        }
    } else {
        let inside = inside(&one.points, y);
        let points = inside.iter().map(|(p, value)| (x.at(*p), y.at(*value)));
        chart.paths.push(Path {
            class: format!("line {}", one.class),
            d: path(points),
        });
    }
    if let Some((p, value)) = inside(&one.points, y).last()
        && !one.measured
        && !one.name.is_empty()
    {
        chart.words.push(Word {
            class: one.class.to_owned(),
            x: x.at(*p) + 8.0,
            y: y.at(*value) + 4.0,
            anchor: "start",
            text: one.name.clone(),
        });
    }
}

/// The points up to where the curve leaves the drawing at its top.
fn inside<'a>(points: &'a [(f64, f64)], y: &Scale) -> &'a [(f64, f64)] {
    let count = points
        .iter()
        .position(|(_, value)| *value > y.largest())
        .unwrap_or(points.len());
    &points[..count]
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (index, (x, y)) in points.enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(d, "{letter}{x} {y}");
    }
    d
}

/// Moves labels apart that would overlap, keeping their order, and keeps them
/// inside the drawing.
fn spread_words(words: &mut [Word]) {
    words.sort_by(|a, b| a.y.total_cmp(&b.y));
    for index in 1..words.len() {
        let above = words[index - 1].y;
        if words[index].y < above + LINE {
            words[index].y = tidy(above + LINE);
        }
    }
    let mut limit = PLOT.y + PLOT.h;
    for word in words.iter_mut().rev() {
        if word.y > limit {
            word.y = tidy(limit);
        }
        limit = word.y - LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_at_the_same_height_are_moved_apart() {
        let flat = |name: &str| Series {
            name: name.to_owned(),
            class: "predicted",
            points: vec![(1.0, 1.0), (8.0, 1.0)],
            band: Vec::new(),
            measured: false,
        };
        let chart = line_chart(String::new(), "speedup", &[flat("a"), flat("b"), flat("c")]);
        for pair in chart.words.windows(2) {
            assert!(pair[1].y - pair[0].y >= LINE - 0.2);
        }
        assert!(chart.words.iter().all(|word| word.y <= PLOT.y + PLOT.h));
    }

    #[test]
    fn values_that_are_no_numbers_leave_no_nan_in_the_drawing() {
        let series = Series {
            name: "broken".to_owned(),
            class: "predicted",
            points: vec![(1.0, f64::NAN), (f64::INFINITY, 3.0)],
            band: vec![(1.0, f64::NAN, f64::INFINITY)],
            measured: false,
        };
        let chart = line_chart(String::new(), "speedup", &[series]);
        assert!(chart.paths.iter().all(|path| !path.d.contains("NaN")));
    }
}
