//! The section in a real browser: no complaint on its console, no request to anywhere, and
//! pictures that zoom together.
//!
//! Without a browser these tests are ignored.

#[path = "../../../app/report/tests/devtools/mod.rs"]
mod devtools;
mod synthetic;

use devtools::{Outcome, assert_fits_windows, assert_quiet, browser};
use fathomp_diagnosis::Verdict;
use fathomp_paging_pages::PagingFacts;
use fathomp_report::Input;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(vec![
        (
            "pictures_of_paging_zoom_together",
            pictures_of_paging_zoom_together,
        ),
        (
            "pages_of_odd_paging_are_quiet",
            pages_of_odd_paging_are_quiet,
        ),
    ])
}

fn write(directory: &Path, paging: &PagingFacts) -> Result<PathBuf, Box<dyn Error>> {
    let path = directory.join("report.html");
    let input = Input {
        sections: &[paging],
        ..Input::default()
    };
    std::fs::write(&path, fathomp_report::page(&input, &Verdict::default())?)?;
    Ok(path)
}

fn pictures_of_paging_zoom_together() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let paging = synthetic::whole(8);
    browser.open(&write(directory.path(), &paging)?)?;
    assert_quiet(&browser);
    let of = |kind: &str| format!("document.querySelector('[data-paging={kind}]')");
    for kind in ["profile", "lanes", "panels", "heat", "relations"] {
        let drawn = format!("{}.querySelector('canvas').dataset.drawn", of(kind));
        assert_eq!(browser.value(&drawn)?, "yes", "{kind}");
    }
    let picture = |kind: &str| format!("{}.querySelector('canvas').toDataURL()", of(kind));
    let kinds = ["profile", "lanes", "panels", "heat"];
    let mut before = Vec::new();
    for kind in kinds {
        before.push(browser.value(&picture(kind))?);
    }
    let place = format!(
        "(() => {{ const c = {}.querySelector('canvas'); c.scrollIntoView({{block: 'center'}}); const b = c.getBoundingClientRect(); return [b.left, b.top]; }})()",
        of("lanes")
    );
    let place: Vec<f64> = serde_json::from_value(browser.value(&place)?)?;
    let y = place[1] + 40.0;
    browser.drag((place[0] + 300.0, y), (place[0] + 500.0, y))?;
    for (kind, before) in kinds.iter().zip(&before) {
        assert_ne!(
            &browser.value(&picture(kind))?,
            before,
            "{kind} zooms with the lanes"
        );
    }
    let readout = |kind: &str| format!("{}.querySelector('.readout').textContent", of(kind));
    let words = browser.value(&readout("lanes"))?;
    let is_said = |words: &str| words.starts_with("rank 0,") && words.contains("solver.c:120");
    assert!(words.as_str().is_some_and(is_said), "{words}");
    browser.value(&format!(
        "[...{}.querySelectorAll('button')].find(b => b.textContent === 'Everything').click()",
        of("profile")
    ))?;
    for (kind, before) in kinds.iter().zip(&before) {
        assert_eq!(
            &browser.value(&picture(kind))?,
            before,
            "{kind} shows everything again"
        );
    }
    // Another counter, and logical time, in both pictures that have them.
    let choose = |kind: &str, which: usize, value: usize| {
        format!(
            "(() => {{ const s = {}.querySelectorAll('select')[{which}]; s.value = '{value}'; s.dispatchEvent(new Event('change')); }})()",
            of(kind)
        )
    };
    browser.value(&choose("profile", 0, 2))?;
    let chosen = format!("{}.querySelector('select').value", of("lanes"));
    assert_eq!(browser.value(&chosen)?, "2");
    let wall = [
        browser.value(&picture("profile"))?,
        browser.value(&picture("lanes"))?,
    ];
    browser.value(&choose("lanes", 1, 1))?;
    let logical = [
        browser.value(&picture("profile"))?,
        browser.value(&picture("lanes"))?,
    ];
    assert!(wall[0] != logical[0] && wall[1] != logical[1]);
    let panels = browser.value(&picture("panels"))?;
    browser.value(&choose("panels", 0, 3))?;
    assert_ne!(
        browser.value(&picture("panels"))?,
        panels,
        "a task's own record"
    );
    browser.value(&format!(
        "{}.querySelector('canvas').focus()",
        of("relations")
    ))?;
    browser.press("ArrowRight", 39, "")?;
    let words = browser.value(&readout("relations"))?;
    let is_said = |words: &str| words.contains("rank 0 and rank 1:") && words.contains("chance");
    assert!(words.as_str().is_some_and(is_said), "{words}");
    assert_quiet(&browser);
    Ok(())
}

fn pages_of_odd_paging_are_quiet() -> Outcome {
    let mut browser = browser(1400)?;
    let directory = tempfile::tempdir()?;
    let mut all = synthetic::odd();
    all.push(synthetic::whole(60));
    for (index, paging) in all.iter().enumerate() {
        let path = write(directory.path(), paging)?;
        assert_fits_windows(&mut browser, &path, index)?;
        assert_eq!(browser.value("typeof window.owned")?, "undefined");
        assert!(!browser.print()?.is_empty());
        assert_quiet(&browser);
    }
    Ok(())
}
