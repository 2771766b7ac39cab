//! What a protocol runs on: a node of the simulated cluster.

use super::SERVICE;
use super::cluster::{Cluster, Event, Node, node_id};
use super::wait::PUBLISHER;
use crate::blob::Blob;
use crate::failure::{Failure, Wrong};
use crate::memory::{Arriving, Leaving};
use crate::program::Step;
use fathomp_driver::{Answer, Machine};
use fathomp_protocols::message::Message;
use fathomp_protocols::{
    Change, Content, Diff, PageBytes, PageRange, PageSet, Protection, Protocol, Version,
};
use fathomp_types::{NodeId, PageId, ThreadId};

/// A node, with all others within reach.
pub(super) struct Seat<'c, 'a> {
    pub(super) cluster: &'c mut Cluster<'a>,
    pub(super) node: usize,
}

impl Seat<'_, '_> {
    fn here(&mut self) -> &mut Node {
        &mut self.cluster.nodes[self.node]
    }

    fn note(&mut self, what: &dyn std::fmt::Debug) {
        self.cluster.note(self.node, "out", what);
    }
}

impl Machine for Seat<'_, '_> {
    type Body = Blob;
    type Error = Wrong;

    fn protect(
        &mut self,
        pages: PageRange,
        protection: Protection,
        _protocol: &dyn Protocol<Blob>,
    ) -> Result<(), Wrong> {
        self.note(&(pages, protection));
        Ok(self.here().memory.protect(pages, protection)?)
    }

    fn twin(
        &mut self,
        pages: PageRange,
        ahead: bool,
        _protocol: &dyn Protocol<Blob>,
    ) -> Result<(), Wrong> {
        self.note(&("twin", pages, ahead));
        let memory = &mut self.here().memory;
        Ok(pages.iter().try_for_each(|page| memory.twin(page))?)
    }

    fn drop_twin(&mut self, page: PageId) -> Result<(), Wrong> {
        self.note(&("drop twin", page));
        Ok(self.here().memory.drop_twin(page)?)
    }

    fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<(), Wrong> {
        self.note(&("diff", page, of));
        let memory = &mut self.here().memory;
        Ok(memory.diff(page, of)?)
    }

    fn reapply(&mut self, page: PageId, of: Version) -> Result<(), Wrong> {
        self.note(&("reapply", page, of));
        Ok(self.here().memory.reapply(page, of)?)
    }

    fn forget(&mut self) -> Result<(), Wrong> {
        self.note(&"forget");
        Ok(self.here().memory.forget()?)
    }

    fn forget_others(&mut self, me: NodeId) {
        self.note(&"forget others");
        self.here().memory.forget_others(me);
    }

    /// As if a page were not much longer than a few of these programs' diffs.
    fn content_bytes(&self, content: Content) -> usize {
        let memory = &self.cluster.nodes[self.node].memory;
        match content {
            Content::Kept(page, of) => memory.kept(page, of).map_or(0, |d| d.as_bytes().len()),
            _ => 48,
        }
    }

    fn written(&mut self) -> Result<PageSet, Wrong> {
        let written = self.here().memory.take_written();
        self.cluster.note(self.node, "in", &("wrote", &written));
        Ok(written)
    }

    fn install(
        &mut self,
        page: PageId,
        content: Blob,
        twinned: bool,
        _protocol: &dyn Protocol<Blob>,
    ) -> Result<(), Wrong> {
        self.note(&("install", page, &content, twinned));
        let content = match content.0.is_empty() {
            true => Arriving::Blank,
            false => {
                let bytes = <Box<PageBytes>>::try_from(content.0);
                Arriving::Page(bytes.map_err(|_| format!("page {page} comes in part"))?)
            }
        };
        Ok(self.here().memory.install(page, content, twinned)?)
    }

    fn apply(&mut self, page: PageId, diff: Blob, keep: Option<Version>) -> Result<(), Wrong> {
        self.note(&("apply", page, &diff, keep));
        let diff = Diff::from_bytes(diff.0);
        let diff = diff.map_err(|error| error.to_string())?;
        if let Some(version) = keep {
            self.here().memory.keep(page, version, diff.clone())?;
        }
        Ok(self.here().memory.apply(page, &diff)?)
    }

    fn change(&mut self, page: PageId, change: &Change) -> Result<u64, Wrong> {
        self.note(&("change", page, change));
        match self.change_here(page, change) {
            Ok(before) => Ok(before),
            Err(Failure::Node { what, .. }) => Err(what),
            Err(other) => Err(other.to_string().into()),
        }
    }

    fn amend(&mut self, page: PageId, change: &Change) -> Result<(), Wrong> {
        self.note(&("amend", page, change));
        self.here().memory.change(page, change)?;
        Ok(())
    }

    fn write(&mut self, page: PageId, change: &Change) -> Result<(), Wrong> {
        self.note(&("write", page, change));
        Ok(self.here().memory.write_word(page, change)?)
    }

    fn patch(&mut self, page: PageId, change: &Change, before: u64) -> Result<(), Wrong> {
        self.note(&("patch", page, change, before));
        Ok(self.here().memory.patch(page, change, before)?)
    }

    fn found(&mut self, thread: ThreadId, before: u64) -> Result<(), Wrong> {
        let state = self.here().threads.get_mut(thread.0 as usize);
        let state =
            state.ok_or_else(|| format!("thread {thread} is told what there is none of"))?;
        state.found = u8::try_from(before).map_err(|_| "more than a byte".to_owned())?;
        self.resume(thread, Answer::Granted)
    }

    fn read(&mut self, page: PageId) -> Result<Box<PageBytes>, Wrong> {
        Ok(self.here().memory.read(page)?)
    }

    fn send(&mut self, to: NodeId, message: Message<Content>) -> Result<(), Wrong> {
        self.note(&(to, &message));
        let target = usize::from(to.0);
        if target >= self.cluster.nodes.len() {
            return Err(format!("a message to node {to}").into());
        }
        let memory = &mut self.here().memory;
        let (mut bytes, mut appended) = (Vec::new(), Ok(()));
        message.encode(&mut bytes, |content, bytes| match memory.content(content) {
            Ok(Leaving::Blank) => {}
            Ok(Leaving::Page(page)) => bytes.extend_from_slice(&page[..]),
            Ok(Leaving::Diff(diff)) => bytes.extend_from_slice(diff.as_bytes()),
            Err(what) => appended = Err(what),
        });
        appended?;
        self.cluster.outcome.messages += 1;
        let delay = self.cluster.delay(self.node, target);
        let message = Event::Deliver(node_id(self.node), target, bytes);
        self.cluster.schedule(delay, message);
        Ok(())
    }

    fn resume(&mut self, thread: ThreadId, answer: Answer) -> Result<(), Wrong> {
        self.note(&(thread, answer));
        if thread == PUBLISHER {
            self.cluster.schedule(0, Event::Published(self.node));
            return Ok(());
        }
        let here = self.here();
        if thread == SERVICE && std::mem::take(&mut here.flushing) {
            return Ok(());
        }
        let number = thread.0 as usize;
        let state = here.threads.get_mut(number).filter(|t| t.waiting);
        let state = state.ok_or_else(|| format!("thread {thread} goes on and does not wait"))?;
        if state.at_barrier {
            return self.cluster.leave_barrier(self.node);
        }
        if answer == Answer::Refused {
            state.refuse()?;
        }
        state.waiting = false;
        self.cluster.go_on(self.node, number);
        Ok(())
    }
}

impl super::cluster::Thread {
    /// It leaves out what it wanted a lock for.
    fn refuse(&mut self) -> Result<(), Wrong> {
        let asked = self.next.checked_sub(1);
        match asked.and_then(|step| self.steps.get(step)) {
            Some(Step::TryAcquire(_, leave_out)) => self.next += leave_out,
            asked => return Err(format!("{asked:?} is refused").into()),
        }
        Ok(())
    }
}
