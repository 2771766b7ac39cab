//! How a process becomes the agent of a host: by whom it is told what to do, and what it needs
//! for that.

use super::attended::Attended;
use super::setup::Setup;
use super::{Agent, Event, Roads};
use crate::connection::Connection;
use crate::control::{self, Down, Frame, Heard, Link, Up};
use crate::key::{KEY_BYTES, Key};
use crate::ranks::{Common, Member};
use crate::supervisor;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The agent could not do its work, and nobody could be told.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nobody is there.
    #[error("an agent is started by `fathomp run --hosts`, which tells it what to do: {0}")]
    NoLauncher(String),
    /// The system refuses what it needs.
    #[error("the agent cannot begin: {0}")]
    System(#[from] io::Error),
}

/// Does an agent's work until nothing is left to do. `input` and `output` lead to the
/// launcher, or to an agent between.
///
/// # Errors
/// If it cannot begin.
pub fn serve(
    mut input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    setup: &Setup<'_>,
) -> Result<(), AgentError> {
    let mut key = [0; KEY_BYTES];
    control::write_preamble(&mut output, setup.version)?;
    input
        .read_exact(&mut key)
        .map_err(|error| AgentError::NoLauncher(error.to_string()))?;
    let events = mpsc::channel();
    work((input, output), Key::of(key), Roads::Tcp, setup, events).map(drop)
}

/// Does the same in a rank that is not the first.
///
/// # Errors
/// If it cannot begin.
pub fn attend(member: Member, setup: &Setup<'_>) -> Result<Attended, AgentError> {
    let starter = nix::unistd::getppid();
    let Member {
        common,
        stream,
        ending,
        ..
    } = member;
    let attended = attend_by(stream.into(), common, Some(starter.as_raw()), setup);
    match attended {
        Ok(Attended::Dismissed | Attended::NotBegun) => drop(ending),
        // A rank is gone, so MPI would wait for it in vain.
        Ok(Attended::Bereft | Attended::Forsaken) | Err(_) => std::mem::forget(ending),
    }
    attended
}

/// Does the same in any rank; the socket leads to the launcher. If `starter` is given, the run
/// ends when that process does.
pub(crate) fn attend_by(
    socket: OwnedFd,
    common: Common,
    starter: Option<i32>,
    setup: &Setup<'_>,
) -> Result<Attended, AgentError> {
    let (_connection, input, mut output) = Connection::new(socket)?;
    if control::write_preamble(&mut output, setup.version).is_err() {
        return Ok(Attended::NotBegun);
    }
    let events = mpsc::channel();
    let failing = events.0.clone();
    let fails = common.fails;
    thread::Builder::new()
        .name("fails".to_owned())
        .spawn(move || {
            for why in fails {
                let _ = failing.send(Event::Unconnected(why));
            }
        })?;
    if let Some(starter) = starter {
        let ends = events.0.clone();
        crate::process::when_ended(starter, move || {
            let why = "what has started its rank is gone".to_owned();
            let _ = ends.send(Event::Unconnected(why));
        })?;
    }
    let roads = common.mpi_thread.map_or(Roads::Tcp, Roads::Mpi);
    match work((input, output), common.key, roads, setup, events) {
        Err(AgentError::NoLauncher(_)) => Ok(Attended::NotBegun),
        attended => attended,
    }
}

/// Waits until it is told what to do, and does it. How that ended.
fn work(
    (input, output): (impl Read + Send + 'static, impl Write + Send + 'static),
    key: Key,
    roads: Roads,
    setup: &Setup<'_>,
    (events, happens): (Sender<Event>, Receiver<Event>),
) -> Result<Attended, AgentError> {
    let above = events.clone();
    let up = Link::start(
        "launcher",
        (input, output),
        (Vec::new(), |_: &mut _| Ok(())),
        (Up::Beat, Down::Beat),
        move |heard| drop(above.send(Event::Above(heard))),
    )?;
    let (host, below, run) = loop {
        match happens.recv() {
            Ok(Event::Above(Heard::Frame(Frame {
                message: Down::Start { host, below, run },
                ..
            }))) => {
                break (host, below, run);
            }
            Ok(Event::Above(Heard::Closed(error))) => {
                return Err(AgentError::NoLauncher(error.to_string()));
            }
            // Without what started it nobody starts a launcher.
            Ok(Event::Unconnected(why)) => return Err(AgentError::NoLauncher(why)),
            Ok(_) => {}
            Err(error) => return Err(AgentError::NoLauncher(error.to_string())),
        }
    };
    have_descriptors();
    // Best effort: the supervisor adopts what the program leaves behind.
    let _ = supervisor::adopt();
    let mut agent = Agent::new((host, run), key, (up, roads), events);
    match agent.begin(setup, below) {
        Ok(place) => agent.say(&Up::Ready(place)),
        Err(why) => agent.say(&Up::Failed(why)),
    }
    Ok(agent.work(setup, &happens))
}

/// Allows this process as many descriptors as it may have: each connection is one until the
/// program has it.
fn have_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
