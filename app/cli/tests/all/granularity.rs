//! `fathomp simulate --granularity`, and the recording of lines that it is told from.

use crate::common::{compile, run};
use serde_json::Value;
use std::path::Path;

const FLAGS: [&str; 3] = ["-fopenmp", "-O1", "-Wl,-z,now"];

/// The tables, home-based first.
fn tables(directory: &Path, recording: &str) -> Vec<Value> {
    let line = format!("--json simulate {recording} --net gige_amd --dsm-plain --granularity");
    let json = run(directory, &line).succeeded().json();
    assert_eq!(json["schema"], "fathomp.granularity");
    json["tables"].as_array().unwrap().clone()
}

fn row(table: &Value, page_bytes: u64) -> Value {
    let rows = table["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["page_bytes"] == page_bytes);
    row.unwrap_or_else(|| panic!("{page_bytes}: {table}"))
        .clone()
}

/// Each thread counts in a line of its own, of one page, in ten phases.
const NEIGHBOURS: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile long hits[64] __attribute__((aligned(4096)));
int main(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 3; i++)
                hits[me * 8] += i + 1;
#pragma omp barrier
        }
    }
    /* The kernel reads shared memory, beside what the program does with it. */
    char *text = malloc(5000);
    memset(text, ' ', 5000);
    int length = snprintf(text + 4000, 1000, "%ld %ld\n", hits[0], hits[8]);
    return write(1, text + 4000, length) != length;
}
"#;

#[test]
fn neighbouring_counters_want_lines() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", NEIGHBOURS, &FLAGS);
    let line = "record --nodes 2 --accesses --lines -o lines -- ./program";
    assert_eq!(run(directory, line).succeeded().text(), "60 60\n");
    for table in tables(directory, "lines") {
        assert_eq!(table["best_bytes"], 64, "{table}");
        assert_eq!(table["rows"].as_array().unwrap().len(), 16);
        assert_eq!(row(&table, 64)["falsely_shared"], Value::Null);
        for size in [128, 4096, 2 << 20] {
            let row = row(&table, size);
            assert!(row["falsely_shared"].as_u64().unwrap() >= 10, "{row}");
        }
        let moved = |size| row(&table, size)["bytes_sent"].as_u64().unwrap();
        assert!(
            moved(64) < moved(128) && moved(128) < moved(2 << 20),
            "{table}"
        );
    }
    let text = run(directory, "simulate lines --net gige_amd --granularity");
    let text = text.succeeded().text();
    for words in [
        "64 B *",
        "homeless protocol",
        "Shared falsely",
        "--sequential",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// One thread writes an array, then each reads a half of it and writes as much.
const STREAM: &str = r#"
#include <stdio.h>
#define N (1 << 14)
static double a[N] __attribute__((aligned(1 << 21))), b[N] __attribute__((aligned(1 << 21)));
int main(void)
{
    for (int i = 0; i < N; i++)
        a[i] = i;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
        b[i] = a[i] + 1;
        /* What the other node does is waited for, and counts. */
        for (int k = 0; i >= N / 2 && k < 2000; k++)
            b[i] = b[i] * 0.5 + 1;
    }
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += b[i];
    printf("%g\n", sum);
    return 0;
}
"#;

#[test]
fn a_stream_wants_large_pages() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", STREAM, &FLAGS);
    for (how, into) in [("--accesses --lines", "lines"), ("--accesses", "pages")] {
        let line = format!("record --nodes 2 {how} -o {into} -- ./program");
        run(directory, &line).succeeded();
    }
    let (lines, pages) = (tables(directory, "lines"), tables(directory, "pages"));
    for (lines, pages) in lines.iter().zip(&pages) {
        // A half of the array is as large.
        assert_eq!(lines["best_bytes"], 65536, "{lines}");
        let fetched = row(lines, 64);
        let fetched = ["pages_fetched", "diffs_applied"].map(|of| fetched[of].as_u64().unwrap());
        assert!(
            (2048..2148).contains(fetched.iter().max().unwrap()),
            "{lines}"
        );
        // Lines together are the pages that a recording of pages knows.
        let counts = ["pages_fetched", "messages", "faults", "diffs_applied"];
        for size in [4096, 16384, 1 << 20] {
            let (lines, pages) = (row(lines, size), row(pages, size));
            for count in counts {
                assert_eq!(lines[count], pages[count], "{count}: {lines}\n{pages}");
            }
        }
    }
    assert_eq!(pages[0]["rows"].as_array().unwrap().len(), 10);
    let text = run(directory, "simulate pages --net gige_amd --granularity");
    let said = "What is smaller than 4.00 KiB was not recorded";
    assert!(text.succeeded().text().contains(said));
    let line = "simulate pages --net gige_amd --page-bytes 512";
    run(directory, line).refused(1, "what is smaller than 4096 bytes was not recorded");
    let line = "--json simulate lines --net gige_amd --nodes 2 --page-bytes 512";
    let json = run(directory, line).succeeded().json();
    assert_eq!(json["points"][0]["page_bytes"], 512);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let refused = |line: &str, words: &str| {
        let ended = run(directory, line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(words),
            "{ended:?}"
        );
    };
    refused("record --nodes 2 --lines -- ./program", "--accesses");
    refused(
        "simulate f --net gige_amd --granularity --page-bytes 4096",
        "cannot be used with",
    );
    compile(directory, "program", NEIGHBOURS, &FLAGS);
    let line = "record --nodes 8 --accesses --lines -o lines -- ./program";
    let ended = run(directory, line);
    assert!(ended.stderr.contains("record on fewer nodes"), "{ended:?}");
}
