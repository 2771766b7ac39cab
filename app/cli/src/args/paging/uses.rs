//! The options of paging, with what each needs to change anything.

use super::super::rules::When::{self, Is, With, Without};
use super::super::rules::{Options, options};

pub(in crate::args) const OPTIONS: &[Options] = &[
    options(
        &["skyline"],
        &[
            "recording",
            "counter",
            "state",
            "peaks",
            "factor",
            "bins",
            "window",
            "published",
            "gang",
            "csv",
            "gnuplot",
        ],
        &[],
    ),
    options(&["skyline"], &["axis"], &[Without(&["json"])]),
    options(&["skyline"], &["tasks"], &[TEXT_OR_PLOTS]),
    options(&["skyline"], &["force"], &[With(&["csv", "gnuplot"])]),
    options(&["collect"], &["listen", "output", "key", "max_size"], &[]),
    // Given by fathomp itself.
    options(
        &["collect"],
        &["live", "sample", "every_fault", "limit_bytes"],
        &[],
    ),
    options(
        &["record"],
        &[
            "paging",
            "record_faults",
            "writer",
            "key",
            "sample",
            "tasks",
            "window",
            "counters",
            "states",
            "memory",
            "measure_intrusion",
        ],
        &[],
    ),
];

/// In JSON all tasks are there anyway.
const TEXT_OR_PLOTS: When = Is("json", &["false"], &["csv", "gnuplot"]);
