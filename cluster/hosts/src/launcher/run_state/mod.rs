//! The course of a run, as its launcher sees it: what is heard of hosts, and what follows.
//!
//! Knows no clock, no stream and no process, so that every end can be tried.

use super::trouble::{Kind, Trouble, Troubles};
use crate::control::{ALL, Down, Place, Up};
use crate::plan::Hosts;
use fathomp_types::Ending;
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// How long agents may take to end what is left.
const AGENTS_END_TIMEOUT: Duration = Duration::from_secs(3);
/// How long other hosts' programs may take to end after the first host's.
const PROGRAMS_END_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a program may take to end after a signal that asks it to.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(4);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A message to a host, or to all.
    Send(u16, Down),
    /// A sentence for the user.
    Say(String),
    /// All agents are ready: standard input may be read.
    Begin,
}

/// What is known of a host.
#[derive(Clone, Debug, Default)]
struct Known {
    place: Option<Place>,
    asked: u32,
    ended: Option<Ending>,
    /// Its agent is gone.
    gone: bool,
    /// It was not told to, and has not said so: it was lost.
    lost: bool,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How the first host's program ended, if it did by itself.
    pub(super) status: Option<Ending>,
    /// A sentence has been said; whether the program ran by then.
    pub(super) failed: Option<bool>,
    /// The signal that asked for the end.
    pub(super) interrupted: Option<i32>,
    /// Connections to agents that were not from agents.
    pub(super) strangers: u32,
    /// All agents have left as they were told to: none was lost.
    pub(super) complete: bool,
}

/// How agents come to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// What to do about an agent that is not there.
    late: &'static str,
    /// What is heard of an agent that is gone. Where somebody else has started them, that one
    /// ends all of them as soon as one is gone, so there is no time to hear more.
    gone: Kind,
}

impl Manner {
    pub(super) const STARTED_FROM_HERE: Self = Self {
        late: "check that one can log in there",
        gone: Kind::Host,
    };
    pub(super) const STARTED_APART: Self = Self {
        late: "check that the same command is started for all ranks and that they can connect to the host of rank 0",
        gone: Kind::Rank,
    };
}

pub(super) struct RunState {
    hosts: Hosts,
    patience: Duration,
    manner: Manner,
    known: Vec<Known>,
    actions: Vec<Action>,
    troubles: Troubles,
    going: bool,
    /// Until when what is waited for has to be there: agents, then nodes.
    waiting: Option<Instant>,
    /// How many programs have asked on the host where most have.
    generation: u32,
    /// Until when the other hosts' programs may run on, or all after a signal.
    following: Option<Instant>,
    /// Until when agents have to be gone.
    ending: Option<Instant>,
    verdict: Verdict,
}

impl RunState {
    pub(super) fn new(hosts: Hosts, (patience, manner): (Duration, Manner), now: Instant) -> Self {
        Self {
            manner,
            known: vec![Known::default(); hosts.all().len()],
            hosts,
            patience,
            actions: Vec::new(),
            troubles: Troubles::default(),
            going: false,
            waiting: Some(now + patience),
            generation: 0,
            following: None,
            ending: None,
            verdict: Verdict {
                status: None,
                failed: None,
                interrupted: None,
                strangers: 0,
                complete: false,
            },
        }
    }

    /// What is to be done now.
    pub(super) fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// How it went, once nothing is left to wait for.
    pub(super) fn verdict(&self, now: Instant) -> Option<Verdict> {
        let late = self.ending.is_some_and(|until| now >= until);
        let gone = self.known.iter().all(|known| known.gone);
        (late || gone && self.troubles.are_none()).then_some(Verdict {
            complete: gone && self.is_complete(),
            ..self.verdict
        })
    }

    /// A host has said something.
    pub(super) fn hear(&mut self, host: u16, said: Up, now: Instant) {
        let Some(known) = self.known.get_mut(usize::from(host)) else {
            return;
        };
        match said {
            Up::Ready(place) => {
                known.place = Some(place);
                self.go();
            }
            Up::Failed(why) => self.trouble(Kind::Host, self.of_host(host, &why), now),
            Up::Lost(why) => self.lose(host, &why, now),
            Up::Asked(generation) => {
                known.asked = generation;
                if generation > self.generation {
                    self.generation = generation;
                    self.waiting = Some(now + self.patience);
                }
                self.meet(now);
            }
            Up::Note(what) => self.actions.push(Action::Say(self.of_host(host, &what))),
            Up::Beat | Up::Output(..) | Up::Credit(_) | Up::Clock(_) | Up::Sidecar(_) => {}
            Up::Left(generation) => {
                if self.known.iter().any(|known| known.asked < generation) {
                    let why = "its program ended before it was connected with all hosts";
                    self.trouble(Kind::Exit, self.of_host(host, why), now);
                }
            }
            Up::Report { by, node, text } => {
                let kind = match by == node {
                    true => Kind::OwnReport,
                    false => Kind::Report,
                };
                let there = self.hosts.host_of(node).unwrap_or(host);
                let name = self.hosts.name(there);
                self.trouble(kind, format!("node {node} (host {name}): {text}"), now);
            }
            Up::Ended(status) => {
                known.ended = Some(status);
                self.ended(host, status, now);
            }
            Up::Bye { strangers } => {
                known.gone = true;
                let all = &mut self.verdict.strangers;
                *all = all.saturating_add(strangers);
            }
        }
    }

    /// The agent of a host is gone.
    pub(super) fn lose(&mut self, host: u16, why: &str, now: Instant) {
        let Some(known) = self.known.get_mut(usize::from(host)) else {
            return;
        };
        let expected = known.gone || self.ending.is_some() || self.verdict.status.is_some();
        known.lost |= !known.gone;
        known.gone = true;
        if !expected {
            self.trouble(self.manner.gone, self.of_host(host, why), now);
        }
    }

    /// Somebody has sent this process a signal.
    pub(super) fn signal(&mut self, number: i32, now: Instant) {
        self.send(ALL, Down::Signal(number));
        if !Ending::STOPPING.contains(&number) {
            return;
        }
        self.verdict.interrupted.get_or_insert(number);
        match self.going {
            true => {
                let until = now + SIGNAL_TIMEOUT;
                self.following = Some(self.following.map_or(until, |before| before.min(until)));
            }
            false => self.stop(now),
        }
    }

    /// Something of the launcher's own is broken.
    pub(super) fn broken(&mut self, why: String, now: Instant) {
        self.trouble(Kind::OwnReport, why, now);
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Instant) {
        if self.waiting.is_some_and(|until| now >= until) {
            self.waiting = None;
            self.late(now);
        }
        let all_ended = self
            .known
            .iter()
            .all(|known| known.ended.is_some() || known.gone);
        if let Some(trouble) = self.troubles.due(now, all_ended && self.going)
            && self.verdict.failed.is_none()
        {
            self.verdict.failed = Some(trouble.ran);
            self.actions.push(Action::Say(trouble.sentence));
            self.stop(now);
        }
        let followed = self.following.is_some_and(|until| now >= until);
        if followed || all_ended && self.troubles.are_none() {
            self.stop(now);
        }
    }

    fn send(&mut self, host: u16, what: Down) {
        self.actions.push(Action::Send(host, what));
    }

    fn of_host(&self, host: u16, why: &str) -> String {
        format!("host {}: {why}", self.hosts.name(host))
    }

    /// Something went wrong, unless the end is wanted, or was said already.
    fn trouble(&mut self, kind: Kind, sentence: String, now: Instant) {
        let wanted = self.verdict.interrupted.is_some();
        if self.ending.is_none() && !wanted && self.verdict.failed.is_none() {
            let ran = self.going && !matches!(kind, Kind::Host | Kind::Rank) || self.generation > 0;
            self.troubles.add(
                Trouble {
                    kind,
                    sentence,
                    ran,
                },
                now,
            );
        }
    }

    /// Starts the program on all hosts, once all are ready.
    fn go(&mut self) {
        let places: Option<Vec<_>> = self.known.iter().map(|known| known.place.clone()).collect();
        if let (false, None, Some(places)) = (self.going, self.ending, places) {
            self.going = true;
            self.waiting = None;
            self.send(ALL, Down::Go(places));
            self.actions.push(Action::Begin);
        }
    }

    /// Ends what is left everywhere.
    fn stop(&mut self, now: Instant) {
        if self.ending.is_none() {
            self.ending = Some(now + AGENTS_END_TIMEOUT);
            self.waiting = None;
            self.following = None;
            self.send(ALL, Down::Stop(self.is_complete()));
        }
    }

    /// No agent was lost so far.
    fn is_complete(&self) -> bool {
        self.known.iter().all(|known| !known.lost)
    }

    /// Whether all hosts' programs ask for connections as often as one did.
    fn meet(&mut self, now: Instant) {
        let generation = self.generation;
        let missing: Vec<&Known> = self
            .known
            .iter()
            .filter(|known| known.asked < generation)
            .collect();
        if missing.is_empty() {
            if self.going {
                self.waiting = None;
            }
            return;
        }
        let Some(ended) = self.position(|known| known.asked < generation && known.ended.is_some())
        else {
            return;
        };
        let other = self
            .position(|known| known.asked == generation)
            .unwrap_or(0);
        let sentence = format!(
            "host {}: its program ended without becoming a node, while that of host {} became one: see to it that both run the same program with the same input",
            self.hosts.name(ended),
            self.hosts.name(other)
        );
        self.trouble(Kind::Exit, sentence, now);
    }

    fn position(&self, is: impl Fn(&Known) -> bool) -> Option<u16> {
        let found = self.known.iter().position(is)?;
        u16::try_from(found).ok()
    }

    /// The program of a host has ended.
    fn ended(&mut self, host: u16, status: Ending, now: Instant) {
        let by_signal = match status {
            // Nobody reads the output any more: a usual end.
            Ending::Signalled(number) => number != Signal::SIGPIPE as i32,
            Ending::Exited(_) => false,
        };
        let well = status == Ending::Exited(0);
        if by_signal {
            let why = format!("its program was killed by {status}");
            self.trouble(Kind::Signal, self.of_host(host, &why), now);
        }
        if host == 0 {
            self.verdict.status = Some(status);
            if !well {
                self.troubles.forgive_exits();
            }
            let until = now + PROGRAMS_END_TIMEOUT;
            self.following = Some(self.following.map_or(until, |before| before.min(until)));
        } else if !well
            && !by_signal
            && self
                .verdict
                .status
                .is_none_or(|first| first == Ending::Exited(0))
        {
            let why = format!("its program ended by {status}, and the run with it");
            self.trouble(Kind::Exit, self.of_host(host, &why), now);
        }
        self.meet(now);
    }

    /// What was waited for did not come in time.
    fn late(&mut self, now: Instant) {
        let generation = self.generation;
        let missing = |known: &Known| match self.going {
            false => known.place.is_none() && !known.gone,
            true => known.asked < generation,
        };
        let names: Vec<&str> = self
            .known
            .iter()
            .zip(self.hosts.all())
            .filter(|(known, _)| missing(known))
            .map(|(_, host)| host.name.as_str())
            .collect();
        let hosts = match names.len() {
            1 => "host",
            _ => "hosts",
        };
        let (names, seconds) = (names.join(", "), self.patience.as_secs());
        let sentence = match self.going {
            false => format!(
                "{hosts} {names}: no agent was ready within {seconds} s: {}, or allow more by --start-timeout",
                self.manner.late
            ),
            true => format!(
                "{hosts} {names}: the program did not become a node within {seconds} s after it had elsewhere: see to it that all run the same program with the same input, or allow more by --start-timeout"
            ),
        };
        self.trouble(Kind::Host, sentence, now);
    }
}

#[cfg(test)]
mod tests;
