//! Crates that had circles when they were first looked for.

/// Folders of crates, and how many of their files and folders stand in circles still. A
/// number here only ever gets smaller, and a crate that is not here has no circle.
pub(super) const LEFT: &[(&str, usize)] = &[
    ("cluster/edition", 5),
    ("model/advise", 3),
    ("bench/harness", 4),
    ("app/cli", 8),
    ("binary/cfg", 8),
    ("paging/collector", 2),
    ("cluster/protocols", 15),
    ("cluster/heap", 3),
    ("testing/callgrind", 2),
    ("openmp/omp", 12),
    ("paging/format", 5),
    ("cluster/rewriting", 5),
    ("binary/regions", 6),
    ("cluster/trace-replay", 4),
    ("app/report", 29),
    ("binary/scan", 12),
    ("paging/skyline", 7),
    ("binary/directives", 4),
    ("core/sys", 8),
    ("paging/interposer", 14),
    ("bench/toolchain", 3),
    ("records/trace", 6),
    ("model/cache-model", 3),
    ("cluster/transport", 2),
    ("testing/simulator", 5),
];
