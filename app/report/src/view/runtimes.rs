//! One program on several runtimes, as sentences, a picture of ratios and a table.

use super::side_by_side::{Entry, Sides, in_words, states};
use super::table::Table;
use crate::chart::Chart;
use crate::runtimes::{Comparison, Row, Versus};
use crate::side_by_side::ratio_words;
use crate::units;
use serde::Serialize;

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
    let rows: Vec<&Row> = [&versus.program]
        .into_iter()
        .chain(&versus.regions)
        .collect();
    let sides = Sides {
        names: (0..versus.runtimes.len())
            .map(|at| versus.name(at))
            .collect(),
        title: "Runtime",
        rows: &rows,
        verdict: None,
        aliases: None,
    };
    Part {
        id: format!("threads-{}", versus.threads),
        heading: format!("With {}", units::plural(versus.threads.into(), "thread")),
        sentences: others.filter_map(|at| sentence(versus, at)).collect(),
        runtimes: sides.entries(),
        ratios: sides.ratios(),
        caption: format!(
            "Time divided by that on {} in the same round: median and 95 % interval. Left of the line at 1 \
             a runtime takes less time than {0}. Regions that take longest come first.",
            versus.name(0)
        ),
        states: states(),
        regions: sides.table(format!("regions-{}", versus.threads)),
    }
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
            ratio_words(&ratio)
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
        ratio_words(&ratio)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::{Column as Seen, Difference, Parts, Ratio};
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
}
