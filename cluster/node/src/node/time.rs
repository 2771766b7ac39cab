//! Emulated time, as the threads of a node see it.

use super::{LOOK_AFTER, Node, current};
use crate::slots::Slot;
use fathomp_sys::clock::emulated::{self, Work};
use fathomp_transport::emulated::{Awaited, Emulation, Inside};
use fathomp_transport::{Polling, Role, Wake};
use fathomp_types::PageId;

impl Node {
    /// Handles messages until `done` of `slot`. Where time is emulated, the program's
    /// clock stands still meanwhile, and then shows when that was.
    pub(super) fn wait(
        &self,
        awaited: Awaited,
        wake: Wake,
        slot: &Slot,
        done: impl Fn(&Slot) -> bool,
    ) {
        match self.program_time() {
            None => self.wait_here(wake, slot, done),
            Some(emulation) => {
                if done(slot) {
                    return emulation.pass();
                }
                let since_ns = emulation.rest(awaited);
                self.wait_here(wake, slot, done);
                emulation.go_on(since_ns);
            }
        }
    }

    /// The calling thread asks something of its node: as long as the answer lives, it
    /// takes what that is taken to take, if time is emulated.
    pub(super) fn charged(&self, work: Work) -> Option<Inside<'_>> {
        let inside = self.program_time()?.enter();
        emulated::charge(work);
        Some(inside)
    }

    /// The same for a thread that has trapped at a page; nothing if it has to go back and to
    /// trap once more.
    pub(super) fn trap(&self, page: PageId) -> Option<Option<Inside<'_>>> {
        // Whoever records accesses takes traps twice by itself.
        let emulation = self.program_time().filter(|_| self.stopwatch.is_none());
        match emulation {
            Some(emulation) => emulation.trap(page.0).map(Some),
            None => Some(None),
        }
    }

    /// Lets time pass until then, if it is emulated: the program would do nothing else but
    /// to offer its processor to others. Whether it did.
    pub(super) fn let_pass(&self, until_ns: u64) -> bool {
        let emulation = self.program_time();
        emulation
            .inspect(|emulation| emulation.let_pass(until_ns))
            .is_some()
    }

    /// What emulates the calling thread's time, if anything does.
    pub(crate) fn program_time(&self) -> Option<&Emulation> {
        let emulation = self.transport.emulation()?;
        let (thread, _) = self.slots.mine()?;
        self.slots.is_programs(thread).then_some(emulation)
    }

    /// Where time is emulated: waits until nothing earlier can happen here than what
    /// the program is about to do.
    pub(super) fn take_turn(&self) {
        let Some(emulation) = self.program_time() else {
            return;
        };
        let moment_ns = emulation.come();
        while !emulation.may_act(moment_ns) {
            {
                let polling = Polling::new(self.transport, Role::Application);
                while self.handle_one() {}
                polling.sleep(Some(LOOK_AFTER), || emulation.may_act(moment_ns));
                while self.handle_one() {}
            }
            self.look_after_peers();
        }
        emulation.act(moment_ns);
    }

    /// What a thread of the program is to run: on a clock of emulated time if it is.
    pub(super) fn with_emulated_time(
        &self,
        run: Box<dyn FnOnce() + Send>,
    ) -> Box<dyn FnOnce() + Send> {
        if self.transport.emulation().is_none() {
            return run;
        }
        let (begins_ns, node) = (self.begins_ns, current::node());
        Box::new(move || {
            if let Some(node) = node
                && let Some(emulation) = node.transport.emulation()
            {
                node.slots.become_programs();
                if let Err(error) = emulation.begin(begins_ns) {
                    let what = format!("cannot read a thread's processor time: {error}");
                    node.fail(node.me(), &what);
                }
            }
            run();
        })
    }
}
