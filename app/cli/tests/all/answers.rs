//! The same recordings give the same numbers wherever they are asked for.

use crate::common::{fathomp, finish, in_peace, run, two_regions};
use std::fs;
use std::path::Path;

/// The numbers in the rows of a table of a page.
pub(crate) fn numbers(page: &str, table: &str) -> Vec<Vec<f64>> {
    let begin = page.find(&format!("id=\"{table}\"")).expect(table);
    let table = &page[begin..];
    let body = &table[..table.find("</table>").expect("an end")];
    let rows = body.split("<tr").skip(1).map(|row| {
        let cells = row.split("data-sort=\"").skip(1);
        cells
            .map(|cell| cell[..cell.find('"').unwrap()].parse().unwrap())
            .collect()
    });
    rows.filter(|row: &Vec<f64>| !row.is_empty()).collect()
}

/// Whether two numbers are the same but for how they are written.
pub(crate) fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

pub(crate) fn page(here: &Path, line: &str) -> String {
    run(here, &format!("report {line} -o page.html")).succeeded();
    fs::read_to_string(here.join("page.html")).unwrap()
}

#[test]
fn a_report_predicts_for_threads_what_predict_does() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for threads in ["1", "2"] {
        let mut record = fathomp(here);
        record.args([
            "record",
            "--threads",
            threads,
            "-o",
            &format!("with-{threads}"),
        ]);
        finish(record.arg("--").arg(two_regions())).succeeded();
        in_peace(&here.join(format!("with-{threads}")));
    }
    for options in ["", "--cores 6"] {
        let line = format!("with-1 with-2 {options}");
        let told = run(here, &format!("predict {line} --json"));
        let told = told.succeeded().json();
        let points = told["points"].as_array().unwrap();
        assert!(points.len() > 2, "{told}");
        let shown = numbers(&page(here, &format!("{line} --force")), "prediction-table");
        assert_eq!(shown.len(), points.len(), "{shown:?}");
        for (point, row) in points.iter().zip(shown) {
            let of = |name: &str| point[name].as_f64().unwrap();
            let wide = of("high_ns") - of("low_ns");
            let told = [of("threads"), of("time_ns"), wide, of("speedup")];
            let shown = [row[0], row[1], row[2], row[4]];
            let all = told.into_iter().zip(shown);
            assert!(
                all.into_iter().all(|(a, b)| same(a, b)),
                "{told:?} {shown:?}"
            );
        }
    }
}
