//! The agents that are started from here or have connected to here, and what goes to and comes
//! from the hosts behind them.

use crate::connection::Connection;
use crate::control::{
    ALL, Down, Frame, FrameError, Heard, Link, PreambleError, Run, Silence, Up, await_preamble,
};
use crate::key::Key;
use crate::plan::Host;
use crate::process::Process;
use crate::reach;
use crate::tree::Branch;
use fathomp_types::Ending;
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// What is heard of an agent.
#[derive(Debug)]
pub(crate) enum Told {
    /// A message from its host or from one behind it.
    Frame(Frame<Up>),
    /// The agent of this host is gone: why, without the host's name.
    Closed(u16, String),
}

struct Child {
    branch: Branch,
    /// None once nothing more is to be said.
    link: Option<Link<Down>>,
    carrier: Carrier,
    silence: Silence,
    closed: bool,
}

/// What carries the link to an agent.
enum Carrier {
    /// A process that was started from here.
    Process(Process),
    /// A connection that the agent has made.
    Connection(Connection),
}

impl Carrier {
    /// Ends it: for what reason, for the sentence about its end.
    fn give_up(&self, why: &'static str) {
        match self {
            Self::Process(process) => process.give_up(why),
            Self::Connection(connection) => connection.give_up(why),
        }
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Children(Vec<Child>);

impl Children {
    /// Starts the agents at the beginnings of these branches. Gives hosts whose agents cannot
    /// be started, and why.
    pub(crate) fn start<E: From<Told> + Send + 'static>(
        branches: Vec<Branch>,
        (run, key, version): (&Run, &Key, &str),
        events: &Sender<E>,
    ) -> (Self, Vec<(u16, String)>) {
        let mut children = Vec::new();
        let mut failed = Vec::new();
        for branch in branches {
            let host = branch.host;
            match Child::start(branch, (run, key, version), events) {
                Ok(child) => children.push(child),
                Err(error) => failed.push((host, error.to_string())),
            }
        }
        (Self(children), failed)
    }

    /// One more, which has connected by this socket and proved that it is that host's agent.
    pub(crate) fn adopt<E: From<Told> + Send + 'static>(
        &mut self,
        (host, socket): (u16, OwnedFd),
        (run, version): (&Run, &str),
        events: &Sender<E>,
    ) -> io::Result<()> {
        let (connection, reader, writer) = Connection::new(socket)?;
        let carrier = Carrier::Connection(connection.clone());
        let version = version.to_owned();
        let ours = version.clone();
        let why = move |error: &FrameError| gone(error, &connection, &ours);
        let branch = Branch {
            host,
            below: Vec::new(),
        };
        // It had to know the key to connect.
        let streams = (reader, writer);
        let child = Child::link(
            branch,
            carrier,
            (streams, Vec::new()),
            (run, &version),
            events,
            why,
        )?;
        self.0.push(child);
        Ok(())
    }

    /// Sends a message to a host, or to [`ALL`] behind these agents.
    pub(crate) fn send(&self, host: u16, message: &Down) -> io::Result<()> {
        for child in &self.0 {
            if (host == ALL || child.branch.leads_to(host))
                && let Some(link) = &child.link
            {
                link.send(host, message)?;
            }
        }
        Ok(())
    }

    /// Looks for those that have been silent for too long, and gives them up.
    pub(crate) fn tick(&mut self) {
        for child in &mut self.0 {
            let Some(link) = child.link.as_ref().filter(|_| !child.closed) else {
                continue;
            };
            if child.silence.look(link.heard()) {
                child.carrier.give_up("it has not answered for 3 s");
            }
        }
    }

    /// Waits until what was sent has been written.
    pub(crate) fn flush(&self, patience: Duration) {
        for link in self.0.iter().filter_map(|child| child.link.as_ref()) {
            link.flush(patience);
        }
    }

    /// Says nothing more, so that agents see the end of their input.
    pub(crate) fn hang_up(&mut self) {
        for child in &mut self.0 {
            child.link = None;
        }
    }

    /// Silence up to now does not count.
    pub(crate) fn forgive(&mut self) {
        for child in &mut self.0 {
            child.silence.forgive();
        }
    }

    /// That agent is known to be gone. Gives the hosts behind it, which are lost with it.
    pub(crate) fn close(&mut self, host: u16) -> Vec<u16> {
        let child = self.0.iter_mut().find(|child| child.branch.host == host);
        child.map_or(Vec::new(), |child| {
            child.closed = true;
            child.branch.below.clone()
        })
    }

    /// Whether all are gone.
    pub(crate) fn are_gone(&self) -> bool {
        self.0.iter().all(|child| child.closed)
    }

    /// Ends those that are still there.
    pub(crate) fn kill(&self) {
        for child in self.0.iter().filter(|child| !child.closed) {
            child.carrier.give_up("it was ended");
        }
    }
}

impl Child {
    fn start<E: From<Told> + Send + 'static>(
        branch: Branch,
        (run, key, version): (&Run, &Key, &str),
        events: &Sender<E>,
    ) -> io::Result<Self> {
        let number = branch.host;
        let host = run.hosts.all().get(usize::from(number));
        let host = host.cloned().ok_or(io::ErrorKind::NotFound)?;
        let mut command = reach::command(&host, run);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (process, Some(stdin), Some(stdout)) = Process::spawn(&mut command)? else {
            return Err(io::Error::other("it has no streams"));
        };
        let explains = {
            let (process, shown) = (process.clone(), reach::shown(&host, run));
            let (host, version) = (host.clone(), version.to_owned());
            move |error: &FrameError| explain(error, &process, (&host, &shown, &version))
        };
        let streams = ((stdout, stdin), key.bytes().to_vec());
        let carrier = Carrier::Process(process);
        Self::link(branch, carrier, streams, (run, version), events, explains)
    }

    /// Begins to talk over these streams, with these bytes first; tells the agent who it is.
    fn link<E, R, W>(
        branch: Branch,
        carrier: Carrier,
        (streams, first): ((R, W), Vec<u8>),
        (run, version): (&Run, &str),
        events: &Sender<E>,
        explains: impl Fn(&FrameError) -> String + Send + 'static,
    ) -> io::Result<Self>
    where
        E: From<Told> + Send + 'static,
        R: Read + Send + 'static,
        W: Write + Send + 'static,
    {
        let number = branch.host;
        let version = version.to_owned();
        let opening = move |from: &mut _| Ok(await_preamble(from, &version)?);
        let events = events.clone();
        let (hosts, leads) = (run.hosts.clone(), branch.clone());
        let believed = Cell::new(true);
        let check = move |frame: &Frame<Up>| match leads.leads_to(frame.host) {
            true => frame.message.check(frame.host, &hosts),
            false => Err("speaks for a host that is not behind it"),
        };
        let deliver = move |heard| {
            if !believed.get() {
                return;
            }
            let heard = match heard {
                Heard::Frame(frame) => check(&frame).map_or_else(
                    |what| Heard::Closed(FrameError::Impossible(what)),
                    |()| Heard::Frame(frame),
                ),
                closed @ Heard::Closed(_) => closed,
            };
            let told = match heard {
                Heard::Frame(frame) => Told::Frame(frame),
                Heard::Closed(error) => {
                    believed.set(false);
                    Told::Closed(number, explains(&error))
                }
            };
            // Nobody waits for it any more.
            let _ = events.send(told.into());
        };
        let link = Link::start(
            run.hosts.name(number),
            streams,
            (first, opening),
            (Down::Beat, Up::Beat),
            deliver,
        )?;
        let start = Down::Start {
            host: number,
            below: branch.below.clone(),
            run: Box::new(run.clone()),
        };
        link.send(number, &start)?;
        Ok(Self {
            branch,
            link: Some(link),
            carrier,
            silence: Silence::default(),
            closed: false,
        })
    }
}

/// Why the link to an agent that has connected to here has ended, in words for the user.
fn gone(error: &FrameError, connection: &Connection, version: &str) -> String {
    match (connection.given_up(), error) {
        (Some(why), _) => why.to_owned(),
        (None, FrameError::Opening(PreambleError::Version(theirs))) => other_version(theirs, version),
        (None, FrameError::Ended | FrameError::Broken(_) | FrameError::Opening(_)) => {
            "its process is gone: it was killed or ended by itself, or its host or the link to it is down".to_owned()
        }
        (None, FrameError::Nonsense | FrameError::Impossible(_)) => error.to_string(),
    }
}

fn other_version(theirs: &str, ours: &str) -> String {
    format!(
        "it has fathomp {theirs}, and here it is {ours}: install the same one at the same path on all hosts"
    )
}

/// Why the link to an agent has ended, in words for the user.
fn explain(error: &FrameError, process: &Process, about: (&Host, &str, &str)) -> String {
    let (host, shown, version) = about;
    let end = process.conclude();
    let said = match end.said.is_empty() {
        true => String::new(),
        false => format!(" ({})", end.said),
    };
    if let Some(why) = end.given_up {
        return why.to_owned();
    }
    let status = end.status.map_or_else(
        || "in an unknown way".to_owned(),
        |ending| ending.to_string(),
    );
    match error {
        FrameError::Opening(PreambleError::Version(theirs)) => other_version(theirs, version),
        FrameError::Opening(PreambleError::Stranger) => {
            format!("what answered is no agent of fathomp{said}: see what `{shown}` prints")
        }
        FrameError::Opening(PreambleError::Ended) if host.is_here() => {
            format!("its agent ended at once, by {status}{said}")
        }
        FrameError::Opening(PreambleError::Ended) => match end.status {
            Some(Ending::Exited(126 | 127)) => format!(
                "fathomp cannot be started there{said}: install it at the same path on all hosts"
            ),
            _ => format!(
                "it cannot be reached, the command that logs in ended by {status}{said}: check that `{shown}` works and asks nothing"
            ),
        },
        FrameError::Nonsense | FrameError::Impossible(_) => format!("{error}{said}"),
        FrameError::Ended | FrameError::Broken(_) if host.is_here() => {
            format!("its agent ended by {status}{said}")
        }
        FrameError::Ended | FrameError::Broken(_) => {
            format!("the connection to its agent ended by {status}{said}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Bytes, Job, write, write_preamble};
    use crate::plan::Hosts;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    fn run() -> Run {
        let nothing = || Bytes(Vec::new());
        Run {
            hosts: Hosts::parse("a,b").unwrap(),
            by_name: true,
            remote: Vec::new(),
            agent: nothing(),
            agent_arguments: Vec::new(),
            fan_out: 2,
            ports: None,
            secure: false,
            job: Job {
                program: nothing(),
                program_sha256: [0; 32],
                arguments: Vec::new(),
                environment: Vec::new(),
                directory: nothing(),
                limits: Vec::new(),
                umask: 0,
                files: nothing(),
                files_are_shared: false,
                sidecar: None,
            },
        }
    }

    /// What is heard of the agent of host b, which says that.
    fn heard_of(said: &[(u16, Up)]) -> Vec<Told> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (events, told) = mpsc::channel::<Told>();
        let mut children = Children::default();
        let known = (&run(), "1");
        children.adopt((1, ours.into()), known, &events).unwrap();
        write_preamble(&mut theirs, "1").unwrap();
        for (host, what) in said {
            write(&mut theirs, *host, what).unwrap();
        }
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        drop((events, children));
        told.iter().collect()
    }

    #[test]
    fn an_agent_that_lies_is_gone_and_its_lie_is_named() {
        let asked = || (1, Up::Asked(1));
        let report = Up::Report {
            by: 1,
            node: 7,
            text: String::new(),
        };
        for (lie, named) in [
            ((0, Up::Asked(1)), "speaks for a host that is not behind it"),
            ((1, report), "reports a node that there is none of"),
        ] {
            let told = heard_of(&[asked(), lie, asked()]);
            let [Told::Frame(frame), Told::Closed(1, why)] = &told[..] else {
                panic!("{told:?}");
            };
            assert_eq!(frame.message, Up::Asked(1));
            assert!(why.contains(named), "{why}");
        }
    }
}
