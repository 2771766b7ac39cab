//! What ends a program whose launcher was killed.
//!
//! A launcher that is asked to stop passes that on. One that is killed (SIGKILL, out of
//! memory) cannot, so each has a guard beside it: a process that waits for the launcher's end
//! of a pipe to close, and then kills the program and what descends from it. Whatever has gone
//! into a session of its own, or whose parent has ended, was made to outlast the program and is
//! left alone (decision 0084).

use fathomp_launch::steering::PRELOAD;
use fathomp_sys::descriptor;
use fathomp_sys::relatives::{self, Process};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setsid};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The command by which a launcher starts its guard.
const COMMAND: &str = "program-guard";
/// The launcher's own file, also after another one has taken its name.
const OWN_FILE: &str = "/proc/self/exe";
/// In place of a program's number: it has ended.
const OVER: u32 = 0;
/// Looks at what the program has started; each stops what it finds, so that only what starts
/// processes faster than they are stopped is not through by then.
const LOOKS: usize = 20;

/// The launcher's side.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    line: Option<ChildStdin>,
}

impl Guard {
    /// Starts a guard, if the system lets it: a program without one runs as well.
    pub(super) fn start() -> Option<Self> {
        let mut command = Command::new(OWN_FILE);
        command
            .arg0("fathomp")
            .arg(COMMAND)
            .env_remove(PRELOAD)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Whoever waits for the end of anything else that the launcher has inherited need not
        // wait for the guard.
        descriptor::give_streams_alone(&mut command);
        let mut child = command.spawn().ok()?;
        let line = child.stdin.take();
        Some(Self { child, line })
    }

    /// Names the program. Before it begins, so that there is no moment without a guard.
    pub(super) fn mind(&self, program: u32) {
        self.tell(program);
    }

    /// The program has ended, and its number is not yet anybody else's.
    pub(super) fn over(self) {
        self.tell(OVER);
    }

    fn tell(&self, number: u32) {
        if let Some(mut line) = self.line.as_ref() {
            // A guard that was killed guards nothing.
            let _ = line.write_all(&number.to_ne_bytes());
        }
    }
}

/// Nobody waits for the program any more: if it runs, the guard kills it.
impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.line.take());
        // It ends at once, or has been killed.
        let _ = self.child.wait();
    }
}

/// Serves a launcher at the other end of standard input until that is gone.
pub(crate) fn serve() {
    let launchers = Process::of(std::process::id()).map(|guard| guard.session);
    // What a terminal sends is for the program, also what stops a job. It leads no group yet,
    // so this does not fail.
    let _ = setsid();
    let mut program = OVER;
    let mut number = [0; 4];
    while io::stdin().read_exact(&mut number).is_ok() {
        program = u32::from_ne_bytes(number);
    }
    if program != OVER {
        end(program, launchers);
    }
}

/// Kills a program and what descends from it in its session or the launcher's, from which the
/// program may have gone.
fn end(program: u32, launchers: Option<u32>) {
    let Some(root) = Process::of(program) else {
        return;
    };
    let stays = |one: &Process| one.session == root.session || Some(one.session) == launchers;
    let mut stopped = BTreeSet::new();
    for _ in 0..LOOKS {
        let family = relatives::family(program, &relatives::all(), stays);
        let more: Vec<u32> = family
            .into_iter()
            .filter(|number| !stopped.contains(number))
            .collect();
        if more.is_empty() {
            break;
        }
        // What stands starts nothing, and its children keep their parent.
        for number in more {
            send(number, Signal::SIGSTOP);
            stopped.insert(number);
        }
    }
    for number in stopped {
        send(number, Signal::SIGKILL);
    }
}

/// Sends a signal to a process that may have just ended.
fn send(number: u32, signal: Signal) {
    if let Ok(number) = i32::try_from(number) {
        let _ = kill(Pid::from_raw(number), signal);
    }
}
