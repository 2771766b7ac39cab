//! The protocol at work on this node: the one [driver](fathomp_driver), on real pages, threads
//! and peers.

mod blank;
mod blob;
mod diffs;
mod host;
mod machine;
mod observed;
mod protect;
mod sending;
mod twins;
mod unwatched;
mod work;

pub(crate) use blob::Blob;
pub(crate) use host::{GRANTED, Host, NodeError, REFUSED, answer};

use crate::observer::{PageObserver, Watch};
use crate::profile::Tally;
use fathomp_driver::Driver;
use fathomp_protocols::message::Message;
use fathomp_protocols::{Access, Change, Input, Lacks, Operation, PageBytes, Protocol};
use fathomp_trace::dsm::DsmCount;
use fathomp_transport::Wake;
use fathomp_types::{NodeId, PageId, ThreadId};
use machine::NodeMachine;
use std::ops::Range;
use work::Work;

/// A protocol, whichever it is, at a node.
type AnyProtocol = Box<dyn Protocol<Blob> + Send>;

/// The protocol at work. Calls that ask for something return whether another thread or node
/// had to be woken for it: then an answer takes a while.
pub(crate) struct Engine {
    driver: Driver<AnyProtocol, Blob>,
    work: Work,
}

impl Engine {
    /// Starts a protocol. All pages may be read and written before.
    ///
    /// # Errors
    /// If it cannot be done.
    pub(crate) fn start(
        protocol: AnyProtocol,
        host: &Host,
        watch: Option<Watch>,
    ) -> Result<Self, NodeError> {
        let observer = PageObserver::new(watch, protocol.clock().is_some());
        let work = Work::new(observer);
        let mut engine = Self {
            driver: Driver::new(host.transport.me(), protocol),
            work,
        };
        engine.on(host, |driver, machine| driver.start(machine))?;
        engine.work.starting = false;
        if let Some(watch) = engine.watch() {
            watch.begin(host.pages)?;
        }
        Ok(engine)
    }

    fn on<T>(
        &mut self,
        host: &Host,
        what: impl FnOnce(&mut Driver<AnyProtocol, Blob>, &mut NodeMachine) -> T,
    ) -> T {
        let Self { driver, work } = self;
        what(driver, &mut NodeMachine { host, work })
    }

    /// Makes a step, and returns what it did.
    fn step(&mut self, host: &Host, input: Input<Blob>) -> Result<(Tally, Wake), NodeError> {
        self.work.tally = Tally::default();
        self.work.wake = Wake::Polling;
        self.on(host, |driver, machine| driver.input(machine, input))?;
        Ok((std::mem::take(&mut self.work.tally), self.work.wake))
    }

    /// The same for a thread that asks, and is to [end the transport's
    /// step](fathomp_transport::Transport::end_step) when it looks for the answer: one that comes
    /// at once, to a processor that both nodes share, would wake another thread otherwise.
    fn asked(&mut self, host: &Host, input: Input<Blob>) -> Result<(Tally, Wake), NodeError> {
        self.work.asked = true;
        let stepped = self.step(host, input);
        self.work.asked = false;
        stepped
    }

    /// A thread touched a page that it may not, at these bytes.
    pub(crate) fn fault(
        &mut self,
        host: &Host,
        thread: ThreadId,
        page: PageId,
        access: Access,
        bytes: &Range<usize>,
    ) -> Result<Wake, NodeError> {
        if let Some(watch) = self.watch()
            && watch.touch(host.pages, page, access, bytes)?
        {
            answer(host, thread, GRANTED)?;
            return Ok(Wake::Polling);
        }
        let fault = Input::Fault {
            thread,
            page,
            access,
        };
        let (mut tally, wake) = self.asked(host, fault)?;
        if !tally.resumed {
            tally.add(DsmCount::FetchFaults, 1);
        } else if tally.writable && !tally.twinned {
            tally.add(DsmCount::WriteFaultsLocal, 1);
        }
        tally.close(host.profile, Some(thread));
        Ok(wake)
    }

    /// A thread asks for an operation.
    pub(crate) fn operation(
        &mut self,
        host: &Host,
        thread: ThreadId,
        operation: Operation,
    ) -> Result<Wake, NodeError> {
        let (tally, wake) = self.asked(host, Input::Operation { thread, operation })?;
        tally.close(host.profile, Some(thread));
        Ok(wake)
    }

    /// A thread has changed a page and goes on at once. False if that cannot be postponed, and
    /// nothing was done.
    pub(crate) fn postpone(
        &mut self,
        host: &Host,
        page: PageId,
        change: Change,
    ) -> Result<bool, NodeError> {
        if !self.batches_atomics(page) {
            return Ok(false);
        }
        let (tally, _) = self.step(host, Input::Postpone(page, change))?;
        tally.close(host.profile, None);
        Ok(true)
    }

    /// See [`Protocol::batches_atomics`].
    pub(crate) fn batches_atomics(&self, page: PageId) -> bool {
        self.driver.protocol().batches_atomics(page)
    }

    /// A message has come.
    pub(crate) fn message(
        &mut self,
        host: &Host,
        from: NodeId,
        bytes: &[u8],
    ) -> Result<(), NodeError> {
        let twins = &mut self.work.twins;
        let message = Message::decode(bytes, |range| {
            let content = bytes.get(range).unwrap_or_default();
            match <&PageBytes>::try_from(content) {
                Ok(content) => {
                    let mut page = twins.room();
                    **page = *content;
                    Blob::Page(page)
                }
                Err(_) if content.is_empty() => Blob::Blank,
                Err(_) => Blob::Bytes(content.into()),
            }
        });
        let message = message.map_err(|what| NodeError::Garbage { from, what })?;
        let (tally, _) = self.step(host, Input::Message { from, message })?;
        tally.close(host.profile, None);
        Ok(())
    }

    /// See [`Driver::tell_at_barrier`].
    pub(crate) fn tell_at_barrier(&mut self, host: &Host) -> Result<bool, NodeError> {
        self.work.tally = Tally::default();
        let told = self.on(host, |driver, machine| driver.tell_at_barrier(machine))?;
        std::mem::take(&mut self.work.tally).close(host.profile, None);
        Ok(told)
    }

    /// See [`Protocol::may_expose_unseen_writes`].
    pub(crate) fn may_expose_unseen_writes(&self, page: PageId) -> bool {
        self.driver.protocol().may_expose_unseen_writes(page)
    }

    /// See [`Protocol::carries`].
    pub(crate) fn forwards_atomics(&self, page: PageId) -> bool {
        self.driver.protocol().forwards_atomics(page)
    }

    /// See [`Driver::lacking`].
    pub(crate) fn lacking(&mut self, looked: Option<(PageId, Range<usize>)>) -> (Lacks, u64) {
        self.driver.lacking(looked)
    }

    /// See [`Driver::cover`].
    pub(crate) fn cover(&mut self, arrivals: u64) {
        self.driver.cover(arrivals);
    }

    /// See [`Driver::cover_page`].
    pub(crate) fn cover_page(&mut self, page: PageId, arrivals: u64) {
        self.driver.cover_page(page, arrivals);
    }

    /// What watches what the program accesses, if something does.
    pub(crate) fn watch(&mut self) -> Option<&mut Watch> {
        self.work.observer.as_mut()?.watch.as_mut()
    }
}
