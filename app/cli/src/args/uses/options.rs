//! Every option of every command, once, with what it needs to change anything; those of clusters
//! and of paging are beside their options.

use super::super::rules::When::{Is, With, Without};
use super::super::rules::{Options, options};

/// Options of clusters that say where a program runs.
const ELSEWHERE: &[&str] = &["hosts", "hostfile", "transport"];
const MEASURED: &[&str] = &["evaluate", "hosts", "hostfile", "transport"];
const EVALUATED: &[&str] = &["evaluate", "load"];

pub(super) const OPTIONS: &[Options] = &[
    options(&["run", "record"], &["threads", "command"], &[]),
    options(&["run"], &["advice", "verbose"], &[]),
    options(
        &["record"],
        &["advice", "verbose", "runtime"],
        &[Without(&["measure_intrusion"])],
    ),
    options(&["record"], &["output", "force", "max_size"], &[]),
    options(
        &["study"],
        &[
            // Refused by name beside what it does not go with.
            "ranks",
            "threads",
            "repeat",
            "runtime",
            "output",
            "directory",
            "force",
            "command",
        ],
        &[],
    ),
    // What several runtimes leave out is refused where they are counted.
    options(
        &["study"],
        &["cores", "quick", "goes_on", "no_rehearsal", "no_sharing"],
        &[Without(ELSEWHERE)],
    ),
    options(
        &["share"],
        &[
            "strategy",
            "compare",
            // Refused by name beside other strategies.
            "advice",
            "threads",
            "keep_teams",
            "mix",
            "output",
            "separator",
            "commands",
        ],
        &[],
    ),
    options(&["share"], &["repeat"], &[With(&["compare"])]),
    options(
        &["share"],
        &["time_slice"],
        &[Is("strategy", &["gang"], &["compare"])],
    ),
    options(&["share"], &["directory"], &[Without(&["compare", "mix"])]),
    options(&["share"], &["force"], &[Without(&["compare"])]),
    options(&["calibrate"], &["output", "threads", "recalibrate"], &[]),
    options(
        &["calibrate", "advise", "workload build"],
        &["force"],
        &[With(&["output"])],
    ),
    options(
        &["regions"],
        &[
            "recording",
            "instances",
            "csv",
            "counts",
            "sequential",
            "overheads",
            "perfetto",
            "otf2",
            "paraver",
        ],
        &[],
    ),
    options(
        &["regions"],
        &["threads"],
        &[Without(&["overheads", "instances", "json"])],
    ),
    options(
        &["regions"],
        &["force"],
        &[With(&["csv", "counts", "perfetto", "otf2", "paraver"])],
    ),
    options(
        &["scan"],
        &[
            "inputs",
            "commands",
            "no_source",
            "output",
            "region_lines",
            "score",
        ],
        &[],
    ),
    options(&["scan"], &["machine", "weights"], &[With(&["score"])]),
    options(&["scan"], &["verbose"], &[Without(&["json"])]),
    options(&["scan"], &["force"], &[With(&["output", "region_lines"])]),
    options(
        &["predict"],
        &["validate", "evaluate", "load", "cluster", "sequential"],
        &[],
    ),
    options(
        &["predict"],
        &["recordings", "counts", "at"],
        &[Without(ELSEWHERE)],
    ),
    options(
        &["predict"],
        &["machine"],
        &[Without(&[
            "counts",
            "load",
            "hosts",
            "hostfile",
            "transport",
        ])],
    ),
    options(
        &["predict"],
        &["cores"],
        &[Without(&[
            "validate",
            "counts",
            "hosts",
            "hostfile",
            "transport",
        ])],
    ),
    options(
        &["predict"],
        &["model", "serial_fraction"],
        &[Without(&["validate"])],
    ),
    options(
        &["predict"],
        &["dsm"],
        &[With(&["cluster", "hosts", "hostfile", "transport"])],
    ),
    options(&["predict"], &["diff_bytes"], &[]),
    options(
        &["predict"],
        &["programs", "class", "repeat", "budget", "save", "cc"],
        &[With(MEASURED), Without(&["load"])],
    ),
    options(
        &["predict"],
        &["cflags"],
        &[With(MEASURED), Without(&["load"])],
    ),
    options(
        &["predict"],
        &["size"],
        &[With(&["evaluate"]), Without(&["load"])],
    ),
    options(
        &["predict"],
        &["utilisation", "include_noisy", "weights", "output", "csv"],
        &[With(EVALUATED)],
    ),
    options(
        &["predict"],
        &["force"],
        &[With(EVALUATED), With(&["output", "csv", "save"])],
    ),
    options(
        &["advise"],
        &[
            "inputs",
            "machine",
            "packages",
            "has_packages",
            "min_gain",
            "patch",
            "output",
        ],
        &[],
    ),
    options(
        &["advise"],
        &["at"],
        &[With(&["json", "output"]), Without(&["patch"])],
    ),
    options(&["advise"], &["weights"], &[Without(&["patch"])]),
    options(&["compare"], &["inputs", "fail_above", "output"], &[]),
    options(&["compare"], &["force"], &[With(&["output"])]),
    // Which of these count is known from what the inputs are.
    options(
        &["report"],
        &[
            "inputs", "cores", "output", "machine", "cluster", "gnuplot", "force", "label",
        ],
        &[],
    ),
    options(
        &["bench"],
        &[
            "suites", "cc", "runtime", "threads", "only", "group", "runs", "samples", "full",
            "baseline", "check", "output", "csv", "gnuplot", "html",
        ],
        &[],
    ),
    options(
        &["bench"],
        &["affinity", "wait_policy", "target_us", "quick"],
        &[Without(&["simulated"])],
    ),
    options(&["bench"], &["format"], &[Without(&["json"])]),
    options(
        &["bench"],
        &["force"],
        &[With(&["output", "csv", "gnuplot", "html"])],
    ),
    options(&["workload list"], &["suite"], &[]),
    options(
        &["workload figures"],
        &["output", "threads", "repeat", "runs", "force"],
        &[],
    ),
    options(&["workload build"], &["names", "output"], &[]),
    options(&["workload run"], &["name", "arguments"], &[]),
    options(&["workload verify"], &["names", "timeout"], &[]),
    options(
        &["workload run", "workload verify"],
        &["threads", "runtime", "force"],
        &[],
    ),
    options(
        &["workload build", "workload run", "workload verify"],
        &["class", "size", "cc", "cflags"],
        &[],
    ),
    options(&["completions"], &["shell"], &[]),
    options(&["man"], &["directory"], &[]),
];
