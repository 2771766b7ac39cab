//! Messages of a protocol, and the content that they carry.

use super::blob::Blank;
use super::{Blob, Driver, Hands, Trouble};
use crate::frame::Frame;
use crate::profile::Tally;
use fathomp_base::{NodeId, PAGE_BYTES};
use fathomp_dsm::{Content, Protocol};
use fathomp_trace::dsm::DsmCount;
use fathomp_transport::Wake;

impl<P: Protocol<Blob>> Driver<P> {
    /// Leaves pages of a message in this node's memory, where its receiver finds them. Their
    /// bytes, which count as if they were sent.
    fn leave(&self, hands: &Hands, message: &mut P::Outgoing, tally: &mut Tally) -> usize {
        if hands.memories.is_none() {
            return 0;
        }
        let mut blank = Blank::new(self.watch.is_none());
        let mut left = 0;
        self.protocol.leave(message, |content| {
            let leaves = !matches!(content, Content::Fresh(page) if blank.contains(hands, page));
            left += usize::from(leaves);
            leaves
        });
        tally.others[DsmCount::PagesServed] += left as u64;
        left * PAGE_BYTES
    }

    pub(super) fn send(
        &mut self,
        hands: &Hands,
        to: NodeId,
        mut message: P::Outgoing,
        tally: &mut Tally,
    ) -> Result<Wake, Trouble> {
        let left_bytes = self.leave(hands, &mut message, tally);
        if left_bytes == 0 {
            // Only an answer goes first.
            self.watch_late(hands)?;
        }
        let message = &message;
        let Self {
            diffs,
            kept,
            twins,
            outgoing,
            watch,
            ..
        } = self;
        let mut missing = false;
        let mut blank = Blank::new(watch.is_none());
        outgoing.clear();
        P::encode(message, outgoing, |content, bytes| match content {
            Content::Fresh(page) if blank.contains(hands, page) => {
                tally.others[DsmCount::PagesServed] += 1;
            }
            Content::Page(page) | Content::Fresh(page) => {
                tally.others[DsmCount::PagesServed] += 1;
                let at = bytes.len();
                bytes.resize(at + PAGE_BYTES, 0);
                let target = bytes.last_chunk_mut();
                missing |= target.is_none_or(|t| hands.pages.read(page, t).is_err());
            }
            // Nothing of it is asked for.
            Content::Left(_) => {}
            Content::Twin(page) => match twins.get(page) {
                Some(twin) => bytes.extend_from_slice(twin.as_slice()),
                None => missing = true,
            },
            Content::Kept(page, interval) => match kept.get(&(page, interval)) {
                Some(diff) => bytes.extend_from_slice(diff.as_bytes()),
                None => missing = true,
            },
            Content::Diff(page) => match diffs.remove(&page) {
                Some(diff) => {
                    tally.add(DsmCount::DiffsSent, 1);
                    if hands.profile.is_on() {
                        tally.add(DsmCount::DiffRuns, diff.runs());
                    }
                    bytes.extend_from_slice(diff.as_bytes());
                }
                None => missing = true,
            },
        });
        if missing {
            return Err(Trouble::Action("sending content that is not there"));
        }
        if let Some(carried) = P::carries(message) {
            self.underway.sends(to, carried);
        }
        let (head, body) = Frame::Protocol(outgoing).parts();
        let bytes = head.bytes().len() + body.len() + left_bytes;
        tally.others[DsmCount::BytesSent] += bytes as u64;
        let parts = [head.bytes(), body];
        Ok(match P::can_wait(message) {
            true => hands.transport.send_unhurried(to, &parts)?,
            false => hands.transport.send(to, &parts)?,
        })
    }
}
