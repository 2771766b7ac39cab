//! One hop between a launcher, or an agent, and an agent below it.
//!
//! A thread writes what is queued, and a sign of life when there is nothing to write; another
//! reads. So neither waits for the other side, and the one who owns the link waits for neither.
//! How much can be queued is bounded by what the two sides say: streams have credits.

use super::frame::{self, Frame, FrameError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long a link may say nothing.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// What the reading side of a link has to tell.
#[derive(Debug)]
pub enum Heard<M> {
    /// A frame that is no mere sign of life.
    Frame(Frame<M>),
    /// There will be no more.
    Closed(FrameError),
}

/// The writing side of a link. Dropping it, and all copies, lets what is queued be written, and then closes it.
#[derive(Debug)]
pub struct Link<Out> {
    queue: Sender<Item>,
    heard: Arc<AtomicU64>,
    out: PhantomData<fn(Out)>,
}

/// What waits to be written.
#[derive(Debug)]
enum Item {
    Bytes(Vec<u8>),
    /// Whoever waits here learns that all before it has been written.
    Mark(Sender<()>),
}

impl<Out> Clone for Link<Out> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            heard: Arc::clone(&self.heard),
            out: PhantomData,
        }
    }
}

impl<Out: Serialize> Link<Out> {
    /// Starts the two threads of a link. Before frames, `writer` is given `first`, and `reader`
    /// is waited for by `opening`. What is read goes to `deliver`, which is called last with
    /// [`Heard::Closed`]; `beat` is what signs of life look like in both directions.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start<In, R, W>(
        name: &str,
        (mut reader, mut writer): (R, W),
        (first, opening): (
            Vec<u8>,
            impl FnOnce(&mut R) -> Result<(), FrameError> + Send + 'static,
        ),
        (sent, received): (Out, In),
        deliver: impl Fn(Heard<In>) + Send + 'static,
    ) -> io::Result<Self>
    where
        In: DeserializeOwned + PartialEq + Send + 'static,
        R: Read + Send + 'static,
        W: Write + Send + 'static,
    {
        let (queue, queued) = mpsc::channel();
        let heard = Arc::new(AtomicU64::new(0));
        let beat = frame::encode(0, &sent)?;
        thread::Builder::new()
            .name(format!("to {name}"))
            .spawn(move || {
                // A side that does not read any more is noticed by the thread that reads.
                let _ = pass_on(&mut writer, &first, &queued, &beat);
            })?;
        let count = Arc::clone(&heard);
        thread::Builder::new()
            .name(format!("from {name}"))
            .spawn(move || {
                let closed = listen(&mut reader, opening, &received, &count, &deliver);
                deliver(Heard::Closed(closed));
            })?;
        Ok(Self {
            queue,
            heard,
            out: PhantomData,
        })
    }

    /// Queues a message. If the link is closed nobody is there to be told; that is heard of.
    ///
    /// # Errors
    /// If the message is too long.
    pub fn send(&self, host: u16, message: &Out) -> io::Result<()> {
        let _ = self.queue.send(Item::Bytes(frame::encode(host, message)?));
        Ok(())
    }

    /// Waits until all that is queued has been written, but not for longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        let (mark, written) = mpsc::channel();
        if self.queue.send(Item::Mark(mark)).is_ok() {
            // Too late, or the other side is gone: nothing is to be done about either.
            let _ = written.recv_timeout(patience);
        }
    }

    /// How many signs of life have come.
    #[must_use]
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

fn pass_on(
    writer: &mut impl Write,
    first: &[u8],
    queued: &Receiver<Item>,
    beat: &[u8],
) -> io::Result<()> {
    writer.write_all(first)?;
    writer.flush()?;
    loop {
        match queued.recv_timeout(HEARTBEAT_INTERVAL) {
            Ok(Item::Bytes(bytes)) => writer.write_all(&bytes)?,
            Ok(Item::Mark(mark)) => drop(mark.send(())),
            Err(RecvTimeoutError::Timeout) => writer.write_all(beat)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        writer.flush()?;
    }
}

fn listen<In: DeserializeOwned + PartialEq, R: Read>(
    reader: &mut R,
    opening: impl FnOnce(&mut R) -> Result<(), FrameError>,
    beat: &In,
    heard: &AtomicU64,
    deliver: &impl Fn(Heard<In>),
) -> FrameError {
    if let Err(error) = opening(reader) {
        return error;
    }
    loop {
        match frame::read::<In>(reader) {
            Ok(frame) => {
                heard.fetch_add(1, Ordering::Relaxed);
                if frame.message != *beat {
                    deliver(Heard::Frame(frame));
                }
            }
            Err(error) => return error,
        }
    }
}
