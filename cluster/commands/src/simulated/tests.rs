use super::*;
use fathomp_bench::suite::{Measures, Parameter};
use fathomp_bench::summary::{Summary, figures, summarise};
use fathomp_trace_replay::Prices;

/// As much as gives each of 8 nodes some pages.
const ARRAY: u64 = 256 << 10;

fn row(name: &str, parameters: &[(&str, &[u64])]) -> Row {
    let parameter = |(name, values): &(&str, &[u64])| Parameter {
        name: (*name).to_owned(),
        symbol: String::new(),
        unit: "bytes".to_owned(),
        values: values.to_vec(),
        quick: Vec::new(),
    };
    Row {
        row: name.to_owned(),
        group: "consistency".to_owned(),
        measures: Measures::Overhead,
        parameters: parameters.iter().map(parameter).collect(),
    }
}

/// Both protocols on a cluster with a network of those numbers, and faults of 20.9 us.
fn summary(latency_us: f64, mb_per_s: f64, chunks: &[u64], array: u64, nodes: &[u32]) -> Summary {
    let net = Net::new(latency_us, mb_per_s).unwrap();
    let round_trip_us = 2.0 * latency_us + 4096.0 / mb_per_s;
    let way = |protocol: Protocol| {
        let (sharing, fetch_faults, diff_to_home_us) = match protocol {
            Protocol::Home => (
                Sharing::Home { plain: true },
                6.25,
                20.9 + latency_us + 4096.0 / mb_per_s,
            ),
            Protocol::Homeless => (
                Sharing::Homeless {
                    plain: true,
                    memory_mib: 64,
                },
                7.25,
                0.0,
            ),
        };
        let prices = Prices {
            local_write_us: 20.9,
            remote_write_us: 40.5,
            fetch_us: fetch_faults * 20.9 + round_trip_us,
            diff_to_home_us,
            ours: false,
            barrier_us: None,
            fetch_at_work_us: None,
        };
        Way {
            name: protocol.name().to_owned(),
            protocol,
            sharing,
            homes: Homes::FirstTouch,
            net,
            costs: Costs::from_prices(&prices, &net),
        }
    };
    let cluster = Cluster {
        name: "there".to_owned(),
        about: "made up".to_owned(),
    };
    let settings = Settings {
        threads: nodes.to_vec(),
        ..Settings::default()
    };
    let rows = vec![
        row("ROUND ROBIN c a", &[("chunk", chunks), ("array", &[array])]),
        row("BLOCKED a", &[("array", &[array])]),
    ];
    let ways = Protocol::ALL.iter().map(|protocol| way(*protocol));
    let plan = Plan::new(rows, cluster, ways.collect(), &Choice::default(), &settings).unwrap();
    let document = plan.simulate(|_, _, _| {});
    document.check().unwrap();
    assert!(document.cells.iter().all(|cell| cell.failure.is_none()));
    summarise(&[document], None)
}

/// Chunks and what the paper states of them, of figure 2 in the table under `tests/published`.
fn published() -> Vec<(&'static str, Option<u64>, &'static str)> {
    let table = include_str!("../../../../bench/harness/tests/published/mcbench_figures.csv");
    let curve = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        let protocol = match (*fields.first()?, *fields.get(1)?) {
            ("2", "CLOMP") => "homeless",
            ("2", "SCLIB") => "home",
            _ => return None,
        };
        let chunk = fields.get(6)?.parse().ok();
        Some((protocol, chunk, *fields.get(7)?))
    };
    table.lines().filter_map(curve).collect()
}

#[test]
fn curves_follow_the_published_laws_or_say_why_not() {
    let published = published();
    assert_eq!(published.len(), 6);
    let mut differ = Vec::new();
    // Gigabit Ethernet and InfiniBand, as published.
    for (latency_us, mb_per_s) in [(60.0, 98.0), (3.0, 1221.0)] {
        let summary = summary(latency_us, mb_per_s, &[4, 4096], ARRAY, &[2, 3, 4, 8]);
        for (protocol, chunk, law) in &published {
            let found = summary.laws.iter().find(|found| {
                let column = &summary.columns[found.column].column;
                column.protocol.as_deref() == Some(*protocol) && found.chunk == *chunk
            });
            let found = found.unwrap();
            let said = found.sentence(Some(*protocol));
            assert!(found.is_lawful(), "{said}");
            assert_eq!(found.expected.unwrap().name(), *law);
            assert_eq!(found.is_expected(), said.ends_with("as published."));
            if !found.is_expected() {
                differ.push(format!("{latency_us} us, {protocol}: {said}"));
            }
        }
        for unit in &summary.units {
            assert_eq!((unit.above, unit.at_most), (Some(4), 4096));
        }
        assert_eq!(summary.units.len(), 2);
    }
    // Requests overlap where messages take long; where they are short, that all ask the one home
    // of a page outweighs them.
    let grown = [
        "60 us, homeless: chunks of 4 B: nearest to O(n), but from n = 2 to 8 costs grow more \
         slowly than published, 3.0 times instead of 4.0.",
        "3 us, home: chunks of 4 B: ",
    ];
    assert_eq!(differ.len(), grown.len(), "{differ:#?}");
    for (said, begin) in differ.iter().zip(grown) {
        assert!(said.starts_with(begin), "{said}");
    }
    let faster = "costs grow faster than published, 2.6 times instead of 1.8.";
    assert!(differ[1].contains(faster), "{}", differ[1]);
}

/// In any order, on as many processors as there are.
#[test]
fn the_same_is_answered_every_time() {
    let of = || {
        let summary = summary(60.0, 98.0, &[64, 4096], 64 << 10, &[2, 3, 5]);
        let points = summary.points.iter();
        let values = points.map(|p| {
            (
                p.name(),
                p.threads,
                [0, 1].map(|c| p.estimate(c).unwrap().value),
            )
        });
        values.collect::<Vec<_>>()
    };
    assert_eq!(of(), of());
}

#[test]
fn figures_are_the_published_ones() {
    let summary = summary(60.0, 98.0, &[4, 4096], ARRAY, &[1, 2, 3, 20]);
    let figures = figures(&summary);
    for protocol in ["home", "homeless"] {
        let id = format!("mcbench-consistency-chunks-simulated-{protocol}");
        let figure = figures.iter().find(|figure| figure.id == id).unwrap();
        let names: Vec<&str> = figure.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["c = 4 B", "c = 4 KiB", "blocked"]);
        assert_eq!(
            (figure.x.as_str(), figure.y_unit.as_str()),
            ("nodes", "ms/MB")
        );
        assert!(figure.y_logarithmic);
        // One node has nobody to be consistent with.
        let over = figure.series[0].points.iter().map(|point| point[0]);
        assert_eq!(over.collect::<Vec<_>>(), [2.0, 3.0, 20.0]);
    }
}

/// The pages of a share, and bytes of their diffs.
fn runs(runs: &[fathomp_access_trace::Run]) -> Vec<(fathomp_protocols::Access, u32, u32, u32)> {
    let run = |run: &fathomp_access_trace::Run| {
        let first = run.pages.first().0;
        (run.access, first, run.pages.len(), run.diff_bytes)
    };
    runs.iter().map(run).collect()
}

#[test]
fn what_is_accessed_is_what_the_program_does() {
    use fathomp_protocols::Access::{Read, Write};
    let passes = Passes {
        before: 1,
        counted: 1,
    };
    let pattern = Pattern {
        array: 4 * 4096,
        chunk: Some(4096),
        threads: 2,
    };
    let accesses = shared(pattern, passes).unwrap();
    accesses.check().unwrap();
    let sets = &accesses.threads[0].sets;
    // Of each word of a page one byte changes: 64 bits for the page, 64 for each line of it.
    let full = 8 + 64 * 8 + 1024;
    assert_eq!(runs(&sets[0]), [(Write, 0, 2, full)], "first writes");
    assert_eq!(
        runs(&sets[1]),
        [(Write, 1, 1, full), (Write, 3, 1, full)],
        "pass 1"
    );
    assert_eq!(runs(&sets[2]), [(Read, 0, 1, 0), (Read, 2, 1, 0)], "pass 1");
    let words = Pattern {
        chunk: Some(4),
        ..pattern
    };
    let sets = &shared(words, passes).unwrap().threads[1].sets;
    assert_eq!(runs(&sets[1]), [(Write, 0, 4, 8 + 64 * 8 + 512)], "pass 1");
    private(3, passes).check().unwrap();
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let passes = Passes {
        before: 1,
        counted: 1,
    };
    let of = |array, chunk, threads| {
        let pattern = Pattern {
            array,
            chunk,
            threads,
        };
        shared(pattern, passes).unwrap_err()
    };
    assert_eq!(of(4098, None, 2), PatternError::Words);
    assert_eq!(of(4096, Some(6), 2), PatternError::Words);
    assert_eq!(of(0, None, 2), PatternError::TooLarge);
    assert_eq!(of(1 << 60, Some(4), 2), PatternError::TooLarge);
    assert_eq!(of(1 << 30, Some(4), 65_000), PatternError::TooLarge);
}
