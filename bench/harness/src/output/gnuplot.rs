//! Figures as data files and a command file that draws them.

use crate::summary::{Figure, Summary, figures};
use std::fmt::Write as _;

/// Room above a curve that is zero everywhere.
const LEAST_ROOM: f64 = 1e-3;

/// The longest name of a curve that has room beside the picture.
const NAME_BESIDE: usize = 22;

/// The horizontal axis goes so many times beyond the outermost values.
const ROOM: f64 = 1.04;

/// Values that have a tick each; of more, so many have one.
const TICKS: usize = 9;

/// A logarithmic axis over more decades has ticks at powers of ten alone.
const DECADES: f64 = 1e3;

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The command file, `plots.gp`, which draws one SVG image per figure, and one
/// data file per figure. `gnuplot plots.gp` in their directory draws all.
#[must_use]
pub fn gnuplot(summary: &Summary) -> Vec<PlotFile> {
    let figures = figures(summary);
    let mut commands =
        String::from("# Draws every figure of a result of fathomp bench: gnuplot plots.gp\n");
    let mut files = Vec::new();
    for figure in &figures {
        commands.push_str(&drawing(figure));
        files.push(PlotFile {
            name: format!("{}.dat", figure.id),
            text: data(figure),
        });
    }
    files.push(PlotFile {
        name: "plots.gp".to_owned(),
        text: commands,
    });
    files
}

/// One block per series, two blank lines between blocks: gnuplot's `index`.
fn data(figure: &Figure) -> String {
    let mut text = format!(
        "# {} {}: {} in {}; {}\n",
        figure.suite.name(),
        plain(&figure.title),
        figure.y,
        figure.y_unit,
        figure.fixed
    );
    for series in &figure.series {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "# {}\n# {} value low high cycles",
            plain(&series.name),
            figure.x.replace(' ', "_")
        );
        for [x, value, low, high] in &series.points {
            let cycles = figure
                .cycles_per_unit
                .map_or_else(|| "?".to_owned(), |rate| (value * rate).to_string());
            let _ = writeln!(text, "{x} {value} {low} {high} {cycles}");
        }
        text.push_str("\n\n");
    }
    text
}

fn drawing(figure: &Figure) -> String {
    let mut text = format!(
        "\nreset\nset datafile missing '?'\nset encoding utf8\nset terminal svg size 760,460 dynamic enhanced font 'sans,13' background 'white'\n\
         set key {} noenhanced\nset grid\nset style data yerrorlines\nset bars 0.5\n\
         set output '{}.svg'\nset title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n",
        key(figure),
        figure.id,
        heading(figure),
        quoted(&axis(&figure.x, &figure.x_unit)),
        quoted(&axis(&figure.y, &figure.y_unit)),
    );
    text.push_str("set logscale x 2\n");
    text.push_str(&ticks(figure));
    let [low, high] = range(figure);
    let _ = writeln!(text, "set yrange [{low}:{high}]");
    if figure.y_logarithmic {
        let _ = writeln!(
            text,
            "set logscale y\nset ytics ({})",
            of_decades(low, high)
        );
    }
    if let Some(rate) = figure.cycles_per_unit {
        // The right axis is the left one in another unit.
        let _ = writeln!(
            text,
            "set y2range [{}:{}]\nset y2tics\nset ytics nomirror\nset y2label 'clock cycles'",
            low * rate,
            high * rate
        );
        if figure.y_logarithmic {
            let ticks = of_decades(low * rate, high * rate);
            let _ = writeln!(text, "set logscale y2\nset y2tics ({ticks})");
        }
    }
    for (at, words) in &figure.marks {
        let _ = writeln!(
            text,
            "set arrow from first {at}, graph 0 to first {at}, graph 1 nohead dashtype 2\n\
             set label {} at first {at}, graph 0.95 offset 0.5,0 noenhanced",
            quoted(words)
        );
    }
    let curves: Vec<String> = figure
        .series
        .iter()
        .enumerate()
        .map(|(index, series)| {
            format!(
                "'{}.dat' index {index} using 1:2:3:4 title {}",
                figure.id,
                quoted(&series.name)
            )
        })
        .collect();
    let _ = writeln!(text, "plot {}", curves.join(", \\\n     "));
    text
}

/// What a figure is of, and below it what is the same for all of its points, as an expression.
fn heading(figure: &Figure) -> String {
    // gnuplot looks at braces of titles even where it is told not to.
    let title = figure.title.replace('{', "(").replace('}', ")");
    if figure.fixed.is_empty() {
        quoted(&title)
    } else {
        format!("{}.\"\\n\".{}", quoted(&title), quoted(&figure.fixed))
    }
}

/// Where the names of curves stand: beside the picture, or below it if they are so long that
/// they would leave it no room.
fn key(figure: &Figure) -> &'static str {
    let lengths = figure
        .series
        .iter()
        .map(|series| series.name.chars().count());
    if lengths.max().unwrap_or(0) > NAME_BESIDE {
        "below center height 1"
    } else {
        "outside right top"
    }
}

/// Ends of the horizontal axis, and a tick at each value if they are few, at the outermost ones in
/// any case: between powers of two, gnuplot has none.
fn ticks(figure: &Figure) -> String {
    let points = figure.series.iter().flat_map(|series| &series.points);
    let mut values: Vec<f64> = points.map(|point| point[0]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return String::new();
    };
    // A little more, or the outermost ones are beside it by rounding.
    let mut text = format!("set xrange [{}:{}]\n", first / ROOM, last * ROOM);
    let shown: Vec<String> = thinned(&values).iter().map(f64::to_string).collect();
    let _ = writeln!(text, "set xtics ({})", shown.join(", "));
    text
}

/// Of ascending values, some that do not lie too close to each other, with both ends.
fn thinned(values: &[f64]) -> Vec<f64> {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return Vec::new();
    };
    if values.len() <= TICKS {
        return values.to_vec();
    }
    let apart = (last / first).powf(1.0 / TICKS as f64);
    let mut shown = vec![*first];
    for value in values {
        let before = shown.last().unwrap_or(first);
        if *value >= before * apart && (last >= &(value * apart) || value == last) {
            shown.push(*value);
        }
    }
    shown
}

/// Ticks at 1, 2 and 5 times powers of ten between the ends of a logarithmic axis: gnuplot has
/// but the powers, of which there may be one.
fn of_decades(low: f64, high: f64) -> String {
    let steps: &[f64] = if high > low * DECADES {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    let inside = all.filter(|value| (low..=high).contains(value));
    // As gnuplot reads numbers, without digits that are none.
    let shown: Vec<String> = inside.map(|value| format!("{value:e}")).collect();
    shown.join(", ")
}

fn axis(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({unit})")
    }
}

/// Ends of the vertical axis: room for every value and, where zero has a place,
/// for zero.
fn range(figure: &Figure) -> [f64; 2] {
    let values = || {
        figure
            .series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| point[1])
    };
    let most = values().fold(0.0, f64::max);
    let least = values().fold(most, f64::min);
    if figure.y_logarithmic {
        [least / 1.5, most * 1.5]
    } else {
        let room = 0.08 * (most - least.min(0.0)).max(LEAST_ROOM);
        [
            least.min(0.0) - if least < 0.0 { room } else { 0.0 },
            most + room,
        ]
    }
}

/// A gnuplot string that means what it says.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", plain(text).replace('\'', "''"))
}

/// `text` on one line, without what a terminal would act on.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summarise;
    use crate::synthetic;

    fn documents() -> Vec<crate::result::Document> {
        let mut epcc = synthetic::epcc();
        epcc.columns[0].runtime = "it's\n`odd` {_^}".to_owned();
        vec![epcc, synthetic::mcbench(), synthetic::access()]
    }

    #[test]
    fn ticks_show_the_ends_and_more_than_one_power_of_ten() {
        let to_20: Vec<f64> = (2..=20).map(f64::from).collect();
        let shown = thinned(&to_20);
        assert_eq!((shown[0], shown[shown.len() - 1]), (2.0, 20.0));
        assert!((5..=TICKS + 1).contains(&shown.len()), "{shown:?}");
        assert_eq!(thinned(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        assert!(thinned(&[]).is_empty());
        assert_eq!(of_decades(15.0, 210.0), "2e1, 5e1, 1e2, 2e2");
        assert_eq!(of_decades(0.5, 2e3), "1e0, 1e1, 1e2, 1e3");
    }

    #[test]
    fn every_figure_has_data_and_a_drawing() {
        let files = gnuplot(&summarise(&documents(), None));
        let (commands, data) = files.split_last().unwrap();
        assert!(data.len() > 8);
        for file in data {
            assert!(
                commands.text.contains(&format!("'{}'", file.name)),
                "{}",
                file.name
            );
            let values = file
                .text
                .lines()
                .filter(|line| !line.starts_with('#') && !line.is_empty());
            assert!(values.clone().count() >= 2);
            assert!(values.into_iter().all(|line| line.split(' ').count() == 5));
        }
    }
}
