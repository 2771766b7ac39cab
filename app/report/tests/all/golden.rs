//! Text as it is printed. `cargo insta review` blesses changes.

use crate::synthetic;
use fathomp_report::export;
use fathomp_report::text::{self, RegionOptions};

#[test]
fn regions_on_a_narrow_terminal() {
    let options = RegionOptions {
        width: 80,
        threads: false,
    };
    insta::assert_snapshot!(text::regions(&synthetic::analysis(4), options));
}

#[test]
fn regions_and_threads_on_a_wide_terminal() {
    let options = RegionOptions {
        width: 120,
        threads: true,
    };
    insta::assert_snapshot!(text::regions(&synthetic::analysis(2), options));
}

#[test]
fn one_thread() {
    insta::assert_snapshot!(text::regions(
        &synthetic::analysis(1),
        RegionOptions {
            width: 80,
            threads: true,
        }
    ));
}

#[test]
fn sixty_four_threads() {
    insta::assert_snapshot!(text::regions(
        &synthetic::analysis(64),
        RegionOptions {
            width: 100,
            threads: true,
        }
    ));
}

#[test]
fn a_prediction() {
    let prediction = synthetic::prediction(4);
    let diagnosis = fathomp_report::Input {
        analyses: &[1, 4].map(synthetic::analysis),
        prediction: Some(&prediction),
        ..fathomp_report::Input::default()
    }
    .conclude(fathomp_diagnosis::Soundness::default())
    .diagnosis;
    insta::assert_snapshot!(text::prediction(&prediction, &diagnosis, 100));
}

#[test]
fn csv_of_regions_by_thread() {
    let mut text = Vec::new();
    export::csv(&synthetic::analysis(2), &mut text).expect("writing to memory works");
    insta::assert_snapshot!(String::from_utf8(text).expect("CSV is UTF-8"));
}

#[test]
fn every_line_of_text_fits_the_terminal_and_commands_nothing() {
    let hostile = synthetic::hostile();
    for width in [60, 80, 132, 400] {
        for threads in [false, true] {
            let text = text::regions(&hostile, RegionOptions { width, threads });
            for line in text.lines() {
                assert!(
                    unicode_width::UnicodeWidthStr::width(line) <= width,
                    "{line:?}"
                );
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}

#[test]
fn csv_has_a_line_for_each_region_and_thread_and_as_many_fields_in_each() {
    let hostile = synthetic::hostile();
    let mut text = Vec::new();
    export::csv(&hostile, &mut text).expect("writing to memory works");
    let text = String::from_utf8(text).expect("CSV is UTF-8");
    let rows = fields(&text);
    assert_eq!(rows.len(), 1 + hostile.regions.len() * 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    assert_eq!(rows[1][0], "serial");
    assert_eq!(rows[5][0], synthetic::HOSTILE[0]);
}

/// A reader of CSV as RFC 4180 describes it.
fn fields(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let row = rows.last_mut().expect("there is a row");
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                row.last_mut().expect("there is a field").push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => {
                if letters.peek().is_some() {
                    rows.push(vec![String::new()]);
                }
            }
            other => row.last_mut().expect("there is a field").push(other),
        }
    }
    rows
}
