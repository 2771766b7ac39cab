//! The least that a network between hosts takes for what nodes send each other: messages to and
//! fro over the connections that nodes would have, without anything of a node.
//!
//! A process on each host [takes part](take_part); that of the first host leads. It says what
//! comes next in words of 8 bytes over its connection to each of the others, who sleep until
//! then. Answers can be waited for in two ways, as nodes do: looking again and again, or asleep
//! in the kernel.

use super::connection::Connection;
use super::handover::Hosts;
use super::taken::TakenWire;
use fathomp_sys::affinity;
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::polling::{Epoll, Interest};
use std::io::{ErrorKind, IoSlice};
use std::time::Duration;

/// How long nothing may come before a host counts as lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a question, and of an answer that says hardly anything.
const WORD_BYTES: usize = 8;
/// Bytes of an answer that is a page.
const PAGE_BYTES: usize = fathomp_types::PAGE_BYTES;
/// Bytes of an answer whose time is mostly bandwidth.
pub const LARGE_BYTES: usize = 1 << 20;
/// Meetings in a sample.
const MEETINGS: u64 = 20;
/// Meetings or trips that are not counted: the first ones of a kind are slower.
const WARMING_UP: u32 = 3;
/// Samples of each kind that are taken however long they take.
const SAMPLES_MIN: usize = 3;

/// How somebody waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Looks again and again.
    Looking,
    /// Sleeps in the kernel.
    Asleep,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Samples of each kind, at most.
    pub samples: u32,
    /// Time after which there are fewer, but 3, for each kind.
    pub limit: Duration,
}

/// Round trips between the first two hosts in a way of waiting, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Trips {
    /// 8 bytes there and 8 back.
    pub word_ns: Vec<f64>,
    /// 8 bytes there and a page back.
    pub page_ns: Vec<f64>,
    /// 8 bytes there and [`LARGE_BYTES`] back.
    pub large_ns: Vec<f64>,
}

/// What the network takes.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    /// Processors that each host's process may use.
    pub processors: Vec<u32>,
    /// Both sides look.
    pub looking: Trips,
    /// Both sides sleep.
    pub asleep: Trips,
    /// Who asks looks, and who answers sleeps: as if a thread there computed.
    pub at_work: Trips,
    /// All of the first so many hosts hear of each other, looking and asleep: 8 bytes
    /// to one other host and 8 from one, as often as that takes.
    pub meetings: Vec<Meetings>,
}

/// How long so many hosts take to meet.
#[derive(Clone, Debug)]
pub struct Meetings {
    /// How many hosts.
    pub hosts: u16,
    /// While all look, in nanoseconds.
    pub looking_ns: Vec<f64>,
    /// While all sleep, likewise.
    pub asleep_ns: Vec<f64>,
}

/// The network could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FloorError {
    /// There is no network.
    #[error("the network between hosts takes two of them: name a second one, as in --hosts a,b")]
    Alone,
    /// A host is not heard of.
    #[error("host {host} is not heard of while the network is measured: {why}")]
    Lost {
        /// Its name.
        host: String,
        /// What is known.
        why: String,
    },
    /// A host says something else than it should.
    #[error(
        "host {0} says what makes no sense while the network is measured: it may have another version of fathomp"
    )]
    Nonsense(String),
    /// No connection was handed over.
    #[error("there is no connection to host {0}: start it again")]
    NoWire(String),
}

/// What the leader says, in a word: what is to be done, how to wait, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Say {
    /// Say how many processors there are.
    Processors,
    /// Answer words with so many bytes each, until one is zero.
    Answer(Wait, u64),
    /// So many of the first hosts meet so often.
    Meet(Wait, u64, u64),
    /// That was all.
    End,
}

impl Say {
    fn word(self) -> u64 {
        let pack = |kind: u64, wait: Wait, first: u64, second: u64| {
            let asleep = u64::from(wait == Wait::Asleep);
            kind << 56 | asleep << 48 | (first & 0xffff) << 32 | (second & 0xffff_ffff)
        };
        match self {
            Self::Processors => pack(1, Wait::Asleep, 0, 0),
            Self::Answer(wait, bytes) => pack(2, wait, 0, bytes),
            Self::Meet(wait, hosts, times) => pack(3, wait, hosts, times),
            Self::End => pack(4, Wait::Asleep, 0, 0),
        }
    }

    fn of(word: u64) -> Option<Self> {
        let wait = match (word >> 48) & 0xff {
            0 => Wait::Looking,
            1 => Wait::Asleep,
            _ => return None,
        };
        let (first, second) = ((word >> 32) & 0xffff, word & 0xffff_ffff);
        match word >> 56 {
            1 => Some(Self::Processors),
            2 if (1..=LARGE_BYTES as u64).contains(&second) => Some(Self::Answer(wait, second)),
            3 if first > 1 => Some(Self::Meet(wait, first, second)),
            4 => Some(Self::End),
            _ => None,
        }
    }
}

/// Takes part in measuring; the answer is the first host's.
///
/// # Errors
/// If there is only one host, or another is not heard of.
pub fn take_part(
    hosts: &Hosts,
    wires: Vec<TakenWire>,
    extent: Extent,
) -> Result<Option<Floor>, FloorError> {
    if hosts.all().len() < 2 {
        return Err(FloorError::Alone);
    }
    let party = Party::new(hosts, wires)?;
    match hosts.me() {
        0 => party.lead(extent).map(Some),
        _ => party.follow().map(|()| None),
    }
}

/// A connection to another host.
struct Line {
    wire: Connection,
    post: Epoll,
    name: String,
}

/// This host's process among those of all.
struct Party {
    me: usize,
    /// By host; none for this one.
    lines: Vec<Option<Line>>,
}

impl Party {
    fn new(hosts: &Hosts, wires: Vec<TakenWire>) -> Result<Self, FloorError> {
        let count = u16::try_from(hosts.all().len()).unwrap_or(u16::MAX);
        let first = |host| hosts.nodes_of(host).start;
        let mut lines: Vec<Option<Line>> = (0..count).map(|_| None).collect();
        for taken in wires {
            if taken.mine.0 != first(hosts.me()) {
                continue;
            }
            let host = (0..count).find(|host| first(*host) == taken.peer.0);
            let Some(host) = host else {
                continue;
            };
            let name = hosts.name_of(taken.peer).to_owned();
            let post =
                Epoll::new().and_then(|post| post.add(taken.wire.socket(), 0).map(|()| post));
            let post = post.map_err(|error| FloorError::Lost {
                host: name.clone(),
                why: error.to_string(),
            })?;
            lines[usize::from(host)] = Some(Line {
                wire: taken.wire,
                post,
                name,
            });
        }
        Ok(Self {
            me: hosts.me().into(),
            lines,
        })
    }

    fn line(&self, host: usize) -> Result<&Line, FloorError> {
        let line = self.lines.get(host).and_then(Option::as_ref);
        line.ok_or_else(|| FloorError::NoWire(host.to_string()))
    }

    /// Everything, at the first host.
    fn lead(&self, extent: Extent) -> Result<Floor, FloorError> {
        let others = 1..self.lines.len();
        let mut processors = vec![processors()];
        for host in others.clone() {
            let line = self.line(host)?;
            line.say(Say::Processors)?;
            processors.push(u32::try_from(line.word(Wait::Asleep)?).unwrap_or(u32::MAX));
        }
        let trips = |mine, theirs| {
            let trip = |bytes| self.trips(mine, theirs, bytes, extent);
            Ok::<_, FloorError>(Trips {
                word_ns: trip(WORD_BYTES)?,
                page_ns: trip(PAGE_BYTES)?,
                large_ns: trip(LARGE_BYTES)?,
            })
        };
        let mut floor = Floor {
            processors,
            looking: trips(Wait::Looking, Wait::Looking)?,
            asleep: trips(Wait::Asleep, Wait::Asleep)?,
            at_work: trips(Wait::Looking, Wait::Asleep)?,
            meetings: Vec::new(),
        };
        let all = u16::try_from(self.lines.len()).unwrap_or(u16::MAX);
        for hosts in sizes(all) {
            floor.meetings.push(Meetings {
                hosts,
                looking_ns: self.meetings(Wait::Looking, hosts, extent)?,
                asleep_ns: self.meetings(Wait::Asleep, hosts, extent)?,
            });
        }
        for host in others {
            self.line(host)?.say(Say::End)?;
        }
        Ok(floor)
    }

    /// Times of questions that the second host answers with so many bytes.
    fn trips(
        &self,
        mine: Wait,
        theirs: Wait,
        bytes: usize,
        extent: Extent,
    ) -> Result<Vec<f64>, FloorError> {
        let line = self.line(1)?;
        line.say(Say::Answer(theirs, bytes as u64))?;
        let mut room = vec![0; bytes];
        let mut trip = || {
            let sent_ns = monotonic_ns();
            line.send(&1_u64.to_le_bytes())?;
            line.receive(&mut room, mine)?;
            Ok((monotonic_ns() - sent_ns) as f64)
        };
        let times = sample(extent, &mut trip)?;
        line.send(&0_u64.to_le_bytes())?;
        Ok(times)
    }

    /// Times of meetings of the first so many hosts.
    fn meetings(&self, wait: Wait, hosts: u16, extent: Extent) -> Result<Vec<f64>, FloorError> {
        sample(extent, &mut || {
            for host in 1..usize::from(hosts) {
                self.line(host)?
                    .say(Say::Meet(wait, hosts.into(), MEETINGS))?;
            }
            // The first one waits until all are awake.
            self.meet(wait, hosts.into())?;
            let began_ns = monotonic_ns();
            for _ in 1..MEETINGS {
                self.meet(wait, hosts.into())?;
            }
            Ok((monotonic_ns() - began_ns) as f64 / (MEETINGS - 1) as f64)
        })
    }

    /// Returns when all of the first so many hosts have come: in each round everybody has heard
    /// of twice as many (the dissemination barrier).
    fn meet(&self, wait: Wait, hosts: usize) -> Result<(), FloorError> {
        let mut distance = 1;
        while distance < hosts {
            let to = (self.me + distance) % hosts;
            let from = (self.me + hosts - distance) % hosts;
            self.line(to)?.send(&1_u64.to_le_bytes())?;
            self.line(from)?.word(wait)?;
            distance *= 2;
        }
        Ok(())
    }

    /// What the first host asks for, until there is no more.
    fn follow(&self) -> Result<(), FloorError> {
        let leader = self.line(0)?;
        loop {
            let said = Say::of(leader.word(Wait::Asleep)?);
            match said.ok_or_else(|| FloorError::Nonsense(leader.name.clone()))? {
                Say::Processors => leader.send(&u64::from(processors()).to_le_bytes())?,
                Say::Answer(wait, bytes) => {
                    let answer = vec![7; bytes as usize];
                    while leader.word(wait)? != 0 {
                        leader.send(&answer)?;
                    }
                }
                Say::Meet(wait, hosts, times) => {
                    for _ in 0..times {
                        self.meet(wait, hosts as usize)?;
                    }
                }
                Say::End => return Ok(()),
            }
        }
    }
}

/// Numbers of hosts that meet: powers of two, and all.
fn sizes(all: u16) -> Vec<u16> {
    let doubling = std::iter::successors(Some(2_u16), |size| size.checked_mul(2));
    doubling
        .take_while(|size| *size < all)
        .chain([all])
        .collect()
}

/// Processors that this process may use.
fn processors() -> u32 {
    affinity::of_this_thread().map_or(1, |set| set.iter().count().try_into().unwrap_or(u32::MAX))
}

fn sample(
    extent: Extent,
    one: &mut dyn FnMut() -> Result<f64, FloorError>,
) -> Result<Vec<f64>, FloorError> {
    for _ in 0..WARMING_UP {
        one()?;
    }
    let began_ns = monotonic_ns();
    let limit_ns = u64::try_from(extent.limit.as_nanos()).unwrap_or(u64::MAX);
    let mut times_ns = Vec::new();
    while times_ns.len() < extent.samples as usize {
        if times_ns.len() >= SAMPLES_MIN && monotonic_ns() - began_ns > limit_ns {
            break;
        }
        times_ns.push(one()?);
    }
    Ok(times_ns)
}

impl Line {
    fn lost(&self, why: impl ToString) -> FloorError {
        FloorError::Lost {
            host: self.name.clone(),
            why: why.to_string(),
        }
    }

    fn say(&self, what: Say) -> Result<(), FloorError> {
        self.send(&what.word().to_le_bytes())
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), FloorError> {
        while !bytes.is_empty() {
            match self.wire.send(&[IoSlice::new(bytes)]) {
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.sleep_until(Interest::BytesOrRoom)?;
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
        Ok(())
    }

    fn sleep_until(&self, what: Interest) -> Result<(), FloorError> {
        let waited = self.wire.wait(&self.post, what, SILENCE_TIMEOUT);
        waited.map_err(|error| self.lost(error))
    }

    fn word(&self, wait: Wait) -> Result<u64, FloorError> {
        let mut word = [0; WORD_BYTES];
        self.receive(&mut word, wait)?;
        Ok(u64::from_le_bytes(word))
    }

    /// Fills `room`.
    fn receive(&self, mut room: &mut [u8], wait: Wait) -> Result<(), FloorError> {
        let mut nothing_since_ns = None;
        while !room.is_empty() {
            match self.wire.receive(room) {
                Ok(0) => return Err(self.lost("it has closed the connection")),
                Ok(got) => {
                    room = room.get_mut(got..).unwrap_or_default();
                    nothing_since_ns = None;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let now_ns = monotonic_ns();
                    let since_ns = *nothing_since_ns.get_or_insert(now_ns);
                    if u128::from(now_ns - since_ns) > SILENCE_TIMEOUT.as_nanos() {
                        return Err(self.lost("it says nothing"));
                    }
                    if wait == Wait::Asleep {
                        self.sleep_until(Interest::Bytes)?;
                    }
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::handover::Host;
    use super::*;
    use fathomp_sys::polling::NonblockingSocket;
    use fathomp_types::NodeId;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    fn hosts(me: u16, count: u16) -> Hosts {
        let host = |number: u16| Host {
            name: format!("h{number}"),
            nodes: 1,
        };
        Hosts::new(me, (0..count).map(host).collect()).unwrap()
    }

    /// Connections of each host to all others.
    fn wires(count: u16) -> Vec<Vec<TakenWire>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut wires: Vec<Vec<TakenWire>> = (0..count).map(|_| Vec::new()).collect();
        for one in 0..count {
            for other in one + 1..count {
                let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (there, _) = listener.accept().unwrap();
                for (mine, peer, stream) in [(one, other, here), (other, one, there)] {
                    stream.set_nodelay(true).unwrap();
                    wires[usize::from(mine)].push(TakenWire {
                        mine: NodeId(mine),
                        peer: NodeId(peer),
                        wire: Connection::Socket(NonblockingSocket::new(stream.into())),
                    });
                }
            }
        }
        wires
    }

    const EXTENT: Extent = Extent {
        samples: 5,
        limit: Duration::from_secs(60),
    };

    #[test]
    fn every_kind_has_samples() {
        let mut all = wires(3).into_iter();
        let first = all.next().unwrap();
        let others: Vec<_> = (1..3)
            .zip(all)
            .map(|(me, wires)| thread::spawn(move || take_part(&hosts(me, 3), wires, EXTENT)))
            .collect();
        let floor = take_part(&hosts(0, 3), first, EXTENT).unwrap().unwrap();
        for other in others {
            assert!(other.join().unwrap().unwrap().is_none());
        }
        assert_eq!(floor.processors.len(), 3);
        for trips in [&floor.looking, &floor.asleep, &floor.at_work] {
            for times in [&trips.word_ns, &trips.page_ns, &trips.large_ns] {
                assert!(times.len() == 5 && times.iter().all(|ns| *ns > 0.0));
            }
        }
        let sizes: Vec<u16> = floor.meetings.iter().map(|one| one.hosts).collect();
        assert_eq!(sizes, [2, 3]);
        for meetings in &floor.meetings {
            assert_eq!(
                (meetings.looking_ns.len(), meetings.asleep_ns.len()),
                (5, 5)
            );
        }
    }

    #[test]
    fn a_host_that_ends_or_lies_is_named() {
        let mut both = wires(2);
        drop(both.pop());
        let error = take_part(&hosts(0, 2), both.remove(0), EXTENT).unwrap_err();
        assert!(
            error.to_string().contains("host h1 is not heard of"),
            "{error}"
        );
        let mut both = wires(2);
        let liar = both.remove(0).remove(0);
        let sent = liar.wire.send(&[IoSlice::new(&u64::MAX.to_le_bytes())]);
        assert_eq!(sent.unwrap(), 8);
        let error = take_part(&hosts(1, 2), both.remove(0), EXTENT).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("host h0 says what makes no sense"),
            "{error}"
        );
        let error = take_part(&hosts(0, 1), Vec::new(), EXTENT).unwrap_err();
        assert!(error.to_string().contains("name a second one"), "{error}");
    }

    #[test]
    fn what_is_said_is_heard() {
        for said in [
            Say::Processors,
            Say::Answer(Wait::Looking, 8),
            Say::Answer(Wait::Asleep, LARGE_BYTES as u64),
            Say::Meet(Wait::Looking, 256, 20),
            Say::End,
        ] {
            assert_eq!(Say::of(said.word()), Some(said));
        }
        for nonsense in [0, u64::MAX, 2 << 56, 3 << 56] {
            assert_eq!(Say::of(nonsense), None);
        }
    }
}
