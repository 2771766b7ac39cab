//! The program's standard streams, which go through the agent.

use crate::control::{Bytes, Stream};
use crate::credits::Credits;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// A stream that the program writes, and how much of it may be under way.
pub(super) struct Output(Credits);

impl Output {
    /// Passes on what comes out of `from`; `done` is called at the end.
    pub(super) fn start(
        mut from: PipeReader,
        send: impl Fn(Bytes) + Send + 'static,
        done: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let credits = Credits::new();
        let reader_credits = credits.clone();
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                while let Some(room) = reader_credits.take() {
                    let mut bytes = vec![0; room];
                    match from.read(&mut bytes) {
                        Ok(0) => break,
                        Ok(got) => {
                            bytes.truncate(got);
                            reader_credits.give(u32::try_from(room - got).unwrap_or(0));
                            send(Bytes(bytes));
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                            reader_credits.give(u32::try_from(room).unwrap_or(0));
                        }
                        Err(_) => break,
                    }
                }
                // The program learns at its next write that nobody reads any more.
                drop(from);
                done();
            })?;
        Ok(Self(credits))
    }

    /// So many bytes have been written at the other end.
    pub(super) fn credit(&self, bytes: u32) {
        self.0.give(bytes);
    }

    /// Nobody reads it any more.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

/// Both of a program's outputs.
pub(super) struct Outputs {
    pub(super) out: Output,
    pub(super) err: Output,
}

impl Outputs {
    pub(super) fn of(&self, stream: Stream) -> &Output {
        match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        }
    }
}

/// The stream that the program reads. Dropping it ends it.
pub(super) struct Input(Sender<Vec<u8>>);

impl Input {
    /// Passes on into `to`; `taken` hears how many bytes the program has room for again.
    pub(super) fn start(
        mut to: PipeWriter,
        taken: impl Fn(u32) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, queued) = mpsc::channel::<Vec<u8>>();
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || {
                for bytes in queued {
                    if to.write_all(&bytes).is_err() {
                        // The program reads no more, so no more is asked for.
                        return;
                    }
                    taken(u32::try_from(bytes.len()).unwrap_or(0));
                }
            })?;
        Ok(Self(queue))
    }

    pub(super) fn pass(&self, bytes: Vec<u8>) {
        // The program may read no more.
        let _ = self.0.send(bytes);
    }
}
