//! One program on several runtimes, as sentences, a picture of ratios and a table.

use super::table::{Cell, Column, MeterBar, Row as TableRow, Table};
use crate::chart::{Area, Chart, Dot, Path, Scale, Tick, tidy};
use crate::runtimes::{Column as Seen, Comparison, Parts, Ratio, Row, Versus};
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

#[derive(Debug, Serialize)]
pub(crate) struct RuntimesPage {
    title: String,
    subtitle: Vec<String>,
    notes: Vec<String>,
    parts: Vec<Part>,
}

/// What there is to say of one number of threads.
#[derive(Debug, Serialize)]
struct Part {
    id: String,
    heading: String,
    sentences: Vec<String>,
    runtimes: Vec<Entry>,
    ratios: Option<Chart>,
    caption: String,
    states: Vec<Entry>,
    regions: Table,
}

#[derive(Debug, Serialize)]
struct Entry {
    class: String,
    name: String,
}

pub(crate) fn build(comparison: &Comparison<'_>) -> RuntimesPage {
    let first = comparison.tables.first();
    let names: Vec<&str> = first
        .map(|table| (0..table.runtimes.len()).map(|at| table.name(at)).collect())
        .unwrap_or_default();
    let path = comparison.command.first().map_or("program", String::as_str);
    let program = path.rsplit('/').next().unwrap_or(path);
    RuntimesPage {
        title: format!("{program} on {}", listed(&names)),
        subtitle: vec![
            comparison.command.join(" "),
            format!(
                "{} on each runtime, in turn; times are medians",
                units::plural(comparison.rounds.into(), "run")
            ),
        ],
        notes: comparison.notes.to_vec(),
        parts: comparison.tables.iter().map(part).collect(),
    }
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

fn part(versus: &Versus) -> Part {
    let others = 1..versus.runtimes.len();
    let entry = |at: usize| Entry {
        class: colour(at),
        name: versus.name(at).to_owned(),
    };
    let states = PART_COLOURS.iter().zip(Parts::default().each());
    Part {
        id: format!("threads-{}", versus.threads),
        heading: format!("With {}", units::plural(versus.threads.into(), "thread")),
        sentences: others
            .clone()
            .filter_map(|at| sentence(versus, at))
            .collect(),
        runtimes: others.map(entry).collect(),
        ratios: ratios(versus),
        caption: format!(
            "Time divided by that on {} in the same round: median and 95 % interval. Left of the line at 1 \
             a runtime takes less time than {0}. Regions that take longest come first.",
            versus.name(0)
        ),
        states: states
            .map(|(class, (name, _))| Entry {
                class: (*class).to_owned(),
                name: name.to_owned(),
            })
            .collect(),
        regions: regions(versus),
    }
}

/// Of a runtime, in the picture.
fn colour(runtime: usize) -> String {
    format!("s{}", (runtime + 7) % 8)
}

/// What one runtime makes of the whole program.
fn sentence(versus: &Versus, at: usize) -> Option<String> {
    let column = versus.program.columns.get(at)?.as_ref()?;
    let ratio = column.ratio?;
    let (name, first) = (versus.name(at), versus.name(0));
    let Some(interval) = ratio.interval else {
        return Some(format!(
            "On {name} the program took {} times as long as on {first}, in a single round: that may be chance.",
            units::ratio(ratio.value)
        ));
    };
    if interval.contains(1.0) {
        return Some(format!(
            "On {name} the program takes as long as on {first}, as far as these runs can tell: {}.",
            words(ratio)
        ));
    }
    let most = column
        .difference
        .as_ref()
        .map_or(String::new(), |difference| {
            let longer = if difference.longer_ns > 0.0 {
                "longer"
            } else {
                "shorter"
            };
            format!(
                " Most of that is in {}, in which all its threads together are {} {longer}.",
                in_words(difference.part),
                units::duration(difference.longer_ns.abs())
            )
        });
    Some(format!(
        "On {name} the program takes {} times as long as on {first}.{most}",
        words(ratio)
    ))
}

/// A part as a sentence names it.
fn in_words(part: &str) -> &str {
    match part {
        "work" => "the program's own work",
        "barrier" => "barriers",
        "other" => "other things, such as sleep and waits for a processor",
        part => part,
    }
}

/// `1.04 (1.02 to 1.06)`.
fn words(ratio: Ratio) -> String {
    match ratio.interval {
        None => format!("{:.2}", ratio.value),
        Some(interval) => format!(
            "{:.2} ({:.2} to {:.2})",
            ratio.value, interval.low, interval.high
        ),
    }
}

fn rows(versus: &Versus) -> impl Iterator<Item = &Row> {
    [&versus.program].into_iter().chain(&versus.regions)
}

fn regions(versus: &Versus) -> Table {
    let rows = rows(versus).flat_map(|row| {
        let total = |column: &Seen| column.parts.each().iter().map(|(_, ns)| ns).sum::<f64>();
        let longest = row.columns.iter().flatten().map(total).fold(1.0, f64::max);
        let lines = row.columns.iter().enumerate();
        lines.map(move |(at, column)| TableRow {
            id: String::new(),
            cells: cells(versus, row, at, column.as_ref(), longest),
        })
    });
    Table {
        id: format!("regions-{}", versus.threads),
        caption: String::new(),
        columns: vec![
            Column::text("Region", "Where the parallel region is in the source"),
            Column::text("Runtime", ""),
            Column::number("Executions", "In a run"),
            Column::number("Time", "Median of the runs"),
            Column::number(
                "Ratio",
                "To the first runtime in the same round: median and 95 % interval",
            ),
            Column::text(
                "Its threads' time",
                "What they did, as long as on the runtime on which they took longest",
            ),
            Column::text(
                "Difference",
                "Which part of the threads' time differs most, where the times differ",
            ),
        ],
        rows: rows.collect(),
        sortable: false,
    }
}

fn cells(versus: &Versus, row: &Row, at: usize, column: Option<&Seen>, longest: f64) -> Vec<Cell> {
    let name = match at {
        0 => Cell::name(&row.name),
        _ => Cell::name(""),
    };
    let runtime = Cell {
        text: versus.name(at).to_owned(),
        ..Cell::default()
    };
    let Some(column) = column else {
        let missing = Cell::words("not executed");
        let nothing = || Cell::nothing();
        return vec![
            name,
            runtime,
            nothing(),
            nothing(),
            nothing(),
            missing,
            Cell::words(""),
        ];
    };
    let ratio = column.ratio.map_or_else(
        || Cell::words(""),
        |ratio| {
            let certain = ratio
                .interval
                .is_some_and(|interval| !interval.contains(1.0));
            let mut cell = Cell::number(ratio.value, words(ratio));
            if certain && ratio.value > 1.0 {
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
    vec![
        name,
        runtime,
        Cell::number(column.executions as f64, units::count(column.executions)),
        Cell::number(column.time_ns, units::duration(column.time_ns)),
        ratio,
        bar(&column.parts, longest),
        Cell::words(difference),
    ]
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

/// Ratios of the program and its longest regions, with their intervals.
fn ratios(versus: &Versus) -> Option<Chart> {
    const EACH: f64 = 13.0;
    const BETWEEN: f64 = 9.0;
    let others = versus.runtimes.len().saturating_sub(1);
    let all: Vec<Ratio> = rows(versus)
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
    let shown: Vec<&Row> = rows(versus).take(DRAWN_MAX).collect();
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
            versus.name(0)
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
    let mut whiskers = vec![String::new(); versus.runtimes.len()];
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
                title: format!("{}, {}: {}", row.name, versus.name(at), words(ratio)),
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

/// Values of the axis.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let fine = [0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0];
    let coarse = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let values: &[f64] = if low > 0.7 && high < 2.1 {
        &fine
    } else {
        &coarse
    };
    values
        .iter()
        .copied()
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
    use crate::runtimes::Difference;
    use crate::runtimes_page;
    use fathomp_stats::Interval;

    fn column(time_ns: f64, ratio: Option<(f64, f64, f64)>) -> Option<Seen> {
        Some(Seen {
            executions: 3,
            time_ns,
            samples_ns: vec![time_ns as u64],
            ratio: ratio.map(|(value, low, high)| Ratio {
                value,
                interval: Some(Interval { low, high }),
            }),
            parts: Parts {
                work_ns: time_ns,
                barrier_ns: time_ns / 2.0,
                ..Parts::default()
            },
            difference: ratio.map(|_| Difference {
                part: "barrier",
                longer_ns: 31e6,
            }),
        })
    }

    fn versus() -> Versus {
        Versus {
            threads: 2,
            runtimes: vec!["fathomp".to_owned(), "libomp=/opt/<a>/libomp.so".to_owned()],
            program: Row {
                name: "the program".to_owned(),
                columns: vec![column(1e9, None), column(1.3e9, Some((1.3, 1.2, 1.4)))],
            },
            regions: vec![Row {
                name: "<solve>:17".to_owned(),
                columns: vec![column(1e8, None), None],
            }],
        }
    }

    #[test]
    fn the_page_says_what_differs_and_escapes_what_it_shows() {
        let tables = [versus()];
        let page = runtimes_page(&Comparison {
            command: &["/opt/solver".to_owned(), "-n".to_owned()],
            rounds: 5,
            tables: &tables,
            notes: &["It was <busy>.".to_owned()],
        })
        .unwrap();
        for said in [
            "solver on fathomp and libomp",
            "On libomp the program takes 1.30 (1.20 to 1.40) times as long as on fathomp. Most of that is in \
             barriers, in which all its threads together are 31.0 ms longer.",
            "&lt;solve&gt;:17",
            "not executed",
            "It was &lt;busy&gt;.",
        ] {
            assert!(page.contains(said), "{said}");
        }
        assert!(!page.contains("<solve>") && !page.contains("/opt/<a>"));
    }

    #[test]
    fn what_may_be_chance_is_said_to_be() {
        let mut even = versus();
        even.program.columns[1] = column(1e9, Some((1.01, 0.98, 1.03)));
        assert!(
            sentence(&even, 1)
                .unwrap()
                .contains("as far as these runs can tell")
        );
        if let Some(Some(column)) = even.program.columns.get_mut(1)
            && let Some(ratio) = &mut column.ratio
        {
            ratio.interval = None;
        }
        assert!(sentence(&even, 1).unwrap().contains("may be chance"));
    }

    #[test]
    fn ratios_out_of_all_proportion_stay_in_the_picture() {
        let mut wild = versus();
        wild.program.columns[1] = column(1e9, Some((1e9, 0.0, f64::INFINITY)));
        let chart = ratios(&wild).unwrap();
        let inside = |x: f64| (chart.plot.x..=chart.plot.x + chart.plot.w).contains(&x);
        assert!(chart.dots.iter().all(|dot| inside(dot.x)));
        wild.program.columns.truncate(1);
        assert!(ratios(&wild).is_none());
    }
}
