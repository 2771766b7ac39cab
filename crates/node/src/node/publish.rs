//! Threads that wait for plain variables in loops of the program's own, which tell by their
//! branches: whoever changes the variable need not flush, so others are asked to.

use super::{Node, lock};
use crate::cells::Asker;
use crate::engine::REFUSED;
use crate::frame::Frame;
use crate::look;
use crate::slots::Slot;
use fathomp_accesses::End;
use fathomp_base::{NodeId, ThreadId};
use fathomp_sys::clock::emulated::Work;
use fathomp_sys::cluster::deferral;
use fathomp_transport::local::{Awaited, Emulation};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who wants to see what was written here.
#[derive(Debug, Default)]
pub(super) struct Publishing {
    /// Threads of other nodes, which stand still.
    askers: Mutex<Vec<Asker>>,
    /// Whether there are any.
    is_asked: AtomicBool,
    /// A thread flushes for them.
    is_busy: AtomicBool,
}

impl Node {
    /// A loop of the program finds a plain variable unchanged. As when it yields; but nobody
    /// may flush where the variable is changed, so all are asked to, now and then.
    pub fn waits(&self) {
        let activity = self.activity.load(Ordering::Relaxed);
        look::flush_when_due(
            activity,
            |due_ns| self.let_pass(due_ns),
            |is_first| {
                self.look(|| {
                    if !is_first {
                        self.have_published();
                    }
                });
            },
        );
    }

    /// A loop of the program finds that a plain variable has changed. What was written before
    /// it did, by whomever, becomes visible here, although nobody may have flushed.
    pub fn came(&self) {
        self.end_interval(End::Flush);
        self.flush_after(|| self.have_published());
    }

    /// Has all other nodes flush.
    fn have_published(&self) {
        let _inside = deferral::enter();
        let _charged = self.charged(Work::Call);
        self.take_turn();
        let ask = |node| {
            let place = self.place();
            place.slot.begin();
            let thread = place.thread;
            let wake = self.send(node, Frame::Publish { thread });
            (place, wake)
        };
        let asked: Vec<_> = self.others().map(ask).collect();
        for (place, wake) in &asked {
            self.wait(Awaited::Answer, *wake, place.slot, Slot::is_answered);
        }
    }

    /// Another node's thread wants to see what was written here.
    pub(super) fn publish_for(&self, asker: Asker) {
        lock(&self.publishing.askers).push(asker);
        self.publishing.is_asked.store(true, Ordering::SeqCst);
    }

    /// Flushes for other nodes' threads that have asked for it. Not while a message is being
    /// handled: others may be needed for that. Nor by who has a clock of an emulation.
    #[inline]
    pub(super) fn publish_if_asked(&self, emulation: Option<&Emulation>) {
        if emulation.is_none() && self.publishing.is_asked.load(Ordering::Relaxed) {
            self.publish_for_askers();
        }
    }

    /// Flushes for another node's thread. True if this node is at a barrier instead, and has told
    /// node 0 what it had not told yet: that hears of it before anything that it is sent next.
    fn publish(&self) -> bool {
        let answer = self.flush_unless(|engine| self.must(engine.tell_at_barrier(&self.hands())));
        answer == REFUSED && self.me() != NodeId(0)
    }

    /// A node's thread may go on that has asked another node, which tells through this one.
    pub(super) fn published(&self, from: NodeId, node: NodeId, thread: ThreadId) {
        if node.0 >= self.size.nodes {
            self.fail(from, "it tells a node that there is not");
        }
        self.tell(Asker { node, thread }, 0);
    }

    #[cold]
    fn publish_for_askers(&self) {
        let Publishing {
            askers,
            is_asked,
            is_busy,
        } = &self.publishing;
        while is_asked.load(Ordering::SeqCst) && !is_busy.swap(true, Ordering::SeqCst) {
            is_asked.store(false, Ordering::SeqCst);
            let askers = std::mem::take(&mut *lock(askers));
            let through_root = !askers.is_empty() && self.publish();
            for asker in askers {
                let Asker { node, thread } = asker;
                match through_root {
                    true => drop(self.send(NodeId(0), Frame::Published { node, thread })),
                    false => self.tell(asker, 0),
                }
            }
            // Whoever asked meanwhile is seen by the next look.
            is_busy.store(false, Ordering::SeqCst);
        }
    }
}
