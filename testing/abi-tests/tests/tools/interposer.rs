//! What the runtime tells the interposer of paging, by one that checks it
//! (`interposer/interposer.c`): on threads and on nodes, with the interposer in front of the runtime and behind it, and that programs give the
//! same answers as without one.
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

/// Regions that the program executes in its loop, with two barriers each, and all.
const ROUNDS: u64 = 20;
const REGIONS: u64 = ROUNDS + 1;
const BARRIERS: u64 = 2 * ROUNDS;

/// Numbers of counters of the shared memory.
const WRITE_FAULTS: usize = 0;
const FETCH_FAULTS: usize = 1;
const PAGES_IN: usize = 2;
const BYTES_IN: usize = 4;
const BYTES_OUT: usize = 5;

/// What the interposer noted of a thread.
#[derive(Debug, Default)]
struct Thread {
    node: i64,
    number: i64,
    ignored: bool,
    deepest: u64,
    /// Equal for equal sequences of marks.
    sequence: String,
    wrong: String,
    stays: BTreeMap<String, u64>,
    marks: BTreeMap<(String, String), u64>,
    counters: BTreeMap<usize, u64>,
}

impl Thread {
    fn marks(&self, kind: &str, name: &str) -> u64 {
        let key = (kind.to_owned(), name.to_owned());
        self.marks.get(&key).copied().unwrap_or_default()
    }

    fn counter(&self, number: usize) -> u64 {
        self.counters.get(&number).copied().unwrap_or_default()
    }
}

/// A place with the programs and libraries of these tests.
struct Bench {
    directory: tempfile::TempDir,
    plain: PathBuf,
    cluster: PathBuf,
}

/// How a program is run.
#[derive(Clone, Copy)]
struct Way {
    nodes: usize,
    threads: usize,
    protocol: &'static str,
    interposer_first: bool,
}

fn compile(arguments: &[&str], source: &Path, output: &Path) -> Result<(), Failed> {
    let mut command = Command::new("gcc");
    command.args(arguments).arg("-o").arg(output).arg(source);
    let ended = run::run(&mut command, LIMITS).map_err(|error| error.to_string())?;
    match ended.ending {
        Ending::Exited(0) => Ok(()),
        _ => Err(format!("gcc refused {}:\n{}", source.display(), ended.stderr).into()),
    }
}

impl Bench {
    fn new() -> Result<Self, Failed> {
        let directory = tempfile::Builder::new()
            .prefix("fathomp-interposer-")
            .tempdir()
            .map_err(|error| format!("no temporary directory: {error}"))?;
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("interposer");
        let library = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"];
        let interposer = directory.path().join("interposer.so");
        compile(&library, &sources.join("interposer.c"), &interposer)?;
        let program = ["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fopenmp"];
        for name in ["states", "tasks"] {
            let output = directory.path().join(name);
            compile(&program, &sources.join(format!("{name}.c")), &output)?;
        }
        let constructs = fathomp_abi_tests::program::directory();
        let includes = format!("-I{}", constructs.display());
        compile(
            &["-O2", "-g", "-fopenmp", &includes],
            &constructs.join("process/pthread_holds_lock.c"),
            &directory.path().join("pthread_holds_lock"),
        )?;
        let unpacked = fathomp_runtime::unpack().map_err(|error| error.to_string())?;
        Ok(Self {
            directory,
            plain: unpacked.library,
            cluster: unpacked.cluster_library,
        })
    }

    /// Runs a program, which must end well; what it printed and what the interposer noted.
    fn run(&self, program: &str, way: Way) -> Result<(String, Vec<Thread>), Failed> {
        let runtime = if way.nodes > 1 {
            &self.cluster
        } else {
            &self.plain
        };
        let told = tempfile::tempdir_in(self.directory.path()).map_err(|e| e.to_string())?;
        let interposer = self.directory.path().join("interposer.so");
        let (first, second) = if way.interposer_first {
            (interposer.as_path(), runtime.as_path())
        } else {
            (runtime.as_path(), interposer.as_path())
        };
        let mut command = Command::new(self.directory.path().join(program));
        command
            .env_remove("FATHOMP_RECORD")
            .env(
                "LD_PRELOAD",
                format!("{}:{}", first.display(), second.display()),
            )
            .env("TEST_INTERPOSER", told.path())
            .env("OMP_NUM_THREADS", (way.nodes * way.threads).to_string());
        if way.nodes > 1 {
            command
                .env("FATHOMP_NODES", way.nodes.to_string())
                .env("FATHOMP_DSM", way.protocol);
        }
        let ended = run::run(&mut command, LIMITS).map_err(|error| error.to_string())?;
        if ended.ending != Ending::Exited(0) {
            return Err(format!("{program}: {}\n{}", ended.describe(), ended.stderr).into());
        }
        Ok((ended.stdout, read(told.path())?))
    }
}

/// What an interposer has noted in all processes.
fn read(folder: &Path) -> Result<Vec<Thread>, Failed> {
    let mut threads: Vec<Thread> = Vec::new();
    for file in std::fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = file.map_err(|error| error.to_string())?.path();
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
            match (fields.as_slice(), threads.last_mut()) {
                (["thread", _, node, number, ignored, deepest, sequence, wrong], _) => {
                    threads.push(Thread {
                        node: node.parse().unwrap_or(i64::MIN),
                        number: number.parse().unwrap_or(i64::MIN),
                        ignored: *ignored == "1",
                        deepest: deepest.parse().unwrap_or(u64::MAX),
                        sequence: (*sequence).to_owned(),
                        wrong: (*wrong).to_owned(),
                        ..Thread::default()
                    });
                }
                (["stay", name, times, _], Some(thread)) => {
                    thread.stays.insert((*name).to_owned(), number(times));
                }
                (["mark", kind, name, times], Some(thread)) => {
                    let key = ((*kind).to_owned(), (*name).to_owned());
                    thread.marks.insert(key, number(times));
                }
                (["counter", counter, value], Some(thread)) => {
                    thread
                        .counters
                        .insert(number(counter) as usize, number(value));
                }
                _ => return Err(format!("the interposer wrote {line:?}").into()),
            }
        }
    }
    Ok(threads)
}

/// Fails with what was expected and all that the interposer noted.
fn expect(holds: bool, what: &str, threads: &[Thread]) -> Result<(), Failed> {
    match holds {
        true => Ok(()),
        false => Err(format!("not so: {what}\n{threads:#?}").into()),
    }
}

/// What holds of every program.
fn expect_order(threads: &[Thread]) -> Result<(), Failed> {
    let in_order = |thread: &Thread| thread.wrong.is_empty();
    expect(threads.iter().all(in_order), "all is in order", threads)?;
    let flat = threads.iter().all(|thread| thread.deepest <= 1);
    expect(flat, "no stay is part of another", threads)
}

fn tasks_of(threads: &[Thread]) -> Vec<&Thread> {
    threads.iter().filter(|thread| !thread.ignored).collect()
}

fn states_on_threads(bench: &Bench) -> Result<(), Failed> {
    for interposer_first in [true, false] {
        let way = Way {
            nodes: 1,
            threads: 2,
            protocol: "",
            interposer_first,
        };
        let (printed, threads) = bench.run("states", way)?;
        expect(printed == "20 rounds\n", &printed, &threads)?;
        expect_order(&threads)?;
        let mut numbers: Vec<_> = threads.iter().map(|t| (t.node, t.number)).collect();
        numbers.sort_unstable();
        expect(numbers == [(-1, 0), (-1, 1)], "two threads", &threads)?;
        let alike = threads[0].sequence == threads[1].sequence;
        expect(alike, "both have marked the same", &threads)?;
        for thread in &threads {
            let marked = thread.marks("barrier", "barrier") == BARRIERS;
            expect(marked, "each barrier is marked", &threads)?;
            let begun = thread.marks("begin", "region") == REGIONS;
            let ended = thread.marks("end", "region") == REGIONS;
            expect(begun && ended, "each region is marked", &threads)?;
        }
        let waits = |name: &str| {
            threads
                .iter()
                .filter_map(|t| t.stays.get(name))
                .sum::<u64>()
        };
        let late = waits("barrier") >= ROUNDS / 2;
        expect(late, "most waits for the late thread are told", &threads)?;
        let locked = waits("critical") >= ROUNDS / 2 && waits("lock") >= ROUNDS / 2;
        expect(locked, "most waits for locks are told", &threads)?;
        let ordered = waits("ordered") > 0 && waits("idle") > 0;
        expect(ordered, "turns and idleness are told", &threads)?;
    }
    Ok(())
}

/// Waiting for tasks is told, and running them meanwhile is not part of that.
fn tasks_on_threads(bench: &Bench) -> Result<(), Failed> {
    let way = Way {
        nodes: 1,
        threads: 2,
        protocol: "",
        interposer_first: true,
    };
    let (printed, threads) = bench.run("tasks", way)?;
    expect(printed == "6765\n", &printed, &threads)?;
    expect_order(&threads)?;
    let waited = threads.iter().any(|t| t.stays.contains_key("task wait"));
    expect(waited, "waiting for tasks is told", &threads)
}

fn states_on_nodes(bench: &Bench) -> Result<(), Failed> {
    for protocol in ["home", "homeless"] {
        for interposer_first in [true, false] {
            for (nodes, threads) in [(2, 1), (4, 1), (2, 2)] {
                let way = Way {
                    nodes,
                    threads,
                    protocol,
                    interposer_first,
                };
                let (printed, all) = bench.run("states", way)?;
                expect(printed == "20 rounds\n", &printed, &all)?;
                expect_order(&all)?;
                let tasks = tasks_of(&all);
                let mut numbers: Vec<_> = tasks.iter().map(|t| (t.node, t.number)).collect();
                numbers.sort_unstable();
                let expected: Vec<_> = (0..nodes as i64)
                    .flat_map(|node| (0..threads as i64).map(move |thread| (node, thread)))
                    .collect();
                expect(
                    numbers == expected,
                    "the tasks are the OpenMP threads",
                    &all,
                )?;
                let served = all.len() - tasks.len() >= nodes;
                expect(served, "each node has a thread that is no task", &all)?;
                let alike = tasks.iter().all(|t| t.sequence == tasks[0].sequence);
                expect(alike, "all have marked the same", &all)?;
                let marked = tasks
                    .iter()
                    .all(|t| t.marks("barrier", "barrier") == BARRIERS);
                expect(marked, "each barrier is marked", &all)?;
                expect_counters(&all, &tasks)?;
            }
        }
    }
    Ok(())
}

fn expect_counters(all: &[Thread], tasks: &[&Thread]) -> Result<(), Failed> {
    let sum = |counter| tasks.iter().map(|t| t.counter(counter)).sum::<u64>();
    let stays = |name: &str| tasks.iter().filter_map(|t| t.stays.get(name)).sum::<u64>();
    let told = stays("fetch fault") + stays("write fault");
    let counted = sum(WRITE_FAULTS) + sum(FETCH_FAULTS);
    let faults = told > 0 && counted >= told / 2;
    expect(faults, "faults are told and counted", all)?;
    expect(sum(PAGES_IN) > 0, "pages have come", all)?;
    let elsewhere: u64 = tasks
        .iter()
        .filter(|t| t.number != 0)
        .map(|t| t.counter(BYTES_IN) + t.counter(BYTES_OUT))
        .sum();
    let first = elsewhere == 0 && sum(BYTES_IN) > 0 && sum(BYTES_OUT) > 0;
    expect(first, "messages are the first threads'", all)?;
    // What was sent last may not have been handed over.
    let (less, more) = (
        sum(BYTES_IN).min(sum(BYTES_OUT)),
        sum(BYTES_IN).max(sum(BYTES_OUT)),
    );
    expect(less >= more / 2, "what is sent is received", all)
}

/// A thread that the program starts by itself counts as that, although the call comes from
/// the interposer: the program would not end if its node took it for one of its own.
fn threads_of_the_program(bench: &Bench) -> Result<(), Failed> {
    for protocol in ["home", "homeless"] {
        for interposer_first in [true, false] {
            let way = Way {
                nodes: 2,
                threads: 1,
                protocol,
                interposer_first,
            };
            let (printed, threads) = bench.run("pthread_holds_lock", way)?;
            expect(printed == "ok\n", &printed, &threads)?;
            expect_order(&threads)?;
        }
    }
    Ok(())
}

/// Without an interposer that records, nothing is told.
fn no_interposer(bench: &Bench) -> Result<(), Failed> {
    let mut command = Command::new(bench.directory.path().join("states"));
    let interposer = bench.directory.path().join("interposer.so");
    command
        .env_remove("TEST_INTERPOSER")
        .env(
            "LD_PRELOAD",
            format!("{}:{}", interposer.display(), bench.plain.display()),
        )
        .env("OMP_NUM_THREADS", "2");
    let ended = run::run(&mut command, LIMITS).map_err(|error| error.to_string())?;
    expect(ended.stdout == "20 rounds\n", &ended.stdout, &[])
}

/// A test of a name.
type Case = (&'static str, fn(&Bench) -> Result<(), Failed>);

pub(crate) fn trials() -> Vec<Trial> {
    let has_compiler = fathomp_abi_tests::build::available("gcc");
    let cases: [Case; 5] = [
        ("states on threads", states_on_threads),
        ("tasks on threads", tasks_on_threads),
        ("states on nodes", states_on_nodes),
        ("threads of the program on nodes", threads_of_the_program),
        ("an interposer that does not record", no_interposer),
    ];
    let trials = cases.into_iter().map(|(name, case)| {
        Trial::ignorable_test(format!("interposer::{name}"), move || {
            if !has_compiler {
                return left_out("needs gcc: apt-get install gcc".to_owned());
            }
            case(&Bench::new()?)?;
            Ok(Completion::Completed)
        })
    });
    trials.collect()
}
