//! What a node does by itself in memory that all share: it takes pages out of other
//! nodes, brings diffs there, and enters intervals in a log.

use super::{Blob, Driver, Hands, Trouble};
use crate::profile::Tally;
use crate::window::Answer;
use fathomp_base::NodeId;
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{Action, Brought, Content, Input, LockId, Notice, PageRange, PageSet, Protocol};
use fathomp_trace::dsm::DsmCount;

impl<P: Protocol<Blob>> Driver<P> {
    /// Shows others what this node's pages contain now.
    pub(super) fn show(&self, hands: &Hands) {
        let Some(window) = hands.window else { return };
        if let Some(committed) = self.protocol.committed() {
            window.show(committed, || goes_on(hands));
        }
        if let Some(sequenced) = self.protocol.sequenced() {
            window.show_sequenced(sequenced);
        }
    }

    /// Tells the protocol what others have done here by themselves.
    pub(super) fn tell_news(
        &mut self,
        hands: &Hands,
        actions: &mut Vec<Action<P::Outgoing, Blob>>,
    ) -> Result<(), Trouble> {
        let Some(window) = hands.window else {
            return Ok(());
        };
        let taken = window.taken();
        if !taken.is_empty() {
            self.protocol.step(Input::Taken(taken), actions)?;
        }
        let known = self.protocol.committed().map(|there| there.received);
        let brought = known.map(|known| window.brought(known)).unwrap_or_default();
        if !brought.is_empty() {
            self.protocol.step(Input::Brought(brought), actions)?;
        }
        if let Some(epoch) = self.protocol.sequenced().map(|there| there.epoch) {
            match window.logged(epoch, || goes_on(hands)) {
                Some(logged) if logged.is_empty() => {}
                Some(logged) => self.protocol.step(Input::Logged(logged), actions)?,
                None if goes_on(hands) => return Err(Trouble::Overwritten),
                // The cluster ends.
                None => {}
            }
        }
        Ok(())
    }

    /// Does what a message is for without it. What has to be sent is returned: that
    /// message, or another one.
    pub(super) fn without_message(
        &mut self,
        hands: &Hands,
        to: NodeId,
        message: P::Outgoing,
        tally: &mut Tally,
    ) -> Option<P::Outgoing> {
        let Some(window) = hands.window else {
            return Some(message);
        };
        if let Some(told) = self.protocol.told(&message) {
            let epoch = told.epoch;
            let (thread, notices) = match window.tell(told, &self.underway, || goes_on(hands)) {
                Answer::Send => return Some(message),
                Answer::Done => return None,
                Answer::Ask(thread) => return Some(Control::flush(epoch, thread).into()),
                Answer::Learned(thread, notices) => (thread, Some(notices)),
                Answer::Refused(thread) => (thread, None),
            };
            let message = Control::answer(epoch, thread, notices).into();
            let from = ROOT;
            self.following.push_back(Input::Message { from, message });
            return None;
        }
        let done = match P::brought(&message) {
            Some(brought) => self.bring(hands, to, brought, tally),
            None => self.take(hands, to, &message, tally),
        };
        (!done).then_some(message)
    }

    /// The sequencer takes a lock over from shared memory.
    pub(super) fn claim(&mut self, hands: &Hands, lock: LockId) {
        let holder = hands.window.and_then(|window| window.claim(lock));
        self.following.push_back(Input::Claimed(lock, holder));
    }

    fn bring(&mut self, hands: &Hands, to: NodeId, brought: Brought, tally: &mut Tally) -> bool {
        let Some(window) = hands.window else {
            return false;
        };
        let diffs = || {
            let pages = brought.diffs.iter();
            pages.filter_map(|(page, content)| match content {
                Content::Diff(_) => Some((*page, self.diffs.get(page)?)),
                _ => None,
            })
        };
        let brings = diffs().count() == brought.diffs.len()
            && window.bring(to, brought, &self.underway, hands.pages, diffs());
        if brings {
            tally.add(DsmCount::DiffsSent, brought.diffs.len());
            for (page, _) in brought.diffs {
                self.diffs.remove(page);
            }
        }
        brings
    }

    /// Takes what can be of what a message asks for out of its receiver's memory.
    fn take(
        &mut self,
        hands: &Hands,
        from: NodeId,
        message: &P::Outgoing,
        tally: &mut Tally,
    ) -> bool {
        let Some((window, wanted)) = hands.window.zip(P::wanted(message)) else {
            return false;
        };
        let taken = window.take(from, wanted, hands.pages);
        for pages in taken.ranges() {
            let answer = P::taken(wanted.epoch, *pages, |_| Blob::Here);
            let answer = answer.map(|message| Input::Message { from, message });
            self.following.extend(answer);
        }
        let some = !taken.is_empty();
        if some && taken.len() < u64::from(wanted.pages.len()) {
            let is_taken = |page: &_| taken.contains(*page);
            let left: PageSet = wanted.pages.iter().filter(|p| !is_taken(p)).collect();
            self.following
                .extend(left.ranges().iter().copied().map(Input::Left));
        }
        tally.took |= some;
        some
    }

    /// Enters an interval in the log of the sequencer's epoch.
    pub(super) fn log(&self, hands: &Hands, notice: &Notice) {
        let sequenced = self.protocol.sequenced();
        if let Some((window, sequenced)) = hands.window.zip(sequenced) {
            window.log(sequenced.epoch, notice);
        }
    }
}

/// Whether it makes sense to wait for what another node is doing in shared memory.
fn goes_on(hands: &Hands) -> bool {
    hands.transport.aborted().is_none() && hands.transport.dead().is_none()
}

/// Lets nodes take a lock in shared memory again.
pub(super) fn unclaim(hands: &Hands, lock: LockId) {
    if let Some(window) = hands.window {
        window.unclaim(lock);
    }
}

/// Lets other nodes take pages of this one, or forbids it.
pub(super) fn set_open(hands: &Hands, pages: PageRange, open: bool) {
    if let Some(window) = hands.window {
        window.set_open(pages, open);
    }
}
