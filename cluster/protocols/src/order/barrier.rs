//! Barriers: a tree that all nodes go up and down.

use super::{Order, ROOT, peer};
use crate::message::{Control, Request};
use crate::{Action, Interval, Violation, WriteNotice};
use fathomp_types::{NodeId, ThreadId};

impl Order {
    /// True if this node has arrived: none of its threads runs.
    pub(crate) fn is_at_barrier(&self) -> bool {
        self.barrier.thread.is_some()
    }

    /// True if threads that take part in barriers have come to one.
    pub(crate) fn comes_to_barrier(&self) -> bool {
        self.barrier.early.is_some() || self.barrier.thread.is_some()
    }

    pub(crate) fn come_to_barrier(&mut self, thread: ThreadId) -> Result<(), Violation> {
        if self.barrier.thread.is_some() || self.barrier.early.is_some() {
            return Err(Violation::Runtime("a node comes to a barrier twice"));
        }
        self.barrier.early = Some(thread);
        Ok(())
    }

    /// Whether this node's arrival goes straight to the root.
    pub(crate) fn arrives_at_root(&self) -> bool {
        self.parent() == Some(ROOT)
    }

    /// The thread that came to a barrier, once no operation is under way.
    pub(crate) fn enters_barrier(&mut self) -> Option<ThreadId> {
        let idle = self.asking.is_empty() && self.settling.is_empty();
        self.barrier.early.take_if(|_| idle)
    }

    /// Arrives: `last` is the interval that ended now, `own` everything written
    /// in this epoch.
    pub(crate) fn arrive<B>(
        &mut self,
        thread: ThreadId,
        last: Option<WriteNotice>,
        own: Vec<WriteNotice>,
        full: bool,
        actions: &mut Vec<Action<B>>,
    ) {
        self.barrier.thread = Some(thread);
        self.barrier.last = last;
        self.barrier.notices.extend(own);
        self.barrier.full |= full;
        self.tell_sequencer_of_arrival(self.me, self.interval);
        let passed_on = self.pass_arrival_on(actions);
        if self.me != ROOT && !(passed_on && self.parent() == Some(ROOT)) {
            // The sequencer hears of this arrival late. Somebody may be waiting
            // for what was written last, and not reach the barrier without it. If so, he
            // flushes.
            if self.barrier.alert {
                self.demanded(actions);
            }
        }
    }

    /// At the root, when somebody flushes: in this epoch, nodes further down have to tell
    /// of their arrival by themselves.
    pub(super) fn alert<B>(&mut self, actions: &mut Vec<Action<B>>) {
        if std::mem::replace(&mut self.barrier.alert, true) {
            return;
        }
        for child in self.children() {
            // Of others the sequencer hears at once.
            if self.children_of(child).next().is_some() {
                let epoch = self.epoch;
                self.send(child, Control::Alert { epoch }, actions);
            }
        }
    }

    /// Below the root: the same, as its parent says.
    pub(super) fn alerted<B>(
        &mut self,
        from: NodeId,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), Violation> {
        if self.parent() != Some(from) {
            return Err(peer(from, "alerts a node that is not below it"));
        }
        self.barrier.alert = true;
        for child in self.children() {
            let epoch = self.epoch;
            self.send(child, Control::Alert { epoch }, actions);
        }
        self.demanded(actions);
        Ok(())
    }

    /// True if others learn of the interval that ended with the arrival when
    /// everybody has arrived, and not before.
    pub(crate) fn keeps_last_to_itself(&self) -> bool {
        self.barrier.last.is_some()
    }

    /// Somebody has seen a page of this node's last interval before the barrier
    /// could tell of it, or this node tells of a later one.
    pub(crate) fn demanded<B>(&mut self, actions: &mut Vec<Action<B>>) {
        if let Some(last) = self.barrier.last.take() {
            self.exchange(Request::Publish, Some(last), actions);
        }
    }

    /// At the root, before everybody has arrived: an interval that ended after the
    /// root has.
    pub(crate) fn wrote_more(&mut self, own: Vec<WriteNotice>) {
        self.barrier.notices.extend(own);
    }

    fn tell_sequencer_of_arrival(&mut self, node: NodeId, interval: Interval) {
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.arrived(node, interval);
        }
    }

    pub(super) fn child_arrived<B>(
        &mut self,
        from: NodeId,
        notices: Vec<WriteNotice>,
        full: bool,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), Violation> {
        if !self.children().any(|child| child == from) || !self.barrier.children.insert(from) {
            let what = "arrives at a barrier in the wrong place or twice";
            return Err(peer(from, what));
        }
        let own = notices.iter().filter(|notice| notice.writer == from);
        let last = own.map(|notice| notice.interval).max();
        self.tell_sequencer_of_arrival(from, last.unwrap_or_default());
        self.barrier.notices.extend(notices);
        self.barrier.full |= full;
        self.pass_arrival_on(actions);
        Ok(())
    }

    /// True if everybody below has arrived.
    fn pass_arrival_on<B>(&mut self, actions: &mut Vec<Action<B>>) -> bool {
        if self.barrier.thread.is_none() || self.barrier.children.len() != self.children().count() {
            return false;
        }
        let (epoch, full) = (self.epoch, self.barrier.full);
        let mut notices = std::mem::take(&mut self.barrier.notices);
        let control = match &self.sequencer {
            None => Control::Arrive {
                epoch,
                notices,
                full,
            },
            Some(sequencer) => {
                if self.in_order {
                    notices = sequencer.all(notices);
                }
                Control::Depart {
                    epoch,
                    notices,
                    full,
                    cut: self.in_order && sequencer.is_cut(),
                }
            }
        };
        self.send(self.parent().unwrap_or(ROOT), control, actions);
        true
    }

    pub(super) fn all_arrived<B>(
        &mut self,
        from: NodeId,
        notices: &[WriteNotice],
        full: bool,
        cut: bool,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), Violation> {
        let opens = from == self.parent().filter(|_| !cut).unwrap_or(ROOT);
        if !opens || self.barrier.thread.is_none() || self.barrier.open {
            return Err(peer(from, "opens a barrier that it may not open"));
        }
        self.barrier.open = true;
        let others = (1..self.nodes).map(NodeId);
        let others: Vec<_> = match (cut, self.me) {
            (false, _) => self.children().collect(),
            (true, ROOT) => others.collect(),
            (true, _) => Vec::new(),
        };
        for other in others {
            let depart = Control::Depart {
                epoch: self.epoch,
                notices: notices.to_vec(),
                full,
                cut,
            };
            self.send(other, depart, actions);
        }
        Ok(())
    }

    /// The next epoch begins; the thread that came to the barrier is returned.
    pub(crate) fn leave_barrier(&mut self, notices: &[WriteNotice]) -> Option<ThreadId> {
        for notice in notices {
            self.seen.learn(notice.writer, notice.interval);
        }
        self.epoch += 1;
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.end_epoch(self.epoch, &self.seen);
        }
        std::mem::take(&mut self.barrier).thread
    }

    fn parent(&self) -> Option<NodeId> {
        let above = self.me.0.checked_sub(1)?;
        Some(NodeId(above / self.fan_in))
    }

    fn children(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.children_of(self.me)
    }

    fn children_of(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let fan_in = u32::from(self.fan_in);
        let first = u32::from(node.0) * fan_in + 1;
        let nodes = u32::from(self.nodes);
        (first..(first + fan_in).min(nodes.max(first)))
            .filter_map(|child| u16::try_from(child).ok().map(NodeId))
    }
}
