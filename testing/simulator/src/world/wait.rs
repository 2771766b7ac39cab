//! Threads that wait for a byte in a loop of their own, which tells by its branches: all others
//! are asked to tell what they wrote, now and then while it goes on, and when it ends if what
//! ended it may have come before that.

use super::World;
use super::cluster::{Cluster, Event, node_id, thread_id};
use crate::blob::Blob;
use crate::failure::Failure;
use crate::program::Step;
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{Access, Lacks, Operation, Protocol};
use fathomp_types::{NodeId, ThreadId};
use rand::RngExt;

/// The thread that releases for other nodes.
pub(super) const PUBLISHER: ThreadId = ThreadId(u32::MAX - 2);

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
    /// It has asked for what the page showed, after so many arrivals.
    Learns { arrivals: u64 },
    /// What they told is known.
    Knows { arrivals: u64 },
    /// It has learned of what was told.
    HasLearned,
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

impl<P: Protocol<Blob>> World<'_, P> {
    /// A thread goes on with waiting.
    pub(super) fn wait(&mut self, node: usize, thread: usize, step: Step) -> Result<(), Failure> {
        let Step::Wait(address, _) = step else {
            return Ok(());
        };
        let (next, operation) = match self.cluster.nodes[node].threads[thread].wait {
            Stage::Looks => return self.access(node, thread, address, Access::Read, step),
            Stage::GoesOn => match self.cluster.random.random_range(0..4) {
                0 => (Stage::Looks, Operation::Flush),
                1 => return self.ask_all(node, thread, 0, false),
                _ => {
                    self.cluster.nodes[node].threads[thread].wait = Stage::Looks;
                    self.cluster.go_on(node, thread);
                    return Ok(());
                }
            },
            Stage::Ends => {
                // Where it looked is known, or not.
                let is_known = self.cluster.random.random_ratio(3, 4);
                let at = address.offset();
                let looked = is_known.then(|| (address.page(), at..at + 1));
                match self.drivers[node].lacking(looked) {
                    (Lacks::Nothing, _) => return self.has_waited(node, thread),
                    (Lacks::WhatIsTold, _) => (Stage::HasLearned, Operation::AcquireFlush),
                    (Lacks::WhatThePageShows, arrivals) => {
                        (Stage::Learns { arrivals }, Operation::Learn(address.page()))
                    }
                    (Lacks::WhatOthersHaveToTell, arrivals) => {
                        return self.ask_all(node, thread, arrivals, true);
                    }
                }
            }
            Stage::HasLearned => return self.has_waited(node, thread),
            Stage::Learns { arrivals } => {
                self.drivers[node].cover_page(address.page(), arrivals);
                return self.has_waited(node, thread);
            }
            // The last answer lets it go on.
            Stage::Asks { ends: false, .. } => (Stage::Looks, Operation::Flush),
            Stage::Asks { arrivals, .. } => (Stage::Knows { arrivals }, Operation::AcquireFlush),
            Stage::Knows { arrivals } => {
                self.drivers[node].cover(arrivals);
                return self.has_waited(node, thread);
            }
        };
        self.cluster.nodes[node].threads[thread].wait = next;
        self.operation(node, thread_id(thread), operation)
    }

    fn has_waited(&mut self, node: usize, thread: usize) -> Result<(), Failure> {
        let state = &mut self.cluster.nodes[node].threads[thread];
        state.wait = Stage::Looks;
        state.next += 1;
        self.cluster.go_on(node, thread);
        Ok(())
    }

    /// Asks all other nodes to tell what was written there.
    fn ask_all(
        &mut self,
        node: usize,
        thread: usize,
        arrivals: u64,
        ends: bool,
    ) -> Result<(), Failure> {
        let others = (0..self.drivers.len()).filter(|other| *other != node);
        let others: Vec<_> = others.collect();
        let left = others.len();
        let state = &mut self.cluster.nodes[node].threads[thread];
        state.wait = Stage::Asks {
            left,
            arrivals,
            ends,
        };
        if left == 0 {
            let step = state.steps[state.next];
            return self.wait(node, thread, step);
        }
        state.waiting = true;
        for other in others {
            let frame = Frame::Publish(thread_id(thread));
            self.cluster.post(node, other, frame);
        }
        Ok(())
    }

    /// A message beside the protocol arrives.
    pub(super) fn framed(
        &mut self,
        from: NodeId,
        node: usize,
        frame: Frame,
    ) -> Result<(), Failure> {
        let cluster = &mut self.cluster;
        cluster.note(node, "in", &(from, frame));
        match frame {
            Frame::Publish(thread) => {
                cluster.nodes[node].publishing.askers.push((from, thread));
                self.publish(node)?;
            }
            Frame::Published(asker, thread) if usize::from(asker.0) == node => {
                cluster.answered(node, thread);
            }
            Frame::Published(asker, thread) => {
                cluster.post(node, usize::from(asker.0), Frame::Done(thread));
            }
            Frame::Done(thread) => cluster.answered(node, thread),
        }
        Ok(())
    }

    /// Tells what was written at a node, if somebody has asked for it and that is not done yet.
    fn publish(&mut self, node: usize) -> Result<(), Failure> {
        let Publishing { askers, now } = &mut self.cluster.nodes[node].publishing;
        if askers.is_empty() || !now.is_empty() {
            return Ok(());
        }
        *now = std::mem::take(askers);
        let (driver, mut seat) = self.at(node);
        let told = driver.tell_at_barrier(&mut seat);
        let (is_told, judged) = match told {
            Ok(is_told) => (is_told, Ok(())),
            Err(what) => (false, Err(what)),
        };
        self.judge(node, judged)?;
        if is_told {
            return self.go_on_publishing(node);
        }
        self.operation(node, PUBLISHER, Operation::ReleaseFlush)
    }

    /// It is told: whoever asked hears of it, behind what was sent to the sequencer.
    pub(super) fn go_on_publishing(&mut self, node: usize) -> Result<(), Failure> {
        self.cluster.has_published(node);
        self.publish(node)
    }
}

impl Cluster<'_> {
    fn post(&mut self, from: usize, to: usize, frame: Frame) {
        self.note(from, "out", &(to, frame));
        let delay = self.delay(from, to);
        self.schedule(delay, Event::Frame(node_id(from), to, frame));
    }

    fn has_published(&mut self, node: usize) {
        for (asker, thread) in std::mem::take(&mut self.nodes[node].publishing.now) {
            let (to, frame) = match node == usize::from(ROOT.0) {
                true => (asker, Frame::Done(thread)),
                false => (ROOT, Frame::Published(asker, thread)),
            };
            self.post(node, usize::from(to.0), frame);
        }
    }

    fn answered(&mut self, node: usize, thread: ThreadId) {
        let thread = thread.0 as usize;
        let state = &mut self.nodes[node].threads[thread];
        if let Stage::Asks { left, .. } = &mut state.wait {
            *left -= 1;
            if *left == 0 {
                state.waiting = false;
                self.go_on(node, thread);
            }
        }
    }
}
