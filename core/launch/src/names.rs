//! The environment variables of fathomp, each once.
//!
//! [`ALL`] is what a program, its runtime and `fathomp` itself may be told; docs/environment.md
//! shows it, which a test compares. [`DEVELOPMENT`] is for building and testing fathomp.

use std::fmt;

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What values it may have.
    pub values: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// The commands or options of `fathomp` that set it, or "you".
    pub set_by: &'static str,
    /// The crates that act on it.
    pub read_by: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! variables {
    ($list:ident: $(#[$doc:meta])*; $(
        $constant:ident = $name:literal {
            values: $values:literal, default: $default:literal,
            set_by: $set_by:literal, read_by: $read_by:literal, $meaning:literal
        }
    )*) => {
        $(
            #[doc = $meaning]
            pub const $constant: Variable = Variable {
                name: $name,
                values: $values,
                default: $default,
                set_by: $set_by,
                read_by: $read_by,
                meaning: $meaning,
            };
        )*
        $(#[$doc])*
        pub const $list: &[Variable] = &[$($constant),*];
    };
}

variables! { ALL:
    /// What programs, the runtime in them and `fathomp` may be told.
    ;
    NODES = "FATHOMP_NODES" {
        values: "1 to 256", default: "1",
        set_by: "`--nodes`", read_by: "abi, node",
        "Number of processes (nodes) that run the program and share its memory."
    }
    HOST = "FATHOMP_HOST" {
        values: "a descriptor", default: "all nodes are processes of this machine",
        set_by: "`--hosts`, `--transport`", read_by: "node",
        "The socket to the agent of this host, which connects its nodes with those of others."
    }
    PROTOCOL = "FATHOMP_DSM" {
        values: "home, homeless", default: "home",
        set_by: "`--dsm`", read_by: "node",
        "Protocol by which pages get from one node to another."
    }
    DIFF_MEMORY = "FATHOMP_DSM_MEMORY" {
        values: "1 to 1048576 (MiB)", default: "64",
        set_by: "`--dsm-memory`", read_by: "node",
        "With the homeless protocol: a node's memory for changes that others may ask for."
    }
    FAULTS = "FATHOMP_DSM_FAULTS" {
        values: "userfault, mprotect", default: "the faster one here",
        set_by: "`--fault-detection`", read_by: "node",
        "How nodes notice accesses to pages that they do not have."
    }
    PLAIN = "FATHOMP_DSM_PLAIN" {
        values: "0, 1", default: "0",
        set_by: "`--dsm-plain`", read_by: "node",
        "The protocols as published: nothing is predicted, every fault and fetch counts."
    }
    NETWORK = "FATHOMP_DSM_NET" {
        values: "LATENCY_US,MB_PER_S", default: "none is emulated",
        set_by: "`--net`", read_by: "node",
        "The network to emulate between the nodes."
    }
    LOADS = "FATHOMP_DSM_LOADS" {
        values: "acquire, relaxed", default: "what the program's code needs",
        set_by: "you", read_by: "abi, node",
        "Whether ordinary loads acquire: a thread that reads a value sees what was written before it."
    }
    RACES = "FATHOMP_DSM_RACES" {
        values: "0, 1", default: "0",
        set_by: "`run --check-races`", read_by: "node",
        "Reports data races that the home-based protocol sees."
    }
    ACCESSES = "FATHOMP_DSM_ACCESSES" {
        values: "a directory", default: "nothing is noted",
        set_by: "`record --accesses`", read_by: "node",
        "Where each node notes which pages its thread accesses."
    }
    ACCESS_LINES = "FATHOMP_DSM_ACCESS_LINES" {
        values: "0, 1", default: "0",
        set_by: "`record --accesses --lines`", read_by: "node",
        "What is noted of accesses are lines of 64 bytes in place of pages."
    }
    LINES = "FATHOMP_DSM_LINES" {
        values: "a directory", default: "nothing is noted",
        set_by: "`sharing`", read_by: "node",
        "Where each node notes what its thread writes and reads."
    }
    LINES_LIMIT = "FATHOMP_DSM_LINES_LIMIT" {
        values: "milliseconds", default: "0, no limit",
        set_by: "`sharing --timeout`", read_by: "node",
        "How long a program runs while its nodes note what they write and read."
    }
    RECORD = "FATHOMP_RECORD" {
        values: "a directory", default: "nothing is recorded",
        set_by: "`record`, `study`", read_by: "trace",
        "Where the runtime leaves records until the launcher takes them."
    }
    RING_KIB = "FATHOMP_RING_KIB" {
        values: "4 to 1048576 (KiB)", default: "1024",
        set_by: "you", read_by: "trace",
        "Size of the buffer of each thread that is recorded."
    }
    RING_THREADS = "FATHOMP_RING_THREADS" {
        values: "1 to 4096", default: "256",
        set_by: "you", read_by: "trace",
        "Number of threads of a process that can be recorded at a time."
    }
    INTERVAL_NS = "FATHOMP_INTERVAL_NS" {
        values: "nanoseconds", default: "1000",
        set_by: "you", read_by: "trace",
        "The shortest wait that gets a record of its own."
    }
    PAGING = "FATHOMP_PAGING" {
        values: "a directory", default: "nothing is recorded",
        set_by: "`record --paging`", read_by: "interposer",
        "Where the interposer finds what to record of paging, and leaves it."
    }
    PLAN = "FATHOMP_PLAN" {
        values: "a file", default: "none",
        set_by: "`record`, `--advice`", read_by: "omp",
        "Which words of memory the iterations of each region depend on."
    }
    ADVICE = "FATHOMP_ADVICE" {
        values: "a file", default: "none",
        set_by: "`--advice`", read_by: "omp",
        "How many threads each region is to get."
    }
    CHOICES = "FATHOMP_CHOICES" {
        values: "a file", default: "none",
        set_by: "`--advice`", read_by: "omp",
        "Where the runtime adds how many threads it chose for each region."
    }
    SHARE = "FATHOMP_SHARE" {
        values: "[watch:]SLOT:FILE", default: "nothing is divided",
        set_by: "`share`", read_by: "omp",
        "The program's seat among those that divide this machine's cores."
    }
    SHARE_ADVICE = "FATHOMP_SHARE_ADVICE" {
        values: "a file", default: "none",
        set_by: "`share --advice`", read_by: "omp",
        "What cores are expected to bring each region, until it has been executed."
    }
    SCAN = "FATHOMP_SCAN" {
        values: "0, 1", default: "1",
        set_by: "you", read_by: "cli",
        "0 keeps `record` from scanning the program's code, so iterations of loops stay unknown."
    }
    MPICC = "FATHOMP_MPICC" {
        values: "a command", default: "the compiler beside `mpirun`",
        set_by: "you", read_by: "cli",
        "With `--transport`: the C compiler of the MPI whose `mpirun` it is, as by `--mpicc`."
    }
    KEY = "FATHOMP_KEY" {
        values: "a word", default: "`fathomp collect` makes one up",
        set_by: "you", read_by: "cli",
        "The key that the hosts of one paging recording share; it is kept out of recordings."
    }
}

variables! { DEVELOPMENT:
    /// For building and testing fathomp itself. Tests have a few more, each in one file.
    ;
    RUNTIME_LIBRARY = "FATHOMP_RUNTIME_LIBRARY" {
        values: "a file", default: "it is built",
        set_by: "you", read_by: "runtime (build)",
        "The runtime library to embed."
    }
    CLUSTER_LIBRARY = "FATHOMP_CLUSTER_LIBRARY" {
        values: "a file", default: "it is built",
        set_by: "you", read_by: "runtime (build)",
        "The runtime library for several nodes to embed."
    }
    PAGING_LIBRARY = "FATHOMP_PAGING_LIBRARY" {
        values: "a file", default: "it is built",
        set_by: "you", read_by: "runtime (build)",
        "The interposer of paging to embed."
    }
    FOREIGN_RECORDER_LIBRARY = "FATHOMP_FOREIGN_RECORDER_LIBRARY" {
        values: "a file", default: "it is built",
        set_by: "you", read_by: "runtime (build)",
        "The recorder of programs on other runtimes to embed."
    }
    MPI_LIBRARY = "FATHOMP_MPI_LIBRARY" {
        values: "a file", default: "it is built",
        set_by: "you", read_by: "runtime (build)",
        "The interposer of MPI to embed."
    }
    PAGING_UNDER_TEST = "FATHOMP_PAGING_UNDER_TEST" {
        values: "a file", default: "none",
        set_by: "you", read_by: "abi-tests",
        "The interposer of paging to load in front of the runtime in tests."
    }
    ALL_TESTS = "FATHOMP_ALL_TESTS" {
        values: "set, unset", default: "unset",
        set_by: ".ci/run", read_by: "needs, sim",
        "Makes tests run that take minutes and seldom find more."
    }
    REQUIRE_ALL = "FATHOMP_REQUIRE_ALL" {
        values: "set, unset", default: "unset",
        set_by: ".ci/run", read_by: "needs",
        "Makes tests fail whose tools are missing, instead of ignoring them."
    }
    TASK_SEEDS = "FATHOMP_TASK_SEEDS" {
        values: "FIRST..END", default: "0..3000",
        set_by: "you", read_by: "omp (tests)",
        "Seeds of the simulation of tasks that leave their node."
    }
    JUDGE_NOTES = "FATHOMP_JUDGE_NOTES" {
        values: "a file", default: "none",
        set_by: "judge", read_by: "judge (begun.c)",
        "Where the library that notes how regions begin writes."
    }
}
