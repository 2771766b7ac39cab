//! Every option of every command, once, with what it needs to change anything.

/// What an option needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// One of these is given.
    With(&'static [&'static str]),
    /// None of these is given.
    Without(&'static [&'static str]),
    /// An option has one of these values, or one of the others is given.
    Is(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    ),
    /// The text of an option holds this sign; what that is called.
    Holds(&'static str, char, &'static str),
}
use When::{Holds, Is, With, Without};

/// Some options of some commands.
pub(super) struct Options {
    pub(super) of: &'static [&'static str],
    pub(super) ids: &'static [&'static str],
    /// All of these; nothing for options that always count.
    pub(super) when: &'static [When],
}

const fn options(
    of: &'static [&'static str],
    ids: &'static [&'static str],
    when: &'static [When],
) -> Options {
    Options { of, ids, when }
}

const HOSTS: &[&str] = &["hosts", "hostfile"];
const ELSEWHERE: &[&str] = &["hosts", "hostfile", "transport"];
const ON_NODES: &[&str] = &["nodes", "hosts", "hostfile", "transport"];
/// Commands that run a program on hosts, and those that run one on nodes.
const HOSTED: &[&str] = &[
    "run",
    "record",
    "study",
    "calibrate",
    "predict",
    "bench",
    "wire-floor",
];
const NODED: &[&str] = &[
    "run",
    "record",
    "calibrate",
    "workload run",
    "workload verify",
];
const MEASURED: &[&str] = &["evaluate", "hosts", "hostfile", "transport"];
const EVALUATED: &[&str] = &["evaluate", "load"];

pub(super) const OPTIONS: &[Options] = &[
    options(HOSTED, ELSEWHERE, &[]),
    options(HOSTED, &["mpicc"], &[With(&["transport"])]),
    options(HOSTED, &["ssh", "secure", "fan_out"], &[With(HOSTS)]),
    options(HOSTED, &["ports", "start_timeout"], &[With(ELSEWHERE)]),
    options(
        &["sharing", "workload run", "workload verify"],
        ELSEWHERE,
        &[],
    ),
    options(NODED, &["nodes", "net"], &[]),
    options(NODED, &["dsm", "dsm_plain"], &[With(ON_NODES)]),
    options(
        NODED,
        &["dsm_memory"],
        &[With(ON_NODES), Is("dsm", &["homeless"], &[])],
    ),
    options(NODED, &["fault_detection"], &[With(ON_NODES)]),
    options(&["run", "record"], &["threads", "command"], &[]),
    options(&["run"], &["advice", "verbose", "check_races"], &[]),
    options(
        &["record"],
        &["advice", "verbose", "runtime"],
        &[Without(&["measure_intrusion"])],
    ),
    options(
        &["record"],
        &[
            "output",
            "force",
            "max_size",
            "accesses",
            "lines",
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
        &["cores", "no_rehearsal", "sharing", "no_sharing"],
        &[Without(ELSEWHERE)],
    ),
    options(&["study"], &["dsm"], &[With(ELSEWHERE)]),
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
    options(
        &["sharing"],
        &["nodes", "timeout", "machine", "command"],
        &[],
    ),
    options(&["sharing"], &["reads"], &[Without(&["json"])]),
    options(&["calibrate"], &["output", "threads", "recalibrate"], &[]),
    options(&["calibrate"], &["cc"], &[With(ON_NODES)]),
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
    options(
        &["simulate"],
        &[
            "accesses",
            "nodes",
            "dsm",
            "dsm_plain",
            "page_bytes",
            "granularity",
            "net",
            "homes",
            "sequential",
            "per_node",
        ],
        &[],
    ),
    options(
        &["simulate"],
        &["dsm_memory"],
        &[Is("dsm", &["homeless"], &["granularity"])],
    ),
    options(
        &["simulate"],
        &["fault_us"],
        &[Holds("net", ',', "a network in numbers")],
    ),
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
            "suites",
            "cc",
            "runtime",
            "threads",
            "node_list",
            "net",
            "dsm_plain",
            "simulated",
            "homes",
            "only",
            "group",
            "runs",
            "samples",
            "full",
            "baseline",
            "check",
            "output",
            "csv",
            "gnuplot",
            "html",
        ],
        &[],
    ),
    options(
        &["bench"],
        &["affinity", "wait_policy", "target_us", "quick"],
        &[Without(&["simulated"])],
    ),
    options(
        &["bench"],
        &["dsm"],
        &[
            Is(
                "suites",
                &["dsm"],
                &[
                    "node_list",
                    "net",
                    "dsm_plain",
                    "hosts",
                    "hostfile",
                    "transport",
                ],
            ),
            Without(&["runtime", "simulated"]),
        ],
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
    options(&["collect"], &["listen", "output", "key", "max_size"], &[]),
    // Given by fathomp itself.
    options(
        &["collect"],
        &["live", "sample", "every_fault", "limit_bytes"],
        &[],
    ),
    options(&["host-agent"], &["supervisor"], &[]),
    options(&["wire-floor"], &["samples", "here"], &[]),
    options(&["completions"], &["shell"], &[]),
    options(&["man"], &["directory"], &[]),
];

/// In JSON all tasks are there anyway.
const TEXT_OR_PLOTS: When = Is("json", &["false"], &["csv", "gnuplot"]);
