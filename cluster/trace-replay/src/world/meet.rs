//! Barriers, and what goes through node 0 beside the protocol.

use super::queue::Parcel;
use super::regions::OUTSIDE;
use super::thread::At;
use super::{ReplayError, World};
use crate::desk::{ANSWER_BYTES, ARRIVED_BYTES, ASK_BYTES, PASSED_BYTES, PUT_BYTES, Wish};
use fathomp_protocols::Operation;
use fathomp_trace::dsm::DsmCount;
use fathomp_types::NodeId;

/// The node that keeps the books.
const DESK: NodeId = NodeId(0);

/// A node's way through a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meeting {
    /// Barriers that it has left.
    pub(super) epoch: u32,
    /// Threads of it that have come to the next.
    come: usize,
    /// The protocol lets it go on.
    open: bool,
    /// Node 0 has said that all have come.
    passed: bool,
}

impl World<'_> {
    pub(super) fn come_to_barrier(
        &mut self,
        thread: usize,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        let me = self.runners[thread].node;
        let node = &mut self.nodes[usize::from(me.0)];
        node.meeting.come += 1;
        if node.meeting.come < node.threads.len() {
            return Ok(());
        }
        let epoch = node.meeting.epoch;
        if me == DESK {
            // A region begins when the first thread asks for it.
            let next = self.regions.behind(epoch + 1);
            if node.region == OUTSIDE && next != OUTSIDE {
                node.region = next;
                self.regions.enter(next, now_ns);
            }
            self.arrived(epoch, now_ns);
        } else {
            self.post(me, DESK, Parcel::Arrived(epoch), ARRIVED_BYTES, now_ns);
        }
        self.operate(thread, At::Barrier, Operation::Barrier, now_ns)
    }

    /// At node 0: a node has come to a barrier.
    pub(super) fn arrived(&mut self, epoch: u32, clock_ns: u64) {
        if !self.desk.arrive(epoch, self.setting.nodes) {
            return;
        }
        self.least.all_have_come();
        let bytes = PASSED_BYTES.saturating_add(self.order_bytes());
        for node in (1..self.setting.nodes).map(NodeId) {
            self.post(DESK, node, Parcel::Passed, bytes, clock_ns);
        }
        self.passed(DESK, clock_ns);
    }

    /// Bytes of the order for the next region, which the first thread gives at the
    /// barrier that it has come to.
    fn order_bytes(&self) -> u32 {
        let step = self.runners.first().map_or(0, |runner| runner.step);
        let steps = self.accesses.threads.first().map(|thread| &thread.steps);
        let step = steps.and_then(|steps| steps.get(step));
        step.map_or(0, |step| step.order_bytes)
    }

    pub(super) fn passed(&mut self, at: NodeId, clock_ns: u64) {
        self.nodes[usize::from(at.0)].meeting.passed = true;
        self.leave_if_open(at, clock_ns);
    }

    /// The protocol lets a node leave the barrier.
    pub(super) fn opened(&mut self, at: NodeId, clock_ns: u64) {
        self.nodes[usize::from(at.0)].meeting.open = true;
        self.leave_if_open(at, clock_ns);
    }

    fn leave_if_open(&mut self, at: NodeId, clock_ns: u64) {
        let node = &mut self.nodes[usize::from(at.0)];
        if !node.meeting.open || !node.meeting.passed {
            return;
        }
        node.meeting = Meeting {
            epoch: node.meeting.epoch + 1,
            ..Meeting::default()
        };
        node.outcome().counts[DsmCount::Barriers] += 1;
        node.region = self.regions.behind(node.meeting.epoch);
        if at == DESK {
            self.regions.enter(node.region, clock_ns);
            self.desk.pass(node.meeting.epoch);
        }
        for thread in node.threads.clone() {
            self.resume(thread, clock_ns);
        }
    }

    /// Tells node 0 what a thread wants of a cell.
    pub(super) fn tell_desk(&mut self, thread: usize, cell: u64, wish: Wish, now_ns: u64) {
        let me = self.runners[thread].node;
        let epoch = self.nodes[usize::from(me.0)].meeting.epoch;
        if me == DESK {
            self.wished(thread, epoch, cell, wish, now_ns);
            return;
        }
        let bytes = match wish {
            Wish::Put(_) => PUT_BYTES,
            Wish::Add(_) | Wish::AtLeast(_) => ASK_BYTES,
        };
        let parcel = Parcel::Wish {
            thread,
            epoch,
            cell,
            wish,
        };
        self.post(me, DESK, parcel, bytes, now_ns);
    }

    /// At node 0: a thread wants something of a cell.
    pub(super) fn wished(
        &mut self,
        thread: usize,
        epoch: u32,
        cell: u64,
        wish: Wish,
        clock_ns: u64,
    ) {
        for thread in self.desk.ask(thread, epoch, cell, wish) {
            let node = self.runners[thread].node;
            // The thread's own node tells it.
            let parcel = Parcel::Answer(thread);
            self.post(DESK, node, parcel, ANSWER_BYTES, clock_ns);
        }
    }
}
