//! Messages of the protocol, and the content that they carry.

use super::host::NodeError;
use super::machine::NodeMachine;
use crate::frame::Frame;
use fathomp_protocols::Content;
use fathomp_protocols::message::Message;
use fathomp_trace::dsm::DsmCount;
use fathomp_transport::Wake;
use fathomp_types::{NodeId, PAGE_BYTES};

impl NodeMachine<'_> {
    /// Sends a message with its content.
    pub(super) fn send_message(
        &mut self,
        to: NodeId,
        message: &Message<Content>,
    ) -> Result<(), NodeError> {
        self.finish()?;
        let (host, work) = (self.host, &mut *self.work);
        let mut missing = false;
        work.outgoing.clear();
        message.encode(&mut work.outgoing, |content, bytes| match content {
            Content::Fresh(page) if work.blank.contains(host, page) => {
                work.tally.others[DsmCount::PagesServed] += 1;
            }
            Content::Page(page) | Content::Fresh(page) => {
                work.tally.others[DsmCount::PagesServed] += 1;
                let at = bytes.len();
                bytes.resize(at + PAGE_BYTES, 0);
                let target = bytes.last_chunk_mut();
                missing |= target.is_none_or(|t| host.pages.read(page, t).is_err());
            }
            Content::Twin(page) => match work.twins.get(page) {
                Some(twin) => bytes.extend_from_slice(twin.as_slice()),
                None => missing = true,
            },
            Content::Kept(page, version) => match work.kept.get(&(page, version)) {
                Some(diff) => bytes.extend_from_slice(diff.as_bytes()),
                None => missing = true,
            },
            Content::Diff(page) => match work.diffs.remove(&page) {
                Some(diff) => {
                    work.tally.add(DsmCount::DiffsSent, 1);
                    if host.profile.is_on() {
                        work.tally.add(DsmCount::DiffRuns, diff.runs());
                    }
                    bytes.extend_from_slice(diff.as_bytes());
                }
                None => missing = true,
            },
        });
        work.blank.forget();
        if missing {
            return Err(NodeError::Action("sending content that is not there"));
        }
        let (head, body) = Frame::Protocol(&work.outgoing).parts();
        let bytes = head.bytes().len() + body.len();
        work.tally.others[DsmCount::BytesSent] += bytes as u64;
        let parts = [head.bytes(), body];
        let transport = host.transport;
        let wake = transport.send_in_step(to, &parts, message.can_wait())?;
        if wake == Wake::Woken {
            work.wake = wake;
        }
        Ok(())
    }
}
