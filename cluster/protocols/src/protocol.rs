//! What a protocol is told and what it answers.

use crate::interval::Version;
use crate::message::{Bounds, Message};
use crate::{Change, Content, Interval, LockId, PageRange, PageSet, VectorClock};
use fathomp_types::{NodeId, PageId, ThreadId};

/// How a thread touched a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// What a node's threads may do to a page without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// Nothing: the content is not valid here.
    None,
    /// Read.
    Read,
    /// Read, and write if it is noticed: the first write after this was asked
    /// for is either forbidden, and so becomes a fault, or allowed, and then the
    /// page is in the next [`Input::Wrote`]. Asking for it again forgets no
    /// write that has not been told yet. Writes to a page with a twin are allowed
    /// until the next [`Input::Wrote`] and forbidden after it: comparing it with
    /// its twin tells.
    Watched,
    /// Read and write.
    ReadWrite,
}

/// A synchronisation between nodes, asked for by one thread on behalf of its
/// node. Synchronisation inside a node needs no protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// All nodes meet; each asks once, for all of its threads that take part in
    /// barriers. What other threads ask for while their node is at a barrier may have
    /// to wait for its end.
    Barrier,
    /// What was written here before becomes visible to whoever flushes later,
    /// and what was flushed before becomes visible here.
    Flush,
    /// The first half of that: what was written here before becomes visible.
    ReleaseFlush,
    /// The second half: what was flushed before becomes visible here.
    AcquireFlush,
    /// Waits for a lock.
    Acquire(LockId),
    /// Takes a lock if nobody has it ([`Action::Resume`]); does not wait
    /// ([`Action::Refuse`]) otherwise.
    TryAcquire(LockId),
    /// Gives a lock back.
    Release(LockId),
    /// After an atomic instruction in a copy: waits until all is known here that the page
    /// [may show](Protocol::may_expose_unseen_writes).
    Learn(PageId),
    /// A change of a page by an atomic instruction, which is
    /// [carried](Protocol::forwards_atomics) to its home; the thread goes on with what was there
    /// ([`Action::ReplyAtomic`]), and has to learn of what the page may show.
    Change(PageId, Change),
}

/// What happened at a node. `B` is content as it arrives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<B> {
    /// A thread touched a page that its protection forbids; it stands still
    /// until [`Action::Resume`].
    Fault {
        /// The thread.
        thread: ThreadId,
        /// The page.
        page: PageId,
        /// What it wanted.
        access: Access,
    },
    /// Pages that are [`Protection::Watched`] and have a twin differ from it. To
    /// be told before [certain inputs](Protocol::wants_writes); pages that are not watched
    /// any more do no harm.
    Wrote(PageSet),
    /// A thread asks for an operation; it stands still until
    /// [`Action::Resume`].
    Operation {
        /// The thread.
        thread: ThreadId,
        /// The operation.
        operation: Operation,
    },
    /// A thread has executed an atomic instruction that changes a page, never looks at what it
    /// found, and goes on at once. Only if it can be [postponed](Protocol::batches_atomics).
    Postpone(PageId, Change),
    /// A message arrived. Between two nodes messages keep their order and none
    /// is lost; nothing else is promised.
    Message {
        /// Its sender, told by the transport and not by the message.
        from: NodeId,
        /// What it says.
        message: Message<B>,
    },
}

/// Content as it arrives.
pub trait Body {
    /// True of nothing in place of a page: it is zero, and its home never touched it.
    fn is_blank(&self) -> bool;
}

/// As so many bytes.
impl Body for u32 {
    fn is_blank(&self) -> bool {
        *self == 0
    }
}

/// What is to be done at a node. Actions are carried out in order and before
/// the next input. `B` is content as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action<B> {
    /// Changes what threads may do to pages.
    Protect(PageRange, Protection),
    /// Keeps a copy of a page, to compare with later.
    Twin(PageId),
    /// The same for pages that will perhaps be written.
    TwinAhead(PageRange),
    /// Compares a page with its twin, keeps the diff until [`Action::Forget`], and
    /// forgets the twin.
    StoreDiff(PageId, Version),
    /// Writes a kept diff into a page and its twin, if there is one.
    RestoreDiff(PageId, Version),
    /// Forgets the diffs that are kept of other nodes than this one.
    ForgetOthers(NodeId),
    /// Forgets all diffs that are kept, and all twins.
    Forget,
    /// Forgets the twin of a page: it will not be compared.
    DropTwin(PageId),
    /// To be counted: so many written copies stay as they are though an interval ends.
    LeaveOpen(u32),
    /// Replaces a page that no thread may touch at the moment.
    Install(PageId, B),
    /// The same, and the content is the page's twin.
    InstallTwinned(PageId, B),
    /// Writes another node's changes into a page. Threads may touch it
    /// meanwhile; a twin, if there is one, is changed alike.
    Apply(PageId, B),
    /// The same, and the diff is kept as that of this interval.
    ApplyAndStore(PageId, Version, B),
    /// Changes a page in one atomic step, and a twin, if there is one, alike; the thread of the
    /// node is told what was there, and what the page shows.
    AtomicAtHome {
        /// The page, which is at home here.
        page: PageId,
        /// What becomes of it.
        change: Change,
        /// The node that asks, perhaps this one.
        node: NodeId,
        /// Its thread.
        thread: ThreadId,
        /// The epoch.
        epoch: u32,
        /// Intervals of which the node has to know before the thread may go on.
        shows: Vec<Version>,
    },
    /// Does to a copy, and to its twin, what a change has done at the page's home, where this
    /// was before.
    RefreshCopy(PageId, Change, u64),
    /// Changes a page in one atomic step, and a twin, if there is one, alike. Nobody asks what was
    /// there: at the page's home or in a copy.
    AtomicNoReturn(PageId, Change),
    /// Changes a page in one atomic step as a thread here does that writes it: a twin stays as it
    /// is.
    Write(PageId, Change),
    /// Sends a message.
    Send(NodeId, Message<Content>),
    /// Sends the message of two whose content is shorter; either will do.
    SendShorter(NodeId, [Message<Content>; 2]),
    /// Lets a thread go on.
    Resume(ThreadId),
    /// Lets a thread go on that has changed a word, which was this before.
    ReplyAtomic(ThreadId, u64),
    /// Lets a thread go on without what it wanted.
    Refuse(ThreadId),
}

impl<B> Action<B> {
    /// Appends a change of protection, as one with the last action if it can be.
    pub(crate) fn protect(actions: &mut Vec<Self>, page: PageId, protection: Protection) {
        if let Some(Self::Protect(pages, same)) = actions.last_mut()
            && *same == protection
            && pages.extend(page)
        {
            return;
        }
        actions.push(Self::Protect(page.into(), protection));
    }
}

/// An input that no correct peer or runtime can cause. Nothing was changed by
/// it that matters: the node has to stop and to say why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A peer does not keep to the protocol.
    #[error("node {from} broke the protocol: {what}")]
    Peer {
        /// The peer.
        from: NodeId,
        /// What it did.
        what: &'static str,
    },
    /// The runtime above does not keep to the contract of [`Input`].
    #[error("the runtime misused the protocol: {0}")]
    Runtime(&'static str),
}

/// A protocol's side at one node.
pub trait Protocol<B> {
    /// Takes one input in and appends what is to be done.
    ///
    /// # Errors
    /// A [`Violation`]; the protocol must not be used after it.
    fn step(&mut self, input: Input<B>, actions: &mut Vec<Action<B>>) -> Result<(), Violation>;

    /// A message of the epoch that has begun, which arrived when this node had not left the one
    /// before. To be asked for after each step until there is none, and to be told like any
    /// input: what others have done in the new epoch comes first.
    fn next_early(&mut self) -> Option<Input<B>>;

    /// What is to be done before anything else, on nodes whose pages are all
    /// alike and may all be read and written.
    fn start(&self, actions: &mut Vec<Action<B>>);

    /// True if writes without a fault have to be told before this input.
    fn wants_writes(&self, input: &Input<B>) -> bool;

    /// What must hold between two steps, whatever has happened.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    fn check(&self) -> Result<(), String>;

    /// What there is in the cluster, within which all messages lie.
    fn bounds(&self) -> Bounds;

    /// The epoch, if a thread that flushes has to wait for the end of a barrier.
    fn barrier_epoch(&self) -> Option<u32>;

    /// Whose intervals this node knows of, and its last own one that has ended, if
    /// the protocol can [watch all writes](crate::home::Home::watching_all).
    fn clock(&self) -> Option<(&VectorClock, Interval)> {
        None
    }

    /// Whether a page is at home here: then others' changes come into it without its being
    /// replaced.
    fn is_at_home(&self, _page: PageId) -> bool {
        false
    }

    /// Whether diffs of intervals that this node knows of have yet to arrive, in pages at home
    /// here that threads can read meanwhile. A thread that flushes waits for them.
    fn awaits_diffs(&self) -> bool {
        false
    }

    /// Whether a page here may show what a node wrote in an interval that this node does not
    /// know of: a thread that has executed an atomic instruction in it has to
    /// [learn](Operation::Learn) of that before it goes on.
    fn may_expose_unseen_writes(&self, _page: PageId) -> bool {
        false
    }

    /// Whether [`Self::may_expose_unseen_writes`] is known of each page, and not merely said of
    /// none.
    fn remembers_unseen_writes(&self) -> bool {
        false
    }

    /// Whether atomic instructions that work on a page are [carried](Operation::Change) to its
    /// home.
    fn forwards_atomics(&self, _page: PageId) -> bool {
        false
    }

    /// Whether a change of a page that nobody looks at can be [postponed](Input::Postpone).
    fn batches_atomics(&self, _page: PageId) -> bool {
        false
    }
}

/// A protocol that is known only when the program runs.
impl<B, P: Protocol<B> + ?Sized> Protocol<B> for Box<P> {
    fn step(&mut self, input: Input<B>, actions: &mut Vec<Action<B>>) -> Result<(), Violation> {
        (**self).step(input, actions)
    }

    fn next_early(&mut self) -> Option<Input<B>> {
        (**self).next_early()
    }

    fn start(&self, actions: &mut Vec<Action<B>>) {
        (**self).start(actions);
    }

    fn wants_writes(&self, input: &Input<B>) -> bool {
        (**self).wants_writes(input)
    }

    fn check(&self) -> Result<(), String> {
        (**self).check()
    }

    fn bounds(&self) -> Bounds {
        (**self).bounds()
    }

    fn barrier_epoch(&self) -> Option<u32> {
        (**self).barrier_epoch()
    }

    fn clock(&self) -> Option<(&VectorClock, Interval)> {
        (**self).clock()
    }

    fn is_at_home(&self, page: PageId) -> bool {
        (**self).is_at_home(page)
    }

    fn awaits_diffs(&self) -> bool {
        (**self).awaits_diffs()
    }

    fn may_expose_unseen_writes(&self, page: PageId) -> bool {
        (**self).may_expose_unseen_writes(page)
    }

    fn remembers_unseen_writes(&self) -> bool {
        (**self).remembers_unseen_writes()
    }

    fn forwards_atomics(&self, page: PageId) -> bool {
        (**self).forwards_atomics(page)
    }

    fn batches_atomics(&self, page: PageId) -> bool {
        (**self).batches_atomics(page)
    }
}
