//! The agent of a host: it starts the program there, connects it with the other hosts, passes
//! its streams on, and leaves nothing of it behind.

mod agent_socket;
mod asking;
mod attended;
mod begin;
mod carried;
mod check;
mod give;
mod meeting;
mod program;
mod setup;
mod streams;

pub use attended::Attended;
pub(crate) use begin::attend_by;
pub use begin::{AgentError, attend, serve};
pub use check::digest;
pub use setup::{Begun, Setup, Sidecar, Tell};

use crate::children::{Children, Told};
use crate::control::{ALL, Bytes, Down, Frame, Heard, Link, Place, Run, Silence, Stream, TICK, Up};
use crate::key::Key;
use crate::mesh::{self, Connector, Hello, Listener, Proof, Wanted};
use crate::ranks::MpiThread;
use crate::supervisor::{self, FromSupervisor};
use crate::tree;
use agent_socket::Said;
use asking::{Asker, Asking};
use fathomp_sys::clock;
use fathomp_transport::tcp::SILENT;
use fathomp_transport::tcp::handover::{FromAgent, ToAgent};
use fathomp_types::NodeId;
use give::{Carried, Wire, give};
use meeting::Meeting;
use nix::sys::signal::Signal;
use program::{Hear, HostProgram};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long what has ended may take to be gone.
const END_TIMEOUT: Duration = Duration::from_millis(2_500);
/// How long the last words of a program may take after its end.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// Everything that an agent waits for.
enum Event {
    Above(Heard<Down>),
    Below(Told),
    Supervisor(Result<FromSupervisor, String>),
    Said(Said),
    Wire(Hello, Proof, TcpStream),
    Unconnected(String),
    /// A program that had asked is gone.
    Left(u32),
    /// An output of the program has ended.
    Quiet,
    /// The host of the second node does not answer the first any more.
    Silent(NodeId, NodeId),
}

impl From<Told> for Event {
    fn from(told: Told) -> Self {
        Self::Below(told)
    }
}

/// How nodes of different hosts are connected.
enum Roads {
    /// By TCP, which agents connect.
    Tcp,
    /// By what agents carry over MPI.
    Mpi(MpiThread),
}

struct Agent {
    me: u16,
    run: Box<Run>,
    key: Key,
    up: Link<Up>,
    above: Silence,
    /// The launcher has been stopped and cannot say that it lives.
    paused: bool,
    children: Children,
    listener: Option<Listener>,
    places: Vec<Place>,
    roads: Roads,
    meeting: Meeting<Wire>,
    host_program: Option<HostProgram>,
    /// Until the program has ended.
    sidecar: Option<Box<dyn Sidecar>>,
    /// The program that has asked for connections and is not known to be gone.
    asking: Option<Asking>,
    /// Until when the last words of the program are waited for.
    ending_said: Option<Instant>,
    /// When to be gone at the latest, if all is to end, and how it does.
    ending: Option<(Instant, Attended)>,
    events: Sender<Event>,
}

impl Agent {
    fn new(
        (me, run): (u16, Box<Run>),
        key: Key,
        (up, roads): (Link<Up>, Roads),
        events: Sender<Event>,
    ) -> Self {
        Self {
            me,
            meeting: Meeting::new(run.hosts.clone(), me, run.secure),
            run,
            key,
            up,
            above: Silence::default(),
            paused: false,
            children: Children::default(),
            listener: None,
            places: Vec::new(),
            roads,
            host_program: None,
            sidecar: None,
            asking: None,
            ending_said: None,
            ending: None,
            events,
        }
    }

    fn say(&self, what: &Up) {
        debug_assert_eq!(what.check(self.me, &self.run.hosts), Ok(()));
        // Only a piece of a stream could be too long, and those are cut.
        let _ = self.up.send(self.me, what);
    }

    /// Looks whether all is there, listens, and starts the agents below.
    fn begin(&mut self, setup: &Setup<'_>, below: Vec<u16>) -> Result<Place, String> {
        let branches = tree::branches(&below, self.run.fan_out);
        let known = (&*self.run, &self.key, setup.version);
        let (children, failed) = Children::start(branches, known, &self.events);
        self.children = children;
        for (host, why) in failed {
            let _ = self.up.send(host, &Up::Failed(why));
        }
        check::check(&self.run.job)?;
        (setup.prepare)(&self.run.job)?;
        if let Roads::Mpi(_) = self.roads {
            return Ok(Place::default());
        }
        let wanted = Wanted::Nodes {
            here: self.run.hosts.nodes_of(self.me),
            nodes: self.run.hosts.nodes(),
            secure: self.run.secure,
        };
        let events = self.events.clone();
        let listener = Listener::start(self.run.ports, self.key.clone(), wanted, {
            move |hello, proof, stream| drop(events.send(Event::Wire(hello, proof, stream)))
        });
        let listener = listener.map_err(|error| match self.run.ports {
            Some((first, last)) => format!(
                "none of the ports {first} to {last} can be listened at: {error}: give others by --ports"
            ),
            None => format!("no port can be listened at: {error}"),
        })?;
        let place = Place {
            port: listener.port(),
            addresses: mesh::addresses(),
        };
        self.listener = Some(listener);
        Ok(place)
    }

    /// Works until all is to end. How it did.
    fn work(mut self, setup: &Setup<'_>, happens: &Receiver<Event>) -> Attended {
        let mut next = Instant::now() + TICK;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match happens.recv_timeout(wait) {
                Ok(event) => self.take(event, setup),
                Err(RecvTimeoutError::Timeout) => {}
                // There is a sender in `self`.
                Err(RecvTimeoutError::Disconnected) => return Attended::Forsaken,
            }
            if Instant::now() >= next {
                next = Instant::now() + TICK;
                self.tick();
            }
            self.report_end();
            if let Some((until, how)) = self.ending {
                let late = Instant::now() >= until;
                let gone = self.host_program.as_ref().is_none_or(HostProgram::is_gone);
                if late || gone && self.children.are_gone() {
                    self.leave(how);
                    return how;
                }
            }
        }
    }

    fn tick(&mut self) {
        if self.paused {
            self.above.forgive();
            self.children.forgive();
            return;
        }
        self.children.tick();
        if self.above.look(self.up.heard()) {
            self.end(Attended::Forsaken);
        }
    }

    fn take(&mut self, event: Event, setup: &Setup<'_>) {
        match event {
            Event::Above(Heard::Frame(frame)) => self.obey(frame, setup),
            // Without a launcher nobody wants the program's results.
            Event::Above(Heard::Closed(_)) => self.end(Attended::Forsaken),
            Event::Below(Told::Frame(frame)) => drop(self.up.send(frame.host, &frame.message)),
            Event::Below(Told::Closed(host, why)) => {
                let behind = self.children.close(host);
                if self.ending.is_none() {
                    let _ = self.up.send(host, &Up::Lost(why));
                }
                for host in behind {
                    let why = "the agent that had started its own is gone".to_owned();
                    let _ = self.up.send(host, &Up::Lost(why));
                }
            }
            Event::Supervisor(told) => self.hear_keeper(told),
            Event::Said(said) => self.hear_program(said),
            Event::Wire(hello, proof, stream) => {
                self.meeting.add(hello, Wire::Proved(proof, stream));
                self.hand_over(None);
            }
            Event::Unconnected(why) => self.say(&Up::Failed(why)),
            Event::Left(generation) => {
                let left = self
                    .asking
                    .take_if(|asking| asking.generation == generation);
                self.tell_of_leaving(left);
            }
            Event::Quiet => self.quiet(),
            Event::Silent(mine, peer) => self.say(&Up::Report {
                by: mine.0,
                node: peer.0,
                text: SILENT.to_owned(),
            }),
        }
    }

    fn obey(&mut self, frame: Frame<Down>, setup: &Setup<'_>) {
        let Frame { host, message } = frame;
        if host != self.me {
            let _ = self.children.send(host, &message);
        }
        if host != self.me && host != ALL {
            return;
        }
        if let Err(what) = message.check(&self.run.hosts) {
            self.say(&Up::Failed(format!(
                "its launcher {what}: run the same fathomp on all hosts"
            )));
            return;
        }
        match message {
            Down::Beat | Down::Start { .. } => {}
            Down::Go(places) => {
                self.places = places;
                if let Err(why) = self.start_program(setup) {
                    self.say(&Up::Failed(why));
                }
            }
            Down::Signal(number) => {
                let is = |signal: Signal| number == signal as i32;
                if is(Signal::SIGTSTP) {
                    self.paused = true;
                } else if is(Signal::SIGCONT) {
                    self.paused = false;
                }
                if let Some(host_program) = &self.host_program {
                    host_program.signal(number);
                }
            }
            Down::Clock => self.say(&Up::Clock(clock::now().0)),
            Down::Stop(true) => self.end(Attended::Dismissed),
            Down::Stop(false) => self.end(Attended::Bereft),
            Down::Input(bytes) => {
                if let Some(host_program) = &self.host_program {
                    host_program.input(bytes);
                }
            }
            Down::InputEnd => {
                if let Some(host_program) = &mut self.host_program {
                    host_program.end_input();
                }
            }
            Down::Credit(stream, bytes) => {
                if let Some(host_program) = &self.host_program {
                    host_program.credit(stream, bytes);
                }
            }
            Down::Unread(stream) => {
                if let Some(host_program) = &self.host_program {
                    host_program.unread(stream);
                }
            }
        }
    }

    fn start_program(&mut self, setup: &Setup<'_>) -> Result<(), String> {
        let mut supervisor = Command::new(self.run.agent.to_os());
        supervisor.args(setup.supervisor);
        let ears = Ears {
            events: self.events.clone(),
            up: self.up.clone(),
            me: self.me,
        };
        if self.run.job.sidecar.is_some() {
            let (up, me) = (self.up.clone(), self.me);
            let tell = Box::new(move |bytes| drop(up.send(me, &Up::Sidecar(Bytes(bytes)))));
            self.sidecar = Some((setup.sidecar)(&self.run.job, tell)?);
        }
        // Standard input is the first host's.
        let sidecar = &mut self.sidecar;
        let watch = |starts| {
            if let Some(sidecar) = sidecar {
                sidecar.watch(starts);
            }
        };
        let how = (&self.run.job, self.me == 0);
        let started = HostProgram::start(&mut supervisor, how, watch, &ears);
        let host_program =
            started.map_err(|error| format!("the program cannot be started: {error}"))?;
        self.host_program = Some(host_program);
        Ok(())
    }

    fn hear_keeper(&mut self, told: Result<FromSupervisor, String>) {
        let Some(host_program) = &mut self.host_program else {
            return;
        };
        match told {
            Ok(FromSupervisor::Ended(status)) => {
                host_program.ended(status);
                self.ending_said = Some(Instant::now() + LAST_WORDS_TIMEOUT);
            }
            Ok(FromSupervisor::Stands { process, signal }) => {
                self.say(&Up::Note(format!(
                    "the program's process {process} was stopped by signal {signal}, and all others may wait for it: let it go on (there: kill -CONT {process}), or end the program"
                )));
            }
            Ok(FromSupervisor::Failed(why)) => {
                host_program.lost();
                self.say(&Up::Failed(why));
            }
            Err(_) if host_program.is_gone() => {}
            Err(why) => {
                host_program.lost();
                self.say(&Up::Failed(why));
            }
        }
    }

    fn quiet(&mut self) {
        if let Some(host_program) = &mut self.host_program {
            host_program.quiet();
        }
    }

    /// Tells how the program has ended, once it has said all it will.
    fn report_end(&mut self) {
        let late = self
            .ending_said
            .is_some_and(|until| Instant::now() >= until);
        let Some(host_program) = &mut self.host_program else {
            return;
        };
        if host_program.has_status()
            && (host_program.is_quiet() || late)
            && let Some(status) = host_program.take_status()
        {
            if let Some(sidecar) = self.sidecar.take() {
                sidecar.end();
            }
            self.say(&Up::Ended(status));
        }
    }

    fn hear_program(&mut self, said: Said) {
        match said {
            Said::Nothing => self.quiet(),
            Said::Nonsense => self.say(&Up::Failed(
                "the program said something to its agent that makes no sense: run it by the same fathomp".to_owned(),
            )),
            Said::Packet(_, ToAgent::Report(abort)) => {
                let report = Up::Report {
                    by: abort.by.0,
                    node: abort.node.0,
                    text: abort.text,
                };
                match report.check(self.me, &self.run.hosts) {
                    Ok(()) => self.say(&report),
                    Err(what) => self.say(&Up::Failed(format!(
                        "the program {what}: run it by the same fathomp"
                    ))),
                }
            }
            Said::Packet(from, ToAgent::Hello { .. }) => self.connect(from),
        }
    }

    /// A program asks for connections.
    fn connect(&mut self, pid: Option<u32>) {
        // The one before may be gone, though nobody has told so yet.
        let before = self.asking.take_if(|asking| asking.process.may_be_gone());
        self.tell_of_leaving(before);
        if self.asking.is_some() {
            let text = "two programs with OpenMP run at the same time on one host: have the script run one after the other".to_owned();
            if let Some(host_program) = &self.host_program {
                let _ = host_program
                    .agent_socket
                    .say(&FromAgent::Refuse { text: text.clone() }, None);
            }
            self.say(&Up::Failed(text));
            return;
        }
        let mut goals = self.meeting.begin(&self.places);
        let generation = self.meeting.generation();
        let asking = Asking {
            generation,
            process: Asker::of(pid),
            connected: false,
        };
        self.say(&Up::Asked(generation));
        self.watch(&asking);
        self.asking = Some(asking);
        if let Roads::Mpi(mpi_thread) = &self.roads {
            let mpi_thread = mpi_thread.clone();
            match self.carry(&mpi_thread) {
                Ok(carried) => self.hand_over(Some(carried)),
                Err(error) => self.say(&Up::Failed(format!(
                    "it cannot make sockets for its program: {error}: allow more open files (ulimit -n)"
                ))),
            }
            return;
        }
        if !self.run.by_name {
            goals.iter_mut().for_each(|goal| goal.name = None);
        }
        let (events, hosts) = (self.events.clone(), self.run.hosts.clone());
        let started = Connector::start(self.key.clone(), goals, move |goal, connected| {
            let event = match connected {
                Ok((proof, stream)) => Event::Wire(goal.hello, proof, stream),
                Err(why) => {
                    let there = hosts
                        .host_of(goal.hello.to)
                        .map_or("", |host| hosts.name(host));
                    Event::Unconnected(format!(
                        "its agent cannot connect to that of {there} at port {} ({why}): open that port between the hosts, or choose open ones by --ports",
                        goal.port
                    ))
                }
            };
            let _ = events.send(event);
        });
        if let Err(error) = started {
            self.say(&Up::Failed(format!(
                "it cannot connect to other hosts: {error}"
            )));
        }
        self.hand_over(None);
    }

    /// A program that had asked is gone. If it was connected, programs of other hosts may still have
    /// to ask: their agents take connections before.
    fn tell_of_leaving(&self, asking: Option<Asking>) {
        if let Some(asking) = asking.filter(|asking| !asking.connected) {
            self.say(&Up::Left(asking.generation));
        }
    }

    /// Has it told when a process is gone.
    fn watch(&self, asking: &Asking) {
        let (events, asking) = (self.events.clone(), asking.clone());
        let left = move || {
            let generation = asking.generation;
            if asking.wait() {
                let _ = events.send(Event::Left(generation));
            }
        };
        // Without the thread others notice by their connections.
        let _ = thread::Builder::new().name("watch".to_owned()).spawn(left);
    }

    /// Gives the program its connections, if all are there.
    fn hand_over(&mut self, carried: Option<Carried>) {
        let (Some(asking), Some(host_program)) = (&mut self.asking, &self.host_program) else {
            return;
        };
        let Some(hosts) = self.run.hosts.for_program(self.me) else {
            return;
        };
        let Some(wires) = self.meeting.take() else {
            return;
        };
        asking.connected = true;
        let (agent_socket, key) = (
            host_program.agent_socket.clone(),
            self.run.secure.then(|| self.key.clone()),
        );
        let events = self.events.clone();
        let silent = move |mine, peer| drop(events.send(Event::Silent(mine, peer)));
        let hand = move || {
            // If the program has ended meanwhile that is told of elsewhere.
            let _ = give(&agent_socket, key.as_ref(), hosts, carried, wires, silent);
        };
        // The program may be slow to take them.
        if let Err(error) = thread::Builder::new()
            .name("hands over".to_owned())
            .spawn(hand)
        {
            self.say(&Up::Failed(format!(
                "connections cannot be handed over: {error}"
            )));
        }
    }

    /// Begins to end all that is here and below.
    fn end(&mut self, how: Attended) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some((Instant::now() + END_TIMEOUT, how));
        if let Some(host_program) = &self.host_program {
            host_program.end();
        }
        let all = how == Attended::Dismissed;
        let _ = self.children.send(ALL, &Down::Stop(all));
    }

    /// Leaves nothing behind.
    fn leave(mut self, how: Attended) {
        self.children.kill();
        supervisor::kill_all(&[]);
        if let Some(sidecar) = self.sidecar.take() {
            sidecar.end();
        }
        // Without a launcher there is nobody to be told.
        if how != Attended::Forsaken {
            let strangers = self.listener.as_ref().map_or(0, Listener::strangers);
            self.say(&Up::Bye { strangers });
            self.up.flush(Duration::from_secs(1));
        }
    }
}

/// What is heard of the program's parts.
#[derive(Clone)]
struct Ears {
    events: Sender<Event>,
    up: Link<Up>,
    me: u16,
}

impl Hear for Ears {
    fn supervisor(&self, told: Result<FromSupervisor, String>) {
        let _ = self.events.send(Event::Supervisor(told));
    }

    fn said(&self, said: Said) {
        let _ = self.events.send(Event::Said(said));
    }

    fn output(&self, stream: Stream, bytes: Bytes) {
        let _ = self.up.send(self.me, &Up::Output(stream, bytes));
    }

    fn quiet(&self) {
        let _ = self.events.send(Event::Quiet);
    }

    fn taken(&self, bytes: u32) {
        let _ = self.up.send(self.me, &Up::Credit(bytes));
    }
}
