//! What a paging recording shows, on a terminal, on a page and in files.

use crate::synthetic as paging;
use fathomp_diagnosis::Verdict;
use fathomp_paging::TaskId;
use fathomp_paging_pages::{self as pages, PagingFacts, SkylineOptions};
use fathomp_report::text::Glyphs;
use fathomp_report::{Input, page};
use fathomp_skyline::Axis;
use serde_json::Value;

fn html(paging: &PagingFacts) -> String {
    let input = Input {
        sections: &[paging],
        ..Input::default()
    };
    page(&input, &Verdict::default()).expect("the template fits the data")
}

/// What the script of a page draws.
fn drawn(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let from = page.find(start).expect("a page has data") + start.len();
    let length = page[from..].find("</script>").expect("data end");
    serde_json::from_str(&page[from..from + length]).expect("data are JSON")
}

#[test]
fn text_of_eight_tasks() {
    let mut paging = paging::whole(8);
    // Sentences are the analysis's own.
    paging.analysis.findings.truncate(2);
    let options = SkylineOptions {
        width: 100,
        published: true,
        ..SkylineOptions::default()
    };
    insta::assert_snapshot!(pages::skyline(&paging, &options));
}

#[test]
fn text_in_phases_for_a_terminal_without_blocks() {
    let mut paging = paging::whole(3);
    paging.analysis.findings.clear();
    let options = SkylineOptions {
        width: 70,
        glyphs: Glyphs::Ascii,
        axis: Axis::Phases,
        tasks: Some(vec![TaskId(1), TaskId(77)]),
        ..SkylineOptions::default()
    };
    let text = pages::skyline(&paging, &options);
    assert!(text.contains("phase 1 "), "{text}");
    assert!(
        text.contains("rank 1") && !text.contains("rank 0 "),
        "{text}"
    );
    let is_plain = |letter: char| !('\u{2580}'..='\u{259f}').contains(&letter);
    assert!(text.chars().all(is_plain), "{text}");
}

#[test]
fn odd_recordings_give_text_that_fits() {
    for paging in paging::odd() {
        for width in [60, 80, 200] {
            for axis in [Axis::Wall, Axis::Phases] {
                let options = SkylineOptions {
                    width,
                    axis,
                    all_counters: true,
                    published: true,
                    ..SkylineOptions::default()
                };
                let text = pages::skyline(&paging, &options);
                assert!(!text.is_empty() && !text.contains("NaN"), "{text}");
                for line in text.lines() {
                    assert!(
                        unicode_width::UnicodeWidthStr::width(line) <= width,
                        "{width}: {line}"
                    );
                    assert!(!line.contains('\u{1b}'), "{line}");
                }
            }
        }
    }
}

#[test]
fn odd_recordings_give_pages_that_escape_names() {
    for paging in paging::odd() {
        let page = html(&paging);
        assert!(page.trim_end().ends_with("</html>"));
        assert!(page.contains("<section id=\"paging\""));
        assert!(!page.contains("NaN"));
        assert_eq!(page.matches("<script").count(), 2, "ours and the data");
        assert!(!page.contains("<img"));
        drawn(&page);
    }
}

#[test]
fn too_few_counts_are_said_and_not_drawn() {
    let one_event = &paging::odd()[1];
    let page = html(one_event);
    assert!(!page.contains("data-paging=\"profile\""));
    assert_eq!(drawn(&page)["paging"]["counters"], Value::Array(Vec::new()));
    let text = pages::skyline(one_event, &SkylineOptions::default());
    assert!(text.contains("minor faults (1)"), "{text}");
    assert!(!text.contains('█'), "{text}");
}

#[test]
fn a_program_without_openmp_has_a_page() {
    let paging = paging::whole(4);
    let page = html(&paging);
    for part in [
        "<h1>heat</h1>",
        "data-paging=\"profile\"",
        "data-paging=\"lanes\"",
        "data-paging=\"panels\"",
        "data-paging=\"relations\"",
        "data-paging=\"heat\"",
        "id=\"fault-lines\"",
        "id=\"fault-mappings\"",
        "id=\"memory-table\"",
        "id=\"intrusion-table\"",
        "id=\"paging-tasks\"",
        "id=\"paging-peaks\"",
        "88 of 100 (88\u{a0}%)",
        "heat --size 1000",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Sentences are said once in the section, and the first ones in the summary.
    let sentence = &paging.analysis.findings[0].sentence;
    let start = sentence.split(" I/O").next().unwrap_or(sentence);
    assert_eq!(page.matches(start).count(), 2, "{start}");
}

#[test]
fn the_picture_holds_what_was_counted() {
    let paging = paging::whole(4);
    let drawn = drawn(&html(&paging));
    let sum = |record: &Value| -> f64 {
        let counts = record["counts"].as_array().expect("counts");
        let counts = counts.iter().filter_map(Value::as_f64);
        counts.filter(|count| *count > 0.0).sum()
    };
    let counters = drawn["paging"]["counters"].as_array().expect("counters");
    assert!(counters.len() >= 3);
    for counter in counters {
        let all = sum(&counter["all"]);
        let layers = counter["layers"].as_array().expect("layers");
        let of_layers: f64 = layers.iter().map(|layer| sum(&layer["record"])).sum();
        assert_eq!(all, of_layers, "{}", counter["title"]);
        let tasks = counter["tasks"].as_array().expect("tasks");
        let of_tasks: f64 = tasks.iter().map(|task| sum(&task["record"])).sum();
        assert_eq!(all, of_tasks, "{}", counter["title"]);
    }
    let cells = drawn["paging"]["heat"]["cells"].as_array().expect("cells");
    let faults: i64 = cells
        .iter()
        .filter_map(Value::as_i64)
        .filter(|one| *one > 0)
        .sum();
    assert_eq!(faults, 4_000);
}

#[test]
fn a_thousand_tasks_give_a_page_of_bounded_size() {
    let page = html(&paging::whole(1_024));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    assert!(page.contains("which stand for all 1024"));
    let drawn = drawn(&page);
    assert_eq!(drawn["paging"]["tasks"].as_array().map(Vec::len), Some(48));
}

#[test]
fn csv_adds_up_to_what_was_counted() {
    let paging = paging::whole(3);
    let mut bytes = Vec::new();
    pages::skyline_csv(&paging, &[1], &mut bytes).expect("writing to memory works");
    let text = String::from_utf8(bytes).expect("CSV is UTF-8");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("counter,states,task,label,from_ns,to_ns,count,per_second,filtered_per_second")
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let sum = |task: &str| -> u64 {
        let of = |row: &&Vec<&str>| row[0] == "page_ins" && row[1] == "all" && row[2] == task;
        let counts = rows
            .iter()
            .filter(of)
            .filter_map(|row| row[6].parse::<u64>().ok());
        counts.sum()
    };
    let filtered: f64 = rows
        .iter()
        .filter(|row| row[0] == "page_ins" && row[1] == "all" && row[2].is_empty())
        .filter_map(|row| {
            Some(row[8].parse::<f64>().ok()? * paging.analysis.window.bin_ns as f64 / 1e9)
        })
        .sum();
    assert_eq!(sum(""), 3 * 14 * 240);
    assert_eq!(sum("1"), 14 * 240);
    // The skyline has the area of the record.
    assert!(
        (filtered - f64::from(3 * 14 * 240)).abs() < 1.0,
        "{filtered}"
    );
}

#[test]
fn every_figure_for_gnuplot_has_its_data() {
    for paging in paging::odd().into_iter().chain([paging::whole(3)]) {
        let places: Vec<usize> = (0..paging.analysis.tasks.len()).collect();
        let files = pages::skyline_gnuplot(&paging, None, &places);
        let (commands, data) = files.split_last().expect("there are commands");
        assert_eq!(commands.name, "plots.gp");
        for file in data {
            assert!(
                commands.text.contains(&format!("'{}'", file.name)),
                "{}",
                file.name
            );
        }
        let named = commands
            .text
            .split('\'')
            .filter(|word| word.ends_with(".dat"));
        for name in named {
            assert!(data.iter().any(|file| file.name == name), "{name}");
        }
    }
}
