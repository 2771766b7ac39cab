//! Starting the built command, and building programs for it.
#![allow(dead_code, reason = "every test file uses a part of this")]

#[cfg(feature = "paging")]
pub(crate) mod paging;
pub(crate) mod phases;

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes; a test must fail, not hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Two threads: one writes four pages, then the other reads them.
pub(crate) const ACCESSES: &str = r#"{"schema":"fathomp.accesses","version":1,"threads":2,"areas":[{"pages":8,"home":{"at":0}}]}
{"thread":0}
{"set":[{"w":[0,4,520]}]}
{"set":[]}
{"step":{"set":0,"work_ns":1000000,"end":"barrier"}}
{"step":{"set":1,"end":"exit"}}
{"thread":1}
{"set":[]}
{"set":[{"r":[0,4]}]}
{"step":{"set":0,"end":"barrier"}}
{"step":{"set":1,"work_ns":1000000,"end":"exit"}}
"#;

/// A recording as if no other program had run beside it: tests do.
pub(crate) fn in_peace(recording: &Path) {
    let alone = |meta: &mut fathomp_trace::model::Meta| meta.others_used = None;
    fathomp_trace::writer::amend(recording, alone).unwrap();
}

/// What a command left.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text().chars().take(2000).collect();
        write!(
            f,
            "code {:?}\nstdout:\n{shown}\nstderr:\n{}",
            self.code, self.stderr
        )
    }
}

impl Ended {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// It failed with this code and one sentence that contains `words`.
    pub(crate) fn refused(&self, code: i32, words: &str) -> &Self {
        self.in_words();
        assert_eq!(self.code, Some(code), "{self:?}");
        let sentences: Vec<_> = self.stderr.lines().collect();
        assert_eq!(sentences.len(), 1, "{self:?}");
        assert!(self.stderr.starts_with("fathomp: "), "{self:?}");
        assert!(self.stderr.contains(words), "{words}: {self:?}");
        self
    }

    /// No panic, whatever else happened.
    pub(crate) fn in_words(&self) -> &Self {
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        self
    }

    pub(crate) fn succeeded(&self) -> &Self {
        self.in_words();
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// The command, in a directory, with a cache of the tests' own. It ignores no
/// signal, even if whoever runs the tests does, as some do in the background.
pub(crate) fn fathomp(directory: &Path) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command
        .arg("--default-signal")
        .arg(env!("CARGO_BIN_EXE_fathomp"))
        .current_dir(directory)
        .env("XDG_CACHE_HOME", cache())
        .env_remove("LD_PRELOAD")
        .env_remove("OMP_NUM_THREADS")
        .stdin(Stdio::null());
    command
}

pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// `fathomp` with arguments separated by blanks.
pub(crate) fn run(directory: &Path, line: &str) -> Ended {
    finish(fathomp(directory).args(line.split_whitespace()))
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Ended {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    collect(child)
}

/// Waits for a command whose streams are pipes.
pub(crate) fn collect(mut child: Child) -> Ended {
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child);
    Ended {
        code: status.code(),
        stdout: stdout.join().unwrap(),
        stderr: String::from_utf8_lossy(&stderr.join().unwrap()).into_owned(),
    }
}

/// Starts `command`, whose program says `ready` first, and waits for that word.
pub(crate) fn until_ready(command: &mut Command) -> Child {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut word = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut word)
        .unwrap();
    assert_eq!(&word, b"ready\n");
    child
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut all).unwrap();
        }
        all
    })
}

/// Waits, but not for ever.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("the command did not end: {:?}", child.wait());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something is true, but not for ever.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Compiles a C program with gcc and these options.
pub(crate) fn compile(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    compile_with("gcc", directory, name, source, options)
}

pub(crate) fn compile_with(
    compiler: &str,
    directory: &Path,
    name: &str,
    source: &str,
    options: &[&str],
) -> PathBuf {
    // By its name a compiler tells Fortran.
    let extension = if compiler == "gfortran" { "f90" } else { "c" };
    let file = directory.join(format!("{name}.{extension}"));
    let program = directory.join(name);
    fs::write(&file, source).unwrap();
    // Where compilers put debug information that they keep apart.
    let status = Command::new(compiler)
        .current_dir(directory)
        .args(["-O1", "-o"])
        .arg(&program)
        .arg(&file)
        .args(options)
        .status()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(status.success(), "{compiler} {options:?}");
    program
}

/// A program with two regions, built once and shared by all tests.
pub(crate) fn two_regions() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut hasher = DefaultHasher::new();
    TWO_REGIONS.hash(&mut hasher);
    let shared = directory.join(format!("two-regions-{:x}", hasher.finish()));
    if !shared.exists() {
        // Other tests may build it at the same time: each builds its own and
        // puts it in place as a whole.
        let own = tempfile::tempdir_in(directory).unwrap();
        let built = compile(own.path(), "program", TWO_REGIONS, &["-g", "-fopenmp"]);
        fs::rename(built, &shared).unwrap();
    }
    shared
}

pub(crate) const TWO_REGIONS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    double sum = 0;
    int threads = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 10000; i++)
            sum += i * 0.5;
#pragma omp parallel reduction(+ : threads)
        threads++;
    }
    printf("sum %g\n", sum);
    return argc > 1 ? atoi(argv[1]) : 0;
}
"#;

/// Says loudly what the kernel, or a container's rules, keep a test from trying. No
/// package mends that, so it is no failure even where everything must run. Written to the
/// stream itself: what is printed by tests that pass is not shown.
fn left_out(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

/// How accesses to pages can be noticed here.
pub(crate) fn fault_schemes() -> &'static [&'static str] {
    if fathomp_sys::userfault::Support::probe().raises {
        &["userfault", "mprotect"]
    } else {
        left_out("nodes by userfaultfd, which this kernel lacks or a container forbids");
        &["mprotect"]
    }
}

/// Sends a signal by name to a process or, with a minus, to a group.
pub(crate) fn send(signal: &str, target: &str) {
    let status = Command::new("kill")
        .args(["-s", signal, "--", target])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Whether the wings are built in that a command line needs.
pub(crate) fn is_built_in(line: &str) -> bool {
    let asks = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let of_clusters = asks(&["--nodes", "--dsm", "--hosts", "simulate"]);
    let of_paging = asks(&["--paging", "skyline"]);
    (cfg!(feature = "cluster") || !of_clusters) && (cfg!(feature = "paging") || !of_paging)
}

/// The command that runs a program on several nodes with one thread each; its
/// arguments are to be added.
pub(crate) fn on_nodes(directory: &Path, nodes: u32, program: &Path) -> Command {
    let mut command = fathomp(directory);
    let nodes = nodes.to_string();
    command.args(["run", "--nodes", &nodes, "--threads", "1", "--"]);
    command.arg(program);
    command
}

/// Processes that run `program`, zombies not counted.
pub(crate) fn processes(program: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap();
    let runs = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
    };
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    processes.flatten().filter(runs).map(name).collect()
}

pub(crate) fn alive(program: &Path) -> usize {
    processes(program).len()
}

/// What launchers that were killed have left in shared memory is one test's at a time: one of
/// them removes all of it, and others read what is theirs.
pub(crate) fn leftovers() -> MutexGuard<'static, ()> {
    static LEFTOVERS: Mutex<()> = Mutex::new(());
    LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exit code for a program that is there and cannot be started.
pub(crate) const CANNOT_START: i32 = 126;

/// All three commands that launch say the same.
pub(crate) fn refused(directory: &Path, program: &str, code: i32, words: &str) {
    for command in ["run --", "record -o recording --", "study --"] {
        run(directory, &format!("{command} {program}")).refused(code, words);
        assert!(!directory.join("recording").exists(), "{command}");
        assert!(!directory.join("study").exists(), "{command}");
        assert!(!directory.join("report.html").exists(), "{command}");
    }
}

/// The last line of the output, as JSON.
pub(crate) fn last_line(ended: &Ended) -> serde_json::Value {
    let text = ended.text();
    let line = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Times each parallel region was executed, by descending number.
pub(crate) fn instances(json: &serde_json::Value) -> Vec<u64> {
    let mut found: Vec<_> = json["regions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|region| region["kind"] == "parallel")
        .map(|region| region["instances"].as_u64().unwrap())
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

pub(crate) fn problems(json: &serde_json::Value) -> String {
    json["problems"].to_string()
}

/// Sums on all nodes, and says so on the first.
pub(crate) const SUM: &str = r#"
#include <omp.h>
#include <stdio.h>
static double a[100000];
int main(int argc, char **argv) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100000; i++) {
        a[i] = i;
        sum += a[i];
    }
    for (int i = 0; i < 100000; i++) sum -= a[i];
    printf("%.0f left on %d threads\n", sum, omp_get_max_threads());
    return argc - 1;
}
"#;
