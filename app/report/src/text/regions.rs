//! What `fathomp regions` prints.

use super::{WIDTH_MIN, printable, wrapped};
use crate::units::{self, duration, percent, short_count};
use crate::view::words;
use fathomp_analysis::{Analysis, Region, Severity, SiteKind, State, ThreadShare, Times};
use fathomp_tables::Grid;

/// How to print regions.
#[derive(Clone, Copy, Debug)]
pub struct RegionOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Also a row for each thread of each region. Teams larger than
    /// [`RegionOptions::THREADS_MAX`] are shown by their fastest, middle and
    /// slowest thread.
    pub threads: bool,
}

impl RegionOptions {
    /// Largest team shown in full.
    pub const THREADS_MAX: usize = 16;
}

impl Default for RegionOptions {
    fn default() -> Self {
        Self {
            width: 80,
            threads: false,
        }
    }
}

/// The table of regions, with a line on the whole program before it and what
/// is doubtful after it.
#[must_use]
pub fn regions(analysis: &Analysis, options: RegionOptions) -> String {
    let width = options.width.max(WIDTH_MIN);
    let mut text = wrapped(&headline(analysis), width, "");
    text.push('\n');
    let mut grid = Grid::new("Region")
        .column("Inst", 2)
        .column("Time", 0)
        .column("Share", 0)
        .column("Eff", 0)
        .column("Bal", 0)
        .column("Wait", 0);
    // Most programs never lack a processor and never sleep in a region.
    let off = [(State::Blocked, "Blk"), (State::Ready, "Cpu")].map(|(state, title)| {
        let mut regions = analysis.regions.iter();
        let some = regions.any(|region| part(&region.states, region.states[state]) >= 0.001);
        (state, title, some)
    });
    let off: Vec<(State, &'static str)> = off
        .into_iter()
        .filter_map(|(state, title, some)| some.then_some((state, title)))
        .collect();
    for (_, title) in &off {
        grid = grid.column(*title, 2);
    }
    let iterations = analysis
        .regions
        .iter()
        .any(|region| region.all_iterations().is_some());
    if iterations {
        grid = grid.column("Iter", 2);
    }
    let mut grid = grid.column("Ovh", 3).column("Faults", 1).column("IPC", 4);
    let columns = Columns { off, iterations };
    for region in &analysis.regions {
        row(&mut grid, region, &columns);
        if options.threads && region.kind != SiteKind::Serial {
            for (name, thread) in chosen(analysis, region) {
                thread_row(&mut grid, &name, region, thread, &columns);
            }
        }
    }
    text.push_str(&grid.render(width));
    text.push('\n');
    let mut explanation = "Share: of the wall time. Eff: parallel efficiency. Bal: load balance. Wait, Ovh: waiting and runtime overhead, of the threads' time.".to_owned();
    for (state, title) in &columns.off {
        explanation.push_str(&format!(" {title}: {}.", words::loss(*state)));
    }
    if columns.iterations {
        explanation.push_str(" Iter: iterations of worksharing loops, all threads.");
    }
    text.push_str(&wrapped(&explanation, width, ""));
    if let Some(calls) = super::mpi::table(analysis, width) {
        text.push('\n');
        text.push_str(&calls);
    }
    if let Some(shared) = super::dsm::table(analysis, width, options.threads) {
        text.push('\n');
        text.push_str(&shared);
    }
    let problems: Vec<String> = analysis
        .problems
        .iter()
        .map(|problem| {
            let kind = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            format!("{kind}: {}", printable(&problem.sentence))
        })
        .collect();
    if !problems.is_empty() {
        text.push('\n');
        for problem in problems {
            text.push_str(&wrapped(&problem, width, "  "));
        }
    }
    text
}

/// Columns that not every table has.
struct Columns {
    /// Time off the processor.
    off: Vec<(State, &'static str)>,
    iterations: bool,
}

impl Columns {
    fn iterations(&self, count: Option<u64>) -> Option<String> {
        let text = || count.map_or_else(|| units::NOTHING.to_owned(), short_count);
        self.iterations.then(text)
    }
}

fn headline(analysis: &Analysis) -> String {
    format!(
        "{}: {} with {}, {} in parallel regions, parallel efficiency {}",
        printable(&words::shorten(&analysis.program.name, 60)),
        duration(analysis.wall_ns as f64),
        units::plural(analysis.team_size.into(), "thread"),
        percent(analysis.parallel_time_fraction),
        percent(analysis.efficiency.parallel)
    )
}

fn row(grid: &mut Grid, region: &Region, columns: &Columns) {
    let serial = region.kind == SiteKind::Serial;
    let unless_serial = |value: f64| {
        if serial {
            units::NOTHING.to_owned()
        } else {
            percent(value)
        }
    };
    let name = if serial {
        "serial part".to_owned()
    } else {
        printable(&region.name)
    };
    let mut cells = vec![
        short_count(region.instances),
        duration(region.wall_ns as f64),
        percent(region.share),
        unless_serial(region.efficiency.parallel),
        unless_serial(region.efficiency.load_balance),
        unless_serial(part(&region.states, region.states.waiting_ns())),
    ];
    cells.extend(
        columns
            .off
            .iter()
            .map(|(state, _)| percent(part(&region.states, region.states[*state]))),
    );
    cells.extend(columns.iterations(region.all_iterations()));
    cells.extend([
        unless_serial(part(&region.states, region.states[State::Overhead])),
        short_count(whole(
            region.counts.minor_faults + region.counts.major_faults,
        )),
        ipc(region.counts.instructions, region.counts.cycles),
    ]);
    grid.row(name, cells);
}

fn thread_row(
    grid: &mut Grid,
    name: &str,
    region: &Region,
    thread: &ThreadShare,
    columns: &Columns,
) {
    let states = &thread.states;
    let mut cells = vec![
        short_count(thread.instances),
        duration(states.total_ns() as f64),
        String::new(),
        percent(part(states, states.useful_ns())),
        String::new(),
        percent(part(states, states.waiting_ns())),
    ];
    cells.extend(
        columns
            .off
            .iter()
            .map(|(state, _)| percent(part(states, states[*state]))),
    );
    cells.extend(columns.iterations(region.iterations_of(thread)));
    cells.extend([
        percent(part(states, states[State::Overhead])),
        short_count(whole(
            thread.counts.minor_faults + thread.counts.major_faults,
        )),
        ipc(thread.counts.instructions, thread.counts.cycles),
    ]);
    grid.row(format!("  {name}"), cells);
}

/// The rows of a region's threads and what to call them.
pub(super) fn chosen<'a>(
    analysis: &Analysis,
    region: &'a Region,
) -> Vec<(String, &'a ThreadShare)> {
    let called = |thread: &ThreadShare| {
        if analysis.processes.len() > 1 {
            format!("thread {}:{}", thread.process, thread.thread)
        } else {
            format!("thread {}", thread.thread_num.unwrap_or(thread.thread))
        }
    };
    if region.threads.len() <= RegionOptions::THREADS_MAX {
        return region
            .threads
            .iter()
            .map(|one| (called(one), one))
            .collect();
    }
    let mut sorted: Vec<&ThreadShare> = region.threads.iter().collect();
    sorted.sort_by_key(|thread| thread.states.useful_ns());
    let picks = [
        ("least computing", sorted.first()),
        ("middle", sorted.get(sorted.len() / 2)),
        ("most computing", sorted.last()),
    ];
    picks
        .into_iter()
        .filter_map(|(what, thread)| {
            let thread = *thread?;
            Some((format!("{} ({what})", called(thread)), thread))
        })
        .collect()
}

fn part(states: &Times, ns: u64) -> f64 {
    ns as f64 / states.total_ns().max(1) as f64
}

fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

fn ipc(instructions: Option<f64>, cycles: Option<f64>) -> String {
    match (instructions, cycles) {
        (Some(instructions), Some(cycles)) if cycles > 0.0 => units::ratio(instructions / cycles),
        _ => units::NOTHING.to_owned(),
    }
}
