//! What the page about benchmark results is made of, without a browser.

use fathomp_bench::result::Document;
use fathomp_bench::summary::summarise;
use fathomp_bench::synthetic;
use fathomp_report::bench_page;

const HOSTILE: &str = "</script><script>owned=1</script><img src=x>{{ 7 * 7 }}\"'&";

fn html(documents: &[Document], notes: &[String]) -> String {
    bench_page(&summarise(documents, None), notes).expect("the template fits the data")
}

fn all() -> [Document; 3] {
    [synthetic::epcc(), synthetic::mcbench(), synthetic::access()]
}

#[test]
fn every_set_of_suites_makes_a_page() {
    let documents = all();
    let notes = ["The result counts once.".to_owned()];
    // None, each alone, all.
    for chosen in [0, 1, 2, 4, 7] {
        let some: Vec<Document> = documents
            .iter()
            .enumerate()
            .filter(|(index, _)| chosen & (1 << index) != 0)
            .map(|(_, document)| document.clone())
            .collect();
        let page = html(&some, &notes);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains(&notes[0]));
        assert!(!page.contains("NaN"));
        for suite in ["epcc", "mcbench", "access"] {
            let here = some.iter().any(|document| document.suite.name() == suite);
            assert_eq!(
                page.contains(&format!("<section id=\"{suite}\"")),
                here,
                "{suite}"
            );
        }
    }
}

#[test]
fn the_page_says_what_was_made_up() {
    let page = html(&all(), &[]);
    for words in [
        "With 2 threads, constructs cost gcc+fathomp 0.",
        "signal 11 (SIGSEGV)",
        "hint.c",
        "id=\"mcbench-round-robin-chunk\"",
        "A dependent load takes 1.5 ns up to 32",
        ", 90.0 ns beyond.",
        "3.000 cycles per ns (core clock, measured)",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let page = html(&all(), &[]);
    for address in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    let mut document = synthetic::epcc();
    document.machine.processor = HOSTILE.to_owned();
    document.warnings.push(HOSTILE.to_owned());
    document.skipped[0].reason = HOSTILE.to_owned();
    for column in &mut document.columns {
        column.runtime.push_str(HOSTILE);
    }
    for row in &mut document.rows {
        row.group = HOSTILE.to_owned();
    }
    for cell in &mut document.cells {
        if cell.failure.is_some() {
            cell.failure = Some(HOSTILE.to_owned());
        }
    }
    let page = html(&[document], &[HOSTILE.to_owned()]);
    assert_eq!(page.matches("<script").count(), 2, "ours and the data");
    assert!(!page.contains("<img"));
    assert!(page.contains("{{ 7 * 7 }}"), "templates are not run twice");
}

#[test]
fn numbers_that_cannot_be_do_not_stop_the_page() {
    for value in [0.0, f64::MIN_POSITIVE, 1e300] {
        let mut documents = all();
        for process in documents
            .iter_mut()
            .flat_map(|document| &mut document.cells)
            .flat_map(|cell| &mut cell.processes)
        {
            process.construct_ns.fill(value);
        }
        let page = html(&documents, &[]);
        assert!(!page.contains("NaN") && !page.contains("inf<"), "{value}");
    }
}
