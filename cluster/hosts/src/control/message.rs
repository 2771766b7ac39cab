//! What launcher and agents say to each other.

use crate::plan::Hosts;
use fathomp_types::Ending;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Bytes of the operating system, which need not be text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes(pub Vec<u8>);

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        path.as_os_str().into()
    }
}

impl Bytes {
    /// As the system takes them.
    #[must_use]
    pub fn to_os(&self) -> OsString {
        OsString::from_vec(self.0.clone())
    }

    /// As the name of a file.
    #[must_use]
    pub fn to_path(&self) -> PathBuf {
        self.to_os().into()
    }
}

/// The program, and everything that decides at which addresses its parts lie: it has to be
/// the same on all hosts, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The file to execute, with a slash in its name.
    pub program: Bytes,
    /// SHA-256 of its content.
    pub program_sha256: [u8; 32],
    /// Its name and arguments.
    pub arguments: Vec<Bytes>,
    /// All its variables, `NAME=VALUE`.
    pub environment: Vec<(Bytes, Bytes)>,
    /// Its working directory.
    pub directory: Bytes,
    /// Soft limits: the kernel's number of the resource, and how much; none is no limit.
    pub limits: Vec<(u8, Option<u64>)>,
    /// The mask of new files' permissions.
    pub umask: u32,
    /// Where the caller's files, such as the runtime library, have to lie.
    pub files: Bytes,
    /// Others may write beside them.
    pub files_are_shared: bool,
    /// What the caller tells its part of each agent, which works [beside](crate::Setup) the
    /// program.
    pub sidecar: Option<Bytes>,
}

/// What all agents of a run are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// All hosts.
    pub hosts: Hosts,
    /// Whether the names of hosts lead to them.
    pub by_name: bool,
    /// The command that starts an agent on another host: its words, after which come the host
    /// and what is to run there.
    pub remote: Vec<String>,
    /// The file of this program, which is the same on all hosts.
    pub agent: Bytes,
    /// Its arguments if it is to be an agent.
    pub agent_arguments: Vec<String>,
    /// How many agents one starts.
    pub fan_out: u16,
    /// Ports that agents may listen on, first and last.
    pub ports: Option<(u16, u16)>,
    /// Whether what nodes send each other is encrypted.
    pub secure: bool,
    /// The program.
    pub job: Job,
}

/// Where an agent listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its port.
    pub port: u16,
    /// The addresses of its host, loopback left out.
    pub addresses: Vec<IpAddr>,
}

/// One of a program's output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What goes down, from the launcher to agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down {
    /// A sign of life.
    Beat,
    /// The first message: who the agent is, and the hosts whose agents it is to start.
    Start {
        /// The number of its host.
        host: u16,
        /// Hosts below it.
        below: Vec<u16>,
        /// The run.
        run: Box<Run>,
    },
    /// Where all agents listen, in the order of hosts: the program is to start.
    Go(Vec<Place>),
    /// Bytes of standard input.
    Input(Bytes),
    /// There are no more.
    InputEnd,
    /// So many bytes of an output stream have been written, so as many more may come.
    Credit(Stream, u32),
    /// Nobody reads that stream any more.
    Unread(Stream),
    /// A signal for the program.
    Signal(i32),
    /// What does the host's counter of ticks show?
    Clock,
    /// The program is to be killed, and the agent to leave; whether all other agents do so, and
    /// none is lost that somebody might wait for.
    Stop(bool),
}

/// What goes up, from agents to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// A sign of life.
    Beat,
    /// All is ready for the program.
    Ready(Place),
    /// The host cannot take part, or no longer: a sentence without the host's name.
    Failed(String),
    /// A program on the host asks for connections, the so-manieth that does so.
    Asked(u32),
    /// It has ended.
    Left(u32),
    /// Bytes of an output stream.
    Output(Stream, Bytes),
    /// What the host's counter of ticks shows.
    Clock(u64),
    /// What the caller's part of the agent tells the caller.
    Sidecar(Bytes),
    /// So many bytes of standard input have been taken, so as many more may come.
    Credit(u32),
    /// A node says that the run has failed.
    Report {
        /// The node that says so.
        by: u16,
        /// The node that failed.
        node: u16,
        /// What happened.
        text: String,
    },
    /// Something that the user should know and that ends nothing: a sentence without the host's
    /// name.
    Note(String),
    /// The program that was started has ended, and has said all it will.
    Ended(Ending),
    /// The agent of a host below is gone: why.
    Lost(String),
    /// Nothing is left on the host; so many strangers have been refused.
    Bye {
        /// Connections that were not from agents of the run.
        strangers: u32,
    },
}
