//! Gang scheduling: one program has the machine for a slice of time, while the others are
//! stopped, then the next one.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Lets what is left of a program go on: children of its may be stopped.
pub(super) fn release(group: u32) {
    if let Ok(group) = i32::try_from(group) {
        // There need not be any.
        let _ = kill(Pid::from_raw(-group), Signal::SIGCONT);
    }
}

/// Programs that take turns, by the numbers of their process groups.
pub(super) struct Gang {
    groups: Vec<Option<i32>>,
}

impl Gang {
    pub(super) fn new(pids: impl IntoIterator<Item = u32>) -> Self {
        Self {
            groups: pids
                .into_iter()
                .map(|pid| i32::try_from(pid).ok())
                .collect(),
        }
    }

    /// Lets them take turns until all have ended: `ended` names each that has, which is
    /// called before its number can be given to another process. `is_over` has all go on.
    pub(super) fn run(
        mut self,
        slice: Duration,
        ended: &Receiver<usize>,
        is_over: impl Fn() -> bool,
    ) {
        let mut turn = 0;
        for index in 1..self.groups.len() {
            self.send(index, Signal::SIGSTOP);
        }
        while self.groups.iter().any(Option::is_some) {
            match ended.recv_timeout(slice) {
                Ok(index) => {
                    if let Some(group) = self.groups.get_mut(index) {
                        *group = None;
                    }
                    if index != turn {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if is_over() {
                break;
            }
            let count = self.groups.len();
            let next = (1..=count)
                .map(|step| (turn + step) % count)
                .find(|index| self.groups[*index].is_some());
            if let Some(next) = next.filter(|next| *next != turn) {
                self.send(turn, Signal::SIGSTOP);
                self.send(next, Signal::SIGCONT);
                turn = next;
            }
        }
        for index in 0..self.groups.len() {
            self.send(index, Signal::SIGCONT);
        }
    }

    fn send(&self, index: usize, signal: Signal) {
        if let Some(Some(group)) = self.groups.get(index) {
            // It may have just ended.
            let _ = kill(Pid::from_raw(-group), signal);
        }
    }
}
