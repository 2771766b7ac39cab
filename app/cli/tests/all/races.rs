//! `fathomp run --check-races`: what two nodes change without synchronisation is
//! named, and nothing else.

use crate::common::{compile, fathomp, fault_schemes, finish, run};

/// Threads write next to each other, and take turns at some variables. With an
/// argument they also write the same one in no order.
const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int racy[1024], locked, counted, handed, next_to[4], seen;

int main(int argc, char **argv)
{
    omp_lock_t lock;
    (void)argv;
    omp_init_lock(&lock);
    int *heap = calloc(4, sizeof *heap);
    for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(2)
        {
            int me = omp_get_thread_num();
            if (argc > 1)
                racy[7] = 2 * round + me + 1;
            next_to[me] = heap[me] = round + 1;
#pragma omp critical
            locked += 3;
#pragma omp atomic
            counted++;
            omp_set_lock(&lock);
            handed = handed * 3 % 1000 + 1;
            omp_unset_lock(&lock);
#pragma omp barrier
            if (me == round % 2)
                seen = next_to[0] + next_to[1];
        }
    }
    printf("%d %d %d\n", locked, counted, seen);
    return 5;
}
"#;

#[test]
fn what_two_nodes_change_in_no_order_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let program = compile(at, "racy", PROGRAM, &["-O1", "-fopenmp"]);
    let schemes = fault_schemes();
    for (argument, scheme) in [(None, schemes[0]), (Some("x"), schemes[schemes.len() - 1])] {
        let mut command = fathomp(at);
        command.args(["run", "--check-races", "--nodes", "2", "--threads", "1"]);
        command
            .args(["--fault-detection", scheme, "--"])
            .arg(&program);
        let ended = finish(command.args(argument));
        assert_eq!(ended.in_words().code, Some(5), "{ended:?}");
        assert_eq!(ended.text(), "180 60 60\n", "{ended:?}");
        if argument.is_some() {
            let line = "race: nodes 0 and 1 both changed 1 byte at racy+28 (0x";
            assert!(ended.stderr.contains(line), "{ended:?}");
            assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        } else {
            let nothing = "fathomp: no two nodes changed the same bytes without synchronisation\n";
            assert_eq!(ended.stderr, nothing);
        }
    }
    for options in ["", "--nodes 2 --dsm homeless"] {
        let line = format!("run --check-races {options} -- ./racy");
        run(at, &line).refused(2, "--check-races compares");
    }
}
