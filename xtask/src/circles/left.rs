//! Crates that had circles when they were first looked for.

/// Folders of crates, and how many of their files and folders stand in circles still. A
/// number here only ever gets smaller, and a crate that is not here has no circle.
pub(super) const LEFT: &[(&str, usize)] = &[
    ("crates/abi", 6),
    ("crates/advise", 3),
    ("crates/bench", 4),
    ("crates/cli", 27),
    ("crates/code", 8),
    ("crates/collect", 4),
    ("crates/dsm", 19),
    ("crates/heap", 3),
    ("crates/judge", 2),
    ("crates/omp", 15),
    ("crates/paging", 5),
    ("crates/patch", 5),
    ("crates/regions", 6),
    ("crates/replay", 4),
    ("crates/report", 40),
    ("crates/scan", 12),
    ("crates/skyline", 7),
    ("crates/source", 4),
    ("crates/sys", 9),
    ("crates/tap", 14),
    ("crates/toolchain", 3),
    ("crates/trace", 6),
    ("crates/traffic", 3),
    ("crates/transport", 2),
    ("sim", 5),
];
