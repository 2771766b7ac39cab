//! The runs as a table.

use super::{Curve, Run};
use fathomp_tables::Grid;
use fathomp_types::size::Size;
use fathomp_types::text::NO_TERMINAL;
use std::time::Duration;

impl Curve {
    /// Lines of a table, and what it comes to as a sentence.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut grid = Grid::new("memory").columns([
            "time",
            "times as long",
            "major faults",
            "page-ins",
            "swap in",
            "swap out",
        ]);
        for run in &self.runs {
            let limit = run.limit_bytes.map(|bytes| Size(bytes).to_string());
            grid.row(limit.unwrap_or_else(|| "no limit".to_owned()), row(run));
        }
        let table = grid.render(NO_TERMINAL);
        let lines = table.lines().chain([self.sentence.as_str()]);
        lines.map(str::to_owned).collect()
    }
}

fn row(run: &Run) -> Vec<String> {
    let number = |count: u64| count.to_string();
    let unknown = || "?".to_owned();
    let seconds = Duration::from_nanos(run.wall_ns).as_secs_f64();
    let slow = match (run.killed, run.slow_down) {
        (true, _) => "killed".to_owned(),
        (false, Some(slow)) => format!("{slow:.2}"),
        (false, None) => unknown(),
    };
    vec![
        format!("{seconds:.2} s"),
        slow,
        run.major_faults.map_or_else(unknown, number),
        number(run.page_ins),
        number(run.swap_ins),
        number(run.swap_outs),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_heads() {
        let run = |limit_bytes, killed| Run {
            limit_bytes,
            killed,
            wall_ns: 1_500_000_000,
            ..Run::default()
        };
        let curve = Curve::new(vec![run(None, false), run(Some(256 << 20), true)], false);
        let lines = curve.lines();
        assert_eq!((lines.len(), &lines[3]), (4, &curve.sentence));
        let lines = &lines[..3];
        assert!(
            lines.iter().all(|line| line.len() == lines[0].len()),
            "{lines:#?}"
        );
        assert!(lines[1].contains("no limit") && lines[1].contains("1.50 s"));
        assert!(lines[2].contains("256M") && lines[2].contains("killed"));
    }
}
