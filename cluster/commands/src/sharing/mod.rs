//! Runs a program on nodes of one thread each and finds the cache lines that they share.

mod names;

use fathomp_console::console::complain;
use fathomp_console::failure::Failure;
use fathomp_console::launch::{Ended, Launch, Streams};
use fathomp_console::program::{Program, Suspicion};
use fathomp_false_sharing::log::{LogError, Reader};
use fathomp_false_sharing::{Prices, Situation, find, gather};
use fathomp_launch::{Cluster, OpenMp, Plan, Watch};
use fathomp_predict::machine::Machine;
use fathomp_rewriting::Code;
use fathomp_runtime::Unpacked;
use fathomp_shared_lines::Findings;
use names::ProgramNames;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is to be looked at, and how.
#[derive(Debug)]
pub struct Request<'a> {
    /// The program.
    pub program: &'a Program,
    /// The libraries to run it with.
    pub unpacked: &'a Unpacked,
    /// Nodes, of one thread each; at least 2.
    pub nodes: u16,
    /// Seconds; 0 for no limit.
    pub limit_s: u32,
    /// What accesses cost, if that is known.
    pub machine: Option<&'a Machine>,
    /// Where the program reads and writes.
    pub streams: Streams,
}

/// What was found, and how the program ended.
#[derive(Debug)]
pub struct SharingRun {
    /// Lines that threads share.
    pub findings: Findings,
    /// How the program ended.
    pub ended: Ended,
}

/// A directory that goes when it is no longer needed.
struct Room(PathBuf);

impl Room {
    fn new() -> Result<Self, Failure> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fathomp-sharing-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = fs::create_dir(&path);
        made.map_err(|error| Failure::unwritable(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Best effort: what is left over does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether the code of a program has atomic instructions.
#[must_use]
pub fn has_atomics(program: &Path) -> bool {
    Code::open(program).is_ok_and(|code| code.has_atomics())
}

/// Refuses programs that could not be looked at.
///
/// # Errors
///
/// Names those.
pub fn check(program: &Program) -> Result<(), Failure> {
    if program.suspicion == Some(Suspicion::Script) {
        return Err(Failure::new(format!(
            "{}: is a script, which may start several programs: name the compiled program that is meant",
            program.path.display()
        )));
    }
    Ok(())
}

/// Runs the program and looks.
///
/// # Errors
///
/// Fails if it cannot be run, or no node noted anything.
pub fn look(request: &Request<'_>) -> Result<SharingRun, Failure> {
    check(request.program)?;
    let room = Room::new()?;
    let ended = run(request, &room.0)?;
    let findings = findings(request, &room.0)?;
    Ok(SharingRun { findings, ended })
}

fn run(request: &Request<'_>, room: &Path) -> Result<Ended, Failure> {
    let watch = Watch::Lines {
        directory: room.to_owned(),
        limit_ms: u64::from(request.limit_s) * 1000,
    };
    let launch = Launch {
        program: request.program,
        interposer: None,
        library: Some(&request.unpacked.cluster_library),
        plan: Plan {
            openmp: OpenMp {
                threads: Some(request.nodes.into()),
                ..OpenMp::default()
            },
            cluster: Some(Cluster::of(request.nodes)),
            watch: Some(watch),
            ..Plan::default()
        },
        stdin: request.streams.stdin.clone(),
        stdout: request.streams.stdout.clone(),
        stderr: request.streams.stderr.clone(),
    };
    let ended = launch.start()?.wait(None)?;
    if let Some(sentence) = ended.of_nodes(request.nodes) {
        complain("", &sentence);
    }
    Ok(ended)
}

fn findings(request: &Request<'_>, room: &Path) -> Result<Findings, Failure> {
    let mut parts = Vec::new();
    for node in 0..request.nodes {
        let path = room.join(format!("sharing.{node}.part"));
        match fs::read(&path) {
            Ok(bytes) => parts.push(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::new(format!(
                    "{}: never came to run on {} nodes, so there is nothing to say about what its threads share",
                    request.program.path.display(),
                    request.nodes
                )));
            }
            Err(error) => {
                return Err(Failure::new(format!(
                    "cannot read {}: {error}: free some memory and try again",
                    path.display()
                )));
            }
        }
    }
    let unreadable = |error: LogError| {
        Failure::new(match error {
            LogError::Empty => format!(
                "{}: a node ended before it noted what it shares, so there is nothing to say: see above why it ended",
                request.program.path.display()
            ),
            error => format!(
                "what a node noted cannot be understood: {error}: remove the cache directory of fathomp and try again"
            ),
        })
    };
    let mut bias = 0;
    let mut readers = Vec::new();
    for bytes in &parts {
        let (header, reader) = Reader::new(bytes).map_err(unreadable)?;
        bias = header.bias;
        readers.push(reader);
    }
    let names = ProgramNames::open(&request.program.path, bias);
    let gathered = gather(readers, &names).map_err(unreadable)?;
    let contention = request.machine.and_then(|machine| machine.contention);
    let situation = Situation {
        threads: request.nodes,
        prices: Prices {
            plain_ns: contention.map(|contention| contention.plain_ns),
            atomic_ns: contention.map(|contention| contention.atomic_ns),
        },
        atomics: names.atomics(&gathered),
    };
    let mut findings = find(&gathered, &names, situation);
    if !names.has_lines() {
        findings.notes.push(format!(
            "{} has no debug information, so source lines and members are not named: build it with -g.",
            request.program.path.display()
        ));
    }
    Ok(findings)
}
