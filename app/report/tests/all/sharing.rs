//! What threads share, on a page and on a terminal.

use fathomp_report::{Input, page, text};
use fathomp_shared_lines::{Evidence, Findings, Kind, SharedLine, Site};

fn findings(name: &str) -> Findings {
    let site = |line| Site {
        label: format!("{name}.c:{line} (f)"),
        ..Site::default()
    };
    let line = |kind, est_cost_ns| SharedLine {
        kind,
        name: name.to_owned(),
        parts: vec![format!("{name}[0]"), format!("{name}[1]")],
        offset: 8,
        lines: 1,
        address: 0x1000,
        declared: None,
        allocation: vec![site(3)],
        regions: vec![site(5)],
        accesses_at: vec![site(6)],
        phases: 2,
        writers: vec![0, 1],
        readers: vec![],
        accesses: 12_345,
        atomics: 0,
        locked: 0,
        est_cost_ns,
        boundary: false,
        handed_on: false,
        evidence: Evidence::Writes,
        sentence: format!("2 threads write {name}"),
        mend: format!("Pad {name}"),
    };
    Findings {
        threads: 2,
        phases: 3,
        complete: true,
        lines: vec![line(Kind::False, Some(1e6)), line(Kind::ReadMostly, None)],
        notes: vec!["It was <b>disturbed</b>.".to_owned()],
        ..Findings::default()
    }
}

fn html(findings: &Findings) -> String {
    let input = Input {
        sharing: Some(findings),
        ..Input::default()
    };
    page(&input, &crate::synthetic::conclude(&input)).unwrap()
}

#[test]
fn the_page_has_a_section_and_escapes_names() {
    let page = html(&findings("<script>alert(1)</script>"));
    assert!(page.contains("<section id=\"sharing\""));
    assert!(
        page.contains("12 345") || page.contains("12\u{a0}345") || page.contains("12\u{202f}345")
    );
    assert!(!page.contains("<script>alert") && !page.contains("<b>disturbed"));
    let nothing = html(&Findings::default());
    assert!(nothing.contains("No cache line was seen to be shared."));
    let without =
        fathomp_report::page(&Input::default(), &fathomp_diagnosis::Verdict::default()).unwrap();
    assert!(!without.contains("<section id=\"sharing\""));
}

#[test]
fn the_terminal_shows_costs_and_what_mends() {
    let all = findings("hits");
    let shown = text::sharing(&all, false, 100);
    assert!(shown.contains("≥ 1.00 ms"), "{shown}");
    assert!(shown.contains("  1. 2 threads write hits.\n"), "{shown}");
    assert!(shown.contains("Allocated at: hits.c:3 (f)."), "{shown}");
    assert!(shown.contains("Mend: Pad hits."), "{shown}");
    assert!(
        shown.contains("1 variable read by several threads"),
        "{shown}"
    );
    assert!(text::sharing(&all, true, 100).contains("Only read"));
    let hostile = text::sharing(&findings("a\u{1b}[2Jb"), true, 60);
    assert!(!hostile.contains('\u{1b}'));
    assert!(
        hostile.lines().all(|line| line.chars().count() <= 66),
        "{hostile}"
    );
}

#[test]
fn findings_survive_json() {
    let all = findings("hits");
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), all);
}
