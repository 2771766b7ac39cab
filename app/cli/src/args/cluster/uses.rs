//! The options of clusters, with what each needs to change anything.

use super::super::rules::When::{Is, With, Without};
use super::super::rules::{Options, options};

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

pub(in crate::args) const OPTIONS: &[Options] = &[
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
    options(&["study"], &["dsm"], &[With(ELSEWHERE)]),
    options(
        &["sharing"],
        &["nodes", "timeout", "machine", "command"],
        &[],
    ),
    options(&["sharing"], &["reads"], &[Without(&["json"])]),
    options(&["calibrate"], &["cc"], &[With(ON_NODES)]),
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
            "fault_us",
        ],
        &[],
    ),
    options(
        &["simulate"],
        &["dsm_memory"],
        &[Is("dsm", &["homeless"], &["granularity"])],
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
    options(&["host-agent"], &["supervisor"], &[]),
    options(&["wire-floor"], &["samples", "here"], &[]),
    options(&["run"], &["check_races"], &[]),
    options(&["record"], &["accesses", "lines"], &[]),
    // What several runtimes leave out is refused where they are counted.
    options(&["study"], &["sharing"], &[Without(ELSEWHERE)]),
    options(
        &["bench"],
        &["node_list", "net", "dsm_plain", "simulated", "homes"],
        &[],
    ),
];
