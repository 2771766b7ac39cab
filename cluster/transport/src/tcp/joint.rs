//! A connection before the node that it is for has been made.

use super::connection::Connection;
use super::stream::{Inbox, Kind, Outbox, Received, StreamError};
use fathomp_sys::polling::{Epoll, Interest};
use fathomp_types::NodeId;
use std::io;
use std::time::{Duration, Instant};

/// A connection of a node of this host to one of another. Before the nodes are made, processes
/// can talk over it, one at a time.
#[derive(Debug)]
pub struct Joint {
    pub(super) mine: NodeId,
    pub(super) peer: NodeId,
    pub(super) wire: Connection,
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
}

/// The other side is not heard of.
#[derive(Debug, thiserror::Error)]
pub enum JointError {
    /// It has ended, or its host cannot be reached.
    #[error("the connection was closed")]
    Closed,
    /// The system says so.
    #[error("the connection failed: {0}")]
    Lost(#[source] io::Error),
    /// It does not answer.
    #[error("it says nothing")]
    Late,
    /// What it says makes no sense.
    #[error("it sent garbage: {0}")]
    Garbage(&'static str),
}

impl From<io::Error> for JointError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Lost(error),
        }
    }
}

impl From<StreamError> for JointError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Lost(error) => error.into(),
            StreamError::Garbage(what) => Self::Garbage(what),
        }
    }
}

impl Joint {
    /// A stream between a node of this host and one of another.
    #[must_use]
    pub fn new(mine: NodeId, peer: NodeId, wire: Connection) -> Self {
        Self {
            mine,
            peer,
            wire,
            outbox: Outbox::default(),
            inbox: Inbox::default(),
        }
    }

    /// The node here, and the node there.
    #[must_use]
    pub fn ends(&self) -> (NodeId, NodeId) {
        (self.mine, self.peer)
    }

    /// Sends a message, and waits until it has left, for `patience` at most.
    ///
    /// # Errors
    /// If the connection is lost, or nothing is taken in time.
    pub fn send(&mut self, message: &[u8], patience: Duration) -> Result<(), JointError> {
        let deadline = Instant::now() + patience;
        self.outbox.push(&self.wire, Kind::Message, &[message])?;
        while self.outbox.backlog() > 0 {
            self.wait(Interest::BytesOrRoom, deadline)?;
            self.outbox.flush(&self.wire)?;
        }
        Ok(())
    }

    /// Waits for a message of at most so many bytes, for `patience` at most.
    ///
    /// # Errors
    /// If the connection is lost, or nothing comes in time.
    pub fn receive(&mut self, bytes_max: usize, patience: Duration) -> Result<Vec<u8>, JointError> {
        let deadline = Instant::now() + patience;
        let mut message = Vec::new();
        loop {
            match self.inbox.take(&self.wire, bytes_max, &mut message)? {
                Received::Frame(Kind::Message) => return Ok(message),
                Received::Frame(_) => return Err(JointError::Garbage("it came too early")),
                Received::End => return Err(JointError::Closed),
                Received::Nothing => self.wait(Interest::Bytes, deadline)?,
            }
        }
    }

    fn wait(&self, what: Interest, deadline: Instant) -> Result<(), JointError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(JointError::Late);
        }
        let post = Epoll::new()?;
        post.add(self.wire.socket(), 0)?;
        self.wire.wait(&post, what, left)?;
        Ok(())
    }
}
