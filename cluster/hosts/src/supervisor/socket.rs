//! The socket between an agent and its supervisor: first the program's descriptors, then frames.

use crate::control::{self, FrameError, Job};
use crate::process::Process;
use fathomp_types::Ending;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Where a program finds the socket to its agent, on all hosts.
pub const HANDOVER_DESCRIPTOR: i32 = 200;

/// What a supervisor is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToSupervisor {
    /// First: the program.
    Start(Box<Job>),
    /// A signal for its process group.
    Signal(i32),
    /// It is to be killed.
    End,
}

/// What a supervisor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromSupervisor {
    /// The program cannot be started: why.
    Failed(String),
    /// It has ended, and nothing is left of it.
    Ended(Ending),
    /// Its first process was stopped by a signal that did not come from the agent, and has not
    /// gone on since.
    Stands {
        /// The process.
        process: u32,
        /// The signal.
        signal: i32,
    },
}

/// The agent's side: a supervisor that runs.
pub(crate) struct Supervisor {
    socket: Arc<UnixStream>,
    process: Process,
}

impl Supervisor {
    /// Starts a supervisor by this command, calls `watch` with the number of its process, and then
    /// has the supervisor start the program. Read the supervisor's messages by [`hear`](Self::hear).
    pub(crate) fn start(
        command: &mut Command,
        descriptors: [BorrowedFd<'_>; 4],
        job: &Job,
        watch: impl FnOnce(u32),
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let (process, ..) = Process::spawn(
            command
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::null())
                .stderr(Stdio::piped()),
        )?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        rights.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(
            &ours,
            &[IoSlice::new(&[1])],
            &mut rights,
            SendFlags::NOSIGNAL,
        )?;
        watch(process.id());
        control::write(&mut &ours, 0, &ToSupervisor::Start(Box::new(job.clone())))?;
        Ok(Self {
            socket: Arc::new(ours),
            process,
        })
    }

    /// Where it is heard.
    pub(crate) fn ear(&self) -> Ear {
        Ear(Arc::clone(&self.socket), self.process.clone())
    }

    /// Tells it something; if it is gone that is heard of.
    pub(crate) fn tell(&self, what: &ToSupervisor) {
        let _ = control::write(&mut &*self.socket, 0, what);
    }
}

/// Where a supervisor is heard.
pub(crate) struct Ear(Arc<UnixStream>, Process);

impl Ear {
    /// Waits for what it tells next; if it is gone, why.
    pub(crate) fn hear(&self) -> Result<FromSupervisor, String> {
        match control::read(&mut &*self.0) {
            Ok(frame) => Ok(frame.message),
            Err(FrameError::Ended) => {
                let end = self.1.conclude();
                let status = end
                    .status
                    .map_or_else(String::new, |ending| ending.to_string());
                Err(format!(
                    "the process that keeps the program ended by {status} {}",
                    end.said
                )
                .trim()
                .to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The supervisor's side: the socket, and the program's descriptors.
pub(super) fn receive() -> io::Result<(UnixStream, [OwnedFd; 4])> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        &socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut rights,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut found = Vec::new();
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            found.extend(descriptors);
        }
    }
    let all = <[OwnedFd; 4]>::try_from(found);
    let all = all.map_err(|_| io::Error::other("the agent sent no descriptors"))?;
    Ok((socket, all))
}

/// The program's end of the socket to its agent, under the number that programs know.
pub(super) struct TheirEnd {
    _open: OwnedFd,
}

impl TheirEnd {
    pub(super) fn place(socket: &OwnedFd) -> Result<Self, String> {
        let taken = || {
            format!(
                "descriptor {HANDOVER_DESCRIPTOR} is taken already: find out which program that logs in here leaves it open"
            )
        };
        let placed = fcntl_dupfd_cloexec(socket, HANDOVER_DESCRIPTOR)
            .map_err(|error| format!("the program cannot be given its agent's socket: {error}: raise the limit of open files to 256 (ulimit -n)"))?;
        if placed.as_raw_fd() != HANDOVER_DESCRIPTOR {
            return Err(taken());
        }
        // From now on what is started inherits it.
        fcntl_setfd(&placed, FdFlags::empty()).map_err(|_| taken())?;
        Ok(Self { _open: placed })
    }
}
