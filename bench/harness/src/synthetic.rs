//! Made-up measurements of each suite, for tests and examples: what they show
//! is known beforehand.

use crate::machine::Machine;
use crate::result::{Cell, Clocks, Column, Document, SCHEMA, Skipped, VERSION};
use crate::settings::Settings;
use crate::suite::{Case, Measures, Parameter, Process, Row, SuiteName};

/// Samples per process.
const SAMPLES: usize = 12;

/// Constructs of three columns: fathomp's overhead is 100 ns per thread,
/// libgomp's twice and libomp's three times that; what is parameterised gets
/// cheaper with the parameter.
#[must_use]
pub fn epcc() -> Document {
    let rows = [
        row("PARALLEL", "sync", Measures::Overhead, &[]),
        row("BARRIER", "sync", Measures::Overhead, &[]),
        row(
            "DYNAMIC n",
            "sched",
            Measures::Overhead,
            &[("chunk", "iterations", &[1, 4, 16, 64])],
        ),
        row(
            "COPYIN n",
            "array",
            Measures::Overhead,
            &[("array", "doubles", &[1, 81, 6561])],
        ),
        row(
            "REDUCTION n",
            "array",
            Measures::Overhead,
            &[("array", "doubles", &[1, 81, 6561])],
        ),
        row(
            "GUIDED n",
            "sched",
            Measures::Overhead,
            &[("chunk", "iterations", &[1, 4, 16, 64])],
        ),
        row("PARALLEL TASK", "task", Measures::Overhead, &[]),
    ];
    let columns = ["fathomp", "libgomp", "libomp"];
    let cost = |case: &Case, column: usize, threads: u32| {
        let base = 100.0 * (column + 1) as f64 * f64::from(threads);
        match case.values.first() {
            Some(value) if case.row.starts_with("DYNAMIC") => 20.0 + base / *value as f64,
            Some(value) => base + *value as f64,
            None => base,
        }
    };
    let mut document = document(
        SuiteName::Epcc,
        "e0",
        &rows,
        &columns,
        |case, column, threads| sampled(100.0, cost(case, column, threads)),
    );
    document.cells.push(Cell {
        case: Case {
            row: "PARALLEL".to_owned(),
            values: Vec::new(),
        },
        column: 2,
        threads: 4,
        processes: Vec::new(),
        failure: Some("failed: signal 11 (SIGSEGV), without a word".to_owned()),
    });
    document.skipped.push(Skipped {
        what: "hint.c (Locks and critical sections with hints about their use)".to_owned(),
        column: Some("gcc".to_owned()),
        reason: "undefined reference to `omp_init_lock_with_hint'".to_owned(),
    });
    document
}

/// Memory consistency: false sharing makes small chunks dear.
#[must_use]
pub fn mcbench() -> Document {
    let chunks: &[u64] = &[4, 16, 32, 64, 4096];
    let arrays: &[u64] = &[1 << 20, 8 << 20];
    let rows = [
        row(
            "ROUND ROBIN c a",
            "consistency",
            Measures::Overhead,
            &[("chunk", "bytes", chunks), ("array", "bytes", arrays)],
        ),
        row(
            "BLOCKED a",
            "consistency",
            Measures::Overhead,
            &[("array", "bytes", arrays)],
        ),
    ];
    document(
        SuiteName::Mcbench,
        "c0",
        &rows,
        &["fathomp", "libgomp"],
        |case, column, threads| {
            let array = case.values.last().copied().unwrap_or(1) as f64;
            let chunk = if case.values.len() > 1 {
                case.values[0] as f64
            } else {
                array
            };
            let sharing = if chunk < 64.0 { 64.0 / chunk } else { 0.2 };
            // What no cache holds comes from memory, shared or not.
            let sharing = if array > 4e6 { sharing / 8.0 } else { sharing };
            let per_mb = 20_000.0 * sharing * f64::from(threads) * (1.0 + 0.05 * column as f64);
            sampled(array * 0.3, per_mb * array / 1e6)
        },
    )
}

/// Memory accesses: a cache of 48 KiB, one of 2 MiB, and memory that two
/// threads saturate.
#[must_use]
pub fn access() -> Document {
    let sizes: Vec<u64> = (12..27).map(|power| 1 << power).collect();
    let rows = [
        row(
            "CHASE w",
            "latency",
            Measures::Time,
            &[("working set", "bytes", &sizes)],
        ),
        row(
            "COPY w",
            "bandwidth",
            Measures::Time,
            &[("working set", "bytes", &[1 << 26])],
        ),
        row(
            "TRIAD w",
            "bandwidth",
            Measures::Time,
            &[("working set", "bytes", &[1 << 26])],
        ),
    ];
    document(
        SuiteName::Access,
        "a0",
        &rows,
        &["fathomp", "libgomp"],
        |case, _, threads| {
            let bytes = case.values[0];
            let ns = match bytes {
                0..=49_152 => 1.5,
                49_153..=2_097_152 => 5.0,
                _ => 90.0,
            };
            let chase = case.row.starts_with("CHASE");
            let time = if chase {
                1000.0 * ns
            } else {
                bytes as f64 / (12.0 * f64::from(threads.min(2)))
            };
            let mut process = sampled(0.0, time);
            process.reference_ns.clear();
            process.reference_cpu_ns.clear();
            process.accesses = chase.then_some(1000.0);
            process.bytes = Some(bytes as f64);
            process
        },
    )
}

fn row(name: &str, group: &str, measures: Measures, parameters: &[(&str, &str, &[u64])]) -> Row {
    let symbols: Vec<&str> = name.rsplit(' ').take(parameters.len()).collect();
    Row {
        row: name.to_owned(),
        group: group.to_owned(),
        measures,
        parameters: parameters
            .iter()
            .zip(symbols.into_iter().rev())
            .map(|((name, unit, values), symbol)| Parameter {
                name: (*name).to_owned(),
                symbol: symbol.to_owned(),
                unit: (*unit).to_owned(),
                values: values.to_vec(),
                quick: Vec::new(),
            })
            .collect(),
    }
}

/// Samples that scatter a little, in a fixed pattern.
fn sampled(reference_ns: f64, overhead_ns: f64) -> Process {
    let wave = |index: usize| 1.0 + 0.01 * ((index * 5 % 7) as f64 - 3.0) / 3.0;
    let reference: Vec<f64> = (0..SAMPLES).map(|_| reference_ns).collect();
    let construct: Vec<f64> = (0..SAMPLES)
        .map(|index| reference_ns + overhead_ns * wave(index))
        .collect();
    Process {
        reps: 100,
        reference_cpu_ns: reference.clone(),
        reference_ns: reference,
        construct_cpu_ns: construct.clone(),
        construct_ns: construct,
        ..Process::default()
    }
}

fn document(
    suite: SuiteName,
    id: &str,
    rows: &[Row],
    runtimes: &[&str],
    process: impl Fn(&Case, usize, u32) -> Process,
) -> Document {
    let settings = Settings {
        threads: vec![1, 2, 4],
        ..Settings::default()
    };
    let mut cells = Vec::new();
    for case in rows.iter().flat_map(|row| row.cases(false)) {
        for threads in &settings.threads {
            for column in 0..runtimes.len() {
                let run = |run| Process {
                    run,
                    ..process(&case, column, *threads)
                };
                cells.push(Cell {
                    case: case.clone(),
                    column,
                    threads: *threads,
                    processes: (0..settings.runs).map(run).collect(),
                    failure: None,
                });
            }
        }
    }
    Document {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        id: id.to_owned(),
        began_unix_ns: 1_790_000_000_000_000_000,
        took_ns: 40_000_000_000,
        suite,
        machine: Machine {
            host: "made-up".to_owned(),
            processor: "A processor".to_owned(),
            processors: 4,
            governor: Some("performance".to_owned()),
            kernel: "6.1.0".to_owned(),
            load_one_minute: Some(0.1),
            cache: None,
            simulated: false,
        },
        clocks: Clocks {
            resolution_ns: 1.0,
            cost_ns: 20.0,
            tsc_hz: Some(2e9),
            core_hz: Some(3e9),
        },
        settings,
        columns: runtimes
            .iter()
            .map(|runtime| Column {
                compiler: "gcc".to_owned(),
                compiler_version: "gcc 12.2.0".to_owned(),
                runtime: (*runtime).to_owned(),
                library: None,
                protocol: None,
            })
            .collect(),
        rows: rows.to_vec(),
        cells,
        skipped: Vec::new(),
        warnings: Vec::new(),
    }
}
