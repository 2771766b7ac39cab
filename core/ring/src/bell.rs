//! The bell wakes the drain of a live directory: a word of memory there that all its
//! processes share.
//!
//! A look at rings now and then costs a program that has all processors more than it takes: a
//! thread that lost its own for it keeps all others waiting at a barrier.

use fathomp_sys::polling::EventFd;
use fathomp_sys::shared_futex::{low_half, wait, wake};
use fathomp_sys::shm::SharedFile;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Name of the file.
const FILE: &str = "bell";
/// Words of it, a cache line.
const WORDS: usize = 8;
/// Of its first word: somebody listens, and nobody has called since.
const LISTENS: u64 = 1;

/// The bell of a live directory.
#[derive(Debug)]
pub struct Bell(SharedFile);

impl Bell {
    /// That of a directory, which need not have one yet.
    ///
    /// # Errors
    /// If it cannot be made or opened.
    pub fn open(live: &Path) -> io::Result<Self> {
        SharedFile::open_or_create(&live.join(FILE), WORDS).map(Self)
    }

    fn word(&self) -> &AtomicU64 {
        // A file without words cannot be opened.
        &self.0.words()[0]
    }

    /// Wakes the listener. A system call only if nobody else has just called.
    pub fn ring(&self) {
        let word = self.word();
        let called =
            word.load(Ordering::Relaxed) == LISTENS && word.swap(0, Ordering::AcqRel) == LISTENS;
        if called {
            wake(low_half(word), u32::MAX, u32::MAX);
        }
    }

    /// Listens, in a thread that sleeps but for calls.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen(self) -> io::Result<Listener> {
        let bell = Arc::new(self);
        let (event, closed) = (Arc::new(EventFd::new()?), Arc::new(AtomicBool::new(false)));
        let shared = (Arc::clone(&bell), Arc::clone(&event), Arc::clone(&closed));
        let thread = thread::Builder::new().name("bell".to_owned());
        let thread = thread.spawn(move || {
            let (bell, event, closed) = shared;
            loop {
                // Before the event: a call that comes before it was taken is another one.
                bell.word().store(LISTENS, Ordering::Release);
                event.raise();
                while bell.word().load(Ordering::Acquire) == LISTENS {
                    if closed.load(Ordering::Acquire) {
                        return;
                    }
                    wait(low_half(bell.word()), LISTENS as u32, u32::MAX, None);
                }
            }
        })?;
        Ok(Listener {
            bell,
            event,
            closed,
            thread: Some(thread),
        })
    }
}

/// What hears calls.
#[derive(Debug)]
pub struct Listener {
    bell: Arc<Bell>,
    event: Arc<EventFd>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Forgets the calls that came so far, which are about to be answered.
    pub fn clear(&self) {
        self.event.clear();
    }
}

/// It can be read when somebody has called since it was [cleared](Listener::clear).
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        // The thread may be about to listen again.
        while self.thread.as_ref().is_some_and(|one| !one.is_finished()) {
            self.bell.ring();
            thread::yield_now();
        }
        let ended = self.thread.take().map(JoinHandle::join);
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_sys::polling::readable;
    use std::time::Duration;

    #[test]
    fn every_call_is_heard_until_it_is_answered() {
        const EVER: Duration = Duration::from_secs(60);
        let live = tempfile::tempdir().unwrap();
        let listener = Bell::open(live.path()).unwrap().listen().unwrap();
        let caller = Bell::open(live.path()).unwrap();
        for _ in 0..100 {
            caller.ring();
            assert_eq!(readable(&[listener.as_fd()], EVER), [true]);
            listener.clear();
        }
        // What a call comes to may come after it was answered.
        while readable(&[listener.as_fd()], Duration::from_millis(50))[0] {
            listener.clear();
        }
        drop(listener);
        caller.ring();
    }
}
