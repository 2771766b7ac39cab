//! What a node does by itself in memory that all share: it takes pages out of other
//! nodes, brings diffs there, and enters intervals in a log.

use super::{Blob, Driver, Hands, Trouble};
use crate::profile::Tally;
use crate::start;
use crate::window::Answer;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{
    Action, Admits, Brought, Committed, Input, LockId, Notice, Offer, PageRange, PageSet,
    Protection, Protocol,
};
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_trace::dsm::DsmCount;

impl<P: Protocol<Blob>> Driver<P> {
    /// Shows others what this node's pages contain now.
    pub(super) fn show(&self, hands: &Hands) {
        let Some(window) = hands.window else { return };
        if let Some(committed) = self.protocol.committed() {
            if let Some(copies) = window.copies() {
                copies.show(hands.transport.me(), committed.received);
            }
            window.show(committed);
            window.admit(committed, || goes_on(hands));
        }
        if let Some(sequenced) = self.protocol.sequenced() {
            window.show_sequenced(sequenced);
        }
    }

    /// Sees to it that nobody brings diffs that nobody may after this step: there will be
    /// twins, or threads that wait for a message. Also tells what was brought until then.
    pub(super) fn forbid(
        &mut self,
        hands: &Hands,
        actions: &mut Vec<Action<P::Outgoing, Blob>>,
    ) -> Result<(), Trouble> {
        let there = self.protocol.committed();
        let there = there.filter(|there| there.admits != Admits::All);
        let forbids = there
            .zip(hands.window)
            .is_some_and(|(there, window)| window.admit(there, || goes_on(hands)));
        if forbids {
            self.tell_news(hands, actions)?;
        }
        Ok(())
    }

    /// Forbids others to take what they may not after this step begins, and tells what they
    /// keep until then of what is written unwatched.
    pub(super) fn close(
        &mut self,
        hands: &Hands,
        actions: &mut Vec<Action<P::Outgoing, Blob>>,
    ) -> Result<(), Trouble> {
        let mut closed = 0;
        while P::TELLS_VERSIONS && closed < actions.len() {
            for action in actions.iter().skip(closed) {
                if let Action::Offer(pages, Offer::Closed) = action {
                    self.offer(hands, *pages, Offer::Closed);
                }
            }
            closed = actions.len();
            self.tell_kept(hands, actions)?;
        }
        Ok(())
    }

    /// Tells the protocol what others keep of pages that are written unwatched here. They must
    /// not be from now on: first nobody writes any more, then they are compared.
    fn tell_kept(
        &mut self,
        hands: &Hands,
        actions: &mut Vec<Action<P::Outgoing, Blob>>,
    ) -> Result<(), Trouble> {
        let window = hands.window.filter(|_| P::TELLS_VERSIONS);
        let kept = window.map(|window| window.kept(|| self.twins.room()));
        let mut kept = kept.unwrap_or_default();
        kept.retain(|(page, _)| page.0 < hands.pages.count());
        if kept.is_empty() {
            return Ok(());
        }
        kept.sort_unstable_by_key(|(page, _)| *page);
        let pages: Vec<_> = kept.iter().map(|(page, _)| *page).collect();
        let pages = PageSet::from_sorted(&pages);
        for range in pages.ranges() {
            self.permit(hands, *range, Protection::Read)?;
        }
        self.settle(hands)?;
        let mut changed = Vec::new();
        for (page, taken) in kept {
            if self.twin_of_kept(hands, page, taken)? {
                changed.push(page);
            }
        }
        let changed = PageSet::from_sorted(&changed);
        Ok(self.protocol.step(Input::Kept(pages, changed), actions)?)
    }

    /// Whether a page has changed since it was taken: then what was taken is its twin.
    fn twin_of_kept(
        &mut self,
        hands: &Hands,
        page: PageId,
        taken: Box<PageCopy>,
    ) -> Result<bool, Trouble> {
        let differs = hands.pages.differs(page, &taken).map_err(Trouble::Permit)?;
        match differs {
            true => self.twins.insert(page, taken),
            false => self.twins.keep(taken),
        }
        Ok(differs)
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
        self.tell_kept(hands, actions)?;
        let taken = window.taken();
        if !taken.is_empty() {
            self.protocol.step(Input::Taken(taken), actions)?;
        }
        if let Some(Committed { begun, .. }) = self.protocol.committed() {
            // Looked at first: what has been brought had begun before.
            let begun = window.begun(begun);
            if !begun.is_empty() {
                self.protocol.step(Input::Begun(begun), actions)?;
            }
        }
        let known = self.protocol.committed().map(|there| there.received);
        let brought = known.map(|known| window.brought(known)).unwrap_or_default();
        if !brought.is_empty() {
            self.protocol.step(Input::Brought(brought), actions)?;
        }
        if let Some(epoch) = self.protocol.sequenced().map(|there| there.epoch) {
            let logged = window.logged(epoch).ok_or(Trouble::Overwritten)?;
            if !logged.is_empty() {
                self.tell(hands, Input::Logged(logged), actions)?;
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
    ) -> Result<Option<P::Outgoing>, Trouble> {
        let Some(window) = hands.window else {
            return Ok(Some(message));
        };
        if let Some(told) = self.protocol.told(&message) {
            let epoch = told.epoch;
            let (thread, notices) = match window.tell(told, &self.underway) {
                Answer::Send => return Ok(Some(message)),
                Answer::Done => return Ok(None),
                Answer::Ask(thread) => return Ok(Some(Control::flush(epoch, thread).into())),
                Answer::Learned(thread, notices) => (thread, Some(notices)),
                Answer::Refused(thread) => (thread, None),
            };
            let message = Control::answer(epoch, thread, notices).into();
            let from = ROOT;
            self.following.push_back(Input::Message { from, message });
            return Ok(None);
        }
        let done = match P::brought(&message) {
            Some(brought) => self.bring(hands, to, brought, tally)?,
            None => self.take(hands, to, &message, tally)?,
        };
        Ok((!done).then_some(message))
    }

    /// The sequencer takes a lock over from shared memory.
    pub(super) fn claim(&mut self, hands: &Hands, lock: LockId) {
        let holder = hands.window.and_then(|window| window.claim(lock));
        self.following.push_back(Input::Claimed(lock, holder));
    }

    /// Writes what changed in pages into their home's memory. If that cannot be, there
    /// are diffs to send.
    fn bring(
        &mut self,
        hands: &Hands,
        to: NodeId,
        brought: Brought,
        tally: &mut Tally,
    ) -> Result<bool, Trouble> {
        let pages = || brought.diffs.iter().map(|(page, _)| *page);
        let brings = hands.window.is_some_and(|window| {
            let twins = || pages().filter_map(|page| Some((page, self.twins.get(page)?)));
            let complete = twins().count() == brought.diffs.len();
            complete && window.bring(to, brought, &self.underway, hands.pages, twins())
        });
        if !brings {
            pages().try_for_each(|page| self.diff(hands, page))?;
            return Ok(false);
        }
        tally.add(DsmCount::DiffsSent, brought.diffs.len());
        for page in pages() {
            if let Some(twin) = self.twins.remove(page) {
                self.twins.keep(twin);
            }
        }
        Ok(true)
    }

    /// Takes what can be of what a message asks for out of its receiver's memory.
    fn take(
        &mut self,
        hands: &Hands,
        from: NodeId,
        message: &P::Outgoing,
        tally: &mut Tally,
    ) -> Result<bool, Trouble> {
        if let Some(pages) = self.protocol.wanted(message).map(|wanted| wanted.pages) {
            self.before_arrival(hands, pages.iter())?;
        }
        let wanted = self.protocol.wanted(message);
        let Some((window, wanted)) = hands.window.zip(wanted) else {
            return Ok(false);
        };
        if P::TELLS_VERSIONS {
            let room = || self.twins.room();
            let Some((taking, mut taken)) = window.copy(from, wanted, hands.pages, room) else {
                return Ok(false);
            };
            self.following.extend(taking.inputs(|pages| {
                let message = P::taken(wanted.epoch, pages, |page| match taken.remove(&page) {
                    Some((_, versions, copy)) => (versions, Blob::Page(copy)),
                    None => (Vec::new(), Blob::Here),
                })?;
                Some(Input::Message { from, message })
            }));
            tally.took = true;
            return Ok(true);
        }
        let Some(taking) = window.take(from, wanted, hands.pages) else {
            return Ok(false);
        };
        self.following.extend(taking.inputs(|pages| {
            let message = P::taken(wanted.epoch, pages, |_| (Vec::new(), Blob::Here))?;
            Some(Input::Message { from, message })
        }));
        tally.took = true;
        Ok(true)
    }

    /// Lets other nodes take pages of this one, or forbids it.
    pub(super) fn offer(&mut self, hands: &Hands, pages: PageRange, offer: Offer) {
        let Some(window) = hands.window else { return };
        for page in pages.iter() {
            // Whoever updated it did so unseen, and from now on that cannot be told.
            let ends = offer != Offer::Updated && self.looks.follows(page);
            if ends && window.is_updated(page) {
                self.looks.arrived(page, None);
            }
        }
        let committed = self.protocol.committed();
        let Some((copies, Committed { received, .. })) = window.copies().zip(committed) else {
            return window.offer(pages, offer, || goes_on(hands));
        };
        let me = hands.transport.me();
        if offer != Offer::Twin {
            copies.offer(me, received, pages, offer);
            return self.places.free(pages);
        }
        for page in pages.iter() {
            if let Some(twin) = self.twins.get(page) {
                copies.offer_twin(me, received, page, twin, &mut self.places);
            }
        }
    }

    /// Enters an interval in the log of the sequencer's epoch.
    pub(super) fn log(&self, hands: &Hands, notice: &Notice) {
        let sequenced = self.protocol.sequenced();
        if let Some((window, sequenced)) = hands.window.zip(sequenced) {
            window.log(sequenced.epoch, notice);
        }
    }
}

/// Whether it makes sense to wait for what another node is doing in shared memory. That may
/// be stopped, and all other threads here may stand still for the engine, which the caller
/// holds: it looks itself.
fn goes_on(hands: &Hands) -> bool {
    if let Some(node) = start::node() {
        node.look_after_peers();
    }
    hands.transport.aborted().is_none() && hands.transport.dead().is_none()
}

/// Lets nodes take a lock in shared memory again.
pub(super) fn unclaim(hands: &Hands, lock: LockId) {
    if let Some(window) = hands.window {
        window.unclaim(lock);
    }
}
