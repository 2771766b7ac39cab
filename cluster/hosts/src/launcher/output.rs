//! Writing what the programs of all hosts write.

use super::lines::Lines;
use crate::control::Stream;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the rest of a line is waited for while nothing comes at all: whoever writes a
/// question wants it seen, and at a terminal soon.
const LINE_TIMEOUT: Duration = Duration::from_millis(500);
const LINE_TIMEOUT_AT_TERMINAL: Duration = Duration::from_millis(50);

/// What becomes of output.
pub(super) enum Wrote {
    /// So many bytes of a host have been taken.
    Bytes(u16, u32),
    /// Nobody reads it any more.
    Unread,
    /// It cannot be written.
    Failed(io::Error),
}

/// A stream of this process, and the thread that writes it.
pub(super) struct Output {
    queue: Sender<(u16, Vec<u8>)>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

/// A copy of one of this process's streams, without a buffer.
pub(super) fn own(stream: Stream) -> io::Result<File> {
    let descriptor = match stream {
        Stream::Out => io::stdout().as_fd().try_clone_to_owned(),
        Stream::Err => io::stderr().as_fd().try_clone_to_owned(),
    };
    Ok(File::from(descriptor?))
}

impl Output {
    /// Begins to write to `to`.
    pub(super) fn start(
        mut to: impl Write + IsTerminal + Send + 'static,
        tell: impl Fn(Wrote) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, queued) = mpsc::channel();
        let (ends, done) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                let pause = match to.is_terminal() {
                    true => LINE_TIMEOUT_AT_TERMINAL,
                    false => LINE_TIMEOUT,
                };
                write(&mut to, pause, &queued, &tell);
                let _ = ends.send(());
            })?;
        Ok(Self {
            queue,
            done,
            thread,
        })
    }

    pub(super) fn push(&self, host: u16, bytes: Vec<u8>) {
        // It takes everything to its end.
        let _ = self.queue.send((host, bytes));
    }

    /// Waits until all has been written, but not for longer than a patience, if there is one.
    pub(super) fn finish(self, patience: Option<Duration>) {
        drop(self.queue);
        let in_time = match patience {
            Some(patience) => self.done.recv_timeout(patience).is_ok(),
            None => true,
        };
        if in_time {
            // It ends by itself now.
            let _ = self.thread.join();
        }
    }
}

fn write(
    to: &mut impl Write,
    pause: Duration,
    queued: &Receiver<(u16, Vec<u8>)>,
    tell: &impl Fn(Wrote),
) {
    let mut lines = Lines::default();
    let mut works = true;
    let mut put = |bytes: &[u8]| {
        let written = match works {
            true => to.write_all(bytes).and_then(|()| to.flush()),
            // It is taken, so that programs end in their own way.
            false => Ok(()),
        };
        if let Err(error) = written {
            works = false;
            tell(match error.kind() {
                io::ErrorKind::BrokenPipe => Wrote::Unread,
                _ => Wrote::Failed(error),
            });
        }
    };
    loop {
        let next = match lines.hold_some() {
            true => queued.recv_timeout(pause),
            false => queued.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok((host, bytes)) => {
                put(&lines.push(host, &bytes));
                tell(Wrote::Bytes(host, u32::try_from(bytes.len()).unwrap_or(0)));
            }
            Err(RecvTimeoutError::Timeout) => put(&lines.flush()),
            Err(RecvTimeoutError::Disconnected) => {
                put(&lines.flush());
                return;
            }
        }
    }
}
