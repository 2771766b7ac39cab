//! Threads that wait for a byte in a loop of their own, which tells by its branches: all others
//! are asked to tell what they wrote, now and then while it goes on, and when it ends if what
//! ended it may have come before that.

use super::{Event, World, node_id, thread_id};
use crate::failure::Failure;
use crate::memory::Blob;
use crate::program::{Address, Step};
use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{
    Access, Content, Input, Lacks, Offer, Operation, PageBytes, PageRange, Protocol,
};
use rand::{Rng, RngExt};

/// The thread that releases for other nodes.
pub(super) const PUBLISHER: ThreadId = ThreadId(u32::MAX - 2);

/// How often it is looked whether others have told what they have brought.
const TELLING: u8 = 2;

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Looks,
    /// It has not come.
    GoesOn,
    /// It has come.
    Ends,
    /// It has asked others, of which so many have yet to answer, after so many arrivals. Then it
    /// flushes and looks again, or goes on.
    Asks {
        left: usize,
        arrivals: u64,
        ends: bool,
    },
    /// What they told is known.
    Knows { arrivals: u64 },
    /// It has learned so often of what was told.
    Learns(u8),
}

/// What nodes send each other beside their protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// A thread of the sender wants to see what was written.
    Publish(ThreadId),
    /// Another node's thread is to be told that this was done.
    Published(NodeId, ThreadId),
    /// It is told.
    Done(ThreadId),
}

/// Threads of other nodes that want to see what was written at a node.
#[derive(Debug, Default)]
pub(super) struct Publishing {
    askers: Vec<(NodeId, ThreadId)>,
    /// Those for whom it is being told.
    now: Vec<(NodeId, ThreadId)>,
}

impl<P: Protocol<Blob>> World<P> {
    /// A thread goes on with waiting.
    pub(super) fn wait(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let Step::Wait(address, _) = step else {
            return Ok(());
        };
        let operation = match self.nodes[node].threads[thread].wait {
            Stage::Looks => {
                return self.access(node, thread, address, Access::Read, step, random);
            }
            Stage::GoesOn => {
                self.nodes[node].threads[thread].wait = Stage::Looks;
                match random.random_range(0..4) {
                    0 => Operation::Flush,
                    1 => return self.ask_all(node, thread, false, random),
                    _ => {
                        self.go_on(node, thread, random);
                        return Ok(());
                    }
                }
            }
            Stage::Ends => match self.lacks(node, address, random) {
                Lacks::Nothing => return self.has_waited(node, thread, random),
                Lacks::WhatIsTold => {
                    self.nodes[node].threads[thread].wait = Stage::Learns(1);
                    Operation::AcquireFlush
                }
                Lacks::WhatOthersHaveToTell => return self.ask_all(node, thread, true, random),
            },
            Stage::Learns(_) if !self.is_behind(node) => {
                return self.has_waited(node, thread, random);
            }
            Stage::Learns(TELLING) => return self.ask_all(node, thread, true, random),
            Stage::Learns(times) => {
                self.nodes[node].threads[thread].wait = Stage::Learns(times + 1);
                Operation::AcquireFlush
            }
            // The last answer lets it go on.
            Stage::Asks { ends: false, .. } => {
                self.nodes[node].threads[thread].wait = Stage::Looks;
                Operation::Flush
            }
            Stage::Asks { arrivals, .. } => {
                self.nodes[node].threads[thread].wait = Stage::Knows { arrivals };
                Operation::AcquireFlush
            }
            Stage::Knows { arrivals } => {
                self.nodes[node].looks.cover(arrivals);
                return self.has_waited(node, thread, random);
            }
        };
        self.nodes[node].threads[thread].waiting = true;
        let thread = thread_id(thread);
        self.input(node, Input::Operation { thread, operation }, random)
    }

    fn has_waited(
        &mut self,
        node: usize,
        thread: usize,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let state = &mut self.nodes[node].threads[thread];
        state.wait = Stage::Looks;
        state.next += 1;
        self.go_on(node, thread, random);
        Ok(())
    }

    /// What a thread lacks that has left a loop. Where it looked is known, or not.
    fn lacks(&mut self, node: usize, address: Address, random: &mut impl Rng) -> Lacks {
        let page = Some(address.page()).filter(|_| random.random_ratio(3, 4));
        let at = address.offset();
        let state = &mut self.nodes[node];
        if !state.looks.is_covered(page.map(|page| (page, at..at + 1))) {
            return Lacks::WhatOthersHaveToTell;
        }
        if page.is_some_and(|page| !state.protocol.is_at_home(page)) {
            return Lacks::Nothing;
        }
        let is_updated = page.is_none_or(|page| self.is_updated(node, page));
        match self.is_behind(node) || is_updated && self.has_news(node) {
            true => Lacks::WhatIsTold,
            false => Lacks::Nothing,
        }
    }

    fn is_updated(&self, node: usize, page: PageId) -> bool {
        let offer = self.nodes[node].offers.get(&page);
        matches!(offer, Some(Offer::Updated | Offer::Reserved))
    }

    /// Whoever updated pages did so unseen, and cannot be told of it once they are not offered.
    pub(super) fn end_updates(&mut self, node: usize, pages: PageRange, offer: Offer) {
        for page in pages.iter().filter(|_| offer != Offer::Updated) {
            if self.is_updated(node, page) {
                self.nodes[node].looks.arrived(page, None);
            }
        }
    }

    /// Whether diffs may be part of a node's pages of intervals that it does not know of, or are
    /// not of some that it knows of.
    fn is_behind(&self, node: usize) -> bool {
        let state = &self.nodes[node];
        let Some(there) = state.protocol.committed() else {
            return false;
        };
        let pending = state.begun.iter().map(|(node, last)| (*node, *last));
        let mut begun = there.begun.iter().chain(pending);
        begun.any(|(node, last)| !there.known.covers(node, last)) || state.protocol.awaits_diffs()
    }

    fn ask_all(
        &mut self,
        node: usize,
        thread: usize,
        ends: bool,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let arrivals = self.nodes[node].looks.arrivals();
        let others = (0..self.nodes.len()).filter(|other| *other != node);
        let others: Vec<_> = others.collect();
        let left = others.len();
        let state = &mut self.nodes[node].threads[thread];
        state.wait = Stage::Asks {
            left,
            arrivals,
            ends,
        };
        if left == 0 {
            let step = state.steps[state.next];
            return self.wait(node, thread, step, random);
        }
        state.waiting = true;
        for other in others {
            self.post(node, other, Frame::Publish(thread_id(thread)), random);
        }
        Ok(())
    }

    fn post(&mut self, from: usize, to: usize, frame: Frame, random: &mut impl Rng) {
        self.note(from, "out", &(to, frame));
        let delay = self.delay(from, to, random);
        self.schedule(delay, Event::Frame(node_id(from), to, frame));
    }

    /// A message beside the protocol arrives.
    pub(super) fn framed(
        &mut self,
        from: NodeId,
        node: usize,
        frame: Frame,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        self.note(node, "in", &(from, frame));
        match frame {
            Frame::Publish(thread) => {
                self.nodes[node].publishing.askers.push((from, thread));
                self.publish(node, random)?;
            }
            Frame::Published(asker, thread) if usize::from(asker.0) == node => {
                self.answered(node, thread, random);
            }
            Frame::Published(asker, thread) => {
                self.post(node, usize::from(asker.0), Frame::Done(thread), random);
            }
            Frame::Done(thread) => self.answered(node, thread, random),
        }
        Ok(())
    }

    /// Tells what was written at a node, if somebody has asked for it and that is not done yet.
    fn publish(&mut self, node: usize, random: &mut impl Rng) -> Result<(), Failure> {
        let state = &mut self.nodes[node];
        let Publishing { askers, now } = &mut state.publishing;
        if askers.is_empty() || !now.is_empty() {
            return Ok(());
        }
        *now = std::mem::take(askers);
        if let Some(epoch) = state.protocol.stands() {
            let (from, message) = (ROOT, Control::Demand { epoch }.into());
            self.input(node, Input::Message { from, message }, random)?;
            self.has_published(node, false, random);
            return self.publish(node, random);
        }
        let (thread, operation) = (PUBLISHER, Operation::ReleaseFlush);
        self.input(node, Input::Operation { thread, operation }, random)
    }

    /// It is told: whoever asked hears of it, behind what was sent to the sequencer.
    pub(super) fn go_on_publishing(
        &mut self,
        node: usize,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let sequencer = self.nodes[0].protocol.sequenced();
        let underway = &self.nodes[node].underway;
        let is_told =
            sequencer.is_some_and(|there| underway.may_tell(there.contains.of(node_id(node))));
        self.has_published(node, is_told, random);
        self.publish(node, random)
    }

    fn has_published(&mut self, node: usize, is_told: bool, random: &mut impl Rng) {
        for (asker, thread) in std::mem::take(&mut self.nodes[node].publishing.now) {
            let (to, frame) = match is_told || node == usize::from(ROOT.0) {
                true => (asker, Frame::Done(thread)),
                false => (ROOT, Frame::Published(asker, thread)),
            };
            self.post(node, usize::from(to.0), frame, random);
        }
    }

    fn answered(&mut self, node: usize, thread: ThreadId, random: &mut impl Rng) {
        let thread = thread.0 as usize;
        let state = &mut self.nodes[node].threads[thread];
        if let Stage::Asks { left, .. } = &mut state.wait {
            *left -= 1;
            if *left == 0 {
                state.waiting = false;
                self.go_on(node, thread, random);
            }
        }
    }

    /// What a page was is remembered if a loop looks at it: other content comes.
    pub(super) fn before_arrival(&mut self, node: usize, page: PageId) -> Result<(), String> {
        if self.nodes[node].looks.wants(page) {
            let before = self.content_of(node, page)?;
            self.nodes[node].looks.before(page, before);
        }
        Ok(())
    }

    /// It has come.
    pub(super) fn has_arrived(&mut self, node: usize, page: PageId) -> Result<(), String> {
        let content = self.content_of(node, page)?;
        self.nodes[node].looks.arrived(page, Some(&content));
        Ok(())
    }

    fn content_of(&mut self, node: usize, page: PageId) -> Result<Box<PageBytes>, String> {
        let mut bytes = Vec::new();
        let memory = &mut self.nodes[node].memory;
        memory.append(Content::Page(page), &mut bytes)?;
        let content = <Box<PageBytes>>::try_from(bytes.into_boxed_slice());
        content.map_err(|_| format!("page {page} is not a page"))
    }
}
