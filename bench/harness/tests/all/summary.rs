//! What is concluded from measurements whose content is known.

use fathomp_bench::result::Document;
use fathomp_bench::summary::{Point, Summary, summarise};
use fathomp_bench::synthetic;

fn point<'a>(summary: &'a Summary, name: &str, threads: u32) -> &'a Point {
    let mut points = summary.points.iter();
    let found = points.find(|point| point.name() == name && point.threads == threads);
    found.unwrap()
}

/// Only the rows without parameters: enough, and quick.
fn plain(mut document: Document) -> Document {
    document.cells.retain(|cell| cell.case.values.is_empty());
    document
}

#[test]
fn the_subject_is_compared_with_the_best_of_the_others() {
    let summary = summarise(&[plain(synthetic::epcc())], None);
    let parallel = point(&summary, "PARALLEL", 2);
    let ratio = parallel.against_best().unwrap();
    assert_eq!(summary.columns[ratio.against].name, "gcc+libgomp");
    assert!((ratio.value - 0.5).abs() < 0.01, "{ratio:?}");
    assert!(ratio.interval.contains(ratio.value) && !ratio.at_floor);
    let verdict = summary
        .verdicts
        .iter()
        .find(|one| one.threads == 2)
        .unwrap();
    assert!((verdict.geometric_mean - 0.5).abs() < 0.01 && verdict.is_met());
    assert_eq!(verdict.rows, 3);

    let other = summarise(&[plain(synthetic::epcc())], Some("gcc+libomp"));
    let verdict = other.verdicts.iter().find(|one| one.threads == 2).unwrap();
    assert!((verdict.geometric_mean - 3.0).abs() < 0.05 && !verdict.is_met());
    assert_eq!(verdict.above_limit.len(), 3);
    assert!(
        summarise(&[plain(synthetic::epcc())], Some("nobody"))
            .subject
            .is_none()
    );
}

#[test]
fn a_runtime_is_not_compared_with_itself_under_another_compiler() {
    let mut document = plain(synthetic::epcc());
    let mut second = document.columns[0].clone();
    second.compiler = "gfortran".to_owned();
    document.columns[2] = second;
    let summary = summarise(&[document.clone()], None);
    let ratios = &point(&summary, "BARRIER", 1).ratios;
    assert_eq!(ratios.len(), 1);
    assert_eq!(summary.columns[ratios[0].against].name, "gcc+libgomp");

    document.columns[1].runtime = "fathomp".to_owned();
    document.columns[1].compiler = "clang".to_owned();
    let one_runtime = summarise(&[document], None);
    assert_eq!(point(&one_runtime, "BARRIER", 1).ratios.len(), 2);
}

#[test]
fn what_cannot_be_seen_is_not_compared() {
    let mut document = synthetic::mcbench();
    document.cells.retain(|cell| cell.threads == 2);
    for process in document
        .cells
        .iter_mut()
        .flat_map(|cell| &mut cell.processes)
    {
        for (index, value) in process.construct_ns.iter_mut().enumerate() {
            *value = process.reference_ns[index] - 0.1 * index as f64;
        }
    }
    let summary = summarise(&[document], None);
    for point in &summary.points {
        let ratio = point.against_best().unwrap();
        assert!(ratio.at_floor && ratio.value == 1.0, "{ratio:?}");
    }
}

#[test]
fn several_measurements_of_one_machine_are_joined() {
    let first = plain(synthetic::epcc());
    let mut second = first.clone();
    second.id = "e1".to_owned();
    let mut elsewhere = first.clone();
    elsewhere.id = "e2".to_owned();
    elsewhere.machine.host = "other".to_owned();
    let summary = summarise(&[first, second, elsewhere], None);
    assert_eq!(summary.columns.len(), 6);
    assert_eq!(summary.columns[0].name, "gcc+fathomp, made-up");
    let barrier = point(&summary, "BARRIER", 2);
    assert_eq!(barrier.estimate(0).unwrap().over_runs.runs, 6);
    assert_eq!(barrier.estimate(3).unwrap().over_runs.runs, 3);
    assert!(barrier.ratios.iter().all(|ratio| ratio.against < 3));
}

#[test]
fn a_failure_of_the_subject_alone_is_named() {
    let summary = summarise(&[plain(synthetic::epcc())], Some("libomp"));
    let verdict = summary
        .verdicts
        .iter()
        .find(|one| one.threads == 4)
        .unwrap();
    assert_eq!(verdict.failed, ["PARALLEL"]);
}
