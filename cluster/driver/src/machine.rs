//! What a protocol runs on.

use crate::DriverError;
use fathomp_protocols::message::Message;
use fathomp_protocols::{
    Body, Change, Content, PageBytes, PageRange, PageSet, Protection, Protocol, Version,
};
use fathomp_types::{NodeId, PageId, ThreadId};

/// What a thread that stood still is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It has what it asked for.
    Granted,
    /// It does not get it, and goes on without.
    Refused,
}

/// The pages, the threads and the peers of one node: real ones, simulated ones, or such that
/// are only counted.
///
/// Methods are called in the order in which the protocol wants things done, and each takes
/// effect before the next is called, as far as threads and other nodes can see: what a machine
/// puts off it does before it lets a thread go on, and at [`Machine::settle`]. Methods that
/// get the `protocol` may ask it, but find it as it is after the whole step.
pub trait Machine {
    /// Content of messages as it arrives.
    type Body: Body;
    /// Why something could not be done; it ends the node.
    type Error: From<DriverError>;

    /// Changes what threads may do to pages.
    ///
    /// # Errors
    /// If that cannot be done.
    fn protect(
        &mut self,
        pages: PageRange,
        protection: Protection,
        protocol: &dyn Protocol<Self::Body>,
    ) -> Result<(), Self::Error>;

    /// Keeps a copy of each page, to compare with later: of one that is written now, or of
    /// many `ahead` of writes that may not come.
    ///
    /// # Errors
    /// If a page cannot be read.
    fn twin(
        &mut self,
        pages: PageRange,
        ahead: bool,
        protocol: &dyn Protocol<Self::Body>,
    ) -> Result<(), Self::Error>;

    /// Forgets the twin of a page, if it has one.
    ///
    /// # Errors
    /// If that makes no sense.
    fn drop_twin(&mut self, page: PageId) -> Result<(), Self::Error>;

    /// Compares a page with its twin and forgets the twin. The diff is kept until it is sent,
    /// or, as one of an interval, until [`Self::forget`].
    ///
    /// # Errors
    /// If there is no twin.
    fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<(), Self::Error>;

    /// Writes a diff that is kept into a page and its twin, if it has one.
    ///
    /// # Errors
    /// If there is no such diff.
    fn reapply(&mut self, page: PageId, of: Version) -> Result<(), Self::Error>;

    /// Forgets the diffs that are kept of other nodes than `me`.
    fn forget_others(&mut self, me: NodeId);

    /// Bytes of what a message would carry.
    fn content_bytes(&self, content: Content) -> usize;

    /// Forgets all diffs that are kept, and all twins.
    ///
    /// # Errors
    /// If that makes no sense.
    fn forget(&mut self) -> Result<(), Self::Error>;

    /// Pages that may be written without a fault and differ from their twins. From now on they
    /// must not be written without a fault.
    ///
    /// # Errors
    /// If a page cannot be read or protected.
    fn written(&mut self) -> Result<PageSet, Self::Error>;

    /// Replaces a page that no thread may touch at the moment; `twinned`: and the content is
    /// its twin.
    ///
    /// # Errors
    /// If the content is none.
    fn install(
        &mut self,
        page: PageId,
        content: Self::Body,
        twinned: bool,
        protocol: &dyn Protocol<Self::Body>,
    ) -> Result<(), Self::Error>;

    /// Writes another node's diff into a page, which threads may touch meanwhile, and into its
    /// twin. It may be kept as that of an interval, like one that was made here.
    ///
    /// # Errors
    /// If the content is no diff.
    fn apply(
        &mut self,
        page: PageId,
        diff: Self::Body,
        keep: Option<Version>,
    ) -> Result<(), Self::Error>;

    /// Changes a word of a page in one atomic step, also as threads see it that touch it
    /// meanwhile, and in its twin; what it was before.
    ///
    /// # Errors
    /// If that cannot be done.
    fn change(&mut self, _page: PageId, _change: &Change) -> Result<u64, Self::Error> {
        Err(DriverError::CannotChange.into())
    }

    /// The same of a page at home here or of a copy, where nobody asks what it was before.
    ///
    /// # Errors
    /// If that cannot be done.
    fn amend(&mut self, page: PageId, change: &Change) -> Result<(), Self::Error> {
        self.change(page, change).map(|_| ())
    }

    /// Changes a word of a page in one atomic step, as a thread here does that writes it: a twin
    /// tells of it.
    ///
    /// # Errors
    /// If that cannot be done.
    fn write(&mut self, _page: PageId, _change: &Change) -> Result<(), Self::Error> {
        Err(DriverError::CannotChange.into())
    }

    /// Writes a word into a copy, which threads may touch meanwhile, and into its twin: what a
    /// change has made of it at its home, where it was this `before`. A copy that differs from its
    /// twin there was written since, and keeps what it has.
    ///
    /// # Errors
    /// If that cannot be done.
    fn patch(&mut self, _page: PageId, _change: &Change, _before: u64) -> Result<(), Self::Error> {
        Err(DriverError::CannotChange.into())
    }

    /// Lets a thread go on that has changed a word, which was this before.
    ///
    /// # Errors
    /// If it does not stand still.
    fn found(&mut self, _thread: ThreadId, _before: u64) -> Result<(), Self::Error> {
        Err(DriverError::CannotChange.into())
    }

    /// A page as it is now.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&mut self, page: PageId) -> Result<Box<PageBytes>, Self::Error>;

    /// Sends a message to another node; its content is read now.
    ///
    /// # Errors
    /// If content is not there, or there is no such node.
    fn send(&mut self, to: NodeId, message: Message<Content>) -> Result<(), Self::Error>;

    /// Lets a thread go on that stands still.
    ///
    /// # Errors
    /// If it does not stand still.
    fn resume(&mut self, thread: ThreadId, answer: Answer) -> Result<(), Self::Error>;

    /// Makes all that was asked for take effect: other nodes may see it by what comes next.
    ///
    /// # Errors
    /// If something cannot be done.
    fn settle(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// So many written copies stay as they are though an interval ends.
    fn left_open(&mut self, _pages: u32) {}

    /// All actions of a step have been carried out.
    ///
    /// # Errors
    /// If something was still to be done and could not be.
    fn end_step(&mut self, _protocol: &dyn Protocol<Self::Body>) -> Result<(), Self::Error> {
        Ok(())
    }
}
