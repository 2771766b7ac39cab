//! Which OpenMP runtimes the program's processes have loaded beside ours.
//!
//! A preloaded library answers every call that is resolved by name, whatever
//! else is loaded; a runtime that was loaded privately (`dlmopen`,
//! `RTLD_DEEPBIND`) escapes it. The address space of
//! a process tells what is loaded, so it is looked at now and then.

use crate::program::Program;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// First look after the start, then ever less often: reading the mappings of a
/// process holds up its page faults for a moment.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Once records arrive the question is nearly answered.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// Processes looked at each time; a build system may start thousands.
const PROCESSES_MAX: usize = 64;

/// Files of OpenMP runtimes, ours left out.
pub(crate) type Runtimes = BTreeSet<PathBuf>;

/// Looks at a process and its descendants.
#[derive(Debug)]
pub(super) struct Watch {
    pid: u32,
    library: PathBuf,
    started: Instant,
    next: Duration,
    seen: Runtimes,
}

impl Watch {
    pub(super) fn new(pid: u32, library: &Path) -> Self {
        Self {
            pid,
            library: library.to_owned(),
            started: Instant::now(),
            next: FIRST_LOOK,
            seen: Runtimes::new(),
        }
    }

    /// Looks if it is time to; in how long it will be next.
    pub(super) fn look(&mut self, recorded: bool) -> Duration {
        let elapsed = self.started.elapsed();
        if recorded && elapsed > LAST_LOOK {
            return Duration::MAX;
        }
        if elapsed < self.next {
            return self.next - elapsed;
        }
        self.next = elapsed * 3;
        for pid in family(self.pid) {
            if let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) {
                self.seen.extend(runtimes(&maps, &self.library));
            }
        }
        self.next - elapsed
    }

    pub(super) fn into_seen(self) -> Runtimes {
        self.seen
    }
}

/// A process and its descendants, as far as the kernel lists them.
fn family(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        if found.len() >= PROCESSES_MAX {
            break;
        }
    }
    found
}

/// OpenMP runtimes among the mappings of a process.
fn runtimes(maps: &str, ours: &Path) -> Runtimes {
    maps.lines()
        // address permissions offset device inode path
        .filter_map(|line| {
            line.split_once('/')
                .map(|(_, path)| PathBuf::from(format!("/{path}")))
        })
        .filter(|path| {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            path != ours && name.is_some_and(|name| is_runtime(&name))
        })
        .collect()
}

/// `libgomp.so.1`, `libgomp-a34b3233.so.1.0.0`, `libomp.so.5`, `libiomp5.so`.
pub(crate) fn is_runtime(name: &str) -> bool {
    // libompt*, libomptarget* and the like are not runtimes.
    name.contains(".so")
        && ["libgomp", "libomp.", "libomp-", "libiomp"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// What the user should know about runtimes that were loaded beside ours.
/// That which `program` is linked with is replaced as a matter of course.
pub(crate) fn remarks(recorded: bool, runtimes: &Runtimes, program: &Program) -> Vec<String> {
    let names: Vec<String> = runtimes
        .iter()
        .filter(|path| !(recorded && program.links(path)))
        .map(|path| path.display().to_string())
        .collect();
    let (last, others) = match names.split_last() {
        None => return Vec::new(),
        Some(split) => split,
    };
    let (all, were, them) = match others {
        [] => (last.clone(), "was", "it"),
        others => (format!("{} and {last}", others.join(", ")), "were", "them"),
    };
    let private = "loaded privately (RTLD_DEEPBIND, dlmopen)";
    vec![if recorded {
        format!(
            "{all} {were} loaded too: fathomp's runtime stands in front of {them}, so one pool of threads serves all calls, and all are recorded here, but for those of a runtime that was {private}."
        )
    } else {
        format!(
            "{all} {were} loaded and could not be replaced, so regions of {them} are not in this recording: each was {private}, or executed no region."
        )
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
7f10-7f11 r-xp 00000000 fe:00 1 /c/libgomp.so.1
7f12-7f13 r-xp 00000000 fe:00 2 /w/numpy.libs/libgomp-a34b3233.so.1.0.0
7f14-7f15 r-xp 00000000 fe:00 3 /usr/lib/llvm-14/lib/libomp.so.5
7f14-7f15 r-xp 00000000 fe:00 3 /usr/lib/llvm-14/lib/libomptarget.so.14
7f16-7f17 rw-p 00000000 00:00 0 [stack]
";

    #[test]
    fn other_runtimes_are_found_among_mappings() {
        let seen = runtimes(MAPS, Path::new("/c/libgomp.so.1"));
        let names: Vec<_> = seen.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(
            names,
            [
                "/usr/lib/llvm-14/lib/libomp.so.5",
                "/w/numpy.libs/libgomp-a34b3233.so.1.0.0"
            ]
        );
    }

    #[test]
    fn all_runtimes_are_named_in_one_sentence() {
        let seen = runtimes(MAPS, Path::new("/c/libgomp.so.1"));
        let program = Program {
            path: "/nowhere".into(),
            command: Vec::new(),
            suspicion: None,
        };
        let [said] = &remarks(true, &seen, &program)[..] else {
            panic!("one sentence");
        };
        let named = "/usr/lib/llvm-14/lib/libomp.so.5 and /w/numpy.libs/libgomp-a34b3233.so.1.0.0 were loaded too:";
        assert!(said.starts_with(named), "{said}");
        assert!(said.contains("one pool of threads serves all calls"));
        assert_eq!(
            remarks(true, &Runtimes::new(), &program),
            Vec::<String>::new()
        );
    }

    #[test]
    fn our_own_process_is_in_its_family() {
        assert!(family(std::process::id()).contains(&std::process::id()));
    }
}
