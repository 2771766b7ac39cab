//! Why nothing was recorded, as far as that can be told.

use super::watch::{Runtimes, is_runtime};
use crate::launch::Ended;
use crate::program::{Program, Suspicion};
use crate::runtimes::Watched;
use fathomp_types::Ending;

/// What is known of a run of which nothing was recorded.
#[derive(Debug)]
pub(super) struct EmptyRecording<'a> {
    pub(super) program: &'a Program,
    pub(super) ended: &'a Ended,
    /// Processes that asked our runtime for anything.
    pub(super) processes: u64,
    /// Other runtimes that were seen in the program's processes.
    pub(super) runtimes: &'a Runtimes,
    /// The runtime that was to be watched, if it is not ours.
    pub(super) runtime: Option<&'a Watched>,
}

impl EmptyRecording<'_> {
    /// One sentence that says why, unless the runtimes that were seen say it
    /// already.
    pub(super) fn explain(&self) -> Option<String> {
        let broken = match self.ended.outcome {
            Ending::Exited(0) => None,
            Ending::Exited(_) => Some(format!("it left with {}", self.ended.describe())),
            Ending::Signalled(_) => Some(format!("{} ended it", self.ended.describe())),
        };
        if self.processes > 0 {
            return Some(match broken {
                Some(how) => format!(
                    "Nothing was recorded: the program asked for OpenMP, and {how} before its first parallel region was over; let it run without fathomp first to see whether it ends well."
                ),
                None => "Nothing was recorded: the program asked for OpenMP, but executed no parallel region; give it arguments with which it does.".to_owned(),
            });
        }
        let escaped = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            is_runtime(&name)
        };
        let escaped: Vec<_> = self.runtimes.iter().filter(|path| escaped(path)).collect();
        if let (Some(watched), [first, ..]) = (self.runtime, &escaped[..]) {
            return Some(format!(
                "Nothing was recorded: {} was loaded, but told fathomp nothing: it begins no parallel region, it was loaded privately (RTLD_DEEPBIND, dlmopen), it is older than OMPT, or a tool that is linked to the program came first; asked for was {}.",
                first.display(),
                watched.asked
            ));
        }
        if !escaped.is_empty() {
            return None;
        }
        let linked = self.program.suspicion;
        Some(match (linked, broken) {
            (Some(Suspicion::OwnCopy), _) => "Nothing was recorded: the program contains an OpenMP runtime that is linked statically, so fathomp's cannot take its place; link it with the shared libgomp.".to_owned(),
            (_, Some(how)) => {
                let stack = match self.ended.outcome {
                    Ending::Signalled(SIGSEGV) => {
                        "; large arrays of a procedure may need a larger stack (`ulimit -s unlimited`)"
                    }
                    _ => "",
                };
                format!(
                    "Nothing was recorded: the program had not used OpenMP when {how}{stack}."
                )
            }
            (Some(Suspicion::NotLinked), None) => "Nothing was recorded: the program does not name an OpenMP runtime and loaded none; was it built with -fopenmp?".to_owned(),
            (Some(Suspicion::Script), None) => "Nothing was recorded: none of the programs that this script started used OpenMP through a shared library; those that are linked statically, or contain a runtime of their own, are out of fathomp's reach.".to_owned(),
            (None, None) => "Nothing was recorded: the program is linked with an OpenMP runtime, but ended without using it; give it arguments with which it does.".to_owned(),
        })
    }
}

/// The signal of an access to memory that is not there.
const SIGSEGV: i32 = nix::sys::signal::Signal::SIGSEGV as i32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    fn said(suspicion: Option<Suspicion>, outcome: Ending, processes: u64) -> String {
        let program = Program {
            path: PathBuf::from("/p"),
            command: Vec::new(),
            suspicion,
        };
        let ended = Ended {
            outcome,
            interrupted: None,
            wall: Duration::ZERO,
            processor: None,
        };
        let silence = EmptyRecording {
            program: &program,
            ended: &ended,
            processes,
            runtimes: &Runtimes::new(),
            runtime: None,
        };
        silence.explain().unwrap()
    }

    #[test]
    fn each_cause_has_its_own_words() {
        let well = Ending::Exited(0);
        for (said, words) in [
            (said(None, well, 0), "ended without using it"),
            (said(None, well, 1), "executed no parallel region"),
            (said(None, Ending::Exited(3), 1), "it left with exit code 3"),
            (said(None, Ending::Exited(3), 0), "it left with exit code 3"),
            (said(None, Ending::Signalled(11), 0), "larger stack"),
            (said(None, Ending::Signalled(6), 0), "SIGABRT"),
            (said(Some(Suspicion::NotLinked), well, 0), "-fopenmp"),
            (said(Some(Suspicion::Script), well, 0), "this script"),
            (said(Some(Suspicion::OwnCopy), well, 0), "shared libgomp"),
            (
                said(Some(Suspicion::OwnCopy), Ending::Signalled(11), 0),
                "shared libgomp",
            ),
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[test]
    fn a_runtime_that_was_seen_has_said_it() {
        let program = Program {
            path: PathBuf::from("/p"),
            command: Vec::new(),
            suspicion: None,
        };
        let ended = Ended {
            outcome: Ending::Exited(0),
            interrupted: None,
            wall: Duration::ZERO,
            processor: None,
        };
        let silence = EmptyRecording {
            program: &program,
            ended: &ended,
            processes: 0,
            runtimes: &Runtimes::from([PathBuf::from("/usr/lib/libomp.so.5")]),
            runtime: None,
        };
        assert_eq!(silence.explain(), None);
    }
}
