//! Launching from the first of several ranks: their agents have been started by somebody else,
//! and connect to here. The agent of the first host is in this process, too.

use super::run_state::Manner;
use super::{Caller, Ended, Event, LaunchError, Options, conduct};
use crate::agent::{Setup, attend_by};
use crate::children::Children;
use crate::control::Run;
use crate::process::when_ended;
use crate::ranks::First;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// Runs a program on the ranks that have met; `caller` is told what it has to know meanwhile.
///
/// # Errors
/// If it cannot begin. What goes wrong in ranks is said.
pub fn lead(
    first: First,
    (run, options): (&Run, &Options),
    setup: &Setup<'_>,
    caller: &dyn Caller,
) -> Result<Ended, LaunchError> {
    let First {
        common,
        mut agent_socket,
        ending,
        ..
    } = first;
    let joins = agent_socket.joins.take();
    let (ours, theirs) = UnixStream::pair()?;
    let starter = nix::unistd::getppid();
    let ended = thread::scope(|scope| {
        let agent = thread::Builder::new()
            .name("agent".to_owned())
            .spawn_scoped(scope, move || {
                // What goes wrong there is heard of by its link.
                attend_by(theirs.into(), common, None, setup)
            })?;
        let start = |events: &Sender<Event>| {
            let ends = events.clone();
            when_ended(starter.as_raw(), move || drop(ends.send(Event::Orphaned)))?;
            if let Some(joins) = joins {
                gather(joins, events)?;
            }
            let _ = events.send(Event::Joined(0, OwnedFd::from(ours)));
            Ok((Children::default(), Vec::new()))
        };
        let ended = conduct(run, (options, Manner::STARTED_APART), caller, start);
        let _ = agent.join();
        ended
    });
    match &ended {
        Ok(Ended { complete: true, .. }) => drop(ending),
        // MPI would wait in vain for a rank that was lost, or end this process by a code of its own.
        _ => std::mem::forget(ending),
    }
    ended
}

/// Tells of agents as they connect.
fn gather(joins: Receiver<(u16, std::net::TcpStream)>, events: &Sender<Event>) -> io::Result<()> {
    let events = events.clone();
    thread::Builder::new()
        .name("joins".to_owned())
        .spawn(move || {
            for (host, stream) in joins {
                let joined = crate::mesh::settle(&stream)
                    .map(|()| events.send(Event::Joined(host, stream.into())));
                if joined.is_err() {
                    // It is not there in time, which is told of.
                    continue;
                }
            }
        })
        .map(drop)
}
