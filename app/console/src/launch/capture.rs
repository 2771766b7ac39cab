//! What a program writes to standard output, kept while it is passed on.
//!
//! The program should not notice: if our output is a terminal, so is its own
//! (a terminal of its own whose bytes are passed on as they are), since many
//! programs write otherwise to terminals than to pipes.

use super::pieces::for_each_piece;
use nix::pty::openpty;
use nix::sys::termios::{self, SetArg};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Of longer outputs only the beginning is kept.
const KEPT_BYTES: usize = 4 << 20;
/// How long the end of the output is waited for once the program has ended:
/// other processes that it has started may hold its output open for ever.
const OUTPUT_END_TIMEOUT: Duration = Duration::from_secs(1);

/// What a program has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Bytes in all.
    pub bytes: u64,
    /// Hash of them all (FNV-1a).
    pub hash: u64,
    /// The bytes, as far as they are kept.
    pub text: Vec<u8>,
}

impl Printed {
    fn add(&mut self, piece: &[u8]) {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        if self.bytes == 0 {
            self.hash = BASIS;
        }
        self.bytes += piece.len() as u64;
        for byte in piece {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        let room = KEPT_BYTES.saturating_sub(self.text.len()).min(piece.len());
        self.text.extend(piece.iter().take(room));
    }

    /// Whether all bytes are kept.
    pub fn is_whole(&self) -> bool {
        self.text.len() as u64 == self.bytes
    }
}

/// Keeps what a program writes, which goes on to where it is shown.
#[derive(Clone, Debug)]
pub struct Capture {
    shown: Shown,
    kept: Arc<Mutex<Printed>>,
}

/// Where output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Stdout,
    Stderr,
    Nowhere,
}

/// The thread that passes output on.
#[derive(Debug)]
pub(super) struct OutputForwarder(Receiver<()>);

impl Capture {
    /// Keeps output that is shown there.
    pub(super) fn shown(shown: Shown) -> Self {
        Self {
            shown,
            kept: Arc::default(),
        }
    }

    /// What was written, once the program has ended.
    pub fn take(&self) -> Printed {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Printed> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the program is given to write to, and our end of it.
    pub(super) fn open(&self) -> io::Result<(Stdio, File)> {
        if io::stdout().is_terminal() {
            // Best effort: a pipe is right for all but the looks.
            if let Ok(pair) = terminal() {
                return Ok(pair);
            }
        }
        let (reader, writer) = io::pipe()?;
        let reader = reader.as_fd().try_clone_to_owned()?;
        Ok((writer.into(), reader.into()))
    }

    /// Begins to pass on what comes in.
    pub(super) fn pass_on(&self, from: File) -> OutputForwarder {
        let (ended, end) = mpsc::channel::<()>();
        let capture = self.clone();
        thread::spawn(move || {
            match capture.shown {
                Shown::Stdout => capture.copy(from, io::stdout()),
                Shown::Stderr => capture.copy(from, io::stderr()),
                Shown::Nowhere => capture.copy(from, io::sink()),
            }
            drop(ended);
        });
        OutputForwarder(end)
    }

    /// Copies until the output ends, or nobody wants it any more: then the
    /// program finds its output closed, as it would without us.
    fn copy(&self, mut from: impl Read, mut to: impl Write) {
        for_each_piece(&mut from, |piece| {
            self.lock().add(piece);
            to.write_all(piece).and_then(|()| to.flush()).is_ok()
        });
    }
}

impl OutputForwarder {
    /// The program has ended: waits for the rest of its output.
    pub(super) fn wait(self) {
        // An error says that the thread is through, or that time is up.
        let _ = self.0.recv_timeout(OUTPUT_END_TIMEOUT);
    }
}

/// A terminal as wide as ours that changes nothing of what is written to it.
fn terminal() -> io::Result<(Stdio, File)> {
    let mut size = nix::pty::Winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    if let Some((width, height)) = terminal_size::terminal_size_of(io::stdout()) {
        (size.ws_col, size.ws_row) = (width.0, height.0);
    }
    let pair = openpty(Some(&size), None)?;
    let mut settings = termios::tcgetattr(&pair.slave)?;
    termios::cfmakeraw(&mut settings);
    termios::tcsetattr(&pair.slave, SetArg::TCSANOW, &settings)?;
    // The program must not inherit our end, or it would never be closed.
    nix::fcntl::fcntl(
        &pair.master,
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
    )?;
    Ok((pair.slave.into(), pair.master.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_is_kept_and_hashed() {
        let capture = Capture::shown(Shown::Nowhere);
        let mut shown = Vec::new();
        capture.copy(&b"some output\n"[..], &mut shown);
        assert_eq!(shown, b"some output\n");
        let printed = capture.take();
        assert_eq!(printed.text, shown);
        assert!(printed.is_whole() && printed.bytes == 12);
        let other = Capture::shown(Shown::Nowhere);
        other.copy(&b"some other\n"[..], io::sink());
        assert_ne!(other.take().hash, printed.hash);
    }

    #[test]
    fn long_outputs_are_hashed_whole_and_kept_in_part() {
        let mut printed = Printed::default();
        for _ in 0..3 {
            printed.add(&vec![b'x'; KEPT_BYTES / 2]);
        }
        assert_eq!(printed.text.len(), KEPT_BYTES);
        assert!(!printed.is_whole());
    }
}
