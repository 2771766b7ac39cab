//! The launcher: starts the agents, and is the one program that the user sees.

mod clocks;
mod input;
mod leading;
mod lines;
mod output;
mod run_state;
mod trouble;

use crate::children::{Children, Told};
use crate::control::{ALL, Bytes, Down, Run, Stream, TICK, Up};
use crate::credits::Credits;
use crate::key::Key;
use crate::tree::{self, Branch};
use clocks::Clocks;
pub use clocks::Reading;
use fathomp_types::Ending;
use fathomp_types::Ticks;
pub use leading::lead;
use nix::sys::signal::{Signal, raise};
use output::{Output, Wrote};
use run_state::{Action, Manner, RunState, Verdict};
use signal_hook::iterator::Signals;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long what was said to agents may take to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);
/// How long agents' commands may take to end after their agents.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long output may take to be written when a run has failed.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// What a launcher needs besides the run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The version, which agents compare with theirs.
    pub version: String,
    /// Signals to pass on.
    pub signals: Vec<i32>,
    /// Standard output goes to standard error.
    pub quiet_stdout: bool,
    /// How long agents, and programs that wait for each other, may take to be there.
    pub patience: Duration,
}

/// What the launcher's caller is told meanwhile.
pub trait Caller {
    /// A sentence for the user.
    fn say(&self, sentence: &str);

    /// What its part of a host's agent tells.
    fn hear(&self, _host: u16, _told: Vec<u8>) {}
}

impl<F: Fn(&str)> Caller for F {
    fn say(&self, sentence: &str) {
        self(sentence);
    }
}

/// The counter of ticks of a host beside the launcher's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// Before the program began.
    pub begin: Option<Reading>,
    /// When it had ended, or as late as it was known.
    pub end: Option<Reading>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How the first host's program ended, if it did.
    pub status: Option<Ending>,
    /// It failed, as was said; whether the program ran by then.
    pub failed: Option<bool>,
    /// The signal that asked for the end.
    pub interrupted: Option<i32>,
    /// Connections to agents that were not from agents, and were refused.
    pub strangers: u32,
    /// How long it took.
    pub wall: Duration,
    /// The hosts' counters of ticks.
    pub clocks: Vec<HostClock>,
    /// All agents have left as they were told to: none was lost.
    pub complete: bool,
}

/// The launcher cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no key.
    #[error("the kernel gives no random numbers for a key: {0}")]
    Key(io::Error),
    /// There is something else that it needs.
    #[error("cannot launch over hosts: {0}")]
    System(#[from] io::Error),
}

/// Everything that a launcher waits for.
enum Event {
    Below(Told),
    /// The agent of a host has connected.
    Joined(u16, OwnedFd),
    /// What has started this process is gone.
    Orphaned,
    Signal(i32),
    Input(Option<Vec<u8>>),
    Wrote(Stream, Wrote),
}

impl From<Told> for Event {
    fn from(told: Told) -> Self {
        Self::Below(told)
    }
}

/// Runs a program on all hosts of a run; `caller` is told what it has to know meanwhile.
///
/// # Errors
/// If it cannot begin. What goes wrong on hosts is said.
pub fn launch(run: &Run, options: &Options, caller: &dyn Caller) -> Result<Ended, LaunchError> {
    let key = Key::fresh().map_err(LaunchError::Key)?;
    let known = (run, &key, options.version.as_str());
    let start = |events: &Sender<Event>| Ok(Children::start(branches(run), known, events));
    conduct(run, (options, Manner::STARTED_FROM_HERE), caller, start)
}

/// Does what a launcher does, with agents that `start` brings, and hosts where it cannot.
fn conduct(
    run: &Run,
    (options, manner): (&Options, Manner),
    caller: &dyn Caller,
    start: impl FnOnce(&Sender<Event>) -> io::Result<(Children, Vec<(u16, String)>)>,
) -> Result<Ended, LaunchError> {
    let started = Instant::now();
    let (events, happens) = mpsc::channel();
    pass_signals(options, &events)?;
    let out = match options.quiet_stdout {
        true => Stream::Err,
        false => Stream::Out,
    };
    let outputs = [(Stream::Out, out), (Stream::Err, Stream::Err)].map(|(stream, to)| {
        let events = events.clone();
        let tell = move |wrote| drop(events.send(Event::Wrote(stream, wrote)));
        Output::start(output::own(to)?, tell)
    });
    let [out, err] = outputs;
    let outputs = [out?, err?];
    let (children, failed) = start(&events)?;
    let mut launcher = Launcher {
        run,
        version: &options.version,
        course: RunState::new(run.hosts.clone(), (options.patience, manner), started),
        children,
        outputs,
        credits: None,
        events,
        caller,
        clocks: vec![Clocks::default(); usize::from(run.hosts.count())],
    };
    for (host, why) in failed {
        launcher.course.hear(host, Up::Failed(why), started);
        launcher
            .course
            .lose(host, "its agent was not started", started);
    }
    let verdict = launcher.work(&happens);
    let clock = |clocks: &Clocks| HostClock {
        begin: clocks.begin,
        end: clocks.end,
    };
    let clocks = launcher.clocks.iter().map(clock).collect();
    launcher.finish(&happens, &verdict);
    Ok(Ended {
        status: verdict.status,
        failed: verdict.failed,
        interrupted: verdict.interrupted,
        strangers: verdict.strangers,
        wall: started.elapsed(),
        clocks,
        complete: verdict.complete,
    })
}

/// Agents to start from here. What means this machine does not mean the same elsewhere.
fn branches(run: &Run) -> Vec<Branch> {
    let (here, elsewhere): (Vec<u16>, Vec<u16>) = (0..run.hosts.count()).partition(|host| {
        run.hosts
            .all()
            .get(usize::from(*host))
            .is_some_and(crate::plan::Host::is_here)
    });
    let own = here.into_iter().map(|host| Branch {
        host,
        below: Vec::new(),
    });
    own.chain(tree::branches(&elsewhere, run.fan_out)).collect()
}

fn pass_signals(options: &Options, events: &Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new(&options.signals)?;
    let events = events.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if events.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        })
        .map(drop)
}

struct Launcher<'a> {
    run: &'a Run,
    version: &'a str,
    course: RunState,
    children: Children,
    outputs: [Output; 2],
    /// How much of standard input may be read.
    credits: Option<Credits>,
    events: Sender<Event>,
    caller: &'a dyn Caller,
    clocks: Vec<Clocks>,
}

impl Launcher<'_> {
    fn work(&mut self, happens: &Receiver<Event>) -> Verdict {
        let mut next = Instant::now() + TICK;
        loop {
            self.act();
            let wait = next.saturating_duration_since(Instant::now());
            match happens.recv_timeout(wait) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                // There is a sender in `self`.
                Err(RecvTimeoutError::Disconnected) => {}
            }
            let now = Instant::now();
            if now >= next {
                next = now + TICK;
                self.children.tick();
                (0..self.clocks.len()).for_each(|host| self.ask_clock(host));
            }
            self.course.tick(now);
            if let Some(verdict) = self.course.verdict(now) {
                self.act();
                return verdict;
            }
        }
    }

    fn act(&mut self) {
        for action in self.course.actions() {
            match action {
                Action::Send(host, what) => {
                    debug_assert_eq!(what.check(&self.run.hosts), Ok(()));
                    drop(self.children.send(host, &what));
                }
                Action::Say(sentence) => self.caller.say(&sentence),
                Action::Begin => {
                    let events = self.events.clone();
                    let pass = move |bytes| drop(events.send(Event::Input(bytes)));
                    // Without the thread the program finds its input empty.
                    self.credits = input::start(pass).ok();
                    if self.credits.is_none() {
                        let _ = self.children.send(0, &Down::InputEnd);
                    }
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Below(Told::Frame(frame)) => match frame.message {
                Up::Output(stream, Bytes(bytes)) => {
                    let [out, err] = &self.outputs;
                    match stream {
                        Stream::Out => out.push(frame.host, bytes),
                        Stream::Err => err.push(frame.host, bytes),
                    }
                }
                Up::Credit(bytes) => {
                    if let Some(credits) = &self.credits {
                        credits.give(bytes);
                    }
                }
                Up::Sidecar(Bytes(bytes)) => self.caller.hear(frame.host, bytes),
                Up::Clock(ticks) => {
                    let host = usize::from(frame.host);
                    let clocks = self.clocks.get_mut(host);
                    if clocks.is_some_and(|clocks| clocks.hear(Ticks(ticks))) {
                        self.ask_clock(host);
                    }
                }
                said => {
                    if matches!(said, Up::Ready(_) | Up::Ended(_)) {
                        self.ask_clock(frame.host.into());
                    }
                    self.course.hear(frame.host, said, now);
                }
            },
            Event::Below(Told::Closed(host, why)) => {
                self.course.lose(host, &why, now);
                for behind in self.children.close(host) {
                    self.course
                        .lose(behind, "the agent that had started its own is gone", now);
                }
            }
            Event::Joined(host, socket) => {
                let known = (self.run, self.version);
                if let Err(error) = self.children.adopt((host, socket), known, &self.events) {
                    let why = format!("cannot talk to its agent: {error}");
                    self.course.hear(host, Up::Failed(why), now);
                }
            }
            Event::Orphaned => {
                let why = "what has started rank 0, as mpirun or srun, is gone".to_owned();
                self.course.broken(why, now);
            }
            Event::Signal(number) if number == Signal::SIGTSTP as i32 => self.pause(),
            Event::Signal(number) => self.course.signal(number, now),
            Event::Input(Some(bytes)) => drop(self.children.send(0, &Down::Input(Bytes(bytes)))),
            Event::Input(None) => drop(self.children.send(0, &Down::InputEnd)),
            Event::Wrote(stream, wrote) => match wrote {
                Wrote::Bytes(host, bytes) => {
                    drop(self.children.send(host, &Down::Credit(stream, bytes)))
                }
                Wrote::Unread => drop(self.children.send(ALL, &Down::Unread(stream))),
                Wrote::Failed(error) => {
                    let which = match stream {
                        Stream::Out => "output",
                        Stream::Err => "error",
                    };
                    let why = format!(
                        "cannot write to standard {which}: {error}: free some space or send it elsewhere"
                    );
                    self.course.broken(why, now);
                }
            },
        }
    }

    fn ask_clock(&mut self, host: usize) {
        let asks = self.clocks.get_mut(host).is_some_and(Clocks::ask);
        if let (true, Ok(host)) = (asks, u16::try_from(host)) {
            // One that is gone does not answer.
            let _ = self.children.send(host, &Down::Clock);
        }
    }

    /// Stops the program and this process, as a terminal's Ctrl-Z asks, until both are to go on.
    fn pause(&mut self) {
        let _ = self
            .children
            .send(ALL, &Down::Signal(Signal::SIGTSTP as i32));
        self.children.flush(FLUSH_TIMEOUT);
        // Returns when somebody has us go on.
        let _ = raise(Signal::SIGSTOP);
        self.children.forgive();
        let _ = self
            .children
            .send(ALL, &Down::Signal(Signal::SIGCONT as i32));
    }

    /// Waits for what is left of agents, and has all output written.
    fn finish(mut self, happens: &Receiver<Event>, verdict: &Verdict) {
        self.children.hang_up();
        let until = Instant::now() + CLOSE_TIMEOUT;
        while !self.children.are_gone() {
            let wait = until.saturating_duration_since(Instant::now());
            match happens.recv_timeout(wait) {
                Ok(event) => self.take(event),
                Err(_) => break,
            }
        }
        self.children.kill();
        let well = verdict.failed.is_none() && verdict.interrupted.is_none();
        let [out, err] = self.outputs;
        for output in [out, err] {
            output.finish((!well).then_some(OUTPUT_TIMEOUT));
        }
    }
}
