//! `fathomp workload list`.

use crate::args::workload::{List, SuiteName};
use crate::console::Console;
use crate::failure::Outcome;
use fathomp_workloads::{Class, Suite, Workload, catalogue};
use serde::Serialize;

#[derive(Serialize)]
struct Answer {
    workloads: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    suite: &'static str,
    about: String,
    sizes: Vec<&'static str>,
    sized_when_built: bool,
}

pub(super) fn list(plan: &List, console: Console) -> Outcome {
    let mut all = catalogue();
    if let Some(SuiteName(suite)) = plan.suite {
        all.retain(|workload| workload.suite == suite);
    }
    let rows = all.iter().map(|workload| Row {
        name: workload.full_name(),
        suite: workload.suite.name(),
        about: workload.about.clone(),
        sizes: sizes(workload.suite),
        sized_when_built: workload.suite.sized_when_built(),
    });
    let answer = Answer {
        workloads: rows.collect(),
    };
    console.result("fathomp.workload-list", &answer, || {
        text(&all, console.width())
    })?;
    Ok(0)
}

fn sizes(suite: Suite) -> Vec<&'static str> {
    let name = |class: Class| {
        if suite.sized_when_built() {
            class.letter()
        } else {
            class.data_set()
        }
    };
    Class::ALL.into_iter().map(name).collect()
}

fn text(all: &[Workload], width: usize) -> String {
    let longest = all.iter().map(|w| w.full_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for suite in Suite::ALL {
        let mut of_suite = all.iter().filter(|w| w.suite == suite).peekable();
        if of_suite.peek().is_none() {
            continue;
        }
        let kind = if suite.sized_when_built() {
            "classes"
        } else {
            "sizes"
        };
        let blank = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!(
            "{blank}{suite}: {kind} {}\n",
            sizes(suite).join(", ")
        ));
        for workload in of_suite {
            let name = workload.full_name();
            let room = width.saturating_sub(longest + 4).max(20);
            text.push_str(&format!(
                "  {name:longest$}  {}\n",
                first(&workload.about, room)
            ));
        }
    }
    text
}

/// As many whole words as there is room for.
fn first(sentence: &str, room: usize) -> String {
    if sentence.chars().count() <= room {
        return sentence.to_owned();
    }
    let mut kept = String::new();
    for word in sentence.split(' ') {
        // After it comes the ellipsis.
        if kept.chars().count() + word.chars().count() + 1 > room {
            break;
        }
        kept.push_str(word);
        kept.push(' ');
    }
    format!("{}…", kept.trim_end_matches([' ', ',', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit() {
        let all = catalogue();
        let text = text(&all, 80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(first("one two, three", 9), "one two…");
        assert_eq!(first("one two", 7), "one two");
    }
}
