//! What a protocol is told and what it answers.

use crate::order::{Control, Version};
use crate::wire::WireError;
use crate::{
    Brought, Carried, Committed, Holder, Interval, Notice, PageRange, PageSet, Seen, Sequenced,
    Told, Updates, Wanted,
};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::fmt::Debug;
use std::ops::Range;

/// A lock of the program: a number that all nodes give it, say its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u64);

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

/// Whether other nodes may [take](Wanted) a page out of its home's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Offer {
    /// They have to ask for it, as for all pages before anything happened.
    #[default]
    Closed,
    /// They may, and keep it until they learn that it was written: writes are noticed
    /// at its home.
    Open,
    /// They may borrow it: writes are not noticed at its home.
    Lent,
    /// They may take it as what it was when its node knew no more than it had shown before:
    /// with all intervals of that node, and without others' that it has learned of since.
    Old,
    /// They may take its twin: what is written in the open interval may be changed back, and
    /// then no diff tells who has seen it.
    Twin,
    /// As closed; nor may they [bring](Brought) diffs of it.
    Reserved,
    /// The same, as long as its home tells by a twin whether it writes it: what others bring, or
    /// have seen, may be changed back.
    Twinned,
    /// They may borrow it, also if they would rather keep it, and [update](Updates) it in
    /// its home's memory; they must not bring diffs of it. Its home notices what its own
    /// threads write, but no updates.
    Updated,
}

impl Offer {
    /// Whether diffs of such a page may be [brought](Brought).
    #[must_use]
    pub fn admits_diffs(self) -> bool {
        !matches!(self, Self::Reserved | Self::Twinned | Self::Updated)
    }
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
    /// Before an [update](Updates) of a page that is not offered so: now it was
    /// ([`Action::Resume`]), and may be no longer, or it cannot be ([`Action::Refuse`]). To be
    /// asked by who has a lock that everybody takes for that: so nobody updates a page in
    /// its home's memory while another node's thread does it in a copy, under that lock.
    Update(PageId),
}

/// What happened at a node. `M` is a protocol's message with its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<M> {
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
    /// Pages that are [`Protection::Watched`] were written without a fault. To
    /// be told before [certain inputs](Protocol::wants_writes), where writes are
    /// noticed that way; pages that are not watched any more do no harm.
    Wrote(PageSet),
    /// Pages that others have taken out of this node's memory by themselves since
    /// this was told last. To be told before any other input.
    Taken(PageSet),
    /// Others have [brought](Brought) diffs into this node's memory by themselves, up to
    /// these intervals of theirs. To be told before any other input.
    Brought(Vec<(NodeId, Interval)>),
    /// Others have begun to bring diffs of these intervals, some of which may be in this
    /// node's memory. To be told before any other input.
    Begun(Vec<(NodeId, Interval)>),
    /// At the sequencer: what has been entered in the [log](Told) since this was told
    /// last. To be told before any other input.
    Logged(Vec<Notice>),
    /// At the sequencer: it has taken a lock over, which a node has in shared memory, or
    /// nobody. That node gives it back by message.
    Claimed(LockId, Option<Holder>),
    /// Pages of this node that it writes unnoticed and others have taken [to keep](Wanted),
    /// and those of them that it has written since, which now have a twin: what was taken. Threads
    /// may not write them before they are told otherwise. To be told before any other input,
    /// and when others have been forbidden to take such pages, before what else is done.
    Kept(PageSet, PageSet),
    /// Pages that were [wanted](Wanted) and are not offered, as others were that have
    /// been taken.
    Left(PageRange),
    /// Pages that were [wanted](Wanted) and have been borrowed: their content comes next.
    Borrowed(PageRange),
    /// A thread asks for an operation; it stands still until
    /// [`Action::Resume`].
    Operation {
        /// The thread.
        thread: ThreadId,
        /// The operation.
        operation: Operation,
    },
    /// A message arrived. Between two nodes messages keep their order and none
    /// is lost; nothing else is promised.
    Message {
        /// Its sender, told by the transport and not by the message.
        from: NodeId,
        /// What it says.
        message: M,
    },
}

/// Content that an outgoing message carries. Whoever carries out the action
/// puts it in: the protocol holds no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// The page as it is now.
    Page(PageId),
    /// The same of a page that nobody else has had from here, or [nothing](Body::is_blank)
    /// if it was never touched here.
    Fresh(PageId),
    /// Nothing: the page [stays](Protocol::leave) where it is until it is installed.
    Left(PageId),
    /// The page's twin as it is now.
    Twin(PageId),
    /// The diff of the page that an [`Action::Diff`] made before. It is sent once.
    Diff(PageId),
    /// The diff that an [`Action::Keep`] made.
    Kept(PageId, Interval),
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

impl Body for Vec<u8> {
    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

/// What is to be done at a node. Actions are carried out in order and before
/// the next input. `O` is a protocol's message without its content, `B` is
/// content as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action<O, B> {
    /// Changes what threads may do to pages.
    Protect(PageRange, Protection),
    /// Threads write these pages next, which they may: what makes that quicker can be done.
    Prepare(PageRange),
    /// Keeps a copy of a page, to compare with later.
    Twin(PageId),
    /// The same for pages that will perhaps be written.
    Foresee(PageRange),
    /// Compares each page with its twin, keeps the diffs until they have been
    /// sent, and forgets the twins.
    Diff(PageRange),
    /// Compares a page with its twin, keeps the diff until [`Action::Forget`], and
    /// forgets the twin.
    Keep(PageId, Interval),
    /// Writes a kept diff into a page and its twin, if there is one.
    Reapply(PageId, Interval),
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
    /// Changes whether other nodes may take pages out of this node's memory.
    Offer(PageRange, Offer),
    /// The sequencer takes a lock over that nodes take in shared memory. To be answered
    /// by [`Input::Claimed`].
    Claim(LockId),
    /// Nodes may take it there again.
    Unclaim(LockId),
    /// Enters an interval in the log that all nodes can reach, if there is one and it
    /// has room.
    Log(Notice),
    /// Sends a message.
    Send(NodeId, O),
    /// Lets a thread go on.
    Resume(ThreadId),
    /// Lets a thread go on without what it wanted.
    Refuse(ThreadId),
}

impl<O, B> Action<O, B> {
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

    /// Appends a comparison, as one with the last action if it can be.
    pub(crate) fn diff(actions: &mut Vec<Self>, page: PageId) {
        if let Some(Self::Diff(pages)) = actions.last_mut()
            && pages.extend(page)
        {
            return;
        }
        actions.push(Self::Diff(page.into()));
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
    /// What nodes send each other: `Outgoing` with `B` in place of [`Content`].
    type Incoming: Debug + From<Control>;
    /// A message whose content has yet to be put in.
    type Outgoing: Debug + From<Control>;

    /// Takes one input in and appends what is to be done.
    ///
    /// # Errors
    /// A [`Violation`]; the protocol must not be used after it.
    fn step(
        &mut self,
        input: Input<Self::Incoming>,
        actions: &mut Vec<Action<Self::Outgoing, B>>,
    ) -> Result<(), Violation>;

    /// True if writes without a fault have to be told before this input.
    fn wants_writes(&self, input: &Input<Self::Incoming>) -> bool;

    /// The epoch, if whoever flushes has to wait for the end of a barrier.
    fn stands(&self) -> Option<u32>;

    /// True of a page that is forbidden before any thread that has come to a barrier goes
    /// on: until then it need not be forbidden if nobody can touch it.
    fn gives_back(&self, _page: PageId) -> bool {
        false
    }

    /// Whose intervals this node knows of, and its last own one that has ended, if
    /// the protocol can [watch all writes](crate::home::Home::watching_all).
    fn clock(&self) -> Option<(&Seen, Interval)> {
        None
    }

    /// Whether pages are offered together with what is part of them.
    const TELLS_VERSIONS: bool = false;

    /// Whether a page is at home here: then others' changes come into it without its being
    /// replaced.
    fn is_at_home(&self, _page: PageId) -> bool {
        false
    }

    /// What a message asks for, if it need not be sent.
    fn wanted<'a>(&'a self, _message: &'a Self::Outgoing) -> Option<Wanted<'a>> {
        None
    }

    /// The answer to such a message, made of some of its pages that were taken, with what is
    /// part of each.
    fn taken(
        _epoch: u32,
        _pages: PageRange,
        _copy: impl FnMut(PageId) -> (Vec<Version>, B),
    ) -> Option<Self::Incoming> {
        None
    }

    /// What others may rely on who take pages from here.
    fn committed(&self) -> Option<Committed<'_>> {
        None
    }

    /// What a message has of its sender's intervals, if it has something.
    fn carries(_message: &Self::Outgoing) -> Option<Carried> {
        None
    }

    /// Whether a message's receiver need not act upon it before one of its threads waits
    /// for something, or another message comes that asks for an answer.
    fn can_wait(_message: &Self::Outgoing) -> bool {
        false
    }

    /// How to update a page, if it can be.
    fn updates(&self, _page: PageId) -> Option<Updates> {
        None
    }

    /// Whether something was written in the open interval, as far as this was told.
    fn owes(&self) -> bool {
        true
    }

    /// Whether there are borrowed copies here, which are given back with news.
    fn borrows(&self) -> bool {
        true
    }

    /// Whether diffs of intervals that this node knows of have yet to arrive, in pages at home
    /// here that threads can read meanwhile. Who flushes waits for them.
    fn awaits_diffs(&self) -> bool {
        false
    }

    /// Whether a page that could not be updated may show what this node does not know of, or
    /// lacks.
    fn lacks_what_is_shown(&self) -> bool {
        false
    }

    /// What a message brings, if it need not be sent.
    fn brought(_message: &Self::Outgoing) -> Option<Brought<'_>> {
        None
    }

    /// What a message tells, if it need not be sent.
    fn told<'a>(&self, _message: &'a Self::Outgoing) -> Option<Told<'a>> {
        None
    }

    /// What others may rely on who enter something in the log, at the sequencer.
    fn sequenced(&self) -> Option<Sequenced<'_>> {
        None
    }

    /// What is to be done before anything else, on nodes whose pages are all
    /// alike and may all be read and written.
    fn start(&self, actions: &mut Vec<Action<Self::Outgoing, B>>);

    /// Leaves content of a message where it is if the receiver may as well have it as it is
    /// later: who installs it takes it out of this node's memory then. `may` is asked of each
    /// page.
    fn leave(&self, _message: &mut Self::Outgoing, _may: impl FnMut(Content) -> bool) {}

    /// Puts content into a message.
    fn fill(message: Self::Outgoing, content: impl FnMut(Content) -> B) -> Self::Incoming;

    /// Appends a message as it travels; `content` appends the bytes of content that is not
    /// [left](Content::Left): 4,096 for a page (or, if it is [fresh](Content::Fresh), none),
    /// [`Diff::as_bytes`](crate::Diff::as_bytes) for a diff.
    fn encode(
        message: &Self::Outgoing,
        bytes: &mut Vec<u8>,
        content: impl FnMut(Content, &mut Vec<u8>),
    );

    /// Reads what [`encode`](Self::encode) wrote; `content` is told where in
    /// `bytes` content lies, which is a whole page, none of it or a valid diff, or that it
    /// was left.
    ///
    /// # Errors
    /// If the bytes are not exactly one message.
    fn decode(
        bytes: &[u8],
        content: impl FnMut(Option<Range<usize>>) -> B,
    ) -> Result<Self::Incoming, WireError>;
}
