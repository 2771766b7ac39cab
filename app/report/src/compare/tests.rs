//! Verdicts about runs that are made up.

use super::*;
use fathomp_analysis::{Region, SiteKind};
use fathomp_types::Ending;

/// A region of a program on two threads, all of whose time is work.
fn region(name: &str, ns: u64) -> Region {
    let mut region = Analysis::empty().regions.swap_remove(0);
    region.kind = SiteKind::Parallel;
    region.key = format!("parallel:/bin/solve+{name}");
    region.name = name.to_owned();
    region.place.function = Some(name.to_owned());
    region.place.file = Some("solve.c".to_owned());
    region.place.line = Some(1);
    region.wall_ns = ns;
    region.instances = 1;
    region
}

fn run(threads: u32, regions: &[(&str, u64)]) -> Analysis {
    let mut run = Analysis::empty();
    run.program.name = "solve".to_owned();
    run.program.threads_asked = Some(threads);
    run.program.outcome = Some(Ending::Exited(0));
    run.wall_ns = regions.iter().map(|(_, ns)| ns).sum();
    run.regions
        .extend(regions.iter().map(|(name, ns)| region(name, *ns)));
    run
}

/// Runs of one region, in milliseconds.
fn side(name: &str, times_ms: &[u64]) -> Side {
    let runs = times_ms
        .iter()
        .map(|ms| run(2, &[("work", ms * 1_000_000)]));
    Side {
        name: name.to_owned(),
        analyses: runs.collect(),
        ..Side::default()
    }
}

fn against(before: Side, after: Side) -> Comparison {
    let concluded = [Concluded::default(), Concluded::default()];
    compare(&[before, after], &concluded).unwrap()
}

fn verdict_of(comparison: &Comparison) -> Option<Verdict> {
    comparison.tables[0].program.verdicts[1]
}

const QUIET: [u64; 5] = [100, 101, 99, 100, 102];

#[test]
fn what_is_equal_shows_no_difference() {
    let same = against(side("a", &QUIET), side("b", &[101, 100, 100, 99, 102]));
    assert_eq!(verdict_of(&same), Some(Verdict::Same));
    assert!(
        same.summary[0].starts_with("No difference can be seen between a and b with 2 threads")
    );
    assert!(same.slower_by(0.0).is_empty() && same.can_tell());
}

#[test]
fn what_is_faster_or_slower_is_said_with_its_interval() {
    let faster = against(side("a", &QUIET), side("b", &[80, 81, 82, 80, 83]));
    assert_eq!(verdict_of(&faster), Some(Verdict::Faster));
    assert!(
        faster.summary[0].starts_with("b takes 0.81 times as long as a with 2 threads (0.7"),
        "{:?}",
        faster.summary
    );
    assert!(faster.slower_by(0.05).is_empty());
    let slower = against(side("a", &QUIET), side("b", &[120, 121, 119, 122, 120]));
    assert_eq!(verdict_of(&slower), Some(Verdict::Slower));
    let clauses = slower.slower_by(0.05);
    // The program, and the region that makes it so.
    assert_eq!(clauses.len(), 2, "{clauses:?}");
    assert!(
        clauses[0].starts_with("the program of b takes 1.20"),
        "{clauses:?}"
    );
    assert!(slower.slower_by(0.3).is_empty());
}

#[test]
fn noise_hides_a_difference_and_that_is_said() {
    let noisy = against(
        side("a", &[100, 160, 90, 130, 110]),
        side("b", &[105, 90, 170, 140, 120]),
    );
    assert_eq!(verdict_of(&noisy), Some(Verdict::Same));
    assert!(noisy.summary[0].contains("These runs cannot tell less than that"));
}

#[test]
fn single_runs_say_what_they_cannot_tell() {
    let single = against(side("a", &[100]), side("b", &[103]));
    assert_eq!(verdict_of(&single), Some(Verdict::SingleRuns));
    let said = &single.summary[0];
    assert!(
        said.contains("in one run each. That cannot tell a difference below 5.0 %"),
        "{said}"
    );
    assert!(said.contains("Several runs tell more"), "{said}");
    assert!(!single.can_tell());
    let mut disturbed = side("b", &[150]);
    disturbed.analyses[0].program.others_used = Some(0.3);
    let single = against(side("a", &[100]), disturbed);
    let said = &single.summary[0];
    assert!(
        said.contains("below 43 % from chance (other programs used 30 %"),
        "{said}"
    );
    assert!(said.contains("This difference is larger"), "{said}");
}

#[test]
fn a_region_that_hardly_matters_is_not_called_slower() {
    let runs = |small: u64| Side {
        name: format!("{small}"),
        analyses: QUIET
            .iter()
            .map(|ms| run(2, &[("work", ms * 1_000_000), ("small", small)]))
            .collect(),
        ..Side::default()
    };
    let comparison = against(runs(100_000), runs(300_000));
    let small = comparison.tables[0]
        .regions
        .iter()
        .find(|row| row.row.name == "small")
        .unwrap();
    assert_eq!(small.verdicts[1], Some(Verdict::Little));
    assert!(comparison.slower_by(0.05).is_empty());
}

#[test]
fn regions_that_come_and_go_are_listed_with_their_time() {
    let one = |name: &'static str| Side {
        name: name.to_owned(),
        analyses: QUIET
            .iter()
            .map(|ms| run(2, &[("kept", ms * 1_000_000), (name, 50_000_000)]))
            .collect(),
        ..Side::default()
    };
    let comparison = against(one("old"), one("young"));
    let row = |name: &str| {
        comparison.tables[0]
            .regions
            .iter()
            .find(|row| row.row.name == name)
            .unwrap()
    };
    assert_eq!(row("old").verdicts[1], Some(Verdict::Gone));
    assert_eq!(row("old").longer_ns[1], Some(-50e6));
    assert_eq!(row("young").verdicts[1], Some(Verdict::New));
    assert!(row("young").row.columns[0].is_none());
    // What changes most comes first.
    assert_ne!(comparison.tables[0].regions[0].row.name, "kept");
}

#[test]
fn only_equal_numbers_of_threads_are_compared() {
    let with = |name: &str, threads: &[u32]| Side {
        name: name.to_owned(),
        analyses: threads
            .iter()
            .map(|threads| run(*threads, &[("work", 1_000_000)]))
            .collect(),
        ..Side::default()
    };
    let comparison = against(with("a", &[1, 2]), with("b", &[2, 4]));
    assert_eq!(comparison.tables.len(), 1);
    assert_eq!(comparison.tables[0].setting.threads, 2);
    let doubts = comparison.doubts.join(" ");
    assert!(
        doubts.contains("a has no run with 4 threads; b has no run with 1 thread"),
        "{doubts}"
    );
    let sides = [with("a", &[1]), with("b", &[2])];
    let error = compare(&sides, &[]).unwrap_err().to_string();
    assert!(
        error.contains("a ran with 1 thread, and b ran with 2 threads"),
        "{error}"
    );
}

#[test]
fn runs_that_failed_or_were_disturbed_are_left_out_where_others_remain() {
    let mut after = side("b", &[100, 100, 101, 500, 900]);
    after.analyses[3].program.outcome = Some(Ending::Signalled(11));
    after.analyses[4].program.others_used = Some(0.5);
    let kept = compared(&[side("a", &QUIET), after.clone()]);
    assert_eq!([kept[0].len(), kept[1].len()], [5, 3]);
    let comparison = against(side("a", &QUIET), after);
    assert_eq!(comparison.tables[0].runs, [5, 3]);
    assert_eq!(comparison.tables[0].left_out, [0, 2]);
    assert_eq!(verdict_of(&comparison), Some(Verdict::Same));
    let doubts = comparison.doubts.join(" ");
    assert!(
        doubts.contains("1 run of b did not come to a good end and is left out"),
        "{doubts}"
    );
    assert!(
        doubts.contains("1 run of b that other programs disturbed is left out"),
        "{doubts}"
    );
}

#[test]
fn times_of_runs_that_all_failed_are_not_compared() {
    let mut after = side("b", &[10, 11]);
    for run in &mut after.analyses {
        run.program.outcome = Some(Ending::Signalled(11));
    }
    let comparison = against(side("a", &QUIET), after);
    assert_eq!(verdict_of(&comparison), None);
    assert!(
        comparison.summary[0].contains("are not compared"),
        "{:?}",
        comparison.summary
    );
    assert!(comparison.doubts[0].contains("No run of b came to a good end"));
    assert!(!comparison.can_tell());
}

#[test]
fn slower_processors_are_no_slower_program() {
    let paced = |name: &str, times: &[u64], pace: f64| {
        let mut side = side(name, times);
        for run in &mut side.analyses {
            let mut measured = fathomp_trace::model::Pace::default();
            measured.before.usual_ns = pace;
            measured.after.usual_ns = pace;
            run.program.pace = Some(measured);
        }
        side
    };
    let after = [112, 113, 111, 112, 114];
    let comparison = against(paced("a", &QUIET, 50.0), paced("b", &after, 56.0));
    assert_eq!(verdict_of(&comparison), Some(Verdict::Same));
    assert!(comparison.doubts[0].contains("took 1.12 times as long for the same computing"));
    let comparison = against(paced("a", &QUIET, 50.0), paced("b", &after, 50.5));
    assert_eq!(verdict_of(&comparison), Some(Verdict::Slower));
}

#[test]
fn what_other_programs_took_on_one_side_is_no_slower_program() {
    let disturbed = |name: &str, times: &[u64], used: f64| {
        let mut side = side(name, times);
        for run in &mut side.analyses {
            run.program.others_used = Some(used);
        }
        side
    };
    let after = [132, 133, 131, 132, 134];
    let comparison = against(side("a", &QUIET), disturbed("b", &after, 0.3));
    // Causes may be there that nobody could find.
    assert!(!comparison.causes_known && comparison.no_causes().contains("cannot be told"));
    assert_eq!(verdict_of(&comparison), Some(Verdict::Same));
    // What both sides suffered alike explains nothing.
    let comparison = against(disturbed("a", &QUIET, 0.3), disturbed("b", &after, 0.3));
    assert_eq!(verdict_of(&comparison), Some(Verdict::Slower));
}

#[test]
fn programs_without_a_common_region_are_refused() {
    let named = |name: &'static str, region: &'static str| {
        let mut run = run(2, &[(region, 1_000_000)]);
        run.program.name = name.to_owned();
        Side {
            name: format!("of {name}"),
            analyses: vec![run],
            ..Side::default()
        }
    };
    let sides = [named("fft", "transform"), named("lu", "eliminate")];
    let error = compare(&sides, &[]).unwrap_err();
    assert!(matches!(error, CompareError::OtherPrograms(_)), "{error}");
    let sides = [named("lu-old", "eliminate"), named("lu-new", "eliminate")];
    let comparison = compare(&sides, &[]).unwrap();
    assert!(comparison.doubts[0].contains("they are taken for one program"));
}

#[test]
fn pages_and_text_say_what_was_found_and_escape_it() {
    let mut after = side("<b>", &[80, 81, 82, 80, 83]);
    for run in &mut after.analyses {
        run.program
            .environment
            .insert("OMP_SCHEDULE".to_owned(), "dynamic<1>".to_owned());
        run.program.machine.host = "other".to_owned();
    }
    let comparison = against(side("a", &QUIET), after);
    let page = crate::comparison_page(&comparison).unwrap();
    for said in [
        "&lt;b&gt; takes 0.81 times",
        "OMP_SCHEDULE",
        "dynamic&lt;1&gt;",
        "not set",
        "compare the machines as well",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("<b> takes"));
    let text = crate::text::comparison(&comparison, 100);
    assert!(
        text.starts_with("<b> takes 0.81 times as long as a"),
        "{text}"
    );
    assert!(
        text.contains("OMP_SCHEDULE") && text.contains("faster"),
        "{text}"
    );
}
