//! What a connection of a node consists of: a socket to another host, or a pipe to the agent,
//! which carries it further.

use super::pipe::Pipe;
use fathomp_sys::polling::{Epoll, Interest, NonblockingSocket};
use std::io::{self, IoSlice};
use std::time::Duration;

/// A connected stream that never waits.
#[derive(Debug)]
pub enum Connection {
    /// The kernel carries it.
    Socket(NonblockingSocket),
    /// The agent of this host does.
    Pipe(Pipe),
}

impl Connection {
    /// Sends as much as there is room for, of parts one after another, and says how many bytes
    /// that was.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; others if the connection is lost.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Socket(wire) => wire.send(parts),
            Self::Pipe(pipe) => pipe.send(parts),
        }
    }

    /// Receives what there is, and says how many bytes: 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; others if the connection is lost.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(wire) => wire.receive(bytes),
            Self::Pipe(pipe) => pipe.receive(bytes),
        }
    }

    /// Nothing more will be sent: the peer finds the end of the stream behind what was.
    pub(super) fn end(&self) {
        match self {
            Self::Socket(wire) => wire.end(),
            Self::Pipe(pipe) => pipe.end(),
        }
    }

    /// The socket that can be read when something is to be done here, while this end
    /// [rests](Self::rest).
    pub(super) fn socket(&self) -> &NonblockingSocket {
        match self {
            Self::Socket(wire) => wire,
            Self::Pipe(pipe) => pipe.bell(),
        }
    }

    /// For how long the peer's host has not answered, if it should have. Of a pipe the agent knows.
    pub(super) fn silence(&self) -> Option<Duration> {
        match self {
            Self::Socket(wire) => wire.silence(),
            Self::Pipe(_) => None,
        }
    }

    /// What has to be waited for to send, beside the socket's bytes.
    pub(super) fn interest(&self, has_backlog: bool) -> Interest {
        match self {
            Self::Socket(_) if has_backlog => Interest::BytesOrRoom,
            _ => Interest::Bytes,
        }
    }

    /// From now on the socket tells what the kernel alone does not know of. It has to be looked
    /// once more before sleeping, also for [something](Self::has_something).
    pub(super) fn rest(&self) {
        if let Self::Pipe(pipe) = self {
            pipe.mark_parked();
        }
    }

    /// A thread looks here again; `slept` if the socket may have told something.
    pub(super) fn work(&self, slept: bool) {
        match self {
            Self::Pipe(pipe) if slept => pipe.wake_up(),
            Self::Pipe(pipe) => pipe.get_up(),
            Self::Socket(_) => {}
        }
    }

    /// Whether there is something here that the kernel does not know of.
    pub(super) fn has_something(&self) -> bool {
        match self {
            Self::Socket(_) => false,
            Self::Pipe(pipe) => pipe.has_something(),
        }
    }

    /// Waits at a post where this alone is waited for, for as long at most, until there may be
    /// bytes, or room.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn wait(&self, post: &Epoll, what: Interest, limit: Duration) -> io::Result<()> {
        let mut keys = [0; Epoll::KEYS];
        match self {
            Self::Socket(wire) => {
                post.set(wire, what, 0)?;
                post.wait(Some(limit), &mut keys);
            }
            Self::Pipe(pipe) => {
                pipe.mark_parked();
                let there =
                    pipe.has_something() || what == Interest::BytesOrRoom && pipe.has_room();
                if !there {
                    post.wait(Some(limit), &mut keys);
                }
                pipe.wake_up();
            }
        }
        Ok(())
    }
}
