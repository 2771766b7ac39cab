//! Rows of regions side by side, as a picture of ratios and a table.

use super::table::{Cell, Column, MeterBar, Row as TableRow, Table};
use crate::chart::{Area, Chart, Dot, Path, Scale, Tick, tidy};
use crate::side_by_side::{Column as Seen, Parts, Ratio, Row, ratio_words};
use crate::units;
use serde::Serialize;
use std::fmt::Write;

/// Rows of the picture: of what is left the program does little.
const DRAWN_MAX: usize = 24;
/// Letters of a region's name beside the picture.
const LETTERS_MAX: usize = 40;
/// Ratios beyond these lie on the picture's border.
const RATIO_MAX: f64 = 64.0;
/// Colours of parts, by their names in the style, in the order of [`Parts::each`].
const PART_COLOURS: [&str; 6] = [
    "compute",
    "implicit_barrier",
    "overhead",
    "critical",
    "task_wait",
    "blocked",
];

/// A line of a legend.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) class: String,
    pub(crate) name: String,
}

/// Rows of several sides, of which the first is what the others are compared with.
pub(crate) struct Sides<'a> {
    /// What the sides are called,
    pub(crate) names: Vec<&'a str>,
    /// and what they are.
    pub(crate) title: &'static str,
    /// Regions, or the program.
    pub(crate) rows: &'a [&'a Row],
    /// What is concluded of a row on a side, and whether that is bad, if that has a column of its
    /// own. Without, what takes longer for certain is bad.
    pub(crate) verdict: Option<&'a dyn Fn(usize, usize) -> (&'static str, bool)>,
    /// What a row is called on a side, if that is something else.
    pub(crate) aliases: Option<&'a dyn Fn(usize, usize) -> Option<String>>,
}

/// What threads do, by colour.
pub(crate) fn states() -> Vec<Entry> {
    let states = PART_COLOURS.iter().zip(Parts::default().each());
    let entry = |(class, (name, _)): (&&str, (&str, f64))| Entry {
        class: (*class).to_owned(),
        name: name.to_owned(),
    };
    states.map(entry).collect()
}

/// Of a side, in the picture.
fn colour(side: usize) -> String {
    format!("s{}", (side + 7) % 8)
}

/// A part as a sentence names it.
pub(crate) fn in_words(part: &str) -> &str {
    match part {
        "work" => "the program's own work",
        "barrier" => "barriers",
        "other" => "other things, such as sleep and waits for a processor",
        part => part,
    }
}

impl Sides<'_> {
    /// The sides that are compared, by colour.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let others = self.names.iter().enumerate().skip(1);
        let entry = |(at, name): (usize, &&str)| Entry {
            class: colour(at),
            name: (*name).to_owned(),
        };
        others.map(entry).collect()
    }

    /// The table of all rows: a line for each side.
    pub(crate) fn table(&self, id: String) -> Table {
        let rows = self.rows.iter().enumerate().flat_map(|(number, row)| {
            let total = |column: &Seen| column.parts.each().iter().map(|(_, ns)| ns).sum::<f64>();
            let longest = row.columns.iter().flatten().map(total).fold(1.0, f64::max);
            let lines = row.columns.iter().enumerate();
            lines.map(move |(at, column)| TableRow {
                id: String::new(),
                cells: self.cells(number, at, column.as_ref(), longest),
            })
        });
        let mut columns = vec![
            Column::text("Region", "Where the parallel region is in the source"),
            Column::text(self.title, ""),
            Column::number("Executions", "In a run"),
            Column::number("Time", "Median of the runs"),
            Column::number("Ratio", "To the first: median and 95 % interval"),
            Column::text(
                "Its threads' time",
                "What they did, as long as where they took longest",
            ),
            Column::text(
                "Difference",
                "Which part of the threads' time differs most, where the times differ",
            ),
        ];
        if self.verdict.is_some() {
            columns.insert(
                5,
                Column::text("Verdict", "Whether there is a difference that matters"),
            );
        }
        Table {
            id,
            caption: String::new(),
            columns,
            rows: rows.collect(),
            sortable: false,
        }
    }

    fn cells(&self, number: usize, at: usize, column: Option<&Seen>, longest: f64) -> Vec<Cell> {
        let alias = self.aliases.and_then(|alias| alias(number, at));
        let name = match (at, self.rows.get(number)) {
            (0, Some(row)) => Cell::name(&row.name),
            _ => Cell::name(""),
        };
        let side = Cell {
            text: match alias {
                Some(alias) => format!("{}: {alias}", self.names[at]),
                None => self.names[at].to_owned(),
            },
            ..Cell::default()
        };
        let said = self.verdict.map(|verdict| verdict(number, at));
        let verdict = said.map(|(words, _)| Cell::words(words));
        let mut cells = vec![name, side];
        let Some(column) = column else {
            let nothing = || Cell::nothing();
            cells.extend([nothing(), nothing(), nothing()]);
            cells.extend(verdict);
            cells.extend([Cell::words("not executed"), Cell::words("")]);
            return cells;
        };
        let ratio = column.ratio.map_or_else(
            || Cell::words(""),
            |ratio| {
                let mut cell = Cell::number(ratio.value, ratio_words(&ratio));
                if said.map_or(ratio.differs() && ratio.value > 1.0, |(_, bad)| bad) {
                    cell.class = "num poor";
                }
                cell
            },
        );
        let difference = column
            .difference
            .as_ref()
            .map_or(String::new(), |difference| {
                let sign = if difference.longer_ns > 0.0 { "+" } else { "-" };
                format!(
                    "{} {sign}{}",
                    difference.part,
                    units::duration(difference.longer_ns.abs())
                )
            });
        cells.extend([
            Cell::number(column.executions as f64, units::count(column.executions)),
            Cell::number(column.time_ns, units::duration(column.time_ns)),
            ratio,
        ]);
        cells.extend(verdict);
        cells.extend([bar(&column.parts, longest), Cell::words(difference)]);
        cells
    }

    /// Ratios of the program and its longest regions, with their intervals.
    pub(crate) fn ratios(&self) -> Option<Chart> {
        const EACH: f64 = 13.0;
        const BETWEEN: f64 = 9.0;
        let others = self.names.len().saturating_sub(1);
        let all: Vec<Ratio> = self
            .rows
            .iter()
            .copied()
            .take(DRAWN_MAX)
            .flat_map(|row| {
                row.columns
                    .iter()
                    .flatten()
                    .filter_map(|column| column.ratio)
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let ends = |ratio: &Ratio| {
            let interval = ratio.interval.map(|one| [one.low, one.high]);
            interval.unwrap_or([ratio.value; 2])
        };
        let within = |value: f64| value.clamp(1.0 / RATIO_MAX, RATIO_MAX);
        let low = all
            .iter()
            .map(|one| within(ends(one)[0]))
            .fold(0.8, f64::min);
        let high = all
            .iter()
            .map(|one| within(ends(one)[1]))
            .fold(1.25, f64::max);
        let shown: Vec<&Row> = self.rows.iter().copied().take(DRAWN_MAX).collect();
        let slot = EACH * others as f64 + BETWEEN;
        let width = 760.0;
        let plot = Area {
            x: 290.0,
            y: 6.0,
            w: width - 290.0 - 30.0,
            h: slot * shown.len() as f64,
        };
        let x = Scale::logarithmic(low * 0.97, high * 1.03, plot.x, plot.x + plot.w);
        let mut chart = Chart {
            label: format!(
                "Ratios of times to those on {}: the table below has the numbers",
                self.names.first().unwrap_or(&"?")
            ),
            width,
            height: plot.h + 34.0,
            plot,
            x_ticks: x.ticks_at(steps(low, high), 44.0, |value| format!("{value}")),
            y_ticks: Vec::new(),
            right_ticks: Vec::new(),
            right_title: String::new(),
            x_title: String::new(),
            y_title: String::new(),
            paths: vec![Path {
                class: "line ideal".to_owned(),
                d: format!("M{} {}V{}", x.at(1.0), plot.y, tidy(plot.y + plot.h)),
            }],
            bars: Vec::new(),
            dots: Vec::new(),
            words: Vec::new(),
        };
        let mut whiskers = vec![String::new(); self.names.len()];
        for (index, row) in shown.iter().enumerate() {
            let top = plot.y + slot * index as f64;
            chart.y_ticks.push(Tick {
                at: tidy(top + slot / 2.0),
                label: cut(&row.name),
            });
            for (at, column) in row.columns.iter().enumerate() {
                let Some(ratio) = column.as_ref().and_then(|column| column.ratio) else {
                    continue;
                };
                let y = tidy(top + BETWEEN / 2.0 + EACH * (at as f64 - 0.5));
                let [from, to] = ends(&ratio).map(|value| x.at(within(value)));
                // Writing to a string cannot fail.
                let _ = write!(whiskers[at], "M{from} {y}H{to}");
                chart.dots.push(Dot {
                    class: colour(at),
                    x: x.at(within(ratio.value)),
                    y,
                    r: 4.0,
                    title: format!("{}, {}: {}", row.name, self.names[at], ratio_words(&ratio)),
                });
            }
        }
        let drawn = whiskers
            .into_iter()
            .enumerate()
            .filter(|(_, d)| !d.is_empty());
        chart.paths.extend(drawn.map(|(at, d)| Path {
            class: format!("line {}", colour(at)),
            d,
        }));
        Some(chart)
    }
}

/// What the threads did, in parts of `longest`.
fn bar(parts: &Parts, longest: f64) -> Cell {
    let mut before = 0.0;
    let bars = PART_COLOURS
        .iter()
        .zip(parts.each())
        .filter_map(|(class, (name, ns))| {
            let width = ns.max(0.0) / longest * 100.0;
            let x = before;
            before += width;
            (width >= 0.1).then(|| MeterBar {
                class: (*class).to_owned(),
                x: tidy(x),
                w: tidy(width),
                title: format!("{name}: {}", units::duration(ns)),
            })
        });
    let bars: Vec<MeterBar> = bars.collect();
    let said: Vec<&str> = bars.iter().map(|bar| bar.title.as_str()).collect();
    Cell {
        text: said.join(", "),
        bars,
        ..Cell::default()
    }
}

/// Values of the axis.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let fine = [0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0];
    let values = if low > 0.7 && high < 2.1 {
        fine.to_vec()
    } else {
        (-10..=10).map(|power| 2f64.powi(power)).collect()
    };
    values
        .into_iter()
        .filter(|value| (low * 0.97..=high * 1.03).contains(value))
        .collect()
}

/// The end of a long name says more than its beginning: file and line.
fn cut(name: &str) -> String {
    let letters = name.chars().count();
    match letters > LETTERS_MAX {
        true => {
            let end: String = name.chars().skip(letters + 1 - LETTERS_MAX).collect();
            format!("\u{2026}{end}")
        }
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_stats::Interval;

    #[test]
    fn the_axis_has_values_wherever_ratios_are() {
        assert_eq!(steps(0.02, 0.3), [1.0 / 32.0, 0.0625, 0.125, 0.25]);
        assert_eq!(steps(0.75, 1.3), [0.8, 0.9, 1.0, 1.1, 1.25]);
    }

    #[test]
    fn ratios_out_of_all_proportion_stay_in_the_picture() {
        let column = |ratio| {
            Some(Seen {
                executions: 1,
                time_ns: 1e9,
                samples_ns: vec![1],
                ratio,
                parts: Parts::default(),
                difference: None,
            })
        };
        let wild = Ratio {
            value: 1e9,
            interval: Some(Interval {
                low: 0.0,
                high: f64::INFINITY,
            }),
        };
        let row = |ratio| Row {
            name: "the program".to_owned(),
            columns: vec![column(None), column(ratio)],
        };
        let chart = |row: &Row| {
            let sides = Sides {
                names: vec!["a", "b"],
                title: "Side",
                rows: &[row],
                verdict: None,
                aliases: None,
            };
            sides.ratios()
        };
        let drawn = chart(&row(Some(wild))).unwrap();
        let inside = |x: f64| (drawn.plot.x..=drawn.plot.x + drawn.plot.w).contains(&x);
        assert!(drawn.dots.iter().all(|dot| inside(dot.x)));
        assert!(chart(&row(None)).is_none());
    }
}
