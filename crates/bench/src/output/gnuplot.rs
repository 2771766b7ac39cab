//! Figures as data files and a command file that draws them.

use crate::summary::{Figure, Summary, figures};
use std::fmt::Write as _;

/// Room above a curve that is zero everywhere.
const LEAST_ROOM: f64 = 1e-3;

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
        figure.title,
        figure.quantity.title(),
        figure.quantity.unit(),
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
                .cycles_per_ns
                .map_or_else(|| "?".to_owned(), |rate| (value * rate).to_string());
            let _ = writeln!(text, "{x} {value} {low} {high} {cycles}");
        }
        text.push_str("\n\n");
    }
    text
}

fn drawing(figure: &Figure) -> String {
    let mut text = format!(
        "\nreset\nset datafile missing '?'\nset terminal svg size 760,460 dynamic enhanced font 'sans,13' background 'white'\n\
         set key outside right top noenhanced\nset grid\nset style data yerrorlines\nset bars 0.5\n\
         set output '{}.svg'\nset title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n",
        figure.id,
        quoted(&heading(figure)),
        quoted(&axis(&figure.x, &figure.x_unit)),
        quoted(&axis(figure.quantity.title(), figure.quantity.unit())),
    );
    text.push_str("set logscale x 2\n");
    let [low, high] = range(figure);
    let _ = writeln!(text, "set yrange [{low}:{high}]");
    if figure.y_logarithmic {
        text.push_str("set logscale y\n");
    }
    if let Some(rate) = figure.cycles_per_ns {
        // The right axis is the left one in another unit.
        let _ = writeln!(
            text,
            "set y2range [{}:{}]\nset y2tics\nset ytics nomirror\nset y2label 'clock cycles'",
            low * rate,
            high * rate
        );
        if figure.y_logarithmic {
            text.push_str("set logscale y2\n");
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

fn heading(figure: &Figure) -> String {
    if figure.fixed.is_empty() {
        figure.title.clone()
    } else {
        format!("{} ({})", figure.title, figure.fixed)
    }
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
