//! Tasks that leave their node: their letters are frames, what they have written is flushed.

use super::{Node, current, lock};
use crate::activity::Activity;
use crate::frame::Frame;
use crate::observer::Observer;
use crate::slots::Slot;
use fathomp_omp::cluster::{Carrier, Why, tasks};
use fathomp_protocols::Operation;
use fathomp_sys::cluster::deferral;
use fathomp_transport::Wake;
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicBool, Ordering};

static PROGRAM_HAS_TASKS: AtomicBool = AtomicBool::new(false);

/// Whether the program has tasks, which may then leave their node. To be said before this
/// process is one.
pub fn expect_tasks(has_tasks: bool) {
    PROGRAM_HAS_TASKS.store(has_tasks, Ordering::Relaxed);
}

fn has_tasks() -> bool {
    PROGRAM_HAS_TASKS.load(Ordering::Relaxed)
}

impl Node {
    /// What carries tasks. Nothing where the program has none, nor where the order in which
    /// nodes do things must be the program's own: where accesses are recorded for a replay, and
    /// where races are looked for.
    pub(crate) fn carrier(&self) -> Option<&'static dyn Carrier> {
        let is_ordered = self.observer().is_some_and(Observer::needs_programs_order);
        let node = current::node().filter(|_| has_tasks() && !is_ordered)?;
        Some(node)
    }

    /// A letter about tasks has come.
    pub(super) fn hear_of_tasks(&self, from: NodeId, letter: &[u8]) {
        if let Err(bad) = tasks::hear(from.0.into(), letter) {
            self.fail(from, &bad.to_string());
        }
        if self.carrying.attending.load(Ordering::SeqCst) == 0 && tasks::is_due() {
            self.transport.rouse_service();
        }
    }

    /// A node has come to a barrier, perhaps to help others from there.
    pub(super) fn hear_of_arrival(&self, from: NodeId, epoch: u32, word: u64) {
        if let Err(bad) = tasks::hear_arrival(from.0.into(), epoch, word) {
            self.fail(from, &bad.to_string());
        }
    }

    /// What the service thread does for tasks.
    pub(super) fn attend_to_tasks(&self) {
        if has_tasks() {
            tasks::attend(true);
        }
    }
}

impl Carrier for Node {
    fn send(&self, node: u32, letter: &[u8]) {
        let _inside = deferral::enter();
        match u16::try_from(node) {
            Ok(node) if node < self.size.nodes && NodeId(node) != self.me() => {
                Self::send(self, NodeId(node), Frame::Tasks(letter));
            }
            _ => self.fail(self.me(), "a task is to leave for a node that there is not"),
        }
    }

    fn release(&self) {
        self.operate_unless(Operation::Flush, |_| false);
    }

    fn acquire(&self) {
        self.operate_unless(Operation::AcquireFlush, |_| false);
    }

    fn call(&self) {
        self.transport.rouse_service();
    }

    fn arrive(&self, word: u64) {
        let _inside = deferral::enter();
        self.carrying.has_arrived.store(true, Ordering::Relaxed);
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.send_or_handle(NodeId(0), Frame::Arrived { epoch, word });
        self.transport.end_step();
    }

    fn all_have_come(&self) -> bool {
        let _inside = deferral::enter();
        self.carrying.has_arrived.load(Ordering::Relaxed) && lock(&self.outcomes).is_known()
    }

    fn wait_until(&self, why: Why, done: &dyn Fn() -> bool) {
        let _inside = deferral::enter();
        let before = self.begin_activity(match why {
            Why::Barrier => Activity::Barrier,
            Why::Tasks => Activity::AwaitTask,
        });
        let place = self.place();
        place.slot.begin();
        self.carrying.attending.fetch_add(1, Ordering::SeqCst);
        loop {
            let ready = |_: &Slot| tasks::is_due() || done();
            self.wait_here(Wake::Polling, place.slot, ready);
            if tasks::is_due() {
                tasks::attend(false);
            }
            if done() {
                break;
            }
        }
        self.carrying.attending.fetch_sub(1, Ordering::SeqCst);
        place.slot.go_on();
        if tasks::is_due() {
            self.transport.rouse_service();
        }
        self.set_activity(before);
    }

    fn rouse(&self) {
        self.transport.rouse();
    }

    fn knows(&self, code: usize) -> bool {
        self.is_program_code(code)
    }
}
