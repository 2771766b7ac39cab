//! Frames that come are handled, and frames go.

use super::{Node, lock};
use crate::cells::Asker;
use crate::engine::{NodeError, answer};
use crate::frame::Frame;
use crate::meeting::Outcome;
use crate::memory;
use fathomp_transport::Wake;
use fathomp_types::NodeId;
use std::sync::atomic::Ordering;

impl Node {
    /// A thread of the program handles a message, if there is one and nobody else does. Whether
    /// there was one.
    pub(super) fn handle_one(&self) -> bool {
        !self.is_to_leave() && self.handle_next()
    }

    /// Whether node 0 has ended the program: nothing else that comes concerns this node.
    pub(super) fn is_to_leave(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// The same as [`Self::handle_one`], also once this node is to leave.
    pub(super) fn handle_next(&self) -> bool {
        let Ok(mut message) = self.inbox.try_lock() else {
            return false;
        };
        match self.transport.receive(&mut message) {
            Ok(Some(from)) => {
                self.profile.received(message.len());
                self.handle(from, &message);
            }
            Ok(None) => return false,
            Err(error) => self.fail(error.from, &error.to_string()),
        }
        drop(message);
        self.publish_if_asked();
        true
    }

    pub(super) fn handle(&self, from: NodeId, message: &[u8]) {
        let frame = match Frame::read(message) {
            Ok(frame) => frame,
            Err(bad) => self.fail(from, &bad.to_string()),
        };
        match frame {
            Frame::Protocol(bytes) => {
                let handled = lock(&self.engine).message(&self.host(), from, bytes);
                self.must(handled);
            }
            Frame::Changed(told) => self.hear_of_changes(from, told),
            Frame::Add { .. } | Frame::Put { .. } | Frame::Await { .. } | Frame::Deal { .. } => {
                self.agree(from, frame);
            }
            Frame::SizeOf { thread, address } => {
                let address = usize::try_from(address).unwrap_or(0);
                let size = memory::memory().and_then(|m| m.size_of(address).ok().flatten());
                self.tell(Asker { node: from, thread }, size.unwrap_or(0) as u64);
            }
            Frame::Free { address } => {
                if let Some(memory) = memory::memory() {
                    memory.release(usize::try_from(address).unwrap_or(0));
                }
            }
            Frame::Answer { thread, value } => self.must(answer(&self.host(), thread, value)),
            Frame::Arrived { epoch, word } => self.arrived(from, epoch, word),
            Frame::Tasks(letter) => self.hear_of_tasks(from, letter),
            Frame::Passed { word, order } => {
                let order = (!order.is_empty()).then(|| order.to_vec());
                self.tell_outcome(Outcome { word, order });
            }
            Frame::Publish { thread } => self.publish_for(Asker { node: from, thread }, 0),
            Frame::AwaitPost {
                thread,
                epoch,
                cell,
                at_least,
            } => self.post_awaited(Asker { node: from, thread }, (epoch, cell), at_least),
            Frame::Published {
                node,
                thread,
                value,
            } => self.published(from, node, thread, value),
            Frame::Cancel { region } => self.heed_cancel(region),
            Frame::Exit { code } => self.exit.store(i64::from(code), Ordering::Relaxed),
            // This thread may be another one than that which waits for the next region: only that
            // one can tell a tool that it and its team end, so it leaves.
            Frame::Leave => self.leaving.store(true, Ordering::Relaxed),
        }
    }

    pub(super) fn send(&self, to: NodeId, frame: Frame) -> Wake {
        let (head, body) = frame.parts();
        self.profile.sent(head.bytes().len() + body.len());
        let parts = [head.bytes(), body];
        let sent = match frame {
            // Nothing comes of them before their receiver has arrived too. What the protocol
            // tells of the barrier mostly follows at once, and leaves with them.
            Frame::Arrived { .. } | Frame::Passed { .. } => {
                self.transport.send_in_step(to, &parts, true)
            }
            // A thread waits for it, if it has not just asked and is about to: no other has to
            // be woken, on a processor that it works on.
            Frame::Answer { .. } => self.transport.send_unhurried(to, &parts),
            _ => self.transport.send(to, &parts),
        };
        self.must(sent.map_err(NodeError::from))
    }

    /// Sends a frame to a node, which may be this one.
    pub(super) fn send_or_handle(&self, to: NodeId, frame: Frame) -> Wake {
        if to == self.me() {
            let (head, body) = frame.parts();
            self.handle(to, &[head.bytes(), body].concat());
            Wake::Polling
        } else {
            self.send(to, frame)
        }
    }
}
