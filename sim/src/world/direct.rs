//! What nodes do by themselves in memory that they share: they take pages out of each
//! other's, bring diffs into it, and enter intervals in a log.

use super::{Node, World};
use crate::memory::Blob;
use crate::program::Step;
use crate::shared::Answer;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{Brought, Content, Input, Notice, Offer, Protocol, Told, Wants};
use rand::{Rng, RngExt};

/// What follows at the node, or what it should not have asked for.
type Done<P> = Result<Vec<Input<<P as Protocol<Blob>>::Incoming>>, String>;

impl<P: Protocol<Blob>> World<P> {
    /// Does what a message is for, if it can be and chance wants it. Nothing if the
    /// message has to be sent.
    pub(super) fn without_message(
        &mut self,
        node: usize,
        to: NodeId,
        message: &P::Outgoing,
        random: &mut impl Rng,
    ) -> Option<Done<P>> {
        if !self.network.direct {
            return None;
        }
        if let Some(told) = self.nodes[node].protocol.told(message) {
            // Once a log is closed it stays so until the next epoch.
            return self.tell(node, told, random).map(Ok);
        }
        let target = usize::from(to.0);
        if target == node || self.is_dead(target) || random.random() {
            return None;
        }
        match P::brought(message) {
            Some(brought) => self.bring(node, to, brought),
            None => self.take(node, to, message),
        }
    }

    /// Takes what can be of what a message asks for out of its receiver's memory.
    fn take(&mut self, node: usize, to: NodeId, message: &P::Outgoing) -> Option<Done<P>> {
        let both = self.nodes.get_disjoint_mut([node, usize::from(to.0)]);
        let [here, there] = both.ok()?;
        let wanted = here.protocol.wanted(message)?;
        let said = |page| match there.offers.get(&page).unwrap_or(&wanted.unless_said) {
            Offer::Lent if there.kept.iter().any(|kept| kept.0 == page) => Offer::Closed,
            offer => *offer,
        };
        let made = |page| there.made.get(&page).map_or(&[][..], Vec::as_slice);
        let offer = |page| match wanted.admits(made(page)) {
            true => said(page),
            false => Offer::Closed,
        };
        let taking = wanted.taking(offer);
        let committed = there.protocol.committed()?;
        let mut received = committed.received.clone();
        for (writer, interval) in &there.brought {
            received.learn(*writer, *interval);
        }
        let committed = wanted.is_part_of(committed.epoch, &received);
        if !committed || taking.taken.is_empty() {
            return None;
        }
        there.taken.extend(taking.taken.iter());
        let mut failed = Ok(());
        let content = |page| match offer(page) {
            Offer::Twin => Content::Twin(page),
            _ => Content::Page(page),
        };
        let inputs = taking.inputs(|pages| {
            let message = P::taken(wanted.epoch, pages, |page| {
                let old = there.olds.get(&page).filter(|_| offer(page) == Offer::Old);
                let versions = wanted.known(to, old.unwrap_or(&there.shown).iter().copied());
                let mut bytes = Vec::new();
                let read = there.memory.append(content(page), &mut bytes);
                failed = std::mem::replace(&mut failed, Ok(())).and(read);
                (versions, Blob::from(bytes))
            })?;
            Some(Input::Message { from: to, message })
        });
        for page in taking.kept.iter() {
            let mut bytes = Vec::new();
            let read = there.memory.append(Content::Page(page), &mut bytes);
            failed = failed.and(read);
            there.kept.push((page, bytes));
        }
        Some(failed.map(|()| inputs))
    }

    /// Tells others what is part of a node's pages.
    pub(super) fn show(&mut self, node: usize) {
        let Node {
            protocol, shown, ..
        } = &mut self.nodes[node];
        if let Some(committed) = protocol.committed() {
            *shown = committed.received.iter().collect();
        }
    }

    /// Writes diffs into the memory of their pages' home.
    fn bring(&mut self, node: usize, to: NodeId, brought: Brought) -> Option<Done<P>> {
        let me = super::node_id(node);
        let there = self.nodes.get(usize::from(to.0))?;
        let committed = there.protocol.committed()?;
        let pending = there.brought.get(&me).copied();
        let received = committed.received.of(me).max(pending.unwrap_or_default());
        let admits = committed.admits.admits(brought.more) && committed.epoch == brought.epoch;
        let offer = |page| there.offers.get(page).copied().unwrap_or_default();
        let mut pages = brought.diffs.iter().map(|(page, _)| offer(page));
        let admits = admits && pages.all(Offer::admits_diffs);
        if !admits || !self.nodes[node].underway.may_bring(to, received) {
            return None;
        }
        for (page, diff) in brought.diffs {
            let mut bytes = Vec::new();
            let from = &mut self.nodes[node].memory;
            let moved = from.append(*diff, &mut bytes).and_then(|()| {
                let there = &mut self.nodes[usize::from(to.0)].memory;
                there.bring(*page, &Blob::from(bytes))
            });
            if let Err(what) = moved {
                return Some(Err(what));
            }
        }
        let there = &mut self.nodes[usize::from(to.0)];
        there.begun.insert(me, brought.interval);
        if !brought.more {
            there.brought.insert(me, brought.interval);
        }
        Some(Ok(Vec::new()))
    }

    /// Leaves pages of a message where they are, if chance wants it.
    pub(super) fn leave(&mut self, node: usize, message: &mut P::Outgoing, random: &mut impl Rng) {
        if self.network.leaves {
            let leaves = |_| random.random();
            self.nodes[node].protocol.leave(message, leaves);
        }
    }

    /// Content that comes into a page, which may have been left elsewhere.
    pub(super) fn arrived(&mut self, page: PageId, content: Blob) -> Result<Blob, String> {
        let Blob::Left(home) = content else {
            return Ok(content);
        };
        let there = self.nodes.get_mut(usize::from(home.0));
        let there = there.ok_or_else(|| format!("a page was left at node {home}"))?;
        let mut bytes = Vec::new();
        there.memory.append(Content::Page(page), &mut bytes)?;
        Ok(Blob::from(bytes))
    }

    /// Takes a lock that the thread's node keeps, or keeps one that it gives back, if chance
    /// wants that. Then there is nothing else to be done.
    pub(super) fn uses_kept_lock(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        random: &mut impl Rng,
    ) -> bool {
        let state = &mut self.nodes[node];
        let me = super::node_id(node);
        let uses = match step {
            Step::Acquire(lock) | Step::TryAcquire(lock, _) => {
                let taken = self.shared.take_kept(me, lock);
                self.outcome.locks_kept += u64::from(taken);
                taken
            }
            Step::Release(lock) => {
                let all_meet = state.threads.iter().all(|thread| thread.member);
                let there = state.protocol.committed();
                let keeps = self.network.keeps_locks && all_meet && random.random();
                let mut epoch = there.iter().filter(|_| keeps).map(|there| there.epoch);
                epoch.any(|epoch| self.shared.keep(me, lock, epoch))
            }
            _ => false,
        };
        state.threads[thread].next += usize::from(uses);
        uses
    }

    /// Enters an interval in the log, reads what is there, and takes a lock or gives it
    /// back.
    fn tell(
        &mut self,
        node: usize,
        told: Told,
        random: &mut impl Rng,
    ) -> Option<Vec<Input<P::Incoming>>> {
        if matches!(told.wants, Wants::Lock { .. }) && random.random() {
            return None;
        }
        let epoch = told.epoch;
        let sequencer = self.nodes[0].protocol.sequenced()?;
        let (me, underway) = (super::node_id(node), &self.nodes[node].underway);
        let room = self.network.log_max;
        let answer = self.shared.tell(me, told, sequencer, underway, room)?;
        let Answer::For(thread, notices) = answer else {
            return Some(Vec::new());
        };
        let message = Control::answer(epoch, thread, notices).into();
        let from = ROOT;
        Some(vec![Input::Message { from, message }])
    }

    /// The sequencer enters an interval in its epoch's log.
    pub(super) fn enter(&mut self, notice: Notice) {
        if let Some(sequencer) = self.nodes[0].protocol.sequenced() {
            let room = self.network.log_max;
            self.shared.enter(sequencer.epoch, notice, room);
        }
    }

    /// What the sequencer has not been told of the log.
    pub(super) fn logged(&mut self, node: usize) -> Option<Vec<Notice>> {
        let epoch = self.nodes[node].protocol.sequenced()?.epoch;
        Some(self.shared.logged(epoch))
    }

    pub(super) fn note_underway(&mut self, from: usize, to: NodeId, message: &P::Outgoing) {
        let underway = &mut self.nodes[from].underway;
        P::carries(message)
            .into_iter()
            .for_each(|carried| underway.sends(to, carried));
    }
}
