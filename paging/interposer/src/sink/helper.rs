//! A thread of ours in the program that hands on what others have in their rings.

use super::process::Process;
use fathomp_sys::signals;
use std::sync::OnceLock;
use std::thread::{self, Thread};

/// The thread, once it is needed. None if it could not be had.
#[derive(Debug, Default)]
pub(super) struct Helper(OnceLock<Option<Thread>>);

impl Helper {
    /// Lets the thread look at all rings.
    pub(super) fn wake(&self, process: &'static Process) {
        let thread = self.0.get_or_init(|| {
            // The program's signals are for its own threads.
            let _blocked = signals::block_all();
            let builder = thread::Builder::new().name("fathomp".to_owned());
            let started = builder.spawn(move || {
                if let Some(hook) = process.hooks().helper_begins {
                    hook();
                }
                loop {
                    thread::park();
                    process.hand_all_on();
                }
            });
            started.ok().map(|handle| handle.thread().clone())
        });
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
}
