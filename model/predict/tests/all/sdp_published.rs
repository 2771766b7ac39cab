//! The models recompute the published tables.

use fathomp_predict::counts::{Counted, Row, Run, Scope};
use fathomp_predict::prices::{Cluster, Counts, Prices, Protocol, bundled};
use fathomp_predict::published::{
    F, Model, Point, Predicted, Question, aggregate, mean_relative_error, predict,
};
use std::collections::BTreeMap;
use std::path::Path;

const TABLE_1: &str = include_str!("../published/sdp_table1_clomp_critical_path_faults.csv");
const TABLE_2: &str = include_str!("../published/sdp_table2_clomp_speedup.csv");
const TABLE_3: &str = include_str!("../published/sdp_table3_sclib_speedup.csv");
const TABLE_4: &str = include_str!("../published/sdp_table4_relative_error.csv");
const COEFFICIENTS: &str = include_str!("../published/sdp_coefficients.csv");
const CLUSTERS: &str = include_str!("../published/clusters.csv");

/// Lines of a table by column name; its cells hold no commas.
fn table(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), names.len(), "{line}");
            names.iter().copied().zip(cells).collect()
        })
        .collect()
}

fn number(row: &BTreeMap<&str, &str>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// The counts of table 1 with the sequential times and speedups of table 2.
fn counts() -> Counted {
    let mut csv = String::from(
        "class,benchmark,threads,sequential_s,speedup_observed,write_faults,fetch_faults\n",
    );
    let times = table(TABLE_2);
    for row in table(TABLE_1) {
        let key = ["class", "benchmark", "threads"];
        let same = times
            .iter()
            .find(|times| key.iter().all(|name| times[name] == row[name]));
        let same = same.unwrap();
        let cells = [
            row["class"],
            row["benchmark"],
            row["threads"],
            same["sequential_s"],
            same["speedup_observed"],
            row["write_faults"],
            row["fetch_faults"],
        ];
        csv.push_str(&(cells.join(",") + "\n"));
    }
    Counted::from_csv(&csv).unwrap()
}

fn question(model: Model) -> Question {
    Question {
        model,
        protocol: None,
        f: F::Published,
        at: Vec::new(),
        diff_bytes: None,
    }
}

fn critical() -> Predicted {
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    predict(&counts(), &cluster, &question(Model::Critical)).unwrap()
}

fn point<'a>(predicted: &'a Predicted, row: &BTreeMap<&str, &str>) -> &'a Point {
    let name = format!("{} {}", row["class"], row["benchmark"]);
    let threads: u32 = row["threads"].parse().unwrap();
    let program = predicted.programs.iter().find(|one| one.program == name);
    let mut points = program.unwrap().points.iter();
    points.find(|point| point.threads == threads).unwrap()
}

/// The published column disagrees with the published counts and coefficients:
/// 859000 x 21.6 us + 1030000 x 320.1 us + 197.2 s / 4 is 397.6 s, a speedup of
/// 0.50, where 0.52 is printed.
const DISAGREES: [&str; 1] = ["A LU 4"];
/// Printed with the third decimal cut off instead of rounded; but for BT 8 and
/// LU 2 of class C, inputs with more digits than are printed explain it as well.
const CUT_OFF: [&str; 7] = [
    "A BT 4", "A BT 8", "A IS 8", "C BT 8", "C LU 2", "C IS 2", "C IS 4",
];

#[test]
fn critical_paths_of_table_1_give_the_speedups_of_table_2() {
    let predicted = critical();
    let rows = table(TABLE_2);
    assert_eq!(rows.len(), 39);
    for row in rows {
        let name = format!("{} {} {}", row["class"], row["benchmark"], row["threads"]);
        let speedup = point(&predicted, &row).speedup;
        let printed = row["speedup_critical"];
        let rounded = format!("{speedup:.2}");
        let cut = format!("{:.2}", (speedup * 100.0).floor() / 100.0);
        if DISAGREES.contains(&name.as_str()) {
            assert_eq!((printed, rounded.as_str()), ("0.52", "0.50"));
        } else if CUT_OFF.contains(&name.as_str()) {
            assert_ne!(printed, rounded, "{name} agrees after all");
            assert_eq!(printed, cut, "{name}: {speedup}");
        } else {
            assert_eq!(printed, rounded, "{name}: {speedup}");
        }
    }
}

#[test]
fn the_fetch_faults_dominate_wherever_there_are_any() {
    let predicted = critical();
    for point in predicted.programs.iter().flat_map(|one| &one.points) {
        let faults: f64 = point.terms[1..].iter().map(|term| term.time_ns).sum();
        let total: f64 = point.terms.iter().map(|term| term.time_ns).sum();
        assert!((total / point.time_ns - 1.0).abs() < 1e-12);
        assert_eq!(point.dominating.is_some(), faults > 0.0);
        if let Some(dominating) = point.dominating {
            assert_eq!(dominating.term, fathomp_predict::prices::Event::Fetch);
        }
    }
}

/// The counts that the aggregate columns were computed from are not published,
/// but all five columns of a row follow from one sum. It is known within what
/// the rounding of each column allows; one value must satisfy all five.
fn aggregate_columns_agree(text: &str, protocol: Protocol) {
    const F_OF: [(f64, &str); 5] = [
        (0.0, "speedup_agg_f0"),
        (0.25, "speedup_agg_f0.25"),
        (0.5, "speedup_agg_f0.5"),
        (0.75, "speedup_agg_f0.75"),
        (1.0, "speedup_agg_f1"),
    ];
    // A second for each fetch: the count is the sum in seconds.
    let prices = Prices {
        local_write_us: 0.0,
        remote_write_us: 0.0,
        fetch_us: 1e6,
        diff_to_home_us: 0.0,
    };
    for row in table(text) {
        let threads: u32 = row["threads"].parse().unwrap();
        let (sequential_s, p) = (number(&row, "sequential_s"), f64::from(threads));
        let (mut least, mut most) = (0.0_f64, f64::INFINITY);
        for (f, column) in F_OF {
            let printed = number(&row, column);
            let share = f + (1.0 - f) / p;
            least = least.max((sequential_s / (printed + 0.005) - sequential_s / p) / share);
            most = most.min((sequential_s / (printed - 0.005) - sequential_s / p) / share);
        }
        assert!(least <= most, "no sum of costs gives this row: {row:?}");
        let fetches = f64::midpoint(least, most);
        let counts = match protocol {
            Protocol::Homeless => Counts::homeless(0.0, fetches),
            Protocol::Home => Counts::home(0.0, 0.0, fetches, 0.0),
        };
        let run = Run {
            threads,
            sequential_ns: sequential_s * 1e9,
            rows: vec![Row {
                region: String::new(),
                scope: Scope::All,
                counts,
            }],
            speedup_observed: None,
        };
        for (f, column) in F_OF {
            let time_ns = aggregate(&run, &prices, f).unwrap().time_ns();
            let off = sequential_s * 1e9 / time_ns - number(&row, column);
            assert!(off.abs() <= 0.005 + 1e-9, "f = {f}: {off} in {row:?}");
        }
        // The critical path lies between the extremes.
        let critical = number(&row, "speedup_critical");
        assert!(number(&row, "speedup_agg_f1") <= critical, "{row:?}");
        assert!(critical <= number(&row, "speedup_agg_f0"), "{row:?}");
    }
}

#[test]
fn one_sum_of_costs_explains_the_aggregate_columns_of_table_2() {
    aggregate_columns_agree(TABLE_2, Protocol::Homeless);
}

#[test]
fn one_sum_of_costs_explains_the_aggregate_columns_of_table_3() {
    assert_eq!(table(TABLE_3).len(), 30);
    aggregate_columns_agree(TABLE_3, Protocol::Home);
}

/// From speedups with two decimals, such as 0.22 and 0.31, this is 0.21.
const ROUNDED_TWICE: [&str; 1] = ["SCLIB C aggregate_f0 4"];

#[test]
fn the_errors_of_table_4_follow_from_tables_2_and_3() {
    for row in table(TABLE_4) {
        let speedups = table(match row["system"] {
            "CLOMP" => TABLE_2,
            _ => TABLE_3,
        });
        let without: &[&str] = match row["subset"] {
            "all" => &[],
            "without LU" => &["LU"],
            "without LU and CG" => &["LU", "CG"],
            other => panic!("{other}"),
        };
        let column = match row["model"] {
            "critical" => "speedup_critical",
            _ => "speedup_agg_f0",
        };
        for threads in ["2", "4", "8"] {
            let pairs: Vec<(f64, f64)> = speedups
                .iter()
                .filter(|one| one["class"] == row["class"] && one["threads"] == threads)
                .filter(|one| !without.contains(&one["benchmark"]))
                .map(|one| (number(one, column), number(one, "speedup_observed")))
                .collect();
            let error = mean_relative_error(&pairs).unwrap();
            let name = [row["system"], row["class"], row["model"], threads].join(" ");
            let printed = row[format!("threads{threads}").as_str()];
            let rounded = format!("{error:.2}");
            if ROUNDED_TWICE.contains(&name.as_str()) {
                assert_eq!((printed, rounded.as_str()), ("0.22", "0.21"));
            } else {
                assert_eq!(printed, rounded, "{error} for {row:?}");
            }
        }
    }
}

#[test]
fn the_form_of_table_4_comes_with_every_prediction() {
    let errors = critical().errors;
    let threads: Vec<u32> = errors.iter().map(|error| error.threads).collect();
    assert_eq!(threads, [2, 4, 8]);
    assert!(errors.iter().all(|error| error.programs == 13));
    // Both classes together: between the 0.46 of A and the 0.24 of C.
    let most = errors[2].mean_relative_error;
    assert!((0.24..0.46).contains(&most), "{most}");
}

#[test]
fn bundled_clusters_have_the_published_numbers() {
    let networks = table(CLUSTERS);
    let names: Vec<&str> = networks.iter().map(|row| row["name"]).collect();
    assert_eq!(bundled().collect::<Vec<_>>(), names);
    for row in &networks {
        let cluster = Cluster::find(Path::new(row["name"])).unwrap();
        assert_eq!(cluster.name, row["name"]);
        assert_eq!(f64::from(cluster.nodes), number(row, "nodes"));
        assert_eq!(cluster.network.latency_us, number(row, "latency_us"));
        let bandwidth = number(row, "bandwidth_MBps");
        assert_eq!(cluster.network.bandwidth_mb_per_s, bandwidth);
        assert!(cluster.about.contains(row["cpu"]), "{}", cluster.about);
        for protocol in [Protocol::Homeless, Protocol::Home] {
            let derived = cluster.prices(protocol, None).unwrap().derived;
            assert_eq!(derived, row["name"] != "gige_amd");
        }
    }
    let measured = Cluster::find(Path::new("gige_amd")).unwrap();
    for row in table(COEFFICIENTS) {
        let protocol = match row["system"] {
            "CLOMP" => Protocol::Homeless,
            _ => Protocol::Home,
        };
        let bytes = row["page_bytes"].parse().ok();
        let prices = measured.prices(protocol, bytes).unwrap().prices;
        let price = match row["coefficient"] {
            "write" | "write_remote" => prices.remote_write_us,
            "write_local" => prices.local_write_us,
            "fetch" => prices.fetch_us,
            "diff_to_home" => prices.diff_to_home_us,
            other => panic!("{other}"),
        };
        assert_eq!(price, number(&row, "microseconds"), "{row:?}");
    }
}

/// The rule's constants come from this very cluster, so this says that the rule
/// has the right terms and no more.
#[test]
fn prices_derived_for_the_measured_cluster_are_near_the_measured() {
    let measured = Cluster::find(Path::new("gige_amd")).unwrap();
    let derived = Cluster {
        fault_us: Some(20.9),
        homeless: None,
        home: None,
        ..measured.clone()
    };
    let sizes = [4096, 8192, 16384, 20480];
    let home = sizes.map(|bytes| (Protocol::Home, Some(bytes)));
    for (protocol, bytes) in home.into_iter().chain([(Protocol::Homeless, None)]) {
        let [ours, theirs] =
            [&derived, &measured].map(|cluster| cluster.prices(protocol, bytes).unwrap().prices);
        for event in fathomp_predict::prices::Event::ALL {
            let (ours, theirs) = (ours.us(event), theirs.us(event));
            assert!(
                (ours - theirs).abs() <= 0.15 * theirs,
                "{event:?}: {ours} for {theirs} us"
            );
        }
    }
}

#[test]
fn f_is_fitted_where_it_can_be_and_programs_without_faults_do_not_stop_it() {
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    let mut counted = counts();
    // The counts of all threads together, for the aggregate model.
    for run in counted.programs.iter_mut().flat_map(|one| &mut one.runs) {
        run.rows.iter_mut().for_each(|row| row.scope = Scope::All);
    }
    let asked = Question {
        f: F::Fit,
        ..question(Model::Aggregate)
    };
    let predicted = predict(&counted, &cluster, &asked).unwrap();
    let of = |name: &str| {
        let program = predicted.programs.iter().find(|one| one.program == name);
        program.unwrap().points[0].clone()
    };
    assert_eq!((of("A EP").f, of("A EP").speedup), (None, 2.0));
    assert!((of("A SP").f.unwrap() - 1.08).abs() < 0.01);
    let said = predicted.warnings.join(" ");
    assert!(said.contains("No f is fitted for A EP, C EP"), "{said}");
    // Without observed speedups nothing can be fitted, which others do not suffer from.
    for run in &mut counted.programs[1].runs {
        run.speedup_observed = None;
    }
    let fewer = predict(&counted, &cluster, &asked).unwrap();
    assert!(fewer.programs[1].points.is_empty());
    let name = &fewer.programs[1].program;
    let said = fewer.warnings.join(" ");
    assert!(
        said.contains(&format!("Nothing is predicted for {name}")),
        "{said}"
    );
}

#[test]
fn errors_by_class_are_those_of_table_4() {
    let predicted = critical();
    let rows: Vec<_> = predicted
        .table4
        .iter()
        .map(|row| (&row.class[..], &row.subset[..]))
        .collect();
    let subsets = ["all", "without LU", "without LU and CG"];
    let expected: Vec<_> = ["A", "C"]
        .iter()
        .flat_map(|class| subsets.map(|subset| (*class, subset)))
        .collect();
    assert_eq!(rows, expected);
    for line in table(TABLE_4) {
        if line["system"] != "CLOMP" || line["model"] != "critical" {
            continue;
        }
        let row = predicted
            .table4
            .iter()
            .find(|row| row.class == line["class"] && row.subset == line["subset"])
            .unwrap();
        for (threads, error, _) in &row.errors {
            let printed = number(&line, &format!("threads{threads}"));
            assert!((error - printed).abs() < 0.03, "{line:?}: {error}");
        }
    }
    let published = validate_all();
    assert!(published.is_of_counts() && published.rows.len() == 39);
}

/// All published models at once, beside what was observed.
fn validate_all() -> fathomp_predict::validate::Validated {
    use fathomp_predict::validate::{Priced, validate_counts};
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    let priced = Priced {
        cluster: &cluster,
        protocol: None,
        diff_bytes: None,
        counted: None,
    };
    let mut counted = counts();
    let validated = validate_counts(&counted, priced).unwrap();
    for run in counted.programs.iter_mut().flat_map(|one| &mut one.runs) {
        run.speedup_observed = None;
    }
    let refused = validate_counts(&counted, priced).unwrap_err();
    assert!(refused.to_string().contains("speedup_observed"));
    let sized = Priced {
        diff_bytes: Some(64),
        ..priced
    };
    assert!(validate_counts(&counted, sized).is_err());
    validated
}
