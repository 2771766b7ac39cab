//! The page in a real browser: no complaint on its console, no request to
//! anywhere, and everything that should move does.
//!
//! Without a browser these tests are ignored.

mod devtools;
mod synthetic;

use devtools::{Outcome, assert_fits_windows, assert_quiet, browser};
use fathomp_bench::synthetic as bench;
use fathomp_report::Input;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(vec![
        ("a_study_is_shown_whole", a_study_is_shown_whole),
        (
            "tables_sort_by_mouse_and_by_key",
            tables_sort_by_mouse_and_by_key,
        ),
        (
            "the_timeline_zooms_and_explains_itself",
            the_timeline_zooms_and_explains_itself,
        ),
        (
            "every_kind_of_page_is_quiet_in_every_window",
            every_kind_of_page_is_quiet_in_every_window,
        ),
        (
            "names_out_of_hostile_binaries_stay_names",
            names_out_of_hostile_binaries_stay_names,
        ),
        (
            "benchmark_results_are_shown_whole",
            benchmark_results_are_shown_whole,
        ),
        (
            "a_page_with_an_error_is_caught",
            a_page_with_an_error_is_caught,
        ),
    ])
}

fn write(directory: &Path, input: &Input<'_>) -> Result<PathBuf, Box<dyn Error>> {
    let path = directory.join("report.html");
    std::fs::write(
        &path,
        fathomp_report::page(input, &synthetic::conclude(input))?,
    )?;
    Ok(path)
}

fn a_study_is_shown_whole() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let runs = [1, 2, 4, 8].map(synthetic::with_lines);
    let prediction = synthetic::prediction(8);
    let (sources, machine) = (synthetic::sources(), synthetic::machine());
    let input = Input {
        analyses: &runs,
        prediction: Some(&prediction),
        machine: Some(&machine),
        sources: Some(&sources),
        ..Input::default()
    };
    browser.open(&write(directory.path(), &input)?)?;
    assert_quiet(&browser);
    for (selector, least) in [
        ("#summary .summary li", 4),
        ("#trust li", 1),
        ("#scaling svg.chart", 2),
        ("#scaling circle.dot", 4),
        ("#scaling path.band", 1),
        ("#region-table tbody tr", 5),
        ("#region-table th button", 9),
        ("#efficiency-table tbody tr", 9),
        ("#details details", 4),
        ("#details svg.chart rect", 16),
        ("#details table.source tr", 20),
        ("#details table.source .notes p", 6),
        ("#loop-table tbody tr", 2),
        ("#wait-table tbody tr", 1),
        ("#counter-table tbody tr", 5),
        ("#environment dd", 8),
        ("canvas[data-drawn]", 1),
    ] {
        let count = browser.value(&format!("document.querySelectorAll('{selector}').length"))?;
        assert!(count.as_u64() >= Some(least), "{selector}: {count}");
    }
    let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
    assert!(
        overflow.as_i64() <= Some(0),
        "the page is {overflow} px too wide"
    );
    Ok(())
}

fn tables_sort_by_mouse_and_by_key() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let runs = [synthetic::analysis(4)];
    let input = Input {
        analyses: &runs,
        ..Input::default()
    };
    browser.open(&write(directory.path(), &input)?)?;
    let first = "document.querySelector('#region-table tbody th').firstChild.textContent";
    let heading = |title: &str| {
        format!(
            "[...document.querySelectorAll('#region-table th button')].find(b => b.textContent === '{title}')"
        )
    };
    browser.value(&format!("{}.click()", heading("Instances")))?;
    assert_eq!(browser.value(first)?, "vector.c:17", "most instances first");
    browser.value(&format!("{}.focus()", heading("Instances")))?;
    browser.press("Enter", 13, "\r")?;
    assert_eq!(
        browser.value(first)?,
        "solver.c:188",
        "fewest instances first"
    );
    let sorted = format!("{}.parentElement.ariaSort", heading("Instances"));
    assert_eq!(browser.value(&sorted)?, "ascending");
    browser.value(&format!("{}.click()", heading("Region")))?;
    assert_eq!(browser.value(first)?, "residual.c:42", "by name");
    assert_quiet(&browser);
    Ok(())
}

fn the_timeline_zooms_and_explains_itself() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let runs = [synthetic::analysis(8)];
    let input = Input {
        analyses: &runs,
        ..Input::default()
    };
    browser.open(&write(directory.path(), &input)?)?;
    let picture = "document.querySelector('canvas').toDataURL()";
    let place = "(() => { const c = document.querySelector('canvas'); c.scrollIntoView({block: 'center'}); const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()";
    let place: Vec<f64> = serde_json::from_value(browser.value(place)?)?;
    let before = browser.value(picture)?;
    let y = place[1] + 40.0;
    browser.drag((place[0] + 300.0, y), (place[0] + 500.0, y))?;
    let zoomed = browser.value(picture)?;
    assert_ne!(before, zoomed, "dragging zooms");
    let words = browser.value("document.querySelector('.readout').textContent")?;
    assert!(
        words
            .as_str()
            .is_some_and(|words| words.starts_with("thread 0,") && words.contains("ms")),
        "{words}"
    );
    browser.value("document.querySelector('canvas').focus()")?;
    browser.press("ArrowRight", 39, "")?;
    assert_ne!(browser.value(picture)?, zoomed, "the arrow key moves on");
    browser.value("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'Everything').click(); document.querySelector('canvas').blur()")?;
    assert_eq!(browser.value(picture)?, before, "back to everything");
    assert_quiet(&browser);
    Ok(())
}

fn every_kind_of_page_is_quiet_in_every_window() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let one = [synthetic::analysis(1)];
    let many = [synthetic::analysis(2), synthetic::analysis(128)];
    let hostile = [synthetic::hostile()];
    let prediction = synthetic::prediction(4);
    let lines = [synthetic::with_lines(4)];
    let (sources, machine) = (synthetic::sources(), synthetic::machine());
    let inputs = [
        Input::default(),
        Input {
            analyses: &lines,
            machine: Some(&machine),
            sources: Some(&sources),
            ..Input::default()
        },
        Input {
            analyses: &one,
            ..Input::default()
        },
        Input {
            analyses: &many,
            ..Input::default()
        },
        Input {
            analyses: &hostile,
            ..Input::default()
        },
        Input {
            prediction: Some(&prediction),
            ..Input::default()
        },
    ];
    for (index, input) in inputs.iter().enumerate() {
        let path = write(directory.path(), input)?;
        assert_fits_windows(&mut browser, &path, index)?;
        let printed = browser.print()?;
        assert!(!printed.is_empty());
        assert_quiet(&browser);
    }
    Ok(())
}

fn names_out_of_hostile_binaries_stay_names() -> Outcome {
    let mut browser = browser(1000)?;
    let directory = tempfile::tempdir()?;
    let runs = [synthetic::hostile()];
    let input = Input {
        analyses: &runs,
        ..Input::default()
    };
    browser.open(&write(directory.path(), &input)?)?;
    assert_quiet(&browser);
    assert_eq!(browser.value("typeof window.owned")?, "undefined");
    assert_eq!(
        browser.value("document.querySelectorAll('script').length")?,
        2
    );
    assert_eq!(
        browser.value("document.querySelectorAll('img, iframe, b').length")?,
        0
    );
    let shown = browser.value(&format!(
        "document.body.innerText.includes({})",
        serde_json::to_string(synthetic::HOSTILE[0])?
    ))?;
    assert_eq!(shown, true, "the name is shown as it is");
    Ok(())
}

fn benchmark_results_are_shown_whole() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("bench.html");
    let documents = [bench::epcc(), bench::mcbench(), bench::access()];
    let summary = fathomp_bench::summary::summarise(&documents, None);
    std::fs::write(&path, fathomp_report::bench_page(&summary, &[])?)?;
    for (width, scheme) in [(1400, "light"), (700, "dark"), (360, "light")] {
        browser.size(width, 900)?;
        browser.colours(scheme)?;
        browser.open(&path)?;
        assert_quiet(&browser);
        let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
        assert!(
            overflow.as_i64() <= Some(0),
            "{overflow} px wider than {width}"
        );
    }
    for (selector, least) in [
        ("#summary .summary li", 4),
        ("figure.wide circle.dot", 8),
        ("#epcc-dynamic-chunk circle.dot", 12),
        ("#mcbench-round-robin-chunk path.line", 2),
        ("#access-chase-working-set text.word", 2),
        ("#epcc-overhead-2 tbody tr", 9),
        ("#epcc-statistics tbody tr", 60),
    ] {
        let count = browser.value(&format!("document.querySelectorAll('{selector}').length"))?;
        assert!(count.as_u64() >= Some(least), "{selector}: {count}");
    }
    // Each title stays inside its drawing, and no label lies upon another.
    let clipped = browser.value(
        "[...document.querySelectorAll('svg.chart')].filter(s => { const o = s.getBoundingClientRect(); \
         return o.width && [...s.querySelectorAll('text')].some(t => { const b = t.getBoundingClientRect(); \
         return b.left < o.left - 1 || b.right > o.right + 1; }); }).length",
    )?;
    assert_eq!(clipped, 0, "words leave their drawing");
    browser.value("[...document.querySelectorAll('#epcc-overhead-2 th button')][2].click()")?;
    let values = "[...document.querySelectorAll('#epcc-overhead-2 tbody tr')].map(r => +r.cells[2].dataset.sort)";
    let values: Vec<f64> = serde_json::from_value(browser.value(values)?)?;
    assert!(
        values.len() > 1 && values.is_sorted_by(|a, b| a >= b),
        "{values:?}"
    );
    assert!(!browser.print()?.is_empty());
    assert_quiet(&browser);
    Ok(())
}

/// The tests above are worth nothing if complaints are not heard.
fn a_page_with_an_error_is_caught() -> Outcome {
    let mut browser = browser(800)?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("broken.html");
    for script in [
        "undefinedFunction()",
        "console.error('no')",
        "Promise.reject(1)",
    ] {
        std::fs::write(&path, format!("<!doctype html><script>{script}</script>"))?;
        browser.open(&path)?;
        browser.value("new Promise(done => setTimeout(done, 50))")?;
        assert!(!browser.complaints.is_empty(), "{script}");
    }
    std::fs::write(&path, "<!doctype html><img src='http://127.0.0.1:9/x.png'>")?;
    browser.open(&path)?;
    assert!(browser.requests.iter().any(|url| url.starts_with("http:")));
    Ok(())
}
