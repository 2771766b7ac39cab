//! The program's standard streams.

use super::capture::{Capture, OutputForwarder, Shown};
use super::pieces::for_each_piece;
use crate::console::Console;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Stdio};
use std::thread;

/// A file that opens our standard input anew, with a position of its own.
const OWN_STDIN: &str = "/proc/self/fd/0";

/// The program's standard streams.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The program's standard input.
    pub stdin: Stdin,
    /// Where its standard output goes.
    pub stdout: Stdout,
    /// Where its complaints go.
    pub stderr: Stderr,
}

/// Where the program's standard output goes.
#[derive(Clone, Debug)]
pub enum Stdout {
    /// Where ours goes.
    Inherit,
    /// To stderr, because stdout carries our JSON.
    ToStderr,
    /// Nowhere: it has been shown before.
    Discard,
    /// Into a file.
    File(PathBuf),
    /// Through us, who keep it.
    Capture(Capture),
}

impl Stdout {
    /// Keeps stdout for JSON if the user asked for that.
    pub fn for_voice(console: Console) -> Self {
        if console.json {
            Self::ToStderr
        } else {
            Self::Inherit
        }
    }

    /// What keeps output that goes there.
    pub fn captured(&self) -> Capture {
        Capture::shown(match self {
            Self::Inherit => Shown::Stdout,
            Self::ToStderr => Shown::Stderr,
            Self::Discard | Self::File(_) | Self::Capture(_) => Shown::Nowhere,
        })
    }

    /// What the program is given, and our end of it if it writes through us.
    pub(super) fn open(&self) -> io::Result<(Stdio, Option<File>)> {
        Ok(match self {
            Self::Inherit => (Stdio::inherit(), None),
            Self::Discard => (Stdio::null(), None),
            Self::File(path) => (File::create(path)?.into(), None),
            Self::ToStderr => {
                let stderr = io::stderr().as_fd().try_clone_to_owned()?;
                (Stdio::from(stderr), None)
            }
            Self::Capture(capture) => {
                let (theirs, ours) = capture.open()?;
                (theirs, Some(ours))
            }
        })
    }

    /// Begins to take what the program writes, if it does so through us.
    pub(super) fn take(&self, ours: Option<File>) -> Option<OutputForwarder> {
        match (self, ours) {
            (Self::Capture(capture), Some(ours)) => Some(capture.pass_on(ours)),
            _ => None,
        }
    }
}

/// Where the program's complaints go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stderr {
    /// Where ours go.
    Inherit,
    /// Into a file.
    File(PathBuf),
    /// Nowhere.
    Discard,
}

impl Stderr {
    pub(super) fn open(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Inherit => Stdio::inherit(),
            Self::Discard => Stdio::null(),
            Self::File(path) => File::create(path)?.into(),
        })
    }
}

/// What the program reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// What we would read.
    Inherit,
    /// A file from some position on.
    File(PathBuf, u64),
    /// What comes in, which is kept in a file as well.
    Keep(PathBuf),
}

impl Stdin {
    /// Standard input for programs that are run several times and are to read
    /// the same each time: a file is read again, what comes through a pipe is
    /// kept in `spool` by the first run. A terminal stays a terminal.
    pub fn for_several_runs(spool: PathBuf) -> Repeatable {
        let mut ours = match io::stdin().as_fd().try_clone_to_owned() {
            Ok(descriptor) => File::from(descriptor),
            // Standard input is closed.
            Err(_) => return Repeatable::AsIs,
        };
        let Ok(kind) = ours.metadata().map(|found| found.file_type()) else {
            return Repeatable::AsIs;
        };
        if kind.is_file() {
            let position = ours.stream_position().unwrap_or(0);
            Repeatable::File(position)
        } else if kind.is_fifo() || kind.is_socket() {
            Repeatable::Spooled(spool)
        } else {
            Repeatable::AsIs
        }
    }

    pub(super) fn open(&self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Inherit => Stdio::inherit(),
            Self::File(path, position) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*position))?;
                file.into()
            }
            Self::Keep(spool) => {
                // Later runs read this file even if nothing ever comes in.
                File::create(spool)?;
                Stdio::piped()
            }
        })
    }

    /// Begins to feed the program, if it reads through us.
    pub(super) fn feed(&self, program: Option<ChildStdin>) {
        if let (Self::Keep(spool), Some(program)) = (self, program) {
            let spool = spool.clone();
            // Not waited for: it may sit in a read that never returns.
            thread::spawn(move || pass_on(&mut io::stdin(), program, &spool));
        }
    }
}

/// See [`Stdin::for_several_runs`].
#[derive(Debug)]
pub enum Repeatable {
    /// What we would read.
    AsIs,
    /// A file from this position on.
    File(u64),
    /// What the first run reads, kept in this file for the later ones.
    Spooled(PathBuf),
}

impl Repeatable {
    /// Standard input of the first run, or of a later one.
    pub fn for_run(&self, first: bool) -> Stdin {
        match self {
            Self::AsIs => Stdin::Inherit,
            Self::File(position) => Stdin::File(OWN_STDIN.into(), *position),
            Self::Spooled(spool) if first => Stdin::Keep(spool.clone()),
            Self::Spooled(spool) => Stdin::File(spool.clone(), 0),
        }
    }
}

/// Copies until the input ends or the program reads no more. If the spool
/// cannot be written it is removed, so that no later run reads half of it.
fn pass_on(input: &mut impl Read, mut program: impl Write, spool: &Path) {
    let mut kept = File::create(spool).ok();
    for_each_piece(input, |piece| {
        if kept
            .as_mut()
            .is_some_and(|file| file.write_all(piece).is_err())
        {
            kept = None;
            let _ = std::fs::remove_file(spool);
        }
        program.write_all(piece).is_ok()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let spool = directory.path().join("stdin");
        let mut read = Vec::new();
        pass_on(&mut &b"some input"[..], &mut read, &spool);
        assert_eq!(read, b"some input");
        assert_eq!(std::fs::read(spool).unwrap(), b"some input");
    }

    #[test]
    fn later_runs_read_what_the_first_read() {
        let spooled = Repeatable::Spooled("/s".into());
        assert_eq!(spooled.for_run(true), Stdin::Keep("/s".into()));
        assert_eq!(spooled.for_run(false), Stdin::File("/s".into(), 0));
        let file = Repeatable::File(7);
        assert_eq!(file.for_run(true), file.for_run(false));
    }
}
