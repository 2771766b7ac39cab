//! What the page is made of, without a browser.

use crate::synthetic;
use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Options, Problem, Severity, SiteKind, State};
use fathomp_analysis::{Output, OutputDifference, StackOverflow, StackOwner};
use fathomp_diagnosis::Soundness;
use fathomp_report::{Input, page};
use fathomp_types::Ending;
use proptest::collection::vec;
use proptest::prelude::*;

/// A page has to open on a slow machine and travel by mail.
const PAGE_BYTES_MAX: usize = 4 << 20;

fn html(input: &Input<'_>) -> String {
    page(input, &synthetic::conclude(input)).expect("the template fits the data")
}

#[test]
fn every_combination_of_parts_makes_a_page() {
    let one = [synthetic::analysis(1)];
    let runs = [1, 2, 4, 8].map(synthetic::analysis);
    let prediction = synthetic::prediction(8);
    let notes = ["The run with 16 threads was ended by SIGKILL.".to_owned()];
    for analyses in [&[][..], &one, &runs] {
        for prediction in [None, Some(&prediction)] {
            let page = html(&Input {
                analyses,
                prediction,
                notes: &notes,
                ..Input::default()
            });
            assert!(page.starts_with("<!doctype html>"));
            assert!(page.trim_end().ends_with("</html>"));
            assert!(page.contains(&notes[0]));
            assert!(!page.contains("NaN"));
            assert_eq!(page.contains("id=\"region-table\""), !analyses.is_empty());
            assert_eq!(
                page.contains("id=\"scaling\""),
                prediction.is_some() || analyses.len() > 1
            );
        }
    }
}

#[test]
fn the_largest_program_gives_a_page_of_bounded_size() {
    let mut large = synthetic::analysis(1024);
    let template = large.regions[1].clone();
    for index in 0..3000 {
        let mut region = template.clone();
        region.name = format!("generated.c:{index} {}", "std::pair<int, ".repeat(50));
        // Only the first few are drawn: spare the others their threads.
        if index > 100 {
            region.threads.clear();
        }
        large.regions.push(region);
    }
    for index in 0..10_000 {
        large.problems.push(Problem {
            severity: Severity::Warning,
            sentence: format!("Something is wrong with event {index}."),
        });
        let value = "x".repeat(1000);
        large
            .program
            .environment
            .insert(format!("OMP_{index}"), value);
    }
    // As the analysis would have bounded it.
    large.timeline.threads.truncate(128);
    let runs = [large];
    let page = html(&Input {
        analyses: &runs,
        ..Input::default()
    });
    assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
    assert!(page.contains("regions with less time are left out"));
    assert!(page.contains("128 of 1024 threads"));
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let runs = [synthetic::analysis(2)];
    let page = html(&Input {
        analyses: &runs,
        ..Input::default()
    });
    for address in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    let runs = [synthetic::hostile()];
    let page = html(&Input {
        analyses: &runs,
        ..Input::default()
    });
    assert_eq!(page.matches("<script").count(), 2, "ours and the data");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    assert!(page.contains("{{ 7 * 7 }}"), "templates are not run twice");
    assert!(
        page.len() < 500_000,
        "a name of 10 kB is not repeated: {}",
        page.len()
    );
}

#[test]
fn a_program_that_died_is_said_to_have_died_first() {
    let mut analysis = synthetic::analysis(2);
    analysis.program.outcome = Some(Ending::Signalled(11));
    let page = html(&Input {
        analyses: &[analysis],
        ..Input::default()
    });
    let summary = page.find("The program was ended by signal 11 (SIGSEGV)");
    let cost = page.find("The program took");
    assert!(summary.is_some() && summary < cost);
}

#[test]
fn nothing_is_concluded_from_broken_runs() {
    type Breaks = fn(&mut fathomp_analysis::Analysis);
    let ways: [(Breaks, &str); 6] = [
        (
            |one| one.program.outcome = Some(Ending::Signalled(11)),
            "The run with 8 threads was ended by signal 11 (SIGSEGV); until that is mended",
        ),
        (
            |one| one.program.outcome = Some(Ending::Exited(3)),
            "The run with 8 threads left with exit code 3; until",
        ),
        (
            |one| {
                one.program.outcome = Some(Ending::Signalled(11));
                one.program.stack_overflow = Some(StackOverflow {
                    thread: 3,
                    team_size: 8,
                    owner: StackOwner::Worker,
                    had_bytes: 8 << 20,
                    needed_bytes: 22 << 20,
                    at_least: false,
                });
            },
            "OpenMP thread 3 ran out of stack",
        ),
        (
            |one| one.program.output = Some(differing(Some("<b>1"), Some("2"))),
            "with 8 threads differs from that with 1 thread in line 7: ",
        ),
        (
            |one| one.program.output = Some(differing(Some("more"), None)),
            "with 8 threads has a line 7 that the one with 1 thread has not",
        ),
        (
            |one| one.program.output = Some(differing(None, Some("less"))),
            "with 8 threads lacks line 7 of the one with 1 thread",
        ),
    ];
    for (breaks, words) in ways {
        let mut runs = [1, 2, 8].map(synthetic::analysis);
        assert_eq!(Soundness::of(&runs).broken, None);
        breaks(&mut runs[2]);
        assert!(
            Soundness::of(&runs)
                .broken
                .is_some_and(|said| said.contains(words)),
            "{words}"
        );
        let prediction = synthetic::prediction(8);
        let page = html(&Input {
            analyses: &runs,
            prediction: Some(&prediction),
            nodes: None,
            notes: &[],
            ..Input::default()
        });
        assert!(!page.contains("<b>1"));
        let body = page
            .split("<body")
            .nth(1)
            .and_then(|body| body.split("<script").next());
        let body = body.expect("the page has a body").replace('\u{a0}', " ");
        let (first, _) = body.split_once("</li>").expect("the page has sentences");
        assert!(first.contains(words), "{words}: {first}");
        for conclusion in ["speedup", "Predicted", ">Advice<", "id=\"scaling\""] {
            assert!(!body.contains(conclusion), "{words}: {conclusion}");
        }
    }
}

fn differing(here: Option<&str>, there: Option<&str>) -> Output {
    Output {
        differs: Some(OutputDifference {
            line: 7,
            here: here.map(str::to_owned),
            there: there.map(str::to_owned),
            other_threads: 1,
            slight: false,
        }),
        ..Output::default()
    }
}

#[test]
fn outputs_that_differ_slightly_break_nothing_and_are_said_to() {
    let mut runs = [1, 2, 8].map(synthetic::analysis);
    assert_eq!(Soundness::of(&runs), Soundness::default());
    let mut output = differing(Some("pi 3.1415"), Some("pi 3.1417"));
    output.differs.as_mut().unwrap().slight = true;
    runs[2].program.output = Some(output);
    let soundness = Soundness::of(&runs);
    assert_eq!(soundness.broken, None);
    let said = soundness.slight_difference.unwrap();
    let expected = "The output with 8 threads differs from that with 1 thread in line 7: \
                    'pi 3.1415' against 'pi 3.1417': random numbers,";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_program_without_regions_is_said_to_have_none() {
    let mut script = Script::new(1);
    script.serial(3_000_000);
    let analysis = fathomp_analysis::analyse(&script.build(), &Options::default());
    let page = html(&Input {
        analyses: &[analysis],
        ..Input::default()
    });
    assert!(page.contains("ran no parallel region"));
}

#[test]
fn a_recording_goes_all_the_way_to_a_page() {
    let mut script = Script::new(2);
    let site = script.site(SiteKind::Parallel, 0x1000);
    assert_ne!(site.0, 0);
    for _ in 0..50 {
        script.serial(10_000);
        script.region(
            0x1000,
            &[
                Work::compute(80_000),
                Work::compute(30_000).and(State::Critical, 10_000),
            ],
        );
    }
    let analysis = fathomp_analysis::analyse(&script.build(), &Options::default());
    let page = html(&Input {
        analyses: &[analysis],
        ..Input::default()
    });
    assert!(page.contains("Most of it passes in region"));
    assert!(
        page.contains("schedule(dynamic)"),
        "advice against imbalance"
    );
}

#[test]
fn a_run_that_others_disturbed_gives_no_advice() {
    let page = |used| {
        let mut runs = [2, 4].map(synthetic::analysis);
        runs[0].program.others_used = used;
        html(&Input {
            analyses: &runs,
            ..Input::default()
        })
    };
    let (advice, doubt) = ("schedule(dynamic)", "before following this advice");
    for used in [None, Some(0.05)] {
        assert!(page(used).contains(advice) && !page(used).contains(doubt));
    }
    let some = page(Some(0.15));
    assert!(some.contains(advice) && some.contains(doubt));
    let much = page(Some(0.4));
    assert!(!much.contains(advice) && much.contains("Advice that rests on times is left out"));
    assert!(much.contains("other programs used up to 40"));
}

#[test]
fn threads_that_shared_processors_give_advice_with_a_warning() {
    let mut run = synthetic::analysis(4);
    run.program.machine.cpus_allowed.truncate(2);
    let page = html(&Input {
        analyses: &[run],
        ..Input::default()
    });
    assert!(page.contains("schedule(dynamic)") && page.contains("The threads shared processors"));
}

#[test]
fn a_model_that_misses_what_was_measured_is_not_praised() {
    let mut prediction = synthetic::prediction(4);
    let page = |prediction: &_| {
        html(&Input {
            prediction: Some(prediction),
            ..Input::default()
        })
    };
    assert!(!page(&prediction).contains("does not fit this program"));
    prediction.points[1].undisturbed_ns = Some(prediction.points[1].time_ns * 3.0);
    assert!(page(&prediction).contains("does not fit this program"));
}

#[test]
fn regions_with_the_same_loss_share_one_piece_of_advice() {
    let mut analysis = synthetic::analysis(4);
    let mut twin = analysis
        .regions
        .iter()
        .find(|region| region.name == "solver.c:188")
        .cloned()
        .expect("it is there");
    twin.name = "solver.c:222".to_owned();
    analysis.regions.push(twin);
    let page = html(&Input {
        analyses: &[analysis],
        ..Input::default()
    });
    assert_eq!(page.matches("Divide the work of").count(), 1);
    assert!(page.contains("Divide the work of region solver.c:188 more evenly"));
    assert!(page.contains("Likewise region solver.c:222."));
}

#[test]
fn what_several_recordings_say_is_said_once() {
    let mut runs = [1, 2, 4].map(synthetic::analysis);
    for (index, run) in runs.iter_mut().enumerate().skip(1) {
        run.problems.push(Problem {
            severity: Severity::Warning,
            sentence: format!("The process {index} did not end properly."),
        });
    }
    let page = html(&Input {
        analyses: &runs,
        ..Input::default()
    });
    assert_eq!(page.matches("did not end properly").count(), 1);
    assert!(page.contains("(In 2 of 3 recordings.)"));
}

#[test]
fn a_run_with_a_processor_for_each_thread_is_preferred() {
    let mut runs = [2, 4].map(synthetic::analysis);
    for run in &mut runs {
        run.program.machine.cpus_allowed = vec![0, 1];
    }
    let input = Input {
        analyses: &runs,
        ..Input::default()
    };
    assert_eq!(input.main().map(|one| one.team_size), Some(2));
    let crowded = Input {
        analyses: &runs[1..],
        ..Input::default()
    };
    assert_eq!(crowded.main().map(|one| one.team_size), Some(4));
}

#[test]
fn numbers_that_cannot_be_do_not_stop_the_report() {
    for fraction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
        let runs = [synthetic::extreme(fraction), synthetic::extreme(fraction)];
        let mut prediction = synthetic::prediction(4);
        for point in &mut prediction.points {
            point.time_ns = fraction;
            point.speedup = fraction;
            point.speedup_high = fraction;
        }
        let input = Input {
            analyses: &runs,
            prediction: Some(&prediction),
            ..Input::default()
        };
        assert!(!html(&input).contains("NaN"));
        assert!(
            !fathomp_report::text::prediction(
                &prediction,
                &synthetic::conclude(&input).diagnosis,
                80
            )
            .is_empty()
        );
        let options = fathomp_report::text::RegionOptions {
            width: 0,
            threads: true,
        };
        assert!(!fathomp_report::text::regions(&runs[0], options).is_empty());
        let mut csv = Vec::new();
        fathomp_report::export::csv(&runs[0], &mut csv).expect("writing to memory works");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_name_leaves_its_place(names in vec(".*|[<>&\"'/a-z!-]{0,40}", 6)) {
        let mut analysis = synthetic::analysis(2);
        for (region, name) in analysis.regions.iter_mut().zip(&names) {
            region.name.clone_from(name);
            region.place.label.clone_from(name);
        }
        analysis.program.name.clone_from(&names[5]);
        let page = html(&Input { analyses: &[analysis], ..Input::default() });
        prop_assert_eq!(page.matches("<script").count(), 2);
        let data = page
            .split("id=\"data\">")
            .nth(1)
            .and_then(|rest| rest.split("</script>").next());
        let data: serde_json::Value = serde_json::from_str(data.unwrap_or_default())?;
        prop_assert!(data["timelines"].is_array());
    }
}
