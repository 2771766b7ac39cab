//! Steps: what a protocol is told, in which order, and what it asks for.

use crate::{Answer, Driver, DriverError, Machine};
use fathomp_protocols::message::{Control, Message};
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{Action, Body, Content, Input, Protection, Protocol, Violation};
use fathomp_types::NodeId;

impl<P: Protocol<B>, B: Body> Driver<P, B> {
    /// Starts the protocol. All pages may be read and written before.
    ///
    /// # Errors
    /// If the machine cannot do what it asks for.
    pub fn start<M: Machine<Body = B>>(&mut self, machine: &mut M) -> Result<(), M::Error> {
        let mut actions = std::mem::take(&mut self.actions);
        self.protocol.start(&mut actions);
        self.carry_out(machine, &mut actions)?;
        self.actions = actions;
        Ok(())
    }

    /// Tells the protocol of what happened, and does what it asks for and what follows.
    ///
    /// # Errors
    /// If the protocol was broken, or the machine cannot do something.
    pub fn input<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        input: Input<B>,
    ) -> Result<(), M::Error> {
        let mut next = Some(input);
        while let Some(input) = next {
            let mut actions = std::mem::take(&mut self.actions);
            self.tell(machine, input, &mut actions)?;
            self.carry_out(machine, &mut actions)?;
            self.actions = actions;
            next = self.protocol.next_early();
        }
        Ok(())
    }

    /// If this node is at a barrier, where a flush would have to wait until it is over, tells
    /// the sequencer what the barrier has yet to tell, before whatever is sent there next.
    /// False if it is at none.
    ///
    /// # Errors
    /// As of [`Self::input`].
    pub fn tell_at_barrier<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
    ) -> Result<bool, M::Error> {
        let Some(epoch) = self.protocol.barrier_epoch() else {
            return Ok(false);
        };
        let (from, message) = (ROOT, Control::demand(epoch).into());
        self.input(machine, Input::Message { from, message })?;
        Ok(true)
    }

    /// Tells the protocol of an input, and before it of writes without a fault.
    fn tell<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        input: Input<B>,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), M::Error> {
        if let Input::Message { from, message } = &input {
            let checked = message.check(*from, self.me, self.protocol.bounds());
            let from = *from;
            checked.map_err(|what| DriverError::from(Violation::Peer { from, what }))?;
        }
        // Also if there are none yet: pages that come in this step count as not written.
        if self.protocol.wants_writes(&input) {
            let wrote = machine.written()?;
            self.step(Input::Wrote(wrote), actions)?;
        }
        Ok(self.step(input, actions)?)
    }

    fn step(&mut self, input: Input<B>, actions: &mut Vec<Action<B>>) -> Result<(), DriverError> {
        Ok(self.protocol.step(input, actions)?)
    }

    fn carry_out<M: Machine<Body = B>>(
        &mut self,
        machine: &mut M,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), M::Error> {
        for action in actions.drain(..) {
            match action {
                Action::Protect(pages, what) => {
                    if what != Protection::None {
                        self.looks.opened(pages);
                    }
                    machine.protect(pages, what, &self.protocol)?;
                }
                Action::Twin(page) => machine.twin(page.into(), false, &self.protocol)?,
                Action::TwinAhead(pages) => machine.twin(pages, true, &self.protocol)?,
                Action::StoreDiff(page, version) => machine.diff(page, Some(version))?,
                Action::RestoreDiff(page, version) => machine.reapply(page, version)?,
                Action::ForgetOthers(me) => machine.forget_others(me),
                Action::Forget => machine.forget()?,
                Action::DropTwin(page) => machine.drop_twin(page)?,
                Action::LeaveOpen(pages) => machine.left_open(pages),
                Action::Install(page, content) => {
                    self.before_arrival(machine, page)?;
                    machine.install(page, content, false, &self.protocol)?;
                    self.arrived(machine, page)?;
                }
                Action::InstallTwinned(page, content) => {
                    self.before_arrival(machine, page)?;
                    machine.install(page, content, true, &self.protocol)?;
                    self.arrived(machine, page)?;
                }
                Action::Apply(page, diff) => {
                    machine.apply(page, diff, None)?;
                    self.looks.arrived(page, None);
                }
                Action::ApplyAndStore(page, version, diff) => {
                    machine.apply(page, diff, Some(version))?;
                    self.looks.arrived(page, None);
                }
                Action::AtomicAtHome {
                    page,
                    change,
                    node,
                    thread,
                    epoch,
                    shows,
                } => {
                    machine.settle()?;
                    let before = machine.change(page, &change)?;
                    self.looks.arrived(page, None);
                    if node == self.me {
                        machine.found(thread, before)?;
                        continue;
                    }
                    let changed = Message::Changed {
                        epoch,
                        thread,
                        before,
                        shows,
                    };
                    self.send(machine, node, changed)?;
                }
                Action::AtomicNoReturn(page, change) => {
                    machine.settle()?;
                    machine.amend(page, &change)?;
                    self.looks.arrived(page, None);
                }
                Action::Write(page, change) => machine.write(page, &change)?,
                Action::RefreshCopy(page, change, before) => {
                    machine.patch(page, &change, before)?
                }
                Action::ReplyAtomic(thread, before) => machine.found(thread, before)?,
                Action::Send(to, message) => {
                    machine.settle()?;
                    self.send(machine, to, message)?;
                }
                Action::SendShorter(to, [one, other]) => {
                    machine.settle()?;
                    let bytes = |message: &Message<Content>| {
                        let mut bytes = 0;
                        let measured = message.clone();
                        measured.map(|content| bytes += machine.content_bytes(content));
                        bytes
                    };
                    let shorter = if bytes(&other) < bytes(&one) {
                        other
                    } else {
                        one
                    };
                    self.send(machine, to, shorter)?;
                }
                Action::Resume(thread) => machine.resume(thread, Answer::Granted)?,
                Action::Refuse(thread) => machine.resume(thread, Answer::Refused)?,
            }
        }
        machine.end_step(&self.protocol)
    }

    /// Sends a message to another node. Diffs that it carries are made now.
    fn send<M: Machine<Body = B>>(
        &self,
        machine: &mut M,
        to: NodeId,
        message: Message<Content>,
    ) -> Result<(), M::Error> {
        let checked = message.check(self.me, to, self.protocol.bounds());
        checked.map_err(|what| DriverError::Message { to, what })?;
        if let Message::Diffs { diffs, .. } = &message {
            for (page, _) in diffs {
                machine.diff(*page, None)?;
            }
        }
        machine.send(to, message)
    }
}
