//! Roads through memory that nodes share: what this node does there for its effects, and
//! what it tells the protocol of what others have done.

use crate::{Driver, DriverError, Machine};
use fathomp_protocols::message::Control;
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{
    Action, Admits, Body, Bring, Committed, Content, Fetch, Input, LockId, Notice, Offer,
    PageRange, Protocol, Serve, Tell,
};
use fathomp_shm_window::Answer;

impl<P: Protocol<B>, B: Body> Driver<P, B> {
    /// Shows others what this node's pages contain now.
    pub(crate) fn show<M: Machine<Body = B>>(&self, machine: &M) {
        let Some(window) = machine.window() else {
            return;
        };
        if let Some(committed) = self.protocol.committed() {
            window.show(committed);
            window.admit(committed, || machine.goes_on());
        }
        if let Some(sequenced) = self.protocol.sequenced() {
            window.show_sequenced(sequenced);
        }
    }

    /// Sees to it that no node takes pages as what they were before this step and does not know
    /// that they are something else, and that none brings diffs that none may bring after it:
    /// there will be twins, or threads that wait for a message. Also tells what was brought
    /// until then.
    pub(crate) fn forbid<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), M::Error> {
        let there = self.protocol.committed();
        if let Some((there, window)) = there.zip(machine.window()) {
            window.end_epoch(there.epoch);
        }
        let there = there.filter(|there| there.admits != Admits::All);
        let forbids = there
            .zip(machine.window())
            .is_some_and(|(there, window)| window.admit(there, || machine.goes_on()));
        if forbids {
            self.tell_news(machine, actions)?;
        }
        Ok(())
    }

    /// Tells the protocol what others have done here by themselves.
    pub(crate) fn tell_news<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), M::Error> {
        let Some(window) = machine.window() else {
            return Ok(());
        };
        let taken = window.taken();
        if !taken.is_empty() {
            self.step(Input::Taken(taken), actions)?;
        }
        if let Some(Committed { begun, .. }) = self.protocol.committed() {
            // Looked at first: what has been brought had begun before.
            let begun = window.begun(begun);
            if !begun.is_empty() {
                self.step(Input::Begun(begun), actions)?;
            }
        }
        if let Some(Committed { received, .. }) = self.protocol.committed() {
            let brought = window.brought(received);
            if !brought.is_empty() {
                self.step(Input::Brought(brought), actions)?;
            }
        }
        if let Some(epoch) = self.protocol.sequenced().map(|there| there.epoch) {
            let logged = window.logged(epoch).ok_or(DriverError::Overwritten)?;
            if !logged.is_empty() {
                self.tell(machine, Input::Logged(logged), actions)?;
            }
        }
        Ok(())
    }

    /// Brings pages here: out of their home's memory, or by a message.
    pub(crate) fn fetch<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        fetch: Fetch,
    ) -> Result<(), M::Error> {
        for page in fetch.pages.iter() {
            self.before_arrival(machine, page)?;
        }
        let from = fetch.from;
        if let Some(window) = machine.window()
            && !machine.fetches_by_message(&fetch)
            && let Some(taking) = window.take(&fetch, |pages| machine.copy_from(from, pages))
        {
            self.took.push_back(Input::Took { from, taking });
            return Ok(());
        }
        self.send(machine, from, fetch.into())
    }

    /// Answers a node that has fetched pages. Content that it can reach stays where it is
    /// until it installs it.
    pub(crate) fn serve<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        mut serve: Serve,
    ) -> Result<(), M::Error> {
        let to = serve.to;
        for copy in serve.copies.iter_mut().filter(|_| serve.may_be_left) {
            if let Content::Page(page) | Content::Fresh(page) = copy.content
                && machine.leaves(to, copy.content)
            {
                copy.content = Content::Left(page);
            }
        }
        self.send(machine, to, serve.into())
    }

    /// Brings diffs to their home: into its memory, or by a message.
    pub(crate) fn bring<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        bring: Bring,
    ) -> Result<(), M::Error> {
        let to = bring.to;
        if let Some(window) = machine.window() {
            let write = || machine.write_changes_to(to, &bring.pages);
            if window.bring(&bring, &self.underway, write) {
                return Ok(());
            }
        }
        for page in &bring.pages {
            machine.diff(*page, None)?;
        }
        self.send(machine, to, bring.into())
    }

    /// Tells the sequencer something: in the log, or by a message.
    pub(crate) fn tell_sequencer<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        tell: Tell,
    ) -> Result<(), M::Error> {
        let epoch = tell.epoch;
        let answer = match machine.window() {
            Some(window) if !machine.tells_by_message(&tell) => window.tell(&tell, &self.underway),
            _ => Answer::Send,
        };
        let (thread, notices) = match answer {
            Answer::Send => return self.send(machine, ROOT, tell.into()),
            Answer::Done => return Ok(()),
            Answer::Ask(thread) => {
                return self.send(machine, ROOT, Control::flush(epoch, thread).into());
            }
            Answer::Learned(thread, notices) => (thread, Some(notices)),
            Answer::Refused(thread) => (thread, None),
        };
        let (from, message) = (ROOT, Control::answer(epoch, thread, notices).into());
        self.following.push_back(Input::Message { from, message });
        Ok(())
    }

    /// Lets other nodes take pages of this one, or forbids it.
    pub(crate) fn offer<M: Machine<Body = B>>(
        &mut self,
        machine: &M,
        pages: PageRange,
        offer: Offer,
    ) {
        let Some(window) = machine.window() else {
            return;
        };
        for page in pages.iter() {
            // Other nodes updated it unseen, and from now on that cannot be told.
            let ends = offer != Offer::Updated && self.looks.follows(page);
            if ends && window.is_updated(page) {
                self.looks.arrived(page, None);
            }
        }
        window.offer(pages, offer, || machine.goes_on());
    }

    /// Enters an interval in the log of the sequencer's epoch.
    pub(crate) fn log<M: Machine<Body = B>>(&self, machine: &M, notice: &Notice) {
        if let Some((window, there)) = machine.window().zip(self.protocol.sequenced()) {
            window.log(there.epoch, notice);
        }
    }

    /// The sequencer takes a lock over from shared memory.
    pub(crate) fn claim<M: Machine<Body = B>>(&mut self, machine: &M, lock: LockId) {
        let holder = machine.window().and_then(|window| window.claim(lock));
        // Before a message to itself that gives the lock back: the sequencer has to know then
        // who has it.
        self.following.push_front(Input::Claimed(lock, holder));
    }
}
