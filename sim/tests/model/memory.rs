//! Pages of two bytes: so few that all states can be gone through.

use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Access, Body, Content, Interval, PageRange, PageSet, Protection};
use std::collections::BTreeMap;

/// Bytes of a page.
const BYTES: usize = 2;
pub(crate) type Page = [u8; BYTES];
/// What was written, by place.
pub(crate) type Diff = [Option<u8>; BYTES];

/// Content that a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Small {
    Page(Page),
    Diff(Diff),
    /// A page of zeros.
    Blank,
    /// A page that has stayed at this node.
    Left(NodeId),
    /// A page that is in its place already.
    InPlace,
}

impl Body for Small {
    fn is_blank(&self) -> bool {
        *self == Self::Blank
    }

    fn in_place() -> Self {
        Self::InPlace
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
}

/// The pages of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    slots: Vec<Slot>,
    kept: BTreeMap<(PageId, Interval), Diff>,
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
        };
        Self {
            slots: vec![slot; pages],
            kept: BTreeMap::new(),
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
    pub(crate) fn take_written(&mut self) -> PageSet {
        let slots = self.slots.iter_mut().zip(0..);
        let watched = slots.filter(|(slot, _)| slot.protection == Protection::Watched);
        let wrote = watched.filter_map(|(slot, page)| {
            let told = std::mem::replace(&mut slot.told, true);
            let wrote = slot.twin.is_some_and(|twin| twin != slot.bytes);
            (wrote && !told).then_some(PageId(page))
        });
        wrote.collect()
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

    fn slot(&mut self, page: PageId) -> &mut Slot {
        &mut self.slots[page.0 as usize]
    }

    pub(crate) fn protect(&mut self, pages: PageRange, protection: Protection) {
        for page in pages.iter() {
            let slot = self.slot(page);
            slot.protection = protection;
            slot.told = false;
        }
    }

    pub(crate) fn twin(&mut self, page: PageId) -> Result<(), Nonsense> {
        let slot = self.slot(page);
        slot.beneath = false;
        match slot.twin.replace(slot.bytes) {
            None => Ok(()),
            Some(_) => Err(format!("page {page} gets a second twin")),
        }
    }

    /// What changed in a page since its twin was made, which is forgotten.
    pub(crate) fn compare(&mut self, page: PageId) -> Result<Diff, Nonsense> {
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

    /// Makes a diff, which is kept until it is sent, or as that of an interval.
    pub(crate) fn diff(&mut self, page: PageId, of: Option<Interval>) -> Result<(), Nonsense> {
        let diff = self.compare(page)?;
        let before = match of {
            Some(interval) => self.kept.insert((page, interval), diff),
            None => self.slot(page).diff.replace(diff),
        };
        match before {
            None => Ok(()),
            Some(_) => Err(format!("a diff of page {page} is made twice")),
        }
    }

    pub(crate) fn reapply(&mut self, page: PageId, of: Interval) -> Result<(), Nonsense> {
        let kept = self.kept.get(&(page, of)).copied();
        self.change(page, kept.ok_or("a diff that was not kept")?);
        Ok(())
    }

    pub(crate) fn forget(&mut self) {
        self.kept.clear();
        self.slots.iter_mut().for_each(|slot| slot.twin = None);
    }

    pub(crate) fn drop_twin(&mut self, page: PageId) -> Result<(), Nonsense> {
        let twin = self.slot(page).twin.take();
        twin.map(drop)
            .ok_or_else(|| format!("page {page} has no twin to forget"))
    }

    pub(crate) fn bytes(&mut self, page: PageId) -> Page {
        self.slot(page).bytes
    }

    /// Replaces a page that threads may not touch, unless its content is there already.
    pub(crate) fn install(
        &mut self,
        page: PageId,
        content: &Small,
        twinned: bool,
    ) -> Result<(), Nonsense> {
        let slot = self.slot(page);
        slot.bytes = match content {
            _ if slot.protection != Protection::None => {
                return Err(format!("page {page} is replaced under its threads' hands"));
            }
            Small::Page(bytes) => *bytes,
            Small::Blank => [0; BYTES],
            Small::InPlace => slot.bytes,
            Small::Diff(_) => return Err(format!("page {page} is installed from a diff")),
            Small::Left(_) => return Err(format!("page {page} was left elsewhere")),
        };
        match twinned {
            true => self.twin(page),
            false => Ok(()),
        }
    }

    /// Another node writes its changes into a page by itself.
    pub(crate) fn bring(&mut self, page: PageId, diff: Diff) {
        let slot = self.slot(page);
        for (byte, value) in slot.bytes.iter_mut().zip(diff) {
            *byte = value.unwrap_or(*byte);
        }
        slot.beneath |= slot.twin.is_some();
    }

    /// Writes a diff into a page and its twin.
    pub(crate) fn change(&mut self, page: PageId, diff: Diff) {
        let slot = self.slot(page);
        for (at, value) in diff.into_iter().enumerate() {
            let Some(value) = value else { continue };
            slot.bytes[at] = value;
            if let Some(twin) = &mut slot.twin {
                twin[at] = value;
            }
        }
    }

    /// Content of a message that leaves now.
    pub(crate) fn content(&mut self, content: Content) -> Option<Small> {
        match content {
            // That nobody has touched it is more than a protocol may rely on.
            Content::Fresh(page) if self.slot(page).bytes == [0; BYTES] => Some(Small::Blank),
            Content::Page(page) | Content::Fresh(page) => Some(Small::Page(self.slot(page).bytes)),
            // The sender knows where.
            Content::Left(_) => None,
            Content::Twin(page) => self.slot(page).twin.map(Small::Page),
            Content::Diff(page) => self.slot(page).diff.take().map(Small::Diff),
            Content::Kept(page, interval) => {
                self.kept.get(&(page, interval)).copied().map(Small::Diff)
            }
        }
    }
}
