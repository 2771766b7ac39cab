//! Source lines in reports: those of the program, if they are still there.

use crate::common::{compile, run};
use std::fs;
use std::path::Path;

const PROGRAM: &str = "\
#include <stdio.h>
int main(void)
{
    double sum = 0;
#pragma omp parallel for
    for (int i = 0; i < 20000; i++) {
#pragma omp critical
        sum += i & 7; /* <u>the sum</u> */
    }
    printf(\"%g\\n\", sum);
    return 0;
}
";

/// The report on `recording` with what the page writes in place of slashes undone.
fn report(here: &Path, recording: &str) -> String {
    run(here, &format!("report {recording} --force -o page.html")).succeeded();
    let page = fs::read_to_string(here.join("page.html")).unwrap();
    page.replace("&#x2f;", "/").replace('\u{a0}', " ")
}

#[test]
fn a_report_shows_the_lines_of_regions_while_their_file_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let program = compile(here, "adds", PROGRAM, &["-g", "-fopenmp"]);
    run(
        here,
        &format!("study --threads 1,2 -- {}", program.display()),
    )
    .succeeded();
    let studied = fs::read_to_string(here.join("report.html")).unwrap();
    let plain = report(here, "study/recordings/2-threads");
    let again = report(here, "study");
    for page in [
        &studied.replace("&#x2f;", "/").replace('\u{a0}', " "),
        &again,
    ] {
        assert!(page.contains("Lines 5 to 9 of "), "{page}");
        assert!(page.contains("&lt;u&gt;the sum&lt;/u&gt;"));
        assert!(page.contains("parallel region: 1 execution; to start and end a team of 2"));
        assert!(page.contains("a reduction passes once for each thread"));
        assert!(!page.contains("newer than the program"));
    }
    // Without prices there are counts.
    let passages = "critical: 20\u{202f}000 passages<";
    assert!(plain.contains(passages), "{plain}");

    let source = here.join("adds.c");
    fs::write(&source, PROGRAM.replace("the sum", "another")).unwrap();
    let page = report(here, "study");
    assert!(page.contains("&lt;u&gt;another"));
    assert!(page.contains("newer than the program that ran"));

    fs::remove_file(&source).unwrap();
    let page = report(here, "study");
    assert!(!page.contains("Lines 5 to 9 of "));
    let sentence = format!("Source lines in {} are not shown", source.display());
    assert!(page.contains(&sentence), "{page}");
}

#[test]
fn files_that_are_no_sources_stay_out_of_reports() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    // Debug information may name any file of the user.
    let program = PROGRAM.replace("int main", "#line 2 \"id_secret\"\nint main");
    fs::write(here.join("id_secret"), "the key\n".repeat(20)).unwrap();
    let program = compile(here, "names", &program, &["-g", "-fopenmp"]);
    run(
        here,
        &format!("record --threads 2 -o recording -- {}", program.display()),
    )
    .succeeded();
    let page = report(here, "recording");
    assert!(page.contains("id_secret:5"), "{page}");
    assert!(!page.contains("the key"));
    assert!(page.contains("are not shown: there is no such file of source text here"));
}
