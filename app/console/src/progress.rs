//! A progress bar on a terminal, nothing elsewhere.

use crate::console::Console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// What takes longer is announced where no bar shows it.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Steps of a command that takes over a second.
pub struct Progress {
    bar: ProgressBar,
    console: Console,
}

/// Does `job`, a command's only step that may take long; see [`Progress::slowly`].
pub fn slowly<T>(console: Console, doing: &str, job: impl FnOnce() -> T) -> T {
    let progress = Progress::start(console, 1);
    let done = progress.slowly(doing, job);
    progress.finish();
    done
}

impl Progress {
    /// A bar of `steps` steps on stderr, if somebody can see it there.
    pub fn start(console: Console, steps: usize) -> Self {
        let target = if console.quiet {
            ProgressDrawTarget::hidden()
        } else {
            // Hides itself where stderr is not a terminal.
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(u64::try_from(steps).ok(), target);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} [{elapsed}]");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, console }
    }

    /// Does `job`, which is what `doing` says. Where nobody sees the bar, that is said once
    /// it takes more than two seconds.
    pub fn slowly<T>(&self, doing: &str, job: impl FnOnce() -> T) -> T {
        let watch = self.watch(doing);
        let result = job();
        drop(watch);
        result
    }

    /// The same until the answer is dropped.
    fn watch(&self, doing: &str) -> Sender<()> {
        self.bar.set_message(doing.to_owned());
        let (done, waits) = mpsc::channel();
        let (bar, console, doing) = (self.bar.clone(), self.console, doing.to_owned());
        // It ends by itself soon after; without it nothing is said.
        let _ = thread::Builder::new().spawn(move || {
            let late = waits.recv_timeout(SILENCE_MAX) == Err(RecvTimeoutError::Timeout);
            if late && bar.is_hidden() {
                console.say(format!("{doing}, which takes a while"));
            }
        });
        done
    }

    /// `done` steps are through, `doing` is next.
    pub fn at(&self, done: usize, doing: impl Into<String>) {
        self.bar
            .set_position(u64::try_from(done).unwrap_or(u64::MAX));
        self.bar.set_message(doing.into());
    }

    /// `doing` is what the current step does now.
    pub fn doing(&self, doing: impl Into<String>) {
        self.bar.set_message(doing.into());
    }

    /// Does `job` with the bar out of the way, so that a program can use the
    /// terminal.
    pub fn aside<T>(&self, job: impl FnOnce() -> T) -> T {
        self.bar.suspend(job)
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
