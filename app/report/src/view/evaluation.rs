//! The page about an evaluation of predictions.

use super::table::{Cell, Column, Row, Table};
use crate::chart::{Chart, Dot, Path, Scale, Tick, Word};
use crate::units::{duration, percent, ratio};
use fathomp_advise::evaluate::{Evaluation, PredictorResult, Rate, Utilisation};
use serde::Serialize;

/// What fills the template.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) heading: String,
    pub(crate) subtitle: Vec<String>,
    pub(crate) sentences: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) predictors: Table,
    pub(crate) published: Table,
    pub(crate) regions: Table,
    pub(crate) fitted: Table,
}

/// A scatter plot.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) chart: Chart,
    pub(crate) caption: String,
}

pub(crate) fn build(evaluation: &Evaluation, notes: &[String]) -> Page {
    // Ours, and the score that it is to beat.
    let figures = ["ours", "published score"].iter().filter_map(|name| {
        let index = evaluation
            .predictors
            .iter()
            .position(|one| one.name == *name)?;
        let result = &evaluation.predictors[index];
        (result.success.all > 0).then(|| figure(evaluation, index, result))
    });
    Page {
        title: "Evaluation of predictions".to_owned(),
        heading: "Which cores are worthwhile: predicted and measured".to_owned(),
        subtitle: vec![evaluation.machine.clone()],
        sentences: sentences(evaluation),
        notes: notes.to_vec(),
        figures: figures.collect(),
        predictors: predictors(evaluation),
        published: published(evaluation),
        regions: regions(evaluation),
        fitted: fitted(evaluation),
    }
}

/// What a unit is called.
fn unit(evaluation: &Evaluation) -> &'static str {
    match evaluation.unit_threads {
        1 => "core",
        _ => "package",
    }
}

/// The findings.
pub(crate) fn sentences(evaluation: &Evaluation) -> Vec<String> {
    let (units, unit) = (evaluation.units, unit(evaluation));
    let mut sentences = vec![format!(
        "{} regions of {} benchmarks, measured with 1 and {units} {unit}s; {}. {}{} regions have no sound time.",
        evaluation.regions,
        evaluation.benchmarks,
        match evaluation.utilisation {
            Utilisation::Added => format!(
                "utilisation is the part that further {unit}s add of what they could, (S - 1) / {}",
                units.saturating_sub(1).max(1)
            ),
            Utilisation::Share => format!("utilisation is S / {units}"),
        },
        match evaluation.disturbed {
            0 => String::new(),
            runs => format!(
                "{runs} runs of regions were disturbed by other programs and left out, and "
            ),
        },
        evaluation.left_out,
    )];
    let find = |name: &str| evaluation.predictors.iter().find(|one| one.name == name);
    if let Some(ours) = find("ours").filter(|one| one.success.all > 0) {
        sentences.push(format!(
            "Ours is right for {} ({}) and costs {} of the best possible time; its speed-ups are off by {} at the median and by less than {} for 90 % of regions.",
            percent(ours.success.rate),
            rate(&ours.success),
            percent(ours.regret),
            percent(ours.error_median),
            percent(ours.error_90),
        ));
        let best = evaluation
            .predictors
            .iter()
            .filter(|one| !one.name.starts_with("ours") && one.success.all > 0)
            .max_by(|a, b| a.success.rate.total_cmp(&b.success.rate));
        if let Some(best) = best {
            sentences.push(format!(
                "The best of the others, {}, is right for {} ({}) and costs {}.",
                best.name,
                percent(best.success.rate),
                rate(&best.success),
                percent(best.regret),
            ));
        }
    }
    let score = find("published score").filter(|one| one.success.all > 0);
    let majority = find("majority class").filter(|one| one.success.all > 0);
    if let (1, Some(score)) = (evaluation.unit_threads, score) {
        let same = majority.map_or(String::new(), |one| {
            format!(
                ", and {} of {} regions are right if all are taken for the class of most",
                one.success.right, one.success.all
            )
        });
        sentences.push(format!(
            "The published score is right for {} of {}, where 78 to 92 % were published. These numbers cannot decide that: published are 2 and 4 packages, each with its own way to memory, and here is one package, whose {units} cores share one{same}.",
            score.success.right, score.success.all
        ));
    }
    if let Some(most) = evaluation.sensitivity.iter().max_by_key(|one| one.changed) {
        sentences.push(format!(
            "Weights of the score are assumed: one of them halved or doubled changes the class of {}.",
            match most.changed {
                0 => format!("none of {} regions", most.regions),
                changed => format!(
                    "at most {changed} of {} regions ({} times {})",
                    most.regions, most.weight, most.factor
                ),
            }
        ));
    }
    sentences
}

/// `63 to 88 %`.
pub(crate) fn rate(rate: &Rate) -> String {
    format!("{} to {}", percent(rate.low), percent(rate.high))
}

fn figure(evaluation: &Evaluation, index: usize, result: &PredictorResult) -> Figure {
    let slope = result.trend.map_or(String::new(), |(slope, intercept)| {
        format!(" Trend: measured = {slope:.2} predicted + {intercept:.2}.")
    });
    Figure {
        title: result.name.to_owned(),
        chart: scatter(evaluation, index, result),
        caption: format!(
            "Utilisation predicted and measured, a dot for each region: {} hits in blue, {} misses in orange, of these {} within 0.1 of a border (dashed); {} promise too much, {} too little.{slope}",
            result.success.right,
            result.success.all - result.success.right,
            result.at_border,
            result.too_many,
            result.too_few,
        ),
    }
}

const SIDE: f64 = 360.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 20.0;

fn scatter(evaluation: &Evaluation, index: usize, result: &PredictorResult) -> Chart {
    let plot = crate::chart::Area {
        x: LEFT,
        y: TOP,
        w: SIDE,
        h: SIDE,
    };
    // What is measured may lie beyond 0 and 1; the drawing has a margin for it.
    let (low, high) = (-0.25, 1.25);
    let x = Scale::linear(low, high, LEFT, LEFT + SIDE);
    let y = Scale::linear(low, high, TOP + SIDE, TOP);
    let place = |scale: &Scale, value: f64| scale.at(value.clamp(low, high));
    let ticks = |scale: &Scale| {
        [0.0, 0.25, 0.5, 0.75, 1.0]
            .map(|value| Tick {
                at: scale.at(value),
                label: format!("{value}"),
            })
            .into()
    };
    let line = |class: &str, from: (f64, f64), to: (f64, f64)| Path {
        class: class.to_owned(),
        d: format!(
            "M{:.1} {:.1}L{:.1} {:.1}",
            place(&x, from.0),
            place(&y, from.1),
            place(&x, to.0),
            place(&y, to.1)
        ),
    };
    let mut paths = Vec::new();
    for border in 1..evaluation.units {
        let at = f64::from(border) / f64::from(evaluation.units);
        paths.push(line("upright", (at, low), (at, high)));
        paths.push(line("upright", (low, at), (high, at)));
    }
    if let Some((slope, intercept)) = result.trend {
        paths.push(line("line s2", (0.0, intercept), (1.0, slope + intercept)));
    }
    let dots = evaluation.cases.iter().filter_map(|case| {
        let said = case.said.get(index).copied().flatten()?;
        Some(Dot {
            class: if said.right { "s0" } else { "s1" }.to_owned(),
            x: (place(&x, said.utilisation) * 10.0).round() / 10.0,
            y: (place(&y, case.utilisation) * 10.0).round() / 10.0,
            r: 4.0,
            title: format!(
                "{} {}: predicted {:.2}, measured {:.2} (speed-up {:.2})",
                case.benchmark, case.region, said.utilisation, case.utilisation, case.speedup
            ),
        })
    });
    Chart {
        label: format!(
            "Scatter plot of predicted and measured utilisation, {}",
            result.name
        ),
        width: LEFT + SIDE + 20.0,
        height: TOP + SIDE + 48.0,
        plot,
        x_ticks: ticks(&x),
        y_ticks: ticks(&y),
        right_ticks: Vec::new(),
        right_title: String::new(),
        x_title: "Predicted utilisation".to_owned(),
        y_title: "Measured utilisation".to_owned(),
        paths,
        bars: Vec::new(),
        dots: dots.collect(),
        words: Vec::<Word>::new(),
    }
}

fn column(title: &str, hint: &'static str) -> Column {
    Column {
        title: title.to_owned(),
        numeric: true,
        hint,
    }
}

fn named(title: &str) -> Column {
    Column {
        title: title.to_owned(),
        numeric: false,
        hint: "",
    }
}

fn cell(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        ..Cell::default()
    }
}

fn number(text: String, sort: f64) -> Cell {
    Cell {
        text,
        class: "num",
        sort: Some(sort).filter(|value| value.is_finite()),
        ..Cell::default()
    }
}

fn table(id: &str, caption: &str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
    Table {
        id: id.to_owned(),
        caption: caption.to_owned(),
        columns,
        rows: rows
            .into_iter()
            .map(|cells| Row {
                id: String::new(),
                cells,
            })
            .collect(),
        sortable: true,
    }
}

fn predictors(evaluation: &Evaluation) -> Table {
    let rows = evaluation.predictors.iter().map(|one| {
        vec![
            cell(one.name),
            number(
                format!("{} of {}", one.success.right, one.success.all),
                one.success.rate,
            ),
            number(percent(one.success.rate), one.success.rate),
            number(rate(&one.success), one.success.low),
            number(percent(one.regret), one.regret),
            number(percent(one.regret_mean), one.regret_mean),
            number(percent(one.error_median), one.error_median),
            number(percent(one.error_90), one.error_90),
            number(one.too_many.to_string(), f64::from(one.too_many)),
            number(one.too_few.to_string(), f64::from(one.too_few)),
            number(one.at_border.to_string(), f64::from(one.at_border)),
            number(percent(one.success_other.rate), one.success_other.rate),
        ]
    });
    table(
        "predictors",
        "What is fitted is fitted to the other benchmarks.",
        vec![
            named("Predictor"),
            column(
                "Right",
                "Regions whose predicted and measured utilisation are of one class",
            ),
            column("Rate", ""),
            column("95 % interval", "Wilson's score interval"),
            column(
                "Regret",
                "Time lost by following it against the best choice, all regions together",
            ),
            column("Mean", "The same as a mean over regions"),
            column("Error", "Median error of the speed-up"),
            column("90 % below", "90 % of the errors are below"),
            column("Too many", "Misses that promise too many"),
            column("Too few", "Misses that promise too few"),
            column(
                "At a border",
                "Misses whose measured utilisation is within 0.1 of a border",
            ),
            column(
                "Other definition",
                "Success with utilisation as the other definition has it",
            ),
        ],
        rows.collect(),
    )
}

fn published(evaluation: &Evaluation) -> Table {
    let rows = evaluation.published.iter().map(|one| {
        vec![
            cell(format!("{}, {}", one.suite, one.machine)),
            number(one.packages.to_string(), f64::from(one.packages)),
            number(
                format!("{} of {}", one.success.right, one.success.all),
                one.success.rate,
            ),
            number(percent(one.success.rate), one.success.rate),
            number(rate(&one.success), one.success.low),
        ]
    });
    table(
        "published",
        "Published results of the static score; numbers of regions follow from the percentages.",
        vec![
            named("Programs, machine"),
            column("Packages", ""),
            column("Right", ""),
            column("Rate", ""),
            column("95 % interval", "Wilson's score interval"),
        ],
        rows.collect(),
    )
}

fn regions(evaluation: &Evaluation) -> Table {
    let mut columns = vec![
        named("Region"),
        column("Alone", "Time with one unit, all executions"),
        column("Speed-up", "Measured"),
        column("Utilisation", "Measured"),
    ];
    for one in &evaluation.predictors {
        columns.push(column(one.name, "Predicted utilisation; misses are marked"));
    }
    let rows = evaluation.cases.iter().map(|case| {
        let mut cells = vec![
            cell(format!(
                "{} ({}), {}",
                case.benchmark, case.size, case.region
            )),
            number(duration(case.alone_ns), case.alone_ns),
            number(ratio(case.speedup), case.speedup),
            number(format!("{:.2}", case.utilisation), case.utilisation),
        ];
        cells.extend(case.said.iter().map(|said| match said {
            None => cell("-"),
            Some(said) => number(
                format!(
                    "{:.2}{}",
                    said.utilisation,
                    if said.right { "" } else { " x" }
                ),
                said.utilisation,
            ),
        }));
        cells
    });
    table("regions", "", columns, rows.collect())
}

fn fitted(evaluation: &Evaluation) -> Table {
    let rows = evaluation.fitted.iter().map(|one| {
        let constants = one.constants;
        vec![
            cell(&one.without),
            number(format!("{:.2}", constants.overlap), constants.overlap),
            number(format!("{:.2}", constants.core_loss), constants.core_loss),
            number(format!("{:.2}", constants.reach), constants.reach),
        ]
    });
    table(
        "fitted",
        "Constants of ours, fitted without a benchmark to predict that.",
        vec![
            named("Without"),
            column(
                "Overlap",
                "Part of memory's time that overlaps with computing",
            ),
            column(
                "Core loss",
                "Part of its speed that a core loses when all others compute",
            ),
            column(
                "Reach",
                "Bandwidth that programs reach, relative to copying",
            ),
        ],
        rows.collect(),
    )
}
