//! Modules that come and go while a program is recorded, at one address in turn.

use crate::common::{compile, run};
use std::path::Path;

/// Loads and unloads plugins in turn, `rounds` of each.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3, same = 1, fresh = 1;
    void *first = 0;
    long sum = 0;
    /* What the runtime maps at its start must not fall into the gaps. */
#pragma omp parallel reduction(+ : sum)
    sum++;
    for (int i = 0; i < 2 * rounds; i++) {
        void *plugin = dlopen(i & 1 ? "./b.so" : "./a.so", RTLD_NOW);
        if (!plugin) {
            puts(dlerror());
            return 1;
        }
        long (*kernel)(int) = (long (*)(int))dlsym(plugin, "kernel");
        int *calls = dlsym(plugin, "calls");
        fresh &= *calls == 0;
        sum += kernel(1000);
        if (i == 1)
            first = (void *)kernel;
        same &= i < 1 || first == (void *)kernel;
        if (dlclose(plugin))
            return 2;
    }
    printf("%s %s %ld\n", same ? "same" : "different", fresh ? "fresh" : "stale", sum);
    return 0;
}
"#;

/// A region with a loop, a critical section and a barrier.
fn plugin(directory: &Path, name: &str, factor: u32) {
    let source = format!(
        "int calls;\nlong kernel(int n)\n{{\n    long s = 0;\n    calls++;\n\
         #pragma omp parallel reduction(+ : s)\n    {{\n\
         #pragma omp for schedule(dynamic, 16)\n    for (int i = 0; i < n; i++)\n\
         s += {factor}L * i;\n#pragma omp critical\n    s += {factor};\n#pragma omp barrier\n    }}\n\
         return s;\n}}\n"
    );
    let flags = ["-g", "-fopenmp", "-shared", "-fPIC"];
    compile(directory, name, &source, &flags);
    std::fs::rename(directory.join(name), directory.join(format!("{name}.so"))).unwrap();
}

fn build() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    // Factors for which the compiler makes the same instructions.
    plugin(directory.path(), "a", 1_000_001);
    plugin(directory.path(), "b", 2_000_003);
    let flags = ["-g", "-fopenmp", "-ldl"];
    compile(directory.path(), "host", HOST, &flags);
    directory
}

/// `count` of each entry of a table whose name begins so.
fn counts(table: &serde_json::Value, name: &str, count: &str) -> Vec<u64> {
    table
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["name"].as_str().unwrap().starts_with(name))
        .map(|entry| entry[count].as_u64().unwrap())
        .collect()
}

#[test]
fn places_of_unloaded_modules_are_not_taken_for_others() {
    let directory = build();
    let ended = run(directory.path(), "record --threads 2 -- ./host");
    // At the same addresses, or this proves nothing; and unloaded for good.
    assert!(
        ended.succeeded().text().starts_with("same fresh "),
        "{ended:?}"
    );
    let json = run(directory.path(), "--json regions recording").json();
    for file in ["a.c:6", "b.c:6"] {
        assert_eq!(counts(&json["regions"], file, "instances"), [3], "{json}");
    }
    // Of two threads each.
    for file in ["a.c:9", "b.c:9"] {
        assert_eq!(
            counts(&json["loops"], file, "shares"),
            [6],
            "{}",
            json["loops"]
        );
    }
}

#[test]
fn many_comings_and_goings_need_no_more_room() {
    let directory = build();
    let ended = run(directory.path(), "record --threads 2 -- ./host 3000");
    assert!(
        ended.succeeded().text().starts_with("same fresh "),
        "{ended:?}"
    );
    let json = run(directory.path(), "--json regions recording").json();
    for file in ["a.c:6", "b.c:6"] {
        assert_eq!(
            counts(&json["regions"], file, "instances"),
            [3000],
            "{json}"
        );
    }
    let problems = json["problems"].to_string();
    assert!(!problems.contains("table of places"), "{problems}");
}
