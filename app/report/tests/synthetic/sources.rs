//! The sources of the program that never ran, and what things cost where it did not.

use super::analysis;
use fathomp_analysis::{Analysis, Lines, PieceKind, Pieces, Place, State};
use fathomp_predict::machine::{ConstructCosts, Machine};
use fathomp_report::Source;
use std::collections::BTreeMap;

const DIRECTORY: &str = "/home/user/heat";
const RELAX: &str = "\
#pragma omp parallel for schedule(dynamic, 16) \\
        shared(grid, next)
    for (int row = 1; row < rows - 1; row++)
        for (int column = 1; column < columns - 1; column++)
            next[row][column] = 0.25 * (grid[row - 1][column] + grid[row + 1][column] + grid[row][column - 1] + grid[row][column + 1]);
    swap(&grid, &next);
}
";
const ASSEMBLE: &str = "\
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 16)
        for (int cell = 0; cell < cells; cell++)
            assemble_cell(cell, \"<b>\" < names[cell]);
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            finish();
    }
}
";
const RESIDUAL: &str = "\
#pragma omp parallel
    {
\tdouble own = 0;
#pragma omp for
\tfor (int row = 1; row < rows - 1; row++)
\t    for (int column = 1; column < columns - 1; column++) {
\t\tdouble change = next[row][column] - grid[row][column];
\t\town = change * change;

#pragma omp critical
\t\tsum += own;
\t    }
    }
    return sqrt(sum);
}
";

fn file(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// `parts` at their lines, with other code between.
fn text(parts: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (at, part) in parts {
        while lines.len() + 1 < *at {
            lines.push(format!("    step({});", lines.len() + 1));
        }
        lines.extend(part.lines().map(str::to_owned));
    }
    lines.join("\n") + "\n"
}

/// The files of the program but `vector.c`, which is missing.
pub(crate) fn sources() -> BTreeMap<String, Source> {
    let source = |text, newer| Source { text, newer };
    BTreeMap::from([
        (
            file("solver.c"),
            source(text(&[(120, RELAX), (188, ASSEMBLE)]), false),
        ),
        (file("residual.c"), source(text(&[(42, RESIDUAL)]), true)),
    ])
}

/// The program with a team of `threads`, and where its regions are.
pub(crate) fn with_lines(threads: u32) -> Analysis {
    let mut analysis = analysis(threads);
    for region in &mut analysis.regions {
        let (Some(file), Some(first)) = (region.place.file.clone(), region.place.line) else {
            continue;
        };
        let last = match first {
            120 => 124,
            188 => 195,
            42 => 52,
            _ => first + 3,
        };
        region.lines = Some(Lines { file, first, last });
        let each = u64::from(threads) * region.instances;
        match first {
            42 => region.mutexes_taken = 1_000 * region.instances,
            188 => {
                region.wait_counts.insert(State::ExplicitBarrier, each);
                region.work.pieces.push(Pieces {
                    kind: PieceKind::Chunks,
                    pieces: 32,
                    times: region.instances,
                    share: 0.9,
                    longest: None,
                });
            }
            _ => {}
        }
    }
    for one in &mut analysis.loops {
        if one.place.line == Some(188) {
            // As compilers do it: the loop's own line.
            one.place.line = Some(191);
        }
    }
    for wait in &mut analysis.waits {
        wait.place = Place {
            file: Some(file("residual.c")),
            line: Some(51),
            ..wait.place.clone()
        };
    }
    analysis
}

/// What things cost with 1 to 8 threads.
pub(crate) fn machine() -> Machine {
    let costs = |threads: u32| ConstructCosts {
        threads,
        fork_join_ns: 300.0 * f64::from(threads),
        barrier_ns: 100.0 * f64::from(threads),
        dynamic_chunk_ns: 40.0,
        lock_ns: 50.0,
    };
    Machine {
        constructs: [1, 2, 4, 8].map(costs).into(),
        ..Machine::unmeasured(8)
    }
}
