//! Outputs of several programs in one, line by line, with the program's number in front.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer lines are shown in pieces.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long the end of an output is waited for once its program has ended: other processes
/// may hold it open.
const OUTPUT_END_TIMEOUT: Duration = Duration::from_secs(1);

/// A pipe whose lines are shown.
pub(super) struct Labelled {
    writer: OwnedFd,
    end: mpsc::Receiver<()>,
}

/// A pipe of which the program alone holds the other end.
pub(super) struct Draining(mpsc::Receiver<()>);

impl Labelled {
    /// Lines go to our standard output, or to our standard error.
    pub(super) fn new(label: String, stderr: bool) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let (ended, end) = mpsc::channel::<()>();
        let reader = BufReader::new(File::from(OwnedFd::from(reader)));
        thread::Builder::new()
            .name("mix".to_owned())
            .spawn(move || {
                if stderr {
                    copy(reader, &label, io::stderr());
                } else {
                    copy(reader, &label, io::stdout());
                }
                drop(ended);
            })?;
        Ok(Self {
            writer: writer.into(),
            end,
        })
    }

    /// A file that writes into the pipe.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.writer.as_raw_fd()).into()
    }

    /// The program has been started.
    pub(super) fn started(self) -> Draining {
        Draining(self.end)
    }
}

impl Draining {
    /// The program has ended: waits for the rest.
    pub(super) fn wait(self) {
        // An error says that the thread is through, or that time is up.
        let _ = self.0.recv_timeout(OUTPUT_END_TIMEOUT);
    }
}

fn copy(mut from: impl BufRead, label: &str, mut to: impl Write) {
    let mut line = Vec::new();
    loop {
        line.clear();
        line.extend(label.as_bytes());
        let mut limited = io::Read::take(&mut from, LINE_BYTES_MAX);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // A whole line at once, so that those of several programs do not mix.
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn every_line_has_its_label() {
        let mut out = Vec::new();
        copy(&b"one\n\ntwo"[..], "[1] ", &mut out);
        assert_eq!(out, b"[1] one\n[1] \n[1] two\n");
    }
}
