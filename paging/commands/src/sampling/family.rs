//! The processes and threads that a program consists of, as the kernel lists them.

use super::kernel::{ProcFile, start_time};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Processes that are followed at most; a build system may start thousands.
const PROCESSES_MAX: usize = 4096;

/// A program's processes, from when they are first seen until they end, even if their
/// parent ends before.
#[derive(Debug, Default)]
pub(super) struct Family {
    processes: HashMap<u32, Member>,
    /// The program that the first process is while it is held back, or while it keeps what it
    /// has started: threads begin in processes that are another.
    held: Option<PathBuf>,
    /// Processes that were not followed, because there were too many.
    pub(super) left_out: u64,
}

#[derive(Debug)]
struct Member {
    start: u64,
    /// The file of its program; when that changes, its threads begin anew.
    program: Option<PathBuf>,
    threads: HashMap<u32, Task>,
    /// The directory of its threads, which has as many links as there are threads and two more.
    tasks: ProcFile,
    /// Links that it had when its threads were looked for; `None` if they are to be looked for
    /// in any case.
    links: Option<u64>,
}

/// A thread.
#[derive(Debug)]
struct Task {
    /// When it began, in the kernel's ticks.
    start: u64,
    children: ProcFile,
}

/// What has changed since the look before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Threads that began, by process and thread.
    pub(super) began: Vec<(u32, u32)>,
    /// Threads that ended.
    pub(super) ended: Vec<(u32, u32)>,
    /// Threads whose process became another program; they began anew.
    pub(super) replaced: Vec<(u32, u32)>,
    /// Processes that ended.
    pub(super) processes_ended: Vec<u32>,
}

impl Family {
    /// Begins with one process, which may be one of ours that is about to become a program.
    pub(super) fn of(process: u32) -> Self {
        let mut family = Self {
            held: program(Path::new("/proc/self")),
            ..Self::default()
        };
        family.adopt(process);
        family
    }

    fn adopt(&mut self, process: u32) {
        if self.processes.contains_key(&process) {
            return;
        }
        let Some(start) = start_time(&directory(process)) else {
            return;
        };
        if self.processes.len() >= PROCESSES_MAX {
            self.left_out += 1;
            return;
        }
        let here = directory(process);
        let member = Member {
            start,
            program: program(&here),
            threads: HashMap::new(),
            tasks: ProcFile::new(here.join("task")),
            links: None,
        };
        self.processes.insert(process, member);
    }

    /// The processes that are there, but for ours.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        let is_ours = |member: &Member| member.program.is_some() && member.program == self.held;
        let theirs = self.processes.iter().filter(move |(_, one)| !is_ours(one));
        theirs.map(|(&process, _)| process)
    }

    /// Whether a process has become another program since the last look.
    pub(super) fn is_replaced(&self, process: u32) -> bool {
        let member = self.processes.get(&process);
        member.is_some_and(|member| program(&directory(process)) != member.program)
    }

    /// Has the threads of a process looked for at the next look, however many there are.
    pub(super) fn doubt(&mut self, process: u32) {
        if let Some(member) = self.processes.get_mut(&process) {
            member.links = None;
        }
    }

    /// Looks again; if not `thoroughly`, for threads only where their number has changed.
    pub(super) fn refresh(&mut self, thoroughly: bool) -> Changes {
        let mut changes = Changes::default();
        let mut queue: Vec<u32> = self.processes.keys().copied().collect();
        let mut seen = HashSet::new();
        while let Some(process) = queue.pop() {
            if !seen.insert(process) {
                continue;
            }
            let Some(member) = self.processes.get_mut(&process) else {
                continue;
            };
            let here = directory(process);
            let program = program(&here);
            // Before its threads are looked for: what begins meanwhile is found the next time.
            let links = member.tasks.links().filter(|_| program != self.held);
            let is_same = !thoroughly
                && program == member.program
                && links.is_some()
                && links == member.links;
            let children: Vec<u32> = if is_same {
                let tasks = member.threads.values();
                tasks.flat_map(|task| task.children.children()).collect()
            } else {
                let tasks = match start_time(&here) {
                    Some(start) if start == member.start => threads(&here),
                    // It has ended; its number may be another's by now.
                    _ => None,
                };
                let Some(tasks) = tasks else {
                    let threads = member.threads.keys();
                    changes
                        .ended
                        .extend(threads.map(|&thread| (process, thread)));
                    changes.processes_ended.push(process);
                    self.processes.remove(&process);
                    continue;
                };
                member.links = links;
                let children = tasks.keys().map(|&thread| children(&here, thread));
                let children = children.flat_map(|file| file.children()).collect();
                if program.is_none() || program != self.held {
                    member.update((process, program), &tasks, &mut changes);
                }
                children
            };
            for child in children {
                self.adopt(child);
                queue.push(child);
            }
        }
        changes.began.sort_unstable();
        changes
    }
}

impl Member {
    /// These are its program and its threads, with when they began.
    fn update(
        &mut self,
        (process, program): (u32, Option<PathBuf>),
        tasks: &HashMap<u32, u64>,
        changes: &mut Changes,
    ) {
        let same_program = program == self.program;
        self.program = program;
        self.threads.retain(|&thread, task| {
            let lives = tasks.get(&thread) == Some(&task.start);
            if !lives {
                changes.ended.push((process, thread));
            } else if !same_program {
                changes.replaced.push((process, thread));
            }
            lives && same_program
        });
        let here = directory(process);
        for (&thread, &start) in tasks {
            self.threads.entry(thread).or_insert_with(|| {
                changes.began.push((process, thread));
                let children = children(&here, thread);
                Task { start, children }
            });
        }
    }
}

fn directory(process: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}"))
}

/// The file of a process's program, if it may be known.
fn program(process: &Path) -> Option<PathBuf> {
    fs::read_link(process.join("exe")).ok()
}

/// Threads of a process with when they began; `None` if it has none any more.
fn threads(process: &Path) -> Option<HashMap<u32, u64>> {
    let mut threads = HashMap::new();
    for task in fs::read_dir(process.join("task")).ok()?.flatten() {
        let name = task.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let (Some(thread), Some(start)) = (number, start_time(&task.path())) {
            threads.insert(thread, start);
        }
    }
    (!threads.is_empty()).then_some(threads)
}

/// Where the children stand that a thread has forked.
fn children(process: &Path, thread: u32) -> ProcFile {
    ProcFile::new(process.join(format!("task/{thread}/children")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_becomes_another_program_begins_anew() {
        let mut shell = Command::new("sh")
            .args(["-c", "read line; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut family = Family::of(shell.id());
        // It may be this program's own image until it has become the shell.
        while family.refresh(false).began.is_empty() || !is(shell.id(), "sh") {}
        family.refresh(false);
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"\n").unwrap();
        while !is(shell.id(), "cat") {}
        assert!(family.is_replaced(shell.id()));
        let changes = family.refresh(false);
        assert!(!family.is_replaced(shell.id()));
        assert_eq!(changes.began, [(shell.id(), shell.id())]);
        assert_eq!(changes.replaced, changes.began);
        assert!(changes.ended.is_empty() && changes.processes_ended.is_empty());
        drop(input);
        shell.wait().unwrap();
    }

    /// This program in the place of the process that keeps another.
    #[test]
    fn what_one_of_ours_has_started_is_followed_and_ours_is_not() {
        let mut sleep = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut family = Family::of(std::process::id());
        let mut began = Vec::new();
        while began.is_empty() {
            // Other tests start programs, too.
            began = family.refresh(false).began;
            began.retain(|&(process, _)| process == sleep.id());
        }
        assert_eq!(began, [(sleep.id(), sleep.id())]);
        let all: Vec<u32> = family.processes().collect();
        assert!(all.contains(&sleep.id()) && !all.contains(&std::process::id()));
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        family.refresh(false);
        assert!(!family.processes().any(|process| process == sleep.id()));
    }

    fn is(process: u32, name: &str) -> bool {
        let comm = fs::read_to_string(directory(process).join("comm"));
        comm.is_ok_and(|comm| comm.trim() == name)
    }

    #[test]
    fn children_are_followed_even_if_their_parent_ends() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 1000 >/dev/null & echo $!; read line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        // The shell names its child before that executes its program, which would be a change.
        while !is(child, "sleep") {
            std::thread::yield_now();
        }
        let mut family = Family::of(shell.id());
        let began = family.refresh(false).began;
        let mut expected = [(shell.id(), shell.id()), (child, child)];
        expected.sort_unstable();
        assert_eq!(began, expected);
        assert_eq!(family.refresh(false), Changes::default());

        shell.stdin.take().unwrap().write_all(b"\n").unwrap();
        shell.wait().unwrap();
        assert_eq!(family.refresh(false).processes_ended, [shell.id()]);
        assert_eq!(family.processes().collect::<Vec<_>>(), [child]);
        kill(Pid::from_raw(child.cast_signed()), Signal::SIGKILL).unwrap();
        while family.processes().count() > 0 {
            family.refresh(false);
            std::thread::yield_now();
        }
    }
}
