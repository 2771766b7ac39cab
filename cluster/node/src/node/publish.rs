//! Threads that wait for plain variables in loops of the program's own, which tell by their
//! branches: whoever changes the variable need not flush, so others are asked to.

use super::state::Publishing;
use super::{Node, lock};
use crate::cells::Asker;
use crate::frame::Frame;
use crate::slots::Slot;
use crate::spin_flush::{self, Second};
use fathomp_access_trace::End;
use fathomp_protocols::{Lacks, Operation};
use fathomp_sys::cluster::deferral;
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};
use std::ops::Range;
use std::sync::atomic::Ordering;

impl Node {
    /// A loop of the program finds a plain variable unchanged, and perhaps `has_flushed` in this
    /// round. As when it yields; but nobody may flush where the variable is changed, so all are
    /// asked to, now and then. That is late: most programs flush there, and a node that is asked
    /// ends its interval, after which its pages trap again.
    pub fn waits(&self, has_flushed: bool) {
        // Rounds of loops that flush are nothing that happens.
        let flushes = self.publishing.flushes.load(Ordering::Relaxed);
        let others = self.activity.load(Ordering::Relaxed).wrapping_sub(flushes);
        spin_flush::flush_when_due(others, Second::Late, |is_first| {
            if is_first && has_flushed {
                return false;
            }
            self.look(|| {
                if !is_first {
                    self.have_published();
                }
            });
            true
        });
    }

    /// A loop of the program finds that a plain variable has changed, which lies in these bytes
    /// if that is known. What was written before it did, by whomever, becomes visible here,
    /// although nobody may have flushed.
    pub fn came(&self, looked: Option<Range<usize>>) {
        let looked = match looked {
            None => None,
            // No other node can have changed it.
            Some(bytes) if !self.is_shared(bytes.start) => return,
            Some(bytes) => self.place_of(bytes),
        };
        let page = looked.as_ref().map(|(page, _)| *page);
        let (lacks, arrivals) = {
            let _inside = deferral::enter();
            lock(&self.engine).lacking(looked)
        };
        if lacks == Lacks::Nothing {
            return;
        }
        self.end_interval(End::Flush);
        self.flushing(|| match (lacks, page) {
            (Lacks::Nothing, _) => {}
            (Lacks::WhatIsTold, _) => drop(self.operation(Operation::AcquireFlush)),
            (Lacks::WhatThePageShows, Some(page)) => {
                self.operation(Operation::Learn(page));
                let _inside = deferral::enter();
                lock(&self.engine).cover_page(page, arrivals);
            }
            (Lacks::WhatThePageShows | Lacks::WhatOthersHaveToTell, _) => {
                self.have_published();
                self.operation(Operation::AcquireFlush);
                let _inside = deferral::enter();
                lock(&self.engine).cover(arrivals);
            }
        });
    }

    /// Where in which page bytes lie, if they lie in one.
    fn place_of(&self, bytes: Range<usize>) -> Option<(PageId, Range<usize>)> {
        let page = self.pages().page_of(bytes.start)?;
        let start = bytes.start % PAGE_BYTES;
        let end = start + bytes.len();
        (end <= PAGE_BYTES).then_some((page, start..end))
    }

    /// Has all other nodes flush.
    fn have_published(&self) {
        let _inside = deferral::enter();
        let ask = |node| {
            let place = self.place();
            place.slot.begin();
            let thread = place.thread;
            let wake = self.send(node, Frame::Publish { thread });
            (place, wake)
        };
        let asked: Vec<_> = self.others().map(ask).collect();
        for (place, wake) in &asked {
            self.wait_here(*wake, place.slot, Slot::is_answered);
        }
    }

    /// Another node's thread wants to see what was written here, and is told this then.
    pub(super) fn publish_for(&self, asker: Asker, value: u64) {
        lock(&self.publishing.askers).push((asker, value));
        self.publishing.is_asked.store(true, Ordering::SeqCst);
    }

    /// Flushes for other nodes' threads that have asked for it. Not while a message is being
    /// handled: others may be needed for that.
    #[inline]
    pub(super) fn publish_if_asked(&self) {
        if self.publishing.is_asked.load(Ordering::Relaxed) {
            self.publish_for_askers();
        }
    }

    /// Tells what was written here for another node's thread: sends it to node 0, also because
    /// this node is at a barrier, which hears of it before anything that it is sent next.
    fn publish(&self) {
        self.operate_unless(Operation::ReleaseFlush, |engine| {
            self.must(engine.tell_at_barrier(&self.host()))
        });
    }

    /// A node's thread may go on that has asked another node, which tells it this through this
    /// one.
    pub(super) fn published(&self, from: NodeId, node: NodeId, thread: ThreadId, value: u64) {
        if node.0 >= self.size.nodes {
            self.fail(from, "it tells a node that there is not");
        }
        self.tell(Asker { node, thread }, value);
    }

    /// Tells what was written here, and then other nodes' threads what they wait for.
    pub(super) fn publish_and_tell(&self, askers: Vec<(Asker, u64)>) {
        if !askers.is_empty() {
            self.publish();
        }
        let through_root = self.me() != NodeId(0);
        for (asker, value) in askers {
            let Asker { node, thread } = asker;
            let published = Frame::Published {
                node,
                thread,
                value,
            };
            match through_root {
                true => drop(self.send(NodeId(0), published)),
                false => self.tell(asker, value),
            }
        }
    }

    #[cold]
    fn publish_for_askers(&self) {
        let Publishing {
            askers,
            is_asked,
            is_busy,
            ..
        } = &self.publishing;
        while is_asked.load(Ordering::SeqCst) && !is_busy.swap(true, Ordering::SeqCst) {
            is_asked.store(false, Ordering::SeqCst);
            let askers = std::mem::take(&mut *lock(askers));
            self.publish_and_tell(askers);
            // Whoever asked meanwhile is seen by the next look.
            is_busy.store(false, Ordering::SeqCst);
        }
    }
}
