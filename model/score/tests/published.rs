//! The listings of the published text, classified as it classifies them. Facts and where
//! they come from: `data/listing_rules.csv`.

use fathomp_regions::{
    Array, Construct, Known, Place, Region, SourceAccess, SourceLoop, Statement, Subscript,
};
use fathomp_score::{
    Averages, Class, Ignored, Kernel, Machine, Outside, Pressure, Ratio, Rules, Weights, judge,
    score, sensitivity,
};

const ROWS: &str = include_str!("data/listing_rules.csv");

struct Row<'a> {
    listing: &'a str,
    loops: Vec<&'a str>,
    access: &'a str,
    dimensions: u32,
    counted: bool,
    class: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    ROWS.lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("listing,"))
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            Row {
                listing: fields[0],
                loops: fields[1].split(' ').collect(),
                access: fields[2],
                dimensions: fields[3].parse().expect("a number"),
                counted: fields[4] == "yes",
                class: fields[5],
            }
        })
        .collect()
}

/// The construct of one listing: one statement with all its accesses.
fn construct(rows: &[&Row<'_>]) -> Construct {
    let loops = &rows[0].loops;
    let mut construct = Construct {
        loops: loops
            .iter()
            .enumerate()
            .map(|(index, name)| SourceLoop {
                parent: index.checked_sub(1),
                place: Place::default(),
                last_line: 0,
                variable: Known::Known((*name).to_owned()),
                from: "0".to_owned(),
                to: format!("N{name}"),
                comparison: "<".to_owned(),
                step: "1".to_owned(),
                trips: None,
                depends_on: Vec::new(),
                worksharing: index == 0,
            })
            .collect(),
        ..Construct::default()
    };
    let mut statement = Statement {
        inside: Some(loops.len() - 1),
        additions: 1,
        ..Statement::default()
    };
    for row in rows {
        let (name, rest) = row.access.split_once('[').expect("a subscript");
        construct.arrays.push(Array {
            name: name.to_owned(),
            element_bytes: Some(8),
            ..Array::default()
        });
        let subscripts = rest.trim_end_matches(']').split("][").map(|text| {
            let index = loops.iter().position(|one| *one == text);
            Subscript {
                text: text.to_owned(),
                factors: index.map(|index| (index, 1)).into_iter().collect(),
                constant: text.parse().ok(),
                ..Subscript::default()
            }
        });
        statement.accesses.push(SourceAccess {
            array: construct.arrays.len() - 1,
            text: row.access.to_owned(),
            writes: name == "matrixC",
            subscripts: subscripts.collect(),
        });
    }
    construct.statements.push(statement);
    construct
}

#[test]
fn every_access_of_the_listings_is_classified_as_published() {
    let rows = rows();
    let mut listings: Vec<&str> = rows.iter().map(|row| row.listing).collect();
    listings.dedup();
    assert_eq!((rows.len(), listings.len()), (10, 5));
    for listing in listings {
        let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.listing == listing).collect();
        let kernel = Kernel::of_construct(&construct(&rows));
        let statement = &kernel.statements[0];
        for (row, access) in rows.iter().zip(&statement.accesses) {
            let what = format!("{} in listing {listing}", row.access);
            assert_eq!(access.dimensions, row.dimensions, "{what}");
            let judged = judge(access, statement, 0, &Rules::default());
            assert_eq!(judged.class != Class::Ignored, row.counted, "{what}");
            match row.class {
                "" => {}
                "hit" => assert_eq!(judged.class, Class::Hit, "{what}"),
                "miss with P" => {
                    assert_eq!(judged.class, Class::Streaming, "{what}");
                    assert!(judged.reused, "{what}");
                }
                "miss streaming" => assert_eq!(judged.class, Class::Streaming, "{what}"),
                "miss latency" => assert_eq!(judged.class, Class::Latency, "{what}"),
                other => panic!("{what}: nobody knows `{other}`"),
            }
        }
    }
}

fn listing(number: &str) -> Region {
    let rows = rows();
    let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.listing == number).collect();
    Region {
        construct: Some(construct(&rows)),
        ..Region::default()
    }
}

const MACHINE: Machine = Machine {
    cache_bytes: 16.0 * 1048576.0,
    packages: 4,
};

fn value(number: &str, times_cache: f64, rules: &Rules) -> f64 {
    let set = MACHINE.cache_bytes * times_cache;
    let weights = Weights::default();
    score(&listing(number), set, &MACHINE, rules, &weights)
        .expect("a score")
        .value
}

#[test]
fn columns_score_above_rows_and_small_working_sets_above_large() {
    let rules = Rules::default();
    assert!(value("4.6", 1.2, &rules) > value("4.5", 1.2, &rules));
    assert!(value("4.3", 1.5, &rules) > value("4.5", 1.5, &rules));
    assert!(value("4.3", 1.5, &rules) > value("4.3", 10.0, &rules));
    // What fits the cache misses nothing.
    assert_eq!(value("4.5", 0.9, &rules), 1.0);
    assert_eq!(value("4.5", f64::NAN, &rules), value("4.5", 1e30, &rules));
}

#[test]
fn each_open_question_is_a_switch_that_makes_a_difference() {
    let base = Rules::default();
    let others = [
        (
            "4.3",
            Rules {
                ratio: Ratio::Plain,
                ..base
            },
        ),
        (
            "4.5",
            Rules {
                pressure: Pressure::Reused,
                ..base
            },
        ),
        (
            "4.3",
            Rules {
                outside: Outside::Nothing,
                ..base
            },
        ),
        (
            "4.3",
            Rules {
                cache_grows: true,
                ..base
            },
        ),
        (
            "4.2",
            Rules {
                ignored: Ignored::Scalars,
                ..base
            },
        ),
    ];
    for (number, rules) in others {
        let (one, two) = (value(number, 1.2, &base), value(number, 1.2, &rules));
        assert!((one - two).abs() > 1e-6, "{number} {rules:?}: {one} {two}");
    }
    // Averages need two statements.
    let mut region = listing("4.3");
    let more = listing("4.5").construct.expect("a construct");
    let construct = region.construct.as_mut().expect("a construct");
    let mut statement = more.statements[0].clone();
    statement.inside = Some(1);
    construct.statements.push(statement);
    let of = |rules: Rules| {
        let weights = Weights::default();
        let set = MACHINE.cache_bytes * 1.5;
        score(&region, set, &MACHINE, &rules, &weights)
            .expect("a score")
            .value
    };
    assert_ne!(
        of(base),
        of(Rules {
            averages: Averages::Scores,
            ..base
        })
    );
    assert_ne!(
        of(base),
        of(Rules {
            by_iterations: true,
            ..base
        })
    );
}

#[test]
fn decisions_depend_on_weights_by_a_known_share() {
    let regions: Vec<(Kernel, f64)> = ["4.1", "4.2", "4.3", "4.5", "4.6"]
        .iter()
        .flat_map(|number| {
            let kernel = Kernel::of(&listing(number)).expect("a kernel");
            [1.2, 2.0, 10.0].map(|times| (kernel.clone(), times * MACHINE.cache_bytes))
        })
        .collect();
    let changes = sensitivity(&regions, &MACHINE, &Rules::default(), &Weights::default());
    assert_eq!(changes.len(), 18);
    assert!(changes.iter().all(|change| change.regions == 15));
    let of = |name: &str| -> usize {
        let of_weight = changes.iter().filter(|change| change.weight == name);
        of_weight.map(|change| change.changed).sum()
    };
    assert!(of("read_miss.streaming") > 0);
    // No listing divides or calls.
    assert_eq!(of("division") + of("call"), 0);
}
