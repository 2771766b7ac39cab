//! What the driver asks for, done to real pages, threads and peers.

use super::blob::{Blob, install};
use super::host::{GRANTED, Host, NodeError, REFUSED, answer};
use super::work::Work;
use fathomp_driver::{Answer, Machine};
use fathomp_protocols::message::Message;
use fathomp_protocols::{
    Change, Content, Diff, PageBytes, PageRange, PageSet, Protection, Protocol, Version,
};
use fathomp_trace::dsm::DsmCount;
use fathomp_types::{NodeId, PAGE_BYTES, PageId, ThreadId};

/// This node.
pub(super) struct NodeMachine<'a> {
    pub(super) host: &'a Host<'a>,
    pub(super) work: &'a mut Work,
}

/// Writes a word into a twin; what was there.
fn put_word(twin: &mut PageBytes, change: &Change, value: u64) -> u64 {
    let word = twin.iter_mut().skip(change.offset()).take(change.bytes());
    let value = value.to_le_bytes().into_iter();
    let bytes = word.zip(value).zip((0..).step_by(8));
    bytes.fold(0, |before, ((byte, new), shift)| {
        before | u64::from(std::mem::replace(byte, new)) << shift
    })
}

impl NodeMachine<'_> {
    /// Makes all that was asked for take effect, before something else is done.
    pub(super) fn finish(&mut self) -> Result<(), NodeError> {
        self.watch_late()?;
        self.settle_permissions()
    }
}

impl Machine for NodeMachine<'_> {
    type Body = Blob;
    type Error = NodeError;

    fn protect(
        &mut self,
        pages: PageRange,
        protection: Protection,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        if self.starts_with(pages, protection) {
            return Ok(());
        }
        self.watch_late()?;
        if protection == Protection::Watched && self.host.still {
            // No thread touches them: a node that asked for them need not wait for that.
            self.work.late.push(pages);
            return Ok(());
        }
        self.work.tally.writable |= protection == Protection::ReadWrite;
        if protection == Protection::None {
            let tally = &mut self.work.tally;
            tally.add(DsmCount::Invalidations, pages.len() as usize);
        }
        self.change_protection(pages, protection, protocol)
    }

    fn twin(
        &mut self,
        pages: PageRange,
        ahead: bool,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        self.finish()?;
        if !ahead {
            let tally = &mut self.work.tally;
            tally.twinned = true;
            tally.add(DsmCount::WriteFaultsRemote, pages.len() as usize);
        }
        pages.iter().try_for_each(|page| {
            self.make_twin(page, ahead)?;
            if self.work.observer.is_some() {
                self.observe_twin(page, protocol);
            }
            Ok(())
        })
    }

    fn drop_twin(&mut self, page: PageId) -> Result<(), NodeError> {
        self.finish()?;
        self.work.unwatched.remove(page.into());
        if let Some(twin) = self.work.twins.remove(page) {
            self.work.twins.keep(twin);
        }
        Ok(())
    }

    fn diff(&mut self, page: PageId, of: Option<Version>) -> Result<(), NodeError> {
        self.finish()?;
        self.work.tally.add(DsmCount::DiffsMade, 1);
        let diff = self.compare(page)?;
        match of {
            Some(version) => {
                self.work.kept.insert((page, version), diff);
            }
            None => {
                if self.work.observer.is_some() {
                    self.observe_diff(page, &diff);
                }
                self.work.diffs.insert(page, diff);
            }
        }
        Ok(())
    }

    fn reapply(&mut self, page: PageId, of: Version) -> Result<(), NodeError> {
        self.finish()?;
        let diff = self.work.kept.get(&(page, of)).cloned();
        let diff = diff.ok_or(NodeError::Action("a diff that was not kept"))?;
        self.put_in(page, &diff)
    }

    fn forget(&mut self) -> Result<(), NodeError> {
        self.finish()?;
        self.work.kept.clear();
        self.work.twins.clear();
        Ok(())
    }

    fn forget_others(&mut self, me: NodeId) {
        self.work.kept.retain(|(_, (writer, _)), _| *writer == me);
    }

    fn content_bytes(&self, content: Content) -> usize {
        match content {
            Content::Kept(page, version) => {
                let diff = self.work.kept.get(&(page, version));
                diff.map_or(0, |diff| diff.as_bytes().len())
            }
            _ => PAGE_BYTES,
        }
    }

    fn written(&mut self) -> Result<PageSet, NodeError> {
        // First no thread writes any more, then they are compared.
        let ranges = self.work.unwatched.take();
        for range in &ranges {
            self.permit(*range, Protection::Read)?;
        }
        self.settle_permissions()?;
        let mut written = Vec::new();
        for page in ranges.iter().flat_map(|range| range.iter()) {
            let Some(twin) = self.work.twins.get(page) else {
                continue;
            };
            let differs = self.host.pages.differs(page, twin);
            if differs.map_err(NodeError::Permit)? {
                written.push(page);
            }
        }
        written.dedup();
        Ok(PageSet::from_sorted(&written))
    }

    fn install(
        &mut self,
        page: PageId,
        content: Blob,
        twinned: bool,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        self.finish()?;
        self.work.tally.add(DsmCount::PagesFetched, 1);
        let content = install(self.host, page, content)?;
        match (content, twinned) {
            (Some(content), false) => self.work.twins.keep(content),
            (None, false) => {}
            (Some(twin), true) => self.work.twins.insert(page, twin),
            (None, true) => self.make_twin(page, true)?,
        }
        if twinned && self.work.observer.is_some() {
            self.observe_twin(page, protocol);
        }
        Ok(())
    }

    fn apply(&mut self, page: PageId, diff: Blob, keep: Option<Version>) -> Result<(), NodeError> {
        self.finish()?;
        self.work.tally.others[DsmCount::DiffsApplied] += 1;
        let diff = Diff::from_bytes(diff.bytes()?)?;
        if let Some(version) = keep {
            let kept = Diff::from_bytes(diff.as_bytes().into())?;
            self.work.kept.insert((page, version), kept);
        }
        if self.work.observer.is_some() {
            self.observe_arrival(page, &diff)?;
        }
        self.put_in(page, &diff)
    }

    fn change(&mut self, page: PageId, change: &Change) -> Result<u64, NodeError> {
        self.finish()?;
        let (offset, bytes) = (change.offset(), change.bytes());
        let after = |before| change.after(before);
        let changed = self.host.pages.change_word(page, offset, bytes, after);
        let before = changed.map_err(NodeError::Permit)?;
        if let Some(twin) = self.work.twins.get_mut(page) {
            put_word(twin, change, change.after(before));
        }
        Ok(before)
    }

    fn write(&mut self, page: PageId, change: &Change) -> Result<(), NodeError> {
        self.finish()?;
        let (offset, bytes) = (change.offset(), change.bytes());
        let after = |before| change.after(before);
        let written = self.host.pages.change_word(page, offset, bytes, after);
        written.map(|_| ()).map_err(NodeError::Permit)
    }

    fn patch(&mut self, page: PageId, change: &Change, before: u64) -> Result<(), NodeError> {
        self.finish()?;
        let after = change.after(before);
        let twin = self.work.twins.get_mut(page);
        let unwritten = twin.map(|twin| put_word(twin, change, after));
        let (offset, bytes) = (change.offset(), change.bytes());
        let put = |now| match unwritten {
            Some(unwritten) if now != unwritten => now,
            _ => after,
        };
        let put = self.host.pages.change_word(page, offset, bytes, put);
        put.map(|_| ()).map_err(NodeError::Permit)
    }

    fn found(&mut self, thread: ThreadId, before: u64) -> Result<(), NodeError> {
        self.finish()?;
        self.work.tally.resume(self.host.profile, thread);
        answer(self.host, thread, before)
    }

    fn read(&mut self, page: PageId) -> Result<Box<PageBytes>, NodeError> {
        let mut content = Box::new([0; PAGE_BYTES]);
        let read = self.host.pages.read(page, &mut content);
        read.map_err(NodeError::Permit)?;
        Ok(content)
    }

    fn send(&mut self, to: NodeId, message: Message<Content>) -> Result<(), NodeError> {
        self.send_message(to, &message)
    }

    fn resume(&mut self, thread: ThreadId, what: Answer) -> Result<(), NodeError> {
        self.finish()?;
        self.work.tally.resume(self.host.profile, thread);
        let what = match what {
            Answer::Granted => GRANTED,
            Answer::Refused => REFUSED,
        };
        answer(self.host, thread, what)
    }

    fn settle(&mut self) -> Result<(), NodeError> {
        self.settle_permissions()
    }

    fn left_open(&mut self, pages: u32) {
        self.work.tally.add(DsmCount::LeftOpen, pages as usize);
    }

    fn end_step(&mut self, protocol: &dyn Protocol<Blob>) -> Result<(), NodeError> {
        self.finish()?;
        if self.work.observer.is_some() {
            self.observe_step(protocol)?;
        }
        if !self.work.asked {
            self.host.transport.end_step();
        }
        Ok(())
    }
}
