//! The agent of a host: it starts the program there, connects it with the other hosts, passes
//! its streams on, and leaves nothing of it behind.

mod asking;
mod check;
mod door;
mod give;
mod guest;
mod meeting;
mod streams;

pub use check::digest;

use crate::children::{Children, Told};
use crate::control::{
    self, ALL, Bytes, Down, Frame, Heard, Job, Link, Place, Run, Silence, Stream, TICK, Up,
};
use crate::keeper::{self, FromKeeper};
use crate::key::{KEY_BYTES, Key};
use crate::mesh::{self, Connector, Hello, Listener, Proof, Wanted};
use crate::tree;
use asking::{Asker, Asking};
use door::Said;
use fathomp_sys::clock;
use fathomp_transport::tcp::handover::{FromAgent, ToAgent};
use give::give;
use guest::{Guest, Hear};
use meeting::Meeting;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long what has ended may take to be gone.
const ENDING: Duration = Duration::from_millis(2_500);
/// How long the last words of a program may take after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What an agent needs besides what it is told.
pub struct Setup<'a> {
    /// The version, which has to be that of the launcher.
    pub version: &'a str,
    /// Arguments by which this program becomes a [keeper](crate::keeper::keep).
    pub keeper: &'a [&'a str],
    /// Has the caller's files lie where a program looks for them; why they do not.
    pub prepare: &'a dyn Fn(&Job) -> Result<(), String>,
    /// Begins what the caller does beside the program, if the [job](Job::beside) asks for it,
    /// before it is started; what is told goes to the launcher's caller.
    pub beside: &'a dyn Fn(&Job, Tell) -> Result<Beside, String>,
}

/// Tells the launcher's caller something.
pub type Tell = Box<dyn Fn(Vec<u8>) + Send>;
/// Ends what is done beside a program, which has ended.
pub type Beside = Box<dyn FnOnce() + Send>;

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

/// Everything that an agent waits for.
enum Event {
    Above(Heard<Down>),
    Below(Told),
    Keeper(Result<FromKeeper, String>),
    Said(Said),
    Wire(Hello, Proof, TcpStream),
    Unconnected(String),
    /// A program that had asked is gone.
    Left(u32),
    /// An output of the program has ended.
    Quiet,
}

impl From<Told> for Event {
    fn from(told: Told) -> Self {
        Self::Below(told)
    }
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
    let (events, happens) = mpsc::channel();
    let above = events.clone();
    control::write_preamble(&mut output, setup.version)?;
    input
        .read_exact(&mut key)
        .map_err(|error| AgentError::NoLauncher(error.to_string()))?;
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
            Ok(_) => {}
            Err(error) => return Err(AgentError::NoLauncher(error.to_string())),
        }
    };
    have_descriptors();
    // Best effort: the keeper adopts what the program leaves behind.
    let _ = keeper::adopt();
    let mut agent = Agent {
        me: host,
        meeting: Meeting::new(run.hosts.clone(), host, run.secure),
        run,
        key: Key::of(key),
        up,
        above: Silence::default(),
        paused: false,
        children: Children::default(),
        listener: None,
        places: Vec::new(),
        guest: None,
        beside: None,
        asking: None,
        ending_said: None,
        ending: None,
        events,
    };
    match agent.begin(setup, below) {
        Ok(place) => agent.say(&Up::Ready(place)),
        Err(why) => agent.say(&Up::Failed(why)),
    }
    agent.work(setup, &happens);
    Ok(())
}

/// Allows this process as many descriptors as it may have: each connection is one until the
/// program has it.
fn have_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
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
    meeting: Meeting<(Proof, TcpStream)>,
    guest: Option<Guest>,
    /// Until the program has ended.
    beside: Option<Beside>,
    /// The program that has asked for connections and is not known to be gone.
    asking: Option<Asking>,
    /// Until when the last words of the program are waited for.
    ending_said: Option<Instant>,
    /// When to be gone at the latest, if all is to end; whether somebody is to be told.
    ending: Option<(Instant, bool)>,
    events: Sender<Event>,
}

impl Agent {
    fn say(&self, what: &Up) {
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
        let wanted = Wanted {
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

    fn work(mut self, setup: &Setup<'_>, happens: &Receiver<Event>) {
        let mut next = Instant::now() + TICK;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match happens.recv_timeout(wait) {
                Ok(event) => self.take(event, setup),
                Err(RecvTimeoutError::Timeout) => {}
                // There is a sender in `self`.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= next {
                next = Instant::now() + TICK;
                self.tick();
            }
            self.report_end();
            if let Some((until, told)) = self.ending {
                let late = Instant::now() >= until;
                let gone = self.guest.as_ref().is_none_or(Guest::is_gone);
                if late || gone && self.children.are_gone() {
                    self.leave(told);
                    return;
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
            self.end(false);
        }
    }

    fn take(&mut self, event: Event, setup: &Setup<'_>) {
        match event {
            Event::Above(Heard::Frame(frame)) => self.obey(frame, setup),
            // Without a launcher nobody wants the program's results.
            Event::Above(Heard::Closed(_)) => self.end(false),
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
            Event::Keeper(told) => self.hear_keeper(told),
            Event::Said(said) => self.hear_program(said),
            Event::Wire(hello, proof, stream) => {
                self.meeting.add(hello, (proof, stream));
                self.hand_over();
            }
            Event::Unconnected(why) => self.say(&Up::Failed(why)),
            Event::Left(generation) => {
                if self
                    .asking
                    .as_ref()
                    .is_some_and(|asking| asking.generation == generation)
                {
                    self.asking = None;
                    self.say(&Up::Left(generation));
                }
            }
            Event::Quiet => self.quiet(),
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
                if let Some(guest) = &self.guest {
                    guest.signal(number);
                }
            }
            Down::Clock => self.say(&Up::Clock(clock::now().0)),
            Down::Stop => self.end(true),
            Down::Input(bytes) => {
                if let Some(guest) = &self.guest {
                    guest.input(bytes);
                }
            }
            Down::InputEnd => {
                if let Some(guest) = &mut self.guest {
                    guest.end_input();
                }
            }
            Down::Credit(stream, bytes) => {
                if let Some(guest) = &self.guest {
                    guest.credit(stream, bytes);
                }
            }
            Down::Unread(stream) => {
                if let Some(guest) = &self.guest {
                    guest.unread(stream);
                }
            }
        }
    }

    fn start_program(&mut self, setup: &Setup<'_>) -> Result<(), String> {
        let mut keeper = Command::new(self.run.agent.to_os());
        keeper.args(setup.keeper);
        let ears = Ears {
            events: self.events.clone(),
            up: self.up.clone(),
            me: self.me,
        };
        if self.run.job.beside.is_some() {
            let (up, me) = (self.up.clone(), self.me);
            let tell = Box::new(move |bytes| drop(up.send(me, &Up::Beside(Bytes(bytes)))));
            self.beside = Some((setup.beside)(&self.run.job, tell)?);
        }
        // Standard input is the first host's.
        let started = Guest::start(&mut keeper, &self.run.job, self.me == 0, &ears);
        let guest = started.map_err(|error| format!("the program cannot be started: {error}"))?;
        self.guest = Some(guest);
        Ok(())
    }

    fn hear_keeper(&mut self, told: Result<FromKeeper, String>) {
        let Some(guest) = &mut self.guest else { return };
        match told {
            Ok(FromKeeper::Ended(status)) => {
                guest.ended(status);
                self.ending_said = Some(Instant::now() + LAST_WORDS);
            }
            Ok(FromKeeper::Failed(why)) => {
                guest.lost();
                self.say(&Up::Failed(why));
            }
            Err(_) if guest.is_gone() => {}
            Err(why) => {
                guest.lost();
                self.say(&Up::Failed(why));
            }
        }
    }

    fn quiet(&mut self) {
        if let Some(guest) = &mut self.guest {
            guest.quiet();
        }
    }

    /// Tells how the program has ended, once it has said all it will.
    fn report_end(&mut self) {
        let late = self
            .ending_said
            .is_some_and(|until| Instant::now() >= until);
        let Some(guest) = &mut self.guest else { return };
        if guest.has_status()
            && (guest.is_quiet() || late)
            && let Some(status) = guest.take_status()
        {
            if let Some(end) = self.beside.take() {
                end();
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
            Said::Packet(_, ToAgent::Report(abort)) => self.say(&Up::Report {
                by: abort.by.0,
                node: abort.node.0,
                text: abort.text,
            }),
            Said::Packet(from, ToAgent::Hello { .. }) => self.connect(from),
        }
    }

    /// A program asks for connections.
    fn connect(&mut self, pid: Option<u32>) {
        // The one before may be gone, though nobody has told so yet.
        if let Some(before) = self.asking.take_if(|asking| asking.process.may_be_gone()) {
            self.say(&Up::Left(before.generation));
        }
        if self.asking.is_some() {
            let text = "two programs with OpenMP run at the same time on one host: have the script run one after the other".to_owned();
            if let Some(guest) = &self.guest {
                let _ = guest
                    .door
                    .say(&FromAgent::Refuse { text: text.clone() }, None);
            }
            self.say(&Up::Failed(text));
            return;
        }
        let goals = self.meeting.begin(&self.places);
        let generation = self.meeting.generation();
        let asking = Asking {
            generation,
            process: Asker::of(pid),
        };
        self.say(&Up::Asked(generation));
        self.watch(&asking);
        self.asking = Some(asking);
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
        self.hand_over();
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
    fn hand_over(&mut self) {
        let (Some(_), Some(guest)) = (&self.asking, &self.guest) else {
            return;
        };
        let Some(hosts) = self.run.hosts.for_program(self.me) else {
            return;
        };
        let Some(wires) = self.meeting.take() else {
            return;
        };
        let (door, key) = (
            guest.door.clone(),
            self.run.secure.then(|| self.key.clone()),
        );
        let hand = move || {
            // If the program has ended meanwhile that is told of elsewhere.
            let _ = give(&door, key.as_ref(), hosts, wires);
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
    fn end(&mut self, told: bool) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some((Instant::now() + ENDING, told));
        if let Some(guest) = &self.guest {
            guest.end();
        }
        let _ = self.children.send(ALL, &Down::Stop);
    }

    /// Leaves nothing behind.
    fn leave(mut self, told: bool) {
        self.children.kill();
        keeper::kill_all(&[]);
        if let Some(end) = self.beside.take() {
            end();
        }
        if told {
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
    fn keeper(&self, told: Result<FromKeeper, String>) {
        let _ = self.events.send(Event::Keeper(told));
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
