//! `cargo xtask suites`: how programs do on the OpenMP runtime that they are from, and on ours.
//!
//! Each folder that is named holds the programs of one suite, already built. The command prints the
//! suite's row for the table in `docs/openmp.md`, and says of programs that pass on one runtime
//! alone how they ended on the other. Programs get the variables of the caller.

use crate::dist::files::{Outcome, because, built, output, read_dir};
use fathomp_process::{Tail, kill_group};
use fathomp_sys::peer::ends_within;
use fathomp_types::Ending;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const USAGE: &str = "usage: cargo xtask suites [--timeout SECONDS] [--nodes NUMBER] DIRECTORY...";
/// How often a program that passes on one runtime alone is run again on both.
const REPEATS: usize = 3;
/// After how many programs standard error tells how far the command is.
const PROGRESS: usize = 20;
/// Bytes that are kept of the end of a program's standard error.
const STDERR_BYTES: usize = 4 << 10;

/// What the caller asks for.
#[derive(Debug, PartialEq)]
struct Request<'a> {
    timeout: Duration,
    nodes: Option<&'a str>,
    folders: Vec<&'a Path>,
}

impl<'a> Request<'a> {
    fn of(arguments: &[&'a str]) -> Outcome<Self> {
        let mut request = Self {
            timeout: Duration::from_secs(60),
            nodes: None,
            folders: Vec::new(),
        };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let mut number = || arguments.next().filter(|text| text.parse::<u32>().is_ok());
            match argument {
                "--timeout" => {
                    let seconds = number().and_then(|text| text.parse().ok()).ok_or(USAGE)?;
                    request.timeout = Duration::from_secs(seconds);
                }
                "--nodes" => request.nodes = Some(number().ok_or(USAGE)?),
                option if option.starts_with('-') => return Err(USAGE.to_owned()),
                folder => request.folders.push(Path::new(folder)),
            }
        }
        match request.folders.is_empty() {
            true => Err(USAGE.to_owned()),
            false => Ok(request),
        }
    }
}

/// How programs are run on a runtime.
struct Runtime {
    /// What starts them, with its arguments; empty if they start as they are.
    launcher: Vec<String>,
    timeout: Duration,
}

/// How a run ended, if it did in time, and the last line of standard error.
struct Run {
    ending: Option<Ending>,
    last_line: String,
}

impl Run {
    fn passed(&self) -> bool {
        self.ending == Some(Ending::Exited(0))
    }

    fn describe(&self) -> String {
        let ending = match self.ending {
            Some(ending) => ending.to_string(),
            None => "did not end in time".to_owned(),
        };
        match self.last_line.as_str() {
            "" => ending,
            line => format!("{ending}, `{line}`"),
        }
    }
}

impl Runtime {
    /// Runs a program in an empty folder and in a process group of its own, of which nothing is left.
    fn run(&self, program: &Path) -> Outcome<Run> {
        let folder =
            tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let mut words = self
            .launcher
            .iter()
            .map(OsStr::new)
            .chain([program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .current_dir(&folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let cannot = because("run", program);
        let mut child = command.spawn().map_err(&cannot)?;
        let stderr = Tail::start(child.stderr.take(), STDERR_BYTES);
        let in_time = ends_within(child.id(), self.timeout);
        // Also what a program that has ended has left running.
        kill_group(child.id());
        let status = child.wait().map_err(&cannot)?;
        let stderr = stderr.map_err(&cannot)?.end(Duration::from_secs(1));
        let stderr = String::from_utf8_lossy(&stderr);
        let last_line = stderr.lines().rfind(|line| !line.trim().is_empty());
        Ok(Run {
            ending: in_time.map_err(&cannot)?.then(|| Ending::from(status)),
            last_line: last_line.unwrap_or_default().trim().to_owned(),
        })
    }

    /// In how many of some more runs a program passes.
    fn passes(&self, program: &Path) -> Outcome<usize> {
        let runs = (0..REPEATS).map(|_| self.run(program));
        let runs: Vec<Run> = runs.collect::<Outcome<_>>()?;
        Ok(runs.iter().filter(|run| run.passed()).count())
    }
}

/// A program that passes on one runtime alone.
struct Difference {
    name: String,
    /// How it ended on the other one.
    failure: String,
    /// In how many of the repeated runs it passed: on its own runtime, and on ours.
    again: [usize; 2],
}

/// The programs of a suite, and those that pass on one runtime alone.
#[derive(Default)]
struct Suite {
    name: String,
    programs: usize,
    /// How many pass: on their own runtime, and on ours.
    passed: [usize; 2],
    /// Those that pass on their own runtime alone, and on ours alone.
    alone: [Vec<Difference>; 2],
}

impl Suite {
    /// Runs each program of a folder on its own runtime and on ours.
    fn run(folder: &Path, runtimes: &[Runtime; 2]) -> Outcome<Self> {
        let programs = programs(folder)?;
        if programs.is_empty() {
            let folder = folder.display();
            return Err(format!("{folder} has no programs: build some into it"));
        }
        let name = folder.file_name().unwrap_or_default();
        let mut suite = Self {
            name: name.display().to_string(),
            ..Self::default()
        };
        for (number, program) in programs.iter().enumerate() {
            if number % PROGRESS == 0 {
                eprintln!("{}: {number} of {} programs", suite.name, programs.len());
            }
            let runs = [runtimes[0].run(program)?, runtimes[1].run(program)?];
            suite.programs += 1;
            for (count, run) in suite.passed.iter_mut().zip(&runs) {
                *count += usize::from(run.passed());
            }
            let [own, ours] = &runs;
            if own.passed() != ours.passed() {
                let side = usize::from(ours.passed());
                suite.alone[side].push(Difference {
                    name: program
                        .file_name()
                        .unwrap_or_default()
                        .display()
                        .to_string(),
                    failure: runs[1 - side].describe(),
                    again: [runtimes[0].passes(program)?, runtimes[1].passes(program)?],
                });
            }
        }
        Ok(suite)
    }

    /// The row of the table, whose compiler is left to the reader, and why it differs.
    fn report(&self) -> String {
        let [own, ours] = self.passed;
        let names: Vec<_> = self.alone[0]
            .iter()
            .map(|one| format!("`{}`", one.name))
            .collect();
        let (name, programs, names) = (&self.name, self.programs, names.join(", "));
        let mut text = format!("| {name} | | {programs} | {own} | {ours} | {names} |\n");
        let sides = ["its own runtime", "our runtime"];
        for ((side, other), found) in sides.iter().zip(sides.iter().rev()).zip(&self.alone) {
            for Difference {
                name,
                failure,
                again: [own, ours],
            } in found
            {
                // Writing to a string does not fail.
                let _ = writeln!(
                    text,
                    "{name}: passes on {side} alone; on {other}: {failure}; again, {own} of {REPEATS} \
                     on its own and {ours} of {REPEATS} on ours{}",
                    match [*own, *ours] {
                        [REPEATS, 0] | [0, REPEATS] => "",
                        _ => " (flaky)",
                    }
                );
            }
        }
        text
    }
}

/// The executables of a folder, without libraries.
fn programs(folder: &Path) -> Outcome<Vec<PathBuf>> {
    const ANYBODY_MAY_EXECUTE: u32 = 0o111;
    let folder = folder.canonicalize().map_err(because("read", folder))?;
    let mut programs = read_dir(&folder)?;
    programs.retain(|path| {
        let is_library = path.extension().is_some_and(|ending| ending == "so");
        let is_executable = path.metadata().is_ok_and(|file| {
            file.is_file() && file.permissions().mode() & ANYBODY_MAY_EXECUTE != 0
        });
        is_executable && !is_library
    });
    Ok(programs)
}

/// Prints a row for each folder.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Outcome<()> {
    let Request {
        timeout,
        nodes,
        folders,
    } = Request::of(arguments)?;
    let fathomp = built(root)?;
    let launcher = match nodes {
        Some(nodes) => {
            let words = ["run", "--nodes", nodes, "--"].map(str::to_owned);
            [vec![fathomp.display().to_string()], words.into()].concat()
        }
        None => {
            let library = output(Command::new(&fathomp).arg("runtime-path"))?;
            vec![
                "env".to_owned(),
                format!("LD_PRELOAD={}", library.trim_end()),
            ]
        }
    };
    let own = Runtime {
        launcher: Vec::new(),
        timeout,
    };
    let runtimes = [own, Runtime { launcher, timeout }];
    println!(
        "| Suite | Compiler | Programs | On its own runtime | On ours | What passes there alone |"
    );
    println!("|---|---|---|---|---|---|");
    for folder in folders {
        print!("{}", Suite::run(folder, &runtimes)?.report());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::files::write;
    use std::fs;

    /// Runs scripts as programs, and returns what is said of them; ours is where `OURS` is set.
    fn report(scripts: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite");
        fs::create_dir(&suite).unwrap();
        for (name, script) in scripts {
            let path = suite.join(name);
            write(&path, &format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        write(&suite.join("data"), "").unwrap();
        let runtimes =
            [vec![], vec!["env".to_owned(), "OURS=1".to_owned()]].map(|launcher| Runtime {
                launcher,
                timeout: Duration::from_secs(20),
            });
        Suite::run(&suite, &runtimes).unwrap().report()
    }

    #[test]
    fn programs_that_do_the_same_are_counted() {
        let found = report(&[
            ("library.so", "exit 1"),
            ("one", "exit 0"),
            ("two", "exit 1"),
        ]);
        assert_eq!(found, "| suite | | 2 | 1 | 1 |  |\n");
    }

    #[test]
    fn a_folder_without_programs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("data"), "").unwrap();
        let runtimes = [vec![], vec![]].map(|launcher| Runtime {
            launcher,
            timeout: Duration::from_secs(20),
        });
        let refused = Suite::run(folder.path(), &runtimes).err().unwrap();
        assert!(refused.contains("has no programs"), "{refused}");
    }

    #[test]
    fn what_differs_is_told_with_its_end() {
        let found = report(&[
            ("here", "test $OURS"),
            ("there", "test -z $OURS || { echo odd >&2; kill -11 $$; }"),
        ]);
        let expected = "\
| suite | | 2 | 1 | 1 | `there` |
there: passes on its own runtime alone; on our runtime: signal 11 (SIGSEGV), `odd`; again, 3 of 3 on its own and 0 of 3 on ours
here: passes on our runtime alone; on its own runtime: exit code 1; again, 0 of 3 on its own and 3 of 3 on ours
";
        assert_eq!(found, expected);
    }

    #[test]
    fn what_changes_from_run_to_run_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("test -z $OURS || ! mkdir {}/first", folder.path().display());
        let found = report(&[("flaky", &script)]);
        let expected = "again, 3 of 3 on its own and 3 of 3 on ours (flaky)\n";
        assert!(found.ends_with(expected), "{found}");
    }

    #[test]
    fn what_hangs_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "sleep 600 & echo waiting >&2; sleep 600").unwrap();
        let runtime = Runtime {
            launcher: vec!["sh".to_owned()],
            timeout: Duration::from_millis(200),
        };
        let run = runtime.run(&program).unwrap();
        assert!(!run.passed());
        assert_eq!(run.describe(), "did not end in time, `waiting`");
    }

    #[test]
    fn options_and_folders_are_told_apart() {
        let request = Request::of(&["--timeout", "5", "--nodes", "2", "a", "b"]).unwrap();
        let expected = Request {
            timeout: Duration::from_secs(5),
            nodes: Some("2"),
            folders: vec![Path::new("a"), Path::new("b")],
        };
        assert_eq!(request, expected);
        for wrong in [
            &["--nodes", "a"][..],
            &["--nodes"],
            &["--threads", "a"],
            &[],
        ] {
            assert_eq!(Request::of(wrong), Err(USAGE.to_owned()));
        }
    }
}
