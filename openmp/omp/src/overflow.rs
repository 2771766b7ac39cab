//! A thread whose stack has run out: one sentence for the user, and a note in
//! the recording.

use crate::recorded;
use crate::worker;
use fathomp_sys::process;
use fathomp_sys::stack_overflow::{self, Overflow, Owner};
use fathomp_trace::stack::{StackOverflow, StackOwner};
use std::fmt::{self, Write as _};

/// Looks after stacks from now on, that of the calling thread, which the
/// process began with, included. To be called again when the program may have
/// set a signal handler since.
pub fn watch() {
    if process::is_initial_thread() {
        stack_overflow::cover(Owner::Initial);
    }
    // Best effort: a stack that runs out then ends the process without a word.
    let _ = stack_overflow::watch(report);
}

/// For a signal handler of others, which ends the process: says it if an access at
/// `address`, with the stack pointer at `pointer`, is one of a stack that has run
/// out.
pub fn say_if_one(address: usize, pointer: usize) {
    if let Some(overflow) = stack_overflow::recognise(address, pointer) {
        report(&overflow);
    }
}

/// Runs in the handler of the signal: neither allocates nor locks.
fn report(overflow: &Overflow) {
    let (thread, team_size) =
        worker::known().map_or((0, 1), |member| (member.thread_num(), member.team().size()));
    let overflow = StackOverflow {
        thread,
        team_size,
        owner: match overflow.owner {
            Owner::Initial => StackOwner::Initial,
            Owner::Runtime => StackOwner::Worker,
            Owner::Program => StackOwner::Program,
        },
        had_bytes: overflow.had_bytes as u64,
        needed_bytes: overflow.needed_bytes as u64,
        at_least: overflow.at_least,
    };
    if let Some(recorder) = recorded::recorder() {
        recorder.stack_overflow(&overflow);
    }
    let mut line = Line::default();
    // A sentence that did not fit is cut.
    let _ = writeln!(line, "fathomp: {overflow}");
    process::write_to_stderr(line.bytes());
}

/// A line on the stack of the handler.
struct Line {
    bytes: [u8; 512],
    used: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            bytes: [0; 512],
            used: 0,
        }
    }
}

impl Line {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used + text.len();
        let room = self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}
