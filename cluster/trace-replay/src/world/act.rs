//! What a protocol asks for is done to a node.

use super::queue::{Event, Parcel};
use super::{ReplayError, World};
use crate::costs::Costs;
use crate::desk::HEAD_BYTES;
use crate::memory::{Memory, Nonsense, Size};
use fathomp_driver::{Answer, DriverError, Machine};
use fathomp_protocols::message::Message;
use fathomp_protocols::{
    Content, Input, PageBytes, PageRange, PageSet, Protection, Protocol, Version,
};
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};

/// What a step of a protocol did, counted as nodes count it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: DsmCounts,
    /// A thread was let go on.
    resumed: bool,
    /// Pages may be written now.
    writable: bool,
    /// Pages were twinned.
    twinned: bool,
}

impl Tally {
    pub(super) fn add(&mut self, count: DsmCount, number: u32) {
        self.counts[count] += u64::from(number);
    }

    /// The step was a fault's, of a thread with a lock or without one.
    pub(super) fn of_fault(&mut self, locked: bool) {
        if !self.resumed {
            self.add(DsmCount::FetchFaults, 1);
            self.add(DsmCount::FetchFaultsLocked, u32::from(locked));
        } else if self.writable && !self.twinned {
            self.add(DsmCount::WriteFaultsLocal, 1);
        }
    }

    pub(super) fn close(self, counts: &mut DsmCounts) {
        *counts += &self.counts;
    }
}

impl World<'_> {
    /// Tells a node's protocol something and does what it answers; the node's clock
    /// goes on meanwhile.
    pub(super) fn step(
        &mut self,
        at: NodeId,
        input: Input<Size>,
        clock_ns: &mut u64,
        tally: &mut Tally,
    ) -> Result<(), ReplayError> {
        let Some(mut driver) = self.nodes[usize::from(at.0)].driver.take() else {
            let what = "to be told something in the middle of a step";
            return Err(ReplayError::Action { node: at, what });
        };
        let world = &mut *self;
        let mut machine = NodeMachine {
            world,
            at,
            clock_ns,
            tally,
        };
        let stepped = driver.input(&mut machine, input);
        self.nodes[usize::from(at.0)].driver = Some(driver);
        stepped.map_err(|failure| match failure {
            Failure::Driver(DriverError::Violation(violation)) => ReplayError::Violation {
                node: at,
                violation,
            },
            Failure::Driver(DriverError::Message { what, .. }) => {
                ReplayError::Action { node: at, what }
            }
            Failure::Driver(DriverError::CannotChange) => ReplayError::Action {
                node: at,
                what: "an atomic change of a page whose bytes are not there",
            },
            Failure::Nonsense(Nonsense(what)) => ReplayError::Action { node: at, what },
        })
    }

    fn let_go_on(&mut self, at: NodeId, thread: ThreadId, clock_ns: u64) -> Result<(), Nonsense> {
        let node = &self.nodes[usize::from(at.0)];
        let thread = node.threads.start + thread.0 as usize;
        if !node.threads.contains(&thread) {
            return Err(Nonsense("a thread goes on that does not exist"));
        }
        if self.runners[thread].is_at_barrier() {
            self.opened(at, clock_ns);
        } else {
            self.resume(thread, clock_ns);
        }
        Ok(())
    }

    fn send(
        &mut self,
        from: NodeId,
        to: NodeId,
        message: Message<Content>,
        clock_ns: u64,
        tally: &mut Tally,
    ) -> Result<(), Nonsense> {
        if to == from || to.0 >= self.setting.nodes {
            return Err(Nonsense("a message to a node that is none"));
        }
        let memory = &mut self.nodes[usize::from(from.0)].memory;
        let bytes = &mut self.bytes;
        let (mut missing, mut carries) = (false, false);
        bytes.clear();
        message.encode(bytes, |content, bytes| {
            carries = true;
            match content {
                Content::Page(_) | Content::Fresh(_) => tally.add(DsmCount::PagesServed, 1),
                Content::Diff(_) => tally.add(DsmCount::DiffsSent, 1),
                Content::Twin(_) | Content::Kept(..) => {}
            }
            match memory.content_bytes(content) {
                Some(length) => bytes.resize(bytes.len() + length as usize, 0),
                None => missing = true,
            }
        });
        if missing {
            return Err(Nonsense("content that is not there"));
        }
        let message = message.map(|content| {
            let length = memory.content_bytes(content).unwrap_or(0);
            memory.sent(content);
            length
        });
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let length = length.saturating_add(HEAD_BYTES);
        let parcel = Parcel::Protocol { message, carries };
        self.post(from, to, parcel, length, clock_ns);
        Ok(())
    }

    /// Gives a message to the network. To itself a node tells at once and for
    /// nothing.
    pub(super) fn post(
        &mut self,
        from: NodeId,
        to: NodeId,
        parcel: Parcel,
        bytes: u32,
        clock_ns: u64,
    ) {
        let arrival_ns = if from == to {
            clock_ns
        } else {
            let outcome = self.nodes[usize::from(from.0)].outcome();
            outcome.messages += 1;
            outcome.counts[DsmCount::BytesSent] += u64::from(bytes);
            let [outwards, _] = &self.links[usize::from(from.0)];
            let [_, inwards] = &self.links[usize::from(to.0)];
            self.setting
                .net
                .arrival_ns(clock_ns, bytes as usize, outwards, inwards)
        };
        self.queue
            .push(arrival_ns, Event::Arrive { from, to, parcel });
    }
}

/// Why a step cannot be made.
#[derive(Debug)]
pub(super) enum Failure {
    Driver(DriverError),
    Nonsense(Nonsense),
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl From<Nonsense> for Failure {
    fn from(nonsense: Nonsense) -> Self {
        Self::Nonsense(nonsense)
    }
}

/// A node in the middle of a step: nothing has content, and everything takes time.
struct NodeMachine<'s, 'a> {
    world: &'s mut World<'a>,
    at: NodeId,
    clock_ns: &'s mut u64,
    tally: &'s mut Tally,
}

impl NodeMachine<'_, '_> {
    fn memory(&mut self) -> &mut Memory {
        &mut self.world.nodes[usize::from(self.at.0)].memory
    }

    fn takes(&mut self, ns: u64) {
        *self.clock_ns = self.clock_ns.saturating_add(ns);
    }
}

impl Machine for NodeMachine<'_, '_> {
    type Body = Size;
    type Error = Failure;

    fn protect(
        &mut self,
        pages: PageRange,
        what: Protection,
        _: &dyn Protocol<Size>,
    ) -> Result<(), Failure> {
        self.tally.writable |= what == Protection::ReadWrite;
        if what == Protection::None {
            self.tally.add(DsmCount::Invalidations, pages.len());
        }
        self.memory().protect(pages, what);
        Ok(())
    }

    fn twin(
        &mut self,
        pages: PageRange,
        ahead: bool,
        _: &dyn Protocol<Size>,
    ) -> Result<(), Failure> {
        if !ahead {
            self.tally.twinned = true;
            self.tally.add(DsmCount::WriteFaultsRemote, pages.len());
        }
        let twin_ns = self.world.setting.costs.twin_ns;
        self.takes(twin_ns.saturating_mul(pages.len().into()));
        let memory = self.memory();
        pages.iter().for_each(|page| memory.twin(page));
        Ok(())
    }

    fn drop_twin(&mut self, page: PageId) -> Result<(), Failure> {
        self.memory().drop_twin(page);
        Ok(())
    }

    fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<(), Failure> {
        self.tally.add(DsmCount::DiffsMade, 1);
        let bytes = self.memory().diff(page, of)?;
        let diff_ns = self.world.setting.costs.diff_ns;
        self.takes(Costs::of_diffs(diff_ns, 1, bytes));
        Ok(())
    }

    fn reapply(&mut self, page: PageId, of: Version) -> Result<(), Failure> {
        let bytes = self.memory().content_bytes(Content::Kept(page, of));
        let apply_ns = self.world.setting.costs.apply_ns;
        self.takes(Costs::of_diffs(apply_ns, 1, bytes.unwrap_or(0)));
        Ok(())
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.memory().forget();
        Ok(())
    }

    fn forget_others(&mut self, me: NodeId) {
        self.memory().forget_others(me);
    }

    fn content_bytes(&self, content: Content) -> usize {
        let memory = &self.world.nodes[usize::from(self.at.0)].memory;
        memory.content_bytes(content).unwrap_or(0) as usize
    }

    fn written(&mut self) -> Result<PageSet, Failure> {
        Ok(self.memory().take_written())
    }

    fn install(
        &mut self,
        page: PageId,
        bytes: Size,
        twinned: bool,
        _: &dyn Protocol<Size>,
    ) -> Result<(), Failure> {
        self.tally.add(DsmCount::PagesFetched, 1);
        if bytes > 0 {
            self.memory().touch(page);
        }
        if twinned {
            self.takes(self.world.setting.costs.twin_ns);
            self.memory().twin(page);
        }
        Ok(())
    }

    fn apply(&mut self, page: PageId, bytes: Size, keep: Option<Version>) -> Result<(), Failure> {
        if let Some(version) = keep {
            self.memory().keep(page, version, bytes);
        }
        self.tally.add(DsmCount::DiffsApplied, 1);
        self.memory().touch(page);
        let apply_ns = self.world.setting.costs.apply_ns;
        self.takes(Costs::of_diffs(apply_ns, 1, bytes));
        Ok(())
    }

    /// Nobody looks at content.
    fn read(&mut self, _: PageId) -> Result<Box<PageBytes>, Failure> {
        Ok(Box::new([0; PAGE_BYTES]))
    }

    fn send(&mut self, to: NodeId, message: Message<Content>) -> Result<(), Failure> {
        let (from, clock_ns) = (self.at, *self.clock_ns);
        Ok(self.world.send(from, to, message, clock_ns, self.tally)?)
    }

    fn resume(&mut self, thread: ThreadId, _: Answer) -> Result<(), Failure> {
        self.tally.resumed = true;
        Ok(self.world.let_go_on(self.at, thread, *self.clock_ns)?)
    }

    fn left_open(&mut self, pages: u32) {
        self.tally.add(DsmCount::LeftOpen, pages);
    }
}
