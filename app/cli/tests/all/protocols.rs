//! The ways to share memory between nodes: programs do not notice which it is.

use crate::common::{compile, fault_schemes, finish, run};
use std::process::Command;

/// Pages with several writers, locks, atomics, and so many diffs that nodes have
/// to tidy up.
const SHARING: &str = r#"
#include <omp.h>
#include <stdio.h>
static long data[1 << 18];
int main(void)
{
    long sum = 0, most = 0, hits = 0;
#pragma omp parallel
    for (int round = 1; round <= 8; round++) {
#pragma omp for schedule(static, 8) reduction(+ : sum)
        for (int i = 0; i < 1 << 18; i++) {
            data[i] += i % 7 * round;
            sum += data[(i * 5 + 3) % (1 << 18)] >= 0;
        }
#pragma omp for schedule(dynamic, 1000)
        for (int i = 0; i < 1 << 18; i++)
            if (data[i] % 100 == 1 && i % 1000 == 0) {
#pragma omp atomic
                hits++;
            }
#pragma omp critical
        most = most > data[round] ? most : data[round];
#pragma omp barrier
    }
    for (int i = 0; i < 1 << 18; i++)
        sum += data[i];
    printf("%ld %ld %ld\n", sum, most, hits);
    return 0;
}
"#;

#[test]
fn both_protocols_by_both_schemes_compute_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "sharing", SHARING, &["-fopenmp", "-O1"]);
    let alone = finish(&mut Command::new(&program));
    let expected = alone.succeeded().text().to_owned();
    for protocol in ["home", "homeless --dsm-memory 1M"] {
        for faults in fault_schemes() {
            for size in ["--nodes 2", "--nodes 3", "--nodes 2 --threads 2"] {
                let how = format!("{size} --dsm {protocol} --fault-detection {faults}");
                let line = format!("run {how} -- {}", program.display());
                let ended = run(directory.path(), &line);
                assert_eq!(ended.succeeded().text(), expected, "{how}");
            }
        }
    }
}
