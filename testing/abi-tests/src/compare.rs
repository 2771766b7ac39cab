//! One program under libgomp and under our runtime.

use crate::build::{BuildError, build, build_library};
use crate::program::{Compiler, Language, OnNodes, Program};
use crate::run::{self, Ended, Limits};
use fathomp_launch::names::PAGING_UNDER_TEST;
use fathomp_launch::steering::LIBRARY_PATH;
use fathomp_launch::{Inherit, OpenMp, Plan, Protocol, of_this_process};
use fathomp_types::Ending;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most bytes kept of a program's output.
const OUTPUT_BYTES: usize = 1 << 20;

/// How the runtime gets into the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// The libgomp that the program was linked with.
    Linked,
    /// Our library through `LD_PRELOAD`.
    Preloaded,
    /// Our library found in `LD_LIBRARY_PATH` by the name of the one that it stands in for.
    Replaced,
    /// The cluster edition through `LD_PRELOAD`, on such nodes.
    Nodes(Cluster),
}

/// Where a program runs on nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// Nodes.
    pub nodes: u16,
    /// Threads per node.
    pub threads: usize,
    /// How they share memory.
    pub protocol: Protocol,
}

impl Way {
    fn describe(self) -> &'static str {
        match self {
            Self::Linked => "libgomp",
            Self::Preloaded => "fathomp, preloaded",
            Self::Replaced => "fathomp in the other's place",
            Self::Nodes(..) => "fathomp on nodes",
        }
    }
}

/// Why a program did not pass; the message is what the tester reads.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Not compiled.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Not to be compiled by that compiler.
    #[error("the compiler does not compile this program: see its directives")]
    NotByIt,
    /// Not started.
    #[error("a process could not be started: {0}")]
    Start(#[from] io::Error),
    /// Ran otherwise than it should.
    #[error("{0}")]
    Differs(String),
}

/// Builds what `compiler` compiles: the libraries that the program loads, and then the program by
/// `build_program`, which gets its command.
fn build_all<R>(
    program: &Program,
    compiler: Compiler,
    directory: &Path,
    build_program: impl FnOnce(&str) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let for_c = compiler.command(Language::C);
    let commands = (program.command(compiler), for_c);
    let (Some(command), Some(for_c)) = commands else {
        return Err(Failure::NotByIt);
    };
    for library in &program.loads {
        build_library(library, for_c, directory)?;
    }
    build_program(command)
}

/// Builds by `compiler` and runs `program` in every way, variant and team size. What gcc has
/// compiled must do the same as on libgomp.
///
/// # Errors
/// With all that went wrong, not only the first.
pub fn check(
    program: &Program,
    compiler: Compiler,
    runtime: &Path,
    directory: &Path,
) -> Result<(), Failure> {
    let executables = build_all(program, compiler, directory, |command| {
        let mut built = Vec::new();
        for variant in &program.variants {
            built.push((variant, build(program, command, variant, directory)?));
        }
        Ok(built)
    })?;
    let compared = compiler == Compiler::Gnu && program.libgomp_fails.is_none();
    let mut wrong = String::new();
    for (variant, executable) in &executables {
        for &threads in program.threads_by(compiler) {
            let start = |way| run_one(program, executable, runtime, directory, threads, way);
            let label = |way: Way| format!("{variant}, {threads} thread(s), {}", way.describe());
            let reference = if compared {
                let reference = start(Way::Linked)?;
                judge(&mut wrong, &label(Way::Linked), &reference, None);
                Some(reference)
            } else {
                None
            };
            // One stand-in run per program is enough: what differs between the
            // two ways is how symbols are found, not how they behave.
            let ways: &[Way] = if threads == program.threads[0] {
                &[Way::Preloaded, Way::Replaced]
            } else {
                &[Way::Preloaded]
            };
            for &way in ways {
                let ended = start(way)?;
                judge(&mut wrong, &label(way), &ended, reference.as_ref());
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Differs(wrong))
    }
}

/// Exit code of a program that nodes cannot run (`EX_SOFTWARE`).
const REFUSED: i32 = 70;

/// Builds `program` by `compiler` and runs it on every one of `clusters`. `runtime` is the
/// cluster edition.
///
/// # Errors
/// With all that went wrong, not only the first.
pub fn check_on_nodes(
    program: &Program,
    compiler: Compiler,
    runtime: &Path,
    directory: &Path,
    clusters: &[Cluster],
) -> Result<(), Failure> {
    let executable = build_all(program, compiler, directory, |command| {
        // The first level: what differs between levels is not how nodes work.
        Ok(build(program, command, &program.variants[0], directory)?)
    })?;
    let mut wrong = String::new();
    // What libgomp does with so many threads.
    let mut references = BTreeMap::new();
    for &cluster in clusters {
        let Cluster {
            nodes,
            threads,
            protocol,
        } = cluster;
        let team = usize::from(nodes) * threads;
        let start = |way| run_one(program, &executable, runtime, directory, team, way);
        let label = format!(
            "{nodes} nodes with {threads} thread(s), {}",
            protocol.name()
        );
        let ended = start(Way::Nodes(cluster))?;
        if let OnNodes::Refused(words) = &program.on_nodes {
            if ended.ending != Ending::Exited(REFUSED) || !ended.stderr.contains(words) {
                judge(&mut wrong, &format!("{label}, not refused"), &ended, None);
                let _ = writeln!(wrong, "{label}: not refused with {words:?}");
            }
            continue;
        }
        let compared = compiler == Compiler::Gnu && program.libgomp_fails.is_none();
        if compared && !references.contains_key(&team) {
            references.insert(team, start(Way::Linked)?);
        }
        judge(&mut wrong, &label, &ended, references.get(&team));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Differs(wrong))
    }
}

/// Appends to `wrong` if a run failed or printed something else than libgomp's.
fn judge(wrong: &mut String, label: &str, ended: &Ended, reference: Option<&Ended>) {
    let differs = reference.is_some_and(|r| r.stdout != ended.stdout);
    if ended.ending == Ending::Exited(0) && !ended.timed_out && !differs {
        return;
    }
    // Writing to a String cannot fail.
    let _ = writeln!(wrong, "{label}: {}", ended.describe());
    if let Some(reference) = reference.filter(|_| differs) {
        let _ = writeln!(wrong, "  it printed {:?}", excerpt(&ended.stdout));
        let _ = writeln!(wrong, "  libgomp's  {:?}", excerpt(&reference.stdout));
    }
    let threads = ended.threads.iter().map(String::as_str);
    for line in ended.stderr.lines().take(10).chain(threads) {
        let _ = writeln!(wrong, "  {line}");
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

fn run_one(
    program: &Program,
    executable: &Path,
    runtime: &Path,
    directory: &Path,
    threads: usize,
    way: Way,
) -> io::Result<Ended> {
    let mut command = Command::new(executable);
    let mut plan = Plan {
        openmp: OpenMp {
            threads: u32::try_from(threads).ok(),
            ..OpenMp::default()
        },
        // Where the interposer under test records, if it does.
        paging: fathomp_launch::paging_directory(&of_this_process),
        ..Plan::default()
    };
    match way {
        Way::Linked => {}
        Way::Preloaded => plan.preload = behind_interposer(runtime),
        Way::Nodes(cluster) => {
            plan.preload = behind_interposer(runtime);
            plan.cluster = Some(fathomp_launch::Cluster {
                protocol: cluster.protocol,
                ..fathomp_launch::Cluster::of(cluster.nodes)
            });
        }
        Way::Replaced => {
            let directory = runtime.parent().unwrap_or(Path::new("/"));
            plan.library_path = vec![directory.to_owned()];
        }
    }
    plan.apply(&mut command, Inherit::NothingThatSteers);
    if way != Way::Replaced {
        // Another libgomp may lie there.
        command.env_remove(LIBRARY_PATH);
    }
    command
        .env("BUILT_PROGRAMS", directory)
        .current_dir(directory)
        .envs(program.env.iter().map(|(k, v)| (k, v)));
    // Processes that share the processors with other tests wait for each other.
    let patience = match way {
        Way::Nodes(..) => 4,
        _ => 1,
    };
    let limits = Limits {
        time: program.timeout * patience,
        bytes: OUTPUT_BYTES,
    };
    run::run(&mut command, limits)
}

/// The libraries to preload: the runtime, behind the interposer that is under test with it, if
/// `FATHOMP_PAGING_UNDER_TEST` names one.
fn behind_interposer(runtime: &Path) -> Vec<PathBuf> {
    let interposer =
        std::env::var_os(PAGING_UNDER_TEST.name).filter(|interposer| !interposer.is_empty());
    let interposer = interposer.map(PathBuf::from);
    interposer.into_iter().chain([runtime.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, stdout: &str) -> Ended {
        Ended {
            ending: Ending::Exited(code),
            timed_out: false,
            threads: Vec::new(),
            stdout: stdout.to_owned(),
            stderr: "x.c:3: failed: a == b\n".to_owned(),
        }
    }

    #[test]
    fn equal_runs_pass_in_silence() {
        let mut wrong = String::new();
        judge(
            &mut wrong,
            "label",
            &ended(0, "ok\n"),
            Some(&ended(0, "ok\n")),
        );
        assert_eq!(wrong, "");
    }

    #[test]
    fn another_output_or_code_is_told_with_what_was_said() {
        let mut wrong = String::new();
        judge(
            &mut wrong,
            "label",
            &ended(0, "1\n"),
            Some(&ended(0, "2\n")),
        );
        assert!(
            wrong.contains("label") && wrong.contains("\"1\\n\"") && wrong.contains("\"2\\n\"")
        );
        wrong.clear();
        judge(&mut wrong, "label", &ended(3, "1\n"), None);
        assert!(
            wrong.contains("exit code 3") && wrong.contains("a == b"),
            "{wrong}"
        );
    }
}
