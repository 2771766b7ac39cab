//! What a first-party tool is told, by a tool that checks it (`ompt/tool.c`): of programs that
//! gcc and clang have compiled, with the tool in the program and in a library, on threads and on
//! nodes.
#![forbid(unsafe_code)]

use fathomp_abi_tests::run::{self, Limits};
use fathomp_requirements::left_out;
use fathomp_types::Ending;
use libtest_mimic::{Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(120),
    bytes: 1 << 20,
};

/// Numbers of events, as in `ompt.h`.
mod event {
    pub(super) const THREAD_BEGIN: u32 = 1;
    pub(super) const THREAD_END: u32 = 2;
    pub(super) const PARALLEL_BEGIN: u32 = 3;
    pub(super) const PARALLEL_END: u32 = 4;
    pub(super) const TASK_CREATE: u32 = 5;
    pub(super) const TASK_SCHEDULE: u32 = 6;
    pub(super) const IMPLICIT_TASK: u32 = 7;
    pub(super) const CONTROL_TOOL: u32 = 11;
    pub(super) const SYNC_REGION_WAIT: u32 = 16;
    pub(super) const MUTEX_RELEASED: u32 = 17;
    pub(super) const DEPENDENCES: u32 = 18;
    pub(super) const WORK: u32 = 20;
    pub(super) const SYNC_REGION: u32 = 23;
    pub(super) const LOCK_INIT: u32 = 24;
    pub(super) const LOCK_DESTROY: u32 = 25;
    pub(super) const MUTEX_ACQUIRE: u32 = 26;
    pub(super) const MUTEX_ACQUIRED: u32 = 27;
    pub(super) const NEST_LOCK: u32 = 28;
    pub(super) const DISPATCH: u32 = 32;
}

/// What the program of these tests does, whoever compiles it, on two threads: 4 threads in all,
/// since each of two forms a team of two, and 9 regions.
const COUNTS: [(u32, u64); 16] = [
    (event::THREAD_BEGIN, 4),
    (event::THREAD_END, 4),
    (event::PARALLEL_BEGIN, 9),
    (event::PARALLEL_END, 9),
    // 6 by themselves, 1 that is not deferred, 2 with dependences, 4 of the taskloop.
    (event::TASK_CREATE, 13),
    // Each is begun and left.
    (event::TASK_SCHEDULE, 26),
    // 17 members and one initial task, of which each begins and ends.
    (event::IMPLICIT_TASK, 36),
    (event::CONTROL_TOOL, 1),
    (event::DEPENDENCES, 2),
    (event::WORK, 26),
    (event::LOCK_INIT, 2),
    (event::LOCK_DESTROY, 2),
    // 10 critical, 1 lock, 4 ordered, and a nestable lock asked for twice.
    (event::MUTEX_ACQUIRE, 17),
    (event::MUTEX_ACQUIRED, 16),
    (event::MUTEX_RELEASED, 16),
    (event::NEST_LOCK, 2),
];

/// In which function of the program code pointers lie.
const PLACES: [(u32, &str, u64); 10] = [
    (event::PARALLEL_BEGIN, "regions", 3),
    (event::PARALLEL_END, "regions", 3),
    (event::PARALLEL_BEGIN, "alone", 1),
    (event::PARALLEL_BEGIN, "nested", 1),
    (event::PARALLEL_BEGIN, "shares", 1),
    (event::PARALLEL_BEGIN, "tasks", 1),
    (event::MUTEX_ACQUIRED, "excludes", 10),
    (event::MUTEX_RELEASED, "excludes", 10),
    (event::LOCK_INIT, "locks", 2),
    (event::CONTROL_TOOL, "commands", 1),
];

/// How often events of a kind are told of the program about kinds: by gcc's, and by clang's, which
/// also has loops, sections and a `distribute` construct that it divides beforehand, and goes on
/// behind an undeferred task whose event is still to come.
const KINDS: [(u32, u32, u64, u64, &str); 13] = [
    (event::DEPENDENCES, 1, 2, 2, "in, of a taskwait"),
    (event::DEPENDENCES, 3, 1, 1, "inout"),
    (event::DEPENDENCES, 4, 2, 2, "mutexinoutset"),
    (event::DEPENDENCES, 5, 12, 12, "source, in two loops"),
    (event::DEPENDENCES, 6, 6, 6, "sink, in two loops"),
    (
        event::TASK_CREATE,
        0x4800_0010,
        1,
        1,
        "a taskwait with dependences",
    ),
    (event::TASK_SCHEDULE, 4, 1, 2, "detached"),
    (event::TASK_SCHEDULE, 5, 1, 1, "fulfilled early"),
    (event::TASK_SCHEDULE, 6, 1, 2, "fulfilled late"),
    (event::TASK_SCHEDULE, 8, 1, 1, "a taskwait is over"),
    (event::DISPATCH, 2, 0, 2, "a section"),
    (event::DISPATCH, 4, 4, 4, "a chunk of a taskloop"),
    (event::DISPATCH, 5, 0, 2, "a chunk of distribute"),
];

/// What tools of all processes noted together.
#[derive(Debug, Default)]
struct Noted {
    events: BTreeMap<u32, u64>,
    places: BTreeMap<(u32, String), u64>,
    kinds: BTreeMap<(u32, u32), u64>,
    wrong: Vec<String>,
}

impl Noted {
    fn read(path: &Path) -> Result<Self, Failed> {
        let mut noted = Self::default();
        let text = std::fs::read_to_string(path).map_err(|error| format!("no notes: {error}"))?;
        for line in text.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let number = |text: &str| text.parse().unwrap_or(u32::MAX);
            let times = |text: &str| text.parse().unwrap_or(u64::MAX);
            match fields.as_slice() {
                ["event", event, count] => {
                    *noted.events.entry(number(event)).or_default() += times(count);
                }
                ["at", event, place, count] => {
                    let key = (number(event), (*place).to_owned());
                    *noted.places.entry(key).or_default() += times(count);
                }
                ["kind", event, kind, count] => {
                    let key = (number(event), number(kind));
                    *noted.kinds.entry(key).or_default() += times(count);
                }
                _ => noted.wrong.push(line.to_owned()),
            }
        }
        Ok(noted)
    }

    fn expect(&self, holds: bool, what: &str) -> Result<(), Failed> {
        match holds {
            true => Ok(()),
            false => Err(format!("not so: {what}\n{self:#?}").into()),
        }
    }

    /// What holds of the program on two threads of one process.
    fn expect_all(&self) -> Result<(), Failed> {
        self.expect(self.wrong.is_empty(), "nothing is wrong")?;
        for (event, times) in COUNTS {
            let noted = self.events.get(&event).copied().unwrap_or_default();
            self.expect(
                noted == times,
                &format!("event {event} is told {times} times"),
            )?;
        }
        for (event, place, times) in PLACES {
            let noted = self.places.get(&(event, place.to_owned())).copied();
            let what = format!("event {event} is told {times} times of {place}");
            self.expect(noted == Some(times), &what)?;
        }
        let waits = self.events.get(&event::SYNC_REGION_WAIT);
        let what = "threads wait in each region where they synchronise";
        self.expect(waits == self.events.get(&event::SYNC_REGION), what)
    }
}

/// A place with the programs and the tool of these tests.
struct Bench {
    directory: tempfile::TempDir,
    /// The program alone, and with the tool in it.
    plain: PathBuf,
    with_tool: PathBuf,
    /// The program about kinds.
    kinds: PathBuf,
    tool: PathBuf,
    is_clang: bool,
}

fn compile(
    compiler: &str,
    arguments: &[&str],
    sources: &[&str],
    output: &Path,
) -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ompt");
    let mut command = Command::new(compiler);
    command
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(arguments)
        .args(sources.iter().map(|source| folder.join(source)))
        .arg("-o")
        .arg(output)
        .args(["-ldl", "-lpthread"]);
    let ended = run::run(&mut command, LIMITS).map_err(|error| error.to_string())?;
    match ended.ending {
        Ending::Exited(0) => Ok(()),
        _ => Err(format!("{compiler} refused {sources:?}:\n{}", ended.stderr).into()),
    }
}

impl Bench {
    fn new(compiler: &str) -> Result<Self, Failed> {
        let directory = tempfile::Builder::new()
            .prefix("fathomp-ompt-")
            .tempdir()
            .map_err(|error| format!("no temporary directory: {error}"))?;
        let bench = Self {
            plain: directory.path().join("plain"),
            with_tool: directory.path().join("with_tool"),
            kinds: directory.path().join("kinds"),
            tool: directory.path().join("tool.so"),
            is_clang: compiler == "clang",
            directory,
        };
        // Names of functions are exported, for the tool to find them.
        let program = ["-fopenmp", "-rdynamic"];
        compile(compiler, &["-shared", "-fPIC"], &["tool.c"], &bench.tool)?;
        compile(compiler, &program, &["constructs.c"], &bench.plain)?;
        compile(compiler, &program, &["kinds.c"], &bench.kinds)?;
        compile(
            compiler,
            &program,
            &["constructs.c", "tool.c"],
            &bench.with_tool,
        )?;
        Ok(bench)
    }

    fn notes(&self) -> PathBuf {
        self.directory.path().join("notes")
    }

    /// Runs a program with these variables, which must end well and print `printed`; what it said
    /// on standard error.
    fn run(
        &self,
        program: &Path,
        variables: &[(&str, &str)],
        printed: &str,
    ) -> Result<String, Failed> {
        let unpacked = fathomp_runtime::unpack().map_err(|error| error.to_string())?;
        let nodes = variables.iter().any(|(name, _)| *name == "FATHOMP_NODES");
        let runtime = if nodes {
            unpacked.cluster_library
        } else {
            unpacked.library
        };
        let mut command = Command::new(program);
        command
            .env_remove("FATHOMP_RECORD")
            .env("LD_PRELOAD", runtime)
            .env("TEST_TOOL", self.notes())
            .env("OMP_NUM_THREADS", "2")
            .envs(variables.iter().copied());
        let ended = run::run(&mut command, LIMITS).map_err(|error| error.to_string())?;
        if ended.ending != Ending::Exited(0) || ended.stdout != printed {
            let said = format!("{}\n{}{}", ended.describe(), ended.stdout, ended.stderr);
            return Err(said.into());
        }
        Ok(ended.stderr)
    }

    fn tool(&self) -> &str {
        self.tool.to_str().unwrap_or_default()
    }
}

/// What the program prints if a tool has answered, and if there is none.
const ANSWERED: &str = "control 2\n";
const NO_TOOL: &str = "control -2\n";

/// The tool is part of the program.
fn in_the_program(bench: &Bench) -> Result<(), Failed> {
    bench.run(&bench.with_tool, &[], ANSWERED)?;
    Noted::read(&bench.notes())?.expect_all()
}

/// The user names libraries, of which one is not there and one is no tool.
fn in_a_library(bench: &Bench) -> Result<(), Failed> {
    let libraries = format!("/nonexistent/tool.so:libm.so.6:{}", bench.tool());
    let variables = [
        ("OMP_TOOL_LIBRARIES", libraries.as_str()),
        ("OMP_TOOL_VERBOSE_INIT", "stderr"),
    ];
    let said = bench.run(&bench.plain, &variables, ANSWERED)?;
    let noted = Noted::read(&bench.notes())?;
    noted.expect_all()?;
    for words in [
        "/nonexistent/tool.so of OMP_TOOL_LIBRARIES is skipped",
        "libm.so.6 of OMP_TOOL_LIBRARIES is skipped",
        "tool.so of OMP_TOOL_LIBRARIES is a tool",
    ] {
        noted.expect(said.contains(words), &format!("{words}: {said}"))?;
    }
    Ok(())
}

/// What the tool hears of dependences, events, and what is handed out is of the right kind.
fn of_kinds(bench: &Bench) -> Result<(), Failed> {
    let variables = [("OMP_TOOL_LIBRARIES", bench.tool())];
    bench.run(&bench.kinds, &variables, "done\n")?;
    let noted = Noted::read(&bench.notes())?;
    noted.expect(noted.wrong.is_empty(), "nothing is wrong")?;
    for (event, kind, gcc, clang, words) in KINDS {
        let times = if bench.is_clang { clang } else { gcc };
        let told = noted.kinds.get(&(event, kind)).copied().unwrap_or(0);
        let what = format!("event {event} of kind {kind} ({words}) is told {times} times");
        noted.expect(told == times, &what)?;
    }
    Ok(())
}

/// Without `OMP_TOOL_VERBOSE_INIT` a library that is not there is passed over in silence.
fn not_there(bench: &Bench) -> Result<(), Failed> {
    let variables = [("OMP_TOOL_LIBRARIES", "/nonexistent/tool.so")];
    let said = bench.run(&bench.plain, &variables, NO_TOOL)?;
    Noted::default().expect(said.is_empty(), &said)
}

/// The user wants no tool.
fn disabled(bench: &Bench) -> Result<(), Failed> {
    bench.run(&bench.with_tool, &[("OMP_TOOL", "disabled")], NO_TOOL)?;
    Noted::default().expect(!bench.notes().exists(), "no tool has begun")
}

/// Each node has a tool of its own, which hears of the node's threads.
fn on_nodes(bench: &Bench) -> Result<(), Failed> {
    for protocol in ["home", "homeless"] {
        let _ = std::fs::remove_file(bench.notes());
        let variables = [
            ("OMP_TOOL_LIBRARIES", bench.tool()),
            ("FATHOMP_NODES", "2"),
            ("FATHOMP_DSM", protocol),
        ];
        bench.run(&bench.plain, &variables, ANSWERED)?;
        let noted = Noted::read(&bench.notes())?;
        noted.expect(noted.wrong.is_empty(), "nothing is wrong")?;
        for (event, times) in [
            // On each node one, and another in the team that it forms by itself.
            (event::THREAD_BEGIN, 4),
            (event::THREAD_END, 4),
            (event::CONTROL_TOOL, 1),
            (event::TASK_SCHEDULE, 26),
        ] {
            let told = noted.events.get(&event).copied();
            let what = format!("event {event} is told {times} times");
            noted.expect(told == Some(times), &what)?;
        }
        // Both nodes hear of a region that both take part in.
        let regions = noted
            .places
            .get(&(event::PARALLEL_BEGIN, "regions".to_owned()));
        noted.expect(regions == Some(&6), "regions are told on both nodes")?;
    }
    Ok(())
}

/// A test of a name.
type Case = (&'static str, fn(&Bench) -> Result<(), Failed>);

pub(crate) fn trials() -> Vec<Trial> {
    let cases: [Case; 6] = [
        ("a tool in the program", in_the_program),
        ("a tool in a library", in_a_library),
        ("events of each kind", of_kinds),
        ("a library that is not there", not_there),
        ("a tool that is not wanted", disabled),
        ("tools on nodes", on_nodes),
    ];
    let mut trials = Vec::new();
    for (compiler, package) in [
        ("gcc", "gcc"),
        ("clang", fathomp_requirements::CLANG.package),
    ] {
        let has_compiler = fathomp_abi_tests::build::available(compiler);
        for (name, case) in cases {
            trials.push(Trial::ignorable_test(
                format!("ompt::{compiler}: {name}"),
                move || {
                    if !has_compiler {
                        return left_out(format!("needs {compiler}: apt-get install {package}"));
                    }
                    case(&Bench::new(compiler)?)?;
                    Ok(Completion::Completed)
                },
            ));
        }
    }
    trials
}
