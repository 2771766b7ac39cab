//! What ends a program whose launcher was killed.
//!
//! A launcher that is asked to stop passes that on. One that is killed (SIGKILL, out of
//! memory) cannot, so each has a guard beside it: a process that waits for the launcher's end
//! of a pipe to close, and then kills the program and what descends from it. Whatever has gone
//! into a session of its own, or whose parent has ended, was made to outlast the program and is
//! left alone (decision 0084).

use fathomp_launch::steering::PRELOAD;
use fathomp_process::guard::{OVER, start_by};
use fathomp_process::send;
use fathomp_sys::descriptor;
use fathomp_sys::process_tree::{self, Process};
use nix::sys::signal::Signal;
use nix::unistd::setsid;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The command by which a launcher starts its guard.
const COMMAND: &str = "program-guard";
/// The launcher's own file, also after another one has taken its name.
const OWN_FILE: &str = "/proc/self/exe";
/// Looks at what the program has started; each stops what it finds, so that only what starts
/// processes faster than they are stopped is not through by then.
const LOOKS: usize = 20;

/// Gives each program that is started from here a guard.
pub fn begin() {
    start_by(|| {
        let mut command = Command::new(OWN_FILE);
        command
            .arg0("fathomp")
            .arg(COMMAND)
            .env_remove(PRELOAD)
            .current_dir("/");
        // Whoever waits for the end of anything else that the launcher has inherited need not
        // wait for the guard.
        descriptor::give_streams_alone(&mut command);
        command
    });
}

/// Serves a launcher at the other end of standard input until that is gone.
pub fn serve() {
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
        let family = process_tree::family(program, &process_tree::all(), stays);
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
