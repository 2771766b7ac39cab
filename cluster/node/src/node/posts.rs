//! Cells that one node alone raises, as a doacross loop does when an iteration is done: each is
//! kept there, and told when somebody waits for it. So what nobody waits for costs no message,
//! and what somebody waits for is told him and nobody else.

use super::{Node, lock};
use crate::activity::Activity;
use crate::cells::Asker;
use crate::frame::Frame;
use fathomp_omp::interposer::{self, Called};
use fathomp_protocols::Operation;
use fathomp_sys::cluster::deferral;
use fathomp_trace::dsm::DsmCount;
use fathomp_types::NodeId;
use std::sync::atomic::Ordering;

impl Node {
    /// Whether cells are kept where they are raised: not where the order in which nodes do things
    /// is recorded.
    fn keeps_posts(&self) -> bool {
        self.observer().is_none()
    }

    /// Raises a cell that only this node raises.
    pub(crate) fn post(&self, cell: u64, value: u64) {
        if !self.keeps_posts() {
            return self.put(cell, value);
        }
        let _inside = deferral::enter();
        let epoch = self.epoch.load(Ordering::Relaxed);
        let served = lock(&self.cells).put(epoch, cell, value);
        if !served.is_empty() {
            self.publish_and_tell(served);
        }
    }

    /// Another node's thread waits for a cell of this one.
    pub(super) fn post_awaited(&self, asker: Asker, (epoch, cell): (u32, u64), at_least: u64) {
        let found = lock(&self.cells).wait(epoch, cell, at_least, asker);
        if let Some(value) = found {
            self.publish_for(asker, value);
        }
    }

    /// Waits for a cell that only `node` raises, or until `region` is cancelled.
    pub(crate) fn wait_at(&self, node: u32, region: u64, cell: u64, at_least: u64) -> u64 {
        let poster = u16::try_from(node).map(NodeId);
        let poster = poster.ok().filter(|node| node.0 < self.size.nodes);
        match poster.filter(|node| *node != self.me() && self.keeps_posts()) {
            Some(poster) => self.wait_for_turn(poster, region, cell, || {
                self.wait_for_post(poster, cell, at_least)
            }),
            None => self.wait_in(region, cell, at_least),
        }
    }

    fn wait_for_post(&self, poster: NodeId, cell: u64, at_least: u64) -> u64 {
        let _told = interposer::communicate(Called::Question);
        let since = self.profile.begin();
        let before = self.begin_activity(Activity::AwaitCell);
        let epoch = self.epoch.load(Ordering::Relaxed);
        let value = self.ask(|thread| {
            let asks = Frame::AwaitPost {
                thread,
                epoch,
                cell,
                at_least,
            };
            self.send(poster, asks)
        });
        self.set_activity(before);
        self.account(since, DsmCount::AskTicks, Some(DsmCount::Asks));
        // What was written here need not be told: others wait for that by themselves.
        self.flushing(|| {
            self.operation(Operation::AcquireFlush);
        });
        value
    }
}
