//! Pages of two bytes: so few that all states can be gone through.

use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{
    Access, Action, Body, Content, Interval, Offer, PageRange, PageSet, Protection, Wanted,
};
use std::collections::BTreeMap;

/// Bytes of a page.
const BYTES: usize = 2;
type Page = [u8; BYTES];
/// What was written, by place.
type Diff = [Option<u8>; BYTES];

/// Content that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Small {
    Page(Page),
    Diff(Diff),
    /// A page of zeros.
    Blank,
    /// A page that has stayed at this node.
    Left(NodeId),
}

impl Body for Small {
    fn is_blank(&self) -> bool {
        *self == Self::Blank
    }
}

/// A byte of the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) page: u32,
    pub(crate) byte: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    bytes: Page,
    twin: Option<Page>,
    /// Others have written the page since the twin was made, and not that.
    beneath: bool,
    diff: Option<Diff>,
    protection: Protection,
    /// Told since it has been watched: a page with a twin is closed by that.
    told: bool,
    /// Whether others may take it, if they were told, and what was part of it then.
    offer: Option<(Offer, Vec<(NodeId, Interval)>)>,
    /// What its node knew when its content was complete.
    made: Vec<(NodeId, Interval)>,
    /// Others have.
    taken: bool,
    /// What another node keeps of it that is written unwatched.
    kept: Option<Page>,
}

/// The pages of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    slots: Vec<Slot>,
    kept: BTreeMap<(PageId, Interval), Diff>,
    /// What this node knew when it told others last, and what it knows.
    pub(crate) shown: Vec<(NodeId, Interval)>,
    pub(crate) knows: Vec<(NodeId, Interval)>,
}

/// The protocol asked for something that makes no sense.
pub(crate) type Nonsense = String;

impl Memory {
    pub(crate) fn new(pages: usize) -> Self {
        let slot = Slot {
            bytes: [0; BYTES],
            twin: None,
            beneath: false,
            diff: None,
            protection: Protection::ReadWrite,
            told: false,
            offer: None,
            made: Vec::new(),
            taken: false,
            kept: None,
        };
        Self {
            slots: vec![slot; pages],
            kept: BTreeMap::new(),
            shown: Vec::new(),
            knows: Vec::new(),
        }
    }

    pub(crate) fn permits(&self, page: u32, access: Access) -> bool {
        let slot = &self.slots[page as usize];
        match (access, slot.protection) {
            (_, Protection::None) | (Access::Write, Protection::Read) => false,
            (Access::Write, Protection::Watched) => slot.twin.is_some() && !slot.told,
            (Access::Read, _) | (Access::Write, Protection::ReadWrite) => true,
        }
    }

    pub(crate) fn write(&mut self, place: Place, value: u8) {
        self.slots[place.page as usize].bytes[place.byte] = value;
    }

    /// The byte, where the page may be read.
    pub(crate) fn read(&self, place: Place) -> Option<u8> {
        let slot = &self.slots[place.page as usize];
        (slot.protection != Protection::None).then(|| slot.bytes[place.byte])
    }

    /// Pages written while they were watched and had a twin.
    pub(crate) fn take_wrote(&mut self) -> PageSet {
        let slots = self.slots.iter_mut().zip(0..);
        let watched = slots.filter(|(slot, _)| slot.protection == Protection::Watched);
        let wrote = watched.filter_map(|(slot, page)| {
            let told = std::mem::replace(&mut slot.told, true);
            let wrote = slot.twin.is_some_and(|twin| twin != slot.bytes);
            (wrote && !told).then_some(PageId(page))
        });
        wrote.collect()
    }

    /// What another node takes of a page.
    pub(crate) fn take(&mut self, page: PageId) -> Small {
        let slot = self.slot(page);
        slot.taken = true;
        let offers_twin = matches!(slot.offer, Some((Offer::Twin, _)));
        let twin = slot.twin.filter(|_| offers_twin);
        Small::Page(twin.unwrap_or(slot.bytes))
    }

    /// Whether others may take a page, who want so much of it.
    pub(crate) fn offer(&self, page: PageId, wanted: &Wanted) -> Offer {
        let slot = &self.slots[page.0 as usize];
        let offer = slot.offer.as_ref().map(|(offer, _)| *offer);
        match offer.unwrap_or(wanted.unless_said) {
            _ if !wanted.admits(&slot.made) => Offer::Closed,
            Offer::Lent if slot.kept.is_some() => Offer::Closed,
            offer => offer,
        }
    }

    /// What others may do with a page.
    pub(crate) fn offered(&self, page: PageId) -> Offer {
        let offer = self.slots[page.0 as usize].offer.as_ref();
        offer.map_or(Offer::Closed, |(offer, _)| *offer)
    }

    /// Adds to a byte of a page whose writes by this node are noticed; what was there.
    pub(crate) fn update(&mut self, place: Place, add: u8) -> Result<u8, Nonsense> {
        let slot = &mut self.slots[place.page as usize];
        if slot.protection != Protection::Watched || slot.twin.is_some() {
            return Err(format!(
                "{place:?} is updated on a page that is not watched"
            ));
        }
        let byte = &mut slot.bytes[place.byte];
        let before = *byte;
        *byte = before.wrapping_add(add);
        Ok(before)
    }

    /// Whether there are pages that may have been written without a fault.
    pub(crate) fn may_have_been_written(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| slot.protection == Protection::Watched && slot.twin.is_some() && !slot.told)
    }

    /// What was part of a page when it became old, if it is.
    pub(crate) fn old(&self, page: PageId) -> Option<Vec<(NodeId, Interval)>> {
        let offer = self.slots[page.0 as usize].offer.as_ref();
        let old = offer.filter(|(offer, _)| *offer == Offer::Old);
        old.map(|(_, versions)| versions.clone())
    }

    /// Pages that others have taken since this was asked last.
    pub(crate) fn take_taken(&mut self) -> PageSet {
        let slots = self.slots.iter_mut().zip(0..);
        let taken = slots
            .filter_map(|(slot, page)| std::mem::take(&mut slot.taken).then_some(PageId(page)));
        taken.collect()
    }

    /// Another node that has taken a page keeps it.
    pub(crate) fn keep_taken(&mut self, page: PageId) {
        let slot = self.slot(page);
        slot.kept = Some(slot.bytes);
    }

    /// Pages that others have kept since this was asked last, and those of them that have been
    /// written since.
    pub(crate) fn take_kept(&mut self) -> Option<(PageSet, PageSet)> {
        let (mut pages, mut changed) = (Vec::new(), Vec::new());
        for (slot, page) in self.slots.iter_mut().zip((0..).map(PageId)) {
            let Some(taken) = slot.kept.take() else {
                continue;
            };
            pages.push(page);
            slot.beneath = false;
            if taken != slot.bytes {
                slot.twin = Some(taken);
                changed.push(page);
            }
        }
        let [pages, changed] = [pages, changed].map(|pages| PageSet::from_sorted(&pages));
        (!pages.is_empty()).then_some((pages, changed))
    }

    fn slot(&mut self, page: PageId) -> &mut Slot {
        &mut self.slots[page.0 as usize]
    }

    fn protect(&mut self, pages: PageRange, protection: Protection) {
        for page in pages.iter() {
            let slot = self.slot(page);
            slot.protection = protection;
            slot.told = false;
        }
    }

    fn twin(&mut self, page: PageId) -> Result<(), Nonsense> {
        let slot = self.slot(page);
        slot.beneath = false;
        match slot.twin.replace(slot.bytes) {
            None => Ok(()),
            Some(_) => Err(format!("page {page} gets a second twin")),
        }
    }

    fn compare(&mut self, page: PageId) -> Result<Diff, Nonsense> {
        let slot = self.slot(page);
        let twin = slot.twin.take();
        let twin = twin.ok_or_else(|| format!("page {page} has no twin to compare with"))?;
        if slot.protection == Protection::ReadWrite {
            return Err(format!("page {page} can change while it is compared"));
        }
        if slot.beneath {
            return Err(format!(
                "page {page} has a twin that a diff was not brought into"
            ));
        }
        let changed = |at| (twin[at] != slot.bytes[at]).then_some(slot.bytes[at]);
        Ok(std::array::from_fn(changed))
    }

    fn install(&mut self, page: PageId, content: &Small) -> Result<(), Nonsense> {
        let slot = self.slot(page);
        let bytes = match content {
            Small::Page(bytes) => *bytes,
            Small::Blank => [0; BYTES],
            Small::Diff(_) => return Err(format!("page {page} is installed from a diff")),
            Small::Left(_) => return Err(format!("page {page} was left elsewhere")),
        };
        if slot.protection != Protection::None {
            return Err(format!("page {page} is replaced under its threads' hands"));
        }
        slot.bytes = bytes;
        Ok(())
    }

    /// Another node writes its changes into a page by itself.
    pub(crate) fn bring(&mut self, page: PageId, diff: Diff) -> Result<(), Nonsense> {
        let slot = self.slot(page);
        for (byte, value) in slot.bytes.iter_mut().zip(diff) {
            *byte = value.unwrap_or(*byte);
        }
        slot.beneath |= slot.twin.is_some();
        Ok(())
    }

    fn change(&mut self, page: PageId, diff: Diff) {
        let slot = self.slot(page);
        for (at, value) in diff.into_iter().enumerate() {
            let Some(value) = value else { continue };
            slot.bytes[at] = value;
            if let Some(twin) = &mut slot.twin {
                twin[at] = value;
            }
        }
    }

    /// Does what concerns pages; gives back what does not.
    pub(crate) fn carry_out<O>(
        &mut self,
        action: Action<O, Small>,
    ) -> Result<Option<Action<O, Small>>, Nonsense> {
        match action {
            Action::Protect(pages, protection) => self.protect(pages, protection),
            Action::Offer(pages, offer) => {
                for page in pages.iter() {
                    let old = (offer == Offer::Old).then(|| self.shown.clone());
                    if old.is_none() {
                        self.slot(page).made = self.knows.clone();
                    }
                    self.slot(page).offer = Some((offer, old.unwrap_or_default()));
                }
            }
            Action::Twin(page) => self.twin(page)?,
            Action::Prepare(_) | Action::LeaveOpen(_) => {}
            Action::Foresee(pages) => pages.iter().try_for_each(|page| self.twin(page))?,
            Action::Diff(pages) => {
                for page in pages.iter() {
                    let diff = self.compare(page)?;
                    if self.slot(page).diff.replace(diff).is_some() {
                        return Err(format!("the diff of page {page} was never sent"));
                    }
                }
            }
            Action::Keep(page, interval) => {
                let diff = self.compare(page)?;
                if self.kept.insert((page, interval), diff).is_some() {
                    return Err(format!("the diff of page {page} is kept twice"));
                }
            }
            Action::Reapply(page, interval) => {
                let kept = self.kept.get(&(page, interval)).copied();
                self.change(page, kept.ok_or("a diff that was not kept")?);
            }
            Action::Forget => {
                self.kept.clear();
                self.slots.iter_mut().for_each(|slot| slot.twin = None);
            }
            Action::DropTwin(page) => {
                let twin = self.slot(page).twin.take();
                twin.ok_or_else(|| format!("page {page} has no twin to forget"))?;
            }
            Action::Install(page, content) => self.install(page, &content)?,
            Action::InstallTwinned(page, content) => {
                self.install(page, &content)?;
                self.twin(page)?;
            }
            Action::Apply(page, Small::Diff(diff)) => self.change(page, diff),
            Action::Apply(..) => return Err("a page is applied as a diff".into()),
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    /// Content of a message that leaves now.
    pub(crate) fn content(&mut self, content: Content) -> Option<Small> {
        match content {
            // That nobody has touched it is more than a protocol may rely on.
            Content::Fresh(page) if self.slot(page).bytes == [0; BYTES] => Some(Small::Blank),
            Content::Page(page) | Content::Fresh(page) => Some(Small::Page(self.slot(page).bytes)),
            // Who sends it knows where.
            Content::Left(_) => None,
            Content::Twin(page) => self.slot(page).twin.map(Small::Page),
            Content::Diff(page) => self.slot(page).diff.take().map(Small::Diff),
            Content::Kept(page, interval) => {
                self.kept.get(&(page, interval)).copied().map(Small::Diff)
            }
        }
    }
}
