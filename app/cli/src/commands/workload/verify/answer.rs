//! What `fathomp workload verify` found, as a table and as JSON.

use super::Setting;
use fathomp_report::text::{Grid, duration};
use fathomp_workloads::Class;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Answer {
    class: &'static str,
    right: bool,
    workloads: Vec<Row>,
    #[serde(skip)]
    titles: Vec<String>,
}

/// One workload.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) size: String,
    /// Why nothing could be run, in a sentence that names it.
    pub(super) problem: Option<String>,
    pub(super) runs: Vec<RunRow>,
}

/// One run of it.
#[derive(Serialize)]
pub(super) struct RunRow {
    pub(super) runtime: String,
    pub(super) nodes: u32,
    /// Of each node.
    pub(super) threads: u32,
    /// Of the timed section, if the run gave a result.
    pub(super) seconds: Option<f64>,
    pub(super) right: bool,
    /// Why it is not right.
    pub(super) problem: Option<String>,
}

impl Row {
    fn right(&self) -> bool {
        self.problem.is_none() && self.runs.iter().all(|run| run.right)
    }

    fn result(&self) -> &'static str {
        let wrong = |run: &RunRow| run.seconds.is_some() && !run.right;
        if self.right() {
            "right"
        } else if self.runs.iter().any(wrong) {
            "WRONG"
        } else {
            "failed"
        }
    }
}

impl RunRow {
    /// "2 threads on fathomp", "1 thread on each of 4 nodes on fathomp".
    fn words(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        let nodes = match self.nodes {
            1 => String::new(),
            nodes => format!(" on each of {nodes} nodes"),
        };
        format!("{} thread{plural}{nodes} on {}", self.threads, self.runtime)
    }
}

impl Answer {
    pub(super) fn new(workloads: Vec<Row>, settings: &[Setting], class: Class) -> Self {
        let title = |setting: &Setting| {
            let nodes = match setting.nodes {
                1 => String::new(),
                nodes => format!("{nodes} × "),
            };
            format!(
                "{} {nodes}{}",
                setting.runtime.name, setting.threads_per_node
            )
        };
        Self {
            class: class.letter(),
            right: workloads.iter().all(Row::right),
            workloads,
            titles: settings.iter().map(title).collect(),
        }
    }

    pub(super) fn right(&self) -> bool {
        self.right
    }

    /// A row for each workload, a sentence for each problem, one in the end.
    pub(super) fn text(&self, width: usize) -> String {
        let mut grid = Grid::new("Workload").words("Size", 2);
        for title in &self.titles {
            grid = grid.column(title, 1);
        }
        grid = grid.words("Result", 0);
        for row in &self.workloads {
            let mut cells = vec![row.size.clone()];
            cells.extend(
                (0..self.titles.len()).map(|index| match row.runs.get(index) {
                    None => "–".to_owned(),
                    Some(run) if run.seconds.is_none() => "failed".to_owned(),
                    Some(run) if !run.right => "WRONG".to_owned(),
                    Some(run) => duration(run.seconds.unwrap_or(f64::NAN) * 1e9),
                }),
            );
            cells.push(row.result().to_owned());
            grid.row(row.name.clone(), cells);
        }
        let mut text = grid.render(width);
        text.push('\n');
        for row in &self.workloads {
            if let Some(problem) = &row.problem {
                text.push_str(&format!("{problem}\n"));
            }
            for run in &row.runs {
                if let Some(problem) = &run.problem {
                    text.push_str(&format!("{} with {}: {problem}\n", row.name, run.words()));
                }
            }
        }
        text.push_str(&self.summary());
        text
    }

    fn summary(&self) -> String {
        let all = self.workloads.len();
        let right = self.workloads.iter().filter(|row| row.right()).count();
        let runs: usize = self.workloads.iter().map(|row| row.runs.len()).sum();
        if right == all {
            let plural = if runs == 1 { "" } else { "s" };
            format!("{} right, in {runs} run{plural}.\n", workloads_are(all))
        } else {
            format!("{} of {} NOT right.\n", all - right, workloads_are(all))
        }
    }
}

fn workloads_are(count: usize) -> String {
    if count == 1 {
        "1 workload is".to_owned()
    } else {
        format!("{count} workloads are")
    }
}
