//! The last that a process says.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// A pipe that another thread reads as long as this exists: a full pipe would stop the process,
/// and whatever a process that was killed has left running may write without end, and dies of a
/// closed pipe.
#[derive(Debug)]
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    bytes_max: usize,
    /// Nothing is ever sent: the thread lets go when the pipe is closed.
    closed: Mutex<Receiver<()>>,
}

impl Tail {
    /// Begins to read a pipe, if there is one, and keeps the last bytes.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(pipe: Option<impl Read + Send + 'static>, bytes_max: usize) -> io::Result<Self> {
        let kept = Arc::default();
        let (open, closed) = channel();
        if let Some(mut pipe) = pipe {
            let wanted: Weak<Mutex<Vec<u8>>> = Arc::downgrade(&kept);
            let read = move || {
                let mut piece = [0; 16 << 10];
                // What was read before an error is still worth showing.
                while let Ok(length @ 1..) = pipe.read(&mut piece) {
                    let Some(kept) = wanted.upgrade() else {
                        break;
                    };
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(piece.get(..length).unwrap_or_default());
                    if kept.len() > bytes_max.saturating_mul(2) {
                        forget_beginning(&mut kept, bytes_max);
                    }
                }
                drop(open);
            };
            thread::Builder::new()
                .name("output".to_owned())
                .spawn(read)?;
        }
        Ok(Self {
            kept,
            bytes_max,
            closed: Mutex::new(closed),
        })
    }

    /// The last bytes once the pipe is closed, for which this waits for `longest` at most:
    /// processes that the child has left running may hold it open.
    pub fn end(&self, longest: Duration) -> Vec<u8> {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = closed.recv_timeout(longest);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        forget_beginning(&mut kept, self.bytes_max);
        kept.clone()
    }
}

fn forget_beginning(kept: &mut Vec<u8>, bytes_max: usize) {
    let surplus = kept.len().saturating_sub(bytes_max);
    kept.drain(..surplus);
}
