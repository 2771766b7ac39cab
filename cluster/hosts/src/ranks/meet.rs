//! How ranks find the first of them, and what each is from then on.

use super::mpi_thread::{MpiThread, NotBegun};
use super::pmi::{Pmi, PmiError};
use super::rank_info::{self, First as Told, RankInfo, Stray};
use crate::key::Key;
use crate::mesh::{self, Goal, Hello, Listener, Wanted};
use crate::plan::{Hosts, NODES_MAX};
use fathomp_launch::{Started, Starter};
use fathomp_sys::descriptor::{close_on_exec_from, inherited};
use fathomp_sys::mpi::MpiError;
use std::ffi::OsString;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long ranks are waited for that need to learn that there is no launch.
const PARTING_TIMEOUT: Duration = Duration::from_secs(2);

/// By what ranks find each other.
#[derive(Clone, Copy, Debug)]
pub enum Way<'a> {
    /// By PMI-1, which what has started them speaks.
    Pmi,
    /// By MPI, through this library, built of [`SOURCE`](fathomp_sys::mpi::SOURCE).
    Mpi {
        /// Its file.
        library: &'a Path,
        /// Whether MPI also carries what nodes send each other.
        carries: bool,
    },
}

/// Ranks have not met.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// Some are not there.
    #[error(
        "not all {size} ranks that {by} has started have begun within {} s: give all of them the same command, or allow more by --start-timeout", patience.as_secs()
    )]
    Late {
        /// What has started them.
        by: Starter,
        /// How many there are.
        size: u32,
        /// How long was waited.
        patience: Duration,
    },
    /// There is nothing by which they can find each other.
    #[error(
        "{0} lets its tasks find each other only if it is asked to: add --mpi=pmi2 to its options"
    )]
    NoWay(Starter),
    /// What has started them does not speak PMI-1 as it should.
    #[error("{by} does not tell its ranks of each other as PMI-1 has it: {source}")]
    Pmi {
        /// What has started them.
        by: Starter,
        /// What went wrong.
        source: PmiError,
    },
    /// MPI does not work.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// Another MPI than that which has started them.
    #[error(
        "{version} knows of {said} rank(s), and {by} has started {size}: it is another MPI than the one of that mpirun: name the mpicc that belongs to it by --mpicc"
    )]
    OtherMpi {
        /// What MPI calls itself.
        version: String,
        /// How many ranks it knows.
        said: u32,
        /// What has started them.
        by: Starter,
        /// How many it has started.
        size: u32,
    },
    /// More than can be numbered.
    #[error("{size} ranks with {nodes} node(s) each are more than {NODES_MAX} nodes: start fewer")]
    TooMany {
        /// How many ranks there are.
        size: u32,
        /// Nodes of each.
        nodes: u16,
    },
    /// Ranks were asked to run different programs.
    #[error(
        "rank {rank} was started to run `{command}`, and rank 0 `{first}`: all ranks run one program together, so give all of them the same one with the same arguments"
    )]
    OtherCommand {
        /// A rank.
        rank: u32,
        /// How its command begins.
        command: String,
        /// How that of the first begins.
        first: String,
    },
    /// What the first rank says makes no sense.
    #[error(
        "what rank {0} says makes no sense: start the same command, of the same version of fathomp, for all ranks"
    )]
    Nonsense(u32),
    /// The first rank cannot be reached.
    #[error(
        "{me}: it cannot connect to rank 0 at port {port} ({why}): open that port between the hosts, or choose open ones by --ports"
    )]
    Unreachable {
        /// The rank that tries.
        me: String,
        /// The port of the first.
        port: u16,
        /// What was tried.
        why: String,
    },
    /// None of the ports that were given can be had.
    #[error("none of the ports {0} to {1} can be listened at: {2}: give others by --ports")]
    Ports(u16, u16, io::Error),
    /// The system refuses something.
    #[error("ranks cannot meet: {0}")]
    System(#[from] io::Error),
}

impl MeetError {
    /// Who finds the same.
    #[must_use]
    pub fn found_by(&self) -> FoundBy {
        match self {
            Self::NoWay(_) | Self::TooMany { .. } | Self::OtherCommand { .. } => FoundBy::All,
            Self::Unreachable { .. } => FoundBy::One,
            _ => FoundBy::Most,
        }
    }
}

/// Which ranks find that they cannot meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// All, so the first says it.
    All,
    /// Most likely all.
    Most,
    /// One alone, which has to say it.
    One,
}

/// What all ranks have when they have met.
pub(crate) struct Common {
    pub(crate) key: Key,
    /// What carries connections of nodes, if it is not TCP.
    pub(crate) mpi_thread: Option<MpiThread>,
    /// Why it does not, any more.
    pub(crate) fails: Receiver<String>,
}

/// The first rank, which launches.
pub struct First {
    pub(crate) common: Common,
    pub(crate) hosts: Hosts,
    pub(crate) agent_socket: AgentSocket,
    pub(crate) ending: Option<Ending>,
}

/// Another rank.
pub struct Member {
    pub(crate) common: Common,
    /// To the launcher.
    pub(crate) stream: TcpStream,
    /// How sentences call it.
    name: String,
    pub(crate) ending: Option<Ending>,
}

impl First {
    /// The ranks, as hosts.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }
}

impl Member {
    /// Its host and its rank, in words.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// This process, after all have met.
pub enum Met {
    /// It is the first.
    First(Box<First>),
    /// It is another.
    Member(Box<Member>),
}

/// Where the first rank waits for others.
pub(crate) struct AgentSocket {
    /// Agents of other ranks, as they connect, until somebody takes that.
    pub(crate) joins: Option<Receiver<(u16, TcpStream)>>,
    /// How many there will be.
    expected: u16,
    told: Told,
    _listener: Listener,
}

/// If there is no launch after all, others are let in to learn so: otherwise each would say that
/// it cannot connect.
impl Drop for AgentSocket {
    fn drop(&mut self) {
        let Some(joins) = self.joins.take() else {
            return;
        };
        let until = Instant::now() + PARTING_TIMEOUT;
        for _ in 0..self.expected {
            let left = until.saturating_duration_since(Instant::now());
            if joins.recv_timeout(left).is_err() {
                return;
            }
        }
    }
}

/// Has MPI end when this does: all ranks have to wait for each other there.
pub(crate) struct Ending(MpiThread);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Has all ranks find each other that are to run this program. Each has so many nodes. The first
/// listens at one of these ports, or at any.
///
/// # Errors
/// If they do not.
pub fn meet(
    started: &Started,
    way: Way<'_>,
    command: &[OsString],
    (nodes, ports): (u16, Option<(u16, u16)>),
    patience: Duration,
) -> Result<Met, MeetError> {
    let too_many = MeetError::TooMany {
        size: started.size,
        nodes,
    };
    let count = u16::try_from(started.size).ok();
    let Some(count) =
        count.filter(|count| u32::from(*count) * u32::from(nodes) <= u32::from(NODES_MAX))
    else {
        return Err(too_many);
    };
    let mut agent_socket = match started.rank {
        0 => Some(open(count, ports)?),
        _ => None,
    };
    let own = RankInfo::own(
        agent_socket
            .as_ref()
            .map(|agent_socket| agent_socket.told.clone()),
        command,
    );
    let (failing, fails) = mpsc::channel();
    let (all, mut mpi_thread) = exchange(started, way, &own, patience, failing)?;
    // Sockets of mpirun and of MPI are not for programs.
    close_on_exec_from(3)?;
    let mut infos = Vec::new();
    for (rank, bytes) in (0..).zip(&all) {
        infos.push(RankInfo::decode(bytes).ok_or(MeetError::Nonsense(rank))?);
    }
    let ending = mpi_thread.clone().map(Ending);
    if let Some(Stray {
        rank,
        command,
        first,
    }) = rank_info::stray(&infos)
    {
        // All find this, so nobody comes.
        if let Some(agent_socket) = &mut agent_socket {
            agent_socket.joins = None;
        }
        return Err(MeetError::OtherCommand {
            rank,
            command,
            first,
        });
    }
    if let Some(mpi_thread) = &mut mpi_thread {
        mpi_thread.leave(rank_info::processors_left(&infos, &own));
    }
    let hosts = rank_info::hosts(&infos, nodes).ok_or(too_many)?;
    let first = infos.first().ok_or(MeetError::Nonsense(0))?;
    let told = first.first.clone().ok_or(MeetError::Nonsense(0))?;
    let common = Common {
        key: told.key.clone(),
        mpi_thread,
        fails,
    };
    Ok(match agent_socket {
        Some(agent_socket) => Met::First(Box::new(First {
            common,
            hosts,
            agent_socket,
            ending,
        })),
        None => {
            let me = u16::try_from(started.rank).map_err(|_| MeetError::Nonsense(0))?;
            let name = hosts.name(me).to_owned();
            let stream = connect(me, &name, own.ways_to(first), &told)?;
            Met::Member(Box::new(Member {
                common,
                stream,
                name,
                ending,
            }))
        }
    })
}

/// Begins to listen for the agents of other ranks.
fn open(hosts: u16, ports: Option<(u16, u16)>) -> Result<AgentSocket, MeetError> {
    let key = Key::fresh()?;
    let (joining, joins) = mpsc::channel();
    let wanted = Wanted::Agents { hosts };
    let listener = Listener::start(ports, key.clone(), wanted, move |hello, _, stream| {
        let _ = joining.send((hello.from, stream));
    });
    let listener = listener.map_err(|error| match ports {
        Some((first, last)) => MeetError::Ports(first, last, error),
        None => error.into(),
    })?;
    let told = Told {
        port: listener.port(),
        addresses: mesh::addresses(),
        key,
    };
    Ok(AgentSocket {
        joins: Some(joins),
        expected: hosts.saturating_sub(1),
        told,
        _listener: listener,
    })
}

/// Gives every rank the infos of all.
fn exchange(
    started: &Started,
    way: Way<'_>,
    own: &RankInfo,
    patience: Duration,
    failing: Sender<String>,
) -> Result<(Vec<Vec<u8>>, Option<MpiThread>), MeetError> {
    let (by, size) = (started.by, started.size);
    let late = || MeetError::Late { by, size, patience };
    let too_long = || MeetError::System(io::Error::other("the name of this host is too long"));
    match way {
        Way::Pmi => {
            let number = started.pmi.ok_or(MeetError::NoWay(by))?;
            let info = own.encode().ok_or_else(too_long)?;
            let (tell, told) = mpsc::channel();
            let asked = started.clone();
            let socket = inherited(number)?;
            thread::Builder::new()
                .name("pmi".to_owned())
                .spawn(move || {
                    let gathered = Pmi::begin(socket, &asked).and_then(|mut pmi| {
                        let all = pmi.gather(&info)?;
                        pmi.finalize()?;
                        Ok(all)
                    });
                    let _ = tell.send(gathered);
                })?;
            let gathered = told.recv_timeout(patience).map_err(|_| late())?;
            let all = gathered.map_err(|source| MeetError::Pmi { by, source })?;
            Ok((all, None))
        }
        Way::Mpi { library, carries } => {
            let info = own.encode_padded().ok_or_else(too_long)?;
            let begun = MpiThread::begin(library, (info, size), carries, patience, move |why| {
                let _ = failing.send(why);
            });
            let (begun, mpi_thread) = begun.map_err(|why| match why {
                NotBegun::Mpi(error) => error.into(),
                NotBegun::System(error) => error.into(),
                NotBegun::Late => late(),
            })?;
            match begun.size == size {
                true => Ok((begun.all, mpi_thread)),
                false => Err(MeetError::OtherMpi {
                    version: begun.version,
                    said: begun.size,
                    by,
                    size,
                }),
            }
        }
    }
}

/// Connects to the launcher.
fn connect(
    me: u16,
    name: &str,
    addresses: Vec<std::net::IpAddr>,
    told: &Told,
) -> Result<TcpStream, MeetError> {
    let goal = Goal {
        hello: Hello::of_agent(me),
        name: None,
        port: told.port,
        addresses,
    };
    let (_, stream) = mesh::reach(&goal, &told.key).map_err(|why| MeetError::Unreachable {
        me: name.to_owned(),
        port: told.port,
        why,
    })?;
    mesh::settle(&stream)?;
    Ok(stream)
}
