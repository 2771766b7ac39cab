//! The published models: what always holds, and what is refused.

use fathomp_analysis::testing::demo;
use fathomp_analysis::{Analysis, Dsm, Options as AnalyseOptions, analyse};
use fathomp_predict::counts::{Counted, CountsError, Row, Run, Scope};
use fathomp_predict::prices::{Cluster, ClusterError, Counts, Event, Prices, Protocol};
use fathomp_predict::published::{
    F, Model, Predicted, Question, SdpError, aggregate, critical, fit_f, predict,
};
use proptest::prelude::*;
use std::path::Path;

const GIGE: Prices = Prices {
    local_write_us: 20.9,
    remote_write_us: 40.5,
    fetch_us: 295.3,
    diff_to_home_us: 120.0,
};

fn runs() -> impl Strategy<Value = (Run, f64)> {
    let counts = prop::array::uniform4(0.0..1e6_f64);
    (1_u32..9, 1_usize..5, 0.1..1e4_f64, 0.0..=1.0_f64).prop_flat_map(
        move |(threads, regions, sequential_s, f)| {
            let rows = prop::collection::vec(counts.clone(), threads as usize * regions);
            rows.prop_map(move |rows| {
                let rows = rows
                    .into_iter()
                    .enumerate()
                    .map(|(index, counts)| Row {
                        region: (index / threads as usize).to_string(),
                        scope: Scope::Thread(index as u32 % threads),
                        counts: Counts(counts),
                    })
                    .collect();
                let run = Run {
                    threads,
                    sequential_ns: sequential_s * 1e9,
                    rows,
                    speedup_observed: None,
                };
                (run, f)
            })
        },
    )
}

proptest! {
    #[test]
    fn the_critical_path_lies_between_the_aggregates((run, _) in runs()) {
        let time = |f| aggregate(&run, &GIGE, f).unwrap().time_ns();
        let (path, regions) = critical(&run, &GIGE).unwrap();
        let path_ns = path.time_ns();
        prop_assert!(time(0.0) <= path_ns * (1.0 + 1e-12));
        prop_assert!(path_ns <= time(1.0) * (1.0 + 1e-12));
        let sum: f64 = regions.iter().map(|region| region.time_ns).sum();
        let events: f64 = path.events_ns.iter().sum();
        prop_assert!((sum - events).abs() <= 1e-9 * events.max(1.0));
        prop_assert!(regions.windows(2).all(|pair| pair[0].time_ns >= pair[1].time_ns));
    }

    #[test]
    fn fitting_finds_the_f_that_was((mut run, f) in runs()) {
        let time_ns = aggregate(&run, &GIGE, f).unwrap().time_ns();
        run.speedup_observed = Some(run.sequential_ns / time_ns);
        let threads = run.threads;
        let fitted = fit_f(&[run], &GIGE);
        match threads {
            1 => prop_assert_eq!(fitted, None),
            _ => prop_assert!((fitted.unwrap() - f).abs() < 1e-6),
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "(threads|sequential_s|write_faults|fetch_faults|thread|[0-9a\",\n#.-]){0,60}") {
        let _ = Counted::from_csv(&text);
    }
}

const HEAD: &str = "threads,sequential_s,region,thread,write_faults,fetch_faults\n";

fn refused(csv: &str) -> String {
    Counted::from_csv(csv).unwrap_err().to_string()
}

#[test]
fn the_slowest_thread_of_each_region_counts() {
    // Region a: thread 1 pays 2 x 320.1 us; region b: thread 0 pays 10 x 21.6.
    let csv = format!(
        "{HEAD}2,1,a,0,0,1\n2,1,a,1,0,2\n2,1,\"b, again\",0,10,0\n2,1,\"b, again\",1,0,0\n"
    );
    let predicted = ask(&csv, Model::Critical, F::Published).unwrap();
    let point = &predicted.programs[0].points[0];
    let faults_ns = (2.0 * 320.1 + 10.0 * 21.6) * 1e3;
    assert!((point.time_ns - 0.5e9 - faults_ns).abs() < 1e-3);
    let dominating = point.dominating.unwrap();
    assert_eq!(dominating.term, Event::Fetch);
    let regions: Vec<_> = point
        .regions
        .iter()
        .map(|region| (region.region.as_str(), region.thread))
        .collect();
    assert_eq!(regions, [("a", Some(1)), ("b, again", Some(0))]);
    let [least, most] = point.speedup_bounds.unwrap();
    assert!(least < point.speedup && point.speedup < most);
    assert!(predicted.warnings.is_empty());
}

#[test]
fn home_based_counts_have_prices_of_their_own() {
    let csv = "threads,sequential_s,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home\n\
        2,1,1000,100,10,1\n";
    let predicted = ask(csv, Model::Critical, F::Published).unwrap();
    assert_eq!(predicted.protocol, Protocol::Home);
    let times: Vec<f64> = predicted.programs[0].points[0]
        .terms
        .iter()
        .map(|term| term.time_ns)
        .collect();
    let expected = [0.5e9, 20.9e6, 4.05e6, 2.953e6, 0.12e6];
    for (time, expected) in times.into_iter().zip(expected) {
        assert!((time - expected).abs() < 1e-6 * expected, "{time}");
    }
}

fn ask(csv: &str, model: Model, f: F) -> Result<Predicted, SdpError> {
    ask_of("gige_amd", csv, model, f, None, None)
}

fn ask_of(
    cluster: &str,
    csv: &str,
    model: Model,
    f: F,
    protocol: Option<Protocol>,
    diff_bytes: Option<u32>,
) -> Result<Predicted, SdpError> {
    let question = Question {
        model,
        protocol,
        f,
        at: Vec::new(),
        diff_bytes,
    };
    let cluster = Cluster::find(Path::new(cluster))?;
    predict(&Counted::from_csv(csv).unwrap(), &cluster, &question)
}

#[test]
fn files_that_hold_no_counts_are_refused_in_a_sentence() {
    let cases = [
        String::new(),
        HEAD.to_owned(),
        "threads,sequential_s,write_faults\n2,1,1\n".to_owned(),
        "threads,sequential_s,local_write_faults,fetch_faults\n2,1,1,1\n".to_owned(),
        "threads,write_faults,fetch_faults\n2,1,1\n".to_owned(),
        "threads,threads,write_faults,fetch_faults\n2,2,1,1\n".to_owned(),
        format!("{HEAD}2,1,a,0,1\n"),
        format!("{HEAD}0,1,a,0,1,1\n"),
        format!("{HEAD}-2,1,a,0,1,1\n"),
        format!("{HEAD}1.5,1,a,0,1,1\n"),
        format!("{HEAD}2,0,a,0,1,1\n"),
        format!("{HEAD}2,NaN,a,0,1,1\n"),
        format!("{HEAD}2,1,a,0,-1,1\n"),
        format!("{HEAD}2,1,a,0,1,NaN\n"),
        format!("{HEAD}2,1,a,0,1,inf\n"),
        format!("{HEAD}2,1,a,0,1,1e300\n"),
        format!("{HEAD}2,1e300,a,0,1,1\n"),
        format!("{HEAD}2,1,a,0,1,\n"),
        format!("{HEAD}2,1,a,2,1,1\n"),
        format!("{HEAD}2,1,a,,1,1\n"),
        format!("{HEAD}2,1,a,0,1,1\n2,1,a,0,1,1\n"),
        format!("{HEAD}2,1,a,0,1,1\n2,3,a,1,1,1\n"),
        format!("{HEAD}2,1,\"a,0,1,1\n"),
    ];
    let said: Vec<String> = cases.iter().map(|csv| refused(csv)).collect();
    insta::assert_snapshot!(said.join("\n"));
    assert_eq!(Counted::from_csv(""), Err(CountsError::Empty));
}

#[test]
fn questions_without_an_answer_are_refused_in_a_sentence() {
    let path = "threads,sequential_s,write_faults,fetch_faults\n2,1,1,1\n";
    let all = format!("{HEAD}2,1,a,all,1,1\n");
    let beyond = Question {
        model: Model::Critical,
        protocol: None,
        f: F::Published,
        at: vec![2, 16],
        diff_bytes: None,
    };
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    let counts = Counted::from_csv(path).unwrap();
    let home = "threads,sequential_s,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home\n\
        2,1,1,1,1,1\n";
    let said = [
        ask(path, Model::Aggregate, F::Published),
        ask(&all, Model::Critical, F::Published),
        ask(&all, Model::Aggregate, F::Values(vec![1.5])),
        ask(&all, Model::Aggregate, F::Fit),
        predict(&counts, &cluster, &beyond),
        ask_of(
            "gige_amd",
            path,
            Model::Critical,
            F::Published,
            Some(Protocol::Home),
            None,
        ),
        ask_of(
            "gige_amd",
            home,
            Model::Critical,
            F::Published,
            None,
            Some(64),
        ),
    ]
    .map(|answer| answer.unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn doubts_are_said() {
    let csv = "threads,sequential_s,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home,thread\n\
        64,1,1,1,1,1,critical\n64,1,1000,1000,1000,1000,all\n";
    let homeless = Some(Protocol::Homeless);
    let predicted = ask_of(
        "infiniband_ddr4x",
        csv,
        Model::Critical,
        F::Published,
        homeless,
        None,
    );
    insta::assert_snapshot!(predicted.unwrap().warnings.join("\n"));
}

const CLUSTER: &str = r#"{
    "schema": "fathomp.cluster", "version": 1, "name": "ours", "nodes": 4,
    "network": { "latency_us": 10, "bandwidth_mb_per_s": 1000 },
    "page_bytes": 4096,
    "homeless": { "write_fault_us": 5, "fetch_fault_us": 50 }
}"#;

#[test]
fn clusters_that_cannot_be_are_refused_in_a_sentence() {
    assert!(Cluster::from_json(CLUSTER).is_ok());
    let changed = |from: &str, to: &str| {
        let text = CLUSTER.replace(from, to);
        assert_ne!(text, CLUSTER, "{from}");
        text
    };
    let texts = [
        "{".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        changed("fathomp.cluster", "fathomp.analysis"),
        changed("fathomp.cluster", "fathomp.machine"),
        changed("\"version\": 1", "\"version\": 2"),
        changed("fetch_fault_us", "fetch_us"),
        changed("\"nodes\": 4", "\"nodes\": 0"),
        changed("\"fetch_fault_us\": 50", "\"fetch_fault_us\": 0"),
        changed("\"write_fault_us\": 5", "\"write_fault_us\": -5"),
        changed("\"bandwidth_mb_per_s\": 1000", "\"bandwidth_mb_per_s\": 0"),
        changed("\"page_bytes\": 4096", "\"page_bytes\": 0"),
        changed(
            "\"homeless\"",
            "\"home\": { \"local_write_fault_us\": 1, \"remote_write_fault_us\": 1, \"fetch_fault_us\": 1, \"diffs_to_home\": [] }, \"homeless\"",
        ),
    ];
    let mut said: Vec<String> = texts
        .iter()
        .map(|text| Cluster::from_json(text).unwrap_err().to_string())
        .collect();
    for name in ["gige_adm", "GIGE_AMD", "myrinet", "no/such/file", "/"] {
        let error = Cluster::find(Path::new(name)).unwrap_err();
        said.push(error.to_string());
    }
    let ours = Cluster::from_json(CLUSTER).unwrap();
    let unpriced = ours.prices(Protocol::Home, None).unwrap_err();
    assert!(matches!(unpriced, ClusterError::Unpriced { .. }));
    said.push(unpriced.to_string());
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn prices_of_diffs_are_linear_between_measured_sizes() {
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    let price = |bytes| {
        let prices = cluster.prices(Protocol::Home, Some(bytes)).unwrap();
        prices.prices.diff_to_home_us
    };
    assert_eq!(price(8192), 190.0);
    assert_eq!(price(12288), 231.0);
    assert_eq!(price(20480), 312.0);
}

/// A recording with the counts of a run on several nodes: in each region but
/// the serial part, thread i has i + 1 fetch faults.
fn on_nodes(threads: u32) -> Analysis {
    let mut analysis = analyse(&demo(threads), &AnalyseOptions::default());
    for region in &mut analysis.regions[1..] {
        for (number, share) in region.threads.iter_mut().enumerate() {
            share.dsm = Some(Dsm {
                fetch_faults: number as u64 + 1,
                ..Dsm::default()
            });
        }
    }
    analysis
}

#[test]
fn recordings_on_nodes_are_counts_too() {
    let alone = analyse(&demo(1), &AnalyseOptions::default());
    let (two, four) = (on_nodes(2), on_nodes(4));
    let counted = Counted::from_analyses(&[&four, &alone, &two], None).unwrap();
    assert_eq!(counted.protocol, Protocol::Home);
    let runs = &counted.programs[0].runs;
    let threads: Vec<u32> = runs.iter().map(|run| run.threads).collect();
    assert_eq!(threads, [2, 4]);
    let regions = two.regions.len() as f64 - 1.0;
    for run in runs {
        assert_eq!(run.sequential_ns, alone.wall_ns as f64);
        let (path, costs) = critical(run, &GIGE).unwrap();
        let most = f64::from(run.threads) * regions * 295.3e3;
        assert!((path.events_ns[Event::Fetch as usize] - most).abs() < 1.0);
        assert!(costs.iter().all(|region| region.thread.is_some()));
    }
    let given = Counted::from_analyses(&[&two], Some(5e9)).unwrap();
    assert_eq!(given.programs[0].runs[0].sequential_ns, 5e9);
    let said = [
        Counted::from_analyses(&[&alone], None),
        Counted::from_analyses(&[&two], None),
        Counted::from_analyses(&[&two, &alone, &two], None),
    ]
    .map(|answer| answer.unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}
