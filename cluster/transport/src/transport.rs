//! The interface every way of carrying messages offers.

use crate::doorbell::{Role, Wake};
use fathomp_types::NodeId;
use std::time::Duration;

/// One node's connection to all others.
///
/// Messages between two nodes arrive complete, once and in the order in which
/// they were sent; between different pairs nothing is promised. Any thread may
/// call anything at any time. Where several threads receive, what they received
/// is ordered only by what they do about it (for instance by a lock held over
/// receiving and handling).
pub trait Transport: Send + Sync {
    /// This node.
    fn me(&self) -> NodeId;

    /// Number of nodes.
    fn nodes(&self) -> u16;

    /// Longest message in bytes.
    fn message_bytes_max(&self) -> usize;

    /// Sends a message that consists of `parts` one after another. Never waits:
    /// what cannot leave at once is kept, and leaves in later calls of this
    /// node's threads.
    ///
    /// # Errors
    /// See [`SendError`]; the message has not been sent.
    fn send(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError>;

    /// The same for a message that its receiver need not act upon before it waits for
    /// something: no thread is woken for it but one that does.
    ///
    /// # Errors
    /// As [`Self::send`].
    fn send_unhurried(&self, to: NodeId, parts: &[&[u8]]) -> Result<Wake, SendError> {
        self.send(to, parts)
    }

    /// The same as [`send`](Self::send), or, if `unhurried`, as
    /// [`send_unhurried`](Self::send_unhurried), within a step after which the caller calls
    /// [`end_step`](Self::end_step): messages to one node may leave together by then. They leave
    /// as well when a thread finds no message, or stops looking for them.
    ///
    /// # Errors
    /// As of `send`.
    fn send_in_step(
        &self,
        to: NodeId,
        parts: &[&[u8]],
        unhurried: bool,
    ) -> Result<Wake, SendError> {
        match unhurried {
            true => self.send_unhurried(to, parts),
            false => self.send(to, parts),
        }
    }

    /// What was sent [in a step](Self::send_in_step) is on its way.
    fn end_step(&self) {}

    /// Shortest time from a question to its answer that is known beforehand:
    /// where it is long, looking for the answer meanwhile is a waste.
    fn answers_after(&self) -> Duration;

    /// Whether messages sent are still kept here. They leave as this node's
    /// threads send, receive or go to sleep; a node must not end before.
    fn has_backlog(&self) -> bool;

    /// Replaces `message` by the next message from anybody, and says from whom;
    /// `None` if there is none at present.
    ///
    /// # Errors
    /// If a peer sends what cannot be a message. Nothing it sends is received
    /// any more.
    fn receive(&self, message: &mut Vec<u8>) -> Result<Option<NodeId>, ReceiveError>;

    /// The calling thread begins to look for messages; see [`Polling`].
    fn enter(&self, role: Role);

    /// The calling thread, which has entered in that role, stops looking for messages. If there
    /// are any, another thread of this node is woken to handle them.
    fn leave(&self, role: Role);

    /// Sleeps until there is a message, [`rouse`](Self::rouse) is called, or
    /// `timeout` has passed, or for any other reason: callers look again at
    /// everything. The calling thread must have [entered](Self::enter) in that role. `ready`
    /// is asked once, after the thread has been registered as a sleeper: if it
    /// says so, the thread does not sleep.
    fn sleep(&self, role: Role, timeout: Option<Duration>, ready: &mut dyn FnMut() -> Ready);

    /// Wakes this node's sleeping application threads, because what one of them
    /// waits for has happened (and been written) before.
    fn rouse(&self);

    /// Wakes the thread that sleeps as a [service](Role::Service): there is something for it to
    /// do other than a message. Where this does nothing it looks by itself, when its timeout has
    /// passed.
    fn rouse_service(&self) {}

    /// A node that cannot be reached any more although it has not [departed](Self::depart).
    /// Asks the kernel about every peer: some microseconds.
    fn dead(&self) -> Option<Death>;

    /// Tells all nodes that the run has failed and wakes all their threads. The first report
    /// that this node knows stays and is returned, be it ours or not; nodes of different hosts
    /// may know different ones first, and whoever has started them decides.
    fn abort(&self, node: NodeId, code: u32, text: &str) -> Abort;

    /// The report of the first node that called [`abort`](Self::abort).
    fn aborted(&self) -> Option<Abort>;

    /// Leaves a word that others can read when this node's process has ended.
    fn note(&self, _word: u32) {}

    /// The word that a node has left last, if words are kept.
    fn noted(&self, _node: NodeId) -> Option<u32> {
        None
    }

    /// This node's process will end now, and that is as it should be. Nobody reads what is sent
    /// to it from now on, which is no failure: others may not have heard of it.
    fn depart(&self);
}

/// A node is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The node.
    pub node: NodeId,
    /// What is known of it if its host is another one: a sentence.
    pub why: Option<String>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Who tells.
    pub by: NodeId,
    /// The node that failed.
    pub node: NodeId,
    /// The kind of failure, whose meaning is the caller's.
    pub code: u32,
    /// What happened, cut to [`Abort::TEXT_BYTES_MAX`] bytes.
    pub text: String,
}

impl Abort {
    /// Longest text in bytes.
    pub const TEXT_BYTES_MAX: usize = 200;
}

/// A message was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such node.
    #[error("there is no node {0} to send to")]
    Unknown(NodeId),
    /// The message is longer than peers accept.
    #[error("a message of {bytes} bytes is longer than the {bytes_max} bytes allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// Longest allowed.
        bytes_max: usize,
    },
    /// The node's process has ended, and it has not [departed](Transport::depart).
    #[error("node {0} has ended")]
    Lost(NodeId),
    /// The node takes nothing from us any more.
    #[error("node {node} stands still: {bytes} bytes wait to be taken by it")]
    Stalled {
        /// The node.
        node: NodeId,
        /// What waits for it.
        bytes: usize,
    },
}

/// A peer sent what cannot be a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {from} sent garbage: {what}")]
pub struct ReceiveError {
    /// The peer.
    pub from: NodeId,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Whether a thread that is about to sleep has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It has.
    Yes,
    /// If there is a message.
    IfThereIsAMessage,
    /// Not before it is woken: whoever polls, and leaves a message, does so.
    No,
}

/// While it lives, the thread that made it looks for messages again and again,
/// so that senders need not wake anybody.
#[derive(Debug)]
#[must_use = "the thread counts as looking for messages only while this lives"]
pub struct Polling<'a, T: Transport + ?Sized> {
    transport: &'a T,
    role: Role,
}

impl<'a, T: Transport + ?Sized> Polling<'a, T> {
    /// The calling thread begins to look for messages.
    #[inline]
    pub fn new(transport: &'a T, role: Role) -> Self {
        transport.enter(role);
        Self { transport, role }
    }

    /// Sleeps as [`Transport::sleep`] does.
    pub fn sleep(&self, timeout: Option<Duration>, mut ready: impl FnMut() -> bool) {
        let mut ready = || match ready() {
            true => Ready::Yes,
            false => Ready::IfThereIsAMessage,
        };
        self.transport.sleep(self.role, timeout, &mut ready);
    }

    /// Sleeps although there may be messages, if they are `served`: another thread
    /// that polls handles one. It may have been on this thread's processor, and would not go on
    /// while this one looked again and again.
    pub fn rest(&self, timeout: Option<Duration>, mut served: impl FnMut() -> bool) {
        let mut ready = || match served() {
            true => Ready::No,
            false => Ready::IfThereIsAMessage,
        };
        self.transport.sleep(self.role, timeout, &mut ready);
    }
}

impl<T: Transport + ?Sized> Drop for Polling<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.transport.leave(self.role);
    }
}
