//! What users type about paging: the commands of that wing, and the options that it adds to
//! `fathomp record`.
//!
//! A program without the feature `paging` has `args/no_paging.rs` in the place of this module: the
//! same names, and no option.

mod uses;

use super::rules::Rare;

pub(crate) use fathomp_paging_commands::args::{Command, Paging};
pub(super) use uses::OPTIONS;

/// Examples of the wing's commands.
pub(super) const EXAMPLES: &str = include_str!("examples.txt");

/// Options that only the long form of help has.
pub(super) const RARE: Rare = &[
    (
        "record",
        &[
            "key",
            "sample",
            "tasks",
            "window",
            "counters",
            "states",
            "measure_intrusion",
            "writer",
            "record_faults",
        ],
    ),
    ("skyline", &["factor", "bins", "gang", "csv", "gnuplot"]),
];
