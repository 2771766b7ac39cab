//! What nodes agree on at node 0: cells, and loops dealt by parts.

use super::{Node, lock};
use crate::cells::Asker;
use crate::engine::answer;
use crate::frame::Frame;
use fathomp_types::NodeId;

impl Node {
    /// A node names a cell.
    pub(super) fn agree(&self, from: NodeId, frame: Frame) {
        let asker = |thread| Asker { node: from, thread };
        match frame {
            Frame::Add {
                thread,
                epoch,
                cell,
                amount,
            } => {
                let (before, served) = lock(&self.cells).add(epoch, cell, amount);
                self.tell(asker(thread), before);
                self.tell_all(served);
            }
            Frame::Deal {
                thread,
                epoch,
                cell,
                parted,
                most,
            } => {
                if !parted.is_possible(self.size.nodes.into()) {
                    self.fail(from, "it asks for a part of a loop that cannot be");
                }
                let dealt = lock(&self.cells).deal(epoch, cell, parted, (from, most));
                self.tell(asker(thread), dealt.word());
            }
            Frame::Put { epoch, cell, value } => {
                let served = lock(&self.cells).put(epoch, cell, value);
                self.tell_all(served);
            }
            Frame::Await {
                thread,
                epoch,
                cell,
                at_least,
            } => {
                let asker = asker(thread);
                let found = lock(&self.cells).wait(epoch, cell, at_least, asker);
                if let Some(value) = found {
                    self.tell(asker, value);
                }
            }
            // Whoever sent it may wait for an answer.
            _ => self.fail(from, "it asks node 0 for what nodes do not agree on"),
        }
    }

    /// Tells a thread what it has asked for.
    pub(super) fn tell(&self, asker: Asker, value: u64) {
        if asker.node == self.me() {
            self.must(answer(&self.host(), asker.thread, value));
        } else {
            let thread = asker.thread;
            self.send(asker.node, Frame::Answer { thread, value });
        }
    }

    fn tell_all(&self, served: Vec<(Asker, u64)>) {
        for (asker, value) in served {
            self.tell(asker, value);
        }
    }
}
