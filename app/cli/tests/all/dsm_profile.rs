//! What a recording of several nodes counts: programs whose counts are known.

use crate::common::{compile, fathomp, finish, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Pages of the programs' array, of which the two threads touch some each.
const PAGES: u64 = 40;

/// Records a program of two threads on two nodes without prefetch and
/// migration, and gives `fathomp regions --json` of it.
fn recorded(directory: &Path, regions: &str) -> Value {
    recorded_with(directory, "--dsm-plain", regions)
}

/// The same with other options.
fn recorded_with(directory: &Path, options: &str, regions: &str) -> Value {
    let source = format!(
        "#include <omp.h>\n\
         #include <stdio.h>\n\
         static struct {{ volatile long word; char rest[4088]; }} page[{PAGES}]\n\
             __attribute__((aligned(4096)));\n\
         int main(void) {{\n\
         {regions}\n\
         puts(\"done\");\n\
         return 0;\n\
         }}\n"
    );
    compile(directory, "program", &source, &["-g", "-fopenmp"]);
    let line = format!("record --nodes 2 --threads 1 {options} --force -- ./program");
    let ended = run(directory, &line);
    ended.succeeded();
    assert_eq!(ended.text(), "done\n");
    let answer = run(directory, "--json regions recording");
    answer.succeeded();
    answer.json()
}

/// A region, all of whose accesses to the array are `body` by one thread.
fn region(thread: u32, body: &str) -> String {
    format!(
        "#pragma omp parallel num_threads(2)\n\
         {{ int me = omp_get_thread_num(); if (me == {thread}) {body} }}\n"
    )
}

/// Parallel regions by line.
fn parallel(json: &Value) -> Vec<&Value> {
    let all = json["regions"].as_array().unwrap();
    let mut found: Vec<_> = all.iter().filter(|r| r["kind"] == "parallel").collect();
    found.sort_by_key(|region| region["place"]["line"].as_u64());
    found
}

fn thread(region: &Value, number: u64) -> &Value {
    let threads = region["threads"].as_array().unwrap();
    let found = threads.iter().find(|thread| thread["thread_num"] == number);
    let found = found.unwrap_or_else(|| panic!("no thread {number}: {region}"));
    assert_eq!(found["node"], number);
    &found["dsm"]
}

/// Faults beside those at the array: the region's frame on the stack, and pages
/// of the program and the C library that nobody can know beforehand.
const OTHERS: u64 = 4;

fn about(count: &Value, expected: u64) {
    let count = count.as_u64().unwrap();
    assert!(
        (expected..=expected + OTHERS).contains(&count),
        "{count} is not {expected} and at most {OTHERS} more"
    );
}

#[test]
fn each_page_another_node_wrote_is_one_fetch_fault() {
    let directory = tempfile::tempdir().unwrap();
    let loops = |access: &str| format!("for (int i = 0; i < {PAGES}; i++) {access};");
    let program = region(0, &loops("page[i].word = i"))
        + &region(1, &loops("page[i].word"))
        + &region(1, &loops("page[i].word"));
    let json = recorded(directory.path(), &program);
    let regions = parallel(&json);
    assert_eq!(regions.len(), 3);
    for region in &regions {
        assert_eq!(region["instances"], 1, "{region}");
        assert_eq!(region["team_size_max"], 2);
        assert_eq!(region["threads"].as_array().unwrap().len(), 2);
    }
    // Blocks of pages: some of the array is at home on node 1.
    let fetched = thread(regions[1], 1)["fetch_faults"].as_u64().unwrap();
    let again = thread(regions[2], 1)["fetch_faults"].as_u64().unwrap();
    let written = thread(regions[0], 0)["fetch_faults"].as_u64().unwrap();
    about(&(fetched + written).into(), PAGES);
    assert!(again <= OTHERS, "{again}");
    assert_eq!(
        thread(regions[1], 1)["pages_fetched"],
        thread(regions[1], 1)["fetch_faults"]
    );
    // Who served them, and the critical path.
    let critical = &regions[1]["dsm"]["critical"];
    assert_eq!(critical["fetch_faults"], fetched);
    assert_eq!(regions[1]["dsm"]["nodes"]["1"]["fetch_faults"], fetched);
    assert_eq!(regions[1]["dsm"]["nodes"]["0"]["fetch_faults"], 0);
    let time = thread(regions[1], 1)["fault_ns"].as_u64().unwrap();
    assert!(time > 0);
}

/// What the first region touches first is at home there in the second; what node 0 has
/// filled is not.
#[test]
fn pages_move_to_who_touches_them_first() {
    let directory = tempfile::tempdir().unwrap();
    let write = format!("for (int i = 0; i < {PAGES}; i++) page[i].word += i;");
    let faults = |before: &str| {
        let program = before.to_owned() + &region(1, &write) + &region(1, &write);
        let json = recorded_with(directory.path(), "--dsm home", &program);
        let regions = parallel(&json);
        let [first, second] = [regions.len() - 2, regions.len() - 1].map(|number| {
            let counts = thread(regions[number], 1);
            let names = ["fetch_faults", "write_faults_remote"];
            let counts = names.map(|name| counts[name].as_u64().unwrap());
            counts.iter().sum::<u64>()
        });
        assert!(first > 0);
        second
    };
    let moved = faults("");
    assert!(moved <= OTHERS, "{moved}");
    let stayed = faults(&region(0, &write));
    assert!(stayed > OTHERS, "{stayed}");
}

#[test]
fn pages_fetched_with_a_lock_held_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let loops = |access: &str| format!("for (int i = 0; i < {PAGES}; i++) {access};");
    let program = region(0, &loops("page[i].word = i"))
        + "#pragma omp parallel num_threads(2)\n{\n#pragma omp critical\n"
        + &format!(
            "if (omp_get_thread_num() == 1) {}\n}}\n",
            loops("page[i].word")
        );
    let json = recorded(directory.path(), &program);
    let regions = parallel(&json);
    let reading = thread(regions[1], 1);
    let [all, locked] =
        ["fetch_faults", "fetch_faults_locked"].map(|name| reading[name].as_u64().unwrap());
    let before = thread(regions[0], 0);
    let written = before["fetch_faults"].as_u64().unwrap();
    about(&(locked + written).into(), PAGES);
    assert!(locked <= all && all <= locked + OTHERS, "{locked} of {all}");
    assert_eq!(before["fetch_faults_locked"], 0);
}

#[test]
fn looks_at_a_variable_and_fetches_of_its_page_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let loops = |access: &str| format!("for (int i = 1; i < {PAGES}; i++) {access};");
    let flush = "\n#pragma omp flush\n";
    let program = format!(
        "#pragma omp parallel num_threads(2)\n{{\n\
         extern int sched_yield(void), usleep(unsigned);\n\
         if (omp_get_thread_num() == 0) {{ usleep(50000); {} {flush} page[0].word = 1; {flush} }}\n\
         else {{ while (!page[0].word) sched_yield(); {flush} {} }}\n}}\n",
        loops("page[i].word = i"),
        loops("page[i].word")
    );
    let json = recorded(directory.path(), &program);
    let of = |number, name: &str| {
        let thread = thread(parallel(&json)[0], number);
        thread[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {thread}"))
    };
    assert_eq!([of(0, "looks"), of(0, "look_ns")], [0, 0]);
    let looks = of(1, "looks");
    assert_eq!(of(1, "flushes"), looks + 1);
    // The variable's page comes with the last look; all others when the wait is over.
    let looking = of(1, "fetch_faults_looking");
    assert!(
        looks > 1 && (1..=looks).contains(&looking),
        "{looking}, {looks}"
    );
    let rest = of(1, "fetch_faults") - looking;
    about(&rest.into(), PAGES - 1);
    let [waited_ns, shared_ns] = ["look_ns", "look_shared_ns"].map(|name| of(1, name));
    assert!(
        shared_ns > 0 && shared_ns <= waited_ns,
        "{shared_ns}, {waited_ns}"
    );
    assert!(waited_ns > 30_000_000, "{waited_ns}");
}

#[test]
fn each_copy_written_is_one_write_fault_and_one_diff() {
    let directory = tempfile::tempdir().unwrap();
    let write = format!("for (int i = 0; i < {PAGES}; i++) page[i].word = i + me;");
    let program = region(0, &write) + &region(1, &write) + &region(0, &write);
    let json = recorded(directory.path(), &program);
    let regions = parallel(&json);
    assert_eq!(regions.len(), 3);
    // What a node has a copy of it must twin and send home; the rest is at home
    // there. Once both nodes have touched a page, its home notices writes, too.
    let last = thread(regions[2], 0);
    let all =
        ["write_faults_local", "write_faults_remote"].map(|name| last[name].as_u64().unwrap());
    about(&(all[0] + all[1]).into(), PAGES);
    for region in &regions {
        let dsm = &region["dsm"]["all"];
        assert_eq!(dsm["diffs_made"], dsm["diffs_sent"], "{dsm}");
    }
    let copies: Vec<u64> = (0..2)
        .map(|number| {
            thread(regions[1], number)["write_faults_remote"]
                .as_u64()
                .unwrap()
        })
        .collect();
    let diffs = regions[1]["dsm"]["all"]["diffs_sent"].as_u64().unwrap();
    assert!(
        diffs >= copies[1].saturating_sub(OTHERS),
        "{diffs} of {copies:?}"
    );
    assert_eq!(json["dsm"]["diffs_made"], json["dsm"]["diffs_sent"]);
}

#[test]
fn copies_that_are_leased_are_counted_each_time_that_they_are_not_told() {
    const ROUNDS: u64 = 100;
    let directory = tempfile::tempdir().unwrap();
    let write = format!("for (int i = 1; i < {PAGES}; i++) page[i].word++;");
    // A home that waits at a barrier leases nothing.
    let program = format!(
        "{}#pragma omp parallel num_threads(2)\n\
         for (int n = 0; n < {ROUNDS};) {{\n\
         extern int usleep(unsigned);\n\
         if (omp_get_thread_num() == 1) {{ {write} }}\n\
         usleep(1000);\n\
         #pragma omp critical\n\
         n = omp_get_thread_num() == 0 ? page[0].word : ++page[0].word;\n\
         }}\n",
        region(0, &format!("{{ {write} }}"))
    );
    let json = recorded_with(directory.path(), "--dsm home", &program);
    let regions = parallel(&json);
    let of = |name: &str| thread(regions[1], 1)[name].as_u64().unwrap();
    let [made, open] = ["diffs_made", "left_open"].map(of);
    // They are leased after some ten rounds, more if the home is slow to answer.
    let all = PAGES * ROUNDS;
    assert!(
        made <= all / 2 && open >= all / 3 && made + open <= all + OTHERS * ROUNDS,
        "{made} made, {open} left open, of {all}"
    );
    assert_eq!(thread(regions[0], 0)["left_open"], 0);
}

#[test]
fn a_recording_whose_node_was_killed_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <omp.h>\n\
                  #include <signal.h>\n\
                  #include <unistd.h>\n\
                  int main(void) {\n\
                  for (int i = 0; i < 3; i++) {\n\
                  #pragma omp parallel num_threads(2)\n\
                  if (i == 2 && omp_get_thread_num() == 1) kill(getpid(), SIGKILL);\n\
                  }\n\
                  return 0;\n\
                  }\n";
    compile(directory.path(), "program", source, &["-g", "-fopenmp"]);
    let line = "record --nodes 2 --threads 1 -- ./program";
    let ended = run(directory.path(), line);
    ended.in_words();
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let answer = run(directory.path(), "--json regions recording");
    answer.succeeded();
    let json = answer.json();
    let region = parallel(&json)[0];
    assert_eq!(region["instances"], 3, "{region}");
    assert!(
        !json["problems"].to_string().contains("not to be trusted"),
        "{json}"
    );
    assert!(
        json["problems"]
            .to_string()
            .contains("did not end properly"),
        "{json}"
    );
}

#[test]
fn nothing_is_lost_silently_when_the_ring_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let program = format!(
        "for (int n = 0; n < 60; n++) {{\n{}\n{}\n}}",
        region(0, "page[0].word++;"),
        region(1, "page[1].word++;")
    );
    let whole = recorded(directory.path(), &program);
    // A tiny ring: what does not fit is summed by the threads, or counted.
    let ended = finish(
        fathomp(directory.path())
            .args("record --nodes 2 --threads 1 --dsm-plain --force -- ./program".split(' '))
            .env("FATHOMP_RING_KIB", "4"),
    );
    ended.succeeded();
    let small = run(directory.path(), "--json regions recording").json();
    let barriers = |json: &Value| -> Vec<u64> {
        let regions = parallel(json);
        regions
            .iter()
            .map(|region| region["dsm"]["all"]["barriers"].as_u64().unwrap())
            .collect()
    };
    // One barrier at the end of each execution, on both nodes.
    assert_eq!(barriers(&whole), [120, 120]);
    let dropped: u64 = small["threads_seen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| thread["dropped"].as_u64().unwrap())
        .sum();
    let kept = barriers(&small);
    assert!(kept.iter().all(|count| *count <= 120), "{kept:?}");
    assert!(kept == [120, 120] || dropped > 0, "{kept:?}");
}

#[test]
fn tables_and_page_show_what_sharing_cost() {
    let directory = tempfile::tempdir().unwrap();
    recorded(directory.path(), &region(1, "page[0].word = 1;"));
    let table = run(directory.path(), "regions recording");
    table.succeeded();
    for word in ["Memory of the nodes", "slowest each time", "Fetch"] {
        assert!(table.text().contains(word), "{table:?}");
    }
    run(directory.path(), "report recording -o report.html").succeeded();
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("Memory shared between nodes"));
    assert!(page.contains("dsm-table"));
}

#[test]
fn who_fetched_most_is_known_from_barrier_to_barrier() {
    let directory = tempfile::tempdir().unwrap();
    // Node 0 writes both halves; then node 1 reads one while node 0 does nothing, and after a
    // barrier writes the other, which node 0 reads in the last phase.
    let half = PAGES / 2;
    let program = format!(
        "for (int i = 0; i < {PAGES}; i++) page[i].word = i;\n\
         #pragma omp parallel num_threads(2)\n\
         {{ int me = omp_get_thread_num();\n\
           if (me == 1) for (int i = 0; i < {half}; i++) page[i].word;\n\
         #pragma omp barrier\n\
           if (me == 1) for (int i = {half}; i < {PAGES}; i++) page[i].word = 1;\n\
         #pragma omp barrier\n\
           if (me == 0) for (int i = {half}; i < {PAGES}; i++) page[i].word;\n\
         }}\n"
    );
    recorded(directory.path(), &program);
    let recording = fathomp_trace::reader::open(&directory.path().join("recording")).unwrap();
    let analysis = fathomp_analysis::analyse(&recording, &fathomp_analysis::Options::default());
    let mut regions = analysis.regions.iter().filter(|region| region.level == 1);
    let region = regions.next().unwrap();
    let shared = region.dsm.as_ref().unwrap();
    let node = |number: u16| {
        let mut threads = region.threads.iter();
        threads.position(|thread| thread.node == number).unwrap()
    };
    assert_eq!(shared.phases.len(), 3);
    for phase in &shared.phases {
        assert_eq!(phase.len(), region.threads.len());
        assert!(phase.iter().all(|share| share.dsm.barriers == 1));
    }
    let fetches = |phase: usize, number: u16| shared.phases[phase][node(number)].dsm.fetch_faults;
    let near = |found: u64| (half..=half + OTHERS).contains(&found);
    assert!(near(fetches(0, 1)), "{:?}", shared.phases);
    assert!(near(fetches(1, 1)), "{:?}", shared.phases);
    let written = &shared.phases[1][node(1)].dsm;
    assert!(near(written.diffs_sent), "{written:?}");
    assert!(fetches(2, 1) <= OTHERS && fetches(0, 0) <= OTHERS);
    // What phases do not hold came after the last barrier.
    for (at, thread) in region.threads.iter().enumerate() {
        let whole = thread.dsm.unwrap();
        let phases = shared.phases.iter().map(|phase| phase[at].dsm);
        let in_phases: u64 = phases.map(|dsm| dsm.fetch_faults).sum();
        assert!(whole.fetch_faults - in_phases <= OTHERS, "{whole:?}");
        assert_eq!(whole.barriers, 3);
    }
}

#[test]
fn questions_about_single_blocks_and_dealt_loops_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let program = "#pragma omp parallel num_threads(2)\n{\n\
         page[omp_get_thread_num()].word = 1;\n}\n\
         #pragma omp parallel num_threads(2)\n{\n\
         for (int i = 0; i < 3; i++) {\n\
         _Pragma(\"omp single\") page[0].word = i;\n}\n\
         _Pragma(\"omp for schedule(dynamic)\") for (int i = 2; i < 10; i++) page[i].word = i;\n}\n";
    let json = recorded(directory.path(), program);
    let regions = parallel(&json);
    for number in [0, 1] {
        assert_eq!(thread(regions[0], number)["asks"], 0);
        assert_eq!(thread(regions[0], number)["ask_ns"], 0);
        // Once for each block, and once at least to learn that nothing is left of the loop.
        let asking = thread(regions[1], number);
        let [asks, ask_ns] = ["asks", "ask_ns"].map(|name| asking[name].as_u64().unwrap());
        assert!(asks > 3 && ask_ns > 0, "{asking}");
    }
}

#[test]
fn atomic_instructions_are_counted_and_are_communication() {
    let directory = tempfile::tempdir().unwrap();
    let program = "#pragma omp parallel num_threads(2)\n\
         for (int i = 0; i < 300; i++) {\n\
         _Pragma(\"omp atomic\") page[0].word++;\n}\n\
         #pragma omp parallel num_threads(2)\n\
         if (omp_get_thread_num() == 1) for (int i = 0; i < 3000; i++) {\n\
         _Pragma(\"omp atomic\") page[i % 2].word++;\n}\n";
    for options in ["", "--dsm homeless", "--dsm-plain"] {
        let json = recorded_with(directory.path(), options, program);
        let regions = parallel(&json);
        for number in [0, 1] {
            let dsm = thread(regions[0], number);
            let of = |name: &str| dsm[name].as_u64().unwrap();
            assert_eq!(of("atomics"), 300, "{dsm}");
            assert!(
                of("locks") >= 300 && of("lock_ns") >= of("atomic_ns"),
                "{dsm}"
            );
            assert!(of("atomic_ns") > 0, "{dsm}");
        }
        for region in &regions {
            let of_thread = |share: &Value| {
                let dsm = &share["dsm"];
                let shared = dsm["fault_ns"].as_u64().unwrap() + dsm["atomic_ns"].as_u64().unwrap();
                // Each time is rounded by itself.
                (shared, share["states"]["communication"].as_u64().unwrap())
            };
            let threads = region["threads"].as_array().unwrap();
            for (shared, communicated) in threads.iter().map(of_thread) {
                assert!(shared.abs_diff(communicated) <= 2, "{region}");
            }
            let causes = region["barrier_wait_causes"].as_object().unwrap();
            let all: u64 = causes.values().map(|ns| ns.as_u64().unwrap()).sum();
            let states = &region["states"];
            let waited = ["implicit_barrier", "explicit_barrier"];
            let waited = waited.map(|state| states[state].as_u64().unwrap());
            assert_eq!(all, waited.iter().sum::<u64>(), "{region}");
        }
        // Node 0 does nothing there but to wait for node 1's atomic instructions.
        let causes = &regions[1]["barrier_wait_causes"];
        assert!(causes["atomic_ns"].as_u64().unwrap() > 0, "{causes}");
    }
}

/// The loop that compilers make of it reads the sum first, which need not be here.
#[test]
fn sums_are_added_to_without_fetching_them() {
    const ROUNDS: u64 = 60;
    let directory = tempfile::tempdir().unwrap();
    let program = format!(
        "double *sum = (double *)&page[0].rest[8];\n\
         #pragma omp parallel num_threads(2)\n\
         for (int i = 0; i < {ROUNDS}; i++) {{\n\
         if (omp_get_thread_num() == 0) page[0].word++;\n\
         _Pragma(\"omp barrier\")\n\
         if (omp_get_thread_num() == 1) {{ _Pragma(\"omp atomic\") *sum += 0.5; }}\n\
         _Pragma(\"omp barrier\")\n\
         }}\n\
         if (*sum != {ROUNDS} * 0.5) return 1;\n"
    );
    for options in ["", "--dsm homeless"] {
        let json = recorded_with(directory.path(), options, &program);
        let dsm = thread(parallel(&json)[0], 1);
        assert_eq!(dsm["atomics"], ROUNDS, "{dsm}");
        assert!(dsm["fetch_faults"].as_u64().unwrap() < ROUNDS / 4, "{dsm}");
    }
}
