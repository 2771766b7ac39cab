//! What a protocol runs on: a node of the model.

use crate::cluster::{At, Step, World, is_unsettled, number};
use crate::memory::{Place, Small, Two};
use crate::wait::PUBLISHER;
use fathomp_driver::{Answer, Machine};
use fathomp_protocols::message::Message;
use fathomp_protocols::{
    Change, Content, PageBytes, PageRange, PageSet, Protection, Protocol, Version,
};
use fathomp_simulator::{Bytes, Memory};
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};

/// What is wrong, in words.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A node, with all others within reach.
pub(crate) struct Seat<'a> {
    pub(crate) node: usize,
    pub(crate) world: &'a mut World,
    pub(crate) programs: &'a [Vec<Vec<Step>>],
}

impl Seat<'_> {
    fn memory(&mut self) -> &mut Memory<Two> {
        &mut self.world.nodes[self.node].memory
    }

    /// All pages that can be read here are as they were when all had arrived.
    fn leave_barrier(&mut self) -> Result<(), Problem> {
        let (node, programs) = (self.node, self.programs);
        let here = &mut self.world.nodes[node];
        let truth = self.world.at_barrier.get(here.left as usize);
        let truth = truth.ok_or_else(|| format!("node {node} leaves a barrier too early"))?;
        here.left += 1;
        for (place, expected) in truth {
            let seen = here.memory.readable(place.id());
            let seen = seen.map(|page| page.bytes()[place.byte]);
            if seen.is_some_and(|seen| seen != *expected) && !is_unsettled(programs, *place) {
                return Err(format!("node {node} leaves a barrier with another {place:?}").into());
            }
        }
        Ok(())
    }
}

impl Machine for Seat<'_> {
    type Body = Small;
    type Error = Problem;

    fn protect(
        &mut self,
        pages: PageRange,
        protection: Protection,
        _protocol: &dyn Protocol<Small>,
    ) -> Result<(), Problem> {
        Ok(self.memory().protect(pages, protection)?)
    }

    fn twin(
        &mut self,
        pages: PageRange,
        _ahead: bool,
        _protocol: &dyn Protocol<Small>,
    ) -> Result<(), Problem> {
        let memory = self.memory();
        Ok(pages.iter().try_for_each(|page| memory.twin(page))?)
    }

    fn drop_twin(&mut self, page: PageId) -> Result<(), Problem> {
        Ok(self.memory().drop_twin(page)?)
    }

    fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<(), Problem> {
        Ok(self.memory().diff(page, of)?)
    }

    fn reapply(&mut self, page: PageId, of: Version) -> Result<(), Problem> {
        Ok(self.memory().reapply(page, of)?)
    }

    fn forget(&mut self) -> Result<(), Problem> {
        Ok(self.memory().forget()?)
    }

    fn forget_others(&mut self, me: NodeId) {
        self.memory().forget_others(me);
    }

    /// One diff is shorter than a page, several are not.
    fn content_bytes(&self, content: Content) -> usize {
        match content {
            Content::Kept(..) => 2,
            _ => 3,
        }
    }

    fn written(&mut self) -> Result<PageSet, Problem> {
        Ok(self.memory().take_written())
    }

    fn install(
        &mut self,
        page: PageId,
        content: Small,
        twinned: bool,
        _protocol: &dyn Protocol<Small>,
    ) -> Result<(), Problem> {
        Ok(self.memory().install(page, content.try_into()?, twinned)?)
    }

    fn apply(&mut self, page: PageId, diff: Small, keep: Option<Version>) -> Result<(), Problem> {
        let Small::Diff(diff) = diff else {
            return Err("a page is applied as a diff".into());
        };
        if let Some(version) = keep {
            self.memory().keep(page, version, diff)?;
        }
        Ok(self.memory().apply(page, &diff)?)
    }

    fn read(&mut self, page: PageId) -> Result<Box<PageBytes>, Problem> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        let page = self.memory().read(page)?;
        bytes[..2].copy_from_slice(page.bytes());
        Ok(bytes)
    }

    fn send(&mut self, to: NodeId, message: Message<Content>) -> Result<(), Problem> {
        let node = self.node;
        let mut missing = None;
        let message = message.map(|content| {
            let content = self.memory().content(content);
            content.map_or_else(
                |what| {
                    missing = Some(what);
                    Small::Blank
                },
                Small::from,
            )
        });
        if let Some(what) = missing {
            return Err(what.into());
        }
        let channel = (node, usize::from(to.0));
        let channel = self.world.channels.entry(channel).or_default();
        channel.push_back(message);
        Ok(())
    }

    fn change(&mut self, page: PageId, change: &Change) -> Result<u64, Problem> {
        let before = self.memory().change(page, change)?;
        let place = Place {
            page: page.0,
            byte: change.offset(),
        };
        let [found, after] = [before, change.after(before)].map(u8::try_from);
        let mut steps = self.programs.iter().flatten().flatten();
        // Of what nobody looks at, the truth is what was added so far.
        if !steps.any(|step| matches!(step, Step::Add(added, _) if *added == place)) {
            self.world.has_updated(place, found?, after?)?;
        }
        Ok(before)
    }

    fn amend(&mut self, page: PageId, change: &Change) -> Result<(), Problem> {
        self.memory().change(page, change)?;
        Ok(())
    }

    fn write(&mut self, page: PageId, change: &Change) -> Result<(), Problem> {
        Ok(self.memory().write_word(page, change)?)
    }

    fn patch(&mut self, page: PageId, change: &Change, before: u64) -> Result<(), Problem> {
        Ok(self.memory().patch(page, change, before)?)
    }

    fn found(&mut self, thread: ThreadId, before: u64) -> Result<(), Problem> {
        let state = self.world.nodes[self.node].threads.get_mut(number(thread));
        let state = state.ok_or("a thread is told something that does not exist")?;
        state.found = u8::try_from(before)?;
        self.resume(thread, Answer::Granted)
    }

    fn resume(&mut self, thread: ThreadId, answer: Answer) -> Result<(), Problem> {
        let (node, programs) = (self.node, self.programs);
        let here = &mut self.world.nodes[node];
        if thread == PUBLISHER {
            here.publishes = false;
            return Ok(());
        }
        let state = here.threads.get_mut(number(thread));
        let state = state.ok_or("a thread goes on that does not exist")?;
        let Some(waits) = state.waits.take() else {
            return Err(format!("thread {thread} goes on unasked").into());
        };
        if answer == Answer::Granted {
            return match waits {
                At::Barrier => self.leave_barrier(),
                At::Fault | At::Operation => Ok(()),
            };
        }
        let asked = programs[node][number(thread)][state.next - 1];
        let Step::TryAcquire(_, leave_out) = asked else {
            return Err(format!("{asked:?} is refused").into());
        };
        state.next += leave_out;
        Ok(())
    }
}

pub(crate) fn node_id(number: usize) -> NodeId {
    NodeId(u16::try_from(number).unwrap_or(u16::MAX))
}

pub(crate) fn thread_id(number: usize) -> ThreadId {
    ThreadId(u32::try_from(number).unwrap_or(u32::MAX))
}
