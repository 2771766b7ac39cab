//! Carries out what a protocol asks for: on pages, on messages, on threads.

mod blob;
mod changes;
mod diffs;
mod direct;
mod looking;
mod protect;
mod sending;
mod twins;
mod unwatched;
mod updating;

pub(crate) use blob::Blob;

use crate::accesses::{Watch, WatchError};
use crate::copies::Places;
use crate::profile::{Profile, Tally};
use crate::races::{Changes, Lookout};
use crate::slots::Slots;
use crate::window::{Begun, Window};
use blob::install;
use fathomp_base::{NodeId, PAGE_BYTES, PageId, ThreadId};
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{
    Access, Action, Diff, DiffError, Input, Interval, Lacks, Looks, Operation, PageBytes,
    PageRange, PageSet, Protection, Protocol, Underway, Violation, WireError,
};
use fathomp_sys::cluster::pages::{Pages, Permission};
use fathomp_trace::dsm::DsmCount;
use fathomp_transport::local::Awaited;
use fathomp_transport::{SendError, Transport, Wake};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use twins::Twins;
use unwatched::Unwatched;

/// What an engine works with.
pub(crate) struct Hands<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) transport: &'a dyn Transport,
    pub(crate) slots: &'a Slots,
    pub(crate) profile: &'a Profile,
    pub(crate) lookout: &'a Lookout,
    /// If pages may be taken out of other nodes' memory.
    pub(crate) window: Option<&'a Window>,
    /// If what nodes answer may be left in their memory.
    pub(crate) memories: Option<&'a Window>,
    /// This node is at a barrier, and no thread of the program can run until that is over,
    /// except for [handlers](Engine::expect_touches).
    pub(crate) still: bool,
}

/// Why a node cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Violation(#[from] Violation),
    #[error("node {from} sent a message that makes no sense: {what}")]
    Garbage { from: NodeId, what: WireError },
    #[error("a diff arrived damaged: {0}")]
    Diff(#[from] DiffError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("cannot change what the program may do to a page: {0}")]
    Permit(#[source] io::Error),
    #[error("what nodes tell each other in shared memory was overwritten, perhaps by the program")]
    Overwritten,
    #[error("the protocol asked for something impossible: {0}")]
    Action(&'static str),
    #[error(transparent)]
    Watch(#[from] WatchError),
}

/// What a thread is told that was refused what it tried to get.
pub(crate) const REFUSED: u64 = 0;
/// What a thread is told that may go on.
pub(crate) const GRANTED: u64 = 1;

/// A protocol at work, whichever it is. Each call returns whether somebody had
/// to be woken for it: then an answer takes a while.
pub(crate) trait Engine: Send {
    fn fault(
        &mut self,
        hands: &Hands,
        thread: ThreadId,
        page: PageId,
        access: Access,
    ) -> Result<Wake, Trouble>;

    fn operation(
        &mut self,
        hands: &Hands,
        thread: ThreadId,
        operation: Operation,
    ) -> Result<Wake, Trouble>;

    fn message(&mut self, hands: &Hands, from: NodeId, bytes: &[u8]) -> Result<(), Trouble>;

    /// If this node is at a barrier, where a flush would have to wait until it is over, tells
    /// the sequencer what the barrier has yet to tell, before whatever is sent there next.
    /// False if it is at none.
    fn tell_at_barrier(&mut self, hands: &Hands) -> Result<bool, Trouble>;

    /// Whether this node has to flush before a page is [updated](fathomp_dsm::Updates), and
    /// whether after it; None if the page cannot be.
    fn owes_before_update(&self, hands: &Hands, page: PageId) -> Option<bool>;
    fn lacks_news_after_update(&self, hands: &Hands) -> bool;

    /// What a thread lacks that has left a loop which waits, where it looked at these bytes of
    /// a page, or nobody knows where; and what a [question](Self::cover) covers.
    fn lacks_to_go_on(
        &mut self,
        hands: &Hands,
        looked: Option<(PageId, Range<usize>)>,
    ) -> (Lacks, u64);
    /// Whether diffs of intervals may be part of pages here of which this node does not know, or
    /// are missing of which it does.
    fn is_behind(&self, hands: &Hands) -> bool;
    /// Everybody has told since what was known before so many arrivals, and it was learned of.
    fn cover(&mut self, arrivals: u64);
    /// Whether who asks for it learns of all that this node has told.
    fn is_told(&self, hands: &Hands) -> bool;

    /// See [`Protocol::lacks_what_is_shown`].
    fn lacks_what_is_shown(&self) -> bool;

    /// Begins to update a byte of a page, see [`Window::begin_update`].
    fn begin_update(&self, hands: &Hands, page: PageId, offset: usize) -> Begun;

    /// A signal handler of the program is about to run while this node is at a barrier.
    fn expect_touches(&mut self, hands: &Hands) -> Result<(), Trouble>;

    /// Whether it watches what the program accesses.
    fn watch(&mut self) -> Option<&mut Watch>;
}

/// An [`Engine`] around a protocol.
pub(crate) struct Driver<P: Protocol<Blob>> {
    protocol: P,
    twins: Twins,
    /// Where others find twins.
    places: Places,
    unwatched: Unwatched,
    /// Pages that should be forbidden to write and are not, since nobody touches them
    /// before they are given back.
    untouched: Vec<PageRange>,
    /// What is to be permitted next, see [`protect`].
    unsettled: Option<(PageRange, Permission)>,
    /// Pages that are to be watched once the answers are sent that come next.
    late: Vec<PageRange>,
    /// What has come to pages that loops look at.
    looks: Looks,
    /// Made and not sent yet.
    diffs: HashMap<PageId, Diff>,
    /// Made and to be sent whenever they are asked for.
    kept: HashMap<(PageId, Interval), Diff>,
    actions: Vec<Action<P::Outgoing, Blob>>,
    outgoing: Vec<u8>,
    /// What follows from what was done without a message.
    following: VecDeque<Input<P::Incoming>>,
    /// What was sent.
    underway: Underway,
    /// Where races are looked for.
    changes: Option<Changes>,
    /// If accesses are recorded.
    watch: Option<Watch>,
}

impl<P: Protocol<Blob>> Driver<P> {
    /// Starts a protocol. All pages may be read and written before.
    ///
    /// # Errors
    /// If it cannot be done.
    pub(crate) fn start(protocol: P, hands: &Hands, watch: Option<Watch>) -> Result<Self, Trouble> {
        let mut driver = Self {
            actions: Vec::new(),
            twins: Twins::default(),
            places: Places::default(),
            unwatched: Unwatched::default(),
            untouched: Vec::new(),
            unsettled: None,
            late: Vec::new(),
            looks: Looks::default(),
            diffs: HashMap::new(),
            kept: HashMap::new(),
            outgoing: Vec::new(),
            following: VecDeque::new(),
            underway: Underway::default(),
            changes: protocol.clock().map(|_| Changes::default()),
            watch,
            protocol,
        };
        let mut actions = Vec::new();
        driver.protocol.start(&mut actions);
        if let Some(watch) = &mut driver.watch {
            for action in &actions {
                if let Action::Protect(pages, Protection::None) = action {
                    watch.forbid_first(*pages);
                }
            }
            watch.begin(hands.pages)?;
            return Ok(driver);
        }
        driver.carry_out(hands, actions, &mut Tally::default())?;
        driver.show(hands);
        Ok(driver)
    }

    fn step(
        &mut self,
        hands: &Hands,
        input: Input<P::Incoming>,
        tally: &mut Tally,
    ) -> Result<Wake, Trouble> {
        let (mut wake, mut next) = (Wake::Polling, Some(input));
        while let Some(input) = next {
            let mut actions = std::mem::take(&mut self.actions);
            // Also before a message that ends a barrier: it was in the epoch that ends.
            // And whoever has entered something in the log has brought its diffs before.
            self.tell_news(hands, &mut actions)?;
            self.tell(hands, input, &mut actions)?;
            self.close(hands, &mut actions)?;
            self.forbid(hands, &mut actions)?;
            if self.carry_out(hands, actions, tally)? == Wake::Woken {
                wake = Wake::Woken;
            }
            next = self.following.pop_front();
        }
        self.show(hands);
        Ok(wake)
    }

    /// Tells the protocol of an input, and before it of writes without a fault.
    fn tell(
        &mut self,
        hands: &Hands,
        input: Input<P::Incoming>,
        actions: &mut Vec<Action<P::Outgoing, Blob>>,
    ) -> Result<(), Trouble> {
        // Also if there are none yet: pages that come in this step count as not written.
        if self.protocol.wants_writes(&input) {
            let wrote = self.written(hands)?;
            self.protocol.step(Input::Wrote(wrote), actions)?;
        }
        Ok(self.protocol.step(input, actions)?)
    }

    /// Which pages that may be written without a fault were. From now on they
    /// must not be: first nobody writes any more, then they are compared.
    fn written(&mut self, hands: &Hands) -> Result<PageSet, Trouble> {
        let ranges = self.unwatched.take();
        for range in &ranges {
            self.protect_from_writes(hands, *range)?;
        }
        self.settle(hands)?;
        let mut written = Vec::new();
        for page in ranges.iter().flat_map(|range| range.iter()) {
            let Some(twin) = self.twins.get(page) else {
                continue;
            };
            let differs = hands.pages.differs(page, twin);
            if differs.map_err(Trouble::Permit)? {
                written.push(page);
            }
        }
        written.dedup();
        Ok(PageSet::from_sorted(&written))
    }

    fn carry_out(
        &mut self,
        hands: &Hands,
        mut actions: Vec<Action<P::Outgoing, Blob>>,
        tally: &mut Tally,
    ) -> Result<Wake, Trouble> {
        let mut wake = Wake::Polling;
        for action in actions.drain(..) {
            if !matches!(action, Action::Send(..) | Action::Offer(..)) {
                self.watch_late(hands)?;
            }
            if !matches!(action, Action::Protect(..)) {
                self.settle(hands)?;
            }
            match action {
                // Nobody touches them: whoever asked for them need not wait for that.
                Action::Protect(pages, Protection::Watched) if hands.still => {
                    self.looks.opened(pages);
                    self.late.push(pages);
                }
                Action::Protect(pages, what) => {
                    if what != Protection::None {
                        self.looks.opened(pages);
                    }
                    tally.writable |= what == Protection::ReadWrite;
                    if what == Protection::None {
                        tally.add(DsmCount::Invalidations, pages.len() as usize);
                    }
                    self.protect(hands, pages, what)?;
                }
                Action::Twin(page) => {
                    tally.twinned = true;
                    tally.add(DsmCount::WriteFaultsRemote, 1);
                    self.twin(hands, page, false)?;
                    self.begin_copy(page);
                }
                Action::Prepare(pages) => {
                    let prepared = hands.pages.prepare(pages.first(), pages.len());
                    prepared.map_err(Trouble::Permit)?;
                }
                Action::Foresee(pages) => {
                    for page in pages.iter() {
                        self.twin(hands, page, true)?;
                        self.begin_copy(page);
                    }
                }
                Action::Diff(pages) => {
                    tally.add(DsmCount::DiffsMade, pages.len() as usize);
                    // They are sent next. Perhaps there need not be any, see `bring`.
                    if hands.window.is_none() {
                        pages.iter().try_for_each(|page| self.diff(hands, page))?;
                    }
                }
                Action::Keep(page, interval) => {
                    tally.add(DsmCount::DiffsMade, 1);
                    let diff = self.compare(hands, page)?;
                    self.kept.insert((page, interval), diff);
                }
                Action::Reapply(page, interval) => {
                    let diff = self.kept.get(&(page, interval)).cloned();
                    let diff = diff.ok_or(Trouble::Action("a diff that was not kept"))?;
                    self.apply(hands, page, &diff)?;
                }
                Action::Forget => {
                    self.kept.clear();
                    self.twins.clear();
                }
                Action::LeaveOpen(pages) => tally.add(DsmCount::LeftOpen, pages as usize),
                Action::DropTwin(page) => {
                    self.unwatched.remove(page.into());
                    if let Some(twin) = self.twins.remove(page) {
                        self.twins.keep(twin);
                    }
                }
                Action::Install(page, content) => {
                    tally.add(DsmCount::PagesFetched, 1);
                    self.before_arrival(hands, [page])?;
                    if let Some(content) = install(hands, page, content)? {
                        self.twins.keep(content);
                    }
                    self.arrived(hands, page)?;
                }
                Action::InstallTwinned(page, content) => {
                    tally.add(DsmCount::PagesFetched, 1);
                    self.before_arrival(hands, [page])?;
                    match install(hands, page, content)? {
                        None => self.twin(hands, page, true)?,
                        Some(twin) => {
                            self.twins.insert(page, twin);
                        }
                    }
                    self.arrived(hands, page)?;
                    self.begin_copy(page);
                }
                Action::Apply(page, content) => {
                    tally.others[DsmCount::DiffsApplied] += 1;
                    let diff = Diff::from_bytes(content.bytes()?)?;
                    if let Some(changes) = &mut self.changes {
                        let mut now = Box::new([0; PAGE_BYTES]);
                        hands.pages.read(page, &mut now).map_err(Trouble::Permit)?;
                        changes.apply(page, &now, &diff);
                    }
                    self.apply(hands, page, &diff)?;
                    self.looks.arrived(page, None);
                }
                Action::Offer(pages, offer) => self.offer(hands, pages, offer),
                Action::Log(notice) => self.log(hands, &notice),
                Action::Claim(lock) => self.claim(hands, lock),
                Action::Unclaim(lock) => direct::unclaim(hands, lock),
                Action::Send(to, message) => {
                    let Some(message) = self.without_message(hands, to, message, tally)? else {
                        continue;
                    };
                    if to == hands.transport.me() {
                        // To the sequencer here: it has no content.
                        let message = P::fill(message, |_| Blob::Here);
                        let from = to;
                        self.following.push_back(Input::Message { from, message });
                    } else if self.send(hands, to, message, tally)? == Wake::Woken {
                        wake = Wake::Woken;
                    }
                }
                Action::Resume(thread) => {
                    tally.resume(hands.profile, thread);
                    answer(hands, thread, GRANTED)?;
                }
                Action::Refuse(thread) => {
                    tally.resume(hands.profile, thread);
                    answer(hands, thread, REFUSED)?;
                }
            }
        }
        self.watch_late(hands)?;
        self.settle(hands)?;
        self.actions = actions;
        if let Some((changes, (_, interval))) = self.changes.as_mut().zip(self.protocol.clock()) {
            changes.tell(interval, hands.transport, hands.lookout)?;
        }
        Ok(wake)
    }
}

impl<P> Engine for Driver<P>
where
    P: Protocol<Blob> + Send,
    P::Outgoing: Send,
    P::Incoming: Send,
{
    fn fault(
        &mut self,
        hands: &Hands,
        thread: ThreadId,
        page: PageId,
        access: Access,
    ) -> Result<Wake, Trouble> {
        if let Some(watch) = &mut self.watch
            && watch.touch(hands.pages, page, access)?
        {
            answer(hands, thread, GRANTED)?;
            return Ok(Wake::Polling);
        }
        let fault = Input::Fault {
            thread,
            page,
            access,
        };
        let mut tally = Tally::default();
        let wake = self.step(hands, fault, &mut tally)?;
        if !tally.resumed || tally.took {
            tally.add(DsmCount::FetchFaults, 1);
        } else if tally.writable && !tally.twinned {
            tally.add(DsmCount::WriteFaultsLocal, 1);
        }
        tally.close(hands.profile, Some(thread));
        Ok(wake)
    }

    fn operation(
        &mut self,
        hands: &Hands,
        thread: ThreadId,
        operation: Operation,
    ) -> Result<Wake, Trouble> {
        let mut tally = Tally::default();
        self.untouched.clear();
        let wake = self.step(hands, Input::Operation { thread, operation }, &mut tally)?;
        tally.close(hands.profile, Some(thread));
        Ok(wake)
    }

    fn tell_at_barrier(&mut self, hands: &Hands) -> Result<bool, Trouble> {
        let Some(epoch) = self.protocol.stands() else {
            return Ok(false);
        };
        let (from, message) = (ROOT, Control::Demand { epoch }.into());
        let mut tally = Tally::default();
        self.step(hands, Input::Message { from, message }, &mut tally)?;
        tally.close(hands.profile, None);
        Ok(true)
    }

    fn message(&mut self, hands: &Hands, from: NodeId, bytes: &[u8]) -> Result<(), Trouble> {
        let message = P::decode(bytes, |range| {
            let Some(range) = range else {
                return Blob::Left(from);
            };
            let content = bytes.get(range).unwrap_or_default();
            match <&PageBytes>::try_from(content) {
                Ok(content) => {
                    let mut page = self.twins.room();
                    **page = *content;
                    Blob::Page(page)
                }
                Err(_) if content.is_empty() => Blob::Blank,
                Err(_) => Blob::Bytes(content.into()),
            }
        });
        let message = message.map_err(|what| Trouble::Garbage { from, what })?;
        let mut tally = Tally::default();
        self.step(hands, Input::Message { from, message }, &mut tally)?;
        tally.close(hands.profile, None);
        Ok(())
    }

    fn expect_touches(&mut self, hands: &Hands) -> Result<(), Trouble> {
        let untouched = std::mem::take(&mut self.untouched);
        for page in untouched.iter().flat_map(|range| range.iter()) {
            if self.protocol.gives_back(page) {
                self.permit(hands, page.into(), Protection::Read)?;
            }
        }
        self.settle(hands)
    }

    fn watch(&mut self) -> Option<&mut Watch> {
        self.watch.as_mut()
    }

    fn owes_before_update(&self, hands: &Hands, page: PageId) -> Option<bool> {
        self.owes_before(hands, page)
    }

    fn lacks_news_after_update(&self, hands: &Hands) -> bool {
        self.lacks_news(hands)
    }

    fn lacks_what_is_shown(&self) -> bool {
        self.protocol.lacks_what_is_shown()
    }

    fn lacks_to_go_on(
        &mut self,
        hands: &Hands,
        looked: Option<(PageId, Range<usize>)>,
    ) -> (Lacks, u64) {
        (self.lacking(hands, looked), self.looks.arrivals())
    }

    fn is_behind(&self, hands: &Hands) -> bool {
        Driver::is_behind(self, hands)
    }

    fn cover(&mut self, arrivals: u64) {
        self.looks.cover(arrivals);
    }

    fn is_told(&self, hands: &Hands) -> bool {
        let mut window = hands.window.into_iter();
        window.any(|window| window.is_told(&self.underway))
    }

    fn begin_update(&self, hands: &Hands, page: PageId, offset: usize) -> Begun {
        self.try_to_update(hands, page, offset)
    }
}

/// Lets a thread of this node go on.
pub(crate) fn answer(hands: &Hands, thread: ThreadId, what: u64) -> Result<(), Trouble> {
    if let Some(emulation) = hands.transport.emulation()
        && hands.slots.is_programs(thread)
    {
        emulation.tell(Awaited::Answer);
    }
    match hands.slots.answer(thread, what) {
        Some(true) => hands.transport.rouse(),
        Some(false) => {}
        None => return Err(Trouble::Action("a thread goes on that does not exist")),
    }
    Ok(())
}
