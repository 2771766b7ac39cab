//! `fathomp regions --overheads`: directives by line, times what each costs.

use crate::common::{compile, fathomp, finish, run};
use serde_json::Value;

/// Tasks of one thread, of a loop, and of all threads that wait for them; a critical section that
/// threads seldom wait for.
const TASKS: &str = r#"
#include <stdio.h>
static volatile long done[64];
static void work(long n)
{
    for (volatile long i = 0; i < n; i++)
        ;
}
int main(void)
{
#pragma omp parallel
#pragma omp master
    for (int i = 0; i < 60; i++) {
#pragma omp task
        work(100);
    }
#pragma omp parallel
#pragma omp master
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 40; i++)
        work(100);
#pragma omp parallel
    for (int i = 0; i < 10; i++) {
#pragma omp task
        work(3000000);
#pragma omp taskwait
    }
    long sum = 0;
#pragma omp parallel
    for (int i = 0; i < 500; i++) {
#pragma omp critical
        sum += i;
        work(100);
    }
    printf("%ld\n", sum);
    return 0;
}
"#;

#[test]
fn tasks_and_critical_sections_count_at_their_regions() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", TASKS, &["-fopenmp", "-O1", "-g"]);
    let rows = "PARALLEL,PARALLEL TASK,MASTER TASK,TASK WAIT";
    let settings = "bench epcc --runs 1 --samples 3 --target-us 50 --threads 2 --runtime fathomp \
                    --cc gcc -o epcc.json --only";
    let arguments = settings.split_whitespace().chain([rows]);
    finish(fathomp(directory).args(arguments)).succeeded();
    run(directory, "record --threads 2 -o r -- ./program").succeeded();
    let json = run(directory, "--json regions r --overheads epcc.json");
    let json = json.succeeded().json();
    let rows = json["rows"].as_array().unwrap();
    let count = |directive: &str| -> u64 {
        let rows = rows.iter().filter(|row| row["directive"] == directive);
        rows.map(|row| row["executions"].as_u64().unwrap()).sum()
    };
    let found = ["PARALLEL", "MASTER TASK", "PARALLEL TASK", "FOR"].map(count);
    assert_eq!(found, [4, 100, 20, 0], "{rows:#?}");
    // Not only those that threads waited for, which may be none.
    let entered = ["CRITICAL", "CRITICAL or LOCK"].map(count);
    assert_eq!(entered.iter().sum::<u64>(), 1000, "{rows:#?}");
    let priced = |row: &&Value| row["each_ns"].is_number() && row["total_ns"].is_number();
    assert!(rows.iter().filter(priced).count() >= 4, "{rows:#?}");
    let tasks = rows
        .iter()
        .filter(|row| row["directive"] == "PARALLEL TASK");
    let places: Vec<_> = tasks.filter_map(|row| row["place"].as_str()).collect();
    assert!(places[0].starts_with("program.c:"), "{places:?}");
}
