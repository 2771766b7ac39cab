//! What a protocol asks for is done to a simulated node.

use super::wait::PUBLISHER;
use super::{Event, SERVICE, World, action, node_id};
use crate::failure::Failure;
use crate::memory::Blob;
use crate::program::Step;
use fathomp_base::{NodeId, ThreadId};
use fathomp_dsm::{Action, Committed, Input, Offer, Protection, Protocol};
use rand::{Rng, RngExt};

impl<P: Protocol<Blob>> World<P> {
    /// Does what a node's protocol asks for. What it has to be told then.
    pub(super) fn carry_out(
        &mut self,
        node: usize,
        actions: Vec<Action<P::Outgoing, Blob>>,
        random: &mut impl Rng,
    ) -> Result<Vec<Input<P::Incoming>>, Failure> {
        let mut answers = Vec::new();
        for mut next in actions {
            if let Action::Install(page, content) | Action::InstallTwinned(page, content) =
                &mut next
            {
                let arrived = self.arrived(*page, content.clone());
                *content = arrived.map_err(|what| action(node, what))?;
                let remembers = self.before_arrival(node, *page);
                remembers.map_err(|what| action(node, what))?;
            }
            let arrives = match &next {
                Action::Install(page, _) | Action::InstallTwinned(page, _) => Some(*page),
                _ => None,
            };
            self.note(node, "out", &next);
            if let Action::Send(to, message) = &next
                && let Some(done) = self.without_message(node, *to, message, random)
            {
                answers.extend(done.map_err(|what| action(node, what))?);
                continue;
            }
            let memory = &mut self.nodes[node].memory;
            let done = match next {
                Action::Protect(pages, protection) => {
                    let protected = memory.protect(pages, protection);
                    if protection != Protection::None {
                        self.nodes[node].looks.opened(pages);
                    }
                    protected
                }
                Action::DropTwin(page) => memory.drop_twin(page),
                Action::Twin(page) => memory.twin(page),
                Action::Prepare(_) | Action::LeaveOpen(_) => Ok(()),
                Action::Foresee(pages) => pages.iter().try_for_each(|page| memory.twin(page)),
                Action::Diff(pages) => memory.diff(pages),
                Action::Keep(page, interval) => memory.keep(page, interval),
                Action::Reapply(page, interval) => memory.reapply(page, interval),
                Action::Forget => memory.forget(),
                Action::Install(page, content) => memory.install(page, &content),
                Action::InstallTwinned(page, content) => memory.install_twinned(page, &content),
                Action::Apply(page, content) => {
                    let applied = memory.apply(page, &content);
                    self.nodes[node].looks.arrived(page, None);
                    applied
                }
                Action::Offer(pages, offer) => {
                    self.end_updates(node, pages, offer);
                    let node = &mut self.nodes[node];
                    let (offers, olds) = (&mut node.offers, &mut node.olds);
                    offers.extend(pages.iter().map(|page| (page, offer)));
                    olds.extend(pages.iter().map(|page| (page, node.shown.clone())));
                    let knows = node.protocol.committed().filter(|_| offer != Offer::Old);
                    if let Some(Committed { received, .. }) = knows {
                        let made: Vec<_> = received.iter().collect();
                        node.made
                            .extend(pages.iter().map(|page| (page, made.clone())));
                    }
                    Ok(())
                }
                Action::Claim(lock) => {
                    answers.push(Input::Claimed(lock, self.shared.claim(lock)));
                    Ok(())
                }
                Action::Unclaim(lock) => {
                    self.shared.unclaim(lock);
                    Ok(())
                }
                Action::Log(notice) => {
                    self.enter(notice);
                    Ok(())
                }
                Action::Send(to, message) if usize::from(to.0) == node => {
                    let message = P::fill(message, |_| Blob::from(Vec::new()));
                    answers.push(Input::Message { from: to, message });
                    Ok(())
                }
                Action::Send(to, message) => self.send(node, to, message, random),
                Action::Resume(thread) => self.resume(node, thread, random)?,
                Action::Refuse(thread) => self.refuse(node, thread, random),
            };
            let done = done.and_then(|()| match arrives {
                Some(page) => self.has_arrived(node, page),
                None => Ok(()),
            });
            done.map_err(|what| action(node, what))?;
        }
        Ok(answers)
    }

    fn resume(
        &mut self,
        node: usize,
        thread: ThreadId,
        random: &mut impl Rng,
    ) -> Result<Result<(), String>, Failure> {
        if thread == PUBLISHER {
            self.schedule(0, Event::Published(node));
            return Ok(Ok(()));
        }
        if thread == SERVICE && std::mem::take(&mut self.nodes[node].flushing) {
            return Ok(Ok(()));
        }
        let number = thread.0 as usize;
        let threads = &mut self.nodes[node].threads;
        let Some(state) = threads.get_mut(number).filter(|t| t.waiting) else {
            return Ok(Err(format!(
                "thread {thread} goes on though it does not wait"
            )));
        };
        if state.at_barrier {
            self.leave_barrier(node, random)?;
        } else {
            state.waiting = false;
            self.go_on(node, number, random);
        }
        Ok(Ok(()))
    }

    /// The thread leaves out what it wanted the lock for.
    fn refuse(&mut self, node: usize, id: ThreadId, random: &mut impl Rng) -> Result<(), String> {
        let thread = id.0 as usize;
        let state = self.nodes[node]
            .threads
            .get_mut(thread)
            .filter(|t| t.waiting);
        let state =
            state.ok_or_else(|| format!("thread {id} is refused though it does not wait"))?;
        if state.stage != super::update::Stage::default() {
            state.stage = state.stage.refused();
            state.waiting = false;
            self.go_on(node, thread, random);
            return Ok(());
        }
        let asked = state
            .next
            .checked_sub(1)
            .and_then(|step| state.steps.get(step));
        let Some(Step::TryAcquire(_, leave_out)) = asked else {
            return Err(format!("thread {id} is refused what it did not try"));
        };
        state.next += leave_out;
        state.waiting = false;
        self.go_on(node, thread, random);
        Ok(())
    }

    fn send(
        &mut self,
        from: usize,
        to: NodeId,
        mut message: P::Outgoing,
        random: &mut impl Rng,
    ) -> Result<(), String> {
        let target = usize::from(to.0);
        if target >= self.nodes.len() {
            return Err(format!("a message to node {to}"));
        }
        self.note_underway(from, to, &message);
        self.leave(from, &mut message, random);
        let memory = &mut self.nodes[from].memory;
        let (mut bytes, mut appended) = (Vec::new(), Ok(()));
        P::encode(&message, &mut bytes, |content, bytes| {
            if let Err(what) = memory.append(content, bytes) {
                appended = Err(what);
            }
        });
        appended?;
        self.outcome.messages += 1;
        let delay = self.delay(from, target, random);
        self.schedule(delay, Event::Deliver(node_id(from), target, bytes));
        Ok(())
    }

    /// How long a message takes from one node to another that is sent now.
    pub(super) fn delay(&mut self, from: usize, to: usize, random: &mut impl Rng) -> u64 {
        let last = self.last.entry((from, to)).or_default();
        let arrival = self.now + random.random_range(1..=self.network.delay_max);
        *last = arrival.max(*last);
        *last - self.now
    }
}
